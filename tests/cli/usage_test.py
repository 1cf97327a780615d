"""Mistakes on the command line: one line that names what is wrong, what is accepted, and the help that says more."""

import re
import unittest

from largo_cli import CliTest

COMMANDS = (["assumptions"], ["attention"], ["concentration"], ["doctor"], ["icl", "assumptions"], ["icl", "risk"], ["icl", "threshold"], ["icl", "train"], ["moments"],
            ["report"], ["reproduce"], ["run"], ["status"])
GAUSSIAN = ["--law", "gaussian", "--d", "2", "--query", "1,0"]
COMMON = ("--json", "--seed", "--threads", "--precision")
# Options that a command accepts only because all commands do.
WITHOUT_EFFECT = {"assumptions": {"--seed", "--precision"}, "icl assumptions": {"--seed", "--threads", "--precision"},
                  "doctor": {"--precision"}, "icl threshold": {"--precision"}, "moments": {"--seed", "--precision"},
                  "report": {"--seed", "--threads", "--precision"}, "reproduce": {"--precision"},
                  "status": {"--seed", "--threads", "--precision"}}


def listed(text):
    """The long options that a part of a help text lists, with their types."""
    return dict(re.findall(r"^  (?:-\w,)?(--[\w-]+) ?(UINT|INT|FLOAT|TEXT)?", text, re.MULTILINE))


class Commands(CliTest):
    def test_a_name_that_is_no_command_is_one_with_help_too(self):
        for arguments, meant in ((["nosuch"], None), (["momentz"], "moments"), (["atention"], "attention"),
                                 (["icl", "nosuch"], None), (["icl", "thresold"], "threshold"), (["helps"], None),
                                 (["icl", "train-risk"], None)):
            where = " ".join(["largo", *arguments[:-1]])
            for more in ([], ["--help"], ["-h"], ["--json"], ["--d", "3"]):
                self.refuse(*arguments, *more, fragment=f"'{arguments[-1]}' is not a command of {where}")
                self.refuse(*arguments, *more, fragment=f"({where} --help lists them)")
                if meant is not None:
                    self.refuse(*arguments, *more, fragment=f"did you mean {meant}?")

    def test_help_excuses_no_wrong_word(self):
        for more in (["--help"], ["-h"], ["--s", "1", "--L", "10"]):
            self.refuse("nosuch", "moments", *more, fragment="'nosuch' is not a command of largo (largo --help lists them)")
            self.refuse("icl", "nosuch", "risk", *more, fragment="'nosuch' is not a command of largo icl (largo icl --help lists them)")
            self.refuse("moments", "nosuch", *more, fragment="'nosuch' is one argument too many for largo moments (largo moments "
                                                             "--help explains it)")
        self.refuse("moments", "--help", "nosuch", fragment="'nosuch' is one argument too many for largo moments")
        self.refuse("moments", "attention", "--help", fragment="'attention' is one argument too many for largo moments")
        self.refuse("report", "a.sqlite", "b.sqlite", "--help", fragment="'b.sqlite' is one argument too many for largo report")
        self.refuse("--bogus", "nosuch", "--help", fragment="'nosuch' is not a command of largo")
        # The word after an unknown option may be its value, and the help lists the options.
        for arguments in (["moments", "--bogus", "3"], ["moments", "--bogus"], ["--d", "3", "moments"], ["run", "study.toml"]):
            self.assertIn("Usage: largo ", self.succeed(*arguments, "--help"))

    def test_a_command_is_missing(self):
        self.refuse(fragment="a command is missing: largo has attention, moments, ")
        self.refuse("icl", fragment="a command is missing: largo icl has risk, train, threshold")

    def test_help_stays_help(self):
        for command in ([], ["icl"], *COMMANDS):
            self.assertIn("Usage: " + " ".join(["largo", *command]), self.succeed(*command, "--help"))
        self.succeed("--help", "moments")


class Options(CliTest):
    def test_the_help_named_is_that_of_the_command(self):
        for command in COMMANDS:
            name = " ".join(["largo", *command])
            self.refuse(*command, "--bogus", fragment=f"'--bogus' is not an option of {name}")
            self.refuse(*command, "--bogus", fragment=f"({name} --help explains it)")
            self.refuse(*command, "--threads", "x", fragment=f"({name} --help explains it)")
        self.refuse("--bogus", fragment="'--bogus' is not an option of largo")

    def test_the_closest_option_is_named(self):
        for command, given, meant in ((["attention"], "--dim", "--d"), (["attention"], "--dimension", "--d"),
                                      (["attention"], "-law", "--law"), (["attention"], "--lwa", "--law"),
                                      (["attention"], "--output", "--out"), (["attention"], "--length", "--L"),
                                      (["concentration"], "--query_law", "--query-law"), (["concentration"], "--prompt", "--prompts"),
                                      (["icl", "train"], "--stepsize", "--step-size"), (["icl", "train"], "--optimiser", "--optimizer"),
                                      (["icl", "train"], "--dim", "--d"), (["icl", "threshold"], "--covs", "--cov"),
                                      (["icl", "threshold"], "--eps", "--epsilon"), (["moments"], "--sigma", "--s"),
                                      (["run"], "--dryrun", "--dry-run"), (["report"], "--output", "--out"),
                                      (["status"], "--jsn", "--json")):
            for form in ([given, "2"], [f"{given}=2"], [given]):
                name = " ".join(["largo", *command])
                self.refuse(*command, *form, fragment=f"'{given}' is not an option of {name}; did you mean {meant}?")
        # The option is also named next to other mistakes, which its name may have caused.
        self.refuse("attention", "--lwa", "gaussian", "--d", "2", "--query", "1,0", fragment="did you mean --law?")

    def test_where_options_stand(self):
        self.refuse("--json", "moments", "--s", "1", "--L", "10", fragment="--json must come after largo moments")
        self.refuse("icl", "--d", "3", "risk", fragment="--d must come after largo icl risk")
        self.refuse("moments", "--s", "1", "--L", "10", "20", fragment="'20' is one argument too many for largo moments")
        self.refuse("moments", "--s", "1", "--L", "10", "-20", fragment="'-20' is one argument too many")

    def test_values_missing_or_given_twice(self):
        self.refuse("moments", "--s", fragment="--s needs a value")
        self.refuse("moments", "--s", "1", "--s", "2", "--L", "10", fragment="--s is given twice")
        self.refuse("moments", "--s", "1", fragment="--L is required")
        self.refuse("run", fragment="study is required")
        self.refuse("moments", "--s", "1", "--L", "10", "--json=no", fragment="--json takes no value")

    def test_lists_that_name_something_twice(self):
        self.refuse("icl", "train", "--method", "flow,flow", fragment="'flow,flow', must be a list that has each name once")
        self.refuse("icl", "train", "--attention", "softmax,linear,softmax", fragment="softmax is there twice")
        self.refuse("concentration", *GAUSSIAN, "--L", "10", "--method", "exact,exact", fragment="--method")

    def test_options_that_would_do_nothing(self):
        for more in (["--steps", "10"], ["--step-size", "0.1"], ["--batch", "2"], ["--optimizer", "adam"], ["--kernel", "full"],
                     ["--schedule", "cosine"], ["--checkpoints", "c"], ["--quick"]):
            self.refuse("icl", "train", "--d", "2", "--L", "10", *more, fragment=f"{more[0]} is for sgd: add sgd to --method")
        self.refuse("icl", "risk", "--d", "2", "--prompts", "10", fragment="--prompts is 10, must be left out")
        self.refuse("icl", "risk", "--d", "2", "--nodes", "10", fragment="--nodes requires --U")
        for more in (["--prompts", "10"], ["--relative-error", "0.1"]):
            self.refuse("concentration", *GAUSSIAN, "--L", "10", *more, fragment=f"{more[0]} is for sampled errors")


class Numbers(CliTest):
    def test_counts_may_be_written_as_floats(self):
        sampled = ["concentration", *GAUSSIAN, "--L", "10", "--method", "sampled", "--json"]
        self.assertEqual(self.succeed(*sampled, "--prompts", "1e3", "--seed", "2e1", "--threads", "2e0"),
                         self.succeed(*sampled, "--prompts", "1000", "--seed", "20", "--threads", "2"))
        sgd = ["icl", "train", "--L", "10", "--method", "sgd", "--json"]
        self.assertEqual(self.succeed(*sgd, "--d", "2.0", "--steps", "1e1", "--batch", "8e0", "--seeds", "2.0"),
                         self.succeed(*sgd, "--d", "2", "--steps", "10", "--batch", "8", "--seeds", "2"))
        self.assertEqual(self.succeed("icl", "risk", "--d", "0.2e1", "--L", "10", "--U", "random:1", "--V", "random:2", "--nodes",
                                      "1.6e1", "--json"),
                         self.succeed("icl", "risk", "--d", "2", "--L", "10", "--U", "random:1", "--V", "random:2", "--nodes", "16",
                                      "--json"))

    def test_digits_are_decimal_and_seeds_exact(self):
        self.assertEqual(self.json("attention", "--law", "gaussian", "--d", "010", "--query", "random:1")["d"], 10)
        last = ["attention", *GAUSSIAN, "--L", "10", "--seed"]
        self.assertNotEqual(self.succeed(*last, str(2**64 - 1)), self.succeed(*last, str(2**64 - 2)))

    def test_every_numeric_option_refuses_what_is_no_number(self):
        seen = set()
        for command in COMMANDS:
            for option, kind in listed(self.succeed(*command, "--help")).items():
                bad = {"FLOAT": [], "INT": ["-1", "1.5", "1e30"], "UINT": ["-1", "1.5", "1e30"]}.get(kind)
                if bad is None:
                    continue
                seen.add(option)
                for value in ["0x1p3", "0x10", "nan", "-inf", "1e400", "x", "1,2", *bad]:
                    self.refuse(*command, f"{option}={value}", fragment=f"{option}: '{value}' is not a ")
                self.refuse(*command, option, "", fragment=f"{option}: '' is not a ")
        self.assertLessEqual({"--d", "--steps", "--seed", "--threads", "--noise", "--alpha", "--relative-error", "--c1", "--epsilon",
                              "--b", "--time", "--step-size", "--prompts", "--prompts", "--nodes", "--batch", "--seeds"}, seen)

    def test_signs(self):
        for command, option, sign in ((["icl", "risk"], "--noise", "non-negative"), (["icl", "train"], "--alpha", "positive"),
                                      (["icl", "train"], "--step-size", "positive"),
                                      (["icl", "threshold"], "--epsilon", "positive"), (["concentration"], "--c1", "positive"),
                                      (["concentration"], "--c2", "non-negative"), (["concentration"], "--tolerance", "positive")):
            wanted = "a finite number above 0" if sign == "positive" else "a finite number of at least 0"
            for value in ["-0.5", "0", "inf"] if sign == "positive" else ["-0.5", "inf"]:
                self.refuse(*command, option, value, fragment=f"{option}: '{value}' is not {wanted}")
        for value in ("-0.5", "0"):  # --time may be infinite
            self.refuse("icl", "train", "--time", value, fragment=f"--time: '{value}' is not a number above 0, or inf")

    def test_a_sign_stands_once(self):
        for text in ("+-1", "-+1", "++1", "--1"):
            self.refuse("moments", f"--s={text}", "--L", "10", fragment=f"--s is '{text}', must be a finite number")
            self.refuse("moments", "--s", "1", f"--L={text}", fragment=f"--L is '{text}', must be a length")
            self.refuse("icl", "risk", f"--b={text}", fragment=f"--b: '{text}' is not a finite number")
            self.refuse("attention", *GAUSSIAN, f"--score-scale={text}", fragment=f"--score-scale is '{text}', must be a finite number")
        self.refuse("moments", "--threads=+-0", fragment="--threads: '+-0' is not a whole number")
        self.assertEqual(self.succeed("moments", "--s", "+1", "--L", "+10"), self.succeed("moments", "--s", "1", "--L", "10"))

    def test_numbers_too_small_for_a_double(self):
        for text in ("1e-400", "0.1e-399", "0." + 400 * "0" + "1"):
            for arguments in (["--s", text, "--L", "10"], ["--s", f"1,{text}", "--L", "10"], ["--s", f"{text}:1:3", "--L", "10"],
                              ["--s", "1", "--L", text]):
                self.refuse("moments", *arguments, fragment="too small for a double, below 5e-324")
            self.refuse("icl", "threshold", "--epsilon", text, fragment="too small for a double, below 5e-324")
        self.refuse("moments", "--s", "1e400", "--L", "10", fragment="'1e400', must be a finite number")
        self.succeed("moments", "--s", "5e-324", "--L", "10")

    def test_numbers_in_texts_are_decimal_too(self):
        for option in ("--s", "--L"):
            arguments = {"--s": "1", "--L": "10", option: "0x1p3"}
            self.refuse("moments", *[word for pair in arguments.items() for word in pair], fragment="'0x1p3'")

    def test_lengths_in_a_range(self):
        for count in ("1e18", "1", "2.5", "0", "-3"):
            self.refuse("moments", "--s", "1", "--L", f"1:2:{count}", fragment="must be a whole number between 2 and 1e6")
        for text in ("1e1-1e6", "10..100", "ten", "10 100"):
            self.refuse("moments", "--s", "1", "--L", text, fragment="a range such as 1e1:1e6:13")


class Matrices(CliTest):
    def test_what_a_matrix_may_be(self):
        for text in ("0.5", "1", "-2", "1e3", "0.5,0.5", "idnetity", "missing.txt", "Identity", "0.5identity", "2*", "3*0.5"):
            for arguments in (["attention", *GAUSSIAN, "--U", text], ["icl", "risk", "--d", "2", "--cov", text]):
                self.refuse(*arguments, fragment="must be a matrix: identity, zeros, toeplitz:0.5, diag:1,2,3 or random:7")
        self.refuse("attention", "--law", "gaussian:cov=0.5", "--d", "2", "--query", "1,0",
                    fragment="cov is '0.5', must be a matrix: identity,")
        self.refuse("attention", "--law", "gaussian:cov=0.5", "--d", "2", "--query", "1,0", fragment="0.5*identity")

    def test_names_that_want_a_number(self):
        for name, form in (("toeplitz", "toeplitz:0.5"), ("random", "random:7"), ("diag", "diag:1,2,3")):
            for text in (name, f"{name}:", f"{name}:x", f"2*{name}"):
                if (name, text) == ("diag", "diag:x"):
                    continue
                shown = text.split("*")[-1]
                self.refuse("attention", "--law", f"gaussian:cov={text}", "--d", "2", "--query", "1,0",
                            fragment=f"cov is '{shown}', must be {name}:")
                self.refuse("attention", *GAUSSIAN, "--U", text, fragment=f"such as {form}")

    def test_queries(self):
        for text in ("[1,0]", "(1,0)", "one", "x.txt"):
            self.refuse("attention", "--law", "gaussian", "--d", "2", "--query", text, fragment=f"'{text}', must be queries: 1,0,-1,")
        self.refuse("attention", "--law", "gaussian", "--d", "2", "--query", "1 0", fragment="'1 0', must be a finite number, or several")

    def test_a_misspelt_law(self):
        self.refuse("attention", "--law", "t.npy", "--d", "2", "--query", "1,0", fragment="did you mean tokens:t.npy?")
        self.refuse("attention", "--law", "gaussian", "--query", "1,0", fragment="gaussian needs a dimension: give --d")
        self.refuse("attention", "--law", "gausian", "--d", "2", "--query", "1,0", fragment="did you mean gaussian?")


class Echo(CliTest):
    def test_long_arguments_are_shortened(self):
        long = "y" * 100_000
        for arguments in ([long], ["icl", long], ["moments", f"--{long}"], ["moments", "--s", long, "--L", "10"],
                          ["moments", "--s", "1", "--L", long], ["moments", "--s", "1", "--L", f"1:2:{long}"], ["run", long],
                          ["status", long], ["attention", "--law", long, "--d", "2", "--query", "1"], ["moments", "--threads", long],
                          ["attention", *GAUSSIAN, "--U", long], ["attention", *GAUSSIAN, "--U", long + ".npy"],
                          ["attention", *GAUSSIAN, "--out", long], ["reproduce", "--only", long], ["moments", "--precision", long],
                          ["attention", "--law", f"gaussian:{long}=1", "--d", "2", "--query", "1"],
                          ["attention", *GAUSSIAN, "--U", "y " * 50_000], ["concentration", *GAUSSIAN, "--L", "1", "--method", long]):
            result = self.run_largo(*arguments)
            with self.subTest(arguments=[one[:30] for one in arguments]):
                self.assertEqual((result.code, result.out, result.err.count("\n")), (2, "", 1), result)
                self.assertLess(len(result.err), 1100)
                self.assertIn("…", result.err)

    def test_characters_stay_whole_and_harmless(self):
        for text in ("é" * 1000, "𝛼" * 999, "a" + "€" * 500):
            err = self.run_largo("moments", "--s", text, "--L", "10").err  # decoded as UTF-8, strictly
            self.assertIn(text[:10], err)
            self.assertLess(len(err), 300)
        for text, shown in (("a\nb", r"a\nb"), ("a\x1b[31mb", r"a\x1b[31mb"), ("a\rb", r"a\x0db"), ("a\x7fb", r"a\x7fb"),
                            ("a\x85b", r"a\xc2\x85b")):
            self.refuse("moments", "--s", text, "--L", "10", fragment=f"'{shown}'")
        self.refuse("moments", "--s", b"a\xffb", "--L", "10", fragment=r"'a\xffb'")


class CommonOptions(CliTest):
    def test_help_says_which_have_no_effect(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                text = self.succeed(*command, "--help")
                listed_first, _, rest = text.partition("\nAccepted by every command, without effect here:")
                self.assertLessEqual(set(COMMON), set(listed(text)))
                self.assertEqual(set(listed(rest)), WITHOUT_EFFECT.get(" ".join(command), set()))
                self.assertEqual(set(listed(listed_first)) & set(listed(rest)), set())

    def test_they_have_none(self):
        for arguments in (["moments", "--s", "1", "--L", "10"], ["icl", "threshold", "--d", "1", "--epsilon", "0.1"]):
            self.assertEqual(self.succeed(*arguments, "--seed", "7", "--precision", "float32"), self.succeed(*arguments))

    def test_the_others_have_one(self):
        for arguments in (["attention", *GAUSSIAN, "--L", "1000", "--json"], ["icl", "risk", "--d", "2", "--noise", "1", "--L", "10", "--json"],
                          ["concentration", *GAUSSIAN, "--L", "10", "--method", "sampled", "--prompts", "100", "--json"],
                          ["icl", "train", "--d", "2", "--L", "10", "--method", "sgd", "--steps", "3", "--batch", "2", "--json"]):
            self.assertNotEqual(self.succeed(*arguments, "--seed", "7"), self.succeed(*arguments, "--seed", "8"))
        for arguments in (["attention", *GAUSSIAN, "--L", "1000", "--json"],
                          ["concentration", *GAUSSIAN, "--L", "10", "--method", "sampled", "--prompts", "100", "--json"]):
            self.assertNotEqual(self.succeed(*arguments, "--precision", "float32"), self.succeed(*arguments, "--precision", "float64"))


if __name__ == "__main__":
    unittest.main()
