"""largo heads: numbers against a computation of its own, what is printed, and files that are no captures.

More captures are compared with NumPy in tests/python/test_heads.py.
"""

import csv as csv_module
import json
import math
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import time
import unittest

from largo_cli import BINARY, CliTest, safetensors_raw

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "data", "heads.safetensors")
KEYS = ["layer", "head", "tokens", "score_std", "score_skewness", "score_kurtosis", "P2", "P2_predicted",
        "effective_tokens", "entropy", "sink_mass", "error_uniform", "error_affine", "error_sinks_affine", "error_mixture",
        "length_measured", "length_predicted", "kind"]
KINDS = ["averaging", "affine", "sink", "local", "retrieval", "mixed"]


def capture(tensors, dtype="F64"):
    """A file of nested lists of three levels by name."""
    letter = {"F64": "d", "F32": "f", "F16": "e"}[dtype]
    header, data = {}, b""
    for name, heads in tensors.items():
        values = [x for head in heads for row in head for x in row]
        begin = len(data)
        data += struct.pack(f"<{len(values)}{letter}", *values)
        header[name] = {"dtype": dtype, "shape": [len(heads), len(heads[0]), len(heads[0][0])],
                        "data_offsets": [begin, len(data)]}
    return safetensors_raw(json.dumps(header), data)


def normal_heads(draw, heads, tokens, width):
    return [[[round(draw.gauss(0, 1), 3) for _ in range(width)] for _ in range(tokens)] for _ in range(heads)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def square(a, b):
    return sum((x - y)**2 for x, y in zip(a, b))


def expected(q, k, v, causal):
    """Statistics and errors of one head in plain Python, by the definitions."""
    rows, errors, outputs = [], [0.0, 0.0], 0.0
    for at, query in enumerate(q):
        seen = at + 1 if causal else len(k)
        scores = [dot(query, key) / math.sqrt(len(query)) for key in k[:seen]]
        weights = [math.exp(s - max(scores)) for s in scores]
        weights = [w / sum(weights) for w in weights]
        mean = sum(scores) / seen
        columns = list(zip(*v[:seen]))
        output = [dot(weights, column) for column in columns]
        uniform = [sum(column) / seen for column in columns]
        affine = [m + sum((s - mean) * x for s, x in zip(scores, column)) / seen for m, column in zip(uniform, columns)]
        errors[0] += square(output, uniform)
        errors[1] += square(output, affine)
        outputs += dot(output, output)
        rows.append({"score_std": math.sqrt(sum((s - mean)**2 for s in scores) / seen), "P2": dot(weights, weights),
                     "entropy": -sum(w * math.log(w) for w in weights)})
    result = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return {**result, "error_uniform": errors[0] / outputs, "error_affine": errors[1] / outputs}


def expected_shares(q, k):
    """The shares of 40 intervals from -5 to 5, and of what is beyond, among the standardised scores of all queries."""
    places = []
    for query in q:
        scores = [dot(query, key) for key in k]
        mean, std = statistics.fmean(scores), statistics.pstdev(scores)
        places += [math.floor(4 * (score - mean) / std) for score in scores]
    return [places.count(place) / len(places) for place in range(-20, 20)], [
        sum(place < -20 for place in places) / len(places), sum(place >= 20 for place in places) / len(places)]


class Heads(CliTest):
    def setUp(self):
        super().setUp()
        shutil.copy(EXAMPLE, self.path("heads.safetensors"))
        draw = random.Random(5)
        self.tensors = {f"layers.{n}.{part}": normal_heads(draw, 2, 30, 3) for n in (3, 0) for part in "qkv"}
        self.write("m.safetensors", capture(self.tensors))

    def test_the_numbers(self):
        for causal in (False, True):
            rows = self.json("heads", "m.safetensors", "--sinks", "none", *(["--causal"] if causal else []))["heads"]
            self.assertEqual([(row["layer"], row["head"]) for row in rows], [(0, 0), (0, 1), (3, 0), (3, 1)])
            for row in rows:
                parts = [self.tensors[f"layers.{row['layer']}.{part}"][row["head"]] for part in "qkv"]
                for name, value in expected(*parts, causal).items():
                    self.assertAlmostEqual(row[name] / value, 1, delta=1e-9, msg=name)

    def test_the_keys(self):
        for row in self.json("heads", "heads.safetensors", "--causal")["heads"]:
            self.assertLessEqual(set(KEYS), set(row))
            self.assertIn(row["kind"], KINDS)
            self.assertEqual(set(row["held_out_errors"]), {"uniform", "affine", "sinks_affine", "mixture"})
            self.assertNotIn("lengths", row)

    def test_every_kind_is_in_the_example(self):
        rows = self.json("heads", "heads.safetensors", "--causal")["heads"]
        self.assertEqual({row["kind"] for row in rows}, set(KINDS))
        sinks = [row["sinks"] for row in rows if row["kind"] == "sink"]
        self.assertEqual(sinks, [[0]])

    def test_curves(self):
        row = self.json("heads", "heads.safetensors", "--heads", "1", "--layers", "0", "--causal", "--curves")["heads"][0]
        curve = row["lengths"]
        self.assertEqual([point["L"] for point in curve], [2**i for i in range(33)])
        for point in curve:
            self.assertLessEqual(point["measured"], point["certified"])
        self.assertLess(abs(math.log(curve[10]["measured"] / curve[10]["predicted"])), 0.2)
        # The tolerance holds from length_measured on.
        for point in curve:
            self.assertEqual(point["measured"] <= 0.1, point["L"] >= row["length_measured"], point)

    def test_the_histogram_of_the_scores(self):
        outlier = [list(row) for row in self.tensors["layers.0.k"][0]]
        outlier[4] = [90.0, 0.0, 0.0]  # far above the others, or far below, as the first number of the query says
        self.write("outlier.safetensors", capture({**self.tensors, "layers.0.k": [outlier, self.tensors["layers.0.k"][1]]}))
        for row in self.json("heads", "outlier.safetensors", "--curves", "--queries", "all")["heads"]:
            key = outlier if (row["layer"], row["head"]) == (0, 0) else self.tensors[f"layers.{row['layer']}.k"][row["head"]]
            shares, beyond = expected_shares(self.tensors[f"layers.{row['layer']}.q"][row["head"]], key)
            self.assertEqual(len(row["score_shares"]), 40)
            for found, wanted in zip([*row["score_shares"], row["scores_below"], row["scores_above"]], shares + beyond):
                self.assertAlmostEqual(found, wanted, delta=1e-12)
        first = self.json("heads", "outlier.safetensors", "--queries", "all")["heads"][0]
        self.assertNotIn("score_shares", first)
        self.assertGreater(min(first["scores_below"], first["scores_above"]), 0)
        self.write("equal.safetensors", capture({**self.tensors, "layers.0.k": [[[1.0] * 3] * 30] * 2}))
        equal = self.json("heads", "equal.safetensors", "--curves")["heads"][0]
        self.assertEqual(sum(equal["score_shares"]) + equal["scores_below"] + equal["scores_above"], 0)

    def test_selections(self):
        rows = self.json("heads", "m.safetensors", "--layers", "3", "--heads", "1")["heads"]
        self.assertEqual([(row["layer"], row["head"]) for row in rows], [(3, 1)])
        everything = self.json("heads", "m.safetensors")["heads"]
        self.assertEqual(rows[0], everything[3])
        self.assertEqual(self.json("heads", "m.safetensors", "--queries", "7")["heads"][0]["queries"], 7)
        self.assertEqual(self.json("heads", "m.safetensors", "--queries", "all")["heads"][0]["queries"], 30)

    def test_threads_do_not_matter(self):
        outputs = {self.succeed("heads", "heads.safetensors", "--causal", "--curves", "--json", "--threads", str(threads))
                   for threads in (1, 2, 5)}
        self.assertEqual(len(outputs), 1)

    def test_csv(self):
        rows = self.json("heads", "heads.safetensors", "--causal", "--csv", "out.csv")["heads"]
        with open(self.path("out.csv"), encoding="ascii") as file:
            table = list(csv_module.DictReader(file))
        self.assertEqual(len(table), len(rows))
        for line, row in zip(table, rows):
            self.assertEqual(line["kind"], row["kind"])
            self.assertEqual([int(x) for x in line["sinks"].split()], row["sinks"])
            self.assertEqual(float(line["held_out_affine"]), row["held_out_errors"]["affine"])
            for name in KEYS[:-1]:
                self.assertEqual(float(line[name]), float(row[name]), name)

    def test_the_table(self):
        lines = self.succeed("heads", "heads.safetensors", "--causal").splitlines()
        self.assertEqual(len(lines), 10)
        self.assertEqual(len(set(map(len, lines[:-1]))), 1, "columns are not aligned")
        self.assertTrue(lines[-1].startswith("8 heads: "))
        errors = [row["error_affine"] for row in self.json("heads", "heads.safetensors", "--causal")["heads"]]
        self.assertIn(f"{min(errors):.3g}", lines[1])

    def test_dry_run(self):
        out = self.succeed("heads", "heads.safetensors", "--dry-run", "--csv", "out.csv")
        self.assertIn("8 heads", out)
        self.assertFalse(os.path.exists(self.path("out.csv")))
        self.assertEqual(self.json("heads", "heads.safetensors", "--dry-run")["scores"], 8 * 128 * 160)

    def test_bad_options(self):
        file = "heads.safetensors"
        for options, fragment in ((["--sinks", "200"], "sink 200"), (["--sinks", "1.5"], "--sinks"),
                                  (["--sinks", "first"], "--sinks"), (["--queries", "0"], "--queries"),
                                  (["--queries", "1,2"], "--queries"), (["--tolerance", "2"], "tolerance"),
                                  (["--tolerance", "0"], "--tolerance"), (["--scale", "-1"], "scale"),
                                  (["--scale", "one"], "--scale"), (["--recent", "-1"], "--recent"),
                                  (["--layers", "9"], "layer 9"), (["--heads", "4"], "head 4"), (["--csv", file], "--csv"),
                                  (["--csv", "missing/out.csv"], "missing"), (["--scale", "1e9"], "--scale")):
            self.refuse("heads", file, *options, fragment=fragment)
        self.refuse("heads", fragment="FILE")
        self.refuse("heads", "missing.safetensors", fragment="missing.safetensors")

    def test_files_that_are_no_captures(self):
        good = self.tensors
        self.write("weights.safetensors", capture({"encoder.layer.0.attention.self.query.weight": [[[1.0]]]}))
        self.refuse("heads", "weights.safetensors", fragment="largo.heads.capture")
        self.write("no-k.safetensors", capture({name: x for name, x in good.items() if name != "layers.3.k"}))
        self.refuse("heads", "no-k.safetensors", fragment="layers.3.k is missing")
        self.write("short.safetensors", capture({**good, "layers.3.k": [head[:20] for head in good["layers.3.k"]]}))
        self.refuse("heads", "short.safetensors", fragment="shape")
        self.write("none.safetensors", capture({"layers.0." + part: [[[]]] for part in "qkv"}))
        self.refuse("heads", "none.safetensors", fragment="head_dim must be at least 1")
        self.write("text.safetensors", "q, k, v")
        self.refuse("heads", "text.safetensors")

    def with_number(self, name, head, row, coordinate, value):
        """The capture with another number in a tensor."""
        changed = [[list(numbers) for numbers in one] for one in self.tensors[name]]
        changed[head][row][coordinate] = value
        return capture({**self.tensors, name: changed})

    def test_numbers_that_are_not_finite(self):
        for value in (math.nan, math.inf, -math.inf):
            for name in ("layers.3.q", "layers.3.k", "layers.3.v"):
                self.write("bad.safetensors", self.with_number(name, 1, 17, 2, value))
                self.refuse("heads", "bad.safetensors", "--csv", "out.csv", "--out", "out.html", fragment=name)
                self.refuse("heads", "bad.safetensors", fragment="head 1 (of the queries), row 17, coordinate 2")
                # It is one of a selected head, though of no audited query and, with --causal, no key of one.
                self.refuse("heads", "bad.safetensors", "--layers", "3", "--heads", "1", "--queries", "1", fragment=name)
                self.refuse("heads", "bad.safetensors", "--causal", "--json", fragment=name)

    def test_values_whose_squares_have_no_place(self):
        for factor in (1e200, 1e-200, 1e-320):
            scaled = [[[factor * x for x in row] for row in head] for head in self.tensors["layers.3.v"]]
            self.write("scaled.safetensors", capture({**self.tensors, "layers.3.v": scaled}))
            self.refuse("heads", "scaled.safetensors", "--csv", "out.csv", fragment="layers.3.v")
        expected = self.json("heads", "m.safetensors", "--layers", "3")["heads"]
        for factor in (1e100, 1e-100):
            scaled = [[[factor * x for x in row] for row in head] for head in self.tensors["layers.3.v"]]
            self.write("scaled.safetensors", capture({**self.tensors, "layers.3.v": scaled}))
            for row, other in zip(self.json("heads", "scaled.safetensors", "--layers", "3")["heads"], expected):
                self.assertAlmostEqual(row["error_affine"] / other["error_affine"], 1, delta=1e-9)
        self.write("zero.safetensors", capture({**self.tensors, "layers.3.v": [[[0.0] * 3] * 30] * 2}))
        self.assertEqual(self.json("heads", "zero.safetensors", "--layers", "3")["heads"][0]["error_affine"], 0)

    def test_heads_that_are_not_selected_are_not_read(self):
        everything = self.json("heads", "m.safetensors")["heads"]
        for name in ("layers.3.q", "layers.3.k", "layers.3.v"):
            self.write("bad.safetensors", self.with_number(name, 1, 17, 2, math.nan))
            rows = self.json("heads", "bad.safetensors", "--heads", "0")["heads"]
            self.assertEqual(rows, [everything[0], everything[2]])
            self.assertEqual(self.json("heads", "bad.safetensors", "--layers", "0")["heads"], everything[:2])
            self.assertIn("4 heads", self.succeed("heads", "bad.safetensors", "--dry-run"))
        # A head of keys that a selected head shares is read.
        shared = {name: heads[:1] if name[-1] in "kv" else heads for name, heads in self.tensors.items()}
        shared["layers.0.k"] = [[[math.inf] * 3, *shared["layers.0.k"][0][1:]]]
        self.write("shared.safetensors", capture(shared))
        for head in ("0", "1"):
            self.refuse("heads", "shared.safetensors", "--heads", head, fragment="layers.0.k")

    def test_page(self):
        shutil.copy(EXAMPLE, self.path("h.safetensors"))
        out = self.succeed("heads", "h.safetensors", "--causal", "--sinks", "0", "--csv", "h.csv", "--out", "h.html")
        self.assertIn("page written to h.html", out)
        with open(self.path("h.html"), encoding="utf-8") as file:
            page = json.loads(file.read().split('id="largo-data">', 1)[1].split("</script>", 1)[0])
        self.assertEqual((page["kind"], page["command"]),
                         ("heads", "largo heads h.safetensors --causal --sinks 0 --out h.html"))
        grid = page["sections"][0]["grids"][0]
        with open(self.path("h.csv"), encoding="utf-8") as file:
            rows = list(csv_module.DictReader(file))
        self.assertEqual(len(rows), sum(len(row) for row in grid["details"]))
        values = {quantity["label"]: quantity["values"] for quantity in grid["quantities"]}
        for row in rows:
            i, j = grid["rows"].index(row["layer"]), grid["columns"].index(row["head"])
            self.assertEqual(values["kind"][i][j], row["kind"])
            self.assertAlmostEqual(values["error of the affine limit"][i][j] / float(row["error_affine"]), 1, places=4)
            curve = grid["details"][i][j][0]["panels"][0]["curves"][0]
            self.assertEqual(grid["lists"][curve["x"]][:3], [1, 4, 16])
        audits = self.json("heads", "h.safetensors", "--causal", "--sinks", "0", "--curves")["heads"]
        for audit in audits:
            i, j = grid["rows"].index(str(audit["layer"])), grid["columns"].index(str(audit["head"]))
            bars, density = grid["details"][i][j][1]["panels"][0]["curves"]
            self.assertEqual(bars["style"], "bars")
            self.assertEqual(grid["lists"][bars["x"]], [-4.875 + b / 4 for b in range(40)])
            for z, value in zip(grid["lists"][density["x"]], grid["lists"][density["y"]]):
                self.assertAlmostEqual(value * math.exp(z * z / 2) * math.sqrt(2 * math.pi), 1, delta=1e-4)
            self.assertEqual(len(bars["y"]), len(audit["score_shares"]))
            for height, share in zip(bars["y"], audit["score_shares"]):
                self.assertAlmostEqual(height, 4 * share, delta=1e-4 * height)
        self.refuse("heads", "h.safetensors", "--out", "h.txt", fragment="a .html file")

    def test_a_signal_stops_it(self):
        big = {"layers.0." + part: normal_heads(random.Random(1), 1, 4000, 8) for part in "qkv"}
        self.write("big.safetensors", capture(big, "F16"))
        process = subprocess.Popen([BINARY, "heads", "big.safetensors", "--queries", "all", "--threads", "1", "--csv",
                                    "out.csv"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, b""), err)
        self.assertIn(b"stopped", err)
        self.assertFalse(os.path.exists(self.path("out.csv")))

    def test_help(self):
        out = self.succeed("heads", "--help")
        for part in ("--causal", "--sinks", "--recent", "--queries", "--tolerance", "averaging", "retrieval", "Examples"):
            self.assertIn(part, out)


if __name__ == "__main__":
    unittest.main()
