"""Tasks and losses of one's own, classification, paths of parameters, the algebra, the Lemma."""

import math
import pickle

import numpy as np
import pytest

import largo
from largo import parts

VARIANCES = np.array([1.0, 0.25])


class Classes(largo.icl.Task):
    """Classification again, with fixed means: m or -m."""

    uniforms_per_task = 3

    def draw(self, uniforms):
        mean = np.array([1.0, 0.5]) * (1 if uniforms[0] < 0.5 else -1)
        side = 1.0 if uniforms[1] < 0.5 else -1.0
        pull = np.zeros((3, 3))  # (y, ξ) -> (y m + ξ, y)
        pull[:2, 0], pull[2, 0], pull[:2, 1:] = mean, 1, np.eye(2)
        law = largo.Affine(pull, np.zeros(3), largo.Pair(largo.rademacher(1), largo.law("gaussian", 2)))
        return law, [*(side * mean), 0.0], side


def mistake(outputs, targets):
    return outputs * targets <= 0, np.zeros_like(outputs)


def test_the_limit_of_classification():
    """Over the infinite prompt the head says b tanh <m, A x>; here m and x = ±m are known: by hand, and by draws."""
    A, b = np.diag([0.7, 0.3]), 2.0
    output = b * math.tanh(np.array([1.0, 0.5]) @ A @ np.array([1.0, 0.5]))
    risk = largo.icl.prompt_risk(Classes(3, 3), math.inf, point=(A, b), loss="logistic", prompts=50)
    assert risk.value == pytest.approx(math.log1p(math.exp(-output)), rel=1e-12) and risk.error < 1e-12
    squared = largo.icl.prompt_risk(Classes(3, 3), math.inf, point=(A, b), prompts=50)
    assert squared.value == pytest.approx((output - 1) ** 2 / 2, rel=1e-12)


def test_gradients_of_a_task_by_differences():
    task = largo.icl.Classification(1.2, np.diag(VARIANCES))
    U, v, step = np.diag([0.5, 0.5, 0.1]), np.array([0.1, 0.0, 1.5]), 1e-5

    def value(U, v):
        return largo.icl.prompt_risk(task, [20, math.inf], U=U, v=v, loss="logistic", prompts=100).value

    slopes = largo.icl.prompt_risk(task, [20, math.inf], U=U, v=v, loss="logistic", prompts=100)
    assert slopes.U.shape == (2, 3, 3) and slopes.v.shape == (2, 3)
    for i, j in ((0, 1), (2, 0)):
        move = np.zeros((3, 3))
        move[i, j] = step
        np.testing.assert_allclose(slopes.U[:, i, j], (value(U + move, v) - value(U - move, v)) / (2 * step), rtol=1e-5, atol=1e-9)
    move = np.array([0, 0, step])
    np.testing.assert_allclose(slopes.v[:, 2], (value(U, v + move) - value(U, v - move)) / (2 * step), rtol=1e-6)


def squared(outputs, targets):
    return (outputs - targets) ** 2 / 2, outputs - targets


def huber(outputs, targets, delta=1.0):
    r = outputs - targets
    values = np.where(np.abs(r) <= delta, r**2 / 2, delta * (np.abs(r) - delta / 2))
    return values if values.ndim == 1 else values.sum(axis=1), np.clip(r, -delta, delta)


def absolute(outputs, targets):
    return np.abs(outputs - targets), np.sign(outputs - targets)


def logistic(outputs, targets):
    return np.logaddexp(0, -targets * outputs), -targets / (1 + np.exp(targets * outputs))


@pytest.mark.parametrize("name,own", [("squared", squared), ("huber:1", huber), ("absolute", absolute), ("logistic", logistic)])
def test_losses(name, own):
    """A loss written with NumPy is the built-in one, to rounding; it is called once for all prompts of a length."""
    task = largo.icl.Classification(1.2, np.diag(VARIANCES))  # its tokens are no Gaussians: all prompts are drawn
    head = {"point": ("identity", 2.0), "prompts": 300}
    calls = []
    known = largo.icl.prompt_risk(task, [50, math.inf], loss=name, **head)
    found = largo.icl.prompt_risk(task, [50, math.inf], loss=lambda o, y: (calls.append(o.shape), own(o, y))[1], **head)
    np.testing.assert_allclose(found.value, known.value, rtol=1e-14)
    np.testing.assert_allclose(found.error, known.error, rtol=1e-12)
    np.testing.assert_allclose(found.U, known.U, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(found.v, known.v, rtol=1e-11, atol=1e-14)
    assert calls == [(300,), (300,)]


def test_a_loss_without_a_slope():
    task = largo.icl.Classification(1.2, np.diag(VARIANCES))
    head = {"point": ("identity", 2.0), "prompts": 300}
    mistakes = largo.icl.prompt_risk(task, [10, math.inf], loss=mistake, **head)
    assert 0 < mistakes.value[1] < mistakes.value[0] < 0.5 and not mistakes.U.any()
    one = largo.icl.prompt_risk(task, 50, **head)
    for threads in (1, 2):
        assert largo.icl.prompt_risk(task, 50, threads=threads, **head).value == one.value


BAD_LOSSES = {
    "no pair": (lambda o, y: 1.0, TypeError, "loss must return a pair"),
    "nan": (lambda o, y: (o * math.nan, o), ValueError, "value of the loss at output .* and target .* is nan, must be finite"),
    "a slope that is infinite": (lambda o, y: (o, o / 0.0), ValueError, "slope of the loss .* must be finite"),
    "no array": (lambda o, y: (o, None), TypeError, "the slopes of the loss is NoneType"),
    "a number": (lambda o, y: (o, 0.0), ValueError, r"shape of the slopes of the loss is \(\), must be \(10,\)"),
    "a mean": (lambda o, y: (np.mean(o), o), ValueError, r"shape of the values of the loss is \(\), must be \(10,\)"),
    "a column": (lambda o, y: (o, o[:, None]), ValueError, r"slopes of the loss is \(10, 1\), must be \(10,\)"),
    "too few": (lambda o, y: (o[1:], o), ValueError, r"values of the loss is \(9,\), must be \(10,\)"),
    "complex": (lambda o, y: (o * 1j, o), TypeError, "has dtype complex128"),
    "an unknown name": ("cubic", ValueError, "squared, huber:DELTA"),
    "huber without a delta": ("huber", ValueError, "huber:DELTA"),
    "huber with a bad delta": ("huber:-1", ValueError, "huber:DELTA"),
    "no loss": (3, TypeError, "loss must be a name"),
    "None": (None, TypeError, "loss must be a name"),
    "what it raises": (lambda o, y: {}["missing"], KeyError, "missing"),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", BAD_LOSSES)
def test_bad_losses(name):
    loss, error, message = BAD_LOSSES[name]
    for call in (largo.icl.prompt_risk, largo.icl.risk):
        with pytest.raises(error, match=message) as caught:
            call(Classes(3, 3), 10, point=("identity", 1.0), loss=loss, prompts=10)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("result", [None, (1, 2), (np.zeros((3, 3)), [1, 0, 0], 1.0), (largo.Sphere(2), [1, 0, 0], 1.0),
                                    (largo.Sphere(3), [1, 0], 1.0), (largo.Sphere(3), [1, 0, math.nan], 1.0),
                                    (largo.Sphere(3), [1, 0, 0], math.nan), (largo.Sphere(3), [1, 0, 0], "one")])
def test_bad_tasks(result):
    class Bad(largo.icl.Task):
        def draw(self, uniforms):
            return result

    with pytest.raises((ValueError, TypeError)):
        largo.icl.prompt_risk(Bad(3, 3), 10, point=("identity", 1.0), prompts=10)


def test_tasks_that_raise():
    class Lost(largo.icl.Task):
        def draw(self, uniforms):
            raise LookupError("lost")

    class Nothing(largo.icl.Task):
        pass

    head = {"U": np.eye(2), "v": np.ones(2), "prompts": 10}
    for error, kind in ((LookupError, Lost), (NotImplementedError, Nothing)):
        with pytest.raises(error):
            largo.icl.prompt_risk(kind(2, 2), 10, **head)
    for bad in ({"U": np.eye(3)}, {"v": np.ones(3)}, {"v": None}, {"point": ("identity", 1.0)}, {"prompts": 1}, {"prompts": 2.5}):
        with pytest.raises((ValueError, TypeError)):
            largo.icl.prompt_risk(largo.icl.Classification(1.0, np.eye(1)), 10, **{**head, **bad})
    for make in (lambda: largo.icl.Classification(-1.0, np.eye(2)), lambda: largo.icl.Classification(1.0, -np.eye(2)),
                 lambda: largo.icl.Task(0, 1), lambda: largo.icl.Task("a", 1), lambda: largo.icl.Task(1, 1, 0)):
        with pytest.raises((ValueError, TypeError)):
            make()


def test_a_path():
    """Each point is what concentration says of it, and the suprema are the largest of them."""
    law = largo.law("gaussian", 3)
    path = [(scale * np.eye(3), (2 - scale) * np.eye(3)) for scale in (0.3, 1.2, 0.8)]
    for method in ("exact", "sampled"):
        errors = largo.errors_along_path(law, path, L=50, query=[1, 0, 1], method=method, prompts=200)
        assert [row["method"] for row in errors.rows] == [method] * 3
        for name in ("output", "gradient_V", "gradient_U"):
            values = [row[name]["value"] for row in errors.rows]
            supremum = getattr(errors, name)
            assert (supremum.at, supremum.value) == (int(np.argmax(values)), max(values))
    for (U, V), row in zip(path, largo.errors_along_path(law, path, L=50, query=[1, 0, 1]).rows):
        alone = largo.concentration(law, U=U, V=V, L=50, query=[1, 0, 1], exponents=False).rows[0]
        assert row["output"]["value"] == pytest.approx(alone["output"]["value"], rel=1e-12)
    for bad in ({"path": []}, {"path": [np.eye(3)[:2]]}, {"path": [1]}, {"L": 0.5}, {"L": [10]}, {"method": "both"}, {"query": None},
                {"path": [(np.eye(2), np.eye(3))]}):
        with pytest.raises((ValueError, TypeError)):
            largo.errors_along_path(**{"law": law, "path": path, "L": 50, "query": [1, 0, 1], **bad})


def test_gradients_in_K_and_Q():
    """With K = I the gradient in Q is that in U, with Q = I that in K; both come with K and Q alone."""
    law, U, identity = largo.law("sphere", 3), np.arange(9.0).reshape(3, 3) / 9, np.eye(3)
    arguments = {"L": [5, 100], "query": [1, 0, 1], "exponents": False}
    plain = largo.concentration(law, U=U, **arguments)
    in_Q = largo.concentration(law, K=identity, Q=U, **arguments)
    in_K = largo.concentration(law, K=U.T, Q=identity, **arguments)
    np.testing.assert_allclose(in_Q.column("gradient_Q"), plain.column("gradient_U"), rtol=1e-9)
    np.testing.assert_allclose(in_K.column("gradient_K"), plain.column("gradient_U"), rtol=1e-9)
    np.testing.assert_array_equal(in_Q.column("gradient_U"), plain.column("gradient_U"))
    assert np.isnan(plain.column("gradient_K")).all()
    for bad in ({"K": identity}, {"Q": identity}, {"K": identity, "Q": identity, "U": U}, {"K": np.eye(2), "Q": np.eye(2)}):
        with pytest.raises(ValueError):
            largo.concentration(law, **arguments, **bad)


def test_the_algebra():
    """Expectations of expressions are the statistics of moments(), which does not use them; s and L broadcast."""
    s, L = np.array([0.5, 2.0]), np.array([[10.0], [1e6]])
    moments = largo.moments(s, L)
    known = {"mean": parts.A, "mse": (parts.A - parts.s) ** 2, "variance": parts.B, "squared_spread": parts.D,
             "variance_mse": (parts.B - 1) ** 2, "P2P2": parts.P(2) ** 2}
    for name, expression in known.items():
        found = parts.expectation(expression, s, L)
        tolerance = found.error + moments.errors[name] + 1e-15
        assert np.all(np.abs(found.value - getattr(moments, name)) <= 10 * tolerance), name
    slope = parts.expectation(parts.P(2).derivative(), 1.0, 100)
    assert slope.value == pytest.approx(largo.moments(1.0, 100).P2_slope, rel=1e-9)
    assert (3 - parts.A) + 2 * parts.A - parts.A == parts.Expression(3) and parts.P(1) == parts.Expression(1)
    assert (parts.s**2 * parts.P(2)).terms == {((2, 0),): (0, 0, 1)}
    assert len({parts.A, parts.S(1, 1), parts.B}) == 2
    for bad in (lambda: parts.S(0, 1), lambda: parts.S(1, -1), lambda: parts.S(10**30, 0), lambda: parts.A**-1, lambda: parts.A**10**9,
                lambda: (parts.A**14).reduce(), lambda: parts.expectation(parts.A, -1, 10), lambda: parts.expectation(parts.P(30), 1, 10)):
        with pytest.raises(ValueError):
            bad()
    for bad in (lambda: parts.A + 0.5, lambda: parts.A**0.5, lambda: parts.S(1.5, 0), lambda: parts.expectation(3, 1, 10)):
        with pytest.raises(TypeError):
            bad()


def test_the_lemma():
    report = largo.check_lemma(60, [100, 1000, 10000], prompts=32, seed=3)
    assert report.singular_cases == 20 and report.worst_error < 1e-13
    assert abs(report.slope + 1) < 4.5 * report.slope_error < 1  # false alarms: 7e-6; the seed is fixed
    for bad in ({"cases": 0}, {"cases": 10**12}, {"prompts": 1}, {"lengths": [0]}, {"seed": -1}):
        with pytest.raises(ValueError):
            largo.check_lemma(**{"cases": 3, "lengths": [10], "prompts": 2, **bad})


def test_momentum_has_a_clock_of_its_own():
    """Heavy and adaptive steps are not compared with a flow at the same time, as on the command line."""
    problem = largo.icl.Problem(2)
    for optimizer, compared in (("plain", True), ("momentum", False), ("adam", False)):
        descent = largo.icl.train(problem, [10], method=("flow", "sgd"), steps=20, optimizer=optimizer, time=1.0)[1]
        assert descent.method == "sgd" and ("noise" in descent.details) == ("distances_to_flow" in descent.details) == compared


def test_sinks():
    """Beside a sink: no weight is no sink, one is softmax plus one, and what draws prompts refuses it."""
    plain = largo.icl.Problem(2, noise=0.1)
    assert plain.sink == -math.inf
    point = (0.7 * np.eye(2), 1.2)
    without = largo.icl.risk(plain, 20, point=point)
    far = largo.icl.risk(largo.icl.Problem(2, noise=0.1, sinks=-200), 20, point=point)
    assert far.value == pytest.approx(without.value, rel=1e-10)
    one = largo.icl.Problem(2, noise=0.1, sinks=0)
    two = largo.icl.Problem(2, noise=0.1, sinks=[-math.log(2), -math.log(2)])
    assert one.sink == 0 and two.sink == pytest.approx(0, abs=1e-15)
    assert pickle.loads(pickle.dumps(one)).sink == 0
    beside = largo.icl.risk(one, 20, point=point)
    assert beside.value == pytest.approx(largo.icl.risk(two, 20, point=point).value, rel=1e-12)
    assert abs(beside.value - without.value) > 1e-3
    assert largo.icl.train(one, 20)[0].final_risk > 0
    assert largo.icl.threshold(largo.icl.Problem(2, sinks=4), 0.05).L > largo.icl.threshold(largo.icl.Problem(2), 0.05).L
    for call in (lambda: largo.icl.train(one, 20, method="sgd", steps=10),
                 lambda: largo.icl.train(one, 20, parameters="merged"),
                 lambda: largo.icl.sampled_risk(one, 20, largo.law("sphere", d=2), point=point),
                 lambda: largo.icl.risk(one, 20, U=np.ones((3, 3)), v=np.ones(3))):
        with pytest.raises(ValueError, match="a sink is known to exact risks and flows on the invariant set alone"):
            call()
    with pytest.raises(ValueError, match="sink"):
        largo.icl.Problem(2, sinks=math.inf)
