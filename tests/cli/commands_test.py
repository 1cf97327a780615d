"""The commands around `largo attention`: help, version, doctor, reproduce."""

import json
import os
import subprocess
import unittest

from largo_cli import BINARY, CliTest


class Help(CliTest):
    def test_help_has_an_example(self):
        for command in ([], ["attention"], ["concentration"], ["doctor"], ["icl"], ["icl", "risk"], ["icl", "train"],
                        ["icl", "threshold"], ["moments"], ["reproduce"]):
            for flag in ("--help", "-h"):
                with self.subTest(command=command, flag=flag):
                    out = self.succeed(*command, flag)
                    self.assertIn("Example", out)
                    self.assertIn("largo " + " ".join(command), out)

    def test_the_main_help_lists_every_command(self):
        out = self.succeed("--help")
        for command in ("attention", "concentration", "doctor", "icl", "moments", "reproduce"):
            self.assertIn(f"\n  {command} ", out)

    def test_every_command_has_the_common_options(self):
        for command in (["attention"], ["concentration"], ["doctor"], ["icl", "risk"], ["icl", "threshold"], ["icl", "train"],
                        ["moments"], ["reproduce"]):
            out = self.succeed(*command, "--help")
            for option in ("--json", "--seed", "--threads", "--precision", "--help"):
                self.assertIn(option, out)

    def test_version(self):
        version = self.json("doctor")["version"]
        self.assertEqual(self.succeed("--version"), f"largo {version}\n")


class Doctor(CliTest):
    def test_json(self):
        got = self.json("doctor")
        self.assertLessEqual({"version", "simd", "simd_available", "threads", "mpi", "cuda", "python", "libraries"},
                             set(got))
        self.assertIs(got["self_check"]["passed"], True)
        self.assertIn(got["simd"], got["simd_available"])
        self.assertGreaterEqual(got["threads"], 1)
        for part in ("mpi", "cuda", "python"):
            self.assertIsInstance(got[part], bool)
        self.assertTrue(got["libraries"] and all(got["libraries"].values()))
        self.assertEqual(self.json("doctor", "--threads", "3")["threads"], 3)

    def test_table(self):
        out = self.succeed("doctor")
        self.assertIn("self-check passed", out)
        self.assertIn("SIMD", out)


class Reproduce(CliTest):
    def test_report(self):
        out = self.succeed("reproduce", "--quick", "--out", "a/b")
        self.assertIn("verdict: holds", out)
        self.assertIn(os.path.join("a", "b", "report.json"), out)
        with open(self.path("a/b/report.json"), encoding="utf-8") as file:
            report = json.load(file)
        (lemma, exact, laws, exponent, audit, bounds, softmax_linear,
         limit, transfer, published, covariates) = report["claims"]
        self.assertEqual([claim["id"] for claim in report["claims"]],
                         ["lemma", "exact-error", "other-laws", "averaged-exponent", "audit", "bounds", "softmax-linear",
                          "infinite-limit", "transfer", "published", "other-covariates"])
        self.assertEqual({claim["verdict"] for claim in report["claims"]}, {"holds"})
        self.assertAlmostEqual(exponent["rows"][1]["exponent"], (5 ** 0.5 - 1) / 2, 12)
        self.assertLessEqual(exponent["worst_difference"], exponent["worst_difference_bound"])
        self.assertLessEqual(lemma["worst_error"], lemma["worst_error_bound"])
        self.assertLessEqual(exact["worst_z_score"], exact["worst_z_score_bound"])
        self.assertEqual([row["L"] for row in exact["rows"]], [1, 3, 10, 30, 100])
        self.assertLessEqual(laws["worst_z_score"], laws["worst_z_score_bound"])
        self.assertEqual(len({row["law"] for row in laws["rows"]}), 4)
        self.assertEqual({row["L"] for row in laws["rows"]}, {10, 100, 1000})
        low, high = audit["slope_range"]
        for law in audit["laws"]:
            self.assertTrue(all(low <= slope <= high for slope in law["slopes"].values()))
        for fit in bounds["constants"].values():
            self.assertTrue(fit["c2"] > 0 and fit["worst_ratio"] <= 1)
        lengths = [row["L_at_query"] for row in softmax_linear["rows"]]
        self.assertEqual(lengths, sorted(lengths))
        self.assertLessEqual(limit["largest_distance"], limit["tolerance"])
        self.assertEqual([row["L"] for row in transfer["thresholds"]], [445, 4745, 47836])
        self.assertEqual({row["method"] for row in published["rows"]}, {"flow", "sgd"})
        for law in covariates["laws"]:
            distances = [row["distance"] for row in law["rows"]]
            self.assertEqual(distances, sorted(distances, reverse=True))
        # A second run replaces the report, and gives the same whatever the number of threads.
        printed = self.json("reproduce", "--quick", "--out", "a/b", "--threads", "1")
        self.assertEqual(printed, report)
        self.assertEqual(os.listdir(self.path("a/b")), ["report.json"])

    def test_out_that_cannot_be_written(self):
        self.write("file", "")
        for out in ("file", "file/below"):
            result = self.run_largo("reproduce", "--quick", "--out", out)
            self.assertEqual((result.code, result.out), (2, ""), result)
            self.assertTrue(result.err.startswith("largo: ") and result.err.count("\n") == 1, result)
            self.assertIn("--out", result.err)
        self.assertEqual(os.listdir(self.folder), ["file"])


class StandardOutput(CliTest):
    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for arguments in (["doctor", "--json"], ["attention", "--law", "gaussian", "--d", "2", "--query", "1,1"]):
                completed = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
                self.assertEqual(completed.returncode, 1)
                self.assertIn(b"standard output", completed.stderr)


if __name__ == "__main__":
    unittest.main()
