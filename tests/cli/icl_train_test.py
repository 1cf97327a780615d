"""largo icl train from outside: flows and descents, their files, stops and checkpoints, what it refuses."""

import csv
import json
import math
import os
import re
import signal
import statistics
import struct
import subprocess
import time
import unittest
import xml.dom.minidom

import largo_cli
from largo_icl import INF, IclTest, best_linear_risk


TASKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "tasks")


class OtherProblems(IclTest):
    """Problems whose risks are averages over draws."""

    def test_a_task_file(self):
        task = os.path.join(TASKS, "robust_regression.toml")
        options = ["train", "--task", task, "--L", "6,inf", "--prompts", "60", "--time", "2"]
        answer = self.icl(*options, "--evaluate", "3", "--plot", "out.svg", "--csv", "out.csv")
        self.assertEqual([run["average"] for run in answer["runs"]], ["sampled", "limit"])
        self.assertEqual(len(answer["runs"][0]["A"]), 5)
        self.assertGreater(answer["runs"][0]["risk_error"], 0)
        self.assertEqual(answer, self.icl(*options, "--evaluate", "3", "--threads", "3"))
        text = self.succeed("icl", *options)
        self.assertIn("standard error over 240 fresh draws; flows average over 60 draws", text)
        self.assertNotIn("flows", self.succeed("icl", "train", "--task", task, "--L", "6", "--prompts", "60", "--method",
                                               "sgd", "--steps", "20").split("fresh draws")[1])

    def test_several_outputs(self):
        task = os.path.join(TASKS, "vector_regression.toml")
        run = self.icl("train", "--task", task, "--L", "5", "--prompts", "50", "--time", "1")["runs"][0]
        self.assertEqual(run["average"], "exact")
        self.assertEqual(len(run["V"]), 3)
        self.refuse("icl", "train", "--task", task, "--parameters", "invariant", fragment="merged")

    def test_gaussian_regression_by_another_name_is_exact(self):
        exact = self.icl("train", "--d", "2", "--L", "20")["runs"][0]
        for options in (["--loss", "squared"], ["--covariates", "gaussian"]):
            same = self.icl("train", "--d", "2", "--L", "20", *options)["runs"][0]
            self.assertEqual(same["final_risk"], exact["final_risk"])
        self.refuse("icl", "train", "--d", "2", "--loss", "squared", "--prompts", "7", fragment="--prompts")
        sampled = self.icl("train", "--d", "2", "--L", "20", "--common-draws", "--prompts", "500", "--time", "3")["runs"][0]
        self.assertEqual(sampled["average"], "sampled")

    def test_inputs_are_not_overwritten(self):
        for name, text in (("U.csv", "1,0,0\n0,1,0\n0,0,0\n"), ("V.csv", "0,0,1\n"), ("X.csv", "1,0\n-1,0.5\n0.3,-1\n")):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        start = ["--start-U", "U.csv", "--start-V", "V.csv"]
        short = ["--d", "2", "--prior-law", "laplace", "--prompts", "64", "--L", "10", "--time", "0.2"]
        self.icl("train", *short, *start)
        self.refuse("icl", "train", *short, *start, "--csv", "U.csv", fragment="U.csv")
        self.refuse("icl", "train", *short, "--covariates", "tokens:X.csv", "--csv", "X.csv", fragment="X.csv")
        self.refuse("icl", "train", *short, "--start-U", "V.csv", "--start-V", "U.csv", fragment="--start-V")
        with open(self.path("U.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "1,0,0\n0,1,0\n0,0,0\n")

    def test_bad_input(self):
        for options, fragment in (
            (["--loss", "absolute"], "huber"),
            (["--loss", "logistic"], "logistic"),
            (["--loss", "huber:0"], "DELTA"),
            (["--covariates", "sphere", "--cov", "toeplitz:0.5"], "covariates"),
            (["--prior-law", "laplace", "--prior", "identity"], "--prior"),
            (["--noise-law", "uniform", "--noise", "1"], "--noise"),
            (["--task", "missing.toml"], "missing.toml"),
            (["--task", "missing.toml", "--d", "2"], "alone"),
            (["--covariates", "sphere", "--L", "5", "--evaluate", "1.5"], "1.5"),
            (["--covariates", "sphere", "--kernel", "full", "--method", "sgd", "--L", "5"], "--kernel"),
        ):
            self.refuse("icl", "train", *options, fragment=fragment)


class Train(IclTest):
    def test_random_lengths_and_other_lengths(self):
        """A law of lengths is one run; its end is evaluated at other lengths, and no worse at its own than others are."""
        answer = self.icl("train", "--d", "2", "--L", "4,uniform:1:16,inf", "--evaluate", "4,uniform:1:16,1e6")
        runs = answer["runs"]
        self.assertEqual([run["L"] for run in runs], [4, "uniform:1:16", INF])
        risks = [[one["risk"] for one in run["evaluated"]] for run in runs]
        self.assertEqual([one["L"] for one in runs[0]["evaluated"]], [4, "uniform:1:16", 1000000])
        for i in range(2):
            self.assert_close(risks[i][i], runs[i]["final_risk"], 1e-12)
            self.assertEqual(min(row[i] for row in risks), risks[i][i])
        text = self.succeed("icl", "train", "--d", "2", "--L", "10=0.5,20=0.5", "--evaluate", "10", "--csv", "out.csv")
        self.assertIn("trained at", text)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            self.assertIn('"10=0.5,20=0.5",softmax,flow', file.read())
        self.succeed("icl", "train", "--d", "2", "--L", "5,10,20,uniform:1:16", "--plot", "out.svg")
        with open(self.path("out.svg"), encoding="utf-8") as file:
            self.assertIn("uniform:1:16", file.read())
        self.refuse("icl", "train", "--d", "2", "--L", "2.5=0.5,3=0.5", "--method", "sgd", fragment="whole")
        self.refuse("icl", "train", "--d", "2", "--evaluate", "0", fragment="--evaluate")

    def test_orientation_values(self):
        """Flows to their ends: the best (a, b) of docs/icl.md, to the digits printed there."""
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
            # The printed parameters are those that were trained.
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
            # With batches of 128 and steps of 0.01, a descent stays within some hundredths of its flow.
            self.assertLess(run["distances_to_flow"]["parameters"]["value"], 0.05)
            self.assertGreater(run["distances_to_flow"]["parameters"]["value"], 0)
        self.assertEqual(answer["null"]["value"], 1)
        self.assertEqual(len(answer["warnings"]), 1)
        self.assertIn("inf", answer["warnings"][0])  # sgd cannot draw an infinite prompt
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

    def test_a_flat_valley_is_no_end(self):
        arguments = ("--d", "2", "--cov", "diag:1,1e-14", "--query-cov", "identity", "--L", "inf")
        run, = self.runs(*arguments)
        self.assertEqual((run["stationary"], run["flat"]), (False, True))
        self.assertIn("flat: ", self.succeed("icl", "train", *arguments))
        self.assertNotIn("flat", self.runs("--d", "2", "--L", "inf")[0])
        # The flow is flat however small the variance is: what counts is how far the risk could still fall.
        for small in ("1e-7", "1e-8", "1e-9"):
            self.assertTrue(self.runs("--d", "2", "--cov", f"diag:1,{small}", "--L", "inf")[0]["flat"], small)

    def test_tasks_that_matter_widen_the_error(self):
        """Flows over fewer tasks do not come to an end here: the run does, and its error says that nothing is known of it."""
        run, = self.runs("--d", "2", "--L", "10", "--parameters", "factored", "--time", "20", "--cov", "1e2*identity", "--nodes", "512")
        self.assertGreater(run["risk_error"], run["final_risk"])

    def test_large_noise_is_no_divergence(self):
        run, = self.runs("--d", "2", "--L", "20", "--noise", "1e300")
        self.assertTrue(run["stationary"])
        self.assertAlmostEqual(run["final_risk"], 1, delta=1e-9)
        self.assertGreater(run["risk_error"], 2e-16)  # no error is below the rounding of its value

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
        # The path is the same but for the error of the nodes, which is not in risk_error: that is the error
        # of the risk at the end of the path.
        self.assertLess(abs(merged["final_risk"] - invariant["final_risk"]), 2e-3)
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
        self.assertNotIn("noise", answer["runs"][1])  # adam's steps run on another clock than the flow
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
        for word in ("L = ∞", "phase portrait", "risk after training", "filled marks are stochastic gradient descent"):
            self.assertIn(word, text)
        self.assertNotIn("nan", text)
        self.succeed("icl", "train", "--d", "1", "--L", "1", "--time", "1", "--parameters", "merged", "--csv", "m.csv", "--plot",
                     "m.svg")
        xml.dom.minidom.parse(self.path("m.svg"))

    def titles_and_caption(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            text = file.read()
        return re.findall(r'font-size="8" text-anchor="middle">(.*?)</text>', text), re.search("<title>(.*?)</title>", text).group(1)

    def test_the_figure_has_what_was_asked_for(self):
        self.succeed("icl", "train", "--d", "2", "--L", "10,100,1000,inf", "--attention", "softmax,linear", "--plot", "both.svg")
        titles, caption = self.titles_and_caption("both.svg")
        self.assertEqual(titles, ["training, softmax", "training, linear", "risk after training", "phase portrait, softmax",
                                  "phase portrait, linear"])
        self.assertIn("Open marks stand on computed points.", caption)
        self.assertIn("Risks below", caption)  # the risks of the infinite prompt fall for ever
        self.assertIn("L = ∞ cannot be shown", caption)
        # The caption says what is left out.
        self.succeed("icl", "train", "--d", "2", "--L", "10,20,30,40,50,60", "--method", "sgd", "--steps", "20", "--seeds", "2",
                     "--parameters", "merged", "--plot", "some.svg")
        titles, caption = self.titles_and_caption("some.svg")
        self.assertEqual(titles, ["training", "risk after training"])
        self.assertIn("Against time, 5 of 6 lengths are shown: 10, 20, 30, 40, 60.", caption)
        self.assertIn("the first of 2 seeds", caption)
        self.assertNotIn("flow", caption)

    def test_same_for_threads(self):
        arguments = ["icl", "train", "--d", "2", "--L", "10,50,inf", "--method", "flow,sgd", "--steps", "60", "--attention",
                     "softmax,linear", "--json"]
        out = self.succeed(*arguments, "--threads", "1", "--csv", "1.csv")
        self.assertEqual(self.succeed(*arguments, "--threads", "2", "--csv", "2.csv"), out)
        with open(self.path("1.csv"), "rb") as one, open(self.path("2.csv"), "rb") as two:
            self.assertEqual(one.read(), two.read())
        self.assertNotEqual(self.succeed(*arguments, "--seed", "2"), out)

    def test_seeds(self):
        """Each seed has the run, and the state, that it has alone; the summary is over them."""
        common = ["--d", "2", "--L", "10,30", "--attention", "softmax,linear", "--method", "flow,sgd", "--steps", "100", "--step-size",
                  "0.05"]
        for parameters in ("invariant", "factored"):
            arguments = [*common, "--parameters", parameters]
            answer = self.icl("train", *arguments, "--seed", "7", "--seeds", "3", "--checkpoints", "together", "--csv", "all.csv",
                              "--plot", "all.svg")
            descents = [run for run in answer["runs"] if run["method"] == "sgd"]
            self.assertEqual([(run["attention"], run["L"], run["seed"]) for run in descents],
                             [(kind, L, seed) for kind in ("softmax", "linear") for L in (10, 30) for seed in (7, 8, 9)])
            for seed in ("7", "8", "9"):
                alone = self.runs(*arguments, "--seed", seed, "--checkpoints", "alone")
                self.assertEqual([run for run in descents if str(run["seed"]) == seed],
                                 [run for run in alone if run["method"] == "sgd"])
            for one in answer["seeds"]:
                runs = [run for run in descents if (run["L"], run["attention"]) == (one["L"], one["attention"])]
                self.assertEqual(one["count"], 3)
                for name, values in (("final_risk", [run["final_risk"] for run in runs]),
                                     ("excess", [run["noise"]["excess"] for run in runs])):
                    deviation = statistics.stdev(values)
                    self.assertAlmostEqual(one[name]["mean"], statistics.mean(values), delta=1e-14)
                    self.assertAlmostEqual(one[name]["standard_deviation"], deviation, delta=1e-12)
                    self.assertAlmostEqual(one[name]["standard_error"], deviation / math.sqrt(3), delta=1e-12)
                self.assertGreater(one["final_risk"]["standard_deviation"], 0)
            self.assertEqual(len(answer["seeds"]), 4)
            with open(self.path("all.csv"), newline="", encoding="ascii") as file:
                self.assertEqual({row["seed"] for row in csv.DictReader(file) if row["method"] == "sgd"}, {"7", "8", "9"})
            xml.dom.minidom.parse(self.path("all.svg"))
        self.assertEqual(len(os.listdir(self.path("together"))), 24)
        self.assertEqual(sorted(os.listdir(self.path("together"))), sorted(os.listdir(self.path("alone"))))
        for name in os.listdir(self.path("together")):
            with open(self.path(f"together/{name}"), "rb") as one, open(self.path(f"alone/{name}"), "rb") as other:
                self.assertEqual(one.read(), other.read(), name)

    def test_seeds_in_words(self):
        arguments = ["icl", "train", "--d", "2", "--L", "10", "--method", "sgd", "--steps", "20"]
        table = self.succeed(*arguments, "--seeds", "5").splitlines()
        self.assertEqual(table[1].split()[:3], ["10", "softmax", "5"])
        self.assertNotIn("seeds", self.succeed(*arguments))
        one = self.icl(*arguments[1:])["seeds"][0]
        self.assertEqual(one["count"], 1)
        self.assertEqual(set(one["final_risk"]), {"mean"})  # one run has no deviation
        plan = self.icl(*arguments[1:], "--seeds", "50", "--dry-run")
        self.assertEqual(plan["descents"], 50)
        long = [*arguments[1:-1], "100000", "--dry-run"]  # so that the flow for comparison does not count
        self.assertGreater(self.icl(*long, "--seeds", "50")["core_seconds"], 40 * self.icl(*long)["core_seconds"])
        many = self.icl("train", "--preset", "published", "--method", "sgd", "--seeds", "100", "--dry-run")
        few = self.icl("train", "--preset", "published", "--method", "sgd", "--dry-run")
        self.assertGreater(many["memory_MB"], few["memory_MB"] + 500)
        for seeds in ("0", "-1", "1.5", "1e9", "nan", "5000", ""):
            self.refuse(*arguments, "--seeds", seeds, fragment="--seeds")
        self.refuse("icl", "train", "--d", "2", "--L", "10", "--seeds", "2", fragment="--seeds")
        self.refuse(*arguments, "--seeds", "2", "--seed", str(2**64 - 1), fragment="--seed")

    def test_flows_beside_seeds_in_words(self):
        """Lengths that have flows alone have a row, and predictions that are missing a reason."""
        arguments = ["icl", "train", "--d", "2", "--method", "sgd,flow", "--steps", "20", "--seeds", "3"]
        for lengths in ("20,inf", "inf"):
            out = self.succeed(*arguments, "--L", lengths)
            rows = {line.split()[0]: line.split() for line in out.splitlines()[1:] if " softmax " in line}
            self.assertEqual(list(rows), lengths.split(","))
            answer = self.icl(*arguments[1:], "--L", lengths)
            limit = next(run for run in answer["runs"] if run["L"] == INF)
            self.assertEqual(len(rows["inf"]), 3)
            self.assertAlmostEqual(float(rows["inf"][2]), limit["final_risk"], delta=1e-7)
            self.assertEqual([one["L"] for one in answer.get("seeds", [])], [20] if lengths == "20,inf" else [])
        out = self.succeed(*arguments, "--L", "20,30")
        reason = self.runs(*arguments[2:], "--L", "20")[1]["no_prediction"]
        self.assertIn(f"no prediction at L = 20 (softmax), 30 (softmax): {reason}\n", out)

    def test_no_distance_is_shown_where_there_is_none(self):
        out = self.succeed("icl", "train", "--d", "2", "--L", "20", "--method", "sgd", "--steps", "20", "--optimizer", "momentum",
                           "--step-size", "0.001")
        self.assertEqual(len(out.splitlines()[1].split()), 8)  # no column after the time

    def test_repeated_lengths_count_once(self):
        self.assertEqual([run["L"] for run in self.runs("--d", "1", "--L", "20,10,20", "--time", "1")], [20, 10])

    def test_dry_run(self):
        plan = self.icl("train", "--preset", "published", "--method", "flow,sgd", "--dry-run", "--csv", "a.csv", "--plot", "a.svg")
        self.assertEqual((plan["flows"], plan["descents"]), (38, 38))
        self.assertGreater(plan["core_seconds"], 60)
        self.assertIn("38 flows", self.succeed("icl", "train", "--preset", "published", "--dry-run"))
        # Many short runs: what is kept of them counts, 40 kB each, and so does the work at their ends.
        arguments = ["train", "--d", "2", "--L", "10,20,30", "--method", "sgd", "--batch", "1", "--seeds", "4096", "--dry-run"]
        many = self.icl(*arguments, "--steps", "100")
        self.assertTrue(400 < many["memory_MB"] < 600, many)  # 480 were measured
        self.assertTrue(4 < many["core_seconds"] < 18, many)  # 9 were measured
        # Every step is recorded, up to 200 records.
        self.assertGreater(self.icl(*arguments, "--steps", "199")["memory_MB"], 1.8 * many["memory_MB"])
        self.assertNotIn("less than", self.succeed("icl", "train", "--d", "2", "--L", "10", "--dry-run"))
        small, large = (self.icl("train", "--d", d, "--L", "10", "--dry-run")["core_seconds"] for d in ("5", "50"))
        self.assertGreater(large, 10 * small)
        begin = time.monotonic()
        for schedule in ("constant", "inverse-time", "cosine"):
            self.icl("train", "--method", "sgd", "--steps", str(2**40), "--schedule", schedule, "--dry-run")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(os.listdir(self.folder), [])

    def test_files_of_a_dry_run(self):
        """What a real run would refuse, and before its work."""
        self.write("M.csv", "1,0\n0,1\n")
        for more, fragment in ((["--plot", "x.png"], "a .svg or .pdf file"), (["--csv", "nowhere/x.csv"], "nowhere/x.csv"),
                               (["--csv", "x.svg", "--plot", "x.svg"], "same file"), (["--csv", "-"], "the name of a file"),
                               (["--cov", "M.csv", "--csv", "M.csv"], "a different file from 'M.csv', which the command reads"),
                               (["--query-cov", "M.csv", "--csv", "./M.csv"], "a different file from 'M.csv'"),
                               (["--prior", "M.csv", "--csv", "M.csv"], "a different file from 'M.csv'"),
                               (["--theta", "2*M.csv", "--csv", "M.csv"], "a different file from 'M.csv'")):
            for dry in ([], ["--dry-run"]):
                self.refuse("icl", "train", "--d", "2", "--L", "10", *more, *dry, fragment=fragment)

    def test_quick_shortens_published_flows(self):
        """They go as far as descents would."""
        long, short = (self.runs("--preset", "published", "--d", "2", "--L", "10", "--parameters", "invariant", *more)[0]["time"]
                       for more in ([], ["--quick"]))
        self.assertLess(short, long)

    def test_quick(self):
        run = self.runs("--d", "2", "--L", "10", "--method", "sgd", "--quick")[0]
        self.assertEqual(run["steps"], 200)

    def test_degenerate_tasks(self):
        """A singular covariance, no signal, a single dimension: they run, and say what is true."""
        self.assertAlmostEqual(self.runs("--cov", "diag:1,0", "--L", INF)[0]["final_risk"], 0, delta=1e-12)
        one, plane = self.runs("--d", "1", "--L", "10")[0], self.runs("--cov", "diag:1,0", "--L", "10")[0]
        self.assertAlmostEqual(one["final_risk"], plane["final_risk"], delta=1e-8)  # constant x_2 is ignored
        self.assertEqual(self.runs("--d", "2", "--prior", "zeros", "--L", INF)[0]["final_risk"], 0)
        # One token says nothing, so that the best prediction is zero.
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

    def test_precision(self):
        """Tokens are float32, flows float64: anything else that is asked for is not what would be done."""
        flow = ["icl", "train", "--d", "2", "--L", "10", "--time", "0.1", "--method", "flow"]
        sgd = [*flow[:-1], "flow,sgd", "--steps", "10"]
        self.assertEqual(self.succeed(*flow, "--precision", "float64"), self.succeed(*flow))
        self.assertEqual(self.succeed(*sgd, "--precision", "float32"), self.succeed(*sgd))
        self.refuse(*flow, "--precision", "float32", fragment="--precision")
        for device in ("cpu", "cuda"):
            self.refuse(*sgd, "--precision", "float64", "--device", device, fragment="--precision")
            self.refuse(*sgd[:-4], "--method", "sgd", "--precision", "float64", "--device", device, fragment="float32")

    def interrupt(self, *arguments, once):
        """Ctrl-C as soon as `once` holds: training ends within a second, with one line, which is returned."""
        with subprocess.Popen([largo_cli.BINARY, "icl", "train", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            begin = time.monotonic()
            while not once() and process.poll() is None and time.monotonic() - begin < largo_cli.TIME_LIMIT:
                time.sleep(0.002)
            self.assertIsNone(process.poll(), "it was over before")
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            out, err = process.communicate(timeout=largo_cli.TIME_LIMIT)
            self.assertLess(time.monotonic() - begin, 5)  # it takes a second on a machine that is not busy
        self.assertEqual((process.returncode, out), (130, b""), err)
        self.assertTrue(err.startswith(b"largo: stopped; ") and err.count(b"\n") == 1, err)
        return err.decode()

    def test_an_interrupt(self):
        """No file is left behind."""
        begin = time.monotonic()
        line = self.interrupt("--d", "5", "--L", "1000", "--method", "sgd", "--steps", "100000000", "--csv", "out.csv", "--plot",
                              "out.svg", once=lambda: time.monotonic() - begin > 0.7)
        self.assertIn("nothing was written", line)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_interrupt_before_the_first_checkpoint(self):
        """Nothing that was done is lost: the state is of the moment of the interrupt."""
        steps, seen = 100000000, []

        def is_under_way():  # the folder is made before the first step, which takes microseconds
            if os.path.isdir(self.path("states")):
                seen.append(time.monotonic())
            return bool(seen) and seen[-1] - seen[0] > 0.5

        line = self.interrupt("--d", "2", "--L", "10", "--method", "sgd", "--steps", str(steps), "--checkpoints", "states",
                              once=is_under_way)
        self.assertIn("run the same command again to resume from the states in 'states'", line)
        (step,) = self.saved_steps().values()
        self.assertGreater(step, 0)
        self.assertLess(step, steps / 50)  # the first regular save would come there


    def saved_steps(self):
        """How far each of the states has come that were saved."""
        steps = {}
        folder = self.path("states")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".safetensors"):
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                begin = 8 + int.from_bytes(content[:8], "little")
                offset = begin + json.loads(content[8:begin])["state"]["data_offsets"][0]
                steps[name] = struct.unpack_from("<d", content, offset)[0]
        return steps

    def test_checkpoints(self):
        """Interrupted twice and taken up again: the same bits as without a stop."""
        common = ["--d", "3", "--L", "100", "--attention", "softmax,linear", "--method", "flow,sgd", "--threads", "1", "--json"]
        steps = 6050  # so that states are saved between two records
        arguments = [*common, "--steps", str(steps)]
        resumed = [*arguments, "--checkpoints", "states"]
        whole = self.succeed("icl", "train", *arguments, "--csv", "whole.csv")
        before = 0
        for _ in range(2):
            line = self.interrupt(*resumed, once=lambda: max(self.saved_steps().values(), default=0) > before)
            self.assertIn("again to resume", line)
            self.assertEqual(len(self.saved_steps()), 1)
            left = max(self.saved_steps().values())
            self.assertGreater(left, before)
            self.assertLess(left, steps)
            before = left
        for _ in range(2):  # the second time nothing is left to do
            self.assertEqual(self.succeed("icl", "train", *resumed, "--csv", "resumed.csv"), whole)
            with open(self.path("whole.csv"), "rb") as one, open(self.path("resumed.csv"), "rb") as other:
                self.assertEqual(one.read(), other.read())
            self.assertEqual(list(self.saved_steps().values()), [steps, steps])
        # Other settings have states of their own.
        short = [*common, "--steps", "100"]
        self.assertEqual(self.succeed("icl", "train", *short, "--checkpoints", "states"), self.succeed("icl", "train", *short))
        self.assertEqual(sorted(self.saved_steps().values()), [100, 100, steps, steps])
        # A state of which half is missing is refused.
        name = next(name for name, step in self.saved_steps().items() if step == steps)
        os.truncate(os.path.join(self.path("states"), name), 200)
        self.refuse("icl", "train", *resumed, fragment=name)
        self.refuse("icl", "train", *arguments, "--checkpoints", "whole.csv", fragment="whole.csv")
        self.refuse("icl", "train", *arguments, "--checkpoints", "", fragment="--checkpoints")

    def test_json_is_one_object(self):
        """Whatever is asked for beside it; no word about files or warnings on standard output."""
        out = self.succeed("icl", "train", "--d", "1", "--L", "10,inf", "--method", "flow,sgd", "--steps", "20", "--alpha", "9", "--csv",
                           "a.csv", "--plot", "a.svg", "--json")
        self.assertEqual(len(json.loads(out)["warnings"]), 2)
        self.assertEqual(out.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
