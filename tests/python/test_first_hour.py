"""What a new user gets wrong: each has a sentence for an answer, or the answer itself."""

import math
import subprocess
import sys

import numpy as np
import pytest

import largo

GAUSSIAN = largo.law("gaussian", 3)
TASK = largo.icl.Classification(1.2, np.eye(2))


@pytest.fixture(scope="module")
def result():
    return largo.concentration(GAUSSIAN, query=[1, 0, 0], L=[10, 100], sigma=[0.5, 1])


def refused(call, *words, error=ValueError):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message and all(word in message for word in words), message


def test_columns_have_names(result):
    refused(lambda: result.column("outputs"), "column is 'outputs'", "output, gradient_V")
    refused(lambda: result.column("method"), "column is 'method'")
    refused(lambda: result.column("output", part="eror"), "part is 'eror'", "value, error")
    refused(lambda: result.column("output", method="exat"), "method is 'exat'", "exact, sampled")
    refused(lambda: result.select(sigma=0.7), "sigma is 0.7", "0.5, 1.0")
    assert result.column("output", method="sampled").size == 0  # a method that was not asked for has no rows
    assert np.isfinite(result.column("output")).all() and np.array_equal(result.column("L", sigma=1.0), [10, 100])
    np.testing.assert_array_equal(result.column("output", part="exponent"),
                                  [row["exponent"]["output"]["value"] for row in result.rows])
    assert np.isnan(result.column("linear", part="error")).all()  # exact, so that it has no error


def test_submodules_are_there():
    pytest.importorskip("matplotlib")
    program = "import largo; print(largo.plot.axes, 'plot' in dir(largo)); largo.plt"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout.startswith("<function axes") and run.stdout.endswith("True\n"), run.stderr
    assert "AttributeError: module 'largo' has no attribute 'plt'" in run.stderr
    for name in ("icl", "parts", "training"):
        assert getattr(largo, name).__name__ == f"largo.{name}"


def test_submodules_that_need_matplotlib():
    """Without it, largo works; largo.plot says what is missing."""
    program = ("import sys; sys.modules['matplotlib'] = None\nimport largo\nprint(dir(largo) == dir(largo))\n"
               "try: largo.plot\nexcept ImportError as error: print(error)")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "largo.plot draws with Matplotlib, which is not installed" in run.stdout, run.stdout + run.stderr


def test_messages_name_arguments_of_python(tmp_path):
    """Options of the command line are none of Python's."""
    calls = [lambda: largo.law("gaussian"), lambda: largo.law("rademacher"), lambda: largo.matrix("identity"),
             lambda: largo.icl.Problem(preset="paper", d=0), lambda: largo.icl.Problem(2, covariance="diag:1,2,3"),
             lambda: largo.icl.start(largo.icl.Problem(2), theta="nonsense"), lambda: largo.icl.start(largo.icl.Problem(2), math.nan)]
    study, other = tmp_path / "study.toml", tmp_path / "other.toml"
    study.write_text('quantity = "moments"\n[grid]\ns = [1]\nL = [10]\n')
    other.write_text('quantity = "power-sums"\n[grid]\ns = [1]\nL = [10]\n')
    largo.run_study(study)
    calls += [lambda: largo.run_study(other, tmp_path / "study.sqlite"), lambda: largo.run_study(study, set={"x": 1})]
    failed = 0
    for call in calls:
        try:
            call()
        except ValueError as error:
            failed += 1
            assert "--" not in str(error), error
    assert failed == len(calls)
    refused(lambda: largo.law("rademacher"), "rademacher needs a dimension: give d")


def test_the_query_is_to_blame():
    words = "size of a query is 2, must be 3, the number of columns of U"
    refused(lambda: largo.attention(GAUSSIAN, [1, 0]), words)
    refused(lambda: largo.attention(GAUSSIAN, [[1, 0]], V=np.eye(3)), words)
    refused(lambda: largo.attention(np.ones((4, 3)), [1, 0]), words)
    refused(lambda: largo.attention_vjp(GAUSSIAN, [1, 0], [1, 0, 0]), words)
    refused(lambda: largo.attention_jacobian(GAUSSIAN, [1, 0]), words)
    refused(lambda: largo.attention(GAUSSIAN, [1, 0], K=np.eye(3), Q=np.eye(3)), words[:-1] + "Q")
    refused(lambda: largo.concentration(GAUSSIAN, query=[1, 0], L=10), words)
    refused(lambda: largo.concentration(GAUSSIAN, query=[1, 0], L=10, method="sampled"), words)
    refused(lambda: largo.concentration(GAUSSIAN, query_law=largo.law("gaussian", 2), L=10), words)
    refused(lambda: largo.length_for_tolerance(GAUSSIAN, 0.1, query=[1, 0]), words)
    refused(lambda: largo.attention(GAUSSIAN, [1, 0], U=np.eye(2)), "shape of U is 2 x 2, must be 3 x 2")


def test_infinite_laws_say_where():
    class Heavy(largo.Law):
        def log_partition(self, a):
            return -math.log(1 - a[0]) if a[0] < 1 else math.inf

    refused(lambda: Heavy(1).tilt([2.0]), "Heavy.log_partition: the result at a = [2] is inf, must be finite")
    refused(lambda: largo.attention(Heavy(1), [0.999]), "Heavy.log_partition", "at a = [1")
    refused(lambda: largo.Mixture([1], [Heavy(1)]).tilt([[3.0]]), "at a = [3]")

    class Wide(largo.Law):
        def log_partition(self, a):
            return math.nan

    refused(lambda: Wide(20).tilt(np.arange(20.0)), "at a = [0, 1, 2, 3, 4, 5, 6, 7, …] is nan")


def test_counts_may_be_whole_floats():
    assert np.array_equal(GAUSSIAN.sample(1e3), GAUSSIAN.sample(1000))
    assert np.array_equal(GAUSSIAN.sample(np.float32(5), seed=2.0, threads=1.0), GAUSSIAN.sample(5, seed=2))
    assert largo.rademacher(2.0).dimension == 2 and largo.Sphere(3.0).dimension == 3 and largo.law("gaussian", 2.0).dimension == 2
    assert largo.power_sum_moment([2.0], 1.0, 10).value == largo.power_sum_moment([2], 1.0, 10).value
    assert largo.check_lemma(1e1, [1e1, 1e2], prompts=8.0).cases == 10
    assert largo.icl.Problem(2.0).dimension == 2
    sampled = largo.concentration(GAUSSIAN, query=[1, 0, 0], L=9, method="sampled", prompts=1e3)
    assert sampled.rows[0]["prompts"] <= 1024
    assert largo.parts.S(1.0, 1.0) == largo.parts.A
    runs = largo.icl.train(largo.icl.Problem(2), 10, method="sgd", steps=20.0, batch=4.0, seeds=2.0)
    assert len(runs) == 2


@pytest.mark.parametrize("name", ["sampled_risk", "floor", "gradient", "start", "limit", "best_linear", "largest_alpha"])
def test_tasks_are_no_problems(name):
    more = {"sampled_risk": [10, GAUSSIAN], "floor": [10], "gradient": [10, (np.eye(2), 1.0)], "best_linear": [10]}.get(name, [])
    function = getattr(largo.icl, name)
    refused(lambda: function(TASK, *more), f"icl.{name}: problem is Classification, must be an icl.Problem", "icl.prompt_risk", error=TypeError)
    refused(lambda: function(None, *more), "problem is NoneType, must be an icl.Problem", error=TypeError)
    refused(lambda: largo.icl.prompt_risk(largo.icl.Problem(2), 10, point=("identity", 1.0)), "task must be an icl.Task", error=TypeError)


def test_options_of_tasks_and_problems():
    problem, head = largo.icl.Problem(2), {"point": ("identity", 1.0)}
    for options in ({"loss": "huber:1"}, {"score_scale": 2.0}, {"prompts": 10}):
        name = next(iter(options))
        refused(lambda: largo.icl.risk(problem, 10, **head, **options), f"icl.risk: {name} is for tasks", "icl.Regression")
        refused(lambda: largo.icl.train(problem, 10, **options), f"icl.train: {name} ", "")
        refused(lambda: largo.icl.threshold(problem, 0.1, **options), f"icl.threshold: {name} is for tasks", "icl.Regression")
    refused(lambda: largo.icl.train(problem, 10, common_draws=True), "common_draws", "exact")
    refused(lambda: largo.icl.risk(TASK, 10, nodes=10, **head), "icl.risk: nodes is for an icl.Problem")
    refused(lambda: largo.icl.train(TASK, 10, nodes=10), "icl.train: nodes is for an icl.Problem")
    for function in (largo.icl.risk, largo.icl.train, largo.icl.threshold):
        refused(lambda: function(None, 10), "problem is NoneType, must be an icl.Problem", error=TypeError)


def test_nested_laws_are_bounded():
    """A hundred thousand of them were a crash, when they were asked and when they were destroyed."""
    for around in (lambda law: largo.Mixture([1.0], [law]), lambda law: largo.Affine([[1.0]], [0.0], law),
                   lambda law: largo.Affine([[1.0, 0.0]], [0.0], largo.Pair(law, largo.rademacher(1)))):
        law = largo.law("gaussian", 1)
        with pytest.raises(ValueError, match="nested more than 256 deep"):
            for _ in range(100_000):
                law = around(law)
        assert law.tilt([1.0]).log_partition == pytest.approx(0.5)
        del law
    bomb = largo.Sphere(2)
    with pytest.raises(ValueError, match="at most 1000000"):
        for _ in range(64):
            bomb = largo.Mixture([1, 1], [bomb, bomb])


def test_laws_of_python_in_each_other():
    """Through Python the interpreter's own bound holds; what it raises goes through."""
    class Around(largo.Law):
        def __init__(self, inner):
            super().__init__(1)
            self.inner = inner

        def log_partition(self, a):
            return self.inner.log_partition(a)

    law = largo.law("gaussian", 1)
    for depth in range(100_000):
        law = Around(law)
    with pytest.raises(RecursionError):
        law.log_partition([1.0])
    del law


def test_arguments_of_laws_in_the_wrong_place():
    refused(lambda: largo.Gaussian(np.eye(2)), "Gaussian: the covariance is missing", "Gaussian(mean, covariance)")
    refused(lambda: largo.Mixture([GAUSSIAN], [1.0]), "Mixture: weights are laws", "Mixture(weights, components)")


def test_flows_do_not_ignore_options_of_descents(tmp_path):
    problem = largo.icl.Problem(2)
    for options in ({"steps": 7}, {"step_size": 0.1}, {"schedule": "cosine"}, {"batch": 7}, {"optimizer": "adam"},
                    {"kernel": "full"}, {"checkpoints": tmp_path}):
        refused(lambda: largo.icl.train(problem, 10, **options), f"icl.train: {next(iter(options))} is for sgd")
    # The published flows run as long as the published descents would.
    published = largo.icl.Problem(2, preset="published")
    assert largo.icl.train(published, 10, attention="linear", steps=10)[0].times[-1] == pytest.approx(0.02)


def test_problems_say_what_they_are():
    assert "d=2 covariance=identity noise=0" in repr(largo.icl.Problem(2))
    assert "covariance=0.5*identity" in repr(largo.icl.Problem(3, covariance="0.5*identity"))
    assert "covariance=[[2, 0.5], [0.5, 1]]" in repr(largo.icl.Problem(covariance=[[2.0, 0.5], [0.5, 1.0]]))
    assert "covariance=5x5 of trace 5" in repr(largo.icl.Problem(5, covariance="toeplitz:0.5"))


def test_plots_of_what_is_no_result(tmp_path):
    pytest.importorskip("matplotlib")
    refused(lambda: largo.plot.trajectories(3), "plot.trajectories: runs is int", "icl.train", error=TypeError)
    refused(lambda: largo.plot.save(3, tmp_path / "a.svg"), "plot.save: ax is int", error=TypeError)
