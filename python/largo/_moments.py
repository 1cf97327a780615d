"""Exact statistics of softmax over L Gaussian scores."""

from __future__ import annotations

from typing import Any, Sequence

from . import _largo
from ._arguments import ArrayInput, Progress, as_list, as_progress, as_whole
from ._results import Estimate


def moments(s: ArrayInput, L: ArrayInput, *, threads: int = 0, progress: Progress = None) -> _largo.Moments:
    """Exact statistics of softmax over L scores s g_i, g_i ~ N(0, 1), with weights p_i ∝ e^{s g_i}:

        P_k = Σ p_i^k,   A = Σ p_i g_i,   B = Σ p_i (g_i - A)²,   D = Σ p_i² (g_i - A)².

    The result has E[P_2], E[P_3], E[P_2²] as P2, P3, P2P2; E[A], E[A] - s, E[(A - s)²] as mean, bias, mse; E[B],
    E[(B - 1)²], E[(B - 1) P_2], E[D] as variance, variance_mse, variance_P2, squared_spread; derivatives in s as P2_slope,
    …; and the errors of all in the dict errors. s >= 0 and L >= 1 (∞ is allowed) are numbers or arrays, which are broadcast
    against each other; the fields are numbers or read-only arrays of that shape. Nothing is sampled. Cost: about 0.1 ms a
    point.

    >>> import math, largo
    >>> m = largo.moments([[1.0], [2.0]], [100, 1e6, math.inf])
    >>> m.P2.shape
    (2, 3)
    >>> m.bias[:, 0].round(6)
    array([-0.025538, -0.252524])
    """
    return _largo.moments(s, L, threads, progress if progress is None else as_progress(progress, "moments"))


def condensation_line(L: ArrayInput) -> Any:
    """√(2 ln L): for larger s a few tokens carry the weight. Returns a number, or an array of the shape of L.

    >>> import largo
    >>> largo.condensation_line([100, 1e6]).round(3)
    array([3.035, 5.257])
    """
    return _largo.condensation_line(L)


def concentration_exponent(s: ArrayInput, L: ArrayInput) -> Any:
    """The κ with E[P_2] = L^{-κ} for long prompts, up to lower order; s and L are broadcast against each other.

    >>> import largo
    >>> largo.concentration_exponent(1.0, 1e6) < 1
    True
    """
    return _largo.concentration_exponent(s, L)


def averaged_exponent(sigma: ArrayInput) -> Any:
    """The c with error = L^{-c}, averaged over Gaussian queries; a number, or an array of the shape of sigma.

    >>> import largo
    >>> round(largo.averaged_exponent(1.0), 4)
    0.618
    """
    return _largo.averaged_exponent(sigma)


def power_sum_moment(parts: Sequence[int], s: ArrayInput, L: ArrayInput) -> Estimate:
    """E[P_{k_1} … P_{k_r}] for the power sums P_k = Σ p_i^k of softmax weights p_i ∝ e^{s g_i} over L normal scores g_i.

    `parts` are the k: each is at least 1, and their sum is at most 24. s and L are broadcast against each other.

    >>> import largo
    >>> round(largo.power_sum_moment([2, 2], 1.0, 100).value, 9)
    0.000729879
    """
    return Estimate(*_largo.power_sum_moment([as_whole("parts", k) for k in as_list("parts", parts)], s, L))
