"""Attention on laws and prompts."""

from __future__ import annotations

from typing import Dict, Optional, Union

from . import _largo
from ._arguments import ArrayInput, LawInput, MatrixInput
from ._results import Array


def attention(
    prompt: LawInput,
    queries: ArrayInput,
    *,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    attention: str = "softmax",
    score_scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Array:
    """Softmax or linear attention over a prompt, finite or infinite.

        softmax   T[μ](z)     = V ∫ e^<z',a> z' dμ(z') / ∫ e^<z',a> dμ(z'),     a = score_scale · U z
        linear    T_lin[μ](z) = V ∫ <z',a> z' dμ(z')

    `prompt` is a law (an infinite prompt) or a matrix with a token in each row (a finite one); C-contiguous float64 and
    float32 are read in place. `queries` are (e,) or (n, e), and the outputs are (o,) or (n, o). U is d x e and V is o x d;
    both default to the identity. K (r x d) and Q (r x e) stand for U = KᵀQ; score_scale="auto" is 1/√r.

    Over Gaussian tokens N(m, Γ) the infinite prompt is an affine map, z -> V m + V Γ U z:

    >>> import numpy as np, largo
    >>> law = largo.law("gaussian:cov=toeplitz:0.5", d=3)
    >>> largo.attention(law, [1, 0, -1], U="0.5*identity")
    array([ 0.375,  0.   , -0.375])
    >>> prompt = law.sample(1000, seed=1)
    >>> largo.attention(prompt, [1, 0, -1], U="0.5*identity").round(6)
    array([ 0.391212,  0.020004, -0.350799])
    """
    return _largo.attention(prompt, queries, U, V, K, Q, attention, score_scale, threads)


def attention_vjp(
    prompt: LawInput,
    queries: ArrayInput,
    cotangents: ArrayInput,
    *,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    attention: str = "softmax",
    score_scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Dict[str, Array]:
    """The gradient of Σ_q <cotangent_q, T(z_q)> in U and V, or in K, Q and V.

    `cotangents` are (o,) or (n, o), like the outputs of `attention`; the gradients have the shapes of the weights. For a
    prompt this costs twice as much as `attention`.

    >>> import largo
    >>> largo.attention_vjp(largo.law("gaussian", d=2), [1.0, 2.0], [1.0, 0.0])["V"]
    array([[1., 2.],
           [0., 0.]])
    """
    return _largo.attention_vjp(prompt, queries, cotangents, U, V, K, Q, attention, score_scale, threads)


def attention_jacobian(
    prompt: LawInput,
    queries: ArrayInput,
    *,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    attention: str = "softmax",
    score_scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Dict[str, Array]:
    """All derivatives of the outputs: entry [k, i, j] (or [q, k, i, j]) of "U" is ∂T_k(z_q)/∂U_ij.

    >>> import largo
    >>> jacobian = largo.attention_jacobian(largo.Sphere(3), [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> jacobian["U"].shape, jacobian["V"].shape
    ((2, 3, 3, 3), (2, 3, 3, 3))
    """
    return _largo.attention_jacobian(prompt, queries, U, V, K, Q, attention, score_scale, threads)
