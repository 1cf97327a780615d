"""check_law finds what does not fit together, and lets pass what does."""

import numpy as np
import pytest
from conftest import KnownCoin

import largo


def test_a_law_that_is_right():
    report = largo.check_law(KnownCoin(3))
    assert report.methods == ("log_partition", "tilted_mean", "tilted_covariance", "tokens")
    assert report.dimension == 3 and report.directions == 13 and report.samples == 10000
    assert report.mean_error < 1e-6 and report.covariance_error < 1e-5 and report.worst_z < 6
    assert report.spread == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 40.0, 1e6])
def test_in_any_units(scale):
    class Scaled(KnownCoin):
        def log_partition(self, a):
            return KnownCoin.log_partition(self, scale * a)

        def tilted_mean(self, a):
            return scale * np.tanh(scale * a)

        def tilted_covariance(self, a):
            return scale**2 * KnownCoin.tilted_covariance(self, scale * a)

        def tokens(self, uniforms):
            return scale * KnownCoin.tokens(self, uniforms)

    report = largo.check_law(Scaled(2))
    assert report.spread == pytest.approx(scale, rel=1e-6) and report.mean_error < 1e-6 and report.worst_z < 6


OWN = {
    "gaussian": largo.law("gaussian:cov=toeplitz:0.5", 4), "singular": largo.Gaussian([1.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]),
    "sphere": largo.Sphere(3), "laplace": largo.laplace(2), "three-point": largo.three_point(2, mass=0.01), "elliptical": largo.Elliptical(np.eye(2)),
    "mixture": largo.Mixture([1, 2], [largo.Sphere(2), largo.law("gaussian", 2)]), "prompt": largo.Prompt(np.eye(3)),
    "pair": largo.Pair(largo.rademacher(1), largo.Ball(2, 3.0)), "point": largo.Prompt([[2.0, 1.0]]), "far": largo.Gaussian([1e3], [[1.0]]),
}


@pytest.mark.parametrize("name", OWN)
def test_laws_of_largo(name):
    assert largo.check_law(OWN[name], samples=2000).worst_z < 6


def law_with(**methods):
    return type("Wrong", (KnownCoin,), methods)(2)


WRONG = {
    "not convex": {"log_partition": lambda self, a: -float(a @ a)},
    "not convex: its second derivative along": {"log_partition": lambda self, a: float(np.sum(np.cos(3 * a) - 1 + a**2))},
    "at a = 0, must be 0 there": {"log_partition": lambda self, a: KnownCoin.log_partition(self, a) + 0.1},
    "the mean of the tilted law": {"tilted_mean": lambda self, a: np.tanh(a) * 1.01},
    "but the derivative of log_partition": {"tilted_mean": lambda self, a: -np.tanh(a)},
    "the variance of the tilted law": {"tilted_covariance": lambda self, a: np.eye(2)},
    "not symmetric": {"tilted_covariance": lambda self, a: np.diag(1 - np.tanh(a) ** 2) + np.array([[0, 0.1], [-0.1, 0]])},
    "has the eigenvalue": {"tilted_covariance": lambda self, a: -np.eye(2)},
    "the mean of 10000 tokens": {"tokens": lambda self, uniforms: np.where(uniforms < 0.4, -1.0, 1.0)},
    "the variance of 10000 tokens": {"tokens": lambda self, uniforms: 1.1 * np.where(uniforms < 0.5, -1.0, 1.0)},
    "along [": {"tokens": lambda self, uniforms: np.where(uniforms[:, :1] < 0.5, -1.0, 1.0) * np.ones((1, 2))},
    "row by row": {"tokens": lambda self, uniforms: np.where(uniforms < np.median(uniforms, axis=0), -1.0, 1.0)},
}


@pytest.mark.parametrize("words", WRONG)
def test_laws_that_are_wrong(words):
    with pytest.raises(ValueError) as caught:
        largo.check_law(law_with(**WRONG[words]))
    assert words in str(caught.value) and "Wrong" in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_said_of_a_concave_one():
    class Concave(largo.Law):
        def log_partition(self, a):
            return -float(a @ a)

    with pytest.raises(ValueError) as caught:
        largo.check_law(Concave(1))
    assert str(caught.value) == ("Concave.log_partition is not convex: its second derivative along [1] is -2 at a = [0], must be "
                                 "positive (a variance)")


def test_without_tokens_and_without_samples():
    class Plain(largo.Law):
        def log_partition(self, a):
            return float(a @ a) / 2

    assert largo.check_law(Plain(2)).samples == 0 == largo.check_law(KnownCoin(2), samples=0).samples
    for samples in (1, -5, 10**12, 1.5):
        with pytest.raises((ValueError, TypeError)):
            largo.check_law(KnownCoin(2), samples=samples)
    with pytest.raises(TypeError, match="law is ndarray, must be a largo.Law"):
        largo.check_law(np.eye(2))


def test_false_alarms():
    """The largest z-score of one law over 200 seeds: with 8 numbers each, 6 is not reached by chance (3e-6 in all), and 2 is."""
    worst = [largo.check_law(KnownCoin(2), samples=500, seed=seed).worst_z for seed in range(200)]
    assert max(worst) < 6 and max(worst) > 2
