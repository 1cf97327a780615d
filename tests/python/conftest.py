"""What the tests share: the command line to compare with, and a law that Python defines."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import largo


@pytest.fixture(scope="session")
def cli():
    """largo(*arguments) as a dict, from the command line of the same build."""
    program = os.environ.get("LARGO_CLI") or shutil.which("largo")
    if not program:
        pytest.skip("LARGO_CLI is not set")

    def output(*arguments):
        run = subprocess.run([program, *map(str, arguments), "--json"], check=True, capture_output=True, text=True)
        return json.loads(run.stdout)

    return output


class Coin(largo.Law):
    """±1 in each coordinate, by its log-partition alone."""

    def log_partition(self, a):
        return float(np.sum(np.logaddexp(a, -a) - np.log(2)))


class KnownCoin(Coin):
    """The same law, by all that a law can define."""

    def tilted_mean(self, a):
        return np.tanh(a)

    def tilted_covariance(self, a):
        return np.diag(1 - np.tanh(a) ** 2)

    def tokens(self, uniforms):
        return np.where(uniforms < 0.5, -1.0, 1.0)


def number(value):
    """JSON has no infinity."""
    return float("inf") if value == "inf" else value


def plain(value):
    """A result as JSON would read it back."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and value == float("inf"):
        return "inf"
    return value
