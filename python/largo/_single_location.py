"""Single-location regression: one token of the prompt holds the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Tuple

from . import _largo
from ._arguments import ArrayInput
from ._results import Array


class SingleLocationRisk(NamedTuple):
    """The risk, an estimate of its error, and its slopes: in a and b, or in u and v."""

    value: Any
    error: Any
    gradient: Tuple[Any, Any]


class SingleLocationBest(NamedTuple):
    """The best a and b, the risk there, its excess above that of the noise with its error, and the needle's mean weight."""

    a: Any
    b: Any
    risk: Any
    excess: Any
    error: Any
    needle_weight: Any


@dataclass(frozen=True)
class SingleLocationFlow:
    """A gradient flow: where it ends, and its path (parameters has a column for a and one for b)."""

    a: float
    b: float
    risk: float
    excess: float
    needle_weight: float
    stationary: bool
    times: Array
    risks: Array
    parameters: Array


def single_location_risk(L: ArrayInput, signal: ArrayInput, *, a: Optional[ArrayInput] = None, b: Optional[ArrayInput] = None,
                         u: Optional[ArrayInput] = None, v: Optional[ArrayInput] = None, needle_spread: float = 1,
                         noise: float = 0) -> SingleLocationRisk:
    """The exact risk ½ E (prediction - target)² of a head that has to find one token among L.

    The needle is N(m k*, γ² I), the other tokens are N(0, I); k* and v* are orthogonal unit vectors. The target is the
    needle's coordinate along v*, plus noise of variance `noise`; m is `signal`, γ is `needle_spread`. The head has scores
    <u, token> and values <v, token>. Give either a and b, for u = a k* and v = b v* (numbers or arrays, broadcast against L and
    signal), or u and v, whose first coordinate is that along k*, the second that along v* (then L and signal are numbers).
    L is from 2 to 1e300, or ∞. Nothing is sampled.

    >>> import largo
    >>> largo.icl.single_location_risk([100, 1e4, 1e6], 5, a=5, b=1).value.round(6)
    array([0.008893, 0.094524, 0.281335])
    >>> round(largo.icl.single_location_risk(50, 4, u=[2, 0.3, 0.5], v=[0.1, 0.8, -0.2]).value, 6)
    0.20294
    """
    if (a is None) != (b is None) or (u is None) != (v is None) or (a is None) == (u is None):
        raise ValueError("single_location_risk: give either a and b, or u and v")
    if a is None:
        value, error, of_u, of_v = _largo.single_location_head_risk(L, signal, u, v, needle_spread, noise)
        return SingleLocationRisk(value, error, (of_u, of_v))
    value, error, of_a, of_b = _largo.single_location_risk(L, signal, a, b, needle_spread, noise)
    return SingleLocationRisk(value, error, (of_a, of_b))


def single_location_best(L: ArrayInput, signal: ArrayInput, *, needle_spread: float = 1, noise: float = 0) -> SingleLocationBest:
    """The best head u = a k*, v = b v* of single_location_risk, with the risk it leaves. L and signal are broadcast.

    For needle_spread = 1 it is a = signal, b = 1, and no predictor has a smaller risk. Needles of signals below √(2 ln L) are
    lost in long prompts.

    >>> import largo
    >>> largo.icl.single_location_best(1e6, [4, 5.26, 6, 7]).needle_weight.round(3)
    array([0.095, 0.549, 0.816, 0.972])
    """
    return SingleLocationBest(*_largo.single_location_best(L, signal, needle_spread, noise))


def single_location_flow(L: float, signal: float, *, start: Tuple[float, float] = (0.1, 0.1), needle_spread: float = 1,
                         noise: float = 0, time: Optional[float] = None) -> SingleLocationFlow:
    """The gradient flow of the risk in (a, b) from `start`, to its end or for a time.

    >>> import largo
    >>> run = largo.icl.single_location_flow(1000, 5)
    >>> round(run.a, 6), round(run.b, 6), run.stationary
    (5.0, 1.0, True)
    """
    a, b = start
    return SingleLocationFlow(**_largo.single_location_flow(L, signal, a, b, needle_spread, noise, time))


def single_location_length(signal: ArrayInput, epsilon: ArrayInput, *, needle_spread: float = 1) -> Any:
    """The longest prompt whose best head has an excess risk of at most epsilon. Arguments are broadcast.

    >>> import largo
    >>> largo.icl.single_location_length([4, 5, 6], 0.05).tolist()
    [68.0, 2014.0, 155126.0]
    """
    return _largo.single_location_length(signal, epsilon, needle_spread)


def single_location_signal(L: ArrayInput, epsilon: ArrayInput, *, needle_spread: float = 1) -> Any:
    """The weakest signal at which the best head has an excess risk of at most epsilon. Arguments are broadcast.

    >>> import largo
    >>> largo.icl.single_location_signal([1e2, 1e4, 1e6], 0.05).round(3)
    array([4.13 , 5.395, 6.372])
    """
    return _largo.single_location_signal(L, epsilon, needle_spread)
