"""largo.torch: values and derivatives against PyTorch's own attention and against finite differences."""

import math

import numpy as np
import pytest

import largo

torch = pytest.importorskip("torch")
import largo.torch  # noqa: E402

double = torch.float64


def drawn(seed, *shape, scale=1.0, dtype=double, grad=True):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=double)).to(dtype).requires_grad_(grad)


def own(tokens, queries, U, V):
    """Attention in PyTorch alone."""
    return torch.softmax(queries @ U.T @ tokens.T, dim=1) @ tokens @ V.T


@pytest.mark.parametrize("seed", range(10))
def test_attention_passes_gradcheck(seed):
    L, d, e, o, n = [(1, 2, 2, 1, 1), (5, 3, 3, 2, 2), (40, 4, 2, 3, 3), (7, 1, 1, 1, 70), (12, 3, 5, 4, 1)][seed % 5]
    tokens, queries = drawn(seed, L, d), drawn(100 + seed, n, e, scale=0.7)
    V = drawn(300 + seed, o, d)
    if seed < 5:
        U = drawn(200 + seed, d, e, scale=0.7)
        assert torch.autograd.gradcheck(largo.torch.attention, (tokens, queries, U, V))
    else:
        K, Q = drawn(200 + seed, 2, d), drawn(250 + seed, 2, e)
        assert torch.autograd.gradcheck(
            lambda t, q, K, Q, V: largo.torch.attention(t, q, V=V, K=K, Q=Q, score_scale="auto"), (tokens, queries, K, Q, V))


LAWS = {"gaussian": lambda d: largo.law("gaussian:cov=toeplitz:0.5", d=d), "rademacher": largo.rademacher, "sphere": largo.Sphere,
        "mixture": lambda d: largo.Mixture([1, 2], [largo.law("gaussian", d=d), largo.Ball(d, 3.0)]),
        "prompt": lambda d: largo.Prompt(np.random.default_rng(1).normal(size=(9, d)))}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("seed", range(2))
def test_limit_passes_gradcheck(name, seed):
    d, e, o, n = [(2, 3, 2, 2), (3, 2, 1, 1)][seed]
    law = LAWS[name](d)
    assert torch.autograd.gradcheck(lambda q, U, V: largo.torch.limit(law, q, U, V),
                                    (drawn(seed, n, e), drawn(10 + seed, d, e), drawn(20 + seed, o, d)))


def test_agrees_with_attention_in_pytorch():
    tokens, queries, U, V = drawn(1, 3000, 5), drawn(2, 90, 4), drawn(3, 5, 4), drawn(4, 3, 5)
    slopes = drawn(5, 90, 3, grad=False)
    for found, expected in zip(gradients(largo.torch.attention, tokens, queries, U, V, slopes),
                               gradients(own, tokens, queries, U, V, slopes)):
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


def gradients(function, tokens, queries, U, V, slopes):
    arguments = [one.detach().requires_grad_() for one in (tokens, queries, U, V)]
    output = function(*arguments)
    output.backward(slopes)
    return [output.detach(), *(one.grad for one in arguments)]


def test_one_query_is_a_vector():
    tokens, query = drawn(1, 6, 2, grad=False), drawn(2, 2)
    output = largo.torch.attention(tokens, query)
    assert output.shape == (2,)
    output.sum().backward()
    assert query.grad.shape == (2,)
    torch.testing.assert_close(output.detach(), own(tokens, query[None], torch.eye(2, dtype=double), torch.eye(2, dtype=double))[0].detach())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_types_come_back_as_they_were(dtype):
    tokens, queries = drawn(1, 50, 3, dtype=dtype), drawn(2, 4, 3, dtype=dtype)
    output = largo.torch.attention(tokens, queries)
    assert output.dtype == dtype
    output.float().sum().backward()
    assert tokens.grad.dtype == queries.grad.dtype == dtype
    expected = own(tokens.detach().double(), queries.detach().double(), torch.eye(3, dtype=double), torch.eye(3, dtype=double))
    torch.testing.assert_close(output.detach().double(), expected, rtol=0, atol=max(2e-6, 4 * torch.finfo(dtype).eps))


def test_a_descent_finds_the_limit():
    """U trained so that the limit of sphere tokens is half of its saturation; plain autograd around largo's function."""
    law, query = largo.Sphere(3), torch.tensor([[1.0, 0.0, 0.0]], dtype=double)
    scale = torch.tensor(0.1, dtype=double, requires_grad=True)
    optimiser = torch.optim.Adam([scale], lr=0.1)
    for _ in range(300):
        optimiser.zero_grad()
        loss = (largo.torch.limit(law, query, scale * torch.eye(3, dtype=double))[0, 0] - 0.5) ** 2
        loss.backward()
        optimiser.step()
    a = float(scale.detach())
    assert 1 / math.tanh(a) - 1 / a == pytest.approx(0.5, abs=1e-4)


def test_modules_replace_a_head():
    law = largo.Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
    U, V, queries = drawn(1, 2, 3, grad=False), drawn(2, 4, 2, grad=False), drawn(3, 5, 3, grad=False)
    head, straight = largo.torch.Limit(law, U, V), largo.torch.affine(law, U, V)
    torch.testing.assert_close(head(queries), straight(queries), rtol=1e-13, atol=1e-13)
    head(queries).sum().backward()
    assert {name for name, one in head.named_parameters() if one.grad is not None} == {"U", "V"}
    assert largo.torch.Limit(law, U, V).double().state_dict()["U"].equal(U)


@pytest.mark.parametrize("call, error, words", [
    (lambda: largo.torch.attention([[1.0]], torch.ones(1)), TypeError, "tokens are of type list"),
    (lambda: largo.torch.attention(largo.Sphere(2), torch.ones(2)), TypeError, "for a law use limit"),
    (lambda: largo.torch.limit(torch.ones(2, 2), torch.ones(2)), TypeError, "for a prompt use attention"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(3)), ValueError, "give U, 2 x 3"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(3), torch.ones(2, 2)), ValueError, "U is 2 x 2, must be 2 x 3"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(2), V=torch.ones(2, 3)), ValueError, "V is 2 x 3"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(2), K=torch.ones(2, 2)), ValueError, "K and Q go together"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(2), torch.ones(2, 2), K=torch.ones(2, 2), Q=torch.ones(2, 2)),
     ValueError, "either U, or K and Q"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(2), K=torch.ones(3, 2), Q=torch.ones(2, 2)), ValueError, "K is 3 x 2"),
    (lambda: largo.torch.attention(torch.ones(3, 2), torch.ones(2), score_scale="half"), ValueError, "score_scale"),
    (lambda: largo.torch.attention(torch.ones(3), torch.ones(1)), ValueError, "must be a matrix"),
    (lambda: largo.torch.attention(torch.ones(3, 2, dtype=torch.int64), torch.ones(2)), ValueError, "real numbers"),
    (lambda: largo.torch.attention(torch.full((3, 2), math.nan), torch.ones(2)), ValueError, "nan"),
    (lambda: largo.torch.attention(torch.ones(3, 2, device="meta"), torch.ones(2)), ValueError, "on the CPU"),
    (lambda: largo.torch.affine(largo.Sphere(2), torch.ones(3, 3), torch.ones(2, 2)), ValueError, "U is 3 x 3"),
])
def test_mistakes_are_told_in_a_line(call, error, words):
    with pytest.raises(error) as told:
        call()
    assert words in str(told.value) and "\n" not in str(told.value)


def test_derivatives_of_second_order_are_refused():
    query, U = drawn(1, 2), drawn(2, 2, 2)
    with pytest.raises(RuntimeError, match="second order"):
        torch.autograd.grad(largo.torch.limit(largo.Sphere(2), query, U).sum(), query, create_graph=True)
