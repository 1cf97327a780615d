"""Figures: what is drawn is what was given, and files are PDF."""

import dataclasses
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


def test_nothing_to_draw(tmp_path):
    """A sentence, and no empty figure left behind."""
    problem = largo.icl.Problem(2)
    result = largo.concentration(largo.law("gaussian", 2), query=[1, 0], L=[10, 100])
    run = largo.icl.train(problem, 10)[0]
    before = largo.plot.plt.get_fignums()
    still = dataclasses.replace(run, risks=np.zeros(len(run.risks)))
    for call, words in [
            (lambda: largo.plot.trajectories([]), "nothing to draw"), (lambda: largo.plot.trajectories([still]), "nothing to draw"),
            (lambda: largo.plot.trajectories([3]), "a run is int"), (lambda: largo.plot.concentration(result, []), "nothing to draw"),
            (lambda: largo.plot.concentration(result, ["outputs"]), "a quantity is 'outputs', must be one of output"),
            (lambda: largo.plot.error_plane([], [10, 100]), "s must be two numbers or more"),
            (lambda: largo.plot.error_plane([1, 2], [10, math.inf]), "L must be two numbers or more, all finite"),
            (lambda: largo.plot.error_plane([1, 2], [10, 20], "msee"), "quantity is 'msee'"),
            (lambda: largo.plot.phase_portrait(problem, run, arrows=0), "arrows is 0"),
            (lambda: largo.plot.phase_portrait(largo.icl.Problem(3), run), "a run is of d = 2, must be 3"),
            (lambda: largo.plot.phase_portrait(run, run), "problem is Run, must be an icl.Problem")]:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert words in str(caught.value), caught.value
    assert largo.plot.plt.get_fignums() == before


def test_one_of_many():
    """One run, one quantity: a list is not asked for. A portrait without runs is the field alone."""
    problem = largo.icl.Problem(2)
    run = largo.icl.train(problem, 10)[0]
    assert len(largo.plot.trajectories(run).lines) == 1
    assert largo.plot.phase_portrait(problem, [], arrows=3.0).get_xlabel()
    result = largo.concentration(largo.law("gaussian", 2), query=[1, 0], L=[10, 100])
    assert len(largo.plot.concentration(result, "output").lines) == 1


def test_plane():
    ax = largo.plot.error_plane(np.linspace(0, 3, 4), [10, 100, 1000], "P2")
    assert ax.get_yscale() == "log" and ax.collections


def test_one_palette():
    """The colours are those of the figures that C++ draws."""
    source = (pathlib.Path(__file__).resolve().parents[2] / "src/report/svg_curves.cpp").read_text()
    palette = re.search(r"kPalette = \{(.*?)\}", source, re.S).group(1)
    assert largo.plot.STYLE["axes.prop_cycle"].by_key()["color"] == re.findall(r"#\w{6}", palette)


def test_colours_of_one_quantity():
    """Of one quantity, a colour for each scale; of several, one for each of them."""
    result = largo.concentration(largo.law("gaussian", 2), query=[1, 0], L=[10, 100], sigma=[0.5, 1])
    assert len({line.get_color() for line in largo.plot.concentration(result, ["output"]).lines}) == 2
    both = largo.plot.concentration(result, ["output", "gradient_V"])
    assert len({line.get_color() for line in both.lines}) == 2 == len({line.get_linestyle() for line in both.lines})
