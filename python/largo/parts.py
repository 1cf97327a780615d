"""Integration by parts for softmax sums, as an exact algebra.

For weights p_i ∝ e^{s g_i} with g_i independent and standard normal, let S(k, m) = Σ p_i^k g_i^m. The expectation of any
polynomial in these sums is one in the power sums P_k = S(k, 0) alone. It is the same for every number of tokens L:

    A = S(1, 1), the output along the query;   B = Σ p_i (g_i - A)²;   D = Σ p_i² (g_i - A)²

>>> from largo import parts
>>> print(parts.A.reduce())
s - s E[P2]
>>> error = (parts.A - parts.s) ** 2
>>> print(error.reduce())
(1 + s^2) E[P2] + 6 s^2 E[P2^2] - 6 s^2 E[P3]
>>> round(parts.expectation(error, 1.0, 100).value, 12)                 # as largo.moments(1.0, 100).mse
0.04658838147
"""

from __future__ import annotations

from . import _largo
from ._arguments import ArrayInput
from ._largo import Expression
from ._results import Estimate

__all__ = ["Expression", "S", "P", "A", "B", "D", "s", "expectation"]


def S(k: int, m: int) -> Expression:
    """S(k, m) = Σ p_i^k g_i^m, with k at least 1 and m at least 0.

    >>> from largo import parts
    >>> parts.S(1, 1) == parts.A
    True
    """
    return _largo.parts_sum(k, m)


def P(k: int) -> Expression:
    """P_k = S(k, 0) = Σ p_i^k; P_1 = 1.

    >>> from largo import parts
    >>> print(parts.P(2) * parts.P(3))
    E[P2 P3]
    """
    return _largo.parts_sum(k, 0)


#: The spread of the scores.
s: Expression = _largo.parts_spread()
#: Σ p_i g_i
A: Expression = S(1, 1)
#: Σ p_i (g_i - A)²
B: Expression = S(1, 2) - A * A
#: Σ p_i² (g_i - A)²
D: Expression = S(2, 2) - 2 * A * S(2, 1) + A * A * S(2, 0)


def expectation(expression: Expression, s: ArrayInput, L: ArrayInput) -> Estimate:
    """The expectation of an expression at s and L, which are broadcast against each other, with an estimate of its error.

    It needs moments of power sums, with at most 24 factors of p together.

    >>> from largo import parts
    >>> parts.expectation(parts.P(2), [1.0, 2.0], 100).value.round(6)
    array([0.025538, 0.126262])
    """
    if not isinstance(expression, Expression):
        raise TypeError(f"parts.expectation: expression is {type(expression).__name__}, must be an Expression of largo.parts")
    return Estimate(*_largo.parts_expectation(expression, s, L))
