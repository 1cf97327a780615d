"""What `largo assumptions` and `largo icl assumptions` answer, against formulas and quadrature written here."""

import csv
import math
import unittest

from largo_cli import CliTest, npy

CONTRACT = ["name", "value", "holds", "needed_by"]
NAMES = ["sub_gaussian_tokens", "large_sigma", "sub_gaussian_queries", "centred_tokens", "gaussian_tokens", "bounded_tokens",
         "finite_log_partition", "tilted_moment_4", "tilted_moment_8", "finite_rho"]
TASK_NAMES = ["sub_gaussian_given_task", "one_sigma_for_all_tasks", "sub_gaussian_queries", "task_moment_16", "tilted_moment_4",
              "tilted_moment_8", "finite_rho"]
CLOSED = 1e-12  # relative, of closed forms
RULE = 1e-10  # of the trapezoidal rule below


def over_normal(function):
    """E function(g), g standard normal."""
    step = 1 / 20
    nodes = [step * i for i in range(-500, 501)]
    return math.fsum(step / math.sqrt(2 * math.pi) * math.exp(-g * g / 2) * function(g) for g in nodes)


class Laws(CliTest):
    def rows(self, *arguments):
        return {row["name"]: row for row in self.json("assumptions", *arguments)["assumptions"]}

    def test_contract(self):
        got = self.json("assumptions", "--law", "gaussian", "--d", "2", "--query-law", "gaussian")
        self.assertEqual((got["law"], got["d"], got["queries"]), ("gaussian", 2, "gaussian"))
        self.assertEqual([row["name"] for row in got["assumptions"]], NAMES)
        for row in got["assumptions"]:
            self.assertEqual(list(row)[:4], CONTRACT)
            self.assertIn(row["holds"], (True, False, None))

    def test_gaussian_tokens_and_queries(self):
        rows = self.rows("--law", "gaussian:cov=diag:0.5", "--d", "1", "--U", "0.8*identity", "--query-law", "gaussian")
        for k in (4, 8):
            inner = lambda z: over_normal(lambda g: (0.4 * z + math.sqrt(0.5) * g)**k)
            self.assert_close(rows[f"tilted_moment_{k}"]["value"], over_normal(inner), RULE)
        self.assert_close(rows["finite_rho"]["value"], math.log(over_normal(lambda z: math.exp(0.5 * 0.64 * z * z))), RULE)
        self.assertTrue(rows["finite_rho"]["holds"])
        self.assert_close(rows["sub_gaussian_tokens"]["value"], math.sqrt(0.5), CLOSED)
        self.assertEqual(rows["finite_log_partition"]["value"], "inf")
        self.assertIs(rows["bounded_tokens"]["holds"], False)

    def test_infinite_rho(self):
        rows = self.rows("--law", "gaussian", "--d", "3", "--query-law", "gaussian")
        self.assertEqual((rows["finite_rho"]["value"], rows["finite_rho"]["holds"]), ("inf", False))
        self.assertIn("= 2 > 1", rows["finite_rho"]["where"])
        self.assertIn("0.5", rows["finite_rho"]["note"])

    def test_keys_and_queries(self):
        self.write("K.npy", npy([[1.0, 2.0]]))
        self.write("Q.npy", npy([[0.5, 0.0]]))
        self.write("U.npy", npy([[0.5, 0.0], [1.0, 0.0]]))
        layer = ("--law", "rademacher", "--d", "2", "--query", "1,0;0,0;2,1")
        self.assertEqual(self.rows(*layer, "--K", "K.npy", "--Q", "Q.npy"), self.rows(*layer, "--U", "U.npy"))
        rows = self.rows(*layer, "--U", "U.npy")
        cosh = lambda a: math.log(math.cosh(a))
        logs = [cosh(2 * x) + cosh(4 * x) - 2 * cosh(x) - 2 * cosh(2 * x) for x in (0.5, 0, 1)]
        for got, expected in zip(rows["finite_rho"]["at_queries"], logs):
            self.assertAlmostEqual(got, expected, delta=1e-14)
        self.assert_close(rows["finite_rho"]["value"], math.log(sum(map(math.exp, logs)) / 3), CLOSED)
        self.assert_close(rows["tilted_moment_8"]["value"], 16, 1e-9)  # |z|² = 2 under every tilt
        self.assertGreaterEqual(rows["tilted_moment_8"]["value"], 16 * (1 - CLOSED))

    def test_a_prompt_as_law(self):
        self.write("prompt.npy", npy([[1.0, 0.0], [0.0, 3.0], [-1.0, -1.0]]))
        rows = self.rows("--law", "tokens:prompt.npy", "--query", "0.5,0.25")
        weights = [math.exp(s) for s in (0.5, 0.75, -0.75)]
        expected = sum(w * n for w, n in zip(weights, (1, 81, 4))) / sum(weights)
        self.assert_close(rows["tilted_moment_4"]["value"], expected, 1e-11)
        self.assertEqual(rows["tilted_moment_4"]["kind"], "exact")
        self.assertEqual(rows["bounded_tokens"]["value"], 3)
        self.assertIs(rows["centred_tokens"]["holds"], False)

    def test_large_scores(self):
        rows = self.rows("--law", "gaussian:cov=1e10*identity", "--d", "2", "--query", "3,4")
        self.assert_close(rows["finite_rho"]["value"], 25e10, CLOSED)
        self.assertTrue(rows["finite_rho"]["holds"])

    def test_text_and_csv(self):
        out = self.succeed("assumptions", "--law", "sphere", "--d", "2", "--query", "0,0", "--csv", "table.csv")
        self.assertEqual([line.split()[0] for line in out.splitlines()[2:] if not line.startswith("    ")], [*NAMES, "rows"])
        with open(self.path("table.csv"), newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([row["name"] for row in table], NAMES)
        self.assertEqual({row["holds"] for row in table}, {"yes", "no"})

    def test_same_for_any_number_of_threads(self):
        layer = ("--law", "laplace", "--d", "3", "--query", "1,0,0;0,1,0;3,3,3;1,2,3")
        self.assertEqual(self.rows(*layer, "--threads", "1"), self.rows(*layer, "--threads", "3"))

    def test_bad_input(self):
        law = ("assumptions", "--law", "gaussian", "--d", "2")
        self.refuse(*law, fragment="either --query or --query-law")
        self.refuse(*law, "--query", "1,0", "--query-law", "gaussian", fragment="either --query or --query-law")
        self.refuse(*law, "--query", "1,0,0", fragment="--query")
        self.refuse(*law, "--query", "1,nan", fragment="nan")
        self.refuse(*law, "--query", "1,0", "--K", "identity", fragment="--K and --Q must be given together")
        self.refuse(*law, "--query", "1,0", "--U", "identity", "--K", "identity", "--Q", "identity", fragment="either --U, or --K and --Q")
        self.refuse(*law, "--query-law", "cauchy", fragment="cauchy")
        self.refuse("assumptions", "--law", "cauchy", "--d", "1", "--query", "1", fragment="cauchy")
        self.refuse("assumptions", "--query", "1", fragment="--law")
        self.refuse("assumptions", "--law", "gaussian:cov=1e200*identity", "--d", "1", "--query", "1e100", fragment="overflows")
        self.refuse(*law, "--query", "1,0", "--csv", "no/such/folder.csv", fragment="folder")


class Tasks(CliTest):
    def rows(self, *arguments):
        return {row["name"]: row for row in self.json("icl", "assumptions", *arguments)["assumptions"]}

    def test_gaussian_regression(self):
        got = self.rows("--d", "1", "--A", "0.5*identity", "--noise", "0.3")
        self.assertEqual(list(got), TASK_NAMES)
        # z' = (x, wx + ε) with x ~ N(x_q/2, 1) under the tilt, whatever w is: E|z'|⁴ = E (x²(1 + w²) + 2wxε + ε²)².
        # Moments of w: 1, 3; of x ~ N(0, 1.25): 1.25, 3·1.25²; of ε: 0.3, 3·0.09.
        x2, x4, e2, e4 = 1.25, 3 * 1.25**2, 0.3, 3 * 0.09
        expected = x4 * (1 + 2 + 3) + 4 * x2 * e2 + e4 + 2 * x2 * 2 * e2
        self.assert_close(got["tilted_moment_4"]["value"], expected, CLOSED)
        self.assert_close(got["finite_rho"]["value"], -0.5 * math.log(0.5), CLOSED)
        self.assertIs(got["one_sigma_for_all_tasks"]["holds"], False)
        self.assert_close(got["sub_gaussian_given_task"]["value"], 2.3, CLOSED)

    def test_off_the_invariant_set(self):
        self.write("U.npy", npy([[0.1, 0.0], [0.2, 0.0]]))
        got = self.rows("--d", "1", "--U", "U.npy")
        self.assertEqual((got["finite_rho"]["value"], got["finite_rho"]["holds"]), ("inf", False))
        self.assertIn("U21", got["finite_rho"]["where"])

    def test_other_laws_and_task_files(self):
        self.write("task.toml", 'dimension = 3\ncovariates = "rademacher"\nprior = "sphere"\n')
        options = self.rows("--d", "3", "--covariates", "rademacher", "--prior-law", "sphere", "--A", "identity")
        self.assertEqual(options, self.rows("--task", "task.toml", "--A", "identity"))
        self.assertIs(options["one_sigma_for_all_tasks"]["holds"], True)

    def test_bad_input(self):
        self.refuse("icl", "assumptions", "--A", "identity", "--U", "identity", fragment="either --A or --U")
        self.refuse("icl", "assumptions", "--covariates", "rademacher", fragment="give --A or --U")
        self.refuse("icl", "assumptions", "--d", "0", fragment="--d")
        self.write("U.npy", npy([[0.1]]))
        self.refuse("icl", "assumptions", "--d", "1", "--U", "U.npy", fragment="--U")
        self.write("task.toml", 'kind = "classification"\ndimension = 3\n')
        self.refuse("icl", "assumptions", "--task", "task.toml", "--A", "identity", fragment="task")


if __name__ == "__main__":
    unittest.main()
