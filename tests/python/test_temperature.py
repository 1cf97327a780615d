"""Temperatures: the numbers of the library, in the shapes that were asked for."""

import json
import math
import os
import subprocess

import numpy as np
import pytest

import largo

NUMBERS = ("beta", "effective_tokens", "entropy", "needle_weight", "crowd_weight", "log_partition", "output_error")


def command_line(*arguments):
    run = subprocess.run([os.environ["LARGO_CLI"], "temperature", *arguments, "--json"], check=True, capture_output=True)
    return json.loads(run.stdout)


def test_rows_are_those_of_the_command_line():
    found = largo.temperature([100, 1e4], s=1.5, needle=8, sinks=[3], classes=[(40, 1, 0.5)],
                              beta=["constant", "0.4*log", "yarn:4096", "1+0.1*ln(L)"])
    known = command_line("--s", "1.5", "--L", "100,1e4", "--needle", "8", "--sink", "3", "--class", "40:1:0.5",
                         "--beta", "constant,0.4*log,yarn:4096,1+0.1*ln(L)")
    assert found.to_dict() == known
    known = command_line("--law", "sphere", "--d", "3", "--query", "3,0,0", "--L", "10,1e6", "--beta", "constant,sqrt-log,log")
    assert largo.temperature([10, 1e6], law=largo.Sphere(3), query=[3, 0, 0],
                             beta=["constant", "sqrt-log", "log"]).to_dict() == known
    known = command_line("--s", "1", "--L", "100,1e4", "--target", "entropy=ln(L)/3")
    assert largo.inverse_temperature([100, 1e4], "entropy", "ln(L)/3", s=1).to_dict() == known
    assert largo.temperature([100], s=1).laws == ("constant", "sqrt-log", "log", "log-squared")


def test_shapes():
    lengths = np.array([[10, 100, 1e3], [1e4, 1e5, 1e6]])
    found = largo.temperature(lengths, s=1, beta=["constant", "log"], sinks=[1, 2])
    assert found.beta.shape == found.entropy.shape == found.errors["entropy"].shape == (2, 2, 3)
    assert found.planted_weights.shape == (2, 2, 3, 2)
    assert found.needle_weight is None and found.output_error is None
    assert np.allclose(found.beta[1], np.log(lengths), rtol=1e-15)
    assert np.allclose(found.planted_weights.sum(axis=-1) + found.crowd_weight, 1, rtol=1e-12)
    one = largo.temperature(100, s=1, beta="log")
    assert one.beta.shape == (1,)
    assert largo.inverse_temperature(100, "entropy", 1, s=1).entropy == pytest.approx(1, rel=1e-10)
    many = largo.inverse_temperature([[1e3], [1e6]], "effective_tokens", [2, 20, 200], s=1)
    assert many.effective_tokens.shape == (2, 3)
    assert np.allclose(many.effective_tokens, [[2, 20, 200]] * 2, rtol=1e-10)
    assert largo.temperature([], s=1).beta.shape == (4, 0)


def test_laws_of_ones_own():
    def slow(L):
        return 1 + 0.2 * math.log(L)

    found = largo.temperature([1e2, 1e4], s=1, beta=[slow, 1.5, "1+0.2*ln(L)"])
    assert found.laws == ("slow", "1.5", "1+0.2*ln(L)")
    assert np.array_equal(found.beta[0], found.beta[2])
    assert np.array_equal(found.beta[1], [1.5, 1.5])
    named = largo.temperature([1e2, 1e4], s=1, beta={"mine": slow, "other": "log"})
    assert named.laws == ("mine", "other")
    assert np.array_equal(named.entropy[0], found.entropy[0])
    kept = largo.inverse_temperature([1e2, 1e4], "effective_tokens", lambda L: L**0.3, s=1)
    assert np.allclose(kept.effective_tokens, np.array([1e2, 1e4])**0.3, rtol=1e-10)


def test_same_bits_for_any_number_of_threads():
    one, three = (largo.temperature(np.logspace(1, 9, 9), s=1, needle=5, threads=threads) for threads in (1, 3))
    for name in NUMBERS[:-1]:
        assert np.array_equal(getattr(one, name), getattr(three, name))


def test_growth():
    found = largo.inverse_temperature([1e280, 1e300], "effective_tokens", 4, s=1)
    assert set(found.growth) == {"from", "to", "power", "power_of_log"}
    assert found.growth["power_of_log"] == pytest.approx(0.5, abs=0.01)
    assert largo.inverse_temperature(100, "entropy", 1, s=1).growth is None


@pytest.mark.parametrize(("call", "message"), [
    (lambda: largo.temperature(100), "give either s, or law and query"),
    (lambda: largo.temperature(100, s=1, law=largo.Sphere(2), query=[1, 0]), "give either s"),
    (lambda: largo.temperature(100, s=1, query=[1]), "query goes with law"),
    (lambda: largo.temperature(100, law=largo.Sphere(2)), "query is missing"),
    (lambda: largo.temperature(100, s=-1), "s is -1"),
    (lambda: largo.temperature(0.5, s=1), "L is 0.5"),
    (lambda: largo.temperature(math.inf, s=1), "between 1 and 1e300"),
    (lambda: largo.temperature(100, s=1, beta="cnstant"), "'cnstant'"),
    (lambda: largo.temperature(100, s=1, beta=lambda L: -1), "not negative"),
    (lambda: largo.temperature(100, s=1, beta="log\n"), "beta"),
    (lambda: largo.temperature(100, s=1, needle=math.nan), "shift"),
    (lambda: largo.temperature(100, s=1, classes=[(1, 2)]), "count, shift, spread"),
    (lambda: largo.temperature(100, s=1, classes=[(0, 2, 1)]), "count is 0"),
    (lambda: largo.inverse_temperature(100, "entropi", 1, s=1), "entropi"),
    (lambda: largo.inverse_temperature(100, "entropy", 5, s=1), "4.605"),
    (lambda: largo.inverse_temperature(100, "needle_weight", 0.5, s=1), "needs a needle"),
    (lambda: largo.inverse_temperature([1, 2], "entropy", [1, 2, 3], s=1), "cannot be broadcast"),
])
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
