"""What `largo moments` answers, against the defining integrals computed here, and how it answers it."""

import csv
import math
import os
import subprocess
import unittest

from largo_cli import BINARY, CliTest

# The documented bound on relative errors, which are usually 1e-13.
BOUND = 1e-10
# The reference below is computed in plain doubles: 1 - φ_0 by expm1, but L log φ_0 and the sums have rounding
# errors of 1e-16 times the number of their terms.
REFERENCE = 1e-11
# Identities between printed numbers, which have relative errors of at most BOUND and do not cancel.
IDENTITY = 4 * BOUND
# Central differences with step 1e-4: 1e-8 relative from the third derivative, 1e-9 from rounding.
STEP = 1e-4
DIFFERENCES = 1e-6

CONTRACT = ["s", "L", "P2", "P3", "P2P2", "mean", "bias", "mse", "effective_tokens", "error_estimate"]
ESTIMATES = ["P2", "P3", "P2P2", "mean", "bias", "mse", "variance", "variance_mse", "variance_P2", "squared_spread",
             "P2_slope", "P3_slope", "P2P2_slope", "entropy", "log_partition", "max_weight"]


def relative(actual, expected):
    return abs(actual - expected) / abs(expected)


def reference(s, L):
    """E[P2], E[P3], E[P2²] by the trapezoidal rule over t = e^y and over the Gaussian, for s up to 3."""
    h = min(0.3, 0.2 / s)
    nodes = [h * i for i in range(-int(11 / h), int((11 + 4 * s) / h) + 1)]
    density = [h * math.exp(-g * g / 2) / math.sqrt(2 * math.pi) for g in nodes]
    step, middle = 0.2, -math.log(L) - s * s / 2
    sums = [0.0, 0.0, 0.0]
    for j in range(-200, 201):
        y = middle + step * j
        x = [math.exp(min(y + s * g, 300.0)) for g in nodes]
        missing = math.fsum(-w * math.expm1(-v) for w, v in zip(density, x))
        if missing >= 1 or L * math.log1p(-missing) < -600:
            break
        log_phi = math.log1p(-missing)
        phi = [math.fsum(w * v**k * math.exp(-v) for w, v in zip(density, x) if v < 700) for k in range(5)]
        one, two = math.exp((L - 1) * log_phi), math.exp((L - 2) * log_phi)
        sums[0] += L * phi[2] * one
        sums[1] += L * phi[3] * one / 2
        sums[2] += (L * phi[4] * one + L * (L - 1) * phi[2]**2 * two) / 6
    return [step * value for value in sums]


class Point(CliTest):
    def point(self, s, L):
        return self.json("moments", "--s", str(s), "--L", str(L))

    def test_keys(self):
        got = self.point(2, 1e4)
        self.assertEqual(list(got)[:len(CONTRACT)], CONTRACT)
        self.assertEqual(set(got), {*CONTRACT, *ESTIMATES, "self_check", "condensation_s", "errors"})
        self.assertEqual(list(got["errors"]), ESTIMATES)
        self.assertEqual((got["s"], got["L"]), (2, 10000))
        self.assertAlmostEqual(got["condensation_s"], math.sqrt(2 * math.log(1e4)), delta=1e-14)

    def test_check_values(self):
        for s, L, P2, P3, P2P2 in ((0.5, 8, 1.528459884241e-01, 2.795282094729e-02, 2.369892089061e-02),
                                   (2, 1e4, 4.507451445755e-03, 2.885422841096e-04, 7.680232016192e-05),
                                   (6, 1e12, 2.125498090828e-02, 8.042446695597e-03, 4.743338805281e-03)):
            got = self.point(s, L)
            for name, expected in (("P2", P2), ("P3", P3), ("P2P2", P2P2)):
                self.assertLess(relative(got[name], expected), 1e-12)  # the reference has thirteen digits

    def test_the_defining_integrals(self):
        for s, L in ((0.3, 1.5), (1, 2), (1, 1000), (2.5, 7), (3, 1e9)):
            got = self.point(s, L)
            for name, expected in zip(("P2", "P3", "P2P2"), reference(s, L)):
                with self.subTest(s=s, L=L, name=name):
                    self.assertLess(relative(got[name], expected), REFERENCE)

    def test_identities(self):
        for s, L in ((0.01, 1e300), (0.5, 8), (2, 1e4), (4, 1e12)):
            got = self.point(s, L)
            p, p3, q = got["P2"], got["P3"], got["P2P2"]
            for name, expected in (("mean", s * (1 - p)), ("bias", -s * p),
                                   ("mse", p + s * s * (p - 6 * p3 + 6 * q)),
                                   ("variance", 1 - (1 + 2 * s * s) * p + 8 * s * s * p3 - 6 * s * s * q),
                                   ("P2_slope", 2 * s * (p - 4 * p3 + 3 * q)), ("effective_tokens", 1 / p)):
                with self.subTest(s=s, L=L, name=name):
                    self.assertLess(relative(got[name], expected), IDENTITY)

    def test_slopes(self):
        for s, L in ((0.7, 5), (2, 1e4), (9, 1e12)):
            got = self.point(s, L)
            up, down = self.point(s + STEP, L), self.point(s - STEP, L)
            for name in ("P2", "P3", "P2P2"):
                with self.subTest(s=s, L=L, name=name):
                    expected = (up[name] - down[name]) / (2 * STEP)
                    self.assertLess(relative(got[name + "_slope"], expected), DIFFERENCES)

    def test_one_token(self):
        """All the weight on it: A = g, B = D = 0."""
        for s in (0, 0.5, 3, 40):
            got = self.point(s, 1)
            for name, expected in (("P2", 1), ("P3", 1), ("P2P2", 1), ("mean", 0), ("bias", -s), ("mse", 1 + s * s),
                                   ("variance", 0), ("variance_mse", 1), ("variance_P2", -1), ("squared_spread", 0),
                                   ("P2_slope", 0), ("effective_tokens", 1), ("condensation_s", 0)):
                with self.subTest(s=s, name=name):
                    self.assertAlmostEqual(got[name], expected, delta=BOUND * max(1, s * s))
            self.assertLess(got["error_estimate"], BOUND * max(1, s * s))

    def test_equal_weights(self):
        """s = 0: the mean and the variance of L normals."""
        got = self.point(0, 50)
        for name, expected in (("P2", 1 / 50), ("mean", 0), ("mse", 1 / 50), ("variance", 49 / 50),
                               ("variance_mse", (2 - 1 / 50) / 50), ("P2_slope", 0)):
            self.assertAlmostEqual(got[name], expected, delta=1e-15)

    def test_error_estimate_is_the_largest(self):
        for s, L in ((2, 1e4), (9, 100), (25, 1e200)):
            got = self.point(s, L)
            largest = max(got["errors"][name] / abs(got[name]) for name in ESTIMATES if got[name] != 0)
            self.assertLess(relative(got["error_estimate"], largest), 1e-12)
            self.assertGreater(got["error_estimate"], 0)
            self.assertLess(got["error_estimate"], BOUND)
            self.assertLess(abs(got["self_check"]), BOUND)

    def test_the_ends_of_the_domain(self):
        for s in (0, 1e-300, 1e-8, 30, 1e6):
            for L in (1, 2, 1e15, 1e300):
                got = self.point(s, L)  # json() has checked that the program succeeds
                self.assertTrue(all(math.isfinite(got[name]) for name in ESTIMATES))

    def test_the_table(self):
        out = self.succeed("moments", "--s", "2", "--L", "1e4")
        self.assertIn("s = 2, L = 10000", out)
        self.assertIn("4.5074514458e-03", out)
        for name in [*ESTIMATES, "effective_tokens", "condensation_s"]:
            self.assertIn(f"\n{name} ", out)

    def test_the_seed_does_not_matter(self):
        """Nothing is sampled."""
        self.assertEqual(self.json("moments", "--s", "2", "--L", "10", "--seed", "9"), self.point(2, 10))


class Classes(CliTest):
    CLASS = ["count", "shift", "spread", "weight"]
    CONTRACT = ["classes", "P2", "effective_tokens", "entropy", "log_partition", "max_weight", "error_estimate"]

    def test_known_prompt(self):
        """Numbers of simulated prompts: a crowd, a window, a needle and a sink."""
        got = self.json("moments", "--class", "200:0:1.5", "--class", "30:1:0.5", "--class", "1:6:0", "--class", "1:4:0")
        self.assertEqual(list(got)[:len(self.CONTRACT)], self.CONTRACT)
        self.assertEqual([list(one)[:4] for one in got["classes"]], 4 * [self.CLASS])
        for one, weight in zip(got["classes"], (0.523222, 0.0799904, 0.349489, 0.0472982)):
            self.assertLess(relative(one["weight"], weight), 2e-6)
        self.assertLess(relative(got["P2"], 0.1364587), 1e-6)
        self.assertLess(relative(got["log_partition"], 7.0563326), 1e-7)
        self.assertLess(relative(got["entropy"], 3.5169109), 1e-7)
        self.assertLess(got["error_estimate"], BOUND)

    def test_given_scores_are_a_softmax(self):
        scores = [1.5, -2, 0.25]
        got = self.json("moments", *(word for x in scores for word in ("--class", f"1:{x}:0")))
        weights = [math.exp(x) / math.fsum(map(math.exp, scores)) for x in scores]
        for one, weight in zip(got["classes"], weights):
            self.assertLess(relative(one["weight"], weight), 1e-13)
        self.assertLess(relative(got["entropy"], -math.fsum(p * math.log(p) for p in weights)), 1e-12)
        self.assertLess(relative(got["max_weight"], max(weights)), 1e-12)
        self.assertLess(relative(got["P2"], math.fsum(p * p for p in weights)), 1e-12)

    def test_the_heaviest_tokens(self):
        scores = [1.5, -2, 0.25, 0.5]
        classes = [word for x in scores for word in ("--class", f"1:{x}:0")]
        weights = sorted((math.exp(x) / math.fsum(map(math.exp, scores)) for x in scores), reverse=True)
        for k in range(1, 5):
            got = self.json("moments", *classes, "--heaviest", str(k))
            self.assertEqual(got["heaviest"], k)
            self.assertLess(relative(got["heaviest_mass"], math.fsum(weights[:k])), 1e-12)
        crowd = ("--class", "1e4:0:2")
        self.assertEqual(self.json("moments", *crowd, "--heaviest", "1")["heaviest_mass"], self.json("moments", *crowd)["max_weight"])
        self.assertIn("\nheaviest_mass ", self.succeed("moments", *crowd, "--heaviest", "7"))
        for bad in ("0", "65", "1.5", "x", ""):
            self.refuse("moments", *crowd, "--heaviest", bad, fragment="--heaviest")
        self.refuse("moments", "--s", "2", "--L", "3", "--heaviest", "2", fragment="--heaviest")
        self.refuse("moments", "--class", "10.5:0:1", "--heaviest", "2", fragment="whole number")

    def test_the_law_of_a_needle(self):
        """Beside one token of score s g the weight is at most x where g >= ln(1/x - 1)/s."""
        got = self.json("moments", "--class", "1:0:2", "--needle", "1", "--below", "0.2,0.9")
        self.assertEqual([list(one.values())[:3] for one in got["classes"]], [[1, 0, 2], [1, 1, 0]])
        self.assertEqual(got["needle"]["score"], 1)
        self.assertEqual(got["needle"]["weight"], got["classes"][1]["weight"])
        for one in got["needle"]["below"]:
            z = (1 + math.log(1 / one["weight"] - 1)) / 2
            self.assertLess(abs(one["probability"] - 0.5 * math.erfc(z / math.sqrt(2))), 1e-13)
            self.assertLess(abs(one["above"] - 0.5 * math.erfc(-z / math.sqrt(2))), 1e-13)
        quantiles = got["needle"]["quantiles"]
        self.assertEqual([one["probability"] for one in quantiles], [0.05, 0.25, 0.5, 0.75, 0.95])
        self.assertLess(relative(quantiles[2]["weight"], 1 / (1 + math.exp(-1))), 1e-12)
        self.assertIn("quantiles of the weight W of the needle, of score 1\n", self.succeed("moments", "--class", "1:0:2", "--needle", "1"))
        self.refuse("moments", "--class", "1:0:2", "--below", "0.5", fragment="--below goes with --needle")
        self.refuse("moments", "--s", "2", "--L", "3", "--needle", "2", fragment="--needle goes with --class")
        self.refuse("moments", "--class", "1:0:60", "--needle", "2", fragment="spread")
        for bad in ("0", "1", "-1", "nan", "x", ""):
            self.refuse("moments", "--class", "1:0:2", "--needle", "1", f"--below={bad}", fragment="--below")
        for bad in ("nan", "1e7", "x", ""):
            self.refuse("moments", "--class", "1:0:2", "--needle", bad, fragment="--needle")

    def test_one_class_is_the_crowd(self):
        crowd, point = self.json("moments", "--class", "1e4:0:2"), self.json("moments", "--s", "2", "--L", "1e4")
        for name in ("P2", "P3", "P2P2", "entropy", "log_partition", "max_weight"):
            self.assertLess(relative(crowd[name], point[name]), 1e-12)

    def test_the_table(self):
        out = self.succeed("moments", "--class", "1e5:0:1.5", "--class", "1:8:0")
        self.assertIn("9.5857899223e-03", out)
        for name in self.CONTRACT[1:6]:
            self.assertIn(f"\n{name} ", out)

    def test_bad_input(self):
        for bad in ("1:2", "1:2:3:4", "0:1:1", "-3:1:1", "nan:1:1", "1:x:1", "1:1:-1", "1:inf:1", "1e301:0:1", "::", "1:0:2e6"):
            self.refuse("moments", "--class", "10:0:1", "--class", bad, fragment="--class")
        self.refuse("moments", "--class", "1:0:1", "--s", "2", "--L", "3")
        self.refuse("moments", "--class", "1:0:1", "--csv", "x.csv")
        self.refuse("moments", "--s", "2")
        self.refuse("moments", *(65 * ["--class", "1:0:0"]))


class Grid(CliTest):
    LISTS = ["moments", "--s", "0,0.5,2,9", "--L", "1,10,2.5,1e12"]

    def test_rows(self):
        rows = self.json(*self.LISTS)["rows"]
        expected = [(s, L) for s in (0, 0.5, 2, 9) for L in (1, 10, 2.5, 1e12)]
        self.assertEqual([(row["s"], row["L"]) for row in rows], expected)
        for row in rows:
            self.assertEqual(row, self.json("moments", "--s", repr(row["s"]), "--L", repr(row["L"])))

    def test_ranges(self):
        rows = self.json("moments", "--s", "0:3:4", "--L", "1e2:1e8:7")["rows"]
        self.assertEqual([(row["s"], row["L"]) for row in rows],
                         [(s, 10**k) for s in (0, 1, 2, 3) for k in range(2, 9)])
        falling = self.json("moments", "--s", "2:1:3", "--L", "1e300:1:2")["rows"]
        self.assertEqual([(row["s"], row["L"]) for row in falling], [(s, L) for s in (2, 1.5, 1) for L in (1e300, 1)])
        line = self.json("moments", "--s", "1", "--L", "10:1000:5")["rows"]
        self.assertEqual([row["L"] for row in line], [10, 32, 100, 316, 1000])

    def test_the_ends_of_a_range_are_exact(self):
        rows = self.json("moments", "--s", "0.1:0.7:101", "--L", "5")["rows"]
        self.assertEqual((rows[0]["s"], rows[-1]["s"], len(rows)), (0.1, 0.7, 101))

    def test_the_table_has_a_line_per_point(self):
        lines = self.succeed(*self.LISTS).splitlines()
        self.assertEqual(len(lines), 17)
        self.assertIn("mse", lines[0])
        self.assertEqual(len(set(map(len, lines))), 1, "columns are not aligned")

    def test_threads_do_not_matter(self):
        grid = ["moments", "--s", "0:9:10", "--L", "1:1e12:9", "--json"]
        outputs = {self.succeed(*grid, "--threads", str(threads)) for threads in (0, 1, 2, 3, 7)}
        self.assertEqual(len(outputs), 1)

    def test_simd_levels_do_not_matter(self):
        grid = ["moments", "--s", "0.1,2,9", "--L", "3,1e12", "--json"]
        outputs = {self.succeed(*grid, simd=level) for level in self.json("doctor")["simd_available"]}
        self.assertEqual(len(outputs), 1)


class Csv(CliTest):
    def check(self, s, L, rows):
        for flags in ([], ["--json"]):
            out = self.succeed("moments", "--s", s, "--L", L, "--csv", "out.csv", *flags)
            self.assertIn("rows" if len(rows) > 1 else "row" if not flags else "P2", out)
            with open(self.path("out.csv"), encoding="ascii") as file:
                header, *lines = file.read().splitlines()
            names = header.split(",")
            self.assertEqual(sorted(names), sorted(set(rows[0]) - {"errors"}))
            self.assertEqual([dict(zip(names, map(float, line.split(",")))) for line in lines],
                             [{name: row[name] for name in names} for row in rows])
            self.assertEqual(os.listdir(self.folder), ["out.csv"])
            os.remove(self.path("out.csv"))

    def test_the_same_numbers_as_json(self):
        self.check("0:6:3", "1,1e300,20", self.json("moments", "--s", "0:6:3", "--L", "1,1e300,20")["rows"])
        self.check("2", "1e4", [self.json("moments", "--s", "2", "--L", "1e4")])

    def test_with_json_it_prints_the_object_too(self):
        got = self.json("moments", "--s", "2", "--L", "1e4", "--csv", "out.csv")
        self.assertEqual(got, self.json("moments", "--s", "2", "--L", "1e4"))


class InfinitePrompts(CliTest):
    def test_the_limit(self):
        got = self.json("moments", "--s", "2.5", "--L", "inf")
        self.assertEqual((got["L"], got["effective_tokens"], got["condensation_s"]), ("inf",) * 3)
        self.assertEqual((got["mean"], got["variance"], got["error_estimate"]), (2.5, 1, 0))
        for name in ("P2", "P3", "P2P2", "bias", "mse", "variance_mse", "variance_P2", "squared_spread", "P2_slope"):
            self.assertEqual(got[name], 0, name)

    def test_beside_finite_ones(self):
        rows = self.json("moments", "--s", "1", "--L", "10,2.5,inf")["rows"]
        self.assertEqual([row["L"] for row in rows], [10, 2.5, "inf"])
        self.assertIn("inf", self.succeed("moments", "--s", "1", "--L", "10,inf"))
        self.succeed("moments", "--s", "1", "--L", "10,inf", "--csv", "out.csv")
        with open(self.path("out.csv"), encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([float(row["L"]) for row in table], [10, math.inf])
        self.assertEqual(float(table[1]["effective_tokens"]), math.inf)


class BadInput(CliTest):
    def refused(self, arguments, fragment):
        """With --csv, so that a file written in spite of the error is found."""
        csv = [] if "--csv" in arguments else ["--csv", "out.csv"]
        before = sorted(os.listdir(self.folder))
        for flags in ([], ["--json"]):
            result = self.run_largo("moments", *arguments, *csv, *flags)
            with self.subTest(arguments=arguments):
                self.assertEqual((result.code, result.out), (2, ""), result)
                self.assertTrue(result.err.startswith("largo: ") and result.err.count("\n") == 1, result)
                self.assertTrue(result.err.endswith("\n"), result)
                self.assertIn(fragment, result.err, result)
                self.assertEqual(sorted(os.listdir(self.folder)), before, "something was written")

    def test_spreads(self):
        for s in ("-1", "nan", "inf", "1e7", " ", "two", "1,,2", "1,", ",", "1;2", "1,-2", "0:3", "0:3:1",
                  "0:3:2.5", "0:3:nan", "0:3:4:5", "-1:3:4", ":3:4", "0:1e7:3", "0:3:1e9", "1e999", "0x2"):
            self.refused([f"--s={s}", "--L", "10"], "--s")
        self.refused(["--s", "", "--L", "10"], "--s")

    def test_lengths(self):
        for L in ("0", "0.5", "-10", "nan", "-inf", "infinite", "1e301", " ", "many", "10,,20", "10,", "10,0.999", "1:10",
                  "1:10:1", "0:10:3", "1:inf:3", "1:1e301:3", "1:10:3:4", "1e999"):
            self.refused(["--s", "1", f"--L={L}"], "--L")
        self.refused(["--s", "1", "--L", ""], "--L")

    def test_too_many_points(self):
        self.refused(["--s", "0:1:2000", "--L", "1:1e9:2000"], "points")

    def test_missing_and_unknown_options(self):
        self.refused(["--s", "1"], "--L")
        self.refused(["--L", "10"], "--s")
        self.refused(["--s", "1", "--L", "10", "--d", "3"], "--d")
        self.refused(["--s", "1", "--L", "10", "--threads", "-1"], "--threads")
        self.refused(["--s", "1", "--L", "10", "--seed", "x"], "--seed")

    def test_files_that_cannot_be_written(self):
        os.mkdir(self.path("folder"))
        self.write("file", "as it was")
        for name in ("folder", "missing/out.csv", "file/out.csv", "/dev/null"):
            self.refused(["--s", "1", "--L", "10", "--csv", name], name)
        self.refused(["--s", "1", "--L", "10", "--csv", ""], "--csv")
        # The mistake is found before the work: a million points would take minutes.
        self.refused(["--s", "0:1:1000", "--L", "1:1e9:1000", "--csv", "folder"], "folder")
        # A mistake leaves an old file alone.
        self.refused(["--s", "-1", "--L", "10", "--csv", "file"], "--s")
        with open(self.path("file"), encoding="ascii") as file:
            self.assertEqual(file.read(), "as it was")

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for flags in ([], ["--json"]):
                completed = subprocess.run([BINARY, "moments", "--s", "1,2", "--L", "10", *flags], stdout=full,
                                           stderr=subprocess.PIPE, check=False)
                self.assertEqual(completed.returncode, 1)
                self.assertIn(b"standard output", completed.stderr)


class Help(CliTest):
    def test_help(self):
        for flag in ("--help", "-h"):
            out = self.succeed("moments", flag)
            for part in ("Examples", "largo moments --s 2 --L 1e4", "--csv", "--json", "--seed", "--threads",
                         "--precision", "--help"):
                self.assertIn(part, out)
        self.assertIn("\n  moments ", self.succeed("--help"))

    def test_the_examples_of_the_help_run(self):
        text = self.succeed("moments", "--help")
        examples = [line.split() for line in text.splitlines() if line.startswith("  largo moments")]
        self.assertEqual(len(examples), 4)
        for _, *arguments in examples:
            self.succeed(*arguments)
        self.assertEqual(os.listdir(self.folder), ["moments.csv"])


if __name__ == "__main__":
    unittest.main()
