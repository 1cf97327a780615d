"""Every bad input gets one line on standard error and exit code 2; nothing is printed or written.

A case is a list of arguments after `largo attention`. What is good in it is taken from GOOD, so that only the
mistake under test can be refused; a fragment of the message makes sure that it is that mistake.
"""

import os
import struct
import unittest

from largo_cli import CliTest, csv, npy, npy_header, safetensors_raw

TOKENS = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-1.0, 1.0, 0.0], [0.0, 0.5, 0.75]]
QUERY = ["--query", "1,0,-1"]
GAUSSIAN = ["--law", "gaussian", "--d", "3"]
GOOD = GAUSSIAN + QUERY
NAN, INF = float("nan"), float("inf")


class BadInput(CliTest):
    def refused(self, arguments, fragment="", simd=None, command="attention"):
        """With --out last, so that a file written in spite of the error is found."""
        arguments = list(arguments)
        out = [] if "--out" in arguments else ["--out", "out.npy"]
        self.refuse(command, *arguments, *out, fragment=fragment, simd=simd)

    def refused_tokens(self, name, content, fragment=""):
        if content is not None:
            self.write(name, content)
        self.refused(["--law", f"tokens:{name}", *QUERY], fragment)

    def refused_everywhere(self, name, content, fragment=""):
        """A matrix file that is bad wherever a matrix is read."""
        self.refused_tokens(name, content, fragment)
        self.refused([*GOOD, "--U", name], fragment)
        self.refused([*GAUSSIAN, "--query", name], fragment)

    def test_the_good_input_is_good(self):
        """Else every other test here could pass for a wrong reason."""
        self.write("tokens.npy", npy(TOKENS))
        self.succeed("attention", "--law", "tokens:tokens.npy", *QUERY, "--out", "out.npy")
        self.succeed("attention", *GOOD, "--out", "other.npy")
        self.assertEqual(sorted(os.listdir(self.folder)), ["other.npy", "out.npy", "tokens.npy"])


class BadNpy(BadInput):
    def test_truncated_header(self):
        whole = npy(TOKENS)
        for length in (1, 5, 6, 7, 8, 9, 10, 40):
            self.refused_tokens("cut.npy", whole[:length], "cut.npy")
        self.refused_everywhere("cut.npy", whole[:40], "cut.npy")

    def test_truncated_data(self):
        self.refused_everywhere("cut.npy", npy(TOKENS)[:-1], "cut.npy")

    def test_header_longer_than_the_file(self):
        self.refused_everywhere("long.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"{'descr': '<f8'", "long.npy")
        self.refused_tokens("long.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"{'descr': '<f8'", "long.npy")

    def test_not_a_npy_file(self):
        self.refused_everywhere("text.npy", b"1,2,3\n4,5,6\n", "text.npy")

    def test_shape_product_overflow(self):
        for shape in ("(4294967296, 4294967296)", "(9223372036854775807, 3)", "(3074457345618258603, 3)",
                      "(99999999999999999999999, 3)"):
            self.refused_tokens("huge.npy", npy_header(shape) + bytes(24), "huge.npy")

    def test_negative_shape(self):
        self.refused_everywhere("negative.npy", npy_header("(-1, 3)") + bytes(24), "negative.npy")

    def test_float_shape(self):
        self.refused_everywhere("float.npy", npy_header("(1.0, 3)") + bytes(24), "float.npy")

    def test_three_dimensions(self):
        self.refused_everywhere("cube.npy", npy_header("(1, 1, 3)") + bytes(24), "cube.npy")

    def test_dtypes(self):
        for name, descr in (("object", "'|O'"), ("big_endian", "'>f8'"), ("int", "'<i8'"), ("complex", "'<c16'"),
                            ("structured", "[('x', '<f8')]"), ("half", "'<f2'")):
            self.refused_everywhere(f"{name}.npy", npy_header("(1, 3)", descr) + bytes(48), f"{name}.npy")

    def test_zero_tokens(self):
        self.refused_everywhere("none.npy", npy_header("(0, 3)"))
        self.refused_everywhere("flat.npy", npy_header("(3, 0)"))


class BadSafetensors(BadInput):
    def refused_file(self, header, data, fragment):
        self.refused_everywhere("bad.safetensors", safetensors_raw(header, data), fragment)

    @staticmethod
    def tensor(name, begin, end, shape="[1, 3]", dtype="F64"):
        return f'"{name}": {{"dtype": "{dtype}", "shape": {shape}, "data_offsets": [{begin}, {end}]}}'

    def refused_tensor(self, begin, end, size, fragment, **other):
        """One tensor from `begin` to `end`, in a file with `size` bytes of data."""
        self.refused_file(f'{{{self.tensor("a", begin, end, **other)}}}', bytes(size), fragment)

    def test_overlap(self):
        self.refused_file(f'{{{self.tensor("a", 0, 24)}, {self.tensor("b", 8, 32)}}}', bytes(32), "overlap")

    def test_out_of_range(self):
        self.refused_tensor(8, 32, 24, "out of range")
        self.refused_tensor(24, 0, 24, "out of range")
        self.refused_tensor(0, 2**64, 24, "bad.safetensors")

    def test_hole(self):
        self.refused_tensor(8, 32, 32, "no tensor")
        self.refused_tensor(0, 24, 32, "no tensor")

    def test_duplicate_names(self):
        self.refused_file(f'{{{self.tensor("a", 0, 24)}, {self.tensor("a", 24, 48)}}}', bytes(48), "duplicate")

    def test_shapes(self):
        for shape, fragment in (("[2, 3]", "bytes"), ("[-1, 3]", "shape"), ("[1.0, 3]", "shape"),
                                ("[4294967296, 4294967296]", "overflow")):
            self.refused_tensor(0, 24, 24, fragment, shape=shape)
        self.refused_tensor(0, 0, 0, "0 x 3", shape="[0, 3]")

    def test_dtypes(self):
        for dtype in ("I64", "F65"):
            self.refused_tensor(0, 24, 24, dtype, dtype=dtype)

    def test_header(self):
        good = safetensors_raw(f'{{{self.tensor("a", 0, 24)}}}', bytes(24))
        for length in (1, 7, 8, 9, 30, len(good) - 1):
            self.refused_tokens("cut.safetensors", good[:length], "cut.safetensors")
        self.refused_tokens("long.safetensors", b"\xff" * 8 + good[8:], "header")
        self.refused_file("{", b"", "JSON")
        self.refused_file('{"a": 1}', b"", "header")

    def test_choice_of_a_tensor(self):
        header = f'{{{self.tensor("a", 0, 24)}, {self.tensor("b", 24, 48)}}}'
        self.refused_file(header, bytes(48), "2 tensors")
        self.refused(["--law", "tokens:bad.safetensors:c", *QUERY], "'c'")
        self.refused_file("{}", b"", "0 tensors")


class BadTokens(BadInput):
    def test_not_finite(self):
        for value in (NAN, INF, -INF):
            rows = [list(row) for row in TOKENS]
            rows[2][1] = value
            self.refused_everywhere("bad.npy", npy(rows), "must be finite")
            self.refused_everywhere("bad32.npy", npy(rows, "f"), "must be finite")
            self.refused_everywhere("fortran.npy", npy(rows, fortran=True), "must be finite")
            self.refused_everywhere("bad.csv", csv(rows), "must be finite")
            data = struct.pack("<3d", 1, value, 2)
            tensor = '{"a": {"dtype": "F64", "shape": [1, 3], "data_offsets": [0, 24]}}'
            self.refused_everywhere("bad.safetensors", safetensors_raw(tensor, data), "must be finite")

    def test_csv(self):
        for content in ("1,2,3\n4,5\n", "1,2\n3,4,5\n", "1,2,3\n\n4,5,6\n", "1,2,3\n4,x,6\n", "1,2,3\n4,,6\n",
                        "1,2,1e999\n", "1,2,nan\n", "", "\n\n", "# nothing\n", "x,y,z\n", ",,\n1,2,3\n"):
            self.refused_everywhere("bad.csv", content, "bad.csv")

    def test_what_is_not_a_file(self):
        for name in ("folder", "folder.npy", "folder.csv", "folder.safetensors"):
            os.mkdir(self.path(name))
            self.refused_everywhere(name, None, "directory")
        for extension in ("npy", "csv", "safetensors"):
            self.refused_everywhere(f"empty.{extension}", b"", f"empty.{extension}")
            self.refused_everywhere(f"missing.{extension}", None, "No such file")
        self.write("tokens.txt", csv(TOKENS))
        self.refused_everywhere("tokens.txt", None, "tokens.txt")
        self.refused(["--law", "tokens:", *QUERY], "the name of a file is missing")
        self.write("tokens.csv", csv(TOKENS))
        self.refused(["--law", "tokens:tokens.csv,weights=", *QUERY], "the name of a file is missing")
        self.refused(["--law", "tokens", *QUERY])
        os.mkfifo(self.path("pipe.npy"))
        self.refused_everywhere("pipe.npy", None, "pipe.npy")
        self.refused_everywhere("x" * 300 + ".npy", None, "too long")

    def test_weights(self):
        self.write("tokens.npy", npy(TOKENS))
        for name, rows in (("few", [[1.0, 2.0]]), ("negative", [[1.0, 2.0, -1.0, 1.0]]), ("zero", [[0.0] * 4]),
                           ("nan", [[1.0, NAN, 1.0, 1.0]])):
            self.write(f"{name}.npy", npy(rows))
            self.refused(["--law", f"tokens:tokens.npy,weights={name}.npy", *QUERY])
        self.refused(["--law", "tokens:tokens.npy,weights=missing.npy", *QUERY], "missing.npy")
        self.refused(["--law", "tokens:tokens.npy,wieghts=few.npy", *QUERY])


class BadDimensions(BadInput):
    def setUp(self):
        super().setUp()
        self.write("tokens.npy", npy(TOKENS))
        self.tokens = ["--law", "tokens:tokens.npy"]

    def test_query(self):
        for query in ("1", "1,2", "1,2,3,4", "1,2,3;4,5", "diag:1,2"):
            self.refused([*self.tokens, "--query", query], "--query")
            self.refused([*GAUSSIAN, "--query", query], "--query")
        self.write("query.npy", npy([[1.0, 2.0]]))
        self.refused([*self.tokens, "--query", "query.npy"], "--query")

    def test_matrices(self):
        self.write("small.npy", npy([[1.0, 0.0], [0.0, 1.0]]))
        for option in ("--U", "--V"):
            self.refused([*self.tokens, *QUERY, option, "small.npy"], option)
            self.refused([*self.tokens, *QUERY, option, "diag:1,2"], option)
        self.refused([*self.tokens, *QUERY, "--K", "small.npy", "--Q", "identity"], "--K")
        self.refused([*self.tokens, *QUERY, "--K", "identity", "--Q", "small.npy"], "--Q")
        self.refused([*GAUSSIAN, "--query", "1,2", "--K", "identity", "--Q", "identity"], "--query")

    def test_dimension(self):
        self.refused([*self.tokens, *QUERY, "--d", "4"], "tokens")
        self.refused(["--law", "gaussian:mean=1,2,3", "--d", "2", *QUERY])
        self.refused(["--law", "gaussian:mean=1,2,3,cov=diag:1,2", *QUERY])
        self.refused(["--law", "gaussian:cov=diag:1,2,3", "--d", "2", *QUERY])
        for law in ("gaussian", "rademacher", "sphere", "elliptical"):
            self.refused(["--law", law, *QUERY], "give --d")
            for dimension in ("0", "-3"):
                self.refused(["--law", law, "--d", dimension, *QUERY], "--d")
        for dimension in ("1.5", "x", "1e9", ""):
            self.refused([*self.tokens, *QUERY, "--d", dimension], "--d")


class BadLaw(BadInput):
    def test_covariance(self):
        self.write("asymmetric.csv", "1,0.5,0\n0.25,1,0\n0,0,1\n")
        self.write("indefinite.csv", "1,2,0\n2,1,0\n0,0,1\n")
        self.write("oblong.csv", "1,0,0\n0,1,0\n")
        for law in ("gaussian", "elliptical"):
            self.refused(["--law", f"{law}:cov=asymmetric.csv", *QUERY], "symmetric")
            self.refused(["--law", f"{law}:cov=indefinite.csv", *QUERY], "positive semi-definite")
            self.refused(["--law", f"{law}:cov=oblong.csv", *QUERY])
            self.refused(["--law", f"{law}:cov=diag:1,-1,1", *QUERY], "positive semi-definite")
            self.refused(["--law", f"{law}:cov=-1*identity", "--d", "3", *QUERY], "positive semi-definite")

    def test_names_and_keys(self):
        for law in ("gausian", "", ":", "Gaussian", "gaussian=1", "tokens.npy", "gauss\nian"):
            self.refused(["--law", law, "--d", "3", *QUERY], "is not a law")
        self.refused(["--law", "gaussian:covariance=identity", "--d", "3", *QUERY], "mean, cov")
        self.refused(["--law", "rademacher:width=2", "--d", "3", *QUERY], "'width'")
        self.refused(["--law", "sphere:scale=2", "--d", "3", *QUERY], "radius")
        self.refused(["--law", "elliptical:values=1,2,low=0", "--d", "3", *QUERY], "either")
        self.refused(["--law", "elliptical:weights=1,2", "--d", "3", *QUERY], "values")
        for keys in ("identity", "=1", "cov=identity,cov=identity", "cov=", "mean=1,,2", "mean=1,2,3,", ",",
                     "mean=1,2,nan", "mean=1,2,1e999", "mean=1;2;3", "cov=toeplitz", "cov=toeplitz:x"):
            self.refused(["--law", f"gaussian:{keys}", "--d", "3", *QUERY])

    def test_parameters(self):
        for law in ("rademacher:scale=nan", "rademacher:scale=x", "rademacher:scale=", "uniform:half-width=-1",
                    "three-point:mass=2", "three-point:mass=-0.5", "bernoulli:probability=1.5", "laplace:scale=0",
                    "laplace:bound=-1", "sphere:radius=-1", "ball:radius=inf", "elliptical:base=cube",
                    "elliptical:values=1,2,weights=1", "elliptical:values=1,2,weights=1,-1",
                    "elliptical:low=2,high=1"):
            self.refused(["--law", law, "--d", "3", *QUERY])

    def refused_mixture(self, text, fragment="bad.toml", *more):
        self.write("bad.toml", text)
        self.refused(["--law", "mixture:bad.toml", *QUERY, *more], fragment)

    def test_mixture(self):
        component = '[[component]]\nweight = {}\nlaw = "{}"\n'
        self.refused_mixture("[[component]\n")
        self.refused_mixture('[[component]]\nweight = 1\nlaw = "gaussian\n')
        self.refused_mixture("\xff\n")
        self.refused_mixture("", "component")
        self.refused_mixture("component = 1\n", "component")
        self.refused_mixture("component = [1, 2]\n", "table")
        self.refused_mixture('[[component]]\nlaw = "gaussian"\n', "weight", "--d", "3")
        self.refused_mixture("[[component]]\nweight = 1\n", "law", "--d", "3")
        self.refused_mixture('[[component]]\nweight = "1"\nlaw = "gaussian"\n', "weight", "--d", "3")
        for weight in ("-1", "nan", "inf", "0"):
            self.refused_mixture(component.format(weight, "gaussian"), "weights", "--d", "3")
        self.refused_mixture(component.format(1, "gausian"), "is not a law", "--d", "3")
        self.refused_mixture(component.format(1, "gaussian:c=1"), "'c'", "--d", "3")
        self.refused_mixture(component.format(1, "gaussian"), "give --d")
        self.refused_mixture(component.format(1, "gaussian:cov=diag:1,2,3") + component.format(1, "gaussian:mean=1,2"),
                             "component 1")
        self.refused_mixture(component.format(1, "tokens:missing.npy"), "missing.npy", "--d", "3")
        self.refused_mixture(component.format(1, "mixture:bad.toml"), "nested", "--d", "3")
        self.refused(["--law", "mixture:missing.toml", *QUERY], "missing.toml")
        self.refused(["--law", "mixture:", *QUERY], "mixture")
        self.refused(["--law", "mixture:" + "x" * 300, *QUERY], "mixture")
        os.mkdir(self.path("folder.toml"))
        self.refused(["--law", "mixture:folder.toml", *QUERY], "folder.toml")

    def test_mixture_shift(self):
        component = '[[component]]\nweight = 1\nlaw = "gaussian"\n'
        for shift in ("1", '"1,2,3"', "[]", '[1, "x", 3]', "[[1, 2, 3]]"):
            self.refused_mixture(f"{component}shift = {shift}\n", "shift", "--d", "3")
        self.refused_mixture(f"{component}shift = [1, nan, 3]\n", "must be finite", "--d", "3")
        self.refused_mixture(f"{component}shift = [1, 2]\n", "", "--d", "3")
        self.refused_mixture(f"{component}shfit = [1, 2, 3]\n", "'shfit'", "--d", "3")


class BadOptions(BadInput):
    def test_matrix_names(self):
        for text in ("idnetity", "identity:3", "zeros:1", "toeplitz", "toeplitz:", "toeplitz:x", "diag:", "diag:1,,2",
                     "random:", "random:-1", "random:1.5", "random:1e20", "*identity", "x*identity", "2*",
                     "nan*identity", "1e999*identity", "identity*2", "1e308*diag:10,1,1"):
            self.refused([*GOOD, "--U", text], "")
        self.refused([*GOOD, "--U", "idnetity"], "toeplitz")

    def test_empty_texts(self):
        """From a shell variable that is not set: never taken for the default."""
        for option in ("--U", "--V", "--K", "--Q", "--out", "--score-scale", "--L", "--threads", "--seed", "--precision"):
            self.refused([*GOOD, option, ""], option)
        self.refused([*QUERY, "--law", "gaussian:mean=1,2,3", "--d", ""], "--d")
        self.refused([*GAUSSIAN, "--query", ""], "--query")
        self.refused([*QUERY, "--d", "3", "--law", ""], "law")

    def test_numbers(self):
        for query in ("1,,2", "1,2,nan", "1,2,inf", "1,2,1e999", "1,2,", ",1,2", "1 2 3", "1,2,3;", "1,2,3-",
                      "1e5e5,1,1", "0x1,2,3", "1.2.3,1,1", "--1,1,1"):
            self.refused([*GAUSSIAN, f"--query={query}"])
        for scale in ("nan", "inf", "1e999", "x", "1,2"):
            self.refused([*GOOD, f"--score-scale={scale}"])

    def test_length(self):
        for length in ("0", "-5", "1.5e400", "10,100", "1e1:1e3:3", "1:2", "nan", "-inf", "x", "0.4", "1e13"):
            self.refused([*GOOD, f"--L={length}"], "--L")

    def test_common_options(self):
        for threads in ("-1", "4097", "1.5", "x"):
            self.refused([*GOOD, f"--threads={threads}"], "--threads")
        for seed in ("-1", "1.5", "x", str(2**64), "1e20"):
            self.refused([*GOOD, f"--seed={seed}"], "--seed")
        self.refused([*GOOD, "--precision", "float16"], "float16")
        self.refused([*GOOD, "--bogus"], "--bogus")
        self.refused([*GOOD, "extra"], "extra")
        self.refused([*GOOD, "--law", "gaussian"], "--law")
        self.refused([*GOOD, "--U"], "")

    def test_what_is_missing_or_too_much(self):
        self.refused(QUERY, "--law")
        self.refused(GAUSSIAN, "--query")
        self.refused([*GOOD, "--K", "identity"], "--Q")
        self.refused([*GOOD, "--Q", "identity"], "--K")
        self.refused([*GOOD, "--U", "identity", "--K", "identity", "--Q", "identity"], "either")

    def test_commands(self):
        for arguments, fragment in (([], "a command is missing"), (["bogus"], "bogus"), (["--bogus"], "bogus"),
                                    (["doctor", "--bogus"], "--bogus"), (["doctor", "extra"], "extra"),
                                    (["reproduce", "--quick", "--full"], "either"),
                                    (["icl"], "a command is missing"), (["icl", "bogus"], "bogus"), (["icl", "risk", "extra"], "extra"),
                                    (["icl", "threshold"], "--epsilon"), (["icl", "train", "--bogus"], "--bogus"),
                                    (["icl", "risk", "--threads", "-1"], "--threads"), (["icl", "train", "--seed", "x"], "--seed"),
                                    (["icl", "threshold", "--epsilon", "1", "--precision", "half"], "--precision")):
            result = self.run_largo(*arguments)
            with self.subTest(arguments=arguments):
                self.assertEqual((result.code, result.out, result.err.count("\n")), (2, "", 1), result)
                self.assertTrue(result.err.startswith("largo: "), result)
                self.assertIn(fragment, result.err)
                self.assertEqual(os.listdir(self.folder), [])

    def test_out(self):
        for name in ("out.txt", "out", "out.npz", "npy"):
            self.refused([*GOOD, "--out", name], ".npy or .csv")
        self.refused([*GOOD, "--out", "missing/out.npy"], "missing/out.npy")
        self.write("file", "")
        self.refused([*GOOD, "--out", "file/out.csv"], "file/out.csv")
        os.mkdir(self.path("folder.npy"))
        self.refused([*GOOD, "--out", "folder.npy"], "folder.npy")

    def test_an_old_out_file_survives_an_error(self):
        self.write("old.npy", b"old")
        self.refused([*GOOD, "--L", "0", "--out", "old.npy"])
        with open(self.path("old.npy"), "rb") as file:
            self.assertEqual(file.read(), b"old")

    def test_results_that_are_not_finite(self):
        self.refused([*GAUSSIAN, "--query", "1e200,0,0", "--U", "1e200*identity"], "finite")
        self.refused([*GAUSSIAN, "--query", "1e100,0,0", "--V", "1e300*identity"], "overflows")
        self.refused([*GAUSSIAN, "--query", "1e100,0,0", "--V", "1e300*identity", "--L", "10"], "overflows")

    def test_simd_level(self):
        for more in ([], ["--L", "10"], ["--json"]):
            self.refused([*GOOD, *more], "LARGO_SIMD is 'bogus', must be one of", simd="bogus")
        result = self.run_largo("doctor", simd="bogus")
        self.assertEqual((result.code, result.out), (2, ""), result)
        self.assertIn("SCALAR", result.err)


if __name__ == "__main__":
    unittest.main()
