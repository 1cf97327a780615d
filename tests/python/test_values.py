"""Values against closed forms and plain NumPy, which share no code with the library."""

import math

import numpy as np
import pytest

import largo

ROUNDING = 1e-12  # relative: a few operations in double precision, with room for sums of some hundred terms


def softmax_attention(tokens, queries, U, V):
    scores = queries @ U.T @ tokens.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ tokens @ V.T


@pytest.fixture(scope="module")
def layer():
    draw = np.random.default_rng(1)
    return {"tokens": draw.normal(size=(300, 4)), "queries": draw.normal(size=(7, 3)), "U": draw.normal(size=(4, 3)),
            "V": draw.normal(size=(2, 4))}


def test_attention_is_softmax(layer):
    expected = softmax_attention(**layer)
    outputs = largo.attention(layer["tokens"], layer["queries"], U=layer["U"], V=layer["V"])
    np.testing.assert_allclose(outputs, expected, rtol=ROUNDING, atol=ROUNDING)
    one = largo.attention(layer["tokens"], layer["queries"][2], U=layer["U"], V=layer["V"])
    assert one.shape == (2,) and np.array_equal(one, outputs[2])


def test_linear_attention(layer):
    tokens, queries, U, V = (layer[name] for name in ("tokens", "queries", "U", "V"))
    expected = queries @ U.T @ (tokens.T @ tokens / 300) @ V.T
    np.testing.assert_allclose(largo.attention(tokens, queries, U=U, V=V, attention="linear"), expected, rtol=ROUNDING)


def test_gradients_by_differences(layer):
    """Central differences of step 1e-5: their error is some 1e-9, from step² and rounding/step."""
    draw = np.random.default_rng(2)
    cotangents = draw.normal(size=(7, 2))
    gradient = largo.attention_vjp(layer["tokens"], layer["queries"], cotangents, U=layer["U"], V=layer["V"])
    jacobian = largo.attention_jacobian(layer["tokens"], layer["queries"], U=layer["U"], V=layer["V"])
    for name in "UV":
        np.testing.assert_allclose(np.einsum("nk,nkij->ij", cotangents, jacobian[name]), gradient[name], rtol=1e-10)
        for i, j in [(0, 0), (1, 2)]:
            step = np.zeros_like(layer[name])
            step[i, j] = 1e-5
            up, down = ({**layer, name: layer[name] + sign * step} for sign in (1, -1))
            slope = np.sum(cotangents * (softmax_attention(**up) - softmax_attention(**down))) / 2e-5
            assert gradient[name][i, j] == pytest.approx(slope, rel=1e-7, abs=1e-7)


def test_weighted_prompt():
    prompt = largo.Prompt([[0.0], [1.0]], weights=[3, 1])
    assert prompt.mean() == pytest.approx(0.25, rel=ROUNDING)
    assert len(prompt) == 2


@pytest.mark.parametrize("law,expected", [
    (largo.Gaussian([1.0, 0.0], [[2.0, 1.0], [1.0, 1.0]]), lambda a: np.array([1.0, 0.0]) + [[2, 1], [1, 1]] @ a),
    (largo.rademacher(2, 2.0), lambda a: 2 * np.tanh(2 * a)),
    (largo.uniform(2), lambda a: 1 / np.tanh(a) - 1 / a),
    (largo.Sphere(3, 2.0), lambda a: 2 * a / np.linalg.norm(a) * (1 / np.tanh(2 * np.linalg.norm(a)) - 0.5 / np.linalg.norm(a))),
    (largo.Affine(2 * np.eye(2), [1.0, 1.0], largo.rademacher(2)), lambda a: 1 + 2 * np.tanh(2 * a)),
    (largo.Pair(largo.rademacher(1), largo.law("gaussian", 1)), lambda a: np.array([np.tanh(a[0]), a[1]])),
    (largo.bernoulli(2, 0.3), lambda a: 0.3 * np.exp(a) / (0.7 + 0.3 * np.exp(a)) - 0.3),
], ids=lambda value: repr(value) if isinstance(value, largo.Law) else "")
def test_tilted_means(law, expected):
    a = np.array([0.7, -0.4, 0.2])[: law.dimension]
    np.testing.assert_allclose(law.tilt(a).mean, expected(a), rtol=1e-11)
    np.testing.assert_allclose(largo.attention(law, a), expected(a), rtol=1e-11)
    many = law.tilt(np.stack([a, 2 * a]))
    assert np.array_equal(many.mean[0], law.tilt(a).mean) and many.covariance.shape == (2, law.dimension, law.dimension)
    assert law.log_partition(np.stack([a, a])).tolist() == [law.log_partition(a)] * 2


def test_moments_at_one_token():
    """One token: P_k = 1, A = g, so that E (A - s)² = 1 + s²."""
    moments = largo.moments(np.array([0.0, 1.0, 2.5]), 1)
    np.testing.assert_allclose(moments.P2, 1, rtol=ROUNDING)
    np.testing.assert_allclose(moments.mse, 1 + moments.s**2, rtol=1e-10)


def test_moments_broadcast():
    moments = largo.moments(1.0, [[10], [100]])
    assert moments.mse.shape == (2, 1) and moments.mse[1, 0] == largo.moments(1, 100).mse
    assert largo.moments(np.zeros((0, 3)), 10).P2.shape == (0, 3)
    with pytest.raises(ValueError):
        moments.mse[0, 0] = 1


def test_table():
    table = largo.SoftmaxTable(1e6)
    s = np.linspace(0.1, 5, 12).reshape(3, 4)
    exact = largo.moments(s, 1e6)
    for name in ("P2", "P3", "P2P2", "mse", "variance"):
        np.testing.assert_allclose(getattr(table(s), name), getattr(exact, name), rtol=1e-9)
    assert table(0.5).P2 == table([0.5]).P2[0] and table.L == 1e6


def test_limits_of_training():
    """tr(Σ⁻²)^{-1/4} Σ⁻¹ and tr(Σ⁻²)^{1/4}, by NumPy."""
    covariance = np.array([[2.0, 0.3], [0.3, 1.0]])
    inverse = np.linalg.inv(covariance)
    scale = np.trace(inverse @ inverse) ** 0.25
    limit = largo.icl.limit(largo.icl.Problem(covariance=covariance))
    np.testing.assert_allclose(limit.A, inverse / scale, rtol=ROUNDING)
    assert limit.b == pytest.approx(scale, rel=ROUNDING) and limit.balance == pytest.approx(0, abs=1e-12)


def test_gradient_of_the_risk():
    problem = largo.icl.Problem(2, noise=0.2)
    A, b, step = np.array([[0.6, 0.1], [0.0, 0.4]]), 1.2, 1e-5
    slope = largo.icl.gradient(problem, 50, largo.icl.Point(A, b))
    up, down = (largo.icl.risk(problem, 50, point=(A, b + sign * step)).value for sign in (1, -1))
    assert slope.b == pytest.approx((up - down) / (2 * step), rel=1e-5)
    assert slope.value == largo.icl.risk(problem, 50, point=(A, b)).value


def test_one_call_for_finite_and_infinite():
    problem = largo.icl.Problem(3)
    point = largo.icl.limit(problem)
    risk = largo.icl.risk(problem, np.array([[10, 1e300], [100, math.inf]]), point=point)
    assert risk.value.shape == (2, 2) and risk.value[1, 1] == pytest.approx(0, abs=1e-14)
    assert isinstance(largo.icl.risk(problem, 10, point=point).value, float)


def test_random_lengths():
    """A law of lengths, by its name: averages of risks and gradients, and training with other lengths evaluated."""
    problem = largo.icl.Problem(3, noise=0.2)
    point = ("0.4*identity", 1.5)
    law = largo.icl.risk(problem, "uniform:1:12", point=point)
    each = largo.icl.risk(problem, list(range(1, 13)), point=point)
    assert np.ndim(law.value) == 0 and law.value == pytest.approx(np.mean(each.value), rel=1e-10)
    both = largo.icl.risk(problem, ["3=0.25,12=0.75", 12], point=point).value
    assert both[0] == pytest.approx(0.25 * each.value[2] + 0.75 * each.value[11], rel=1e-10)
    slope = largo.icl.gradient(problem, "uniform:1:12", point)
    slopes = largo.icl.gradient(problem, list(range(1, 13)), point)
    assert slope.b == pytest.approx(np.mean(slopes.b), rel=1e-9)
    np.testing.assert_allclose(slope.A, np.mean(slopes.A, axis=0), rtol=1e-9, atol=1e-12)
    runs = largo.icl.train(largo.icl.Problem(2), ["uniform:1:16", 8], evaluate=[8, "uniform:1:16"])
    assert [run.L for run in runs] == ["uniform:1:16", 8.0]
    for run, own in zip(runs, (1, 0)):
        assert run.details["evaluated"][own] == pytest.approx(run.final_risk, rel=1e-12)
    with pytest.raises(ValueError, match="sum of the probabilities is 0.9, must be 1"):
        largo.icl.risk(problem, "3=0.5,4=0.4", point=point)
    with pytest.raises(ValueError, match="must be a length"):
        largo.icl.risk(problem, "nonsense", point=point)
