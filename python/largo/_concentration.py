"""The distance of attention over L tokens from its limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import _largo
from ._arguments import (ArrayInput, LawInput, MatrixInput, Progress, as_frame, as_lengths, as_list, as_numbers,
                         as_progress, choice, without_repeats)
from ._results import Array, Supremum, ToleratedLength


#: The columns of a result.
_NUMBERS = ("sigma", "L", "prompts")
_QUANTITIES = ("output", "gradient_V", "gradient_U", "gradient_K", "gradient_Q", "softmax_linear", "linear")


def _cell(row: Mapping[str, Any], name: str, part: str) -> float:
    if name in _NUMBERS:
        return float(row.get(name, math.nan))
    if part == "certified":
        return float(row.get("certified", {}).get(name, math.nan))
    cell = row.get("exponent", {}).get(name, {}) if part == "exponent" else row.get(name, {})
    return float(cell.get("value" if part == "exponent" else part, math.nan))


@dataclass(frozen=True)
class Concentration:
    """Errors for prompts of several lengths, with a summary.

    `rows` has a dict for each scale, length and method, with the keys of `largo concentration --json`: "sigma", "L",
    "method", "output", "gradient_V", "gradient_U", "gradient_K" and "gradient_Q" (if K and Q are given), "exponent", "softmax_linear", "linear", and "certified", with bounds on the
    first three errors that are theorems (docs/bounds.md), where they are known. `fit` has the slopes, the asymptotic
    exponent and, if asked for, the paper's bounds with constants that are fitted, or given and checked ("holds"). Errors of
    sampled rows have an "interval", (low, high), that covers 95 % of what was drawn. The "warnings" of a row, if there are any, say in sentences what a sample of
    this size is likely to miss; its intervals may then be too short.
    """

    rows: Tuple[Mapping[str, Any], ...]
    fit: Mapping[str, Any]

    def select(self, *, method: Optional[str] = None, sigma: Optional[float] = None) -> List[Mapping[str, Any]]:
        """The rows of one method ("exact" or "sampled"), of one scale, or of both."""
        if method is not None:
            choice("Concentration", "method", method, ("exact", "sampled"))
        if sigma is not None and sigma not in self.sigmas:
            raise ValueError(f"Concentration: sigma is {sigma!r}, must be one of {', '.join(map(repr, self.sigmas))}")
        return [row for row in self.rows
                if (method is None or row["method"] == method) and (sigma is None or row["sigma"] == sigma)]

    @property
    def sigmas(self) -> List[float]:
        """The scales, in the order of the rows."""
        return without_repeats(row["sigma"] for row in self.rows)

    def column(self, name: str, *, part: str = "value", method: Optional[str] = None,
               sigma: Optional[float] = None) -> Array:
        """One quantity over the rows; NaN in rows that do not have it.

        `name` is "sigma", "L", "prompts", or one of "output", "gradient_V", "gradient_U", "gradient_K", "gradient_Q",
        "softmax_linear", "linear". For the latter, `part` is the "value", its "error", the "exponent" (exact rows have the exponents of the first three), or
        the "certified" bound on one of the first three.
        """
        choice("Concentration", "column", name, (*_NUMBERS, *_QUANTITIES))
        choice("Concentration", "part", part, ("value", "error", "exponent", "certified"))
        return np.array([_cell(row, name, part) for row in self.select(method=method, sigma=sigma)], dtype=float)

    def to_dict(self) -> Dict[str, Any]:
        """The whole result, as the command line prints it with --json."""
        return {"rows": [dict(row) for row in self.rows], "fit": dict(self.fit)}

    def to_frame(self) -> Any:
        """The rows as a pandas data frame (pandas must be installed). It has the value and the error of each quantity and,
        for sampled rows, the ends of its interval, NAME_low and NAME_high. The last column has the warnings of the row in
        one text, empty if there are none."""
        columns: Dict[str, Any] = {name: [row[name] for row in self.rows] for name in ("sigma", "L", "method")}
        for name in ("output", "gradient_V", "gradient_U", "softmax_linear"):
            columns[name] = self.column(name)
            columns[f"{name}_error"] = self.column(name, part="error")
            ends = [row.get(name, {}).get("interval", (math.nan, math.nan)) for row in self.rows]
            columns[f"{name}_low"], columns[f"{name}_high"] = ([float(end[k]) for end in ends] for k in (0, 1))
        columns["warnings"] = ["; ".join(row.get("warnings", ())) for row in self.rows]
        return as_frame(columns)


@dataclass(frozen=True)
class PathErrors:
    """Errors along a path of parameters. `rows` has one row for each point, as in `Concentration`; the others are the
    largest errors."""

    rows: Tuple[Mapping[str, Any], ...]
    output: Supremum
    gradient_V: Supremum
    gradient_U: Optional[Supremum]


def queries_of(query: Optional[ArrayInput], query_law: Optional[_largo.Law], function: str = "concentration") -> object:
    """What the compiled part takes as queries."""
    if (query is None) == (query_law is None):
        raise ValueError(f"{function}: give either query or query_law")
    if query_law is not None and not isinstance(query_law, _largo.Law):
        raise TypeError(f"{function}: query_law is {type(query_law).__name__}, must be a largo.Law")
    return query_law if query is None else query


def _pair(name: str, value: Any) -> Tuple[float, float]:
    numbers = as_numbers(name, value)[0]
    if len(numbers) != 2:
        raise ValueError(f"concentration: {name} has {len(numbers)} numbers, must be two, (c1, c2)")
    return numbers[0], numbers[1]


def _scales(sigma: npt.ArrayLike) -> List[float]:
    scales = without_repeats(as_numbers("sigma", sigma)[0])
    if not scales:
        raise ValueError("concentration: sigma is empty, must be at least one number")
    for scale in scales:
        if not scale > 0:
            raise ValueError(f"concentration: sigma is {scale:g}, must be positive")
    return scales


def concentration(
    law: LawInput,
    *,
    L: npt.ArrayLike,
    query: Optional[ArrayInput] = None,
    query_law: Optional[_largo.Law] = None,
    U: Optional[MatrixInput] = None,
    V: MatrixInput = "identity",
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    planted: Optional[ArrayInput] = None,
    sinks: npt.ArrayLike = (),
    sigma: npt.ArrayLike = 1.0,
    method: str = "auto",
    prompts: int = 10000,
    relative_error: float = 0.0,
    precision: str = "float32",
    exponents: bool = True,
    fit: bool = False,
    bound: Optional[Tuple[float, float]] = None,
    seed: int = 1,
    threads: int = 0,
    progress: Progress = None,
) -> Concentration:
    """The error of attention over L tokens of a law, E‖T[μ̂_L](z) - T[μ](z)‖², and that of its gradients in V and U.

    The errors are those at a `query` (e,), or averages over the rows of a `query` (n, e) or over a `query_law`. `L` is one
    length or many (any shape; ∞ is allowed), and `sigma` scales the tokens. `method` is "exact" (nothing is sampled; works
    where a formula is known), "sampled" (`prompts` of them, or fewer once the standard error is `relative_error`), "both"
    or "auto". The scores are <z', Uz>, with the identity for U by default; `K` and `Q` in place of `U` stand for U = KᵀQ, and exact
    rows then have the errors of the gradients in K and Q too. `planted` are tokens (d,) or (n, d) that every prompt holds
    beside the L of the law, and `sinks` the scores of tokens without a value (0 is softmax plus one), which `sigma` does
    not scale; the limit is that of the law all the same. Rows have certified bounds beside the errors where they are known. `fit` fits the constants of the paper's
    bounds, and `bound` gives constants (c1, c2) to check them with. For the same seed the results are bit-identical to those
    of the command line.

    >>> import largo
    >>> result = largo.concentration(largo.law("gaussian", d=8), query_law=largo.law("gaussian", d=8), L=[1e2, 1e6, 1e12])
    >>> [f"{value:.4e}" for value in result.column("output")]
    ['2.6975e+00', '8.0954e-02', '1.4852e-04']
    >>> round(result.fit["slopes"][0]["asymptotic_exponent"], 4)
    0.618
    """
    constants = None if bound is None else _pair("bound", bound)
    if (K is None) != (Q is None):
        raise ValueError("concentration: give K and Q together")
    if U is not None and K is not None:
        raise ValueError("concentration: give either U, or K and Q")
    result = _largo.concentration(
        law, "identity" if U is None else U, K, Q, V, queries_of(query, query_law), planted,
        as_numbers("sinks", sinks)[0], without_repeats(as_lengths(L)[0]),
        _scales(sigma), method, prompts,
        relative_error, precision, seed, bool(exponents), bool(fit), constants, threads, as_progress(progress, "concentration"))
    return Concentration(tuple(result["rows"]), result["fit"])


def length_for_tolerance(
    law: LawInput,
    tolerance: float,
    *,
    query: Optional[ArrayInput] = None,
    query_law: Optional[_largo.Law] = None,
    U: MatrixInput = "identity",
    V: MatrixInput = "identity",
    sigma: float = 1.0,
    threads: int = 0,
) -> Optional[ToleratedLength]:
    """The shortest prompt over which softmax and linear attention differ by at most `tolerance` in the mean square.

    The tokens must be centred Gaussian. The result is the L from which E‖T[μ̂_L] - T_lin[μ̂_L]‖² is below the tolerance, or
    None if that takes more than 1e300 tokens.

    >>> import largo
    >>> largo.length_for_tolerance(largo.law("gaussian", d=4), 0.01, query=[1, 0, 0, 0]).L
    844.0
    """
    found = _largo.tolerated_lengths(law, U, V, queries_of(query, query_law), tolerance, _scales(sigma), threads)[0]
    return None if found is None else ToleratedLength(*found)


def errors_along_path(
    law: LawInput,
    path: Sequence[Tuple[MatrixInput, MatrixInput]],
    *,
    L: float,
    query: Optional[ArrayInput] = None,
    query_law: Optional[_largo.Law] = None,
    method: str = "auto",
    prompts: int = 10000,
    relative_error: float = 0.0,
    precision: str = "float32",
    seed: int = 1,
    threads: int = 0,
) -> PathErrors:
    """The errors of attention over L tokens at each (U, V) of a path, such as a training run, and the largest of each.

    The paper states that concentration is stable along a trajectory; that statement is about these suprema. The arguments
    are those of `concentration`; sampled points use the same prompts.

    >>> import numpy as np, largo
    >>> law = largo.law("gaussian", d=2)
    >>> path = [(scale * np.eye(2), np.eye(2)) for scale in (0.5, 1.0, 0.7)]
    >>> errors = largo.errors_along_path(law, path, L=1000, query_law=law)
    >>> errors.output.at, len(errors.rows)
    (1, 3)
    """
    found = _largo.errors_along_path(law, as_list("path", path), queries_of(query, query_law), L, method, prompts, relative_error,
                                     precision, seed, threads)
    suprema = [None if found[name] is None else Supremum(*found[name]) for name in ("output", "gradient_V", "gradient_U")]
    assert suprema[0] is not None and suprema[1] is not None
    return PathErrors(tuple(found["rows"]), suprema[0], suprema[1], suprema[2])
