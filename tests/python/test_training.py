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
        found = largo.icl.prompt_risk(task, math.inf, U=x[:4].reshape(2, 2), v=x[4:], loss="logistic", prompts=50)
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


UPHILL = {
    "a quadratic": (lambda x: (0.5 * float(x @ x), -x), [1.0, 2.0]),
    "a quartic": (lambda x: (float(x @ x) ** 2, -4 * float(x @ x) * x), [1.0]),
    "unbounded below": (lambda x: (-float(x @ x), -2 * x), [1e-3]),
}


@pytest.mark.parametrize("name", UPHILL)
@pytest.mark.parametrize("method", ["dense", "krylov"])
def test_a_gradient_of_the_wrong_sign(name, method):
    """Such a flow leaves every bound: it is no result."""
    with pytest.raises(ValueError) as caught:
        largo.training.flow(*UPHILL[name], method=method)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError):
        largo.training.descend(lambda x, step: UPHILL[name][0](x), UPHILL[name][1], steps=20000, step_size=0.1)


def test_results_are_finite():
    """For a time that is given an uphill flow may be right; what it says is finite, and the end is not near."""
    flow = largo.training.flow(lambda x: (-0.5 * float(x @ x), -x), [1.0], time=3.0)
    assert flow.end[0] == pytest.approx(math.exp(3), rel=1e-6) and not flow.stationary and flow.to_go is None
    for one in (flow, largo.training.flow(quadratic, [1.0, -2.0], time=1.0), largo.training.flow(quadratic, [0.0, 0.0])):
        for values in (one.times, one.path, one.risks, one.gradient_norms):
            assert np.isfinite(values).all()
        assert one.to_go is None or math.isfinite(one.to_go)
    for batch in (lambda x, step: (1.0, [1e308]), lambda x, step: (1e308, [0.0])):  # overflow in the last step, and in the mean
        with pytest.raises(ValueError, match="diverged"):
            largo.training.descend(batch, [-1e308], steps=4, step_size=1.0, records=1)


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


def test_a_gradient_of_the_wrong_sign_is_an_error():
    """It leads to infinity: an exception says so, with the time and the size of the parameters."""
    for method in ("dense", "krylov"):
        with pytest.raises(ValueError, match=r"leaves every bound: at t = .*parameters.*sign of the gradient"):
            largo.training.flow(lambda x: (0.5 * float(x @ x), -x), [1.0, 2.0], method=method)
    with pytest.raises(ValueError, match="finite"):
        largo.training.flow(lambda x: (math.nan, x), [1.0])
    with pytest.raises(ValueError, match="finite"):
        largo.training.flow(lambda x: (float(x[0]), [1.0 if x[0] > 0.5 else math.inf]), [1.0])
    with pytest.raises(ValueError, match="diverged"):
        largo.training.descend(lambda x, step: (0.5 * float(x @ x), -x), [1.0], steps=10_000, step_size=0.5)


def test_parameters_of_different_sizes():
    """(x/X y - 1)² + (y - 1)² ends at (X, 1), whatever X is, and in the same steps in all units."""

    def risk_of(size, unit=1.0):
        def risk(p):
            u, y = p[0] / size, p[1]
            miss = u * y - 1
            return unit * (miss**2 + (y - 1) ** 2), [2 * unit * miss * y / size, 2 * unit * (miss * u + y - 1)]

        return risk

    for size in (1e-100, 1e-9, 1.0, 1e9, 1e100):
        flow = largo.training.flow(risk_of(size), [0.3 * size, 0.3])
        assert flow.stationary and flow.to_go is not None
        np.testing.assert_allclose(flow.end / [size, 1], 1, atol=1e-7)
    one, other = (largo.training.flow(risk_of(1.0, unit), [0.3, 0.3]) for unit in (1.0, 2.0**70))
    np.testing.assert_array_equal(one.path, other.path)
    np.testing.assert_array_equal(one.times, other.times * 2.0**70)


def test_records_of_a_flow_off_the_invariant_set():
    """They fall, and end at the final risk."""
    run, = largo.icl.train(largo.icl.Problem(2), [20], parameters="factored", time=10.0)
    assert run.risks[-1] == pytest.approx(run.final_risk, abs=1e-12)
    assert np.diff(run.risks).max() < 1e-4
    assert 0 < run.details["record_error"] < 1e-2 and 0 < run.risk_error < 1e-2


def test_a_gradient_of_the_wrong_sign_is_said():
    """In a short time, where the risk is bounded, or towards infinity: the risk rises, and the message says what that means."""
    start = [1.0, 2.0]
    for risk, options in ((lambda x: (float(x @ x) / 2, -x), {"time": 5.0}),
                          (lambda x: (float(np.cos(x).sum()), np.sin(x)), {})):
        with pytest.raises(ValueError, match="check its sign"):
            largo.training.flow(risk, start, **options)


def test_a_start_next_to_zero_says_nothing_of_the_way():
    flow = largo.training.flow(lambda x: (float(x @ x) / 2 - x.sum(), x - 1), [1e-120])
    assert flow.stationary and flow.end[0] == pytest.approx(1)
