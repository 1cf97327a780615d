"""largo icl threshold from outside: both sides of the answer, closed forms, what it refuses."""

import math
import unittest

from largo_icl import IclTest, best_linear_risk


class Threshold(IclTest):
    def test_both_sides(self):
        answer = self.icl("threshold", "--epsilon", "0.01", "--d", "5")
        self.assertLessEqual({"epsilon", "L", "risk"}, set(answer))
        self.assertEqual((answer["epsilon"], answer["L"], answer["before"]["L"]), (0.01, 4745, 4744))
        self.assertLessEqual(answer["risk"], 0.01)
        self.assertGreater(answer["before"]["risk"], 0.01)
        self.assertIn("L = 4745", self.succeed("icl", "threshold", "--epsilon", "0.01", "--d", "5"))
        # Separate trainings, with a tolerance of their own, agree; one token more changes the risk by 2e-6.
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

    def test_what_is_too_flat_is_refused(self):
        arguments = ("icl", "threshold", "--d", "2", "--query-cov", "identity", "--epsilon", "0.1", "--cov")
        for small in ("1e-14", "1e-16"):
            self.refuse(*arguments, f"diag:1,{small}", fragment="is not known: in directions in which tokens")
        self.refuse("icl", "threshold", "--d", "2", "--cov", "diag:1,1e-8", "--epsilon", "1e-9", fragment="may still fall by 5e-09")
        # Directions that are learnt too slowly to be followed do not matter for larger epsilons.
        for problem, L in (("--cov diag:1,3e-7", 365), ("--cov diag:1,1e-7", 365), ("--cov diag:1,1e-8", 365),
                           ("--cov diag:1,1e-2 --prior diag:1,1e-10", 365), ("--prior diag:1,1e-13", 365),
                           ("--query-cov diag:1,1e-13", 615)):
            self.assertEqual(self.icl("threshold", "--d", "2", "--epsilon", "0.01", *problem.split())["L"], L, problem)
        # There is nothing to learn in directions that no query has.
        self.assertEqual(self.icl("threshold", "--d", "2", "--epsilon", "0.1", "--cov", "diag:1,1e-14")["L"], 19)

    def test_units_of_the_data_do_not_matter(self):
        for c in ("1e-120", "1e-8", "1e3", "1e120"):
            answer = self.icl("threshold", "--d", "2", "--cov", f"{c}*identity", "--epsilon", repr(0.01 * float(c)))
            self.assertEqual((answer["L"], answer["before"]["L"]), (1055, 1054), c)
        # With an epsilon above all risks, one token is enough, and its risk is a sensible number.
        answer = self.icl("threshold", "--d", "2", "--cov", "1e-100*identity", "--epsilon", "0.1")
        self.assertEqual(answer["L"], 1)
        self.assertLessEqual(answer["risk"], 1.0001e-100)

    def test_bad_input(self):
        for epsilon in ("0", "-1", "nan", "inf", "x", ""):
            self.refuse("icl", "threshold", "--d", "2", f"--epsilon={epsilon}", fragment="--epsilon")
        self.refuse("icl", "threshold", "--d", "2", fragment="--epsilon")
        self.refuse("icl", "threshold", "--d", "2", "--attention", "linear", "--epsilon", "1e-30", fragment="1e+11")
        self.assertIn("1e+11", self.succeed("icl", "threshold", "--help"))
        good = ["--d", "2", "--epsilon", "0.1"]
        for arguments, fragment in ((["--alpha", "0"], "alpha"), (["--alpha", "nan"], "alpha"), (["--theta", "zeros"], "theta"),
                                    (["--attention", "softmax,linear"], "--attention"), (["--noise", "-1"], "noise"),
                                    (["--cov", "diag:1,2,3"], "--cov"), (["--d", "0"], "--d"), (["--L", "10"], "--L")):
            self.refuse("icl", "threshold", *good, *arguments, fragment=fragment)


if __name__ == "__main__":
    unittest.main()
