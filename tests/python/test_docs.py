"""Every example of a docstring runs, and everything public has a docstring."""

import doctest
import importlib
import importlib.util
import inspect
import pathlib

import pytest

import largo

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ["largo", "largo.heads", "largo.icl", "largo.parts", "largo.plot", "largo.training"]
if importlib.util.find_spec("torch"):
    MODULES.append("largo.torch")


def documented():
    """(name, object) of all that is public, methods and properties included."""
    for module in MODULES:
        namespace = importlib.import_module(module)
        yield module, namespace
        for name in namespace.__all__:
            value = getattr(namespace, name)
            if inspect.ismodule(value) or not (callable(value) and hasattr(value, "__doc__")):
                continue
            yield f"{module}.{name}", value
            if inspect.isclass(value):
                for member, part in vars(value).items():
                    if not member.startswith("_") and (callable(part) or isinstance(part, property)):
                        yield f"{module}.{name}.{member}", part


ALL = dict(documented())


@pytest.mark.parametrize("name", [name for name, value in ALL.items() if ">>>" in (inspect.getdoc(value) or "")])
def test_example(name):
    text = inspect.getdoc(ALL[name])
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not report, "".join(report)


def test_everything_is_documented():
    fields = {"Moments", "Statistics"}  # their fields are in the docstring of moments()
    missing = [name for name, value in ALL.items() if not (inspect.getdoc(value) or "").strip() and name.split(".")[1] not in fields]
    assert missing == []


def test_everything_has_a_signature():
    """Also at run time, for help() and the ? of IPython."""
    without = []
    for name, value in ALL.items():
        if inspect.ismodule(value) or not callable(value):
            continue
        try:
            inspect.signature(value)
        except ValueError:
            without.append(name)
    assert without == []
    class Own(largo.Law):
        def __init__(self, scale):
            super().__init__(2)

    assert str(inspect.signature(Own)) == "(scale)"
    assert str(inspect.signature(largo.Sphere)) == "(dimension, radius=1.0)"
    assert str(inspect.signature(largo.Sphere(2).tilt)) == "(a, *, threads=0)"
    assert inspect.getdoc(largo.Law.tilt).startswith("The law tilted")


def test_functions_have_examples():
    calls = [name for name, value in ALL.items() if name.count(".") == 1 and callable(value) and not inspect.isclass(value)]
    without = [name for name in calls if ">>>" not in (inspect.getdoc(ALL[name]) or "")]
    assert set(without) <= {"largo.uniform", "largo.three_point", "largo.bernoulli", "largo.laplace", "largo.read_study",
                            "largo.study_status"}


def test_help_reads_like_a_page():
    text = inspect.getdoc(largo)
    for name in largo.__all__:
        if name[0] != "_" and not (name[0].isupper() and name not in ("Law", "Prompt")) and name != "matrix":
            assert name in text, name


@pytest.mark.parametrize("page,examples", [("docs/python.md", 30), ("docs/assumptions.md", 5), ("docs/your-own-problem.md", 9), ("README.md", 6)])
def test_page(page, examples):
    run_page(page, examples)


def test_page_on_pytorch():
    pytest.importorskip("torch")
    run_page("docs/torch.md", 15)


def run_page(page, examples):
    path = pathlib.Path(__file__).resolve().parents[2] / page
    failed, tried = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert failed == 0 and tried >= examples
