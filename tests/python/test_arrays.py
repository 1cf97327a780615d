"""Arrays without copies, and those of others."""

import array
import gc
import sys

import numpy as np
import pytest

import largo

QUERY = [0.5, -1.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_tokens_are_not_copied(dtype, order):
    tokens = np.asarray(np.random.default_rng(5).normal(size=(1000, 2)), dtype=dtype, order=order)
    prompt = largo.Prompt(tokens)
    assert np.shares_memory(prompt.tokens, tokens) and prompt.tokens.dtype == dtype
    assert prompt.tokens.__array_interface__["data"][0] == tokens.__array_interface__["data"][0]
    before = largo.attention(prompt, QUERY)
    tokens[:, 0] += 1  # the memory is shared, so that the change is seen
    np.testing.assert_allclose(largo.attention(prompt, QUERY) - before, [1, 0], atol=1e-5)
    with pytest.raises(ValueError):
        prompt.tokens[0, 0] = 1


def test_a_large_prompt_takes_no_memory():
    """100 MB of tokens attended: the peak of the process grows by less than a tenth of that."""
    import resource

    tokens = np.ones((1_600_000, 8))
    largo.attention(tokens[:1000], np.ones(8))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largo.attention(tokens, np.ones((3, 8)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # kB


def test_tokens_live_as_long_as_the_prompt():
    tokens = np.ones((100, 2))
    count = sys.getrefcount(tokens)
    prompt = largo.Prompt(tokens)
    assert sys.getrefcount(tokens) > count
    view = prompt.tokens
    del prompt
    gc.collect()
    assert sys.getrefcount(tokens) > count  # the view holds the prompt, and the prompt the tokens
    del view
    gc.collect()
    assert sys.getrefcount(tokens) == count


def test_fields_look_into_the_result():
    moments = largo.moments(np.linspace(1, 2, 5), 100)
    field = moments.P2
    del moments
    gc.collect()
    assert field[0] == largo.moments(1.0, 100).P2 and not field.flags.writeable and not field.flags.owndata


def test_buffers():
    numbers = array.array("d", [1, 2, 3, 4, 5, 6])
    tokens = memoryview(numbers).cast("B").cast("d", shape=[3, 2])
    assert np.array_equal(largo.attention(tokens, QUERY), largo.attention(np.array([[1.0, 2], [3, 4], [5, 6]]), QUERY))


class Exported:
    """Something that speaks DLPack and nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, *, stream=None):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    @property
    def shape(self):
        return self.values.shape


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dlpack(dtype):
    tokens = np.random.default_rng(6).normal(size=(50, 2)).astype(dtype)
    prompt = largo.Prompt(Exported(tokens))
    assert np.shares_memory(prompt.tokens, tokens)
    assert np.array_equal(largo.attention(Exported(tokens), Exported(np.array(QUERY))), largo.attention(tokens, QUERY))


def test_dlpack_everywhere():
    """Weights, directions, s, L and the matrices of a law, as arrays of JAX give them: a protocol and a shape."""
    eye, lengths, vector = Exported(np.eye(2)), Exported(np.array([10.0, 100.0])), Exported(np.array(QUERY))
    law = largo.Gaussian(Exported(np.zeros(2)), eye)
    assert np.array_equal(largo.attention(law, vector, K=eye, Q=eye, V=eye, score_scale="auto"), np.array(QUERY) / np.sqrt(2))
    assert np.array_equal(largo.moments(vector.values[0], lengths).mse, largo.moments(QUERY[0], [10, 100]).mse)
    assert largo.concentration(law, L=lengths, query=vector, U=eye).column("L").tolist() == [10, 100]
    assert largo.icl.risk(largo.icl.Problem(covariance=eye), lengths, point=(eye, 1.0)).value.shape == (2,)
    assert np.array_equal(law.tilt(vector).mean, QUERY)


class OnDevice(Exported):
    """On a device that NumPy cannot read: 2 is CUDA."""

    def __dlpack__(self, *, stream=None):
        raise BufferError("on a device")

    def __dlpack_device__(self):
        return 2, 0


def test_arrays_on_other_devices():
    with pytest.raises(TypeError, match="attention: prompt is OnDevice, which cannot be read as an array: .*device"):
        largo.attention(OnDevice(np.ones((3, 2))), QUERY)


def test_torch():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    for dtype in (torch.float64, torch.float32):
        tokens, queries = torch.randn(500, 4, dtype=dtype), torch.randn(3, 4, dtype=dtype)
        outputs = largo.attention(tokens, queries)
        expected = torch.softmax(queries.double() @ tokens.double().T, dim=1) @ tokens.double()
        np.testing.assert_allclose(outputs, expected.numpy(), atol=1e-5 if dtype == torch.float32 else 1e-12)
        assert largo.Prompt(tokens).tokens.__array_interface__["data"][0] == tokens.data_ptr()
    with pytest.raises(TypeError, match="grad"):
        largo.attention(torch.randn(5, 4, requires_grad=True), queries)
    with pytest.raises(TypeError):
        largo.attention(torch.randn(5, 4).to(torch.complex64), queries)


def test_jax():
    jax = pytest.importorskip("jax")
    tokens = jax.numpy.ones((5, 2))
    assert largo.attention(tokens, QUERY).tolist() == [1.0, 1.0]
