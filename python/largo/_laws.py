"""Laws and matrices by name, and laws with independent coordinates."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from . import _largo
from ._arguments import as_whole
from ._results import Array


_MOST_COORDINATES = 10**6


def law(name: str, d: Optional[int] = None) -> _largo.Law:
    """A law by name, as on the command line: gaussian, gaussian:cov=toeplitz:0.5, rademacher, uniform, three-point,
    bernoulli, laplace, sphere, ball, elliptical, mixture:FILE.toml, tokens:FILE.

    >>> import largo
    >>> largo.law("gaussian:cov=diag:1,4").covariance()
    array([[1., 0.],
           [0., 4.]])
    """
    made = _largo.law(name, d)
    made._recipe = (law, (name, d), {})
    return made


def matrix(name: str, rows: Optional[int] = None, columns: Optional[int] = None) -> Array:
    """A matrix by name: identity, zeros, toeplitz:0.5, diag:1,2,3, random:SEED, FILE.npy, FILE.csv, FILE.safetensors:NAME.
    Each may have a factor in front.

    >>> import largo
    >>> largo.matrix("0.5*toeplitz:0.5", 2)
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """
    return _largo.matrix(name, rows, columns)


def rademacher(d: int, scale: float = 1.0) -> _largo.Product:
    """±scale, equally likely, in each of d coordinates: the tilted mean is scale · tanh(scale a).

    >>> import largo
    >>> largo.rademacher(2).tilt([0.0, 0.5]).mean.round(6)
    array([0.      , 0.462117])
    """
    return _product(d, _coordinate("rademacher", scale=scale))


def uniform(d: int, half_width: float = 1.0) -> _largo.Product:
    """Uniform on [-half_width, half_width] in each of d coordinates."""
    return _product(d, _coordinate("uniform", half_width=half_width))


def three_point(d: int, scale: float = 1.0, mass: float = 0.5) -> _largo.Product:
    """±scale with probability mass/2 each, else 0, in each of d coordinates."""
    return _product(d, _coordinate("three-point", scale=scale, mass=mass))


def bernoulli(d: int, probability: float = 0.5) -> _largo.Product:
    """B - probability with B Bernoulli, in each of d coordinates."""
    return _product(d, _coordinate("bernoulli", probability=probability))


def laplace(d: int, scale: float = 1.0, bound: float = 3.0) -> _largo.Product:
    """Density ∝ e^{-|x|/scale} on [-bound, bound], in each of d coordinates."""
    return _product(d, _coordinate("laplace", scale=scale, bound=bound))


def _product(d: int, coordinate: _largo.Coordinate) -> _largo.Product:
    size = as_whole("d", d)
    if not 1 <= size <= _MOST_COORDINATES:
        raise ValueError(f"d is {size}, must be between 1 and {_MOST_COORDINATES}")
    return _largo.Product([coordinate] * size)


def _coordinate(name: str, **numbers: float) -> _largo.Coordinate:
    made = _largo.coordinate(name, numbers)
    made._recipe = (_coordinate, (name,), numbers)
    return made


def remake(maker: Any, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
    """Called by pickle and copy for an object that remembers how it was made (its _recipe)."""
    return maker(*arguments, **named)


def restore(kind: Any, base: Any, arguments: Tuple[Any, ...], attributes: Dict[str, Any]) -> Any:
    """Called by pickle and copy for a user's own subclass: calls `base` with these arguments, then sets the attributes."""
    made = kind.__new__(kind)
    base.__init__(made, *arguments)
    made.__dict__.update(attributes)
    return made
