"""largo icl single-location from outside: closed forms, what it writes, what it refuses."""

import csv
import math
import os
import unittest

from largo_cli import CliTest

COMMAND = ("icl", "single-location")


class SingleLocation(CliTest):
    def rows(self, *arguments):
        return self.json(*COMMAND, *arguments)["rows"]

    def test_without_a_signal_tokens_are_averaged(self):
        # a = 0, b = 1: the mean of all values, ½ (1 - 1/L).
        for row in self.rows("--L", "2,10,1e6", "--signal", "0"):
            self.assertEqual((row["a"], row["b"]), (0, 1))
            self.assert_close(row["excess"]["value"], 0.5 * (1 - 1 / row["L"]), 1e-13)
            self.assert_close(row["needle_weight"], 1 / row["L"], 1e-13)

    def test_two_tokens(self):
        # E (1 + e^D)^-2 with D ~ N(m², 2 m²), by Simpson's rule.
        m, steps = 1.5, 4000
        total = 0.0
        for i in range(steps + 1):
            g = -10 + 20 * i / steps
            weight = (1 if i in (0, steps) else 4 if i % 2 else 2) * 20 / steps / 3
            total += weight * math.exp(-g * g / 2) / (1 + math.exp(m * m + math.sqrt(2) * m * g)) ** 2
        row, = self.rows("--L", "2", "--signal", "1.5", "--noise", "0.4")
        self.assert_close(row["excess"]["value"], total / math.sqrt(2 * math.pi), 1e-12)
        self.assert_close(row["risk"]["value"], row["excess"]["value"] + 0.2, 1e-14)
        self.assertLess(row["risk"]["error"], 1e-13)

    def test_the_head_that_is_best_is_a_head(self):
        best, = self.rows("--L", "40", "--signal", "3", "--needle-spread", "0.6", "--noise", "0.1")
        options = ("--L", "40", "--signal", "3", "--needle-spread", "0.6", "--noise", "0.1")
        given, = self.rows(*options, "--a", repr(best["a"]), "--b", repr(best["b"]))
        self.assert_close(given["risk"]["value"], best["risk"]["value"], 1e-12)
        vectors, = self.rows(*options, "--u", f"{best['a']!r},0,0", "--v", f"0,{best['b']!r},0")
        self.assert_close(vectors["risk"]["value"], best["risk"]["value"], 1e-12)
        self.assertNotIn("a", vectors)
        worse, = self.rows(*options, "--a", repr(best["a"] * 1.05), "--b", repr(best["b"]))
        self.assertGreater(worse["risk"]["value"], best["risk"]["value"])

    def test_training_finds_it(self):
        for row in self.rows("--L", "10,1e5", "--signal", "4", "--train"):
            trained = row["trained"]
            self.assertTrue(trained["stationary"])
            self.assert_close(trained["a"], 4, 1e-6)
            self.assert_close(trained["b"], 1, 1e-6)
            self.assert_close(trained["excess"], row["excess"]["value"], 1e-9)

    def test_signals_that_grow(self):
        lost = self.rows("--L", "1e300", "--signal", "0.9*sqrt(2*ln(L))")[0]
        found = self.rows("--L", "1e300", "--signal", "1.1*sqrt(2*ln(L))")[0]
        self.assertGreater(lost["excess"]["value"], 0.49)
        self.assertLess(found["excess"]["value"], 0.01)
        self.assert_close(found["signal"], 1.1 * found["critical_signal"], 1e-14)
        infinite, = self.rows("--L", "inf", "--signal", "5", "--a", "2", "--b", "3", "--noise", "0.5")
        self.assertEqual(infinite["L"], "inf")
        self.assertEqual(infinite["risk"]["value"], infinite["null_risk"])

    def test_thresholds(self):
        weakest, = self.rows("--epsilon", "0.05", "--L", "1000")
        self.assert_close(weakest["excess"]["value"], 0.05, 1e-10)
        longest, = self.rows("--epsilon", "0.05", "--signal", "5")
        self.assertLessEqual(longest["excess"]["value"], 0.05)
        longer, = self.rows("--L", str(longest["L"] + 1), "--signal", "5")
        self.assertGreater(longer["excess"]["value"], 0.05)

    def test_files(self):
        self.succeed(*COMMAND, "--L", "10,1e3", "--train", "--csv", "rows.csv", "--plot", "figure.svg")
        with open(self.path("rows.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row, other in zip(rows, self.rows("--L", "10,1e3")):
            self.assertEqual(float(row["excess"]), other["excess"]["value"])
            self.assert_close(float(row["trained_a"]), 4, 1e-6)
        with open(self.path("figure.svg"), encoding="utf-8") as file:
            self.assertIn("</svg>", file.read())

    def test_the_same_for_any_number_of_threads(self):
        arguments = ("--L", "10,100,1e4", "--signal", "3", "--needle-spread", "0.7")
        self.assertEqual(self.rows(*arguments, "--threads", "1"), self.rows(*arguments, "--threads", "3"))

    def test_bad_input(self):
        for option, values in {"--L": ("1", "0", "1e301", "nan", "x", ""), "--signal": ("-1", "51", "nan", "M", "1/0", ""),
                               "--needle-spread": ("0", "-1", "inf", "1e4"), "--noise": ("-1", "x", "inf"),
                               "--start": ("1", "1,2,3", "x"), "--epsilon": ("0", "-1", "nan")}.items():
            for value in values:
                extra = ("--L", "10") if option == "--epsilon" else ("--train",)
                self.refuse(*COMMAND, *extra, f"{option}={value}")
        for arguments in (("--a", "1"), ("--b", "1"), ("--u", "1,0"), ("--v", "1,0"), ("--u", "1,0", "--v", "1"), ("--u", "1", "--v", "1"),
                          ("--a", "1", "--b", "1", "--u", "1,0", "--v", "0,1"), ("--a", "1e7", "--b", "1"), ("--epsilon", "0.1"),
                          ("--epsilon", "0.1", "--L", "10", "--signal", "3"), ("--epsilon", "0.1", "--signal", "L"),
                          ("--epsilon", "0.1", "--L", "10", "--train"), ("--L", "inf"), ("--L", "10", "--csv", ""),
                          ("--plot", "figure.png"), ("--epsilon", "1e-9", "--signal", "1")):
            self.refuse(*COMMAND, *arguments)

    def test_the_examples_of_the_help_run(self):
        text = self.succeed(*COMMAND, "--help")
        examples = [line.strip() for line in text.splitlines() if line.startswith("  largo icl single-location")]
        self.assertEqual(len(examples), 6)
        for example in examples:
            words = [word.strip('"') for word in example.split()]
            self.succeed(*words[1:])
        self.assertEqual(os.listdir(self.folder), ["single_location.svg"])


if __name__ == "__main__":
    unittest.main()
