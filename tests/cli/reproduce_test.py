"""largo reproduce: the claims, their numbers and texts, and the folder that it writes."""

import calendar
import csv
import json
import math
import os
import re
import resource
import signal
import statistics
import subprocess
import time
import unittest
import unittest.mock

from largo_cli import BINARY, CliTest


class Reproduce(CliTest):
    # Conditions about errors that largo reports of itself, which no negative control can make large.
    OWN_ERRORS = [("exact-risk", "largest error that the quadrature reports, relative to the risk"),
                  ("slow-limit", "largest error reported, of the same")]

    @classmethod
    def setUpClass(cls):
        """The claims, as the binary lists them; they have half of the controls each."""
        refused = subprocess.run([BINARY, "reproduce", "--only", "?"], capture_output=True, text=True, check=False).stderr
        cls.CLAIMS = re.search(r"is not one of ([a-z0-9, -]+)", refused).group(1).strip().split(", ")
        middle = cls.CLAIMS.index("stability")
        cls.PROMPTS, cls.TRAINING = cls.CLAIMS[:middle], cls.CLAIMS[middle:]

    def column(self, claim, name, table=0):
        return [row[claim["tables"][table]["columns"].index(name)] for row in claim["tables"][table]["rows"]]

    def assert_readable(self, claim):
        """No 1e-12 and no hyphen for a minus in what people read; names of files and laws may have any."""
        texts = [claim[key] for key in ("statement", "computed", "reason")]
        texts += [number["label"] for number in claim["numbers"]]
        for table in claim["tables"]:
            texts += [table["title"], *table["columns"]]
        for figure in claim["figures"]:
            texts.append(figure["caption"])
            for panel in figure["panels"]:
                texts += [panel["title"], panel["x_label"], panel["y_label"], *(c["label"] for c in panel["curves"])]
        for text in texts:
            self.assertIsNone(re.search(r"\d[eE][-+]?\d|(?<![\w-])-\d", text), text)
            self.assertIsNone(re.search(r"\^(?!{[^{}]+})", text), text)  # the page could not raise it

    def assert_whole_lengths(self, claim):
        """Lengths are whole numbers, and those that are shown are those that were computed: no marks side by side."""
        for table in claim["tables"]:
            for at, name in enumerate(table["columns"]):
                if name in ("L", "L(ε)") or name.startswith("L at") or name.startswith("L averaged"):
                    for row in table["rows"]:
                        self.assertEqual(row[at], int(row[at]), (claim["id"], table["title"]))
        panels = [panel for figure in claim["figures"]
                  for frame in [figure["panels"], *figure.get("slider", {}).get("panels", [])] for panel in frame]
        for panel in panels:
            if panel["x_label"] == "prompt length L":
                for curve in panel["curves"]:
                    self.assertEqual(curve["x"], [int(x) for x in curve["x"]], (claim["id"], panel["title"]))

    def files(self, folder):
        found = {}
        for root, _, names in os.walk(self.path(folder)):
            for name in names:
                with open(os.path.join(root, name), "rb") as file:
                    found[os.path.relpath(os.path.join(root, name), self.path(folder))] = file.read()
        return found

    def test_report(self):
        out = self.succeed("reproduce", "--quick", "--out", "a/b")
        self.assertIn(f"{len(self.CLAIMS)} of {len(self.CLAIMS)} claims hold", out)
        self.assertIn(os.path.join("a", "b", "report.html"), out)
        with open(self.path("a/b/report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual([claim["id"] for claim in report["claims"]], self.CLAIMS)
        claims = {claim["id"]: claim for claim in report["claims"]}
        for claim in report["claims"]:
            self.assertEqual(claim["verdict"], "holds", claim["id"])
            for key in ("title", "source", "statement", "formula", "computed", "reason", "figures", "command"):
                self.assertTrue(claim[key], (claim["id"], key))
            self.assertTrue(any("limit" in number for number in claim["numbers"]), claim["id"])
            for number in claim["numbers"]:
                self.assertLessEqual(number["value"], number.get("limit", math.inf), claim["id"])
            for table in claim["tables"]:
                self.assertTrue(table["title"].endswith("."), claim["id"])
                self.assertTrue(all(len(row) == len(table["columns"]) for row in table["rows"]), claim["id"])
            self.assertEqual(claim["command"], f"largo reproduce --quick --only {claim['id']}")
            self.assert_readable(claim)
            self.assert_whole_lengths(claim)
        self.assertEqual(report["command"], "largo reproduce --quick")
        exponents = claims["averaged-exponent"]
        self.assertAlmostEqual(self.column(exponents, "c(σ)")[1], (5 ** 0.5 - 1) / 2, 12)
        self.assertEqual(self.column(claims["exact-error"], "L")[::3], [1, 3, 10, 30, 100])
        self.assertEqual(self.column(claims["exact-error"], "error of")[:3], ["output", "gradient in V", "gradient in U"])
        self.assertEqual(len(set(self.column(claims["other-laws"], "law"))), 4)
        self.assertEqual(self.column(claims["threshold"], "L(ε)"), [445, 4745, 47836])
        # The table shows by a sign, not by digits that nobody sees, that one token less is not enough.
        self.assertTrue(all(left >= 0 for left in self.column(claims["threshold"], "ε − risk")))
        self.assertTrue(all(left < 0 for left in self.column(claims["threshold"], "ε − risk with a token less")))
        # 47.89 L^-1 and 15 L^-1: the constants of docs/icl.md
        self.assertAlmostEqual(self.column(claims["risk-ratio"], "ratio")[-1], 47.89 / 15, 2)
        # (d + 1)(e - 1) in four dimensions
        self.assertAlmostEqual(self.column(claims["softmax-linear"], "ε L")[-1], 5 * (math.e - 1), delta=0.05)
        # Off the invariant set: values for d = 1 at 1e4 and 1e32 from a quadrature in another language.
        slow = claims["slow-limit"]
        excess = dict(zip(zip(self.column(slow, "d"), self.column(slow, "L")), self.column(slow, "quadrature")))
        self.assertAlmostEqual(excess[1, 1e4], 0.799568058 - 0.86, delta=2e-9)
        self.assertAlmostEqual(excess[1, 1e32] / -2.1352e-5, 1, 4)
        self.assertIn("ours", slow["source"])
        # Along training: the suprema are those of the rows, and fall with L.
        stability = claims["stability"]
        limit = [row for row in stability["tables"][0]["rows"] if row[1] == "∞"]
        for before, after in zip(limit, limit[1:]):
            if before[0] == after[0]:
                self.assertTrue(all(a < b for a, b in zip(after[3:6], before[3:6])), after)
        # Noise and Σ enter L R/C through tr Σ and τ² alone: for Σ = I, d = 5 the minimum of d/2 (1-2t)^(-7/2) (1-t)/t.
        transfer = claims["transfer"]
        constant = min(2.5 * (1 - 2 * t) ** -3.5 * (1 - t) / t for t in (k / 1e5 for k in range(1, 50000)))
        for L, risk, ratio in zip(*(self.column(transfer, name)[:4] for name in ("L", "trained risk", "L R/C"))):
            self.assertAlmostEqual(L * risk / constant, ratio, 6)
        starts = claims["infinite-limit"]
        self.assertEqual(self.column(starts, "α")[-1], "beyond both intervals")
        self.assertGreater(max(self.column(starts, "largest ‖Σ‖")), 2)
        self.assertGreater(sum(self.column(starts, "with rank Θ < d")), 0)
        self.assertGreater(min(self.column(starts, "least b/b∞")), 0)
        # The error bars of other covariates are below a tenth of what they belong to.
        for name, value, error in (("excess", "excess risk", "its standard error"), ("distance", "distance", "standard error")):
            for mean, deviation in zip(*(self.column(claims["other-covariates"], column) for column in (value, error))):
                self.assertLess(deviation, 0.1 * mean, name)
        published = claims["published"]
        self.assertEqual(self.column(published, "attention"), ["softmax", "linear"])
        for flow, descent in zip(self.column(published, "flow"), self.column(published, "descent")):
            self.assertLess(abs(descent / flow - 1), 0.1)
        # The limits of softmax and linear attention differ where tokens have a mean, and nowhere else.
        between = claims["linear-error"]["figures"][0]["panels"][1]["curves"]
        last = {curve["label"]: curve["y"][-1] for curve in between if curve["label"]}
        self.assertLess(max(last["m = 0"], last["⟨m, Uz⟩ = 1"]), 1e-3)
        self.assertGreater(min(last["m"], last["m/4"]), 0.1)
        # The suprema of one path fall, by their definition, and by much.
        for row in claims["almost-sure"]["tables"][0]["rows"]:
            suprema = row[1:-2]
            self.assertEqual(suprema, sorted(suprema, reverse=True))
            self.assertLess(suprema[-1], suprema[0] / 4)
        # P(max > M) from the standard library: NormalDist has the Φ of 1 − Φ(ln M / s)^L.
        proof = claims["proof"]
        for s, L, beyond in zip(*(self.column(proof, name) for name in ("s", "L", "P(max > M)"))):
            below = statistics.NormalDist().cdf(math.log(math.sqrt(L)) / s)
            self.assertAlmostEqual(beyond, 1 - below ** L, 12)
        # Where nothing is known, the table says so.
        certified = claims["certified"]
        unknown = [row[:2] for row in certified["tables"][0]["rows"] if row[2] == "no bound"]
        self.assertEqual([(law.split(":")[0], queries) for law, queries in unknown], [("elliptical", "gaussian"), ("elliptical", "sphere")])
        self.assertIn("there is no bound", certified["computed"])
        # What is ours is not called the paper's.
        for name in ("exact-error", "other-laws", "classes", "temperature", "averaged-exponent", "audit", "certified", "softmax-linear"):
            self.assertTrue(claims[name]["source"].startswith("ours"), name)
        self.assertIn("heuristic", exponents["statement"])
        # The numbers of a verdict are those of its tables.
        audit = claims["audit"]
        slopes = [slope for name in ("slope: output", "gradient in V", "gradient in U") for slope in self.column(audit, name)]
        slopes += [slope for name in ("steepest slope", "flattest slope") for slope in self.column(audit, name, 1)]
        numbers = {number["label"]: number["value"] for number in audit["numbers"]}
        self.assertEqual((numbers["steepest slope"], numbers["flattest slope"]), (min(slopes), max(slopes)))
        # Next to the report there is a page with the same claims, and each figure in three formats.
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
        # A second run replaces the report, which is the same for any number of threads.
        printed = self.json("reproduce", "--quick", "--out", "a/b", "--threads", "1")
        self.assertEqual(printed, report)
        self.assertEqual(sorted(os.listdir(self.path("a/b"))), ["figures", "report.html", "report.json", "run.json"])

    def assert_noticed(self, names):
        """Every control fails its claim, each claim has one, and together they violate each condition."""
        for first in range(0, len(names), 4):  # a command has little time on a busy machine
            some = names[first:first + 4]
            found = self.json("reproduce", "--quick", "--controls", "--only", ",".join(some))
            self.assertEqual(list(dict.fromkeys(control["id"] for control in found["controls"])), some)
            for control in found["controls"]:
                self.assertEqual(control["verdict"], "fails", control)
                self.assertTrue(control["violates"], control)
                self.assertRegex(control["control"], r"^[A-ZcΓ|‖].*\.$")  # a sentence that says what is wrong
            kept = [(one["id"], one["condition"]) for one in found["never_violated"]]
            self.assertEqual(kept, [one for one in self.OWN_ERRORS if one[0] in some])

    def test_claims_about_prompts_notice_what_is_wrong(self):
        self.assert_noticed(self.PROMPTS)

    def test_claims_about_training_notice_what_is_wrong(self):
        self.assert_noticed(self.TRAINING)

    def run_facts(self, folder):
        """Those beside the page, which has the same in a place of its own."""
        with open(self.path(f"{folder}/run.json"), encoding="utf-8") as file:
            facts = json.load(file)
        with open(self.path(f"{folder}/report.html"), encoding="utf-8") as file:
            self.assertEqual(json.loads(re.search(r'id="largo-run">(.*?)</script>', file.read(), re.S).group(1)), facts)
        return facts

    def test_what_made_the_report(self):
        self.succeed("reproduce", "--quick", "--only", "audit", "--out", "out", "--threads", "2")
        facts = self.run_facts("out")
        self.assertRegex(facts["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        age = time.time() - calendar.timegm(time.strptime(facts["date"], "%Y-%m-%dT%H:%M:%SZ"))
        self.assertTrue(-5 < age < 600, facts["date"])
        self.assertEqual((facts["threads"], facts["processes"], facts["device"]), (2, 1, "cpu"))
        self.assertIn("version", facts)
        for name in ("compiler", "machine", "simd"):
            self.assertTrue(facts[name], name)
        if "commit" in facts:
            self.assertRegex(facts["commit"], "^[0-9a-f]{40,64}$")
            self.assertIsInstance(facts["modified"], bool)
        # The report itself has none of these facts.
        with open(self.path("out/report.json"), encoding="utf-8") as file:
            self.assertEqual(set(json.load(file)), {"version", "seed", "command", "claims"})

    def test_the_same_bytes_wherever_it_is_made(self):
        with unittest.mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"):
            self.succeed("reproduce", "--quick", "--only", "audit", "--out", "one", "--threads", "1")
            self.succeed("reproduce", "--quick", "--only", "audit", "--out", "two", "--threads", "2")
        self.assertEqual(self.files("one"), self.files("two"))
        facts = self.run_facts("one")
        self.assertEqual(facts["date"], "2023-11-14T22:13:20Z")
        self.assertFalse({"machine", "simd", "threads", "processes", "device"} & set(facts))
        for wrong in ("soon", "-1", "1e9", "99999999999999999999"):
            with unittest.mock.patch.dict(os.environ, SOURCE_DATE_EPOCH=wrong):
                self.refuse("reproduce", "--quick", "--only", "audit", "--out", "three", fragment="SOURCE_DATE_EPOCH")

    def test_some_of_the_claims(self):
        report = self.json("reproduce", "--quick", "--only", "audit,lemma,audit", "--seed", "3", "--out", "some")
        self.assertEqual([claim["id"] for claim in report["claims"]], ["lemma", "audit"])
        self.assertEqual(report["command"], "largo reproduce --quick --only lemma,audit --seed 3")
        self.assertEqual(report["claims"][1]["command"], "largo reproduce --quick --only audit --seed 3")
        result = self.run_largo("reproduce", "--only", "lema")
        self.assertEqual((result.code, result.out), (2, ""), result)
        self.assertIn("lemma", result.err)

    def test_controls_write_no_report(self):
        out = self.succeed("reproduce", "--quick", "--controls", "--only", "audit,lemma", "--out", "none")
        self.assertIn("4 of 4 negative controls fail, as they must", out)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_older_report_is_replaced_as_a_whole(self):
        self.succeed("reproduce", "--quick", "--only", "lemma,audit", "--out", "out")
        self.write("out/figures/mine.svg", "mine")
        out = self.succeed("reproduce", "--quick", "--only", "audit", "--out", "out")
        self.assertIn("1 of 1 claim holds", out)
        self.assertEqual(set(self.files("out")), {"report.html", "report.json", "run.json", "figures/mine.svg", "figures/audit.svg",
                                                  "figures/audit.pdf", "figures/audit.csv"})
        # A report that largo did not write has no say about files.
        for content in ("[]", "{", '{"claims": 3}', '{"claims": [{"figures": [{"id": "../figures/mine"}]}]}',
                        '{"claims": [{"figures": [{"id": "mine"}, {"id": 3}]}]}'):
            self.write("out/report.json", content)
            self.succeed("reproduce", "--quick", "--only", "audit", "--out", "out")
            self.assertIn("figures/mine.svg", self.files("out"), content)

    def test_who_stops_it_leaves_the_older_report(self):
        self.succeed("reproduce", "--quick", "--only", "audit", "--out", "out")
        before = self.files("out")
        for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
            with subprocess.Popen([BINARY, "reproduce", "--full", "--out", "out"], cwd=self.folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                time.sleep(0.7)
                process.send_signal(stop)
                out, _ = process.communicate(timeout=30)
            self.assertEqual((process.returncode, out), (code, b""))
            self.assertEqual(self.files("out"), before)

    def test_a_disk_that_fills_leaves_the_older_report(self):
        self.succeed("reproduce", "--quick", "--only", "audit", "--out", "out")
        before = self.files("out")

        def small_files():  # enough for a figure, too little for the page
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        completed = subprocess.run([BINARY, "reproduce", "--quick", "--only", "audit", "--seed", "2", "--out", "out"],
                                   cwd=self.folder, capture_output=True, preexec_fn=small_files, check=False)
        self.assertEqual((completed.returncode, completed.stdout), (2, b""), completed)
        self.assertIn(b"report.html: cannot be written", completed.stderr)
        self.assertEqual(self.files("out"), before)

    def test_what_is_in_the_way_is_found_before_the_work(self):
        for name in ("report.html", "report.json", "run.json"):
            os.makedirs(self.path(f"in/{name}"))
            self.refuse("reproduce", "--full", "--out", "in", fragment=name)
            os.rmdir(self.path(f"in/{name}"))
        self.write("in/figures", "")
        self.refuse("reproduce", "--full", "--out", "in", fragment="figures")
        self.refuse("reproduce", "--out", "a", "--out", "b", fragment="--out")
        self.refuse("reproduce", "--only", "", fragment="--only")

    def test_out_that_cannot_be_written(self):
        self.write("file", "")
        for out in ("file", "file/below"):
            result = self.run_largo("reproduce", "--quick", "--out", out)
            self.assertEqual((result.code, result.out), (2, ""), result)
            self.assertTrue(result.err.startswith("largo: ") and result.err.count("\n") == 1, result)
            self.assertIn("--out", result.err)
        self.assertEqual(os.listdir(self.folder), ["file"])


if __name__ == "__main__":
    unittest.main()
