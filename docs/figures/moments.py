#!/usr/bin/env python3
"""Draws docs/figures/moments.svg from `largo moments`: run it from the repository, after a build.

    docs/figures/moments.py [path to largo]
"""

import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
LARGO = sys.argv[1] if len(sys.argv) > 1 else str(HERE.parents[1] / "build/release/apps/largo/largo")

LARGEST_S, DECADES = 10, 16
SPREADS = [k / 5 for k in range(5 * LARGEST_S + 1)]
EXPONENTS = [k / 4 for k in range(4 * DECADES + 1)]  # log10 L
LOWEST, HIGHEST = -16, 2  # of the colours, in log10
WIDTH, HEIGHT, TOP = 310, 264, 50

# From dark to light, evenly in lightness (the ends and knots of the map viridis).
KNOTS = [(68, 1, 84), (70, 50, 126), (54, 92, 141), (39, 127, 142), (31, 161, 135), (74, 193, 109), (160, 218, 57),
         (253, 231, 37)]


def colour(t):
    at = min(max(t, 0), 1) * (len(KNOTS) - 1)
    k = min(int(at), len(KNOTS) - 2)
    return "#" + "".join(f"{round(a + (b - a) * (at - k)):02x}" for a, b in zip(KNOTS[k], KNOTS[k + 1]))


def band_colour(level):
    """Of values between 10^level and 10^(level + 1)."""
    return colour((level + 0.5 - LOWEST) / (HIGHEST - LOWEST))


def grids():
    """log10 of E[P_2] and of the mse, by s and by log10 L."""
    lengths = ",".join(repr(10**e) for e in EXPONENTS)
    run = subprocess.run([LARGO, "moments", "--s", ",".join(map(str, SPREADS)), "--L", lengths, "--json"],
                         check=True, capture_output=True, text=True)
    rows = json.loads(run.stdout)["rows"]
    width = len(EXPONENTS)
    return [[[math.log10(row[name]) for row in rows[i:i + width]] for i in range(0, len(rows), width)]
            for name in ("P2", "mse")]


def superlevel(values, level):
    """Closed curves around {values > level}, by marching squares; points in (s, log10 L)."""
    low = -1e9  # around the grid, at the places of its edge, so that every curve closes there
    s = [SPREADS[0], *SPREADS, SPREADS[-1]]
    e = [EXPONENTS[0], *EXPONENTS, EXPONENTS[-1]]
    blank = [low] * len(e)
    v = [blank, *([low, *row, low] for row in values), blank]

    def point(a, b):
        (i, j), (k, l) = min(a, b), max(a, b)
        t = (level - v[i][j]) / (v[k][l] - v[i][j])
        return s[i] + t * (s[k] - s[i]), e[j] + t * (e[l] - e[j])

    follow = {}  # from an edge that the curve crosses to the next; the region lies to the left
    for i in range(len(s) - 1):
        for j in range(len(e) - 1):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            inside = [v[a][b] > level for a, b in corners]
            entries, exits = [], []
            for c in range(4):
                edge = (corners[c], corners[(c + 1) % 4])
                if inside[c] and not inside[(c + 1) % 4]:
                    entries.append((c, edge))
                elif inside[(c + 1) % 4] and not inside[c]:
                    exits.append((c, edge))
            for c, edge in entries:  # to the next crossing back into the region
                _, out = min(exits, key=lambda item: (item[0] - c) % 4)
                follow[frozenset(edge)] = frozenset(out)
    curves = []
    while follow:
        start, edge = follow.popitem()
        curve = [point(*start), point(*edge)]
        while edge != start:
            edge = follow.pop(edge)
            curve.append(point(*edge))
        curves.append(curve)
    return curves


class Panel:
    def __init__(self, x, title, values):
        self.x, self.parts = x, []
        frame = f'x="{x}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}"'
        self.parts.append(f'<clipPath id="at{x}"><rect {frame}/></clipPath><g clip-path="url(#at{x})">')
        self.parts.append(f'<rect {frame} fill="{band_colour(LOWEST)}"/>')
        for level in range(LOWEST + 1, HIGHEST):
            path = "".join("M" + "L".join("{:g},{:g}".format(*self.at(*p)) for p in curve) + "z"
                           for curve in superlevel(values, level))
            if path:
                self.parts.append(f'<path d="{path}" fill="{band_colour(level)}" class="band"/>')
        self.parts.append("</g>")
        self.boundary(1, "line")
        self.boundary(3, "bulk")
        self.parts.append(f'<rect {frame} class="frame"/>')
        for tick in range(0, LARGEST_S + 1, 2):
            px, py = self.at(tick, 0)
            self.parts.append(f'<path d="M{px} {py}v4" class="axis"/>')
            self.parts.append(f'<text x="{px}" y="{py + 17}" class="tick middle">{tick}</text>')
        for tick in range(0, DECADES + 1, 4):
            px, py = self.at(0, tick)
            power = f'10<tspan class="power" dy="-5">{tick}</tspan>' if tick else "1"
            self.parts.append(f'<path d="M{px} {py}h-4" class="axis"/>')
            self.parts.append(f'<text x="{px - 8}" y="{py + 4}" class="tick end">{power}</text>')
        self.parts.append(f'<text x="{x + WIDTH / 2}" y="{TOP + HEIGHT + 38}" class="label middle">'
                          'standard deviation s of the scores</text>')
        self.parts.append(f'<text x="{x + WIDTH / 2}" y="{TOP - 14}" class="title middle">{title}</text>')

    def at(self, s, exponent):
        return round(self.x + WIDTH * s / LARGEST_S, 1), round(TOP + HEIGHT * (1 - exponent / DECADES), 1)

    def boundary(self, factor, style):
        """s = sqrt(2 ln L / factor)"""
        last = math.sqrt(2 * DECADES * math.log(10) / factor)
        curve = [(k / 60 * last, (k / 60)**2 * DECADES) for k in range(61)]
        points = " ".join("{:g},{:g}".format(*self.at(*p)) for p in curve)
        self.parts.append(f'<polyline points="{points}" class="halo"/><polyline points="{points}" class="{style}"/>')

    def label(self, s, exponent, text, style, angle=0):
        px, py = self.at(s, exponent)
        self.parts.append(f'<text class="{style} middle" transform="translate({px} {py}) rotate({angle})">{text}</text>')

    def contour(self, values, level, exponent):
        """A thin line at one value, with the value written where it crosses this length."""
        for curve in superlevel(values, math.log10(level)):
            points = " ".join("{:g},{:g}".format(*self.at(*p)) for p in curve)
            self.parts.append(f'<polygon points="{points}" class="thin" clip-path="url(#at{self.x})"/>')
            s, at = min((p for p in curve if 0 < p[0] < LARGEST_S), key=lambda p: abs(p[1] - exponent))
            self.label(s, at - 0.2, f"{level:g}", "value")


def colour_bar(x):
    parts = []
    height = HEIGHT / (HIGHEST - LOWEST)
    for level in range(LOWEST, HIGHEST):
        y = round(TOP + HEIGHT - (level + 1 - LOWEST) * height, 2)
        parts.append(f'<rect x="{x}" y="{y}" width="14" height="{height + 0.3:.2f}" fill="{band_colour(level)}"/>')
    parts.append(f'<rect x="{x}" y="{TOP}" width="14" height="{HEIGHT}" class="frame"/>')
    for level in range(LOWEST, HIGHEST + 1, 2):
        y = round(TOP + HEIGHT - (level - LOWEST) * height, 2)
        text = f'10<tspan class="power" dy="-5">{str(level).replace("-", "−")}</tspan>' if level else "1"
        parts.append(f'<path d="M{x + 14} {y}h4" class="axis"/><text x="{x + 21}" y="{y + 4}" class="tick">{text}</text>')
    return parts


STYLE = """
text{font-family:Helvetica,Arial,sans-serif;fill:#222}
.title{font-size:14px;font-weight:600}.label{font-size:13px}.tick{font-size:12px}.power{font-size:9px}
.middle{text-anchor:middle}.end{text-anchor:end}
.frame{fill:none;stroke:#555}.axis{stroke:#555;fill:none}
.band{stroke:#fff;stroke-opacity:.35;stroke-width:.6;fill-rule:evenodd}
.halo{fill:none;stroke:#fff;stroke-opacity:.6;stroke-width:3.6}.line{fill:none;stroke:#111;stroke-width:2.2}
.bulk{fill:none;stroke:#111;stroke-width:1.5;stroke-dasharray:5 4}
.thin{fill:none;stroke:#333;stroke-width:.8}.value{font-size:10.5px;stroke:#fff;stroke-opacity:.5;stroke-width:2.5;
paint-order:stroke}
.dark{font-size:12px;fill:#111}.light{font-size:12px;fill:#fff}
"""


def main():
    participation, mse = grids()
    left = Panel(64, "participation E[P₂]", participation)
    right = Panel(424, "squared error E[(A − s)²]", mse)
    for level, exponent in ((0.1, 6), (0.3, 7.5), (0.5, 4.5), (0.7, 2.25)):
        left.contour(participation, level, exponent)
    for level, exponent in ((0.1, 9), (3, 9), (10, 5.5), (30, 2.75)):
        right.contour(mse, level, exponent)
    for panel in (left, right):
        panel.label(8.2, 12.2, "s = √(2 ln L)", "dark", -61)
        panel.label(1.7, 11, "many tokens", "light")
        panel.label(8.3, 1, "few tokens", "dark")
    body = "\n".join(left.parts + right.parts + colour_bar(752))
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 816 366" width="816" height="366" role="img" '
           f'aria-label="Exact statistics of softmax attention over the plane of s and L">\n<style>{STYLE}</style>\n'
           f'<rect width="816" height="366" fill="#fff"/>\n'
           f'<text x="18" y="{TOP + HEIGHT / 2}" class="label middle" '
           f'transform="rotate(-90 18 {TOP + HEIGHT / 2})">length L of the prompt</text>\n'
           f"{body}\n</svg>\n")
    (HERE / "moments.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
