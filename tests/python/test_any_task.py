"""Tasks with any laws and several outputs: risks, learners, training, files of tasks and of runs."""

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

import largo

SPHERE = {"covariates": "sphere:radius=2", "prior": "laplace", "noise": 0.1}


class Pairs(largo.icl.Task):
    """Two outputs: the mean of the tokens, which is ±(1, 2)."""

    def draw(self, uniforms):
        mean = np.array([1.0, 2.0]) * (1 if uniforms[0] < 0.5 else -1)
        return largo.Gaussian(mean, np.eye(2)), [1.0, 0.0, 0.0], mean


# Risks


def test_gradients_of_several_outputs_by_differences():
    """Huber's loss has a second derivative that jumps, so differences have an error of the order of the step at some draws."""
    task = largo.icl.Regression(3, covariates="rademacher", noise=0.2, outputs=2)
    rng, step = np.random.default_rng(1), 1e-6
    U, v = 0.3 * rng.normal(size=(5, 5)), rng.normal(size=(2, 5))

    def risk(U, v):
        return largo.icl.prompt_risk(task, [12, math.inf, "uniform:4:20"], U=U, v=v, loss="huber:0.7", prompts=60)

    found = risk(U, v)
    assert found.U.shape == (3, 5, 5) and found.v.shape == (3, 2, 5) and found.value.shape == (3,)
    assert found.average.tolist() == ["sampled", "limit", "sampled"]
    for at in ((0, 1), (4, 2), (3, 0)):
        move = np.zeros((5, 5))
        move[at] = step
        slope = (risk(U + move, v).value - risk(U - move, v).value) / (2 * step)
        np.testing.assert_allclose(found.U[(slice(None), *at)], slope, rtol=1e-5, atol=1e-7)
    for at in ((0, 1), (1, 4)):
        move = np.zeros((2, 5))
        move[at] = step
        slope = (risk(U, v + move).value - risk(U, v - move).value) / (2 * step)
        np.testing.assert_allclose(found.v[(slice(None), *at)], slope, rtol=1e-5, atol=1e-7)


def test_a_loss_of_several_outputs():
    task = largo.icl.Regression(3, covariates="rademacher", outputs=2)
    head = {"U": 0.3 * np.eye(5), "v": np.eye(2, 5, 3), "prompts": 100}
    shapes = []

    def squared(outputs, targets):
        shapes.append((outputs.shape, targets.shape))
        return ((outputs - targets) ** 2).sum(axis=1) / 2, outputs - targets

    known, found = largo.icl.prompt_risk(task, 10, **head), largo.icl.prompt_risk(task, 10, loss=squared, **head)
    assert found.value == pytest.approx(known.value, rel=1e-14) and np.allclose(found.v, known.v, rtol=1e-12)
    assert shapes == [((100, 2), (100, 2))]
    with pytest.raises(ValueError, match=r"slopes of the loss is \(100,\), must be \(100, 2\)"):
        largo.icl.prompt_risk(task, 10, loss=lambda o, y: (o[:, 0], o[:, 0]), **head)
    with pytest.raises(ValueError, match=r"values of the loss is \(100, 2\), must be \(100,\)"):
        largo.icl.prompt_risk(task, 10, loss=lambda o, y: (o, o), **head)


def test_a_risk_by_simulation():
    """Two samples of 200,000 prompts, largo's and NumPy's, differ by less than four standard errors (false alarms: 6e-5)."""
    L, n, d, delta = 7, 200_000, 2, 0.5
    A, b = np.diag([0.8, 0.4]), 1.5
    task = largo.icl.Regression(d, covariates="uniform:half-width=1.5", queries=largo.rademacher(d), prior="sphere:radius=1.3", noise=0.3)
    found = largo.icl.risk(task, L, point=(A, b), loss=f"huber:{delta}", score_scale=1.2, prompts=n)
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.5, 1.5, size=(n, L, d))
    query = rng.choice([-1.0, 1.0], size=(n, d))
    angle = rng.uniform(0, 2 * math.pi, size=n)
    w = 1.3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.einsum("nld,nd->nl", x, w) + math.sqrt(0.3) * rng.normal(size=(n, L))
    scores = 1.2 * np.einsum("nld,nd->nl", x, query @ A.T)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    r = np.abs(b * (weights * y).sum(axis=1) - (w * query).sum(axis=1))
    losses = np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))
    z = (found.value - losses.mean()) / math.hypot(found.error, losses.std() / math.sqrt(n))
    assert abs(z) < 4 and found.error < 0.005 * found.value


def test_lengths_have_laws():
    """The mean over a law is the mean of the risks of its lengths: exactly, where prompts are averaged exactly."""
    task = largo.icl.Regression(3, noise=0.1)
    head = {"point": ("0.5*identity", 1.5), "prompts": 200}
    one = largo.icl.prompt_risk(task, [5, 20, "5=0.25,20=0.75"], **head)
    assert one.average.tolist() == ["exact"] * 3
    assert one.value[2] == pytest.approx(0.25 * one.value[0] + 0.75 * one.value[1], rel=1e-9)
    single = largo.icl.prompt_risk(task, "5=0.25,20=0.75", **head)
    assert single.value == one.value[2] and single.average == "exact" and single.U.shape == (4, 4)
    assert largo.icl.risk(task, "5=0.25,20=0.75", **head) == single[:2]
    for call in (largo.icl.risk, largo.icl.prompt_risk):
        with pytest.raises(ValueError, match="sum"):
            call(task, "5=0.25,20=0.7", **head)
    with pytest.raises(ValueError, match="sum"):
        largo.icl.train(task, "5=0.25,20=0.7", loss="huber:1")
    with pytest.raises(ValueError, match="whole number"):
        largo.icl.risk(task, 5.5, loss="huber:1", **head)


def test_gaussian_regression_is_the_problem():
    """The same laws, by draws of tasks and by exact formulas."""
    problem = largo.icl.Problem(3, covariance="toeplitz:0.5", noise=0.2)
    task = largo.icl.Regression(3, covariates="gaussian:cov=toeplitz:0.5", noise=0.2)
    exact, found = (largo.icl.risk(one, [10, math.inf], point=("0.5*identity", 1.5), **more)
                    for one, more in ((problem, {}), (task, {"prompts": 4000})))
    assert np.all(np.abs(found.value - exact.value) < 4.5 * found.error)  # false alarms: 1e-5, for another seed
    one, other = (largo.icl.train(what, [20, math.inf], evaluate=50) for what in (problem, task))
    for left, right in zip(one, other):
        assert left.final_risk == right.final_risk and np.array_equal(left.U_path, right.U_path)
    draws, = largo.icl.train(task, 20, common_draws=True, prompts=200, time=5.0)
    assert draws.details["average"] == "sampled"


def test_learners():
    """Ridge regression is the Bayes predictor here, so its risk is the floor of the problem."""
    task, problem = largo.icl.Regression(3, noise=0.3), largo.icl.Problem(3, noise=0.3)
    found, known = largo.icl.learner_risk(task, [4, 30], prompts=4000), largo.icl.floor(problem, [4, 30])
    assert np.all(np.abs(found.value - known.value) < 4.5 * np.hypot(found.error, known.error))
    assert np.ndim(largo.icl.learner_risk(task, 4, prompts=100).value) == 0
    assert largo.icl.learner_risk(Pairs(2, 3, 2), 4) is None
    robust = largo.icl.learner_risk(task, "uniform:4:30", loss="huber:0.5", prompts=200)
    assert 0 < robust.value < known.value[0]
    with pytest.raises(TypeError, match="task must be an icl.Task"):
        largo.icl.learner_risk(problem, 4)


def test_bayes():
    """Contaminated labels: the Bayes predictor leaves them out, ridge regression cannot."""
    noise = largo.Mixture([0.9, 0.1], [largo.Gaussian([0.0], [[0.01]]), largo.Gaussian([0.0], [[9.0]])])
    task = largo.icl.Regression(3, prior="laplace", noise=noise)
    bayes = largo.icl.bayes_risk(task, [10, 100], prompts=150)
    ridge = largo.icl.learner_risk(task, [10, 100], prompts=150)
    assert np.all(bayes.value < 0.3 * ridge.value) and np.all(np.abs(bayes.excess) < 0.1 * bayes.value)
    assert np.all(bayes.poor < 0.05) and bayes.error.shape == (2,)
    law = largo.icl.bayes_risk(task, "uniform:4:30", loss="absolute", prompts=20)
    assert np.ndim(law.value) == 0 and law.value > 0
    assert largo.icl.bayes_risk(largo.icl.Regression(3, noise=0.3), 4) is None  # ridge regression is it
    assert largo.icl.bayes_risk(Pairs(2, 3, 2), 4) is None
    with pytest.raises(ValueError, match="L is inf, must be finite"):
        largo.icl.bayes_risk(task, math.inf)


# Tasks


def test_targets_that_are_vectors():
    """The mean over the infinite prompt, with U = 0 and V = I, is the target."""
    task = Pairs(2, 3, 2)
    assert (task.token_dimension, task.query_dimension, task.output_dimension) == (2, 3, 2)
    head = {"U": np.zeros((2, 3)), "v": np.eye(2), "prompts": 50}
    assert largo.icl.risk(task, math.inf, **head).value == pytest.approx(0, abs=1e-20)
    assert largo.icl.risk(task, 10, **head).value == pytest.approx(0.1, rel=1e-9)  # ½ tr I/L
    again = pickle.loads(pickle.dumps(task))
    assert again.output_dimension == 2 and largo.icl.risk(again, 10, **head) == largo.icl.risk(task, 10, **head)
    for bad in ({"v": np.ones(2)}, {"v": np.eye(3)}, {"U": np.eye(3)}, {"point": ("identity", 1.0)}):
        with pytest.raises(ValueError):
            largo.icl.risk(task, 10, **{**head, **bad})


@pytest.mark.parametrize("outputs,target", [(1, [1.0, 2.0]), (2, 1.0), (2, [1.0]), (2, [[1.0, 2.0]]), (2, [1.0, math.nan]),
                                            (2, ["a", "b"]), (2, None), (1, [1j])])
def test_bad_targets(outputs, target):
    class Bad(largo.icl.Task):
        def draw(self, uniforms):
            return largo.Sphere(2), [1.0, 0.0], target

    with pytest.raises((ValueError, TypeError)) as caught:
        largo.icl.risk(Bad(2, 2, outputs), 10, U=np.eye(2), v=np.ones((outputs, 2))[0 if outputs == 1 else slice(None)], prompts=10)
    assert "\n" not in str(caught.value) and "target" in str(caught.value)


def test_a_target_of_one_number_may_be_a_vector():
    class One(largo.icl.Task):
        def draw(self, uniforms):
            return largo.Sphere(2), [1.0, 0.0], np.array([uniforms[0]])

    assert largo.icl.risk(One(2, 2), 10, U=np.eye(2), v=np.ones(2), prompts=10).value > 0


LAWS = {
    "names": {"d": 2, "covariates": "rademacher", "noise": "uniform", "noise_scale": "ball"},
    "laws": {"covariates": largo.rademacher(2), "noise": largo.uniform(1), "noise_scale": largo.Ball(1)},
    "a name with its dimension": {"covariates": "gaussian:cov=diag:1,4"},
    "queries": {"queries": largo.Sphere(2), "covariates": "gaussian"},
    "a prior": {"prior": largo.laplace(2)},
    "a prior of all rows": {"d": 2, "outputs": 3, "prior": largo.laplace(6)},
    "several outputs": {"d": 2, "outputs": 3, "noise": 0.1},
    "tokens": {"covariates": np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])},
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_regression(name):
    task = largo.icl.Regression(**LAWS[name])
    m = LAWS[name].get("outputs", 1)
    assert task.output_dimension == m and task.token_dimension == 2 + m == task.query_dimension
    head = {"U": 0.3 * np.eye(2 + m), "v": np.eye(m, 2 + m, 2)[0 if m == 1 else slice(None)], "prompts": 20, "loss": "huber:1"}
    values = [largo.icl.risk(one, 6, **head) for one in (task, pickle.loads(pickle.dumps(task)), copy.deepcopy(task))]
    assert values[0] == values[1] == values[2] and values[0].value > 0


BAD_REGRESSIONS = {
    "no dimension": ({}, "d is missing"),
    "no dimension of names": ({"covariates": "sphere", "prior": "laplace"}, "d is missing"),
    "an unknown law": ({"covariates": "gausian"}, "covariates: .*gausian"),
    "an unknown law of noise": ({"d": 2, "noise": "gausian"}, "noise: .*gausian"),
    "a dimension that differs": ({"d": 3, "covariates": largo.Sphere(2)}, "dimension of the covariates"),
    "queries that differ": ({"covariates": largo.Sphere(2), "queries": largo.Sphere(3)}, "queries"),
    "a prior that differs": ({"d": 2, "prior": largo.Sphere(3)}, "prior"),
    "noise that differs": ({"d": 2, "noise": largo.Sphere(3)}, "noise"),
    "a negative variance": ({"d": 2, "noise": -1.0}, "noise is -1"),
    "nan": ({"d": 2, "noise": math.nan}, "noise is nan"),
    "a scale without noise": ({"d": 2, "noise_scale": "ball"}, "needs noise"),
    "no outputs": ({"d": 2, "outputs": 0}, "outputs is 0"),
    "d = 0": ({"d": 0}, "d is 0"),
    "d = 10^12": ({"d": 10**12}, "d is 1000000000000"),
    "outputs = 10^12": ({"d": 2, "outputs": 10**12}, "outputs is 1000000000000"),
    "half a dimension": ({"d": 2.5}, "d is 2.5, must be a whole number"),
    "no covariates": ({"d": 2, "covariates": None}, "covariates is None"),
    "complex noise": ({"d": 2, "noise": 1j}, "noise is 1j"),
}


@pytest.mark.parametrize("name", BAD_REGRESSIONS)
def test_bad_regressions(name):
    arguments, message = BAD_REGRESSIONS[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        largo.icl.Regression(**arguments)
    assert "\n" not in str(caught.value)


def test_task_files(tmp_path):
    file = tmp_path / "task.toml"
    file.write_text('dimension = 2\noutputs = 2\ncovariates = "rademacher"\nnoise = "gaussian:cov=0.1*identity"\n'
                    'loss = "huber:0.5"\nscore_scale = 1.5\n')
    task, loss, score_scale = read = largo.icl.read_task(file)
    assert read.task is task and isinstance(task, largo.icl.Regression) and isinstance(loss, largo.icl.Loss) and score_scale == 1.5
    head = {"U": 0.3 * np.eye(4), "v": np.eye(2, 4, 2), "prompts": 100, "score_scale": score_scale}
    same = largo.icl.risk(largo.icl.Regression(2, covariates="rademacher", noise=0.1, outputs=2), 8, loss="huber:0.5", **head)
    for one, its_loss in ((task, loss), pickle.loads(pickle.dumps((task, loss))), copy.copy((task, loss))):
        assert largo.icl.risk(one, 8, loss=its_loss, **head).value == pytest.approx(same.value, rel=1e-12)
    for text in ('dimension = "two"', "dimension = 2\nnonsense = 1", "dimension = 2\nloss = 'cubic'", "= 3", ""):
        file.write_text(text)
        with pytest.raises(ValueError) as caught:
            largo.icl.read_task(file)
        assert "\n" not in str(caught.value) and "task.toml" in str(caught.value)
    with pytest.raises(ValueError, match="no such file"):
        largo.icl.read_task(tmp_path / "missing.toml")
    with pytest.raises(TypeError):
        largo.icl.Loss()


# Thresholds


def test_thresholds():
    """Fewer draws of the same task have a wider interval around the same length; a Gaussian one has the exact length."""
    task = largo.icl.Regression(1, covariates="rademacher", noise=0.1)
    shares = []
    found = largo.icl.threshold(task, 0.2, prompts=64, progress=shares.append)
    assert shares[-1] == 1 and shares == sorted(shares)
    assert found.epsilon == 0.2 and found.average == "sampled" and found.interval[0] < found.L <= found.interval[1]
    assert [one.L for one in found.tried] == sorted({one.L for one in found.tried})
    rows = {one.L: one for one in found.tried}
    assert rows[found.L].risk == found.risk and rows[found.L].excess.value <= 0.2 < rows[found.L - 1].excess.value
    lower, upper = (rows[L].excess for L in found.interval)
    assert lower.value - 3.182 * lower.error > 0.2 >= upper.value + 3.182 * upper.error  # Student's t, three degrees of freedom
    for one in found.tried:
        assert one.excess.value == pytest.approx(one.risk.value - found.limit.value, abs=1e-12) and one.risk.error > 0
    assert largo.icl.threshold(task, 0.2, prompts=64, threads=1) == found
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.L = 3
    problem, same = largo.icl.Problem(2, score_scale=0.5), largo.icl.Regression(2)
    known, exact = largo.icl.threshold(problem, 0.2), largo.icl.threshold(same, 0.2, score_scale=0.5)
    assert isinstance(known, largo.icl.Threshold) and isinstance(exact, largo.icl.TaskThreshold)
    assert (exact.L, *exact.risk, *exact.limit) == (known.L, known.risk, 0, known.limit, 0)
    assert exact.interval == (known.before[0], known.L) and exact.average == "exact"
    assert [(one.L, one.risk.value) for one in exact.tried] == sorted(known.tried)


def test_a_threshold_of_several_outputs():
    task = largo.icl.Regression(1, outputs=2, noise=0.1)
    found = largo.icl.threshold(task, 0.6, prompts=16)
    assert found.interval[0] < found.L <= found.interval[1] and found.average == "exact"


BAD_THRESHOLDS = {
    "no epsilon": ({"epsilon": 0}, "epsilon is 0, must be positive"),
    "nan": ({"epsilon": math.nan}, "epsilon is nan"),
    "a word": ({"epsilon": "small"}, "epsilon is 'small'"),
    "a loss that jumps": ({"loss": "absolute"}, "icl.threshold: loss: its slope jumps"),
    "no loss": ({"loss": 3}, "icl.threshold: loss must be"),
    "one draw": ({"prompts": 1}, "prompts is 1, must be at least 2"),
    "half a draw": ({"prompts": 1.5}, "prompts is 1.5"),
    "attention": ({"attention": "hard"}, "attention is 'hard'"),
    "alpha": ({"alpha": -1.0}, "alpha is -1"),
    "theta": ({"theta": np.eye(2)}, "theta"),
    "the scale of scores": ({"score_scale": math.nan}, "icl.threshold: score_scale is nan"),
    "prompts of an exact task": ({"problem": largo.icl.Regression(2), "prompts": 10}, "icl.threshold: prompts is 10, must be left out"),
    "alpha of several outputs": ({"problem": largo.icl.Regression(2, outputs=2), "alpha": 0.1}, "icl.threshold: alpha and theta are for one"),
    "queries that differ": ({"problem": Pairs(2, 3, 2)}, "icl.threshold: task is one with 2 numbers in a token"),
}


@pytest.mark.parametrize("name", BAD_THRESHOLDS)
def test_bad_thresholds(name):
    arguments, message = BAD_THRESHOLDS[name]
    usual = {"problem": largo.icl.Regression(1, prior="rademacher", noise=0.1), "epsilon": 0.2}
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        largo.icl.threshold(**{**usual, **arguments})
    assert "\n" not in str(caught.value)


# Training


def test_starts():
    """Every kind of start is where the path begins."""
    task = largo.icl.Regression(2, **SPHERE)
    plan = {"loss": "huber:1", "prompts": 60, "time": 2.0}
    A, b, U, v = np.array([[0.2, 0.1], [0.0, 0.3]]), 0.4, 0.1 * np.arange(9.0).reshape(3, 3), np.array([0.1, 0.2, 0.5])
    point = np.zeros((3, 3))
    point[:2, :2] = A
    for start, expected_U, expected_v in (((A, b), point, [0, 0, b]), (largo.Point(A, b), point, [0, 0, b]),
                                          ((U, v), U, v), (("0.5*identity", v), 0.5 * np.eye(3), v)):
        run, = largo.icl.train(task, 8, start=start, **plan)
        np.testing.assert_array_equal(run.U_path[0], expected_U)
        np.testing.assert_array_equal(run.v_path[0], expected_v)
        np.testing.assert_array_equal(run.U_path[-1], run.U)
        np.testing.assert_array_equal(run.v_path[-1], run.v)
        assert run.risks[-1] < run.risks[0] and run.details["average"] == "sampled"
    run, = largo.icl.train(task, 8, start=(A, b), parameters="merged", **plan)
    np.testing.assert_array_equal(run.U_path[0], point)
    assert run.U[2, 0] != 0  # merged parameters leave the invariant set
    run, = largo.icl.train(task, 8, alpha=0.3, **plan)
    assert run.v_path[0, 2] == 0.3 and run.U_path[0, 0, 0] > 0
    usual, = largo.icl.train(task, 8, **plan)
    assert usual.v_path[0, 2] > 0
    run, = largo.icl.train(largo.icl.Problem(2), math.inf, start=(A, b), time=1.0)
    np.testing.assert_array_equal(run.U_path[0], point)
    run, = largo.icl.train(largo.icl.Problem(2), math.inf, start=(U, v), time=0.5)
    np.testing.assert_array_equal(run.U_path[0], U)
    for bad in ({"start": (A, b), "alpha": 0.1}, {"start": (np.eye(3), b)}, {"start": (A, v)}, {"start": (U, np.ones(2))},
                {"start": (U, np.ones((1, 3)))}, {"start": 3}, {"start": "identity"}, {"start": (A, b, 1)}, {"start": (A, None)},
                {"start": (U, v), "parameters": "invariant"}, {"start": (U * math.nan, v)}, {"start": (A, math.inf)},
                {"start": (U, v), "parameters": "factored"}):
        with pytest.raises((ValueError, TypeError)) as caught:
            largo.icl.train(task, 8, **{**plan, **bad})
        assert "\n" not in str(caught.value)


def test_training_with_several_outputs():
    task = largo.icl.Regression(2, covariates="rademacher", noise=0.1, outputs=2)
    V = np.eye(2, 4, 2)
    plan = {"loss": "huber:1", "prompts": 60, "time": 1.0, "batch": 16, "steps": 20, "step_size": 0.05}
    for start in (None, (0.1 * np.eye(4), V)):
        for run in largo.icl.train(task, [6], start=start, method=("flow", "sgd"), **plan):
            n = len(run.times)
            assert run.U.shape == (4, 4) and run.v.shape == (2, 4) and run.v_path.shape == (n, 2, 4) and run.U_path.shape == (n, 4, 4)
            np.testing.assert_array_equal(run.v_path[-1], run.v)
            again = largo.icl.risk(task, 6, U=run.U, v=run.v, loss="huber:1", prompts=4000)
            assert abs(again.value - run.final_risk) < 5 * math.hypot(again.error, run.risk_error)
            with pytest.raises(ValueError, match="one output"):
                run.b
    np.testing.assert_array_equal(run.v_path[0], V)
    for bad in ({"start": (np.eye(4), np.ones(4))}, {"start": (np.eye(2), 1.0)}, {"parameters": "invariant"}, {"alpha": 0.1}):
        with pytest.raises(ValueError):
            largo.icl.train(task, [6], **{**plan, "method": "sgd", **bad})


def test_training_on_a_task_of_python():
    """A task and a loss of one's own; a loss that is the built-in one gives the same run, to rounding."""
    task = Pairs(2, 3, 2)
    plan = {"start": (np.zeros((2, 3)), 0.1 * np.eye(2)), "time": 3.0, "prompts": 50}

    def squared(outputs, targets):
        return ((outputs - targets) ** 2).sum(axis=1) / 2, outputs - targets

    known, = largo.icl.train(task, 5, common_draws=True, **plan)
    found, = largo.icl.train(task, 5, loss=squared, **plan)
    assert known.U.shape == (2, 3) and known.details["average"] == found.details["average"] == "sampled"
    np.testing.assert_allclose(found.v, known.v, atol=1e-5)
    exact, = largo.icl.train(task, 5, **plan)
    assert exact.details["average"] == "exact" and exact.risks[-1] < exact.risks[0]
    with pytest.raises(ValueError, match="give a start"):
        largo.icl.train(task, 5, prompts=50)
    with pytest.raises(ValueError, match="value of the loss"):
        largo.icl.train(task, 5, loss=lambda o, y: (np.full(len(o), math.nan), o), **plan)
    with pytest.raises(LookupError):
        largo.icl.train(task, 5, loss=lambda o, y: {}["missing"], **plan)


def test_losses_that_jump_are_not_for_flows():
    task = largo.icl.Regression(2, **SPHERE)
    with pytest.raises(ValueError, match="loss.*smooth") as caught:
        largo.icl.train(task, 8, loss="absolute")
    assert "\n" not in str(caught.value)
    run, = largo.icl.train(task, 8, loss="absolute", method="sgd", steps=50, batch=16, prompts=100)
    assert run.final_risk > 0 and run.method == "sgd"


def test_progress_and_threads():
    task = largo.icl.Regression(2, **SPHERE)
    shares = []
    plan = {"loss": "huber:1", "prompts": 200, "time": 4.0}
    one = largo.icl.train(task, [8, 16], progress=shares.append, threads=2, **plan)
    assert shares == sorted(shares) and shares[-1] == 1
    other = largo.icl.train(task, [8, 16], threads=1, **plan)
    assert all(np.array_equal(a.U_path, b.U_path) and a.final_risk == b.final_risk for a, b in zip(one, other))


# Files of runs


def assert_same(one, other):
    if isinstance(one, np.ndarray):
        assert isinstance(other, np.ndarray) and one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    else:
        assert type(one) is type(other) and (one == other or (one != one and other != other))


def test_files_of_runs(tmp_path):
    several = largo.icl.Regression(2, covariates="rademacher", outputs=2)
    runs = [*largo.icl.train(largo.icl.Problem(2), [10, math.inf, "uniform:1:9"], evaluate=[5, 50]),
            *largo.icl.train(largo.icl.Problem(2), 10, method=("flow", "sgd"), steps=50, seed=2**64 - 1),
            *largo.icl.train(several, 6, loss="huber:1", prompts=50, time=1.0)]
    file = tmp_path / "runs"  # the name is the one given, without an ending
    largo.icl.save(file, runs)
    again = largo.icl.load(file)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"] and len(again) == len(runs) == 6
    for one, other in zip(runs, again):
        for part in dataclasses.fields(one):
            assert_same(getattr(one, part.name), getattr(other, part.name))
    largo.icl.save(str(file), [])
    assert largo.icl.load(str(file)) == []
    np.load(file, allow_pickle=False)["description"]  # nothing is pickled


def test_files_that_are_no_runs(tmp_path):
    run, = largo.icl.train(largo.icl.Problem(2), 10, time=1.0)
    good, file = tmp_path / "good.npz", tmp_path / "bad.npz"
    largo.icl.save(good, [run])
    content = good.read_bytes()
    stored = dict(np.load(good))
    description = json.loads(str(stored["description"]))

    def changed(**parts):
        np.savez(file, **{name: value for name, value in {**stored, **parts}.items() if value is not None})

    def described(**parts):
        changed(description=np.array(json.dumps({**description, "runs": [{**description["runs"][0], **parts}]})))

    def pickled():
        np.savez(file, **{**stored, "0/U": np.array([{"a": 1}], dtype=object)})

    makers = [
        lambda: file.write_bytes(b""), lambda: file.write_bytes(b"PK"), lambda: file.write_text("a,b\n1,2\n"),
        lambda: file.write_bytes(content[:-20]), lambda: file.write_bytes(content[: len(content) // 2]),
        lambda: np.save(file.open("wb"), np.eye(2)), lambda: np.savez(file, a=np.eye(2)), pickled,
        lambda: changed(description=np.array("no json")), lambda: changed(description=np.array('{"format": "other", "runs": []}')),
        lambda: changed(description=np.array("[]")), lambda: changed(description=np.array(json.dumps({**description, "runs": 3}))),
        lambda: changed(description=np.array("[" * 100_000)), lambda: changed(**{"0/U": None}),
        lambda: changed(**{"0/U": np.eye(4)}), lambda: changed(**{"0/v": np.array(1.0)}), lambda: changed(**{"0/times": np.zeros(1)}),
        lambda: changed(**{"0/risks": np.array(["a"])}), lambda: described(seed="one"), lambda: described(details=[]),
        lambda: described(final_risk=None), lambda: described(**{"arrays of details": ["missing"]}), lambda: described(steps=True),
    ]
    for i, make in enumerate(makers):
        make()
        with pytest.raises(ValueError) as caught:
            largo.icl.load(file)
        assert "\n" not in str(caught.value) and "icl.load" in str(caught.value) and "bad.npz" in str(caught.value), i
    damaged = bytearray(content)
    damaged[content.index(run.U.tobytes()) + 3] ^= 1  # a digit of a number
    file.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged"):
        largo.icl.load(file)
    with pytest.raises(FileNotFoundError):
        largo.icl.load(tmp_path / "missing.npz")
    for bad in (3, [run, 3], run):
        with pytest.raises(TypeError):
            largo.icl.save(file, bad)
    with pytest.raises(OSError):
        largo.icl.save(tmp_path / "missing" / "runs.npz", [run])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.npz", "good.npz"]
