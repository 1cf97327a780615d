"""The mass of the heaviest tokens: given scores, broadcasting, mistakes."""

import math

import numpy as np
import pytest

import largo


def test_given_scores_are_sorted():
    scores = [0.3, -1, 2, 0.9]
    weights = sorted((math.exp(x) / sum(map(math.exp, scores)) for x in scores), reverse=True)
    for k in range(1, 5):
        assert largo.heaviest_mass([(1, x, 0) for x in scores], k).value == pytest.approx(sum(weights[:k]), rel=1e-12)


def test_points_are_broadcast():
    masses = largo.heaviest_mass([([10, 1e3], 0, [[1.0], [2.0]]), (1, 3, 0)], 3)
    assert masses.value.shape == masses.error.shape == (2, 2)
    assert masses.value[1, 0] == largo.heaviest_mass([(10, 0, 2.0), (1, 3, 0)], 3).value
    assert (masses.error < 1e-10).all()
    assert largo.heaviest_mass([(10, 0, 2.0)], 10).value == pytest.approx(1, rel=1e-10)
    assert np.array_equal(largo.heaviest_mass([(100, 0, [1, 2])], 1).value, largo.class_moments([(100, 0, [1, 2])]).max_weight)


def test_mistakes():
    for count in (0, 65):
        with pytest.raises(ValueError, match="between 1 and 64"):
            largo.heaviest_mass([(10, 0, 1)], count)
    with pytest.raises(TypeError):
        largo.heaviest_mass([(10, 0, 1)], 1.5)
    with pytest.raises(ValueError, match="classes is empty"):
        largo.heaviest_mass([], 1)
