"""Attention on laws and prompts."""

from __future__ import annotations

import math
from typing import Dict, Optional, Tuple, Union

import numpy as np

from . import _largo
from ._arguments import ArrayInput, LawInput, MatrixInput, as_matrix, dimension_of
from ._results import Array

_Weights = Tuple[Optional[ArrayInput], ArrayInput, Optional[ArrayInput], Optional[ArrayInput], float]


def _weights(
    prompt: LawInput,
    U: Optional[MatrixInput],
    V: Optional[MatrixInput],
    K: Optional[MatrixInput],
    Q: Optional[MatrixInput],
    scale: Union[float, str],
) -> _Weights:
    d = dimension_of(prompt, "attention: prompt")
    values = as_matrix("identity" if V is None else V, None, d)
    if (K is None) != (Q is None):
        raise ValueError("attention: K and Q go together")
    if K is not None and Q is not None:
        if U is not None:
            raise ValueError("attention: give either U, or K and Q")
        keys = as_matrix(K, None, d)
        rank = np.shape(keys)[0]  # type: ignore[arg-type]
        return None, values, keys, as_matrix(Q, rank), _scale(scale, rank)
    return as_matrix("identity" if U is None else U, d), values, None, None, _scale(scale, d)


def _scale(scale: Union[float, str], keys: int) -> float:
    if isinstance(scale, str):
        if scale != "auto":
            raise ValueError(f"attention: scale is '{scale}', must be a number or 'auto' (1/√(key dimension))")
        return 1 / math.sqrt(keys)
    return float(scale)


def attention(
    prompt: LawInput,
    queries: ArrayInput,
    *,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    kind: str = "softmax",
    scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Array:
    """Softmax or linear attention over a prompt, finite or infinite.

        softmax   T[μ](z)     = V ∫ e^<z',a> z' dμ(z') / ∫ e^<z',a> dμ(z'),     a = scale · U z
        linear    T_lin[μ](z) = V ∫ <z',a> z' dμ(z')

    `prompt` is a law (an infinite prompt) or a matrix with a token in each row (a finite one): C-contiguous float64 and
    float32 are read in place. `queries` are (e,) or (n, e), the outputs (o,) or (n, o). U is d x e and V is o x d, both
    the identity where they are not given; K (r x d) and Q (r x e) stand for U = KᵀQ; scale="auto" is 1/√r.

    Over Gaussian tokens N(m, Γ) the infinite prompt is an affine map, z -> V m + V Γ U z:

    >>> import numpy as np, largo
    >>> law = largo.law("gaussian:cov=toeplitz:0.5", d=3)
    >>> largo.attention(law, [1, 0, -1], U="0.5*identity")
    array([ 0.375,  0.   , -0.375])
    >>> prompt = law.sample(1000, seed=1)
    >>> largo.attention(prompt, [1, 0, -1], U="0.5*identity").round(6)
    array([ 0.391212,  0.020004, -0.350799])
    """
    weights = _weights(prompt, U, V, K, Q, scale)
    return _largo.attend(prompt, queries, *weights[:4], kind, weights[4], threads)


def attention_vjp(
    prompt: LawInput,
    queries: ArrayInput,
    cotangents: ArrayInput,
    *,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    kind: str = "softmax",
    scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Dict[str, Array]:
    """The gradient of Σ_q <cotangent_q, T(z_q)> in U and V, or in K, Q and V.

    `cotangents` are (o,) or (n, o), as the outputs of `attention`; the gradients have the shapes of the weights. For a
    prompt it costs twice as much as `attention`.

    >>> import largo
    >>> largo.attention_vjp(largo.law("gaussian", d=2), [1.0, 2.0], [1.0, 0.0])["V"]
    array([[1., 2.],
           [0., 0.]])
    """
    weights = _weights(prompt, U, V, K, Q, scale)
    return _largo.attend_vjp(prompt, queries, cotangents, *weights[:4], kind, weights[4], threads)


def attention_jacobian(
    prompt: LawInput,
    queries: ArrayInput,
    *,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    kind: str = "softmax",
    scale: Union[float, str] = 1.0,
    threads: int = 0,
) -> Dict[str, Array]:
    """All derivatives of the outputs: entry [k, i, j] (or [q, k, i, j]) of "U" is ∂T_k(z_q)/∂U_ij.

    >>> import largo
    >>> jacobian = largo.attention_jacobian(largo.Sphere(3), [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> jacobian["U"].shape, jacobian["V"].shape
    ((2, 3, 3, 3), (2, 3, 3, 3))
    """
    weights = _weights(prompt, U, V, K, Q, scale)
    return _largo.attend_jacobian(prompt, queries, *weights[:4], kind, weights[4], threads)
