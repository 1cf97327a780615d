"""Laws that Python defines."""

import gc
import threading
import weakref

import numpy as np
import pytest
from conftest import Coin, KnownCoin

import largo


class Broken(largo.Law):
    def __init__(self, result):
        super().__init__(2)
        self.result = result

    def log_partition(self, a):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


A = np.array([0.3, -1.2])


def test_by_differences():
    """Differences of order 8 have an error of about 1e-12 in the mean and 1e-9 in the covariance."""
    tilt, exact = Coin(2).tilt(A), largo.rademacher(2).tilt(A)
    np.testing.assert_allclose(tilt.mean, exact.mean, atol=1e-11)
    np.testing.assert_allclose(tilt.covariance, exact.covariance, atol=1e-8)
    np.testing.assert_allclose(Coin(2).covariance(), np.eye(2), atol=1e-8)


def test_what_is_known_is_used():
    tilt = KnownCoin(2).tilt(A)
    assert np.array_equal(tilt.mean, np.tanh(A)) and np.array_equal(np.diag(tilt.covariance), 1 - np.tanh(A) ** 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_attention_and_gradients(threads):
    queries = np.random.default_rng(4).normal(size=(50, 2))
    np.testing.assert_allclose(largo.attention(Coin(2), queries, threads=threads), np.tanh(queries), atol=1e-10)
    gradient = largo.attention_vjp(Coin(2), queries, queries, threads=threads)
    exact = largo.attention_vjp(largo.rademacher(2), queries, queries)
    np.testing.assert_allclose(gradient["U"], exact["U"], rtol=1e-7, atol=1e-7)


def test_sampling():
    law = KnownCoin(3)
    tokens = law.sample(1000, seed=4)
    assert set(np.unique(tokens)) == {-1.0, 1.0}
    assert np.array_equal(tokens[:10], law.sample(10, seed=4)) and not np.array_equal(tokens, law.sample(1000, seed=5))
    sampled = largo.concentration(law, query=[0.5, 0, 0], L=[64], method="sampled", prompts=2000)
    exact = largo.concentration(largo.rademacher(3), query=[0.5, 0, 0], L=[64], method="exact")
    row = sampled.rows[0]["output"]
    z = (row["value"] - exact.rows[0]["output"]["value"]) / row["error"]
    assert abs(z) < 4.5  # a false alarm has probability 7e-6, and the seed is fixed
    with pytest.raises(ValueError, match="tokens"):
        Coin(2).sample(3)


def test_parts_of_other_laws_stay_alive():
    law = Coin(2)
    seen = weakref.ref(law)
    mixture = largo.Mixture([1, 1], [law, KnownCoin(2)])
    del law
    gc.collect()
    assert seen() is not None
    np.testing.assert_allclose(mixture.tilt(A).mean, np.tanh(A), atol=1e-11)
    del mixture
    gc.collect()
    assert seen() is None


def test_exceptions_go_through_unchanged():
    class Mine(Exception):
        pass

    error = Mine("from the law")
    for call in (lambda law: law.tilt(A), lambda law: largo.attention(law, A), lambda law: largo.attention(law, np.ones((200, 2))),
                 lambda law: law.mean(), lambda law: largo.Mixture([1], [law]).tilt(A), lambda law: largo.attention_jacobian(law, A)):
        with pytest.raises(Mine) as caught:
            call(Broken(error))
        assert caught.value is error
    with pytest.raises(KeyboardInterrupt):
        largo.attention(Broken(KeyboardInterrupt()), np.ones((200, 2)))


@pytest.mark.parametrize("result", [np.nan, np.inf, -np.inf, None, "text", 1j, [1.0, 2.0], np.zeros((2, 2)), object()])
def test_results_that_are_no_numbers(result):
    for threads in (1, 2):
        with pytest.raises((ValueError, TypeError), match="Broken.log_partition"):
            largo.attention(Broken(result), np.ones((200, 2)), threads=threads)


@pytest.mark.parametrize("mean", [np.zeros(3), np.zeros((2, 2)), np.array([np.nan, 0]), None, "text"])
def test_wrong_means(mean):
    class Wrong(Coin):
        def tilted_mean(self, a):
            return mean

    with pytest.raises((ValueError, TypeError), match="Wrong.tilted_mean"):
        largo.attention(Wrong(2), A)


@pytest.mark.parametrize("tokens", [np.zeros((3, 3)), np.zeros(2), np.full((5, 2), np.nan), None])
def test_wrong_tokens(tokens):
    class Wrong(Coin):
        def tokens(self, uniforms):
            return tokens

    with pytest.raises((ValueError, TypeError), match="Wrong.tokens"):
        Wrong(2).sample(5)


def test_laws_that_are_not_there():
    class Nothing(largo.Law):
        pass

    class Forgetful(largo.Law):
        def __init__(self):
            pass

    with pytest.raises(NotImplementedError, match="log_partition"):
        largo.attention(Nothing(2), A)
    with pytest.raises(TypeError):
        largo.attention(Forgetful(), A)
    with pytest.raises((ValueError, TypeError)):
        Nothing(0).mean()


def test_numbers_of_numpy_are_numbers():
    assert Broken(np.float32(0.5)).tilt(A).log_partition == 0.5
    assert Broken(np.array([[0.5]])).tilt(A).log_partition == 0.5


def test_threads_of_python():
    """Many threads of Python ask one law at once: the lock is released, taken and given back in order."""
    law, answers = Coin(2), []
    workers = [threading.Thread(target=lambda: answers.append(largo.attention(law, np.ones((64, 2))))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert len(answers) == 4 and all(np.array_equal(one, answers[0]) for one in answers)


def test_a_constant_is_at_least_the_standard_deviation():
    class Signs(largo.Law):
        def log_partition(self, a):
            return float(np.logaddexp(a[0], -a[0]) - np.log(2))

    assert Signs(1).sub_gaussian_constant() >= 1 - 1e-6  # a search away from zero finds 0.99967
