"""Laws with independent coordinates, by name."""

from __future__ import annotations

from . import _largo


def rademacher(d: int, scale: float = 1.0) -> _largo.Product:
    """±scale, equally likely, in each of d coordinates: the tilted mean is scale · tanh(scale a).

    >>> import largo
    >>> largo.rademacher(2).tilt([0.0, 0.5]).mean.round(6)
    array([0.      , 0.462117])
    """
    return _largo.Product([_largo._coordinate("rademacher", [scale])] * d)


def uniform(d: int, half_width: float = 1.0) -> _largo.Product:
    """Uniform on [-half_width, half_width] in each of d coordinates."""
    return _largo.Product([_largo._coordinate("uniform", [half_width])] * d)


def three_point(d: int, scale: float = 1.0, mass: float = 0.5) -> _largo.Product:
    """±scale with probability mass/2 each, else 0, in each of d coordinates."""
    return _largo.Product([_largo._coordinate("three-point", [scale, mass])] * d)


def bernoulli(d: int, probability: float = 0.5) -> _largo.Product:
    """B - probability with B Bernoulli, in each of d coordinates."""
    return _largo.Product([_largo._coordinate("bernoulli", [probability])] * d)


def laplace(d: int, scale: float = 1.0, bound: float = 3.0) -> _largo.Product:
    """Density ∝ e^{-|x|/scale} on [-bound, bound], in each of d coordinates."""
    return _largo.Product([_largo._coordinate("laplace", [scale, bound])] * d)
