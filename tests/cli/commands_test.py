"""The commands around `largo attention`: help, version, doctor, reproduce."""

import csv
import json
import math
import os
import re
import subprocess
import unittest

from largo_cli import BINARY, CliTest


class Help(CliTest):
    def test_help_has_an_example(self):
        for command in ([], ["attention"], ["concentration"], ["doctor"], ["icl"], ["icl", "risk"], ["icl", "train"],
                        ["icl", "threshold"], ["moments"], ["report"], ["reproduce"], ["run"], ["status"]):
            for flag in ("--help", "-h"):
                with self.subTest(command=command, flag=flag):
                    out = self.succeed(*command, flag)
                    self.assertIn("Example", out)
                    self.assertIn("largo " + " ".join(command), out)

    def test_the_main_help_lists_every_command(self):
        out = self.succeed("--help")
        for command in ("attention", "concentration", "doctor", "icl", "moments", "report", "reproduce", "run", "status"):
            self.assertIn(f"\n  {command} ", out)

    def test_every_command_has_the_common_options(self):
        for command in (["attention"], ["concentration"], ["doctor"], ["icl", "risk"], ["icl", "threshold"], ["icl", "train"],
                        ["moments"], ["reproduce"], ["run"], ["status"]):
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
    CLAIMS = ["lemma", "exact-error", "other-laws", "averaged-exponent", "audit", "bounds", "softmax-linear",
              "infinite-limit", "transfer", "threshold", "risk-ratio", "published", "other-covariates"]

    def column(self, claim, name, table=0):
        return [row[claim["tables"][table]["columns"].index(name)] for row in claim["tables"][table]["rows"]]

    def test_report(self):
        out = self.succeed("reproduce", "--quick", "--out", "a/b")
        self.assertIn("13 of 13 claims hold", out)
        self.assertIn(os.path.join("a", "b", "report.html"), out)
        with open(self.path("a/b/report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual([claim["id"] for claim in report["claims"]], self.CLAIMS)
        claims = {claim["id"]: claim for claim in report["claims"]}
        for claim in report["claims"]:
            self.assertEqual(claim["verdict"], "holds", claim["id"])
            for key in ("title", "source", "statement", "formula", "computed", "reason", "figures", "command"):
                self.assertTrue(claim[key], (claim["id"], key))
            for number in claim["numbers"]:
                self.assertLessEqual(number["value"], number.get("limit", math.inf), claim["id"])
        exponents = claims["averaged-exponent"]
        self.assertAlmostEqual(self.column(exponents, "c(σ)")[1], (5 ** 0.5 - 1) / 2, 12)
        self.assertEqual(self.column(claims["exact-error"], "L"), [1, 3, 10, 30, 100])
        self.assertEqual(len(set(self.column(claims["other-laws"], "law"))), 4)
        self.assertEqual(self.column(claims["threshold"], "L(ε)"), [445, 4745, 47836])
        # 47.89 L^-1 beside 15 L^-1: the constants of docs/icl.md
        self.assertAlmostEqual(self.column(claims["risk-ratio"], "ratio")[-1], 47.89 / 15, 2)
        self.assertEqual(set(self.column(claims["published"], "method")), {"flow", "sgd"})
        # The files beside it: a page with the same claims, and each figure three times.
        with open(self.path("a/b/report.html"), encoding="utf-8") as file:
            page = file.read()
        data = json.loads(re.search(r'id="largo-data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual(data["sections"], report["claims"])
        figures = [figure["id"] for claim in report["claims"] for figure in claim["figures"]]
        self.assertEqual(sorted(os.listdir(self.path("a/b/figures"))),
                         sorted(f"{figure}.{kind}" for figure in figures for kind in ("svg", "pdf", "csv")))
        with open(self.path("a/b/figures/threshold.pdf"), "rb") as file:
            pdf = file.read()
        self.assertTrue(pdf.startswith(b"%PDF") and b"CreationDate" not in pdf)
        with open(self.path("a/b/figures/threshold.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([float(row["y"]) for row in rows if row["label"] == "L(ε)"], [445, 4745, 47836])
        # A second run replaces the report, and gives the same whatever the number of threads.
        printed = self.json("reproduce", "--quick", "--out", "a/b", "--threads", "1")
        self.assertEqual(printed, report)
        self.assertEqual(sorted(os.listdir(self.path("a/b"))), ["figures", "report.html", "report.json"])

    def test_some_of_the_claims(self):
        report = self.json("reproduce", "--quick", "--only", "audit,lemma", "--out", "some")
        self.assertEqual([claim["id"] for claim in report["claims"]], ["lemma", "audit"])
        result = self.run_largo("reproduce", "--only", "lema")
        self.assertEqual((result.code, result.out), (2, ""), result)
        self.assertIn("lemma", result.err)

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
