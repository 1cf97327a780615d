"""Figures in print style. Each function draws into Axes (new ones if none are given) and returns them.

    ax = largo.plot.concentration(result)
    largo.plot.save(ax, "errors.pdf")

Colours are those of largo's reports; colour-blind readers can tell them apart. Sizes are those of a column of a paper.
Needs Matplotlib.

>>> import largo
>>> law = largo.law("gaussian", d=4)
>>> ax = largo.plot.concentration(largo.concentration(law, query=[1, 0, 0, 0], L=[10, 100, 1000]))
>>> ax.get_xlabel()
'prompt length $L$'
"""

from __future__ import annotations

import math
import os
from typing import Any, ContextManager, Dict, Iterable, List, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

try:
    import matplotlib  # type: ignore[import]
    import matplotlib.pyplot as plt  # type: ignore[import]
    import matplotlib.ticker  # type: ignore[import]
    from matplotlib.axes import Axes  # type: ignore[import]
except ImportError as _error:
    raise ImportError("largo.plot draws with Matplotlib, which is not installed (Debian: python3-matplotlib)") from _error

from . import icl
from ._arguments import as_numbers, as_whole, choice
from ._concentration import Concentration
from ._moments import condensation_line, moments

__all__ = ["STYLE", "style", "axes", "concentration", "trajectories", "phase_portrait", "error_plane", "save"]

#: The palette of the reports and of --plot (src/report/svg_curves.cpp, web/src/palette.ts).
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#931D72", "#605618", "#9C73F4", "#681404", "#000000"]
_WIDTH, _HEIGHT = 3.5, 2.7  # inches: one column

STYLE: Dict[str, Any] = {
    "font.family": "serif", "mathtext.fontset": "dejavuserif", "font.size": 8, "axes.labelsize": 8, "legend.fontsize": 7,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "lines.markersize": 3,
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "axes.prop_cycle": matplotlib.cycler(color=_COLOURS), "pdf.fonttype": 42, "svg.hashsalt": "largo", "savefig.bbox": "tight", "savefig.pad_inches": 0.02,
}


def style() -> ContextManager[None]:
    """A context in which your own drawing has this style, too: `with largo.plot.style(): ax.legend()`."""
    context: ContextManager[None] = matplotlib.rc_context(STYLE)
    return context


def axes(width: float = _WIDTH, height: float = _HEIGHT) -> Axes:
    """New axes in this style; sizes in inches."""
    with matplotlib.rc_context(STYLE):
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def save(ax: Axes, file: Union[str, "os.PathLike[str]"]) -> None:
    """Writes the figure of these axes as PDF, SVG or PNG, by the name of the file. The same figure gives the same bytes."""
    if not isinstance(ax, Axes):
        raise TypeError(f"plot.save: ax is {type(ax).__name__}, must be the axes that a function of largo.plot returned")
    with matplotlib.rc_context(STYLE):
        stamps = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}  # the time of day is no part of a figure
        metadata = stamps.get(os.path.splitext(os.fspath(file))[1], {})
        dpi = 100 if metadata else 200  # in PDF and SVG only smooth maps of colours are made of pixels
        ax.figure.savefig(file, dpi=dpi, metadata=metadata)


def _length(L: Union[float, str]) -> str:
    if isinstance(L, str):
        return f"$L$ ~ {L}"
    if math.isinf(L):
        return r"$L=\infty$"
    exponent = round(math.log10(L), 9)
    return rf"$L=10^{{{exponent:.0f}}}$" if exponent >= 4 and exponent == math.floor(exponent) else rf"$L={L:g}$"


_NAMES = {"output": "output", "gradient_V": r"gradient in $V$", "gradient_U": r"gradient in $U$",
          "softmax_linear": "softmax − linear"}


def _label(*parts: str) -> Optional[str]:
    return ", ".join(part for part in parts if part) or None


def _legend(ax: Axes, **options: Any) -> None:
    """Where there is more than one thing to tell apart."""
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(**options)


def _runs(function: str, runs: Union[icl.Run, Sequence[icl.Run]]) -> List[icl.Run]:
    """Trainings, or one of them; a TypeError for anything else."""
    if not isinstance(runs, (icl.Run, Iterable)):
        raise TypeError(f"{function}: runs is {type(runs).__name__}, must be what icl.train returned")
    several = [runs] if isinstance(runs, icl.Run) else list(runs)
    for run in several:
        if not isinstance(run, icl.Run):
            raise TypeError(f"{function}: a run is {type(run).__name__}, must be one that icl.train returned")
    return several


def _plain_ticks(axis: Any, low: float, high: float) -> None:
    """Shows numbers instead of powers of ten on a logarithmic axis of about a decade."""
    if high < 12 * low:
        formatter = matplotlib.ticker.LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5))
        axis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(formatter)


def concentration(result: Concentration, quantities: Union[str, Sequence[str]] = ("output", "gradient_V", "gradient_U"),
                  ax: Optional[Axes] = None) -> Axes:
    """Errors against L on logarithmic axes: exact ones as lines, sampled ones as points with 95 % intervals.

    Each quantity has a colour, and each scale of the tokens a line style; with a single quantity, each scale has a colour.
    """
    quantities = [quantities] if isinstance(quantities, str) else list(quantities)
    for name in quantities:
        choice("plot.concentration", "a quantity", name, _NAMES)
    if not quantities or not result.rows:
        raise ValueError("plot.concentration: there is nothing to draw, must be at least one quantity and one row")
    ax = axes() if ax is None else ax
    styles = ["-", "--", ":", "-."]
    sigmas, single = result.sigmas, len(quantities) == 1
    methods = {row["method"] for row in result.rows}
    with matplotlib.rc_context(STYLE):
        for number, sigma in enumerate(sigmas):
            for place, name in enumerate(quantities):
                colour = _COLOURS[(number if single else place) % len(_COLOURS)]
                what = ("" if single else _NAMES.get(name, name), rf"$\sigma={sigma:g}$" if len(sigmas) > 1 else "")
                lengths = result.column("L", method="exact", sigma=sigma)
                values = result.column(name, method="exact", sigma=sigma)
                shown = np.isfinite(lengths) & (values > 0)
                label = _label(*what, "exact" if len(methods) > 1 and len(sigmas) == 1 else "")
                if shown.any():
                    ax.plot(lengths[shown], values[shown], "-" if single else styles[number % 4], color=colour, label=label)
                rows = [row for row in result.select(method="sampled", sigma=sigma)
                        if name in row and row[name]["value"] > 0 and math.isfinite(row["L"])]
                if rows:
                    label = _label(*what, "sampled" if len(methods) > 1 and len(sigmas) == 1 else "")
                    middle = np.array([row[name]["value"] for row in rows])
                    ends = np.array([row[name]["interval"] for row in rows])
                    ax.errorbar([row["L"] for row in rows], middle, np.abs(ends.T - middle), fmt="o", color=colour, capsize=1.5,
                                elinewidth=0.8, label=None if shown.any() and len(sigmas) > 1 else label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("prompt length $L$")
        ax.set_ylabel("mean squared error" + (f", {_NAMES.get(quantities[0], quantities[0])}" if single else ""))
        _legend(ax)
    return ax


def _labelled(runs: Sequence[icl.Run]) -> Any:
    """(run, how to draw it) for each run: a colour for each length, black for ∞; descents thin and dashed."""
    lengths = [L for L in dict.fromkeys(run.L for run in runs) if L != math.inf]
    several = len({run.attention for run in runs}) > 1
    for run in runs:
        descent = run.method == "sgd"
        yield run, {
            "label": _length(run.L) + (f", {run.attention}" if several else "") + (", sgd" if descent else ""),
            "linestyle": "--" if descent else "-" if run.attention == "softmax" else ":",
            "linewidth": 0.7 if descent else 1.2,
            "color": _COLOURS[lengths.index(run.L) % (len(_COLOURS) - 1)] if run.L != math.inf else _COLOURS[-1],
        }


def trajectories(runs: Union[icl.Run, Sequence[icl.Run]], ax: Optional[Axes] = None) -> Axes:
    """Risks against time for trainings at several lengths: flows as lines, descents dashed, linear attention dotted.

    For a descent, the mean loss of the batches since the point before is shown. Risks below 1e-6 are not shown.
    """
    drawn = [(run, look, (run.times > 0) & (run.risks > 0)) for run, look in _labelled(_runs("plot.trajectories", runs))]
    risks = np.concatenate([run.risks[shown] for run, _, shown in drawn] or [np.zeros(0)])
    if risks.size == 0:
        raise ValueError("plot.trajectories: there is nothing to draw, must be at least one run with a positive risk")
    ax = axes() if ax is None else ax
    with matplotlib.rc_context(STYLE):
        for run, look, shown in drawn:
            ax.plot(run.times[shown], run.risks[shown], **look)
        least = max(float(risks.min()), 1e-6)
        most = max(float(risks.max()), least)
        room = (most / least) ** 0.06
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(least / room, most * room)
        # A flow is slow at first: nothing happens before the risk has changed.
        ax.set_xlim(left=1e-2)
        _plain_ticks(ax.yaxis, least, most)
        ax.set_xlabel("time")
        ax.set_ylabel("risk $R_L$")
        _legend(ax)
    return ax


def phase_portrait(problem: icl.Problem, runs: Union[icl.Run, Sequence[icl.Run]], *, L: float = math.inf, arrows: int = 15,
                   ax: Optional[Axes] = None) -> Axes:
    """Paths in the plane of ‖A‖ and b, with the valley bΣA = I.

    The arrows show the direction of -∇R_L along A = a A_∞/‖A_∞‖.

    `runs` are trainings on the invariant set, from open to filled circles; `L` is the prompt length of the vector field.
    """
    runs, arrows = _runs("plot.phase_portrait", runs), as_whole("arrows", arrows)
    if arrows < 1:
        raise ValueError(f"plot.phase_portrait: arrows is {arrows}, must be at least 1")
    limit = icl.limit(problem)
    for run in runs:
        if run.U.shape[0] != problem.dimension + 1:
            raise ValueError(f"plot.phase_portrait: a run is of d = {run.U.shape[0] - 1}, must be {problem.dimension}, the problem's")
    ax = axes(4.2, _HEIGHT) if ax is None else ax
    direction = limit.A / np.linalg.norm(limit.A)
    paths = [(np.linalg.norm(run.U_path[:, :-1, :-1], axis=(1, 2)), run.v_path[:, -1]) for run in runs]
    top_a = 1.15 * max([float(a.max()) for a, _ in paths] + [float(np.linalg.norm(limit.A))])
    top_b = 1.15 * max([float(b.max()) for _, b in paths] + [limit.b])
    grid_a, grid_b = np.meshgrid(np.linspace(top_a / arrows, top_a, arrows), np.linspace(top_b / arrows, top_b, arrows))
    slopes = [icl.gradient(problem, L, icl.Point(a * direction, b)) for a, b in zip(grid_a.flat, grid_b.flat)]
    along = np.array([-np.sum(slope.A * direction) for slope in slopes]) / top_a
    across = np.array([-slope.b for slope in slopes]) / top_b
    size = np.maximum(np.hypot(along, across), 1e-300)
    with matplotlib.rc_context(STYLE):
        ax.quiver(grid_a.ravel(), grid_b.ravel(), along / size, across / size, color="0.75", angles="uv", scale=28,
                  width=0.003, headwidth=4)
        valley = np.linspace(limit.b * float(np.linalg.norm(limit.A)) / top_b, top_a, 200)
        ax.plot(valley, limit.b * float(np.linalg.norm(limit.A)) / valley, color="0.45", lw=0.8, label=r"$b\Sigma A=I$")
        for (a, b), (_, look) in zip(paths, _labelled(runs)):
            ax.plot(a, b, **look)
            ax.plot(a[0], b[0], "o", color="0.3", markerfacecolor="white", zorder=3)
            ax.plot(a[-1], b[-1], "o", color=look["color"], zorder=3)
        for name, inside in (("start", "white"), ("end", "0.3")):  # in the legend, what the circles are
            ax.plot([], [], "o", color="0.3", markerfacecolor=inside, label=name)
        ax.set_xlim(0, top_a)
        ax.set_ylim(0, top_b)
        ax.set_xlabel(r"$\Vert A\Vert$")
        ax.set_ylabel("$b$")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=1.5)
    return ax


_STATISTICS = ("P2", "P3", "P2P2", "mean", "bias", "mse", "variance", "variance_mse", "variance_P2", "squared_spread",
               "P2_slope", "P3_slope", "P2P2_slope", "effective_tokens")


def error_plane(s: npt.ArrayLike, L: npt.ArrayLike, quantity: str = "mse", ax: Optional[Axes] = None) -> Axes:
    """A statistic of `moments` as colour over the spread s of the scores and the length L, with the condensation line.

    The simple law E[P_2] ≈ e^{s²}/L ends at the dashed line. `s` and `L` are the (n,) and (m,) values of the two axes.
    """
    spreads, lengths = (np.array(as_numbers(name, value)[0]) for name, value in (("s", s), ("L", L)))
    for name, value in (("s", spreads), ("L", lengths)):
        if value.size < 2 or not np.all(np.isfinite(value)):
            raise ValueError(f"plot.error_plane: {name} must be two numbers or more, all finite")
    choice("plot.error_plane", "quantity", quantity, _STATISTICS)
    values = np.abs(getattr(moments(spreads[None, :], lengths[:, None]), quantity))
    if not np.any(values > 0):
        raise ValueError(f"plot.error_plane: {quantity} is zero everywhere, must be positive somewhere for a logarithmic scale")
    ax = axes(4.2, _HEIGHT) if ax is None else ax
    with matplotlib.rc_context(STYLE):
        norm = matplotlib.colors.LogNorm(vmin=max(float(values[values > 0].min()), 1e-12), vmax=float(values.max()))
        mesh = ax.pcolormesh(spreads, lengths, values, norm=norm, shading="gouraud", cmap="viridis", rasterized=True)
        line = condensation_line(lengths)
        ax.plot(line, lengths, color="white", lw=1.2, label=r"$s=\sqrt{2\ln L}$")
        ax.plot(line / math.sqrt(3), lengths, "--", color="white", lw=0.9, label=r"$s=\sqrt{(2/3)\ln L}$")
        ax.legend(loc="upper left", labelcolor="white")
        ax.set_yscale("log")
        ax.set_xlim(spreads.min(), spreads.max())
        ax.set_ylim(lengths.min(), lengths.max())
        ax.set_xlabel("spread of the scores $s$")
        ax.set_ylabel("prompt length $L$")
        bar = ax.figure.colorbar(mesh, ax=ax)
        bar.set_label({"mse": r"$E(A-s)^2$", "P2": "$E[P_2]$", "bias": "$|E[A]-s|$"}.get(quantity, quantity))
    return ax
