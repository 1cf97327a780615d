"""What `largo attention` answers, against sums and closed forms computed here."""

import math
import os
import random
import struct
import unittest

from largo_cli import CliTest, csv, npy, read_csv, read_npy, safetensors

# Sums of a few dozen terms in double precision; the reference here sums with math.fsum.
ROUNDING = 1e-12
# The tokens are the same at all SIMD levels and thread counts; the sums over them round differently with and
# without fused multiply-add.
LEVELS = 1e-12
# Float32 tokens are summed in float32 arithmetic: 24 bits, a few dozen terms.
SINGLE = 1e-5
# Central differences of the printed outputs, step 1e-5: truncation and cancellation are both below 1e-9.
STEP = 1e-5
DIFFERENCES = 1e-7

SOURCE = random.Random(5)


def gauss(rows, columns, scale=1.0):
    return [[SOURCE.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]


def transpose(A):
    return [list(column) for column in zip(*A)]


def times(A, x):
    return [math.fsum(a * b for a, b in zip(row, x)) for row in A]


def product(A, B):
    return transpose([times(A, column) for column in transpose(B)])


def naive_attention(tokens, U, V, queries, weights=None):
    """Softmax and linear attention over a prompt, by their definitions."""
    weights = weights or [1.0] * len(tokens)
    softmax, linear = [], []
    for z in queries:
        scores = [math.fsum(t * u for t, u in zip(token, times(U, z))) for token in tokens]
        top = max(scores)
        p = [w * math.exp(score - top) for w, score in zip(weights, scores)]
        columns = transpose(tokens)
        softmax.append(times(V, [math.fsum(a * t for a, t in zip(p, column)) / math.fsum(p) for column in columns]))
        q = [w * score for w, score in zip(weights, scores)]
        linear.append(times(V, [math.fsum(a * t for a, t in zip(q, column)) / math.fsum(weights)
                                for column in columns]))
    return softmax, linear


def text(query):
    return "--query=" + ";".join(",".join(repr(value) for value in row) for row in query)


class Laws(CliTest):
    def test_gaussian_is_affine(self):
        """V m + V Γ U z, and V (Γ + m mᵀ) U z for linear attention."""
        m, z = [0.3, -1.0, 2.0], [1.0, 0.0, -1.0]
        root, U, V = gauss(3, 3), gauss(3, 3), gauss(2, 3)
        G = product(root, transpose(root))
        G = [[(G[i][j] + G[j][i]) / 2 for j in range(3)] for i in range(3)]
        for name, matrix in (("G", G), ("U", U), ("V", V)):
            self.write(f"{name}.npy", npy(matrix))
        got = self.json("attention", "--law", "gaussian:mean=0.3,-1,2,cov=G.npy", "--U", "U.npy", "--V", "V.npy",
                        text([z]))
        Uz = times(U, z)
        GUz = times(G, Uz)
        mean_term = math.fsum(a * b for a, b in zip(m, Uz))
        self.assert_close(got["softmax"], [times(V, [a + b for a, b in zip(m, GUz)])], ROUNDING)
        self.assert_close(got["linear"], [times(V, [a * mean_term + b for a, b in zip(m, GUz)])], ROUNDING)
        self.assertEqual((got["d"], got["L"]), (3, "inf"))

    def test_named_covariance(self):
        got = self.json("attention", "--law", "gaussian:cov=toeplitz:0.5", "--d", "3", "--U", "0.5*identity",
                        "--query", "1,0,-1")
        self.assert_close(got["softmax"], [[0.375, 0.0, -0.375]], ROUNDING)

    def test_rademacher_is_tanh(self):
        z = [0.5, -2.0, 0.0, 30.0]
        got = self.json("attention", "--law", "rademacher:scale=2", "--d", "4", text([z]))
        self.assert_close(got["softmax"], [[2 * math.tanh(2 * value) for value in z]], ROUNDING)
        self.assert_close(got["linear"], [[4 * value for value in z]], ROUNDING)

    def test_mixture(self):
        """Two shifted Gaussians: the log-partitions a·m + |a|²/2 weigh the components."""
        self.write("two.toml", '[[component]]\nweight = 3\nlaw = "gaussian"\nshift = [1.0, 2.0]\n\n'
                               '[[component]]\nweight = 1\nlaw = "gaussian:mean=-1,0,cov=diag:4,1"\n')
        a = [0.3, -0.4]
        first = 3 * math.exp(a[0] + 2 * a[1] + 0.5 * (a[0]**2 + a[1]**2))
        second = math.exp(-a[0] + 0.5 * (4 * a[0]**2 + a[1]**2))
        means = ([1 + a[0], 2 + a[1]], [-1 + 4 * a[0], a[1]])
        expected = [(first * x + second * y) / (first + second) for x, y in zip(*means)]
        for more in ([], ["--d", "2"]):
            got = self.json("attention", "--law", "mixture:two.toml", *more, text([a]))
            self.assert_close(got["softmax"], [expected], ROUNDING)

    def test_every_law_has_an_answer(self):
        for law in ("gaussian", "rademacher", "uniform:half-width=2", "three-point:scale=2,mass=0.3", "bernoulli:probability=0.2",
                    "laplace:scale=0.5,bound=2", "sphere:radius=2", "ball", "elliptical:base=sphere,low=0.5,high=2",
                    "elliptical:values=1,2,weights=1,3,cov=toeplitz:0.5"):
            with self.subTest(law=law):
                got = self.json("attention", "--law", law, "--d", "3", "--query", "0,0,0;0.5,0,-1")
                self.assertEqual(got["law"], law)
                self.assert_close(got["softmax"][0], [0.0, 0.0, 0.0], ROUNDING)  # all of these are centred
                # The tilt moves the mean along the query, and attention over a prompt is close to it.
                self.assertGreater(got["softmax"][1][0] - got["softmax"][1][2], 0)
                drawn = self.json("attention", "--law", law, "--d", "3", "--query", "0.5,0,-1", "--L", "20000")
                self.assert_close(drawn["softmax"][0], got["softmax"][1], 0.2)


class Prompts(CliTest):
    def setUp(self):
        super().setUp()
        self.tokens, self.queries = gauss(37, 3), gauss(4, 3)
        self.U, self.V = gauss(3, 3), gauss(2, 3)
        self.write("U.csv", csv(self.U))
        self.write("V.csv", csv(self.V))
        self.common = ["--U", "U.csv", "--V", "V.csv", text(self.queries)]

    def expect(self, law, tokens, tolerance=ROUNDING, weights=None, more=()):
        softmax, linear = naive_attention(tokens, self.U, self.V, self.queries, weights)
        got = self.json("attention", "--law", law, *self.common, *more)
        self.assertEqual((got["d"], got["L"]), (3, len(tokens)))
        self.assert_close(got["softmax"], softmax, tolerance)
        self.assert_close(got["linear"], linear, tolerance)

    def test_npy(self):
        for fortran in (False, True):
            self.write("double.npy", npy(self.tokens, "d", fortran))
            self.expect("tokens:double.npy", self.tokens)
            self.write("single.npy", npy(self.tokens, "f", fortran))
            single = [list(struct.unpack("<3f", struct.pack("<3f", *row))) for row in self.tokens]
            self.expect("tokens:single.npy", single, SINGLE)
            self.expect("tokens:single.npy", single, ROUNDING, more=["--precision", "float64"])
            self.expect("tokens:double.npy", self.tokens, SINGLE, more=["--precision", "float32"])

    def test_csv(self):
        self.write("tokens.csv", "x,y,z\n" + csv(self.tokens))
        self.expect("tokens:tokens.csv", self.tokens)
        # Numbers in quotes are numbers, in the first row as well.
        self.write("quoted.csv", "".join(",".join(f'"{value!r}"' for value in row) + "\n" for row in self.tokens))
        self.expect("tokens:quoted.csv", self.tokens)

    def test_safetensors(self):
        self.write("one.safetensors", safetensors({"prompt": self.tokens}))
        self.expect("tokens:one.safetensors", self.tokens)
        self.write("two.safetensors", safetensors({"other": gauss(2, 3), "prompt": self.tokens}))
        self.expect("tokens:two.safetensors:prompt", self.tokens)

    def test_weights(self):
        weights = [SOURCE.random() for _ in self.tokens]
        self.write("tokens.npy", npy(self.tokens))
        self.write("column.csv", csv([[weight] for weight in weights]))
        self.write("row.npy", npy([weights]))
        for name in ("column.csv", "row.npy"):
            self.expect(f"tokens:tokens.npy,weights={name}", self.tokens, weights=weights)

    def test_queries_from_a_file(self):
        self.write("tokens.npy", npy(self.tokens))
        typed = self.json("attention", "--law", "tokens:tokens.npy", *self.common)
        for name, content in (("q.npy", npy(self.queries)), ("q.csv", csv(self.queries)),
                              ("zeros.safetensors", safetensors({"q": self.queries}))):
            self.write(name, content)
            read = self.json("attention", "--law", "tokens:tokens.npy", "--U", "U.csv", "--V", "V.csv", "--query", name)
            self.assertEqual(read, typed)
        one = self.json("attention", "--law", "tokens:tokens.npy", "--query", "2*random:7")
        self.assertEqual(len(one["softmax"]), 1)

    def test_a_large_score_does_not_overflow(self):
        self.write("tokens.npy", npy([[1000.0, 0.0, 0.0], [0.0, 1000.0, 0.0]]))
        got = self.json("attention", "--law", "tokens:tokens.npy", "--query", "1000,1,0")
        self.assertEqual(got["softmax"], [[1000.0, 0.0, 0.0]])

    def test_a_query_of_the_wrong_size_is_found_before_memory_is_taken(self):
        self.refuse("attention", "--law", "gaussian", "--d", "1000000", "--query", "1,0", fragment="--query")

    def test_key_and_query_matrices(self):
        """K is r x d, Q is r x e: scores are scale (K x)·(Q z), and auto is 1/sqrt(r)."""
        K, Q, queries = gauss(2, 3), gauss(2, 5), gauss(3, 5)
        for name, matrix in (("K", K), ("Q", Q), ("tokens", self.tokens)):
            self.write(f"{name}.npy", npy(matrix))
        for option, scale in (([], 1.0), (["--score-scale", "auto"], 1 / math.sqrt(2)), (["--score-scale", "-0.5"], -0.5)):
            U = [[scale * value for value in row] for row in product(transpose(K), Q)]
            softmax, linear = naive_attention(self.tokens, U, self.V, queries)
            got = self.json("attention", "--law", "tokens:tokens.npy", "--K", "K.npy", "--Q", "Q.npy", "--V", "V.csv",
                            *option, text(queries))
            self.assert_close(got["softmax"], softmax, ROUNDING)
            self.assert_close(got["linear"], linear, ROUNDING)

    def test_auto_scale_of_merged_weights(self):
        self.write("tokens.npy", npy(self.tokens))
        U = [[value / math.sqrt(3) for value in row] for row in self.U]
        softmax, _ = naive_attention(self.tokens, U, self.V, self.queries)
        got = self.json("attention", "--law", "tokens:tokens.npy", *self.common, "--score-scale", "auto")
        self.assert_close(got["softmax"], softmax, ROUNDING)


class Gradients(CliTest):
    """gradient_X[query][output][row][column] = d softmax[query][output] / d X[row][column]."""

    def check(self, law, matrices, queries):
        for name, matrix in matrices.items():
            self.write(f"{name}.npy", npy(matrix))
        arguments = ["attention", *law, *(part for name in matrices for part in (f"--{name}", f"{name}.npy")),
                     text(queries)]
        got = self.json(*arguments, "--gradients")
        names = [f"{kind}{name}" for kind in ("gradient_", "linear_gradient_") for name in matrices]
        self.assertEqual({key for key in got if "gradient" in key}, set(names))
        for name, matrix in matrices.items():
            for row in range(len(matrix)):
                for column in range(len(matrix[0])):
                    ends = []
                    for step in (STEP, -STEP):
                        moved = [list(line) for line in matrix]
                        moved[row][column] += step
                        self.write(f"{name}.npy", npy(moved))
                        ends.append(self.json(*arguments))
                    for kind, outputs in (("gradient_", "softmax"), ("linear_gradient_", "linear")):
                        expected = [[(up - down) / (2 * STEP) for up, down in zip(*pair)]
                                    for pair in zip(ends[0][outputs], ends[1][outputs])]
                        entry = [[output[row][column] for output in query] for query in got[kind + name]]
                        self.assert_close(entry, expected, DIFFERENCES)
            self.write(f"{name}.npy", npy(matrix))
            for kind in ("gradient_", "linear_gradient_"):
                for query in got[kind + name]:
                    for output in query:
                        self.assertEqual((len(output), len(output[0])), (len(matrix), len(matrix[0])))

    def test_merged(self):
        matrices = {"U": gauss(3, 2, 0.5), "V": gauss(2, 3)}
        queries = gauss(2, 2)
        self.write("tokens.npy", npy(gauss(11, 3)))
        self.check(["--law", "tokens:tokens.npy", "--score-scale", "0.7"], matrices, queries)
        self.check(["--law", "gaussian:mean=1,0,-1,cov=toeplitz:0.5"], matrices, queries)

    def test_factored(self):
        matrices = {"K": gauss(2, 3, 0.5), "Q": gauss(2, 2), "V": gauss(1, 3)}
        self.write("tokens.npy", npy(gauss(11, 3)))
        self.check(["--law", "tokens:tokens.npy", "--score-scale", "auto"], matrices, gauss(2, 2))
        self.check(["--law", "rademacher", "--d", "3"], matrices, gauss(2, 2))

    def test_the_table_says_where_they_are(self):
        out = self.succeed("attention", "--law", "gaussian", "--d", "2", "--query", "1,1", "--gradients")
        self.assertIn("--json", out)


class SampledPrompts(CliTest):
    PROMPT = ["attention", "--law", "gaussian:cov=toeplitz:0.5", "--d", "3", "--query", "1,0,-1;0.5,2,1", "--L", "30000"]

    def test_planted_tokens(self):
        """Ten tokens that are all alike and two planted ones, against the sum over them."""
        self.write("point.csv", "1,2\n")
        query = [0.5, -0.3]
        got = self.json("attention", "--law", "tokens:point.csv", "--L", "10", "--plant", "3,0;-1,1", text([query]))
        eye = [[1.0, 0.0], [0.0, 1.0]]
        softmax, linear = naive_attention([[1.0, 2.0]] * 10 + [[3.0, 0.0], [-1.0, 1.0]], eye, eye, [query])
        for name, expected in (("softmax", softmax), ("linear", linear)):
            for a, b in zip(got[name][0], expected[0]):
                self.assertAlmostEqual(a, b, delta=ROUNDING)
        self.assertEqual((got["L"], got["planted"]), (10, 2))
        for arguments in (["--plant", "1,2"], ["--L", "10", "--plant", "1,2,3"]):
            self.refuse("attention", "--law", "tokens:point.csv", text([query]), *arguments, fragment="--plant")

    def test_the_seed_decides(self):
        first = self.json(*self.PROMPT, "--seed", "7")
        self.assertEqual(first["L"], 30000)
        self.assertEqual(self.json(*self.PROMPT, "--seed", "7"), first)
        self.assertNotEqual(self.json(*self.PROMPT, "--seed", "8")["softmax"], first["softmax"])
        self.assertEqual(self.json(*self.PROMPT, "--seed", "1"), self.json(*self.PROMPT))

    def test_the_threads_do_not(self):
        outputs = {self.succeed(*self.PROMPT, "--gradients", "--json", "--threads", str(threads))
                   for threads in (0, 1, 2, 3, 7)}
        self.assertEqual(len(outputs), 1)

    def test_simd_levels_agree(self):
        levels = self.json("doctor")["simd_available"]
        self.assertIn("SCALAR", levels)
        reference = self.json(*self.PROMPT, simd="SCALAR")
        for level in levels:
            with self.subTest(level=level):
                self.assertEqual(self.json("doctor", simd=level)["simd"], level)
                got = self.json(*self.PROMPT, simd=level)
                for kind in ("softmax", "linear"):
                    self.assert_close(got[kind], reference[kind], LEVELS)

    def test_length_notation(self):
        for notation in ("1000", "1e3", "1000.0"):
            self.assertEqual(self.json(*self.PROMPT[:-1], notation)["L"], 1000)


class Output(CliTest):
    GAUSSIAN = ["attention", "--law", "gaussian", "--d", "2", "--query", "0.1,3;1e-7,2;1,0"]

    def test_json_keys(self):
        got = self.json(*self.GAUSSIAN)
        self.assertEqual(list(got), ["law", "d", "L", "softmax", "linear"])
        for kind in ("softmax", "linear"):
            self.assertEqual([len(row) for row in got[kind]], [2, 2, 2])

    def test_the_table(self):
        out = self.succeed(*self.GAUSSIAN)
        self.assertEqual(out.count("softmax"), 3)
        self.assertIn("(0.1, 3)", out)

    def test_files(self):
        expected = self.json(*self.GAUSSIAN, "--out", "out.npy")["softmax"]
        self.assertEqual(read_npy(self.path("out.npy")), expected)
        self.json(*self.GAUSSIAN, "--out", "out.csv")
        self.assertEqual(read_csv(self.path("out.csv")), expected)
        self.json(*self.GAUSSIAN, "--U", "2*identity", "--out", "out.csv")
        self.assertNotEqual(read_csv(self.path("out.csv")), expected)  # replaced
        self.assertEqual(sorted(os.listdir(self.folder)), ["out.csv", "out.npy"])
        got = self.json("attention", "--law", "tokens:out.npy", "--query", "out.npy")  # and read back
        self.assertEqual(got["L"], 3)

    def test_inputs_are_not_replaced(self):
        square = csv([[1.0, 2.0], [3.0, 4.0]])
        for name in ("t.csv", "w.csv", "M.csv", "K.csv", "q.csv"):
            self.write(name, square if name != "w.csv" else "1\n2\n")
        self.write("mixture.toml", '[[component]]\nweight = 1\nlaw = "tokens:t.csv"\n')
        os.symlink("t.csv", self.path("link.csv"))
        tokens, query = ["--law", "tokens:t.csv"], ["--query", "1,0"]
        for arguments, name in (([*tokens, *query], "t.csv"), ([*tokens, *query], "./t.csv"), ([*tokens, *query], "link.csv"),
                                (["--law", "tokens:link.csv", *query], "t.csv"), (["--law", "mixture:mixture.toml", *query], "t.csv"),
                                (["--law", "tokens:t.csv,weights=w.csv", *query], "w.csv"),
                                (["--law", "gaussian:cov=0.5*M.csv", *query], "M.csv"),
                                ([*tokens, *query, "--U", "2*M.csv"], "M.csv"), ([*tokens, *query, "--V", "M.csv"], "M.csv"),
                                ([*tokens, *query, "--K", "K.csv", "--Q", "M.csv"], "K.csv"),
                                ([*tokens, *query, "--K", "K.csv", "--Q", "M.csv"], "M.csv"), ([*tokens, "--query", "q.csv"], "q.csv")):
            self.refuse("attention", *arguments, "--out", name, fragment=f"--out is '{name}', must be a different file from")
        for name in ("t.csv", "M.csv", "K.csv", "q.csv"):
            with open(self.path(name), encoding="ascii") as file:
                self.assertEqual(file.read(), square)
        self.succeed("attention", *tokens, *query, "--out", "M.csv")  # M.csv is not read here

    def test_a_file_name_that_is_not_utf8(self):
        name = b"\xff.npy"
        with open(os.path.join(self.folder.encode(), name), "wb") as file:
            file.write(npy([[1.0, 2.0]]))
        got = self.json("attention", "--law", b"tokens:" + name, "--query", "1,1")
        self.assertEqual(got["softmax"], [[1.0, 2.0]])


if __name__ == "__main__":
    unittest.main()
