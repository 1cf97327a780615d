"""Single-location regression: against drawn prompts and differences, and what it refuses."""

import math

import numpy as np
import pytest

from largo import icl


def drawn_risk(L, signal, u, v, spread, noise, prompts):
    """½ E (prediction - target)² over drawn prompts, with its standard error."""
    draw = np.random.default_rng(5)
    tokens = draw.normal(size=(prompts, L, len(u)))
    tokens[:, 0] *= spread
    tokens[:, 0, 0] += signal
    targets = tokens[:, 0, 1] + math.sqrt(noise) * draw.normal(size=prompts)
    weights = np.exp(tokens @ u)
    weights /= weights.sum(axis=1, keepdims=True)
    losses = 0.5 * ((weights * (tokens @ v)).sum(axis=1) - targets) ** 2
    return losses.mean(), losses.std() / math.sqrt(prompts)


def test_risk_against_drawn_prompts():
    # Within 4 standard errors: another seed would fail once in 16,000 times.
    u, v = np.array([0.9, -0.3, 0.4]), np.array([0.2, 1.1, -0.5])
    exact = icl.single_location_risk(20, 2.5, u=u, v=v, needle_spread=0.7, noise=0.2)
    value, error = drawn_risk(20, 2.5, u, v, 0.7, 0.2, 100000)
    assert abs(exact.value - value) < 4 * error
    assert error < 0.01 * value
    step = 1e-5
    for k in range(3):
        ahead, behind = (icl.single_location_risk(20, 2.5, u=u + s * np.eye(3)[k], v=v, needle_spread=0.7, noise=0.2).value
                         for s in (step, -step))
        assert exact.gradient[0][k] == pytest.approx((ahead - behind) / (2 * step), abs=1e-8)


def test_points_are_broadcast():
    risk = icl.single_location_risk([[10], [1e6]], 3, a=[0.5, 1, 2], b=0.7)
    assert risk.value.shape == risk.error.shape == risk.gradient[0].shape == (2, 3)
    for i, L in enumerate((10, 1e6)):
        for k, a in enumerate((0.5, 1, 2)):
            one = icl.single_location_risk(L, 3, a=a, b=0.7)
            assert isinstance(one.value, float)
            assert (one.value, one.gradient[1]) == (risk.value[i, k], risk.gradient[1][i, k])
            plane = icl.single_location_risk(L, 3, u=[a, 0], v=[0, 0.7])
            assert plane.value == pytest.approx(one.value, rel=1e-13)
    best = icl.single_location_best([10, 100], [[2], [3]], noise=0.5)
    assert best.a.shape == (2, 2)
    np.testing.assert_allclose(best.risk, best.excess + 0.25, rtol=1e-15)


def test_training_and_thresholds():
    run = icl.single_location_flow(100, 3, needle_spread=0.8, noise=0.1)
    best = icl.single_location_best(100, 3, needle_spread=0.8, noise=0.1)
    assert run.stationary
    assert (run.a, run.b) == pytest.approx((best.a, best.b), rel=1e-6)
    assert run.risk == pytest.approx(best.risk, rel=1e-10)
    assert run.parameters.shape == (len(run.times), 2)
    assert (np.diff(run.risks) <= 1e-12).all()
    short = icl.single_location_flow(100, 3, time=2.5)
    assert short.times[-1] == 2.5
    length = icl.single_location_length(5, 0.05)
    assert icl.single_location_best(length, 5).excess <= 0.05 < icl.single_location_best(length + 1, 5).excess
    assert icl.single_location_best(100, icl.single_location_signal(100, 0.02)).excess == pytest.approx(0.02, rel=1e-9)


def test_mistakes():
    for wrong in ({}, {"a": 1}, {"u": [1, 0]}, {"a": 1, "b": 1, "u": [1, 0], "v": [0, 1]}):
        with pytest.raises(ValueError, match="give either a and b, or u and v"):
            icl.single_location_risk(10, 3, **wrong)
    with pytest.raises(ValueError, match="size of v is 3"):
        icl.single_location_risk(10, 3, u=[1, 0], v=[0, 1, 0])
    for call in (lambda: icl.single_location_best(1, 3), lambda: icl.single_location_best(10, -1),
                 lambda: icl.single_location_best(10, 3, needle_spread=0), lambda: icl.single_location_best(10, 3, noise=-1),
                 lambda: icl.single_location_best(math.inf, 3), lambda: icl.single_location_length(5, 0)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        icl.single_location_best("ten", 3)
