"""Moments of power sums."""

from __future__ import annotations

from typing import Sequence

from . import _largo
from ._arguments import ArrayInput
from ._results import Estimate


def power_sum_moment(parts: Sequence[int], s: ArrayInput, L: ArrayInput) -> Estimate:
    """E[P_{k_1} … P_{k_r}], P_k = Σ p_i^k the power sums of softmax weights p_i ∝ e^{s g_i} over L normal scores g_i.

    `parts` are the k, at least 1, at most 24 together; s and L are broadcast against each other.

    >>> import largo
    >>> round(largo.power_sum_moment([2, 2], 1.0, 100).value, 9)
    0.000729879
    """
    return Estimate(*_largo.power_sum_moment(list(parts), s, L))
