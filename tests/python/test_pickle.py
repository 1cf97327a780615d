"""Pickled and copied, a law answers with the same bits."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import largo


class Coin(largo.Law):
    def __init__(self, dimension, name):
        super().__init__(dimension)
        self.name = name

    def log_partition(self, a):
        return float(np.sum(np.logaddexp(a, -a) - np.log(2)))


class Side(largo.icl.Task):
    def draw(self, uniforms):
        return largo.Gaussian([uniforms[0]], [[1.0]]), [1.0], 1.0


LAWS = [largo.Gaussian([1.0, 0.0], [[2.0, 1.0], [1.0, 1.0]]), largo.Sphere(2, radius=2.0), largo.Ball(2),
        largo.Mixture([0.1] * 10, [largo.Sphere(2)] * 9 + [largo.rademacher(2, 0.3)]), largo.laplace(2),
        largo.Affine(np.eye(2), [1.0, 2.0], largo.bernoulli(2, 0.3)), largo.Pair(largo.Sphere(1), largo.uniform(1)),
        largo.Elliptical(np.eye(2), "sphere", values=[1.0, 3.0], weights=[1, 2]), largo.law("gaussian:cov=toeplitz:0.5", 2),
        largo.Prompt(np.arange(8.0).reshape(4, 2), weights=[1, 2, 3, 4]), Coin(2, "penny")]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("again", [lambda law: pickle.loads(pickle.dumps(law)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_laws(law, again):
    other = again(law)
    assert type(other) is type(law) and other is not law
    for one, two in zip(law.tilt([0.3, -0.7]), other.tilt([0.3, -0.7])):
        assert np.array_equal(one, two)
    assert getattr(other, "name", None) == getattr(law, "name", None)


def test_arguments_that_change():
    """What is pickled is the law, not the arrays it was made from as they are now; a prompt shares its tokens."""
    mean, tokens = np.zeros(2), np.ones((3, 2))
    law, prompt = largo.Gaussian(mean, covariance=np.eye(2)), largo.Prompt(tokens)
    mean[:] = tokens[:] = 7
    assert pickle.loads(pickle.dumps(law)).mean().tolist() == [0, 0] == law.mean().tolist()
    assert pickle.loads(pickle.dumps(prompt)).mean().tolist() == [7, 7] == prompt.mean().tolist()
    assert np.shares_memory(copy.copy(prompt).tokens, tokens) and not np.shares_memory(copy.deepcopy(prompt).tokens, tokens)


def test_lists_that_change():
    mean, covariance, weights = [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]
    parts = [largo.Sphere(2), largo.Gaussian([3.0, 0.0], np.eye(2))]
    rows, of_rows, of_tokens = [[1.0, 2.0], [3.0, 4.0]], [1.0, 3.0], np.array([1.0, 3.0])
    tokens = np.array(rows)
    laws = [largo.Gaussian(mean, covariance), largo.Mixture(weights, parts), largo.Prompt(rows, weights=of_rows),
            largo.Prompt(tokens=tokens, weights=of_tokens)]
    before = [law.mean() for law in laws]
    mean[0] = covariance[0][0] = weights[0] = rows[0][0] = of_rows[0] = of_tokens[0] = 9.0
    parts[1] = largo.Sphere(2, 5.0)
    for law, value in zip(laws, before):
        for again in (law, pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):
            np.testing.assert_array_equal(again.mean(), value)


def test_results():
    moments = largo.moments([[1.0], [2.0]], [10, 1e6, np.inf])
    again = pickle.loads(pickle.dumps(moments))
    assert again.shape == (2, 3) and np.array_equal(again.mse, moments.mse) and np.array_equal(again.errors["P3"], moments.errors["P3"])
    assert pickle.loads(pickle.dumps(largo.moments(1.0, 10))).mse == largo.moments(1.0, 10).mse
    table = largo.SoftmaxTable(100.0)
    assert pickle.loads(pickle.dumps(table))(0.5).P2 == table(0.5).P2
    statistics = table([0.5, 1.0])
    assert np.array_equal(pickle.loads(pickle.dumps(statistics)).P2, statistics.P2)
    expression = (largo.parts.B - 1) ** 2
    assert pickle.loads(pickle.dumps(expression)) == expression
    problem = pickle.loads(pickle.dumps(largo.icl.Problem(2, covariance="toeplitz:0.5", noise=0.1)))
    assert problem.noise == 0.1 and problem.covariance[0, 1] == 0.5 and problem.preset == "paper"
    version, shape, numbers = moments.__getstate__()
    for state in (("0.0.0", shape, numbers), (version, (5, 5), numbers), (version, shape, numbers[:-1])):
        with pytest.raises(ValueError, match="version"):
            largo.Moments.__new__(largo.Moments).__setstate__(state)


def test_tasks():
    for task in (Side(1, 1), largo.icl.Classification(1.0, np.eye(1))):
        shape = {"U": np.eye(task.token_dimension), "v": np.ones(task.token_dimension), "prompts": 10, "loss": "logistic"}
        assert largo.icl.prompt_risk(pickle.loads(pickle.dumps(task)), 10, **shape).value == largo.icl.prompt_risk(task, 10, **shape).value


def test_other_processes():
    """What one hands to a pool, under the method that shares nothing."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert np.array_equal(pool.apply(largo.attention, (LAWS[3], [1.0, 2.0])), largo.attention(LAWS[3], [1.0, 2.0]))
