"""Attention and its limit as differentiable functions of PyTorch.

    attention(tokens, queries, U, V)    softmax attention over a prompt, with the kernel of largo: nothing of size
                                        L x queries is stored, forwards or backwards
    limit(law, queries, U, V)           the same over the infinite prompt of a law
    Limit(law, U, V), affine(law, U, V) modules that replace a head by its limit

Both functions have first derivatives in queries, U, V, K and Q; attention also in the tokens. Tensors are on the CPU. The
arithmetic is in float64 (over tokens in float32, in float32), and outputs have the widest type of the arguments. Derivatives of
second order are not available.

>>> import torch, largo
>>> import largo.torch
>>> U = torch.tensor([[0.5, 0.0], [0.0, 0.5]], dtype=torch.float64, requires_grad=True)
>>> law = largo.law("gaussian", d=2)
>>> output = largo.torch.limit(law, torch.tensor([2.0, 0.0], dtype=torch.float64), U)
>>> output.detach()
tensor([1., 0.], dtype=torch.float64)
>>> output[0].backward()
>>> U.grad
tensor([[2., 0.],
        [0., 0.]], dtype=torch.float64)
"""

from __future__ import annotations

import math
from typing import Any, Optional, Tuple, Union

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError("largo.torch works with PyTorch, which is not installed: pip install torch") from error

from . import _largo
from ._largo import Law
from ._results import Array

__all__ = ["Limit", "affine", "attention", "limit"]

Tensor = Any  # torch.Tensor, where PyTorch has no types
_QUERIES = 64  # of one block of weights, in the derivative in the tokens


def attention(
    tokens: Tensor,
    queries: Tensor,
    U: Optional[Tensor] = None,
    V: Optional[Tensor] = None,
    *,
    K: Optional[Tensor] = None,
    Q: Optional[Tensor] = None,
    score_scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Tensor:
    """Softmax attention over a prompt, for autograd: V Σ_l p_l z_l with p ∝ e^<z_l, a>, a = score_scale · U z.

    `tokens` are (L, d), `queries` (e,) or (n, e), U is d x e and V is o x d; both default to the identity. K (r x d) and Q
    (r x e) stand for U = KᵀQ; score_scale="auto" is 1/√r. Forwards and backwards together take three passes over the tokens
    for each 64 queries. The derivative in the tokens needs two arrays of L x 64 numbers at most, and is only
    computed where it is asked for.

    >>> import torch, largo
    >>> import largo.torch
    >>> tokens = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    >>> V = torch.eye(2, dtype=torch.float64, requires_grad=True)
    >>> largo.torch.attention(tokens, torch.tensor([0.5, 0.0]), V=V)[0].backward()
    >>> V.grad[0, 0]
    tensor(0.4621, dtype=torch.float64)
    """
    if not isinstance(tokens, torch.Tensor):
        raise TypeError(f"attention: tokens are of type {type(tokens).__name__}, must be a torch.Tensor; for a law use limit")
    _check("attention", "tokens", tokens, (2,))
    prompt = tokens if tokens.dtype in (torch.float32, torch.float64) else tokens.to(torch.float32)
    return _attend("attention", prompt, tokens.shape[1], tokens.dtype, queries, U, V, K, Q, score_scale, threads)


def limit(
    law: Law,
    queries: Tensor,
    U: Optional[Tensor] = None,
    V: Optional[Tensor] = None,
    *,
    K: Optional[Tensor] = None,
    Q: Optional[Tensor] = None,
    score_scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Tensor:
    """Softmax attention over the infinite prompt of a law, for autograd; shapes as in `attention`.

    >>> import torch, largo
    >>> import largo.torch
    >>> query = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> largo.torch.limit(largo.rademacher(2), query).sum().backward()       # tanh, coordinate by coordinate
    >>> query.grad
    tensor([0.4200, 0.0707], dtype=torch.float64)
    """
    if not isinstance(law, Law):
        raise TypeError(f"limit: law is of type {type(law).__name__}, must be a largo.Law; for a prompt use attention")
    return _attend("limit", law, law.dimension, None, queries, U, V, K, Q, score_scale, threads)


class Limit(torch.nn.Module):  # type: ignore
    """A head replaced by its limit: queries (n, e) to outputs (n, o), with U and V as parameters.

    >>> import torch, largo
    >>> import largo.torch
    >>> head = largo.torch.Limit(largo.Sphere(3), U=torch.eye(3), V=torch.eye(3))
    >>> head(torch.tensor([[3.0, 0.0, 0.0]])).detach()
    tensor([[0.6716, 0.0000, 0.0000]])
    """

    def __init__(self, law: Law, U: Tensor, V: Tensor) -> None:
        super().__init__()
        self.law = law
        self.U = torch.nn.Parameter(U.detach().clone())
        self.V = torch.nn.Parameter(V.detach().clone())

    def forward(self, queries: Tensor) -> Tensor:
        """The limit at each query."""
        return limit(self.law, queries, self.U, self.V)


def affine(law: Law, U: Tensor, V: Tensor) -> Tensor:
    """The limit over Gaussian tokens N(m, Γ) as a torch.nn.Linear: weight VΓU and bias Vm.

    For other laws it is the limit for Gaussian tokens of the same mean and covariance.

    >>> import torch, largo
    >>> import largo.torch
    >>> head = largo.torch.affine(largo.law("gaussian:cov=toeplitz:0.5", d=2), U=torch.eye(2), V=2 * torch.eye(2))
    >>> head.weight.detach()
    tensor([[2., 1.],
            [1., 2.]])
    """
    _check("affine", "U", U, (2,))
    _check("affine", "V", V, (2,))
    if U.shape[0] != law.dimension or V.shape[1] != law.dimension:
        raise ValueError(f"affine: U is {_shape(U)} and V is {_shape(V)}, must be {law.dimension} x e and o x {law.dimension}")
    mean, covariance = torch.from_numpy(np.array(law.mean())), torch.from_numpy(np.array(law.covariance()))
    head = torch.nn.Linear(U.shape[1], V.shape[0], dtype=torch.promote_types(U.dtype, V.dtype))
    with torch.no_grad():
        wide_V = V.detach().to(torch.float64)
        head.weight.copy_(wide_V @ covariance @ U.detach().to(torch.float64))
        head.bias.copy_(wide_V @ mean)
    return head


def _shape(tensor: Tensor) -> str:
    return " x ".join(str(size) for size in tensor.shape)


def _check(function: str, name: str, tensor: Tensor, dimensions: Tuple[int, ...]) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{function}: {name} is of type {type(tensor).__name__}, must be a torch.Tensor")
    if tensor.device.type != "cpu":
        raise ValueError(f"{function}: {name} is on {tensor.device}, must be on the CPU: use {name}.cpu()")
    if tensor.dim() not in dimensions or not tensor.dtype.is_floating_point:
        wanted = " or ".join({1: "a vector", 2: "a matrix"}[d] for d in dimensions)
        raise ValueError(f"{function}: {name} has shape {tuple(tensor.shape)} and type {tensor.dtype}, must be {wanted} of real numbers")


def _attend(
    function: str, prompt: Any, d: int, dtype: Any, queries: Tensor, U: Optional[Tensor], V: Optional[Tensor],
    K: Optional[Tensor], Q: Optional[Tensor], score_scale: Union[float, str], threads: int,
) -> Tensor:
    _check(function, "queries", queries, (1, 2))
    for name, matrix in (("U", U), ("V", V), ("K", K), ("Q", Q)):
        if matrix is not None:
            _check(function, name, matrix, (2,))
    if (K is None) != (Q is None):
        raise ValueError(f"{function}: K and Q go together")
    if K is not None and U is not None:
        raise ValueError(f"{function}: give either U, or K and Q")
    if isinstance(score_scale, str):
        if score_scale != "auto":
            raise ValueError(f"{function}: score_scale is '{score_scale}', must be a number or 'auto' (1/√(key dimension))")
        score_scale = 1 / math.sqrt(d if K is None else K.shape[0])
    result = queries.dtype if dtype is None else torch.promote_types(queries.dtype, dtype)
    for matrix in (U, V, K, Q):
        result = result if matrix is None else torch.promote_types(result, matrix.dtype)

    def wide(matrix: Tensor) -> Tensor:
        return matrix.to(torch.float64)

    rows = wide(queries if queries.dim() == 2 else queries[None])
    # What the weights depend on: the direction a = U z of each query. Autograd knows the rest.
    if K is not None and Q is not None:
        if rows.shape[1] != Q.shape[1] or K.shape[0] != Q.shape[0] or K.shape[1] != d:
            raise ValueError(f"{function}: K is {_shape(K)}, Q {_shape(Q)}, with tokens of {d} and queries of {rows.shape[1]} "
                             "coordinates: K is r x d, Q is r x e")
        directions = (rows @ wide(Q).T) @ wide(K)
    elif U is not None:
        if rows.shape[1] != U.shape[1] or U.shape[0] != d:
            raise ValueError(f"{function}: U is {_shape(U)}, must be {d} x {rows.shape[1]}, with a column for each coordinate "
                             "of the queries")
        directions = rows @ wide(U).T
    else:
        if rows.shape[1] != d:
            raise ValueError(f"{function}: queries have {rows.shape[1]} coordinates and tokens {d}: give U, {d} x {rows.shape[1]}")
        directions = rows
    if V is not None and V.shape[1] != d:
        raise ValueError(f"{function}: V is {_shape(V)}, must have {d} columns")
    values = torch.eye(d, dtype=torch.float64) if V is None else wide(V)
    outputs = _Attention.apply(prompt, score_scale * directions, values, threads).to(result)
    return outputs if queries.dim() == 2 else outputs[0]


class _Attention(torch.autograd.Function):  # type: ignore
    """Outputs for the directions a_q, as those of queries e_q and a U with the columns a_q.

    So one call has the derivatives in all directions: those in the columns of this U.
    """

    @staticmethod
    def forward(ctx: Any, prompt: Any, directions: Tensor, values: Tensor, threads: int) -> Tensor:
        tokens = prompt if isinstance(prompt, torch.Tensor) else None
        queries, columns = _columns(directions)
        outputs = torch.from_numpy(np.asarray(_largo.attention(
            _contents(prompt), queries, columns, values.detach().numpy(), None, None, "softmax", 1.0, threads)))
        ctx.law, ctx.threads = (None if tokens is not None else prompt), threads
        ctx.save_for_backward(*([] if tokens is None else [tokens]), directions, values, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> Any:
        # With create_graph, autograd would take these slopes for constants, and second derivatives would be wrong.
        if torch.is_grad_enabled():
            raise RuntimeError("largo.torch has no derivatives of second order: call backward without create_graph")
        *tokens, directions, values, outputs = ctx.saved_tensors
        slopes = slopes.contiguous()
        prompt = ctx.law if ctx.law is not None else tokens[0]
        queries, columns = _columns(directions)
        found = _largo.attention_vjp(_contents(prompt), queries, slopes.numpy(), columns, values.detach().numpy(),
                                     None, None, "softmax", 1.0, ctx.threads)
        of_tokens = _slopes_of_tokens(tokens[0], directions, values, outputs, slopes) if ctx.needs_input_grad[0] else None
        return of_tokens, torch.from_numpy(np.asarray(found["U"])).T, torch.from_numpy(np.asarray(found["V"])), None


def _contents(prompt: Any) -> Any:
    return prompt.detach().contiguous().numpy() if isinstance(prompt, torch.Tensor) else prompt


def _columns(directions: Tensor) -> Tuple[Array, Array]:
    """Queries e_q, and the matrix with these directions as columns."""
    return np.eye(directions.shape[0]), directions.detach().numpy().T.copy()


def _slopes_of_tokens(tokens: Tensor, directions: Tensor, values: Tensor, outputs: Tensor, slopes: Tensor) -> Tensor:
    """∂/∂z_l Σ_q <slope_q, T_q> = Σ_q p_ql { Vᵀ slope_q + <slope_q, V z_l - T_q> a_q }."""
    tokens = tokens.detach()
    columns, result = tokens.T, torch.zeros_like(tokens)
    for first in range(0, directions.shape[0], _QUERIES):
        block = slice(first, first + _QUERIES)
        a, slope = directions[block].to(tokens.dtype), slopes[block]
        pulled = (slope @ values).to(tokens.dtype)
        centres = (slope * outputs[block]).sum(1).to(tokens.dtype)
        weights = torch.softmax(a @ columns, dim=1)
        scaled = torch.addmm(centres[:, None], pulled, columns, beta=-1).mul_(weights)
        result.addmm_(weights.T, pulled).addmm_(scaled.T, a)
    return result


