#!/usr/bin/env python3
"""Draws docs/figures/attention.svg from `largo attention`: run it from the repository, after a build.

    docs/figures/attention.py [path to largo]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
LARGO = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parents[1] / "build/release/apps/largo/largo")
QUERIES = [k / 20 for k in range(-60, 61)]

MIXTURE = """
[[component]]
weight = 0.5
law = "gaussian:cov=0.51*identity"
shift = [-0.7]
[[component]]
weight = 0.5
law = "gaussian:cov=0.51*identity"
shift = [0.7]
"""


def outputs(folder, law, length="inf", seed=1):
    queries = folder / "queries.csv"
    queries.write_text("".join(f"{z}\n" for z in QUERIES))
    run = subprocess.run(
        [LARGO, "attention", "--law", law, "--d", "1", "--query", str(queries), "--L", length, "--seed", str(seed),
         "--json"], check=True, capture_output=True, text=True)
    return [row[0] for row in json.loads(run.stdout)["softmax"]]


class Panel:
    """A plot area of 300 x 240 at (x, y): queries from -3 to 3, outputs from -4 to 4, clipped."""

    def __init__(self, x, title):
        self.x, self.y, self.parts = x, 52, []
        w, h = 300, 240
        self.parts.append(f'<rect x="{x}" y="{self.y}" width="{w}" height="{h}" class="frame"/>')
        self.parts.append(f'<clipPath id="at{x}"><rect x="{x}" y="{self.y}" width="{w}" height="{h}"/></clipPath>')
        for tick in range(-3, 4):
            px, _ = self.at(tick, 0)
            self.parts.append(f'<path d="M{px} {self.y + h}v4" class="axis"/>')
            self.parts.append(f'<text x="{px}" y="{self.y + h + 17}" class="tick middle">{tick}</text>')
        for tick in range(-4, 5, 2):
            _, py = self.at(0, tick)
            self.parts.append(f'<path d="M{x} {py}h-4" class="axis"/>')
            self.parts.append(f'<text x="{x - 8}" y="{py + 4}" class="tick end">{tick}</text>')
        self.parts.append(f'<text x="{x + w / 2}" y="{self.y + h + 36}" class="label middle">query z</text>')
        self.parts.append(f'<text x="{x + w / 2}" y="{self.y - 14}" class="title middle">{title}</text>')

    def at(self, z, value):
        return round(self.x + 150 + 50 * z, 2), round(self.y + 120 - 30 * value, 2)

    def curve(self, values, style, label, row):
        points = " ".join("{},{}".format(*self.at(z, v)) for z, v in zip(QUERIES, values))
        self.parts.append(f'<polyline points="{points}" class="{style}" clip-path="url(#at{self.x})"/>')
        y = self.y + 18 + 17 * row
        self.parts.append(f'<path d="M{self.x + 12} {y - 4}h22" class="{style}"/>')
        self.parts.append(f'<text x="{self.x + 40}" y="{y}" class="tick">{label}</text>')


STYLE = """
text{font-family:Helvetica,Arial,sans-serif;fill:#222}
.title{font-size:14px;font-weight:600}.label{font-size:13px}.tick{font-size:12px}
.middle{text-anchor:middle}.end{text-anchor:end}
.frame{fill:none;stroke:#888}.axis{stroke:#888;fill:none}
polyline,.a,.b,.c,.d{fill:none;stroke-linejoin:round}
.a{stroke:#111;stroke-width:2.4}.b{stroke:#c44e17;stroke-width:1.8}
.c{stroke:#1f6fb2;stroke-width:1.8}.d{stroke:#3f8f4f;stroke-width:1.8;stroke-dasharray:6 3}
"""


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "mixture.toml").write_text(MIXTURE)
        left = Panel(60, "Gaussian prompts of L tokens")
        left.curve(outputs(folder, "gaussian"), "a", "L = ∞: linear, T(z) = z", 0)
        for row, (length, style) in enumerate([("10", "b"), ("1000", "c"), ("1e6", "d")]):
            left.curve(outputs(folder, "gaussian", length), style, f"L = {float(length):,.0f}".replace(",", " "), row + 1)
        right = Panel(440, "L = ∞, four laws of variance one")
        for row, (law, style, label) in enumerate([
                ("gaussian", "a", "Gaussian"), ("rademacher", "b", "Rademacher: tanh z"),
                ("uniform:half-width=1.7320508075688772", "c", "uniform"),
                (f"mixture:{folder / 'mixture.toml'}", "d", "mixture of two Gaussians")]):
            right.curve(outputs(folder, law), style, label, row)
    body = "\n".join(left.parts + right.parts)
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 340" width="760" height="340" role="img" '
           f'aria-label="Softmax attention as a function of the query">\n<style>{STYLE}</style>\n'
           f'<rect width="760" height="340" fill="#fff"/>\n'
           f'<text x="18" y="172" class="label middle" transform="rotate(-90 18 172)">attention T(z)</text>\n'
           f"{body}\n</svg>\n")
    (HERE / "attention.svg").write_text(svg)


if __name__ == "__main__":
    main()
