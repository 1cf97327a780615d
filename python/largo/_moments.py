"""Exact statistics of softmax over L Gaussian scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Sequence, Tuple

import numpy as np

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
    point. class_moments([(L, 0, s)]) has the entropy, the log-partition and the largest weight.

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


@dataclass(frozen=True)
class ClassMoments:
    """What class_moments() returns: numbers, or arrays of one shape; `weights` has one more axis, that of the classes."""

    weights: Any
    P2: Any
    P3: Any
    P2P2: Any
    entropy: Any
    mean_score: Any
    log_partition: Any
    max_weight: Any
    errors: Dict[str, Any]

    @property
    def effective_tokens(self) -> Any:
        """1 / P2."""
        return 1 / self.P2


def _class_table(function: str, classes: Sequence[Tuple[ArrayInput, ArrayInput, ArrayInput]],
                 **others: ArrayInput) -> Tuple[Any, ...]:
    """Rows (count, shift, spread), one set of classes after the other; the number of classes; the shape of the points.

    Then the other arguments at the points, each in one row.
    """
    rows = as_list("classes", classes)
    if not rows:
        raise ValueError(f"{function}: classes is empty: there is no token")
    for row in rows:
        if np.isscalar(row) or len(row) != 3:
            raise ValueError(f"{function}: each class must be (count, shift, spread), not {row!r}")
    try:
        given = [np.asarray(value, dtype=np.float64) for row in rows for value in row]
    except (TypeError, ValueError):
        raise TypeError(f"{function}: counts, shifts and spreads must be numbers or arrays of numbers") from None
    for name, value in others.items():
        try:
            given.append(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise TypeError(f"{function}: {name} must be a number or an array of numbers") from None
    try:
        points = np.broadcast_arrays(*given)
    except ValueError:
        shapes = ", ".join(str(one.shape) for one in given if one.shape)
        raise ValueError(f"{function}: the shapes {shapes} cannot be broadcast against each other") from None
    columns = [one.ravel() for one in points]
    table = np.stack(columns[:3 * len(rows)], axis=1).reshape(-1, 3)
    return (table, len(rows), points[0].shape, *map(np.ascontiguousarray, columns[3 * len(rows):]))


def class_moments(classes: Sequence[Tuple[ArrayInput, ArrayInput, ArrayInput]], *, threads: int = 0,
                  progress: Progress = None) -> ClassMoments:
    """Exact statistics of softmax weights over tokens of several classes: crowds, sinks, needles, windows.

    Each class is (count, shift, spread): so many tokens, whose scores are normal with mean `shift` and standard deviation
    `spread`; 0 is a given score. The result has the weight of each class as weights, E[P_2], E[P_3], E[P_2²] as P2, P3,
    P2P2 (P_k = Σ p_i^k), E[-Σ p_i ln p_i] as entropy, E[Σ p_i score_i] as mean_score, E[ln Σ e^score] as log_partition,
    E[max p_i] as max_weight; and the errors of all in the dict errors. Counts (1 to 1e300), shifts and spreads are numbers
    or arrays, which are broadcast against each other. Nothing is sampled. Cost: about 1 ms a point.

    >>> import largo
    >>> m = largo.class_moments([(1e5, 0, 1.5), (1, [6, 8, 10], 0)])            # a crowd, and a needle of three scores
    >>> m.weights[:, 1].round(4)
    array([0.0013, 0.0096, 0.0667])
    >>> m.effective_tokens.round()
    array([10395.,  5411.,   220.])
    """
    table, each, shape = _class_table("class_moments", classes)
    values, errors = _largo.class_moments(table, each, threads,
                                          progress if progress is None else as_progress(progress, "class_moments"))
    names = ("P2", "P3", "P2P2", "entropy", "mean_score", "log_partition", "max_weight")

    def fields(numbers: Any) -> Dict[str, Any]:
        found = {name: numbers[:, k].reshape(shape)[()] for k, name in enumerate(names)}
        found["weights"] = numbers[:, len(names):].reshape((*shape, each))
        return found

    return ClassMoments(**fields(values), errors=fields(errors))


def heaviest_mass(classes: Sequence[Tuple[ArrayInput, ArrayInput, ArrayInput]], count: int, *, threads: int = 0,
                  progress: Progress = None) -> Estimate:
    """The mean of the sum of the `count` largest weights, count from 1 to 64, with its error; classes as in class_moments.

    Nothing is sampled.

    >>> import largo
    >>> [round(float(largo.heaviest_mass([(1e5, 0, 1.5), (1, 8, 0)], k).value), 5) for k in (1, 10, 50)]
    [0.0096, 0.02166, 0.04536]
    """
    table, each, shape = _class_table("heaviest_mass", classes)
    values, errors = _largo.heaviest_mass(table, each, as_whole("count", count), threads,
                                          progress if progress is None else as_progress(progress, "heaviest_mass"))
    return Estimate(values.reshape(shape)[()], errors.reshape(shape)[()])


@dataclass(frozen=True)
class NeedleChances:
    """What needle_chances() returns: P(W <= x) as `below` and P(W > x) as `above`, each with its error."""

    below: Estimate
    above: Estimate


def needle_chances(classes: Sequence[Tuple[ArrayInput, ArrayInput, ArrayInput]], score: ArrayInput, x: ArrayInput, *,
                   threads: int = 0, progress: Progress = None) -> NeedleChances:
    """The chances that one token of this score has at most the share x of the weight of softmax, and that it has more.

    The other tokens of the prompt are in `classes`, as in class_moments, with spreads up to 50. Counts, shifts, spreads,
    scores and x are numbers or arrays, which are broadcast against each other. Nothing is sampled: the Laplace transform of
    the sum over the others is inverted. The errors are about 1e-15 √n/s for n tokens of spread s. Cost: 1 to 10 ms a
    point, up to a second where spreads below 0.01 meet wide ones.

    >>> import largo
    >>> largo.needle_chances([(1e5, 0, 3)], 15, [0.01, 0.1, 0.5]).below.value.round(6)
    array([3.000e-06, 1.019e-03, 1.000e+00])
    """
    table, each, shape, scores, numbers = _class_table("needle_chances", classes, score=score, x=x)
    values, errors = _largo.needle_weight(table, each, scores, numbers, False, threads,
                                          progress if progress is None else as_progress(progress, "needle_chances"))
    below, above = (Estimate(values[:, k].reshape(shape)[()], errors[:, k].reshape(shape)[()]) for k in range(2))
    return NeedleChances(below, above)


def needle_quantile(classes: Sequence[Tuple[ArrayInput, ArrayInput, ArrayInput]], score: ArrayInput, probability: ArrayInput,
                    *, threads: int = 0, progress: Progress = None) -> Estimate:
    """The least x with P(W <= x) >= `probability`, W the weight of one token of this score; see needle_chances.

    >>> import largo
    >>> largo.needle_quantile([(1e5, 0, 3)], 15, [0.05, 0.5, 0.95]).value.round(4)
    array([0.2233, 0.2743, 0.3038])
    """
    table, each, shape, scores, numbers = _class_table("needle_quantile", classes, score=score, probability=probability)
    values, errors = _largo.needle_weight(table, each, scores, numbers, True, threads,
                                          progress if progress is None else as_progress(progress, "needle_quantile"))
    return Estimate(values[:, 0].reshape(shape)[()], errors[:, 0].reshape(shape)[()])
