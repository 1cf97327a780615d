"""Audits of heads against direct attention in float64 NumPy, on 20 captures and in every format."""

import math
import pathlib

import heads_reference as reference
import numpy as np
import pytest

import largo
from largo import heads

# The bar of the project; what is measured is 1e-12. Numbers that vanish are compared with 1.
RELATIVE = 1e-6
VANISHING = 1e-12

CAPTURES = reference.captures()


def compare(report, q, k, v, arguments):
    group = len(q) // len(k)
    for head, query in enumerate(q):
        expected = reference.audit_head(query, k[head // group], v[head // group], **arguments)
        for name, value in expected.items():
            assert report[name][head] == pytest.approx(value, rel=RELATIVE, abs=VANISHING), (name, head)


@pytest.mark.parametrize("name,q,k,v,arguments", CAPTURES, ids=[one[0] for one in CAPTURES])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_against_numpy(name, q, k, v, arguments, dtype):
    q, k, v = (x.astype(dtype) for x in (q, k, v))
    compare(heads.audit(q, k, v, queries=None, **arguments), q, k, v, arguments)


@pytest.mark.parametrize("name,q,k,v,arguments", CAPTURES[::3], ids=[one[0] for one in CAPTURES[::3]])
def test_bfloat16_from_a_file(name, q, k, v, arguments, tmp_path):
    stored, numbers = zip(*(reference.to_bfloat16(x) for x in (q, k, v)))
    file = tmp_path / "m.safetensors"
    reference.write_safetensors(file, {f"layers.4.{part}": ("BF16", x) for part, x in zip("qkv", stored)})
    report = heads.audit(file, queries=None, **arguments)
    assert list(report["layer"]) == [4] * len(q)
    compare(report, *numbers, arguments)


def test_heads_of_a_real_model():
    """Twelve heads of all-MiniLM-L6-v2: sinks, local heads, and scores of spread 15 are among them."""
    file = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "minilm.safetensors"
    tensors = reference.read_safetensors(file)
    report = heads.audit(file, queries=None, sinks=[0, -1])
    for layer in range(3):
        rows = {name: column[4 * layer : 4 * layer + 4] for name, column in report.items() if len(column) == 12}
        q, k, v = (tensors[f"layers.{layer}.{part}"][0] for part in "qkv")
        compare(rows, q, k, v, {"sinks": (0, -1)})


def test_lengths_against_draws():
    """The error of 64 tokens drawn from the prompt: 4000 prompts, some 2 % of standard error; five are allowed."""
    random = np.random.default_rng(3)
    q, k, v = random.standard_normal((3, 300, 6))
    report = heads.audit(q, k, v, sinks=[], queries=4)
    errors, outputs = 0.0, 0.0
    for row in (74, 149, 224, 299):
        weights = np.exp(k @ q[row] / math.sqrt(6))
        output = weights @ v / weights.sum()
        drawn = random.integers(0, 300, (4000, 64))
        w = weights[drawn]
        sampled = np.einsum("rl,rld->rd", w, v[drawn]) / w.sum(axis=1)[:, None]
        errors += ((sampled - output)**2).sum(axis=1).mean()
        outputs += (output**2).sum()
    at = list(report.lengths).index(64)
    assert report["error_measured"][0, at] == pytest.approx(errors / outputs, rel=0.1)


def test_the_histogram_of_the_scores():
    random = np.random.default_rng(6)
    q, k, v = random.standard_normal((3, 300, 2))
    k[7] *= 30
    report = heads.audit(q, k, v, queries=None)
    scores = q @ k.T
    z = (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    edges = report["score_edges"]
    assert np.array_equal(edges, np.linspace(-5, 5, 41))
    assert report["score_shares"][0] == pytest.approx(np.histogram(z, edges)[0] / z.size, abs=1e-12)
    assert report["scores_below"][0] == pytest.approx((z < -5).mean(), abs=1e-12)
    assert report["scores_above"][0] == pytest.approx((z >= 5).mean(), abs=1e-12)
    assert report["scores_above"][0] > 0


def test_the_predicted_P2_is_that_of_the_exact_engine():
    random = np.random.default_rng(4)
    q, k, v = random.standard_normal((3, 200, 5))
    scores = k @ q[-1] / math.sqrt(5)
    report = heads.audit(q[-1:], k, v, sinks=[2, -1])
    others = np.delete(scores, [2, 199])
    expected = largo.class_moments([(198, others.mean(), others.std()), (1, scores[2], 0), (1, scores[199], 0)])
    assert report["P2_predicted"][0] == pytest.approx(expected.P2, rel=1e-9)
    assert report.sinks == [(2, 199)]
    assert math.isnan(report["held_out_affine"][0])


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    q, k, v = (torch.randn(2, 50, 4, generator=torch.Generator().manual_seed(i)) for i in range(3))
    expected = heads.audit(q.numpy(), k.numpy(), v.numpy())
    assert np.array_equal(heads.audit(q, k, v)["P2"], expected["P2"])
    low = [x.to(torch.bfloat16) for x in (q, k, v)]
    widened = heads.audit(*(x.float().numpy() for x in low))
    assert np.array_equal(heads.audit(*low)["error_mixture"], widened["error_mixture"])


def test_what_is_saved_is_what_is_audited(tmp_path):
    layers = [tuple(np.random.default_rng(n).standard_normal((3, 2, 40, 4)).astype(np.float32)) for n in range(2)]
    captured = heads.Captured(layers, causal=True, scale=0.25)
    captured.save(tmp_path / "c.safetensors")
    one = heads.audit(captured)
    other = heads.audit(tmp_path / "c.safetensors", causal=True, scale=0.25)
    assert list(one["layer"]) == [0, 0, 1, 1]
    for name in one:
        assert np.array_equal(one[name], other[name]), name


@pytest.mark.parametrize("arguments,message", [
    ({"scale": "big"}, "scale"), ({"sinks": "first"}, "sinks"), ({"sinks": [50]}, "sink 50"), ({"queries": 0}, "queries"),
    ({"recent": 1.5}, "recent"), ({"tolerance": 0}, "tolerance"), ({"k": None}, "k and v"),
    ({"k": np.ones((2, 50, 5))}, "head_dim"), ({"v": np.ones((2, 49, 4))}, "tokens"), ({"k": np.ones(4)}, "shape"),
    ({"v": np.full((2, 50, 4), np.nan)}, "layers.0.v"), ({"q": np.ones((2, 50, 4), dtype=complex)}, "complex128"),
    ({"q": np.ones((2, 51, 4))}, "more queries than tokens"), ({"q": "missing.safetensors", "k": None, "v": None}, "missing"),
])
def test_mistakes(arguments, message):
    fine = {part: np.ones((2, 50, 4)) for part in "qkv"}
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        heads.audit(**{**fine, **arguments})
    assert "\n" not in str(caught.value)
