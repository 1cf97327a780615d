"""The law of the weight of a needle: a closed form, broadcasting, moments, mistakes."""

import math

import numpy as np
import pytest

import largo


def below(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def test_one_other_token():
    x = np.array([0.05, 0.3, 0.5, 0.9])
    found = largo.needle_chances([(1, 1, [[0.5], [3.0]])], 2, x)
    for i, s in enumerate((0.5, 3.0)):
        for j, one in enumerate(x):
            g = (math.log((1 - one) / one) + 1) / s
            assert found.below.value[i, j] == pytest.approx(below(-g), abs=1e-13)
            assert found.above.value[i, j] == pytest.approx(below(g), abs=1e-13)
    assert (found.below.error < 1e-12).all()


def test_quantiles_are_the_inverse():
    p = [0.01, 0.5, 0.99]
    x = largo.needle_quantile([(1e4, 0, 2), (3, 5, 0)], 9, p)
    assert x.value.shape == (3,)
    assert largo.needle_chances([(1e4, 0, 2), (3, 5, 0)], 9, x.value).below.value == pytest.approx(p, abs=1e-11)
    assert np.ndim(largo.needle_quantile([(100, 0, 1)], 5, 0.5).value) == 0


def test_the_mean_is_that_of_class_moments():
    x, weights = np.polynomial.legendre.leggauss(60)
    x, weights = (1 + x) / 2, weights / 2
    mean = weights @ largo.needle_chances([(50, 0, 1)], 4, x).above.value
    assert mean == pytest.approx(largo.class_moments([(50, 0, 1), (1, 4, 0)]).weights[1], rel=1e-9)


def test_mistakes():
    with pytest.raises(ValueError, match="at most 50"):
        largo.needle_chances([(10, 0, 51)], 1, 0.5)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        largo.needle_quantile([(10, 0, 1)], 1, 1.0)
    with pytest.raises(ValueError, match="x is"):
        largo.needle_chances([(10, 0, 1)], 1, math.nan)
    with pytest.raises(TypeError, match="score must be a number"):
        largo.needle_chances([(10, 0, 1)], "high", 0.5)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        largo.needle_chances([(10, 0, [1, 2])], 1, [0.1, 0.2, 0.3])
