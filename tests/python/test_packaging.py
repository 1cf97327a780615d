"""What pip would be told, as far as it can be said without an index: pyproject.toml against CMake, and the wheel."""

import importlib.metadata
import pathlib
import re

import pytest

import largo

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_pyproject():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    cmake, module = (ROOT / "CMakeLists.txt").read_text(), (ROOT / "python/CMakeLists.txt").read_text()
    build = project["tool"]["scikit-build"]
    for name in build["cmake"]["define"]:
        assert f"option({name} " in cmake, name
    for target in build["build"]["targets"]:
        assert f"pybind11_add_module({target} " in module
    for component in build["install"]["components"]:
        assert f"COMPONENT {component} " in module
    version = build["metadata"]["version"]
    assert re.search(version["regex"], (ROOT / version["input"]).read_text())["value"] == largo.__version__
    for name in ("Interpreter Development.Module NumPy", "pybind11"):  # pip has to bring what CMake looks for
        assert name in module
    assert {re.split("[>=]", one)[0] for one in project["build-system"]["requires"]} == {"scikit-build-core", "pybind11", "numpy"}


def test_metadata():
    metadata = importlib.metadata.metadata("largo")
    assert metadata["Version"] == largo.__version__ and metadata["Requires-Dist"].startswith("numpy")
    files = {str(file) for file in importlib.metadata.files("largo")}
    assert {"largo/__init__.py", "largo/py.typed", "largo/_largo.pyi"} <= files
