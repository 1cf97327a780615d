"""Odd input: a clear Python exception, or the right answer. Never a crash; these run under AddressSanitizer, too."""

import math

import numpy as np
import pytest

import largo

GAUSSIAN = largo.law("gaussian", 3)
TOKENS = np.arange(12.0).reshape(4, 3) / 10
NAN = np.where(np.eye(3) > 0, np.nan, 1.0)

NOT_NUMBERS = [np.zeros((4, 3), complex), np.array([[None] * 3] * 4, dtype=object), np.array([["a", "b", "c"]]),
               np.zeros((4, 3), np.longdouble), np.zeros((4, 3), "datetime64[s]"), None, "text", b"bytes", object(), {1: 2},
               [[1, 2], [3]]]
BAD_PROMPTS = [np.zeros((0, 3)), np.zeros((4, 0)), np.zeros(3), np.zeros((2, 2, 3)), np.float64(1), NAN, NAN * np.inf]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: str(getattr(value, "dtype", type(value).__name__)))
def test_what_is_no_array_of_real_numbers(value):
    for call in (lambda: largo.Prompt(value), lambda: largo.attention(GAUSSIAN, value),
                 lambda: largo.attention(GAUSSIAN, [1, 0, 0], U=value) if not isinstance(value, (str, type(None))) else largo.Prompt(value),
                 lambda: largo.Gaussian(value, np.eye(3)), lambda: GAUSSIAN.tilt(value), lambda: largo.moments(value, 10),
                 lambda: largo.moments(1, value), lambda: largo.Mixture(value, [GAUSSIAN])):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert len(str(caught.value)) > 10


def test_messages_name_the_argument():
    with pytest.raises(TypeError, match="attention: U has dtype complex128, must be real numbers"):
        largo.attention(GAUSSIAN, [1, 0, 0], U=np.eye(3) * 1j)
    with pytest.raises(ValueError, match="covariance"):
        largo.Gaussian([0, 0], [[1, 2], [0, 1]])


NOT_SCALARS = {
    "threads is 1.5, must be a whole number": lambda: largo.attention(GAUSSIAN, [1, 0, 0], threads=1.5),
    "threads is 5000, must be between 0": lambda: largo.moments(1, 10, threads=5000),
    "seeds is 0, must be at least 1": lambda: largo.icl.train(largo.icl.Problem(2), 10, method="sgd", steps=5, seeds=0),
    "seeds is 4097, must be at least 1 and at most 4096":
        lambda: largo.icl.train(largo.icl.Problem(2), 10, method="sgd", steps=5, seeds=4097),
    "seeds is 2, must be 1 for flows": lambda: largo.icl.train(largo.icl.Problem(2), 10, seeds=2),
    "seed is -1, must be between 0 and 2": lambda: GAUSSIAN.sample(3, seed=-1),
    "L is 1000.5, must be a whole number": lambda: GAUSSIAN.sample(1000.5),
    "L is inf, must be a whole number": lambda: GAUSSIAN.sample(math.inf),
    "L is nan, must be a whole number": lambda: GAUSSIAN.sample(math.nan),
    "L is '7', must be a whole number": lambda: GAUSSIAN.sample("7"),
    "L is 1e+30, must be between": lambda: GAUSSIAN.sample(1e30),
    "lengths is 10.5, must be a whole number": lambda: largo.check_lemma(10, [10.5]),
    "parts is 2.5, must be a whole number": lambda: largo.power_sum_moment([2.5], 1.0, 10),
    "power_sum_moment: sum of the parts": lambda: largo.power_sum_moment([10**18], 1.0, 10),
    "parts is int, must be a list": lambda: largo.power_sum_moment(2, 1.0, 10),
    "lengths is int, must be a list": lambda: largo.check_lemma(10, 100),
    "path is NoneType, must be a list": lambda: largo.errors_along_path(GAUSSIAN, None, query=[1, 0, 0], L=10),
    "bound has 1 numbers, must be two": lambda: largo.concentration(GAUSSIAN, query=[1, 0, 0], L=10, bound=1.0),
    "sigma is empty, must be": lambda: largo.length_for_tolerance(GAUSSIAN, 0.1, query=[1, 0, 0], sigma=[]),
    "Mixture: components must be a list of laws": lambda: largo.Mixture([1], GAUSSIAN),
    "Product: coordinates must be a list": lambda: largo.Product(GAUSSIAN),
    "Product: coordinates must be a list of": lambda: largo.Product([GAUSSIAN]),
    "matrix: columns is -1, must be between 1": lambda: largo.matrix("identity", 2, -1),
    "matrix: rows is 10000000000, must be": lambda: largo.matrix("zeros", 10**10),
    "method is int, must be a list": lambda: largo.icl.train(largo.icl.Problem(2), 10, method=3),
    "tolerance is [1e-09], must be a real number": lambda: largo.icl.train(largo.icl.Problem(2), 10, tolerance=[1e-9]),
    "expression is str, must be an Expression": lambda: largo.parts.expectation("A", 1.0, 10),
    "set is list, must be a dict": lambda: largo.run_study("file", set=[1]),
    "retry is int, must be True or False": lambda: largo.run_study("file", retry=1),
    "attention is array([[0., 0., 0., 0., 0., 0., 0., 0., 0.], [0., 0., 0., 0. …, must be a str":
        lambda: largo.attention(GAUSSIAN, [1, 0, 0], attention=np.zeros((9, 9))),
    "d is 2.5, must be a whole number": lambda: largo.rademacher(2.5),
    "d is 0, must be between 1": lambda: largo.uniform(0),
    "d is 1000000000000, must be between 1": lambda: largo.laplace(10**12),
    "scale is 'x', must be a real number": lambda: largo.rademacher(2, "x"),
    "attention is 3, must be a str": lambda: largo.attention(GAUSSIAN, [1, 0, 0], attention=3),
    "score_scale is None, must be a real number": lambda: largo.attention(GAUSSIAN, [1, 0, 0], score_scale=None),
    "dimension is 2.5, must be a whole number": lambda: largo.Sphere(2.5),
    "radius is 'big', must be a real number": lambda: largo.Sphere(2, "big"),
    "prompts is 1.5, must be a whole number": lambda: largo.concentration(GAUSSIAN, query=[1, 0, 0], L=9, prompts=1.5),
    "s is 1000000000000": lambda: largo.moments(10**400, 10),
    "steps is '5', must be a whole number": lambda: largo.icl.train(largo.icl.Problem(2), 9, method="sgd", steps="5"),
    "point must be a pair": lambda: largo.icl.risk(largo.icl.Problem(2), 9, point=3),
    "is a masked array": lambda: largo.Prompt(np.ma.masked_array(TOKENS, mask=TOKENS > 1)),
    "condensation_line: L is NoneType": lambda: largo.condensation_line(None),
    "condensation_line: L has dtype complex128": lambda: largo.condensation_line(1j),
}


@pytest.mark.parametrize("message", NOT_SCALARS)
def test_one_line_names_what_is_wrong(message):
    with pytest.raises((TypeError, ValueError)) as caught:
        NOT_SCALARS[message]()
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_laws_in_an_array():
    """What an array hands out, nobody else holds: a mixture of its prompts was a crash."""
    prompts = np.random.default_rng(5).normal(size=(3, 50, 2))
    mixture, listed = largo.Mixture([1, 2, 3], prompts), largo.Mixture([1, 2, 3], [one for one in prompts])
    assert np.array_equal(mixture.tilt([1.0, 0.5]).mean, listed.tilt([1.0, 0.5]).mean)
    path = np.stack([np.stack([scale * np.eye(3), np.eye(3)]) for scale in (0.5, 1.0)])
    assert largo.errors_along_path(GAUSSIAN, path, L=100, query=[1, 0, 0]).output.at == 1


def test_kinds_of_laws_are_final():
    """A method of a subclass would not be seen by C++: there is none."""
    with pytest.raises(TypeError, match="base type"):
        type("Mine", (largo.Gaussian,), {})


@pytest.mark.parametrize("tokens", BAD_PROMPTS, ids=lambda value: str(value.shape))
def test_bad_prompts(tokens):
    with pytest.raises(ValueError):
        largo.attention(tokens, [1.0, 0.0, 0.0])
    with pytest.raises(ValueError):
        largo.attention(largo.Prompt(tokens), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("query", [[1, 0], [1, 0, 0, 0], [[1, 0]], [math.nan, 0, 0], [math.inf, 0, 0], np.zeros((2, 2, 3)), 1.0,
                                   np.zeros((3, 0)), []])
def test_bad_queries(query):
    for prompt in (GAUSSIAN, TOKENS):
        with pytest.raises(ValueError):
            largo.attention(prompt, query)
        with pytest.raises(ValueError):
            largo.attention_jacobian(prompt, query)
    with pytest.raises(ValueError):
        GAUSSIAN.tilt(query)


def test_no_queries_at_all():
    for prompt in (GAUSSIAN, TOKENS):
        with pytest.raises(ValueError, match="number of queries is 0"):
            largo.attention(prompt, np.zeros((0, 3)))
    assert GAUSSIAN.tilt(np.zeros((0, 3))).covariance.shape == (0, 3, 3)


@pytest.mark.parametrize("weights", [{"U": np.eye(2)}, {"V": np.eye(2)}, {"U": NAN}, {"V": NAN}, {"K": np.eye(3)}, {"Q": np.eye(3)},
                                     {"K": np.eye(3), "Q": np.eye(2)}, {"U": np.eye(3), "K": np.eye(3), "Q": np.eye(3)},
                                     {"U": np.zeros(3)}, {"U": "nonsense"}, {"attention": "hard"}, {"score_scale": "big"},
                                     {"score_scale": math.nan}, {"threads": -1}, {"U": np.zeros((0, 0))}])
def test_bad_weights(weights):
    for prompt in (GAUSSIAN, TOKENS):
        with pytest.raises(ValueError):
            largo.attention(prompt, [1, 0, 0], **weights)


def test_bad_cotangents():
    for cotangents in ([1, 0], [[1, 0, 0]], [math.nan, 0, 0], np.zeros((2, 3))):
        with pytest.raises(ValueError):
            largo.attention_vjp(TOKENS, [1, 0, 0], cotangents)


LAYOUTS = {
    "fortran": np.asfortranarray(TOKENS), "strided": np.repeat(np.repeat(TOKENS, 2, 0), 3, 1)[::2, ::3],
    "reversed": TOKENS[::-1, ::-1][::-1, ::-1], "backwards": TOKENS[::-1].copy()[::-1], "read-only": TOKENS.copy(),
    "big-endian": TOKENS.astype(">f8"), "list": TOKENS.tolist(), "memoryview": memoryview(TOKENS),
    "unaligned": np.frombuffer(b"x" + TOKENS.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(4, 3),
}
LAYOUTS["read-only"].setflags(write=False)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    queries = np.array([[1.0, 0.5, -1.0], [0.0, 2.0, 1.0]])
    expected = largo.attention(TOKENS, queries)
    assert np.array_equal(largo.attention(LAYOUTS[name], queries), expected)
    assert np.array_equal(largo.attention(largo.Prompt(LAYOUTS[name]), np.asfortranarray(queries)), expected)
    assert np.array_equal(largo.attention(TOKENS, queries.astype(">f8")[::-1])[::-1], expected)


def test_integers_and_booleans_are_numbers():
    tokens = np.array([[0, 1], [1, 1], [2, 0]])
    for kind in (np.int8, np.uint16, np.int64, np.float16):
        assert np.array_equal(largo.attention(tokens.astype(kind), [1, 2]), largo.attention(tokens.astype(float), [1.0, 2.0]))
    assert largo.attention(tokens > 0, [1, 2]).shape == (2,)


def test_broadcast_tokens():
    one = np.broadcast_to(np.array([1.0, 2.0]), (1000, 2))
    np.testing.assert_allclose(largo.attention(one, [0.3, 0.1]), [1.0, 2.0], rtol=1e-14)


@pytest.mark.parametrize("s,L", [(-1, 10), (math.nan, 10), (math.inf, 10), (1, 0.5), (1, math.nan), (1, -math.inf), (2e6, 10), (1, 1e301),
                                 ([1, -1], 10), (1, [10, 0]), ([1, 2, 3], [10, 20])])
def test_bad_moments(s, L):
    with pytest.raises(ValueError):
        largo.moments(s, L)


def test_numbers_that_are_too_long():
    for call in (lambda: largo.moments(10**400, 10), lambda: largo.Sphere(10**30), lambda: largo.law("gaussian", -1),
                 lambda: largo.law("gaussian", 3).sample(10**15), lambda: largo.law("gaussian", 3).sample(0),
                 lambda: largo.law("gaussian", 3).sample(3, seed=-1), lambda: largo.SoftmaxTable(0.5)):
        with pytest.raises((ValueError, OverflowError, TypeError)):
            call()


@pytest.mark.parametrize("make", [
    lambda: largo.Gaussian([0, 0], np.eye(3)), lambda: largo.Gaussian([math.nan, 0], np.eye(2)),
    lambda: largo.Gaussian([0, 0], -np.eye(2)), lambda: largo.Sphere(0), lambda: largo.Sphere(2, -1), lambda: largo.Ball(2, math.nan),
    lambda: largo.Mixture([1], [largo.Sphere(2), largo.Sphere(2)]), lambda: largo.Mixture([1, 1], [largo.Sphere(2), largo.Sphere(3)]),
    lambda: largo.Mixture([-1, 2], [largo.Sphere(2)] * 2), lambda: largo.Mixture([], []), lambda: largo.Product([]),
    lambda: largo.Affine(np.eye(2), [0, 0], largo.Sphere(3)), lambda: largo.Affine(np.eye(2), [0], largo.Sphere(2)),
    lambda: largo.Elliptical(np.eye(2), "cube"), lambda: largo.Elliptical(np.eye(2), values=[2, 1]),
    lambda: largo.Prompt(TOKENS, weights=[1, 2]), lambda: largo.Prompt(TOKENS, weights=[-1, 1, 1, 1]),
    lambda: largo.Prompt(TOKENS, precision="float16"), lambda: largo.law("nonsense", 3), lambda: largo.law("gaussian"),
    lambda: largo.law("tokens:/nowhere.npy"), lambda: largo.matrix("nonsense", 2), lambda: largo.rademacher(2, math.nan),
    lambda: largo.icl.Problem(0), lambda: largo.icl.Problem(2, covariance=np.eye(3)), lambda: largo.icl.Problem(2, noise=-1),
    lambda: largo.icl.Problem(preset="other"), lambda: largo.icl.Problem(2, covariance=[[1, 2], [2, 1]]),
])
def test_laws_that_make_no_sense(make):
    with pytest.raises(ValueError) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_concentration_arguments():
    good = {"query": [1, 0, 0], "L": [10, 100]}
    for bad in ({"query": [1, 0]}, {"L": 0}, {"L": math.nan}, {"L": ["ten"]}, {"sigma": -1}, {"sigma": 0}, {"method": "guess"}, {"query": None},
                {"query_law": GAUSSIAN}, {"U": np.eye(2)}, {"precision": "half"}, {"bound": (-1, 1)}, {"query": [math.nan, 0, 0]},
                {"method": "sampled", "prompts": 0}, {"method": "sampled", "L": 1.5}, {"progress": 3}, {"query": None, "query_law": "gaussian"}):
        with pytest.raises((ValueError, TypeError)):
            largo.concentration(GAUSSIAN, **{**good, **bad})


def test_icl_arguments():
    problem = largo.icl.Problem(2)
    point = largo.icl.limit(problem)
    for bad in ({}, {"point": point, "U": np.eye(3), "v": np.ones(3)}, {"U": np.eye(3)}, {"U": np.eye(2), "v": np.ones(3)},
                {"U": np.eye(3), "v": np.ones(2)}, {"point": (np.eye(3), 1.0)}, {"point": (np.full((2, 2), math.nan), 1.0)},
                {"point": (np.eye(2), math.nan)}, {"point": point, "attention": "hard"}):
        with pytest.raises(ValueError):
            largo.icl.risk(problem, 10, **bad)
    for call in (lambda: largo.icl.risk(problem, 0.5, point=point), lambda: largo.icl.threshold(problem, -1),
                 lambda: largo.icl.threshold(problem, math.nan), lambda: largo.icl.train(problem, 10, method="adam"),
                 lambda: largo.icl.train(problem, 10.5, method="sgd"), lambda: largo.icl.train(problem, math.inf, method="sgd"),
                 lambda: largo.icl.train(problem, 10, time=-1), lambda: largo.icl.train(problem, 10, tolerance=1),
                 lambda: largo.icl.train(problem, 10, method="sgd", steps=0), lambda: largo.icl.start(problem, -1),
                 lambda: largo.icl.train(problem, 10, parameters="other"), lambda: largo.icl.gradient(problem, 10, (np.eye(3), 1.0))):
        with pytest.raises(ValueError):
            call()


def test_studies_that_are_none(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('quantity = "nonsense"\n')
    for call in (lambda: largo.run_study(tmp_path / "missing.toml"), lambda: largo.run_study(file), lambda: largo.study_status(file),
                 lambda: largo.read_study(tmp_path / "missing.sqlite")):
        with pytest.raises(ValueError):
            call()


def test_many_sizes_and_alignments():
    """Every remainder of the vector kernels, from arrays that begin anywhere."""
    draw = np.random.default_rng(3)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-5)):
        for length in (1, 2, 3, 5, 7, 8, 9, 17, 33, 65):
            for d in (1, 2, 3, 5, 8, 9):
                whole = draw.normal(size=(length + 1) * d + 1).astype(dtype)
                tokens = whole[1:1 + length * d].reshape(length, d)
                query = draw.normal(size=d)
                scores = np.exp(tokens.astype(float) @ query)
                np.testing.assert_allclose(largo.attention(tokens, query), scores @ tokens / scores.sum(), rtol=tolerance, atol=tolerance)
