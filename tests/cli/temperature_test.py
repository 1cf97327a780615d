"""largo temperature: laws of temperature side by side, their inverse, tables, figures, refusals."""

import csv
import json
import math
import unittest

import largo_cli


class Temperature(largo_cli.CliTest):
    KEYS = ["L", "law", "beta", "effective_tokens", "entropy", "needle_weight"]

    def rows(self, *arguments):
        return self.json("temperature", *arguments)["rows"]

    def test_json_has_the_keys_of_the_contract(self):
        found = self.json("temperature", "--s", "1", "--L", "100,1e4", "--needle", "8")
        self.assertEqual(list(found), ["rows"])
        self.assertEqual(len(found["rows"]), 8)  # four laws at two lengths
        for row in found["rows"]:
            self.assertEqual(list(row)[:6], self.KEYS)
            self.assertIsInstance(row["law"], str)
            for key in self.KEYS:
                self.assertTrue(key == "law" or math.isfinite(row[key]), row)
            self.assertIsNone(row["output_error"])
        self.assertEqual([row["law"] for row in found["rows"]][::2], ["constant", "sqrt-log", "log", "log-squared"])
        self.assertEqual([row["L"] for row in found["rows"][:2]], [100, 1e4])

    def test_values_are_those_of_classes_of_tokens(self):
        row = self.rows("--s", "1.5", "--L", "1e5", "--needle", "8", "--sink", "3", "--class", "40:1:0.5", "--beta", "2")[0]
        known = self.json("moments", "--class", "1:6:0", "--class", "40:2:1", "--class", "1:16:0", "--class", "1e5:0:3")
        self.assertEqual(row["beta"], 2)
        self.assert_close(row["needle_weight"], known["classes"][2]["weight"], 1e-12)
        self.assert_close(row["planted_weights"], [one["weight"] for one in known["classes"][:2]], 1e-12)
        self.assert_close(row["crowd_weight"], known["classes"][3]["weight"], 1e-12)
        for name in ("entropy", "log_partition"):
            self.assert_close(row[name], known[name], 1e-12)
        self.assert_close(row["effective_tokens"] * known["P2"], 1, 1e-12)

    def test_laws(self):
        laws = "constant,0.5*log, sqrt-log,yarn:4096,longrope:4096,max(1,1+0.1*ln(L/4096)),table.csv,2*table.csv"
        self.write("table.csv", "L,beta\n10,1\n1e6,2\n")
        found = {row["law"]: row["beta"] for row in self.rows("--s", "1", "--L", "65536", "--beta", laws)}
        log = math.log(65536)
        table = 1 + math.log(6553.6) / math.log(1e5)
        expected = {"constant": 1, "0.5*log": log / 2, "sqrt-log": math.sqrt(log), "yarn:4096": (1 + 0.1 * math.log(16))**2,
                    "longrope:4096": 1 + math.log(16) / math.log(4096), "max(1,1+0.1*ln(L/4096))": 1 + 0.1 * math.log(16),
                    "table.csv": table, "2*table.csv": 2 * table}
        self.assertEqual(list(found), list(expected))
        for law, beta in expected.items():
            self.assertAlmostEqual(found[law], beta, 12, law)

    def test_needle_weight_is_null_without_a_needle(self):
        row = self.rows("--s", "1", "--L", "10", "--beta", "constant")[0]
        self.assertIsNone(row["needle_weight"])
        known = self.json("moments", "--s", "1", "--L", "10")
        self.assert_close(row["output_error"], known["mse"], 1e-12)

    def test_target(self):
        found = self.json("temperature", "--s", "1.3", "--L", "1e2:1e300:3", "--target", "effective_tokens=4")
        for row in found["rows"]:
            self.assertAlmostEqual(row["effective_tokens"], 4, 9)
            self.assertEqual(row["law"], "target")
        self.assertEqual(list(found["growth"]), ["from", "to", "power", "power_of_log"])
        self.assertAlmostEqual(found["growth"]["power_of_log"], 0.5, 1)
        for target, L in (("entropy=ln(L)/2", 1e6), ("effective_tokens=L^0.3", 1e4)):
            row = self.rows("--s", "1", "--L", str(L), "--target", target)[0]
            known = math.log(L) / 2 if target.startswith("entropy") else L**0.3
            self.assert_close(row[target.split("=")[0]] / known, 1, 1e-10)
        row = self.rows("--s", "1", "--needle", "9", "--L", "1e6", "--target", "needle_weight=0.9")[0]
        self.assertAlmostEqual(row["needle_weight"], 0.9, 10)

    def test_same_bits_for_any_number_of_threads(self):
        given = ["temperature", "--law", "elliptical:low=0,high=2", "--d", "3", "--query", "1,0,-1", "--L", "10,1e4,1e8",
                 "--needle", "5", "--json"]
        one = self.succeed(*given, "--threads", "1", "--beta", "constant,sqrt-log")
        self.assertEqual(one, self.succeed(*given, "--threads", "3", "--beta", "constant,sqrt-log"))
        one = self.succeed(*given, "--threads", "1", "--target", "entropy=1")
        self.assertEqual(one, self.succeed(*given, "--threads", "3", "--target", "entropy=1"))

    def test_long_prompts(self):
        for law in (["--s", "2"], ["--law", "sphere", "--d", "3", "--query", "3,0,0"],
                    ["--law", "elliptical:low=0,high=2", "--d", "2", "--query", "1,0"]):
            for row in self.rows(*law, "--L", "1,1e200,1e300", "--beta", "0,1"):
                self.assertLessEqual(row["effective_tokens"], row["L"] * (1 + 1e-12))
                self.assertGreaterEqual(row["entropy"], 0)

    def test_table_and_files(self):
        out = self.succeed("temperature", "--s", "1", "--L", "1e2:1e4:3", "--needle", "8", "--csv", "rows.csv", "--plot", "figure.svg",
                           "--beta", "constant,min(2,log(L))")
        self.assertIn("rows written to rows.csv\nfigure written to figure.svg\n", out)
        with open(self.path("rows.csv"), newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        rows = self.rows("--s", "1", "--L", "1e2:1e4:3", "--needle", "8", "--beta", "constant,min(2,log(L))")
        self.assertEqual(list(table[0])[:6], self.KEYS)
        self.assertEqual([row["law"] for row in table], [row["law"] for row in rows])
        for written, row in zip(table, rows):
            for name in self.KEYS:
                self.assertTrue(name == "law" or float(written[name]) == row[name])
            self.assertEqual(written["output_error"], "")
        with open(self.path("figure.svg"), encoding="utf-8") as file:
            svg = file.read()
        for text in ("weight of the needle", "effective tokens", "constant", "a needle of score 8"):
            self.assertIn(text, svg)
        out = self.succeed("temperature", "--s", "1", "--L", "1e2,1e4", "--target", "effective_tokens=10")
        self.assertIn("read off, not proved", out)
        self.assertIn("output error", out)

    def test_studies(self):
        self.write("study.toml", 'quantity = "temperature"\n[settings]\ns = 1\nneedle = 8\n[grid]\nL = [100, 1e6]\n'
                   'beta = ["sqrt-log", "yarn:4096"]\n')
        self.succeed("run", "study.toml")
        self.succeed("report", "study.sqlite", "--csv", "study.csv")
        with open(self.path("study.csv"), newline="", encoding="utf-8") as file:
            table = {(float(row["L"]), row["beta"]): row for row in csv.DictReader(file)}
        for row in self.rows("--s", "1", "--needle", "8", "--L", "100,1e6", "--beta", "sqrt-log,yarn:4096"):
            written = table[row["L"], row["law"]]
            self.assertEqual(float(written["beta_value"]), row["beta"])
            for name in ("effective_tokens", "entropy", "needle_weight", "crowd_weight", "log_partition"):
                self.assertEqual(float(written[name]), row[name])
        self.write("target.toml", 'quantity = "temperature"\n[settings]\nlaw = "sphere"\nd = 3\nquery = "1,0,0"\n'
                   'statistic = "entropy"\ntarget = 4\n[grid]\nL = [100, 1000]\n')
        self.assertIn("2 of 2 units done", self.succeed("run", "target.toml"))
        self.write("classes.toml", 'quantity = "class-moments"\n[grid]\nclasses = ["200:0:1.5,1:6:0", "1:0:1"]\n')
        self.succeed("run", "classes.toml")
        self.succeed("report", "classes.sqlite", "--csv", "classes.csv")
        with open(self.path("classes.csv"), newline="", encoding="utf-8") as file:
            row = next(csv.DictReader(file))
        known = self.json("moments", "--class", "200:0:1.5", "--class", "1:6:0")
        for name in ("P2", "P3", "P2P2", "entropy", "mean_score", "log_partition", "max_weight"):
            self.assertEqual(float(row[name]), known[name])
        for setting, fragment in (("beta=foo", "'foo'"), ("beta=table.csv", "table.csv"), ("target=2", "go together")):
            self.refuse("run", "study.toml", "--store", "other.sqlite", "--set", setting, fragment=fragment)
        self.refuse("run", "classes.toml", "--store", "other.sqlite", "--set", "classes=1:2", fragment="COUNT:SHIFT:SPREAD")

    def test_bad_input(self):
        crowd = ["temperature", "--s", "1", "--L", "100"]
        sphere = ["temperature", "--law", "sphere", "--d", "3", "--L", "100"]
        self.write("table.csv", "10,1\n50,2\n")
        for arguments, fragment in (
                (["temperature", "--L", "10"], "give either --s"),
                (["temperature", "--s", "1"], "--L is required"),
                (["temperature", "--s", "0", "--L", "10"], "--s is 0"),
                (["temperature", "--s", "nan", "--L", "10"], "--s"),
                (["temperature", "--s", "1", "--L", "inf"], "at most 1e300"),
                (["temperature", "--s", "1", "--L", "0.5"], "--L is 0.5"),
                ([*crowd, "--law", "sphere"], "give either --s"),
                ([*crowd, "--query", "1"], "go with --law"),
                ([*crowd, "--U", "zeros"], "go with --law"),
                (sphere, "--query is missing"),
                ([*sphere, "--query", "1,0"], "query"),
                ([*sphere, "--query", "100,0,0"], "must be at most"),
                ([*sphere, "--query", "1,0,0", "--class", "1:0:1e5"], "planted token"),
                (["temperature", "--law", "laplace", "--d", "2", "--query", "1,1", "--L", "10"], "score"),
                ([*crowd, "--needle", "x"], "--needle"),
                ([*crowd, "--needle", "1e9"], "--needle"),
                ([*crowd, "--sink", "inf"], "--sink"),
                ([*crowd, "--class", "1:2"], "COUNT:SHIFT:SPREAD"),
                ([*crowd, "--class", "0:0:1"], "COUNT"),
                ([*crowd, "--beta", "cnstant"], "'cnstant'"),
                ([*crowd, "--beta", "constant,constant"], "twice"),
                ([*crowd, "--beta", "1-L"], "not negative"),
                ([*crowd, "--beta", "ln(L"], "'ln(L'"),
                ([*crowd, "--beta", "yarn"], "yarn:4096"),
                ([*crowd, "--beta", "table.csv"], "between 10 and 50"),
                ([*crowd, "--beta", "missing.csv"], "missing.csv"),
                ([*crowd, "--beta", "1e9"], "at most 1e+06"),
                ([*crowd, "--target", "entropy"], "effective_tokens=VALUE"),
                ([*crowd, "--target", "entropi=1"], "entropi"),
                ([*crowd, "--target", "entropy=x"], "--target"),
                ([*crowd, "--target", "entropy=5"], "at most 4.605"),
                ([*crowd, "--target", "effective_tokens=101"], "between 1 and 100"),
                ([*crowd, "--target", "needle_weight=0.5"], "needs a needle"),
                ([*crowd, "--needle", "1", "--target", "needle_weight=0.5"], "out of reach"),
                ([*crowd, "--target", "entropy=1", "--beta", "log"], "either --beta or --target"),
                ([*crowd, "--plot", "figure.png"], "--plot"),
                ([*crowd, "--beta", "L/100", "--csv", "no/such/folder.csv"], "no/such"),
                ([*crowd, "--beta", "0.5*table.csv", "--csv", "table.csv"], "--csv")):
            self.refuse(*arguments, fragment=fragment)
        self.refuse(*crowd, *(["--sink", "1"] * 63), fragment="at most 62")


if __name__ == "__main__":
    unittest.main()
