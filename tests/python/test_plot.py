"""Figures: what is drawn is what was given, and files are PDF."""

import math
import pathlib
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import largo  # noqa: E402
import largo.plot  # noqa: E402


def test_concentration(tmp_path):
    result = largo.concentration(largo.law("gaussian", 2), query=[1, 0], L=[10, 100, math.inf], method="both", prompts=200, sigma=[0.5, 1])
    ax = largo.plot.concentration(result, ["output"])
    assert len(ax.get_legend().get_texts()) == 2
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), result.column("output", method="exact", sigma=0.5)[:2])
    largo.plot.save(ax, tmp_path / "a.pdf")
    largo.plot.save(ax, tmp_path / "b.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_training():
    problem = largo.icl.Problem(2)
    runs = largo.icl.train(problem, [100, math.inf])
    ax = largo.plot.trajectories(runs)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$L=100$", r"$L=\infty$"]
    own = largo.plot.axes()
    assert largo.plot.phase_portrait(problem, runs, ax=own, arrows=5) is own
    assert own.get_ylabel() == "$b$"
    # Open and filled circles stand on the first and the last point of a path, and the legend says so.
    assert [text.get_text() for text in own.get_legend().get_texts()][-2:] == ["start", "end"]
    circles = [line for line in own.lines if line.get_marker() == "o" and len(line.get_xdata())]
    ends = [(np.linalg.norm(run.U_path[k, :-1, :-1]), run.v_path[k, -1]) for run in runs for k in (0, -1)]
    assert [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in circles] == ends
    assert [line.get_markerfacecolor() == "white" for line in circles] == [True, False] * len(runs)


def test_plane():
    ax = largo.plot.error_plane(np.linspace(0, 3, 4), [10, 100, 1000], "P2")
    assert ax.get_yscale() == "log" and ax.collections


def test_one_palette():
    """The colours are those of the figures that C++ draws."""
    source = (pathlib.Path(__file__).resolve().parents[2] / "src/io/figure_curves.cpp").read_text()
    palette = re.search(r"kPalette = \{(.*?)\}", source, re.S).group(1)
    assert largo.plot.STYLE["axes.prop_cycle"].by_key()["color"] == re.findall(r"#\w{6}", palette)


def test_colours_of_one_quantity():
    """Of one quantity, a colour for each scale; of several, one for each of them."""
    result = largo.concentration(largo.law("gaussian", 2), query=[1, 0], L=[10, 100], sigma=[0.5, 1])
    assert len({line.get_color() for line in largo.plot.concentration(result, ["output"]).lines}) == 2
    both = largo.plot.concentration(result, ["output", "gradient_V"])
    assert len({line.get_color() for line in both.lines}) == 2 == len({line.get_linestyle() for line in both.lines})
