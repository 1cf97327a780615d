"""Flows and descents on functions of Python."""

import math
import time

import numpy as np
import pytest

import largo


def quadratic(x):
    slopes = np.array([1.0, 30.0])
    return float(slopes @ x**2) / 2, slopes * x


def noisy(x, step):
    value, gradient = quadratic(x)
    return value, gradient + np.random.default_rng(step).normal(size=2)


def test_flow_is_the_exact_one():
    """x_i(t) = x_i(0) e^{-λ_i t}, at every step of the integrator; its error is some ten times the tolerance."""
    flow = largo.training.flow(quadratic, [1.0, -2.0], time=3.0, tolerance=1e-10)
    expected = np.array([1.0, -2.0]) * np.exp(-np.outer(flow.times, [1.0, 30.0]))
    np.testing.assert_allclose(flow.path, expected, atol=1e-8)
    assert flow.times[0] == 0 and flow.times[-1] == 3 and not flow.stationary
    np.testing.assert_allclose(flow.risks, [quadratic(x)[0] for x in flow.path], rtol=1e-12, atol=1e-300)
    ended = largo.training.flow(quadratic, [1.0, -2.0])
    assert ended.stationary and np.abs(ended.end).max() < 1e-8
    krylov = largo.training.flow(quadratic, [1.0, -2.0], time=3.0, method="krylov")
    np.testing.assert_allclose(krylov.end, expected[-1], atol=1e-6)


def test_flow_of_a_task():
    """The head of a classification, over infinite prompts: the risk goes down, by its own gradient."""
    task = largo.icl.Classification(1.2, np.eye(1))

    def risk(x):
        found = largo.icl.prompt_risk(task, math.inf, U=x[:4].reshape(2, 2), v=x[4:], loss="logistic", draws=50)
        return found.value, np.concatenate([found.U.ravel(), found.v])

    flow = largo.training.flow(risk, [0.5, 0, 0, 0, 0, 0.5], time=5.0, tolerance=1e-4)
    assert np.all(np.diff(flow.risks) <= 1e-9) and flow.risks[-1] < 0.9 * flow.risks[0]


@pytest.mark.parametrize("optimizer", ["plain", "momentum", "adam"])
def test_descent_by_hand(optimizer):
    x, m, q = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    for step in range(50):
        g = noisy(x, step)[1]
        if optimizer == "adam":
            m, q = 0.9 * m + (1 - 0.9) * g, 0.999 * q + (1 - 0.999) * g**2
            x = x - 0.01 * (m / (1 - 0.9 ** (step + 1))) / (np.sqrt(q / (1 - 0.999 ** (step + 1))) + 1e-8)
        else:
            m = 0.9 * m + g
            x = x - 0.01 * (m if optimizer == "momentum" else g)
    descent = largo.training.descend(noisy, [1.0, -2.0], steps=50, step_size=0.01, optimizer=optimizer, records=10)
    np.testing.assert_allclose(descent.end, x, rtol=1e-12)
    assert descent.steps == 50 and len(descent.times) == 11 and descent.times[-1] == pytest.approx(0.5)


def test_a_descent_that_was_stopped_goes_on(tmp_path):
    def slow(x, step):
        time.sleep(0.001)
        return noisy(x, step)

    def stop(share):
        raise KeyboardInterrupt

    plan = {"steps": 300, "step_size": 0.01, "schedule": "cosine", "optimizer": "momentum"}
    file = tmp_path / "state.safetensors"
    with pytest.raises(KeyboardInterrupt):
        largo.training.descend(slow, [1.0, -2.0], checkpoint=file, progress=stop, **plan)
    seen = []
    again = largo.training.descend(lambda x, step: (seen.append(step), noisy(x, step))[1], [1.0, -2.0], checkpoint=file, **plan)
    assert 0 < seen[0] < 300 and seen == list(range(seen[0], 300))
    assert np.array_equal(again.path, largo.training.descend(noisy, [1.0, -2.0], **plan).path)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    plan = {"steps": 20, "step_size": 0.01, "checkpoint": tmp_path / "state.safetensors"}
    whole = largo.training.descend(noisy, [1.0, -2.0], **plan)
    assert np.array_equal(largo.training.descend(noisy, [1.0, -2.0], **plan).path, whole.path)  # from its end
    for other in ({"steps": 30}, {"step_size": 0.02}, {"optimizer": "adam"}, {"records": 7}, {"schedule": "cosine"}):
        with pytest.raises(ValueError, match="another run"):
            largo.training.descend(noisy, [1.0, -2.0], **{**plan, **other})
    with pytest.raises(ValueError, match="another run"):
        largo.training.descend(noisy, [1.0, 2.0], **plan)
    content = bytearray((tmp_path / "state.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "state.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        largo.training.descend(noisy, [1.0, -2.0], **plan)


def test_what_functions_may_not_do():
    def lost(x, *step):
        raise LookupError("lost")

    good = {"steps": 5, "step_size": 0.1}
    for function in (lost,):
        with pytest.raises(LookupError):
            largo.training.flow(function, [1.0])
        with pytest.raises(LookupError):
            largo.training.descend(function, [1.0], **good)
    bad = [lambda x, *_: 1.0, lambda x, *_: (1.0, [1.0, 2.0]), lambda x, *_: ("a", x), lambda x, *_: (1.0, None),
           lambda x, *_: (math.nan, x), lambda x, *_: (1.0, x * math.nan), 3, None]
    for function in bad:
        with pytest.raises((TypeError, ValueError)):
            largo.training.flow(function, [1.0])
        with pytest.raises((TypeError, ValueError)):
            largo.training.descend(function, [1.0], **good)
    with pytest.raises(ValueError, match="diverged"):
        largo.training.descend(noisy, [1.0, 1.0], steps=500, step_size=1.0)
    for arguments in ({"steps": 0}, {"step_size": -1}, {"optimizer": "sgd"}, {"schedule": "none"}, {"records": 0}, {"start": [math.nan, 0]},
                      {"start": [[1.0]]}, {"start": []}, {"checkpoint": "/nowhere/at/all"}, {"steps": 1.5}):
        with pytest.raises((TypeError, ValueError)):
            largo.training.descend(noisy, **{"start": [1.0, 1.0], **good, **arguments})
    for arguments in ({"time": -1}, {"time": math.nan}, {"tolerance": 0}, {"method": "euler"}, {"most_steps": 0}, {"start": [math.inf, 0]}):
        with pytest.raises((TypeError, ValueError)):
            largo.training.flow(quadratic, **{"start": [1.0, 1.0], **arguments})
