"""What the tests share: the command line to compare with, and a law that Python defines."""

import json
import os
import shutil
import subprocess

import pytest


@pytest.fixture(scope="session")
def cli():
    """largo(*arguments) as a dict, from the command line of the same build."""
    program = os.environ.get("LARGO_CLI") or shutil.which("largo")
    if not program:
        pytest.skip("LARGO_CLI is not set")

    def largo(*arguments):
        run = subprocess.run([program, *map(str, arguments), "--json"], check=True, capture_output=True, text=True)
        return json.loads(run.stdout)

    return largo


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
