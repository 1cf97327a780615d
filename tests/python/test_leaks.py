"""10,000 calls of each kind leave nothing behind, neither objects of Python nor memory of C++. (Objects are counted over
2,000 calls, with the same bound for each, unless LARGO_LONG_TESTS=1: counting is slow.)"""

import gc
import os
import tracemalloc

import numpy as np
import pytest

import largo

TOKENS, QUERIES = np.random.default_rng(7).normal(size=(64, 3)), np.ones((2, 3))
LAW = largo.law("gaussian", 3)
TABLE = largo.SoftmaxTable(100.0)


class Mine(largo.Law):
    def log_partition(self, a):
        return float(a @ a) / 2

    def tilted_mean(self, a):
        return a


MINE = Mine(3)


class Side(largo.icl.Task):
    def draw(self, uniforms):
        return LAW, [1.0], [1.0, 2.0]


SIDE = Side(3, 1, 2)


def squared(outputs, targets):
    return ((outputs - targets) ** 2).sum(axis=1) / 2, outputs - targets


def refused():
    try:
        largo.attention(TOKENS, np.ones(2))
    except ValueError:
        pass


CALLS = {
    "moments": lambda: largo.moments(1.0, 2.0).errors,
    "moments of arrays": lambda: largo.moments([1.0, 2.0], 1.0).P2,
    "table": lambda: TABLE([1.0, 2.0]).P2,
    "attention": lambda: largo.attention(TOKENS, QUERIES),
    "vjp": lambda: largo.attention_vjp(TOKENS, QUERIES, QUERIES),
    "jacobian": lambda: largo.attention_jacobian(LAW, QUERIES),
    "prompts": lambda: largo.Prompt(TOKENS).tokens,
    "laws": lambda: largo.Mixture([1, 1], [LAW, MINE]).tilt(QUERIES[0]),
    "laws of Python": lambda: largo.attention(MINE, QUERIES[0]),
    "samples": lambda: LAW.sample(10),
    "risks": lambda: largo.icl.risk(PROBLEM, np.inf, point=POINT),
    "tasks and losses of Python": lambda: largo.icl.risk(SIDE, 5, U=np.ones((3, 1)), v=np.ones((2, 3)), loss=squared, prompts=2),
    "regressions": lambda: largo.icl.Regression(covariates=LAW, noise=0.1, outputs=2),
    "errors": refused,
}
PROBLEM = largo.icl.Problem(2)
POINT = largo.icl.limit(PROBLEM)
REPEATS = 10_000
COUNTED = REPEATS if os.environ.get("LARGO_LONG_TESTS") == "1" else 2_000
# The smallest object of Python has 28 bytes and the smallest block of C++ 32: one per call makes 280 kB in
# 10,000 calls. Caches and arenas settle within the first thousand calls, except for a page now and then.
ALLOWED_PYTHON, ALLOWED_MEMORY = 16 * COUNTED, 3_000_000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("name", CALLS)
def test_leaks(name):
    call = CALLS[name]
    for _ in range(1000):
        call()
    gc.collect()
    before = resident()
    for _ in range(REPEATS):
        call()
    gc.collect()
    assert resident() - before < ALLOWED_MEMORY
    tracemalloc.start()
    for _ in range(1000):
        call()
    gc.collect()
    grown = []  # two rounds: a table that became too small grows in one of them, and a leak in both
    for _ in range(2):
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(COUNTED):
            call()
        gc.collect()
        grown.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert min(grown) < ALLOWED_PYTHON
