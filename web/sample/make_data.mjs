// Writes data.json, made-up data with everything a report may have: node sample/make_data.mjs
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const range = (n) => Array.from({ length: n }, (_, i) => i);
const logspace = (from, to, n) => range(n).map((i) => 10 ** (from + ((to - from) * i) / (n - 1)));
const round = (v) => (Number.isFinite(v) ? Number(v.toPrecision(6)) : v > 0 ? "inf" : "-inf");
const curve = (label, x, f, style, color, relative) => {
  const y = x.map(f);
  const band = relative && {
    low: y.map((v, i) => round(v - relative(x[i]) * v)),
    high: y.map((v, i) => round(v + relative(x[i]) * v)),
  };
  return { label, x: x.map(round), y: y.map(round), style, color, ...band };
};
// A panel whose axes are both logarithmic.
const logarithmic = (title, x_label, y_label, curves) => ({
  title,
  x_label,
  y_label,
  log_x: true,
  log_y: true,
  curves,
});
const wobble = (x) => 1 + 0.12 * Math.sin(37 * Math.log(x));

const lengths = logspace(1, 8, 57);
const sparse = logspace(1, 6, 6);
const concentration = {
  id: "concentration",
  caption:
    "Mean squared error of the output against the prompt length L, for three spreads σ of the scores. Lines: exact; points: 400 sampled prompts with 99 % intervals; dashed: the fitted bound c₁ σ⁶ ln L / L^(c₂/σ²).",
  panels: [
    logarithmic("output", "prompt length L", "E‖T[μ̂] − T[μ]‖²", [
      curve("σ = 0.5, exact", lengths, (L) => 1.3 / L, "line", 0),
      curve("σ = 1, exact", lengths, (L) => 2.4 / L ** 0.62, "line", 1),
      curve("σ = 1.5, exact", lengths, (L) => 3.1 / L ** 0.34, "line", 2),
      curve(
        "σ = 1, sampled",
        sparse,
        (L) => (2.4 * wobble(L)) / L ** 0.62,
        "points",
        1,
        () => 0.35,
      ),
      curve("bound, σ = 1", lengths, (L) => (3 * Math.log(L)) / L ** 0.55, "dashed", 7),
    ]),
    logarithmic("gradient in U", "prompt length L", "E‖∇T[μ̂] − ∇T[μ]‖²", [
      curve("σ = 0.5, exact", lengths, (L) => 5 / L, "line", 0),
      curve("σ = 1, exact", lengths, (L) => 9 / L ** 0.6, "line", 1),
      curve("σ = 1.5, exact", lengths, (L) => 14 / L ** 0.31, "line", 2),
    ]),
  ],
};

const times = logspace(-2, 5, 61);
const risk = (L) => (t) => 1 / (1 + t) ** 1.4 + 0.6 / L;
const frame = (L) => [
  logarithmic("risk along the flow", "time t", "risk", [
    curve("L = ∞", times, risk(Infinity), "dotted", 4),
    { ...curve("this L", times, risk(L), "line", 3, () => 0.4), label: "this L, 90 % of tasks" },
  ]),
];
const slid = [10, 30, 100, 1000, 10000, Infinity];

// Values without a place: infinite, zero and negative on a logarithmic axis; curves are broken there.
const broken = {
  id: "edges",
  caption:
    "Values without a place break a curve; a point alone is a marker; a band that reaches 0 ends at the edge.",
  panels: [
    {
      title: "logarithmic",
      x_label: "",
      y_label: "value",
      log_x: false,
      log_y: true,
      curves: [
        {
          label: "broken",
          x: [0, 1, 2, 3, 4, 5, 6, 7],
          y: [1, 2, "inf", 4, 0, 3, -1, 2],
          style: "line",
          color: 0,
        },
        {
          label: "<b>band</b> & “quotes”, 100 %",
          x: [0, 1, 2, 3, 4, 5, 6, 7],
          y: [3, 3, 2, 2, 1.5, 1.5, 1.2, 1.1],
          low: [2, 1, 0, -1, 0, 0.2, 0.4, 0.9],
          high: [4, 5, 6, "inf", 7, 4, 3, 2],
          style: "line",
          color: 5,
        },
      ],
    },
    {
      title: "linear",
      x_label: "x",
      y_label: "difference",
      log_x: false,
      log_y: false,
      curves: [
        curve(
          "sin x / x",
          range(81).map((i) => -20 + i / 2),
          (x) => (x ? Math.sin(x) / x : 1),
          "line",
          6,
        ),
        {
          label: "measured",
          x: [-15, -8, 0, 6, "inf"],
          y: [0.04, 0.13, 0.98, -0.05, 0],
          low: [-0.1, 0, 0.8, -0.2, 0],
          high: [0.2, 0.3, 1.1, 0.1, 0],
          style: "points",
          color: 2,
        },
      ],
    },
    logarithmic("narrow, less than a decade", "σ", "c(σ)", [
      curve(
        "",
        logspace(-0.3, 0.3, 31),
        (s) => (s * s < 0.5 ? 1 : (Math.sqrt(1 + 4 / s ** 2) - 1) / 2),
        "line",
        0,
      ),
    ]),
  ],
};
const tiny = {
  id: "tiny",
  caption: "Very small and very large numbers.",
  panels: [logarithmic("", "L", "1/L", [curve("", logspace(0, 300, 31), (L) => 1 / L, "points", 3)])],
};

// What stands on the x axis can be chosen.
const grid = { L: [10, 100, 1e3, 1e4, 1e6], sigma: [0.5, 1, 2] };
const value = (L, sigma) => sigma ** 2 / L ** (1 / (1 + sigma ** 2));
const against = (x, other, of) => ({
  x,
  caption: `Error against ${x}, a curve for each ${other}.`,
  panels: [
    {
      title: "",
      x_label: x,
      y_label: "error",
      log_x: x === "L",
      log_y: true,
      curves: grid[other].map((v, i) =>
        curve(`${other} = ${v === 1e6 ? "10⁶" : v}`, grid[x], (u) => of(u, v), "line", i),
      ),
    },
  ],
});
const chosen = (id, factor) => ({
  id,
  ...against("L", "sigma", (L, s) => factor * value(L, s)),
  views: [against("sigma", "L", (s, L) => factor * value(L, s))],
});

const long = range(60).map((i) => [i + 1, round(1.7 ** i), round(Math.exp(-i)), i % 7 ? "ok" : null]);
const layers = range(6),
  heads = range(12);
const each = (f) => layers.map((i) => heads.map((j) => f(i, j)));
const scores = range(25).map((k) => (k - 12) / 4);
const density = (x, i, j) => Math.exp((-x * x) / 2 / spread(i, j));
const spread = (i, j) => round(1 + (2.6 * ((7 * i + 5 * j) % 13)) / 12);
const headGrid = {
  id: "heads",
  caption: "Made-up heads of a model with 6 layers. Choose a cell to see its scores.",
  row: "layer",
  column: "head",
  rows: layers.map(String),
  columns: heads.map(String),
  quantities: [
    { label: "kind", log: false, values: each((i, j) => ["affine", "sink", "mixed"][(i * j) % 3]) },
    { label: "spread of the scores", log: false, values: each(spread) },
    {
      label: "effective tokens",
      log: true,
      values: each((i, j) =>
        i === 5 && j > 9 ? (j === 10 ? null : "inf") : round(512 * Math.exp(-(spread(i, j) ** 2) / 2)),
      ),
    },
  ],
  lists: [scores],
  details: each((i, j) => [
    {
      caption: "Scores of the head, and a normal density.",
      panels: [
        {
          title: "",
          x_label: "score",
          y_label: "density",
          log_x: false,
          log_y: false,
          curves: [
            { ...curve("head", scores, (x) => density(x, i, j) * wobble(x + 9), "bars", 0), x: 0 },
            { ...curve("normal", scores, (x) => density(x, i, j), "line", 7), x: 0 },
          ],
        },
      ],
    },
  ]),
};

const report = {
  kind: "reproduce",
  title: "Softmax attention in the large-prompt regime: every claim, computed",
  intro:
    "Made-up data that shows what a report has. Each claim is stated in plain words, computed, and judged by thresholds that are stated with it.\n\nThe numbers mean nothing.",
  version: "0.0.0",
  command: "largo reproduce --seed 1 --out reproduce-out",
  seed: 1,
  about: [{ label: "Content", value: "0123456789abcdef".repeat(4) }],
  sections: [
    {
      id: "lemma",
      title: "Attention over Gaussian tokens is affine",
      source: "Lemma 2.1",
      statement:
        "On a Gaussian law, softmax attention is an affine map of the query: the prompt acts through its mean and covariance alone.",
      formula: "T[\\mathcal N(m,\\Gamma)](z) = Vm + V\\Gamma U z, \\qquad U = K^\\top Q",
      computed: "Both sides at 200 random queries in dimensions 2, 5 and 20, the left one by quadrature.",
      control: "The covariance is squared.",
      verdict: "holds",
      reason: "largest relative difference 3.1×10⁻¹⁴, limit 10⁻¹²",
      numbers: [
        { label: "largest relative difference", value: 3.1e-14, limit: 1e-12 },
        { label: "queries", value: 600 },
      ],
      tables: [
        {
          title: "Largest difference by dimension",
          columns: ["d", "difference", "condition of Γ"],
          rows: [
            [2, 1.2e-15, 3],
            [5, 8.8e-15, 17.25],
            [20, 3.1e-14, "inf"],
          ],
        },
      ],
      figures: [],
      command: "largo reproduce --only lemma",
    },
    {
      id: "output",
      title: "The output concentrates as the prompt grows",
      source: "Proposition 3.1",
      statement:
        "The mean squared distance between attention over L tokens and over their law falls like a power of L, where 0 < α < √2/(d^{1/4}‖Σ‖).",
      formula:
        "\\mathbb E\\,\\bigl\\| T[\\hat\\mu_L] - T[\\mu] \\bigr\\|_{L^2(\\nu)}^2 \\;\\le\\; c_1\\,\\sigma^6\\,\\frac{\\ln L}{L^{c_2/\\sigma^2}} \\qquad (L \\ge 2)",
      computed: "The exact error at 57 lengths from 10 to 10⁸, and 400 sampled prompts at six of them.",
      verdict: "holds",
      reason: "bound holds at 57 of 57 lengths; largest z-score of the samples 1.9, limit 4",
      numbers: [
        { label: "largest z-score", value: 1.9, limit: 4 },
        { label: "fitted c₂", value: 0.553 },
      ],
      tables: [
        {
          title: "A table with a^{1/4} that is too wide for a phone",
          columns: ["law of the tokens", "length L", "exact error", "sampled error", "95 % from", "to", "z"],
          rows: [["uniform on the sphere", 4788590, 1.23456e-7, 1.23457e-7, 1.2e-7, 1.3e-7, 0.1]],
        },
      ],
      figures: [concentration, chosen("chosen", 1), chosen("chosen-too", 3)],
      command: "largo reproduce --only output",
    },
    {
      id: "training",
      title: "Training with finite prompts follows the limit",
      source: "Theorem 4.3",
      statement:
        "Gradient flow on the risk at prompt length L ends near the limit of the infinite-prompt flow, once L is large enough.",
      formula:
        "\\lim_{t\\to\\infty} R_L(\\theta_L(t)) \\le \\lim_{t\\to\\infty} R_\\infty(\\theta_\\infty(t)) + \\varepsilon \\quad\\text{for all } L \\ge L(\\varepsilon)",
      computed: "The flow at six lengths, to t = 10⁵.",
      verdict: "fails",
      reason: "excess risk at L = 10⁴ is 6×10⁻⁵, limit 10⁻⁵",
      numbers: [
        { label: "excess risk at L = 10⁴", value: 6e-5, limit: 1e-5 },
        { label: "L(0)", value: "inf" },
      ],
      tables: [{ title: "A long table", columns: ["step", "large", "small", "state"], rows: long }],
      figures: [
        {
          id: "training",
          caption: "Risk along the flow; move the slider to see other prompt lengths.",
          panels: frame(1000),
          slider: { label: "L", values: slid.map(round), panels: slid.map(frame) },
        },
      ],
      grids: [headGrid],
      command: "largo reproduce --only training",
    },
    {
      id: "edges",
      title: "What has no place in a chart",
      statement:
        "Curves are broken at infinite values, and at values that are not positive on a logarithmic axis. Markup such as </script>, <!-- and <em>this</em> is text.",
      computed: "Nothing.",
      verdict: "not testable",
      reason: "the claim speaks of all laws; a computation sees finitely many",
      numbers: [],
      tables: [],
      figures: [broken, tiny],
      command:
        'largo reproduce --only edges --set title="a long command line that does not fit on a phone" --threads 2',
    },
  ],
};

const out = fileURLToPath(new URL("data.json", import.meta.url));
writeFileSync(out, JSON.stringify(report) + "\n");
