"""largo icl risk from outside: against closed forms, from files, what it refuses.

Softmax attention over one token, or with scores of no spread, averages the labels, ½ [b² (d + τ²)/L + d]; the Bayes risk
without noise is ½ max(0, d - L).
"""

import math
import unittest

import largo_cli
from largo_icl import INF, IclTest, linear_risk


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
        self.assertNotIn("ridge", self.risks("--d", "2", "--L", "2.5")[0])  # no prompt has 2.5 tokens
        noisy = [row["ridge"] for row in self.risks("--d", "2", "--noise", "0.5", "--L", "2,20,200,1e16")]
        self.assertEqual([one["value"] for one in noisy], sorted((one["value"] for one in noisy), reverse=True))
        self.assert_close(noisy[3]["value"] * 1e16, 0.5 * 0.5 * 2, 1e-9)  # ½ τ² d/L
        # Noise this small is as good as none.
        faint = self.risks("--d", "5", "--noise", "1e-300", "--L", "1,4,5,6,1000,inf")
        self.assert_close([row["ridge"]["value"] for row in faint], [2, 0.5, 0, 0, 0, 0], 1e-12)

    def test_bayes(self):
        """The Bayes predictor has a column of its own where ridge regression is not it."""
        robust = ["--d", "2", "--prior-law", "laplace", "--noise-law", "laplace:scale=0.3", "--L", "20,6000,inf", "--prompts", "200"]
        rows = self.risks(*robust)
        self.assertEqual(set(rows[0]["bayes"]), {"value", "error", "sampled", "excess", "poor", "prompts"})
        self.assertLess(rows[0]["bayes"]["value"], rows[0]["ridge"]["value"])
        self.assertLess(abs(rows[0]["bayes"]["excess"]), 0.05 * rows[0]["bayes"]["value"])
        self.assertEqual(rows[0]["bayes"]["prompts"], 200)
        for row in rows[1:]:
            self.assertNotIn("bayes", row)  # too long, and nothing left to find out
        table = self.succeed("icl", "risk", *robust)
        self.assertRegex(table, r"ridge +error +bayes +error\n")
        self.assertRegex(table, r"bayes: the Bayes predictor, with a sampled posterior")
        finite = self.succeed("icl", "risk", "--d", "2", "--prior-law", "rademacher", "--noise", "1", "--L", "3", "--prompts", "50")
        self.assertIn("with sums over all tasks", finite)
        # Here ridge regression is the Bayes predictor.
        self.assertNotIn("bayes", self.risks("--d", "2", "--covariates", "sphere", "--noise", "1", "--L", "3")[0])

    def test_random_lengths(self):
        """The risk of a law of lengths is the average over the law."""
        common = ["--d", "3", "--noise", "0.2", "--A", "0.4*identity", "--b", "1.5"]
        each = self.risks(*common, "--L", ",".join(map(str, range(1, 13))))
        law = self.risks(*common, "--L", "uniform:1:12,inf")
        self.assertEqual([row["L"] for row in law], ["uniform:1:12", INF])
        for who in ("softmax", "linear"):
            self.assert_close(law[0][who]["value"], sum(row[who]["value"] for row in each) / 12, 1e-10)
        self.assert_close(law[0]["ridge"]["value"], sum(row["ridge"]["value"] for row in each) / 12, 1e-12)
        two = self.risks(*common, "--L", "3=0.25,12=0.75")[0]
        self.assertEqual(two["L"], "3=0.25,12=0.75")
        self.assert_close(two["softmax"]["value"], 0.25 * each[2]["softmax"]["value"] + 0.75 * each[11]["softmax"]["value"],
                          1e-10)
        self.assertIn("uniform:1:12", self.succeed("icl", "risk", *common, "--L", "uniform:1:12"))
        for text, fragment in (("3=0.5,4=0.4", "sum of the probabilities is 0.9, must be 1"), ("uniform:5", "uniform:FIRST:LAST"),
                               ("uniform:9:2", "last length"), ("geometric:1", "mean is 1")):
            self.refuse("icl", "risk", *common, "--L", text, fragment=fragment)
        row, = self.icl("risk", "--d", "2", "--covariates", "rademacher", "--L", "uniform:1:9", "--prompts", "50")["rows"]
        self.assertEqual((row["L"], row["softmax"]["average"]), ("uniform:1:9", "sampled"))

    def test_defaults(self):
        """Without parameters those of infinite-prompt training; d is that of a matrix."""
        answer = self.icl("risk", "--cov", "diag:1,2,4", "--L", INF)
        self.assertIn("limit", answer["note"])
        self.assert_close([answer["limit"]["value"], answer["null"]["value"]], [0, 3.5], 1e-12)
        self.assertIn(answer["note"], self.succeed("icl", "risk", "--cov", "diag:1,2,4", "--L", INF))
        self.write("toeplitz.identity.csv", largo_cli.csv([[2.0, 0.0], [0.0, 1.0]]))  # a file, whatever its name
        for arguments, null in ((["--cov", "toeplitz.identity.csv"], 1.5), (["--prior", "0.5*toeplitz.identity.csv"], 0.75),
                                (["--cov", "1.5*toeplitz:0.5"], 3.75), (["--prior", "0.5*zeros"], 0), (["--cov", ".5*identity"], 1.25),
                                (["--cov", "0.5*identity", "--query-cov", "diag:1,1,1"], 1.5)):
            self.assertAlmostEqual(self.icl("risk", *arguments, "--L", INF)["null"]["value"], null, delta=1e-12)
        self.refuse("icl", "risk", "--prior", "missing.csv", fragment="missing.csv")

    def test_matrices_from_files(self):
        given = ["--d", "2", "--L", "20", "--noise", "0.2", "--cov", "toeplitz:0.5", "--prior", "diag:1,2"]
        exact = self.risks(*given, "--A", "diag:0.5,1", "--b", "1.5")[0]
        self.write("V.csv", largo_cli.csv([[0.0, 0.0, 1.5]]))
        self.write("full.npy", largo_cli.npy([[5.0, 6.0, 7.0], [8.0, 9.0, 1.0], [0.0, 0.0, 1.5]]))
        self.write("U.csv", largo_cli.csv([[0.5, 0, 0], [0, 1.0, 0], [0, 0, 3.0]]))  # the last column plays no role
        self.assertEqual(self.risks(*given, "--U", "U.csv", "--V", "V.csv")[0], exact)
        self.assertEqual(self.risks(*given, "--U", "U.csv", "--V", "full.npy")[0], exact)
        # Slightly off the invariant set another method is used; the risk is even in the offset: it is equal.
        self.write("off.csv", largo_cli.csv([[0.5, 0, 0], [0, 1.0, 0], [1e-9, 0, 0]]))
        for threads in ("1", "2"):
            row = self.risks(*given, "--U", "off.csv", "--V", "V.csv", "--threads", threads)[0]
            self.assertLess(abs(row["softmax"]["value"] - exact["softmax"]["value"]),
                            row["softmax"]["error"] + exact["softmax"]["error"])
            self.assertLess(row["softmax"]["error"], 1e-6 * row["softmax"]["value"])
            self.assert_close(row["linear"]["value"], exact["linear"]["value"], 1e-12)

    def test_rare_pairs_of_tasks_and_queries(self):
        """They carry R_L - R_inf off the invariant set: values of a two-dimensional quadrature (tests/icl/risk_oracle.py check)."""
        self.write("U.csv", largo_cli.csv([[0.5, 0.0], [0.7, 0.0]]))
        rows = self.risks("--d", "1", "--U", "U.csv", "--V", "identity", "--L", "1e4,1e6,1e16,1e32,1e64,inf")
        limit = rows[-1]["softmax"]["value"]
        self.assertAlmostEqual(limit, 0.86, delta=1e-14)
        for row, excess, tolerance in zip(rows, (-0.06043195, -0.02711596, -1.069e-3, -2.135e-5, -5.6e-8),
                                          (3e-8, 3e-8, 5e-7, 5e-9, 5e-11)):
            self.assertAlmostEqual(row["softmax"]["value"] - limit, excess, delta=tolerance)
            self.assertLess(row["softmax"]["error"], 1e-8)

    def test_other_covariates(self):
        arguments = ["--d", "3", "--A", "0.5*identity", "--b", "1", "--L", "5,inf", "--prompts", "4000"]
        exact = self.icl("risk", *arguments[:-2])
        self.assertEqual(self.icl("risk", *arguments[:-2], "--covariates", "gaussian"), exact)
        with open(self.path("same.toml"), "w", encoding="utf-8") as file:  # Gaussian in two parts: averages over draws
            file.write("dimension = 3\nprior = [{weight = 1, law = 'gaussian'}, {weight = 2, law = 'gaussian'}]\n")
        drawn = self.icl("risk", "--task", "same.toml", *arguments[2:])
        for one, other in zip(drawn["rows"], exact["rows"]):
            for kind in ("softmax", "linear"):  # 5 standard errors, in 4 comparisons with a fixed seed
                self.assertLess(abs(one[kind]["value"] - other[kind]["value"]), 5 * one[kind]["error"] + 1e-12)
        self.assertEqual([row["softmax"]["average"] for row in drawn["rows"]], ["exact", "limit"])
        self.assert_close(drawn["null"]["value"], exact["null"]["value"], 1e-12)
        sphere = self.icl("risk", *arguments, "--covariates", "sphere")
        self.assertAlmostEqual(sphere["null"]["value"], 0.5, delta=1e-12)
        self.refuse("icl", "risk", *arguments, "--covariates", "sphere", "--cov", "2*identity", fragment="--cov")
        self.refuse("icl", "risk", *arguments, "--covariates", "sphere", "--preset", "published", fragment="preset")

    def test_dimensions(self):
        for command in ("risk", "train", "threshold"):
            self.assertIn("INT:1 to 200", self.succeed("icl", command, "--help"))
        self.refuse("icl", "risk", "--d", "201", fragment="200")

    def test_lengths_need_not_be_whole(self):
        risks = [row["softmax"]["value"] for row in self.json("icl", "risk", "--d", "2", "--L", "10,10.5,11")["rows"]]
        self.assertTrue(risks[0] > risks[1] > risks[2])

    def test_large_scores_keep_their_digits(self):
        """R_inf is 2.4e9: as a sum of it and the rest the risk would have an error of 0.4."""
        row, = self.json("icl", "risk", "--d", "1", "--L", "30", "--A", "7e4*identity", "--b", "1")["rows"]
        self.assertLess(row["softmax"]["error"], 1e-5)
        off, = self.json("icl", "risk", "--d", "1", "--L", "30", "--U", "diag:7e4,0", "--V", "identity")["rows"]
        self.assertAlmostEqual(row["softmax"]["value"], off["softmax"]["value"], delta=1e-5)

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
            (["--covariates", "rademacher", "--prompts", "1"], "--prompts"), (["--preset", "papers"], "--preset"), (["--bogus"], "--bogus"),
        ):
            self.refuse("icl", "risk", *good, *arguments, fragment=fragment)
        for length in ("0", "0.5", "-1", "nan", "-inf", "x", "10,,20", "1:2", ""):
            self.refuse("icl", "risk", "--d", "2", f"--L={length}", fragment="--L")
        self.refuse("icl", "risk", "--d", "2", "--covariates", "rademacher", "--L", "1.5", fragment="whole")
        for dimension in ("0", "-1", "201", "1e9", "99999999999999999999", "x", "1.5", "nan"):
            self.refuse("icl", "risk", "--d", dimension, fragment="--d")
        self.refuse("icl", fragment="a command is missing")
        self.refuse("icl", "bogus")


class Sinks(largo_cli.CliTest):
    HEAD = ("icl", "risk", "--d", "2", "--noise", "0.1", "--A", "0.8*identity", "--b", "1.1")

    def test_risks(self):
        """A sink of no weight is none; two of half the weight are one; the limit and linear attention do not know it."""
        plain = self.json(*self.HEAD, "--L", "1,20,1000,inf,uniform:2:30")
        far = self.json(*self.HEAD, "--L", "1,20,1000,inf,uniform:2:30", "--sink", "-200")
        for one, other in zip(plain["rows"], far["rows"]):
            self.assertLess(abs(one["softmax"]["value"] - other["softmax"]["value"]), 1e-9)
        beside = self.json(*self.HEAD, "--L", "1,20,1000,inf", "--sink", "2")["rows"]
        halves = ("--sink", str(2 - math.log(2)), "--sink", str(2 - math.log(2)))
        for one, same, without in zip(beside, self.json(*self.HEAD, "--L", "1,20,1000,inf", *halves)["rows"], plain["rows"]):
            self.assertLess(abs(one["softmax"]["value"] - same["softmax"]["value"]), 1e-9)
            self.assertEqual(one["linear"], without["linear"])
            if one["L"] != "inf":
                self.assertGreater(abs(one["softmax"]["value"] - without["softmax"]["value"]), 1e-5)
        self.assertEqual(beside[-1]["softmax"]["value"], plain["rows"][3]["softmax"]["value"])

    def test_what_does_not_know_a_sink(self):
        known = "a sink is known to exact risks and flows on the invariant set alone"
        self.refuse("icl", "risk", "--d", "1", "--L", "20", "--U", "random:3", "--V", "identity", "--sink", "1", fragment=known)
        self.refuse(*self.HEAD, "--L", "20", "--sink", "1", "--covariates", "sphere", fragment=known)
        train = ("icl", "train", "--d", "2", "--L", "10", "--sink", "1")
        self.refuse(*train, "--method", "sgd", "--steps", "10", fragment=known)
        for parameters in ("merged", "factored"):
            self.refuse(*train, "--parameters", parameters, fragment=known)
        for bad in ("x", "nan", "inf", ""):
            self.refuse(*self.HEAD, "--L", "20", f"--sink={bad}", fragment="sink")
        self.refuse(*self.HEAD, "--L", "20", "--sink", "301", fragment="sink is 301, must be between -300 and 300")


if __name__ == "__main__":
    unittest.main()
