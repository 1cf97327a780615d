"""The examples run, and say what they should."""

import ast
import contextlib
import io
import json
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


def shown_by(source, space):
    """What a cell of a notebook prints, and the value of its last line, as a notebook shows them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), space)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)
    return printed.getvalue(), value


def test_notebook(monkeypatch):
    """The cells run one after the other, and print what is stored beside them."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    notebook = EXAMPLES.parent / "heads/heads.ipynb"
    monkeypatch.chdir(notebook.parent)
    space = {}
    cells = [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        printed, value = shown_by("".join(cell["source"]), space)
        stored = {output["output_type"]: output for output in cell["outputs"]}
        assert printed == "".join(stored.get("stream", {}).get("text", []))
        if "execute_result" in stored:
            assert repr(value) == "".join(stored["execute_result"]["data"]["text/plain"])
    assert len(cells) == 4
