"""A check of the Lemma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence, Tuple

from . import _largo
from ._arguments import as_list, as_whole


@dataclass(frozen=True)
class LemmaReport:
    """The result of check_lemma: the largest relative error over the cases; (L, mean squared distance, standard error) for
    each length; and the slope of the logarithm of the distance against that of L, with its standard error."""

    cases: int
    singular_cases: int
    worst_error: float
    distances: Tuple[Tuple[int, float, float], ...]
    slope: float
    slope_error: float


def check_lemma(cases: int = 1000, lengths: Sequence[int] = (100, 1000, 10000, 100000), *, prompts: int = 64, seed: int = 1,
                threads: int = 0) -> LemmaReport:
    """Checks that softmax attention over N(m, Γ) is the affine map z -> V m + V Γ KᵀQ z.

    Each of the `cases` draws d up to 32, m, Γ (singular in every third case), K and Q of up to d rows, V and a query. It
    compares the closed form with attention by its definition, whose integrals are computed to rounding. Then `prompts` prompts of each length are
    drawn; their squared distance to the limit must fall like 1/L.

    >>> import largo
    >>> report = largo.check_lemma(100, [100, 1000])
    >>> report.worst_error < 1e-12, abs(report.slope + 1) < 5 * report.slope_error
    (True, True)
    """
    found = _largo.check_lemma(cases, [as_whole("lengths", L) for L in as_list("lengths", lengths)], prompts, seed, threads)
    found["distances"] = tuple(found["distances"])
    return LemmaReport(**found)
