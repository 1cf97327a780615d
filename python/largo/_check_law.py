"""Checks that a law is consistent with itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, List, Tuple

import numpy as np

from . import _largo
from ._arguments import as_whole
from ._results import Array

# Central differences at h, 2h, 3h: of order six, and of order four for the fourth derivative.
_FIRST = (3 / 4, -3 / 20, 1 / 60)
_SECOND = (3 / 2, -3 / 20, 1 / 90)
_FOURTH = (-13 / 2, 2.0, -1 / 6)
_STEP = 0.03  # of the law's own length: differences are then good to 1e-8 where Λ is smooth and known to rounding
_RADII = (0.0, 0.5, 2.0, 8.0)  # of the directions a, in units of 1/spread
_MEAN, _COVARIANCE = 1e-4, 1e-3  # allowed, relative to the spread and its square
_LARGEST_Z = 6.0  # two-sided false alarms: 2e-9 a number


@dataclass(frozen=True)
class LawReport:
    """The result of check_law. Errors are relative to the spread of the law (to its square for the covariance). `worst_z`
    is the largest distance of the samples' moments from those of the law, in standard errors. `methods` are the methods
    that the law defines itself."""

    dimension: int
    directions: int
    spread: float
    mean_error: float
    covariance_error: float
    samples: int
    worst_z: float
    methods: Tuple[str, ...]


def check_law(law: _largo.Law, *, samples: int = 10000, seed: int = 1) -> LawReport:
    """Checks your own law before you trust what is computed from it; a ValueError says in a sentence what is wrong.

    In 13 directions a, up to 8 standard deviations long, it compares the mean and the covariance of the tilted law with
    differences of Λ (to 1e-4 and 1e-3 of the spread). It also checks that Λ(0) = 0, that Λ is convex, and that the
    covariance is symmetric and positive. If the law has `tokens`, it draws `samples` of them and compares their mean, and
    their variance along the axes and along as many other directions, with those of the law; z-scores up to 6 are allowed
    (false alarms: 2e-9 each). Tokens must be drawn row by row, so that a shorter prompt is the beginning of a longer one.

    It only sees mistakes near these directions, and sees rare tokens only if there are enough samples.

    >>> import numpy as np, largo
    >>> class Coin(largo.Law):
    ...     def log_partition(self, a):
    ...         return np.log(np.cosh(a)).sum()
    ...     def tilted_mean(self, a):
    ...         return np.tanh(a)
    ...     def tokens(self, uniforms):
    ...         return np.where(uniforms < 0.5, -1.0, 1.0)
    >>> report = largo.check_law(Coin(2))
    >>> report.mean_error < 1e-6, report.methods
    (True, ('log_partition', 'tilted_mean', 'tokens'))
    >>> class Concave(largo.Law):
    ...     def log_partition(self, a):
    ...         return -float(a @ a)
    >>> largo.check_law(Concave(1))
    Traceback (most recent call last):
    ValueError: Concave.log_partition is not convex: its second derivative along [1] is -2 at a = [0], must be positive (a variance)
    """
    if not isinstance(law, _largo.Law):
        raise TypeError(f"check_law: law is {type(law).__name__}, must be a largo.Law")
    number = as_whole("samples", samples)
    if number != 0 and not 100 <= number <= 10**8:
        raise ValueError(f"check_law: samples is {number}, must be 0 for none, or between 100 and 1e8")
    name = type(law).__name__
    own = tuple(one for one in ("log_partition", "tilted_mean", "tilted_covariance", "tokens")
                if getattr(type(law), one, None) is not getattr(_largo.Law, one, None))
    _check_zero(law, name)
    axes = np.eye(law.dimension)
    spread = math.sqrt(_variance(law, name, np.zeros(law.dimension), axes))
    directions = _directions(law.dimension, spread)
    mean_error = covariance_error = 0.0
    for a in directions:
        errors = _check_tilt(law, name, a, spread)
        mean_error, covariance_error = max(mean_error, errors[0]), max(covariance_error, errors[1])
    defined = type(law).__module__ == "largo" or "tokens" in own  # largo's own laws draw without such a method
    drawn = number if defined else 0
    worst_z = _check_tokens(law, name, drawn, seed, spread) if drawn else 0.0
    return LawReport(law.dimension, len(directions), spread, mean_error, covariance_error, drawn, worst_z, own)


def _show(a: Array) -> str:
    shown = ", ".join(f"{x:.4g}" for x in a[:8])
    return f"[{shown}{', …' if len(a) > 8 else ''}]"


def _along(law: _largo.Law, a: Array, u: Array, h: float) -> Tuple[float, float, float]:
    """The first, second and fourth derivatives of Λ(a + tu) at t = 0."""
    value: Callable[[float], float] = lambda t: float(law.log_partition(a + t * u))
    centre, sides = value(0.0), [(value(k * h), value(-k * h)) for k in (1, 2, 3)]
    first = sum(c * (up - down) for c, (up, down) in zip(_FIRST, sides)) / h
    second = (sum(c * (up + down) for c, (up, down) in zip(_SECOND, sides)) - 49 / 18 * centre) / h**2
    fourth = (sum(c * (up + down) for c, (up, down) in zip(_FOURTH, sides)) + 28 / 3 * centre) / h**4
    return first, second, fourth


def _check_zero(law: _largo.Law, name: str) -> None:
    zero = float(law.log_partition(np.zeros(law.dimension)))
    if not abs(zero) <= 1e-9:
        raise ValueError(f"{name}.log_partition is {zero:.6g} at a = 0, must be 0 there: a law has mass one")


def _variance(law: _largo.Law, name: str, a: Array, axes: Array) -> float:
    """The mean variance along the axes, by differences with a suitable step; 1 if there is none, as for a point mass."""
    h = _STEP
    for _ in range(100):
        if not 1e-60 < h < 1e60:
            break
        second = np.array([_along(law, a, u, h)[1] for u in axes])
        if second.min() < -1e-6 * max(1e-9 / h**2, np.abs(second).max()):
            u = axes[int(second.argmin())]
            raise ValueError(f"{name}.log_partition is not convex: its second derivative along {_show(u)} is {second.min():.4g} "
                             f"at a = {_show(a)}, must be positive (a variance)")
        spread = math.sqrt(max(float(second.mean()), 0.0))
        if spread * h > 1e3 * _STEP or spread * h < 1e-3 * _STEP:
            h *= 0.03 if spread * h > _STEP else 30.0
            continue
        if abs(spread * h / _STEP - 1) < 0.5:
            return spread**2
        h = _STEP / spread
    return 1.0


def _directions(d: int, spread: float) -> List[Array]:
    """Zero, and four random directions at each other radius."""
    draw = np.random.default_rng(d)
    all_of_them = [np.zeros(d)]
    for radius in _RADII[1:]:
        for u in draw.normal(size=(4, d)):
            all_of_them.append(radius / spread * u / np.linalg.norm(u))
    return all_of_them


def _check_tilt(law: _largo.Law, name: str, a: Array, spread: float) -> Tuple[float, float]:
    """The errors of mean and covariance at a, relative to the spread."""
    d, tilt = law.dimension, law.tilt(a)
    where = f"at a = {_show(a)}"
    size = spread**2 + abs(float(np.trace(tilt.covariance))) / d
    if not np.allclose(tilt.covariance, tilt.covariance.T, rtol=0, atol=1e-6 * size):
        raise ValueError(f"{name}.tilted_covariance is not symmetric {where}, must be a covariance")
    least = float(np.linalg.eigvalsh(tilt.covariance).min())
    if least < -1e-6 * size:
        raise ValueError(f"{name}: the covariance of the tilted law has the eigenvalue {least:.4g} {where}, must be positive")
    draw = np.random.default_rng(d + 1)
    others = draw.normal(size=(2, d))
    errors = np.zeros(2)
    for u in [*np.eye(d)[:16], *(others / np.linalg.norm(others, axis=1, keepdims=True))]:
        first, second, _ = _along(law, a, u, _STEP / spread)
        if second < -_COVARIANCE * size:
            raise ValueError(f"{name}.log_partition is not convex: its second derivative along {_show(u)} is {second:.4g} {where}, "
                             "must be positive (a variance)")
        mean, variance = float(tilt.mean @ u), float(u @ tilt.covariance @ u)
        if abs(first - mean) > _MEAN * spread * (1 + abs(first) / spread):
            raise ValueError(f"{name}: the mean of the tilted law along {_show(u)} is {mean:.6g} {where}, but the derivative of "
                             f"log_partition is {first:.6g}: one of the two is wrong")
        if abs(second - variance) > _COVARIANCE * size:
            raise ValueError(f"{name}: the variance of the tilted law along {_show(u)} is {variance:.6g} {where}, but the second "
                             f"derivative of log_partition is {second:.6g}: one of the two is wrong")
        errors = np.maximum(errors, [abs(first - mean) / spread, abs(second - variance) / spread**2])
    return float(errors[0]), float(errors[1])


def _check_tokens(law: _largo.Law, name: str, number: int, seed: int, spread: float) -> float:
    """The largest z-score of the mean and variance of the tokens, along the axes and other directions."""
    tokens: Any = law.sample(number, seed=seed)
    few = min(number, 7)
    if not np.array_equal(tokens[:few], law.sample(few, seed=seed)):
        raise ValueError(f"{name}.tokens does not work row by row: the first {few} of {number} tokens are not those drawn alone")
    d, zero, worst = law.dimension, np.zeros(law.dimension), 0.0
    axes = np.eye(d)[:64]
    others = np.random.default_rng(d + 2).normal(size=axes.shape)
    for u in [*axes, *(others / np.linalg.norm(others, axis=1, keepdims=True))]:
        mean, variance, fourth = _along(law, zero, u, _STEP / spread)
        variance = max(variance, 0.0)
        scores = tokens @ u - mean
        # Var x² = κ_4 + 2 κ_2² is taken from Λ: the samples may miss rare values. The floor allows for rounding of κ_4.
        errors = (math.sqrt(variance / number), math.sqrt(max(fourth + 2 * variance**2, 1e-3 * variance**2) / number))
        found = ((float(scores.mean()), 0.0, "mean"), (float((scores**2).mean()), variance, "variance"))
        for (value, expected, what), error in zip(found, errors):
            distance, slack = abs(value - expected), 1e-6 * (spread if what == "mean" else spread**2)
            z = 0.0 if distance <= slack else math.inf if error == 0 else distance / error
            if z > _LARGEST_Z:
                shift = mean if what == "mean" else 0.0
                raise ValueError(f"{name}.tokens: the {what} of {number} tokens along {_show(u)} is {value + shift:.6g}, that of "
                                 f"log_partition is {expected + shift:.6g}, {z:.3g} standard errors away: one of the two is wrong")
            worst = max(worst, z)
    return worst
