"""largo icl from outside: risks against closed forms, training, thresholds, its files, what it refuses.

Closed forms for Σ = Σ_q = Ω = I and A = aI: linear attention ½ d [b²a² (1 + (d + 1 + τ²)/L) - 2ab + 1], whose minimum
without noise is ½ d (d + 1)/(L + d + 1); softmax attention over one token, or with scores of no spread, averages the labels,
½ [b² (d + τ²)/L + d]; the Bayes risk without noise is ½ max(0, d - L).
"""

import csv
import json
import math
import os
import signal
import subprocess
import time
import unittest
import xml.dom.minidom

import largo_cli

INF = "inf"


def linear_risk(d, a, b, L, noise=0.0):
    return d / 2 * (b * b * a * a * (1 + (d + 1 + noise) / L) - 2 * a * b + 1)


def best_linear_risk(d, L):
    return d * (d + 1) / (2 * (L + d + 1))


class IclTest(largo_cli.CliTest):
    def run_largo(self, *arguments, simd=None):
        result = super().run_largo(*arguments, simd=simd)
        self.assertNotIn("nan", result.out.lower(), result)
        self.assertNotIn("null,", result.out, result)  # how JSON would say it; the risk of predicting zero is "null":
        return result

    def icl(self, *arguments):
        return self.json("icl", *arguments)

    def risks(self, *arguments):
        return self.icl("risk", *arguments)["rows"]

    def runs(self, *arguments):
        return self.icl("train", *arguments)["runs"]


class Risk(IclTest):
    def test_keys_of_the_contract(self):
        answer = self.icl("risk", "--d", "3", "--noise", "0.1", "--L", "10,1e6,inf", "--A", "0.5*identity", "--b", "1")
        self.assertEqual([row["L"] for row in answer["rows"]], [10, 1000000, INF])
        for row in answer["rows"]:
            self.assertEqual(set(row), {"L", "softmax", "linear", "ridge"})
            self.assertEqual(set(row["softmax"]), {"value", "error"})
            self.assertEqual(set(row["linear"]), {"value"})
            self.assertEqual(set(row["ridge"]), {"value", "error"})
            self.assertLess(row["ridge"]["value"], row["softmax"]["value"])
            self.assertLess(row["ridge"]["value"], row["linear"]["value"])
        self.assertAlmostEqual(answer["limit"]["value"], 1.5 * 0.25, delta=1e-12)  # ½ d (ab - 1)²
        self.assertEqual(answer["null"]["value"], 1.5)
        self.assertEqual(answer["rows"][2]["softmax"]["value"], answer["limit"]["value"])

    def test_linear_closed_form(self):
        for d, a, b, noise in ((1, 1.0, 1.0, 0.0), (3, 0.5, 1.5, 0.3), (7, -0.2, 2.0, 2.0)):
            rows = self.risks("--d", str(d), f"--A={a!r}*identity", f"--b={b!r}", f"--noise={noise!r}", "--L", "1,2.5,40,1e12")
            for row in rows:
                self.assert_close(row["linear"]["value"], linear_risk(d, a, b, row["L"], noise), 1e-12)

    def test_softmax_that_averages_labels(self):
        """One token, or scores without spread: A plays no role, or only b does."""
        for arguments, L in ((["--L", "1", "--A", "2*identity"], 1), (["--L", "1", "--A", "diag:1,2,3"], 1),
                             (["--L", "8", "--A", "zeros"], 8), (["--L", "8", "--A", "identity", "--score-scale", "0"], 8)):
            row = self.risks("--d", "3", "--b", "0.7", "--noise", "0.5", *arguments)[0]["softmax"]
            self.assert_close(row["value"], (0.49 * 3.5 / L + 3) / 2, 1e-9)
            self.assertLessEqual(abs(row["value"] - (0.49 * 3.5 / L + 3) / 2), 2 * row["error"] + 1e-15)

    def test_ridge(self):
        rows = self.risks("--d", "5", "--L", "1,4,5,6,1e300,inf")
        self.assert_close([row["ridge"]["value"] for row in rows], [2, 0.5, 0, 0, 0, 0], 1e-12)
        self.assertNotIn("ridge", self.risks("--d", "2", "--L", "2.5")[0])  # there is no such prompt
        noisy = [row["ridge"] for row in self.risks("--d", "2", "--noise", "0.5", "--L", "2,20,200,1e16")]
        self.assertEqual([one["value"] for one in noisy], sorted((one["value"] for one in noisy), reverse=True))
        self.assert_close(noisy[3]["value"] * 1e16, 0.5 * 0.5 * 2, 1e-9)  # ½ τ² d/L

    def test_defaults(self):
        """Without parameters those of infinite-prompt training; d is that of a matrix."""
        answer = self.icl("risk", "--cov", "diag:1,2,4", "--L", INF)
        self.assertIn("limit", answer["note"])
        self.assert_close([answer["limit"]["value"], answer["null"]["value"]], [0, 3.5], 1e-12)
        self.assertIn(answer["note"], self.succeed("icl", "risk", "--cov", "diag:1,2,4", "--L", INF))

    def test_matrices_from_files(self):
        given = ["--d", "2", "--L", "20", "--noise", "0.2", "--cov", "toeplitz:0.5", "--prior", "diag:1,2"]
        exact = self.risks(*given, "--A", "diag:0.5,1", "--b", "1.5")[0]
        self.write("V.csv", largo_cli.csv([[0.0, 0.0, 1.5]]))
        self.write("full.npy", largo_cli.npy([[5.0, 6.0, 7.0], [8.0, 9.0, 1.0], [0.0, 0.0, 1.5]]))
        self.write("U.csv", largo_cli.csv([[0.5, 0, 0], [0, 1.0, 0], [0, 0, 3.0]]))  # the last column plays no role
        self.assertEqual(self.risks(*given, "--U", "U.csv", "--V", "V.csv")[0], exact)
        self.assertEqual(self.risks(*given, "--U", "U.csv", "--V", "full.npy")[0], exact)
        # A hair off the invariant set another method is used; the risk is even in the step, so that it is the same.
        self.write("off.csv", largo_cli.csv([[0.5, 0, 0], [0, 1.0, 0], [1e-9, 0, 0]]))
        for threads in ("1", "2"):
            row = self.risks(*given, "--U", "off.csv", "--V", "V.csv", "--threads", threads)[0]
            # `error` is a standard error of quasi-Monte-Carlo: 4 of them
            self.assertLess(abs(row["softmax"]["value"] - exact["softmax"]["value"]), 4 * row["softmax"]["error"])
            self.assertLess(row["softmax"]["error"], 0.02 * row["softmax"]["value"])
            self.assert_close(row["linear"]["value"], exact["linear"]["value"], 1e-12)

    def test_other_covariates(self):
        arguments = ["--d", "3", "--A", "0.5*identity", "--b", "1", "--L", "5,inf", "--draws", "4000"]
        exact = self.icl("risk", *arguments[:-2])
        gaussian = self.icl("risk", *arguments, "--covariates", "gaussian")
        for one, other in zip(gaussian["rows"], exact["rows"]):
            for kind in ("softmax", "linear"):  # 5 standard errors, in 4 comparisons with a fixed seed
                self.assertLess(abs(one[kind]["value"] - other[kind]["value"]), 5 * one[kind]["error"] + 1e-12)
        self.assertEqual(gaussian["null"], exact["null"])
        sphere = self.icl("risk", *arguments, "--covariates", "sphere")
        self.assertAlmostEqual(sphere["null"]["value"], 0.5, delta=1e-12)
        self.refuse("icl", "risk", *arguments, "--covariates", "sphere", "--cov", "2*identity", fragment="--cov")
        self.refuse("icl", "risk", *arguments, "--covariates", "sphere", "--preset", "published", fragment="preset")

    def test_bad_input(self):
        good = ["--d", "2", "--L", "10"]
        for arguments, fragment in (
            (["--cov", "zeros"], "condition"), (["--cov", "diag:1,0"], "condition"), (["--score-scale", "0"], "scale"),
            (["--score-scale", "nan"], "scale"), (["--score-scale", "inf"], "scale"), (["--noise", "-1"], "noise"),
            (["--noise", "nan"], "noise"), (["--noise", "inf"], "noise"), (["--A", "identity"], "--b"), (["--b", "1"], "--A"),
            (["--A", "identity", "--b", "nan"], "--b"), (["--A", "identity", "--b", "inf"], "--b"),
            (["--A", "diag:1,2,3", "--b", "1"], "--A"), (["--A", "identity", "--b", "1e200"], "overflows"),
            (["--A", "1e20*identity", "--b", "1"], "1e6"), (["--U", "identity"], "--V"), (["--V", "identity"], "--U"),
            (["--U", "identity", "--V", "identity", "--A", "identity", "--b", "1"], "either"),
            (["--U", "diag:1,2", "--V", "identity"], "--U"), (["--U", "identity", "--V", "diag:1,2"], "--V"),
            (["--U", "random:1", "--V", "1e200*random:1"], "overflows"), (["--nodes", "7"], "--nodes"),
            (["--cov", "diag:1,2,3"], "--cov"), (["--query-cov", "diag:1,2,3"], "--query-cov"),
            (["--prior", "diag:1,2,3"], "--prior"), (["--prior", "random:1"], "symmetric"), (["--cov", "-1*identity"], "covariance"),
            (["--cov", "nothing"], "--cov"), (["--cov", "missing.csv"], "missing.csv"), (["--cov", ""], "--cov"),
            (["--covariates", "gausian"], "is not a law"), (["--covariates", "gaussian:mean=1,2,3"], ""),
            (["--covariates", "rademacher", "--draws", "1"], "--draws"), (["--preset", "papers"], "--preset"), (["--bogus"], "--bogus"),
        ):
            self.refuse("icl", "risk", *good, *arguments, fragment=fragment)
        for length in ("0", "0.5", "-1", "nan", "-inf", "x", "10,,20", "1:2", ""):
            self.refuse("icl", "risk", "--d", "2", f"--L={length}", fragment="--L")
        self.refuse("icl", "risk", "--d", "2", "--covariates", "rademacher", "--L", "1.5", fragment="whole")
        for dimension in ("0", "-1", "201", "1e9", "99999999999999999999", "x", "1.5", "nan"):
            self.refuse("icl", "risk", "--d", dimension, fragment="--d")
        self.refuse("icl", fragment="subcommand")
        self.refuse("icl", "bogus")


class Train(IclTest):
    def test_orientation_values(self):
        """Flows to their ends: the best (a, b) of theory.md, section 7, to the digits printed there."""
        runs = self.runs("--d", "5", "--L", "100,1e5", "--attention", "softmax,linear")
        self.assertEqual([(run["attention"], run["L"]) for run in runs],
                         [("softmax", 100), ("softmax", 100000), ("linear", 100), ("linear", 100000)])
        risks = [run["final_risk"] for run in runs]
        self.assertAlmostEqual(risks[0], 0.370, delta=5e-4)
        self.assertAlmostEqual(risks[1], 4.8e-4, delta=5e-6)
        self.assertAlmostEqual(risks[2], best_linear_risk(5, 100), delta=1e-12)
        self.assertAlmostEqual(risks[3], best_linear_risk(5, 1e5), delta=1e-12)
        for run in runs:
            self.assertTrue(run["stationary"])
            # What is printed is what was trained.
            row = self.risks("--d", "5", "--L", str(run["L"]), f"--A={run['A'][0][0]!r}*identity", f"--b={run['b']!r}")[0]
            self.assertAlmostEqual(row[run["attention"]]["value"], run["final_risk"], delta=1e-12)

    def test_keys_of_the_contract(self):
        answer = self.icl("train", "--d", "2", "--L", "10,20,inf", "--method", "flow,sgd", "--steps", "100")
        self.assertEqual([(run["method"], run["L"]) for run in answer["runs"]],
                         [("flow", 10), ("flow", 20), ("flow", INF), ("sgd", 10), ("sgd", 20)])
        for run in answer["runs"]:
            self.assertLessEqual({"L", "attention", "method", "final_risk", "risk_error", "b", "A", "time", "steps",
                                  "distance_to_limit_flow", "distances_to_limit_flow"}, set(run))
            self.assertAlmostEqual(run["time"], 1, delta=1e-12)
        for run in answer["runs"][3:]:
            self.assertEqual(run["steps"], 100)
            self.assertLessEqual({"noise", "distances_to_flow"}, set(run))
            # Batches of 128, steps of 0.01: a descent stays within some hundredths of its flow.
            self.assertLess(run["distances_to_flow"]["parameters"]["value"], 0.05)
            self.assertGreater(run["distances_to_flow"]["parameters"]["value"], 0)
        self.assertEqual(answer["null"]["value"], 1)
        self.assertEqual(len(answer["warnings"]), 1)
        self.assertIn("inf", answer["warnings"][0])  # sgd cannot draw it
        self.assertIn(answer["warnings"][0], self.succeed("icl", "train", "--d", "2", "--L", "10,inf", "--method", "flow,sgd",
                                                          "--steps", "10"))

    def test_distances_fall_with_the_length(self):
        runs = self.runs("--d", "3", "--L", "10,100,1000,1e6,1e9,inf", "--time", "2")
        for name in ("distance_to_limit_flow", "gradient_gap"):
            values = [run[name] for run in runs]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertGreater(values[0], 0.1)
            self.assertLess(values[4], 1e-3)
            self.assertEqual(values[5], 0)

    def test_the_limit_of_the_theorem(self):
        run = self.runs("--cov", "diag:1,2,0.5", "--L", INF, "--alpha", "0.3")[0]
        weight = (1 + 1 / 4 + 4) ** 0.25
        self.assert_close(run["A"], [[1 / weight, 0, 0], [0, 0.5 / weight, 0], [0, 0, 2 / weight]], 1e-6)
        self.assert_close(run["b"], weight, 1e-6)
        self.assertLess(run["balance_drift"], 1e-6)
        self.assertLess(run["final_risk"], 1e-12)

    def test_outside_the_admissible_range(self):
        answer = self.icl("train", "--d", "2", "--L", "50,inf", "--alpha", "3")
        self.assertIn("alpha = 3", answer["warnings"][0])
        self.assertIn("1.18921", answer["warnings"][0])  # √2/2^(1/4)
        self.assertAlmostEqual(answer["runs"][1]["final_risk"], 0, delta=1e-9)
        self.assertIn("alpha = 3", self.succeed("icl", "train", "--d", "2", "--L", "50", "--alpha", "3"))
        self.assertNotIn("warnings", self.icl("train", "--d", "2", "--L", "50", "--alpha", "1.18"))
        negative = self.icl("train", "--d", "2", "--L", "50", "--score-scale", "-1")
        self.assertIn("negative", negative["warnings"][0])
        self.assertLess(negative["runs"][0]["b"] * negative["runs"][0]["A"][0][0], 0)

    def test_parametrisations(self):
        common = ["--d", "2", "--L", "20", "--time", "0.5"]
        invariant = self.runs(*common)[0]
        merged, sgd = self.runs(*common, "--parameters", "merged", "--method", "flow,sgd", "--steps", "50")
        self.assertEqual((len(merged["U"]), len(merged["v"])), (3, 3))
        # The same path, but for quasi-Monte-Carlo: 4 of its errors.
        self.assertLess(abs(merged["final_risk"] - invariant["final_risk"]), 4 * merged["risk_error"])
        self.assertLess(abs(merged["v"][2] - invariant["b"]), 0.02)
        self.assertLess(abs(sgd["v"][2] - invariant["b"]), 0.05)
        factored = self.icl("train", *common, "--parameters", "factored", "--method", "flow,sgd", "--steps", "20")
        self.assertEqual(len(factored["runs"][0]["U"]), 3)
        self.refuse("icl", "train", *common, "--parameters", "factored", "--alpha", "1", fragment="--alpha")
        self.refuse("icl", "train", *common, "--parameters", "whole", fragment="--parameters")
        other = self.runs(*common, "--parameters", "factored", "--seed", "2")[0]
        self.assertNotEqual(other["U"], factored["runs"][0]["U"])

    def test_ways_to_descend(self):
        both = ["--d", "2", "--L", "20", "--steps", "300", "--batch", "64"]
        common = [*both, "--method", "sgd"]
        start = self.runs("--d", "2", "--L", "20", "--time", "1e-6")[0]["final_risk"]
        for arguments in (["--optimizer", "momentum", "--step-size", "0.002"], ["--optimizer", "adam"], ["--schedule", "cosine"],
                          ["--schedule", "inverse-time"], ["--kernel", "full"], ["--attention", "linear"]):
            with self.subTest(arguments=arguments):
                self.assertLess(self.runs(*common, *arguments)[0]["final_risk"], 0.95 * start)
        answer = self.icl("train", *both, "--optimizer", "adam", "--method", "flow,sgd", "--time", "1")
        self.assertNotIn("noise", answer["runs"][1])  # steps of adam have another clock than the flow
        self.assertIn("adam", answer["warnings"][0])
        self.assertAlmostEqual(self.runs(*common, "--schedule", "cosine")[0]["time"], 0.01 * 301 / 2, delta=1e-12)

    def test_files(self):
        self.succeed("icl", "train", "--d", "2", "--L", "10,100,1000,inf", "--method", "flow,sgd", "--steps", "50", "--csv",
                     "paths.csv", "--plot", "paths.svg")
        with open(self.path("paths.csv"), newline="", encoding="ascii") as file:
            table = list(csv.DictReader(file))
        self.assertEqual({(row["L"], row["method"]) for row in table},
                         {("10", "flow"), ("100", "flow"), ("1000", "flow"), ("inf", "flow"), ("10", "sgd"), ("100", "sgd"),
                          ("1000", "sgd")})
        for row in table:
            for name in ("time", "risk", "norm_A", "b"):
                self.assertTrue(math.isfinite(float(row[name])))
        self.assertEqual(xml.dom.minidom.parse(self.path("paths.svg")).documentElement.tagName, "svg")
        with open(self.path("paths.svg"), encoding="utf-8") as file:
            text = file.read()
        for word in ("L = ∞", "phase portrait", "risk after training", "gradient descent"):
            self.assertIn(word, text)
        self.assertNotIn("nan", text)
        self.succeed("icl", "train", "--d", "1", "--L", "1", "--time", "1", "--parameters", "merged", "--csv", "m.csv", "--plot",
                     "m.svg")
        xml.dom.minidom.parse(self.path("m.svg"))

    def test_same_for_threads(self):
        arguments = ["icl", "train", "--d", "2", "--L", "10,50,inf", "--method", "flow,sgd", "--steps", "60", "--attention",
                     "softmax,linear", "--json"]
        out = self.succeed(*arguments, "--threads", "1", "--csv", "1.csv")
        self.assertEqual(self.succeed(*arguments, "--threads", "2", "--csv", "2.csv"), out)
        with open(self.path("1.csv"), "rb") as one, open(self.path("2.csv"), "rb") as two:
            self.assertEqual(one.read(), two.read())
        self.assertNotEqual(self.succeed(*arguments, "--seed", "2"), out)

    def test_repeated_lengths_count_once(self):
        self.assertEqual([run["L"] for run in self.runs("--d", "1", "--L", "20,10,20", "--time", "1")], [20, 10])

    def test_dry_run(self):
        plan = self.icl("train", "--preset", "published", "--method", "flow,sgd", "--dry-run", "--csv", "a.csv", "--plot", "a.svg")
        self.assertEqual((plan["flows"], plan["descents"]), (38, 38))
        self.assertGreater(plan["core_seconds"], 60)
        self.assertIn("38 flows", self.succeed("icl", "train", "--preset", "published", "--dry-run"))
        small, large = (self.icl("train", "--d", d, "--L", "10", "--dry-run")["core_seconds"] for d in ("5", "50"))
        self.assertGreater(large, 10 * small)
        begin = time.monotonic()
        for schedule in ("constant", "inverse-time", "cosine"):
            self.icl("train", "--method", "sgd", "--steps", str(2**40), "--schedule", schedule, "--dry-run")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(os.listdir(self.folder), [])

    def test_quick(self):
        run = self.runs("--d", "2", "--L", "10", "--method", "sgd", "--quick")[0]
        self.assertEqual(run["steps"], 200)

    def test_degenerate_tasks(self):
        """A singular covariance, no signal, a single dimension: they run, and say what is true."""
        self.assertAlmostEqual(self.runs("--cov", "diag:1,0", "--L", INF)[0]["final_risk"], 0, delta=1e-12)
        one, plane = self.runs("--d", "1", "--L", "10")[0], self.runs("--cov", "diag:1,0", "--L", "10")[0]
        self.assertAlmostEqual(one["final_risk"], plane["final_risk"], delta=1e-8)  # what is constant does not matter
        self.assertEqual(self.runs("--d", "2", "--prior", "zeros", "--L", INF)[0]["final_risk"], 0)
        # One token says nothing: the best is to predict zero.
        self.assertAlmostEqual(self.runs("--d", "3", "--L", "1")[0]["final_risk"], 1.5, delta=1e-9)
        self.assertEqual(self.runs("--d", "2", "--cov", "zeros", "--alpha", "1", "--L", "10")[0]["final_risk"], 0)
        for command in (["train", "--L", "10"], ["threshold", "--epsilon", "0.1"]):
            self.refuse("icl", *command, "--cov", "zeros", fragment="give --alpha")
            self.refuse("icl", *command, "--score-scale", "0", fragment="give --alpha")

    def test_divergence(self):
        for size in ("10", "1e308"):
            self.refuse("icl", "train", "--d", "2", "--L", "10", "--method", "sgd", "--steps", "1000", "--step-size", size, "--csv",
                        "out.csv", "--plot", "out.svg", fragment="diverged at step")
        self.refuse("icl", "train", "--d", "2", "--L", "10", "--method", "sgd", "--step-size", "10", fragment="smaller steps")

    def test_bad_input(self):
        self.write("file", "")
        good = ["--d", "2", "--L", "10"]
        for arguments, fragment in (
            (["--alpha", "0"], "alpha"), (["--alpha", "-1"], "alpha"), (["--alpha", "nan"], "alpha"), (["--alpha", "inf"], "alpha"),
            (["--alpha", "1e300"], "overflows"), (["--theta", "zeros"], "theta"), (["--theta", "diag:1,2,3"], "--theta"),
            (["--theta", "missing.npy"], "missing.npy"), (["--time", "0"], "--time"), (["--time", "-1"], "--time"),
            (["--time", "nan"], "--time"), (["--tolerance", "0"], "--tolerance"), (["--tolerance", "nan"], "--tolerance"),
            (["--tolerance", "1"], "--tolerance"), (["--tolerance", "1e-20"], "--tolerance"), (["--method", "newton"], "newton"),
            (["--method", "flow,"], "--method"), (["--method", ""], "--method"), (["--attention", "cubic"], "cubic"),
            (["--optimizer", "best"], "--optimizer"), (["--schedule", "none"], "--schedule"), (["--kernel", "x"], "--kernel"),
            (["--steps", "0"], "--steps"), (["--steps", "1.5"], "--steps"), (["--batch", "0"], "--batch"),
            (["--step-size", "0"], "--step-size"), (["--step-size", "-1"], "--step-size"), (["--step-size", "nan"], "--step-size"),
            (["--step-size", "inf"], "--step-size"), (["--noise", "-1"], "noise"), (["--cov", "diag:1,2,3"], "--cov"),
            (["--prior", "-1*identity"], "prior"), (["--score-scale", "nan"], "scale"), (["--plot", "figure.png"], ".svg"),
            (["--csv", "missing/out.csv"], "missing/out.csv"), (["--plot", "file/out.svg"], "file/out.svg"), (["--csv", ""], "--csv"),
            (["--csv", "x.svg", "--plot", "x.svg"], "same file"), (["--csv", "x.svg", "--plot", "./x.svg"], "same file"),
        ):
            self.refuse("icl", "train", *good, *arguments, fragment=fragment)
        for length, fragment in (("0", "--L"), ("0.5", "--L"), ("nan", "--L"), ("2.5", "whole"), ("1e12", "1e12"), ("inf", "finite")):
            self.refuse("icl", "train", "--d", "2", "--L", length, "--method", "sgd", "--csv", "out.csv", fragment=fragment)
        self.refuse("icl", "train", "--d", "201", fragment="--d")

    def test_an_interrupt(self):
        """Ctrl-C ends training at once, and leaves no file behind."""
        command = [largo_cli.BINARY, "icl", "train", "--d", "5", "--L", "1000", "--method", "sgd", "--steps", "100000000", "--csv",
                   "out.csv", "--plot", "out.svg"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            time.sleep(0.7)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            out, _ = process.communicate(timeout=largo_cli.TIME_LIMIT)
            self.assertLess(time.monotonic() - begin, 5)  # a second, on a machine that is not busy
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual((out, os.listdir(self.folder)), (b"", []))


class Threshold(IclTest):
    def test_both_sides(self):
        answer = self.icl("threshold", "--epsilon", "0.01", "--d", "5")
        self.assertLessEqual({"epsilon", "L", "risk"}, set(answer))
        self.assertEqual((answer["epsilon"], answer["L"], answer["before"]["L"]), (0.01, 4745, 4744))
        self.assertLessEqual(answer["risk"], 0.01)
        self.assertGreater(answer["before"]["risk"], 0.01)
        self.assertIn("L = 4745", self.succeed("icl", "threshold", "--epsilon", "0.01", "--d", "5"))
        # Trained apart, with a tolerance of its own: the two risks differ by 2e-6 from one length to the next.
        for run, risk in zip(self.runs("--d", "5", "--L", "4744,4745"), (answer["before"]["risk"], answer["risk"])):
            self.assertAlmostEqual(run["final_risk"], risk, delta=1e-9)

    def test_linear_closed_form(self):
        for d, epsilon in ((1, 0.013), (3, 0.013), (5, 3e-7)):
            answer = self.icl("threshold", "--attention", "linear", "--d", str(d), "--epsilon", repr(epsilon))
            self.assertEqual(answer["L"], math.ceil(d * (d + 1) / (2 * epsilon) - d - 1))
            self.assertAlmostEqual(answer["risk"], best_linear_risk(d, answer["L"]), delta=1e-9 * epsilon + 1e-15)

    def test_one_token_is_enough(self):
        answer = self.icl("threshold", "--epsilon", "100")
        self.assertEqual(answer["L"], 1)
        self.assertNotIn("before", answer)

    def test_admissible_range(self):
        answer = self.icl("threshold", "--d", "2", "--epsilon", "0.05", "--alpha", "5")
        self.assertIn("alpha = 5", answer["warnings"][0])
        self.assertEqual(self.icl("threshold", "--d", "2", "--epsilon", "0.05")["L"], answer["L"])

    def test_bad_input(self):
        for epsilon in ("0", "-1", "nan", "inf", "x", ""):
            self.refuse("icl", "threshold", "--d", "2", f"--epsilon={epsilon}", fragment="--epsilon")
        self.refuse("icl", "threshold", "--d", "2", fragment="--epsilon")
        self.refuse("icl", "threshold", "--d", "2", "--attention", "linear", "--epsilon", "1e-30", fragment="1e11")
        good = ["--d", "2", "--epsilon", "0.1"]
        for arguments, fragment in ((["--alpha", "0"], "alpha"), (["--alpha", "nan"], "alpha"), (["--theta", "zeros"], "theta"),
                                    (["--attention", "softmax,linear"], "--attention"), (["--noise", "-1"], "noise"),
                                    (["--cov", "diag:1,2,3"], "--cov"), (["--d", "0"], "--d"), (["--L", "10"], "--L")):
            self.refuse("icl", "threshold", *good, *arguments, fragment=fragment)


class Purity(IclTest):
    def test_json_is_one_object(self):
        """Whatever is asked for beside it; no word about files or warnings on standard output."""
        out = self.succeed("icl", "train", "--d", "1", "--L", "10,inf", "--method", "flow,sgd", "--steps", "20", "--alpha", "9", "--csv",
                           "a.csv", "--plot", "a.svg", "--json")
        self.assertEqual(len(json.loads(out)["warnings"]), 2)
        self.assertEqual(out.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
