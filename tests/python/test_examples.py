"""The examples run, and say what they should."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


@pytest.mark.parametrize("script", sorted(set(EXAMPLES.glob("*.py")) - {EXAMPLES / "figures.py"}), ids=lambda path: path.stem)
def test_example(script, tmp_path):
    if script.stem == "torch_head":
        pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    run = subprocess.run([sys.executable, script, "--quick", "--out", tmp_path], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    figures = list(tmp_path.glob("*.pdf"))
    assert figures and all(file.read_bytes().startswith(b"%PDF") for file in figures)
    assert run.stdout.strip()
