"""mypy --strict on the examples and the package, and stubtest on its compiled part: what else there is has its types inline."""

import os
import pathlib
import subprocess
import sys

import pytest

import largo

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytest.importorskip("mypy")


def run(*command, cwd):
    done = subprocess.run([sys.executable, "-m", *map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def settings(folder):
    """PyTorch's own files take minutes, and it may not be installed: what comes from there has any type."""
    configuration = folder / "mypy.ini"
    configuration.write_text("[mypy]\n[mypy-torch.*]\nfollow_imports = skip\nignore_missing_imports = True\n")
    return configuration


def test_mypy(tmp_path):
    examples = sorted((ROOT / "examples/python").glob("*.py"))
    assert len(examples) >= 5
    configuration = settings(tmp_path)
    run("mypy", "--strict", "--config-file", configuration, "--cache-dir", tmp_path, *examples, cwd=tmp_path)


def test_mypy_on_the_package(tmp_path):
    """From a folder of its own: mypy leaves installed packages alone."""
    source = pathlib.Path(largo.__file__).parent
    for file in [*source.glob("*.py"), *source.glob("*.pyi"), source / "py.typed"]:
        (tmp_path / "largo").mkdir(exist_ok=True)
        (tmp_path / "largo" / file.name).write_bytes(file.read_bytes())
    run("mypy", "--strict", "--config-file", settings(tmp_path), "--cache-dir", tmp_path / "cache", "largo", cwd=tmp_path)


def test_stubtest(tmp_path):
    configuration = tmp_path / "mypy.ini"
    configuration.write_text(f"[mypy]\ncache_dir = {tmp_path / 'cache'}\n")
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "largo._largo", "--mypy-config-file", configuration,
                           "--allowlist", ROOT / "tests/python/stubtest_allowlist.txt"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
