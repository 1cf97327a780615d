"""largo concentration from outside: its numbers against closed forms, its files, what it refuses."""

import csv
import math
import os
import xml.dom.minidom

import largo_cli

LAYER = ["--law", "gaussian", "--d", "3"]
QUERY = ["--query", "1,0,-1"]


class ConcentrationTest(largo_cli.CliTest):
    def rows(self, *arguments):
        return self.json("concentration", *arguments)["rows"]

    def test_flat_scores_average_the_tokens(self):
        for row in self.rows(*LAYER, *QUERY, "--U", "zeros", "--L", "1,10,1e6"):
            self.assertAlmostEqual(row["output"]["value"] * row["L"], 3, delta=1e-12)
            self.assertAlmostEqual(row["gradient_V"]["value"] * row["L"], 9, delta=1e-11)
            self.assertAlmostEqual(row["exponent"]["output"]["value"], 1, delta=1e-6)
            self.assertEqual(row["linear"]["value"], 0)
            self.assertEqual(row["method"], "exact")

    def test_keys_of_the_contract(self):
        answer = self.json("concentration", *LAYER, *QUERY, "--L", "10,100", "--method", "exact,sampled", "--prompts",
                           "500")
        self.assertEqual([row["method"] for row in answer["rows"]], ["exact", "sampled"] * 2)
        for row in answer["rows"]:
            for name in ("output", "gradient_V", "gradient_U"):
                self.assertGreater(row[name]["value"], 0)
                self.assertGreater(row[name]["error"], 0)
        for row in answer["rows"][1::2]:
            low, high = row["output"]["interval"]
            self.assertTrue(low < row["output"]["value"] < high)
            self.assertEqual(row["prompts"], 500)
        for row in answer["rows"]:
            for name in ("output", "gradient_V", "gradient_U"):
                self.assertGreater(row["certified"][name], row[name]["value"])
        self.assertEqual(set(answer["fit"]), {"sub_gaussian", "sub_gaussian_kind", "method", "slopes"})
        fits = self.json("concentration", *LAYER, *QUERY, "--L", "10,100", "--fit")["fit"]
        for name in ("output", "gradient_V", "gradient_U"):
            self.assertTrue(fits[name]["fitted"])
            self.assertNotIn("holds", fits[name])  # it was fitted to these very points
            self.assertAlmostEqual(fits[name]["worst_ratio"], 1, delta=1e-9)

    def test_certified_bounds(self):
        """Beside exact and sampled errors, in every form; and a note where there are none."""
        sphere = ["--law", "sphere", "--d", "3", "--query", "1,1,0", "--L", "10,1e4,1e300,inf"]
        rows = self.rows(*sphere)
        for row in rows[:3]:
            self.assertGreater(row["certified"]["output"], row["output"]["value"])
        self.assertLess(rows[2]["certified"]["output"], (1 + 1e-9) * rows[2]["output"]["value"])
        self.assertEqual(rows[3]["certified"], {"output": 0, "gradient_V": 0, "gradient_U": 0})
        table = self.succeed("concentration", *sphere)
        self.assertIn("certified bounds, with no constant fitted", table)
        self.assertNotIn("holds", table)
        mixture = ["--law", "mixture:" + self.mixture(), "--d", "2", "--query-law", "gaussian", "--L", "10", "--prompts", "100"]
        self.assertIn("note: no certified bounds: ", self.succeed("concentration", *mixture))
        self.assertNotIn("certified", self.rows(*mixture)[0])

    def mixture(self):
        path = os.path.join(self.folder, "mixture.toml")
        with open(path, "w") as file:
            file.write('[[component]]\nweight = 1\nlaw = "gaussian"\nshift = [1, 0]\n'
                       '[[component]]\nweight = 1\nlaw = "gaussian"\nshift = [-1, 0]\n')
        return path

    def test_verdict_on_given_constants(self):
        arguments = [*LAYER, "--query-law", "gaussian", "--sigma", "1,2", "--L", "2:1e6:5"]
        fitted = self.json("concentration", *arguments, "--fit")["fit"]["output"]
        for factor, holds in ((1.001, True), (0.999, False)):
            given = self.json("concentration", *arguments, "--c1", repr(factor * fitted["c1"]), "--c2",
                              repr(fitted["c2"]))["fit"]["output"]
            self.assertEqual(given["holds"], holds)
            self.assertFalse(given["fitted"])
        self.assertIn("FAILS", self.succeed("concentration", *arguments, "--c1", "1e-9", "--c2", "0.1"))

    def test_one_token_is_not_in_the_fit(self):
        fit = self.json("concentration", *LAYER, *QUERY, "--L", "1,2,4,8", "--fit")["fit"]["output"]
        self.assertEqual(fit["points"], 3)

    def test_limit(self):
        row = self.rows(*LAYER, *QUERY, "--L", "inf")[0]
        self.assertEqual(row["L"], "inf")
        self.assertEqual(row["output"]["value"], 0)

    def test_sharp_exponent(self):
        slopes = self.json("concentration", "--law", "gaussian", "--d", "1", "--query-law", "gaussian", "--L",
                           "1e150,1e300")["fit"]["slopes"][0]
        self.assertAlmostEqual(slopes["asymptotic_exponent"], (math.sqrt(5) - 1) / 2, delta=1e-12)
        self.assertAlmostEqual(slopes["output"]["value"], -slopes["asymptotic_exponent"], delta=0.005)

    def test_tolerance(self):
        answer = self.json("concentration", *LAYER, *QUERY, "--L", "10", "--tolerance", "0.01")["tolerance"][0]
        at = {row["L"]: row["softmax_linear"]["value"] for row in
              self.rows(*LAYER, *QUERY, "--L", f"{answer['L'] - 1},{answer['L']}")}
        self.assertLessEqual(at[answer["L"]], 0.01)
        self.assertGreater(at[answer["L"] - 1], 0.01)
        self.assertIn(f"from L = {answer['L']} on",
                      self.succeed("concentration", *LAYER, *QUERY, "--L", "10", "--tolerance", "0.01"))

    def test_samples_that_miss_what_carries_the_error_say_so(self):
        """Whatever the seed: 0 ± 0 for atoms that no prompt has, too little for queries that no sample has."""
        rare = [["--law", "three-point:mass=1e-7", "--query", "1", "--L", "100"],
                ["--law", "gaussian", "--query-law", "gaussian:cov=0.3*identity", "--L", "1e4"],
                ["--law", "gaussian", "--query-law", "three-point:mass=1e-6,scale=3", "--L", "100"]]
        for arguments in rare:
            for seed in ("1", "2"):
                row = self.rows(*arguments, "--d", "1", "--method", "sampled", "--prompts", "200", "--seed", seed)[0]
                self.assertRegex(row["warnings"][0],
                                 "^rare .* carry the spread of the error, of which 200 prompts .*; take at least [0-9]+ prompts$")
        plain = self.rows(*LAYER, "--query-law", "gaussian:cov=0.1*identity", "--U", "0.3*identity", "--L", "100",
                          "--method", "sampled", "--prompts", "1000")[0]
        self.assertNotIn("warnings", plain)

    def test_warnings_are_in_every_output(self):
        arguments = ["--law", "three-point:mass=1e-7", "--d", "1", "--query", "1", "--L", "100,200", "--method", "sampled",
                     "--prompts", "200"]
        text = self.succeed("concentration", *arguments, "--csv", "warned.csv", "--plot", "warned.svg")
        said = self.rows(*arguments)[0]["warnings"]
        self.assertIn(said[0], text)
        with open(self.path("warned.csv"), newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(list(table[0])[-1], "warnings")
        self.assertEqual(table[0]["warnings"], "; ".join(said))
        with open(self.path("warned.svg"), encoding="utf-8") as file:
            figure = " ".join(file.read().split())
        self.assertIn("2 sampled points have a warning", figure)
        self.succeed("concentration", *LAYER, *QUERY, "--L", "10,100", "--csv", "plain.csv", "--plot", "plain.svg")
        with open(self.path("plain.csv"), newline="") as file:
            self.assertEqual({row["warnings"] for row in csv.DictReader(file)}, {""})
        with open(self.path("plain.svg"), encoding="utf-8") as file:
            self.assertNotIn("warning", file.read())

    def test_says_what_the_sub_gaussian_constant_is(self):
        self.write("two.toml", "[[component]]\nweight = 1\nlaw = \"gaussian\"\n[[component]]\nweight = 1\nlaw = \"gaussian\"\nshift = [3, 0, 0]\n")
        arguments = ["--law", "mixture:two.toml", "--d", "3", "--query", "0.1,0,0", "--L", "10,100"]
        self.assertEqual(self.json("concentration", *arguments)["fit"]["sub_gaussian_kind"], "at most")
        self.assertIn("σ at most 1.803 x sigma", self.succeed("concentration", *arguments, "--fit"))
        self.assertEqual(self.json("concentration", *LAYER, *QUERY, "--L", "10,100")["fit"]["sub_gaussian_kind"], "smallest")

    def test_laws_without_formula_are_sampled(self):
        answer = self.json("concentration", "--law", "uniform", "--d", "3", *QUERY, "--L", "10", "--quick")
        self.assertEqual(answer["rows"][0]["method"], "sampled")
        self.assertTrue(answer["notes"])
        # Two continuous coordinates that the score ignores: not known to fourth order.
        cube = self.json("concentration", "--law", "uniform", "--d", "3", "--query", "1,0,0", "--L", "10")
        self.assertNotIn("gradient_U", cube["rows"][0])
        self.assertIn("--method", cube["notes"][0])

    def test_gradients_in_U_beyond_Gaussians(self):
        """Exact and sampled errors agree, and a Gaussian in disguise has the errors of the Gaussian."""
        for law in ("sphere", "ball:radius=2", "rademacher", "elliptical:low=0.5,high=2"):
            exact, sampled = self.rows("--law", law, "--d", "3", *QUERY, "--L", "20", "--method", "exact,sampled", "--prompts", "20000")
            here, there = exact["gradient_U"], sampled["gradient_U"]
            self.assertLess(abs(here["value"] - there["value"]), 4 * there["error"], law)
        self.write("one.toml", "[[component]]\nweight = 1\nlaw = \"gaussian\"\n")
        plain = self.rows("--law", "gaussian", "--d", "3", *QUERY, "--L", "20")[0]["gradient_U"]["value"]
        hidden = self.rows("--law", "mixture:one.toml", "--d", "3", *QUERY, "--L", "20")[0]["gradient_U"]["value"]
        self.assertAlmostEqual(hidden / plain, 1, delta=1e-9)

    def test_gradients_in_K_and_Q(self):
        """With K = I the gradient in Q is that in U, with Q = I that in K."""
        plain = self.rows("--law", "sphere", "--d", "3", "--U", "random:3", *QUERY, "--L", "20")[0]
        self.assertNotIn("gradient_K", plain)
        row = self.rows("--law", "sphere", "--d", "3", "--K", "identity", "--Q", "random:3", *QUERY, "--L", "20")[0]
        self.assertAlmostEqual(row["gradient_Q"]["value"] / plain["gradient_U"]["value"], 1, delta=1e-9)
        self.assertEqual(row["gradient_U"], plain["gradient_U"])
        text = self.succeed("concentration", "--law", "gaussian", "--d", "3", "--K", "random:1", "--Q", "random:2",
                            "--query-law", "gaussian", "--L", "20", "--csv", "k.csv")
        self.assertIn("errors of the gradients in K and Q", text)
        with open(self.path("k.csv"), encoding="utf-8") as file:
            self.assertIn(",gradient_K,gradient_K_error,gradient_Q,gradient_Q_error,", file.readline())
        for arguments, word in (((*QUERY, "--K", "random:1"), "together"),
                                ((*QUERY, "--K", "random:1", "--Q", "random:2", "--U", "identity"), "either --U"),
                                ((*QUERY, "--K", "diag:1,2", "--Q", "random:2"), "--K")):
            self.refuse("concentration", "--law", "sphere", "--d", "3", *arguments, "--L", "20", fragment=word)

    def test_planted_tokens(self):
        """Exact and sampled errors agree; a prompt of equal tokens is a sum by hand; the limit is that of the law."""
        planted = ["--sink", "2", "--plant", "1,0,1;0,2,0"]
        exact, sampled = self.rows(*LAYER, *QUERY, *planted, "--L", "20", "--method", "exact,sampled", "--prompts", "20000")
        for name in ("output", "gradient_V"):
            self.assertLess(abs(exact[name]["value"] - sampled[name]["value"]), 4 * sampled[name]["error"])
        self.assertNotIn("gradient_U", exact)
        self.assertNotIn("certified", exact)
        # Softmax plus one: L equal tokens (2) and one of score 0 without a value.
        self.write("point.csv", "2\n")
        row = self.rows("--law", "tokens:point.csv", "--query", "0.5", "--L", "10", "--sink", "0")[0]
        self.assertAlmostEqual(row["output"]["value"], (2 / (1 + 10 * math.e)) ** 2, delta=1e-14)
        infinite = self.rows(*LAYER, *QUERY, *planted, "--L", "inf")[0]
        self.assertEqual(infinite["output"]["value"], 0)
        answer = self.json("concentration", *LAYER, *QUERY, *planted, "--L", "20")
        self.assertEqual(answer["planted"], 3)
        self.assertIn("no certified bounds", " ".join(answer["notes"]))
        beside = "beside planted tokens 1,0,1;0,2,0 and a sink of score 2"
        self.assertIn(f", {beside}\n", self.succeed("concentration", *LAYER, *QUERY, *planted, "--L", "20",
                                                    "--plot", "planted.svg"))
        with open(os.path.join(self.folder, "planted.svg"), encoding="utf-8") as file:
            self.assertIn("sink of score 2", file.read())
        averaged = self.json("concentration", *LAYER, "--query-law", "gaussian", *planted, "--L", "20", "--quick")
        self.assertEqual(averaged["rows"][0]["method"], "sampled")
        self.assertIn("which queries carry the error", averaged["rows"][0]["warnings"][0])

    def test_a_sink_hides_rare_tokens_from_samples(self):
        """The few tokens that carry the error beside a heavy sink are rarer than ten thousand prompts can show."""
        self.write("across.csv", "0,1\n")
        layer = ["--law", "gaussian", "--d", "2", "--query", "3,0", "--V", "across.csv", "--L", "1000", "--method", "sampled"]
        self.assertNotIn("warnings", self.rows(*layer)[0])
        self.assertIn("rare tokens", self.rows(*layer, "--sink", "27")[0]["warnings"][0])
        for arguments, word in ((("--plant", "1,0"), "--plant"), (("--sink", "nan"), "--sink"), (("--sink", ""), "--sink"),
                                (("--sink", "1e9", "--method", "exact"), "distance of a planted score"),
                                (("--sink", "1", "--tolerance", "0.1"), "linear attention"),
                                (("--sink", "1", "--fit"), "independent tokens"),
                                (("--sink", "1", "--c1", "10", "--c2", "0.5"), "independent tokens"),
                                (("--sink", "1", "--within", "0.1"), "need not fall"),
                                (("--sink", "1", "--K", "identity", "--Q", "identity"), "K and Q")):
            self.refuse("concentration", *LAYER, *QUERY, "--L", "20", *arguments, fragment=word)

    def test_queries_in_rows(self):
        both = self.rows(*LAYER, "--query", "1,0,-1;0,2,0", "--L", "50")[0]["output"]["value"]
        one, other = (self.rows(*LAYER, "--query", q, "--L", "50")[0]["output"]["value"] for q in ("1,0,-1", "0,2,0"))
        self.assertAlmostEqual(both, (one + other) / 2, delta=1e-12)
        self.write("q.csv", "1,0,-1\n0,2,0\n")
        self.assertEqual(self.rows(*LAYER, "--query", "q.csv", "--L", "50")[0]["output"]["value"], both)
        self.assertEqual(self.rows(*LAYER, "--query-law", "tokens:q.csv", "--L", "50")[0]["output"]["value"], both)

    def test_files(self):
        self.succeed("concentration", *LAYER, "--query-law", "gaussian", "--sigma", "0.5:1.5:3", "--L", "2:1e4:5",
                     "--csv", "out.csv", "--plot", "out.svg")
        with open(self.path("out.csv"), newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual(len(table), 15)
        self.assertEqual(float(table[0]["sigma"]), 0.5)
        self.assertEqual(table[0]["method"], "exact")
        figure = xml.dom.minidom.parse(self.path("out.svg"))
        self.assertEqual(figure.documentElement.tagName, "svg")
        with open(self.path("out.svg"), encoding="utf-8") as file:
            text = file.read()
        for word in ("σ = 0.5", "bound", "slope", "gradient in U", "Open marks show the computed lengths."):
            self.assertIn(word, text)
        for methods, said in (("exact,sampled", "Lines are exact; filled marks are sampled"), ("sampled", "Marks are sampled")):
            self.succeed("concentration", *LAYER, *QUERY, "--L", "10,100", "--method", methods, "--prompts", "200", "--plot",
                         "marks.svg")
            with open(self.path("marks.svg"), encoding="utf-8") as file:
                self.assertIn(said, file.read())

    def test_repeated_scales_and_lengths_count_once(self):
        rows = self.rows(*LAYER, *QUERY, "--sigma", "1,2,1", "--L", "100,10,100")
        self.assertEqual([(row["sigma"], row["L"]) for row in rows], [(1, 100), (1, 10), (2, 100), (2, 10)])
        self.assertIn("sigma", self.succeed("concentration", *LAYER, *QUERY, "--sigma", "1,2,1", "--L", "10").split("\n")[1])

    def test_the_worst_point_is_named_by_its_scale(self):
        fit = self.json("concentration", "--law", "sphere", "--d", "4", "--query", "1,0,0,0", "--sigma", "1,2", "--L",
                        "10,100", "--fit")["fit"]
        self.assertAlmostEqual(fit["sub_gaussian"], 0.5, delta=1e-12)
        self.assertIn(round(fit["output"]["worst"]["sigma"], 12), (1, 2))

    def test_constants_far_off(self):
        fit = self.json("concentration", *LAYER, *QUERY, "--L", "10,100", "--c1", "1e-300", "--c2", "1000")["fit"]
        self.assertFalse(fit["output"]["holds"])

    def test_too_many_scales_for_a_figure(self):
        self.succeed("concentration", *LAYER, *QUERY, "--sigma", "0.2:2:10", "--L", "10,100", "--plot", "ten.svg")
        with open(self.path("ten.svg"), encoding="utf-8") as file:
            self.assertIn("6 of 10 values of σ are shown", file.read())

    def test_same_for_threads(self):
        arguments = ["concentration", *LAYER, "--query-law", "gaussian", "--L", "5,50", "--method", "exact,sampled",
                     "--prompts", "300", "--json"]
        self.assertEqual(self.succeed(*arguments, "--threads", "1"), self.succeed(*arguments, "--threads", "3"))

    def test_dry_run(self):
        out = self.succeed("concentration", *LAYER, *QUERY, "--L", "10,1e9", "--method", "sampled", "--dry-run")
        self.assertIn("2 sampled points", out)
        plan = self.json("concentration", *LAYER, *QUERY, "--L", "10,1e9", "--method", "exact,sampled", "--dry-run")
        self.assertEqual(plan["sampled"]["points"], 2)
        self.assertGreater(plan["sampled"]["seconds"], plan["exact"]["seconds"])
        for more, fragment in ((["--plot", "x.png"], "a .svg or .pdf file"), (["--csv", "nowhere/x.csv"], "nowhere/x.csv"),
                               (["--csv", "x.svg", "--plot", "x.svg"], "same file"), (["--csv", "-"], "the name of a file")):
            for dry in ([], ["--dry-run"]):
                self.refuse("concentration", *LAYER, *QUERY, "--L", "10", *more, *dry, fragment=fragment)
        self.refuse("concentration", *LAYER, *QUERY, "--L", "inf", "--plot", "x.svg", "--dry-run", fragment="--plot needs a finite length")
        self.succeed("concentration", *LAYER, *QUERY, "--L", "10", "--csv", "x.csv", "--plot", "x.svg", "--dry-run")
        self.assertEqual(os.listdir(self.folder), [])

    def test_inputs_are_not_replaced(self):
        self.write("t.csv", "1,0,0\n0,1,0\n0,0,1\n")
        for arguments in (["--law", "tokens:t.csv", *QUERY], [*LAYER, "--query", "t.csv"], [*LAYER, "--query-law", "tokens:t.csv"],
                          ["--law", "gaussian", "--d", "3", "--U", "t.csv", *QUERY], [*LAYER, *QUERY, "--V", "t.csv"]):
            for dry in ([], ["--dry-run"]):
                self.refuse("concentration", *arguments, "--L", "10", "--csv", "t.csv", *dry,
                            fragment="--csv is 't.csv', must be a different file from 't.csv', which the command reads")
        os.symlink("t.csv", self.path("t.svg"))
        self.refuse("concentration", "--law", "tokens:t.csv", *QUERY, "--L", "10", "--plot", "t.svg", fragment="--plot is 't.svg'")

    def test_bad_input(self):
        for arguments in (
            [*LAYER, "--L", "10"],
            [*LAYER, *QUERY, "--query-law", "gaussian", "--L", "10"],
            [*LAYER, "--query", "1,0", "--L", "10"],
            [*LAYER, *QUERY, "--L", "0"],
            [*LAYER, *QUERY, "--L", "10", "--sigma", "0"],
            [*LAYER, *QUERY, "--L", "10", "--sigma", "nan"],
            [*LAYER, *QUERY, "--L", "10", "--method", "guess"],
            [*LAYER, *QUERY, "--L", "2.5", "--method", "sampled"],
            [*LAYER, *QUERY, "--L", "1e13", "--method", "sampled"],
            [*LAYER, *QUERY, "--L", "10", "--prompts", "1"],
            [*LAYER, *QUERY, "--L", "10", "--c1", "1"],
            [*LAYER, *QUERY, "--L", "10", "--c1", "-1", "--c2", "1"],
            [*LAYER, *QUERY, "--L", "10", "--tolerance", "0"],
            [*LAYER, *QUERY, "--L", "10", "--plot", "figure.png"],
            [*LAYER, *QUERY, "--L", "10", "--csv", "nowhere/out.csv"],
            [*LAYER, *QUERY, "--L", "10", "--csv", "same.svg", "--plot", "same.svg"],
            [*LAYER, *QUERY, "--L", "inf", "--plot", "out.svg"],
            [*LAYER, *QUERY, "--L", "10", "--sigma", "1e-200"],
            [*LAYER, *QUERY, "--L", "10", "--V", "1e-170*identity"],
            ["--law", "gaussian", "--d", "2", "--U", "diag:1,2", "--query-law", "sphere", "--sigma", "1e8", "--L", "2"],
            ["--law", "uniform", "--d", "3", *QUERY, "--L", "1e6", "--tolerance", "0.1"],
            [*LAYER, *QUERY, "--L", "10", "--U", "1e200*identity"],
            ["--law", "uniform", "--d", "3", *QUERY, "--L", "10", "--method", "exact"],
            ["--law", "sphere", "--d", "3", *QUERY, "--L", "10", "--tolerance", "0.1"],
            ["--law", "sphere", "--d", "3", "--query-law", "gaussian", "--L", "10", "--method", "exact"],
            ["--law", "gaussian:mean=1,0,0", "--d", "3", *QUERY, "--L", "10", "--tolerance", "0.1"],
        ):
            self.refuse("concentration", *arguments)


if __name__ == "__main__":
    largo_cli.unittest.main()
