"""In-context learning with one attention head: risks, training and thresholds at every prompt length.

REGRESSION  The task is w ~ N(0, Ω). Tokens are (x_i, y_i) with x_i ~ N(0, Σ), y_i = <w, x_i> + ε_i, ε_i ~ N(0, τ²). The
query is (x_q, 0) with x_q ~ N(0, Σ_q). The head predicts <v, T(x_q, 0)>, where T is softmax (or linear) attention with
scores <z_i, U (x_q, 0)>. Its risk is R_L = ½ E (prediction - <w, x_q>)². On the invariant set U = [[A, 0], [0, 0]], v = (0,
b). L = math.inf is the infinite prompt, by the same calls.

    Problem                                                  the covariances and the noise
    risk, gradient, floor, sampled_risk                      at any L; all exact except the last
    start, limit, best_linear, largest_alpha                 what the paper proves about training
    train, threshold                                         flows and stochastic descent; the L that is long enough

ANY TASK, ANY LOSS  prompt_risk(task, L, ...) and its gradient, over drawn prompts

    Classification                                           two Gaussian classes
    Task                                                     subclass it to define your own task by its draw(uniforms)

>>> import math, largo
>>> problem = largo.icl.Problem(d=5)
>>> point = largo.icl.limit(problem)
>>> largo.icl.risk(problem, [100, 1e6, math.inf], point=point).value.round(8)
array([0.44518126, 0.00046841, 0.        ])
>>> largo.icl.threshold(problem, 0.01).L
4745.0
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _largo
from ._arguments import (ArrayInput, LawInput, LengthInput, MatrixInput, Progress, as_length_laws, as_lengths, as_list, as_progress, shaped)
from ._largo import Classification, Task
from ._results import Array, Estimate, Point

__all__ = ["Problem", "Point", "Estimate", "Gradient", "PromptRisk", "Threshold", "Run", "Task", "Classification", "risk",
           "sampled_risk", "floor", "gradient", "start", "limit", "best_linear", "largest_alpha", "train", "threshold",
           "prompt_risk"]

#: (A, b), with A as an array or by its name.
PointInput = Union[Point, Tuple[MatrixInput, float]]
#: A loss by its name, or a function (output, target) -> (value, slope).
LossInput = Union[str, Callable[[float, float], Tuple[float, float]]]


def _matrix_text(matrix: Array) -> str:
    """Text for a matrix: a multiple of the identity by name, a small matrix by its entries, a larger one by size and
    trace."""
    if np.array_equal(matrix, matrix[0, 0] * np.eye(len(matrix))):
        return "identity" if matrix[0, 0] == 1 else f"{matrix[0, 0]:g}*identity"
    if len(matrix) <= 3:
        return "[" + ", ".join("[" + ", ".join(f"{x:g}" for x in row) + "]" for row in matrix) + "]"
    return f"{len(matrix)}x{len(matrix)} of trace {np.trace(matrix):g}"


class Problem:
    """The task. What is not given comes from the preset: "paper" (covariances I, no noise), "published" or
    "published-code".

    Matrices are arrays or names ("toeplitz:0.5"); `noise` is a variance, `score_scale` multiplies the scores.

    >>> import largo
    >>> largo.icl.Problem(covariance=[[2.0, 0.5], [0.5, 1.0]], noise=0.1).null_risk
    1.5
    """

    def __init__(self, d: Optional[int] = None, *, covariance: Optional[MatrixInput] = None,
                 query_covariance: Optional[MatrixInput] = None, prior: Optional[MatrixInput] = None,
                 noise: Optional[float] = None, score_scale: Optional[float] = None, preset: str = "paper") -> None:
        self._problem = _largo.Problem(preset, d, covariance, query_covariance, prior, noise, score_scale)
        self.preset = preset

    @property
    def dimension(self) -> int:
        """d, the dimension of the covariates."""
        return self._problem.dimension

    @property
    def covariance(self) -> Array:
        """Σ, the covariance of the covariates."""
        return self._problem.covariance

    @property
    def query_covariance(self) -> Array:
        """Σ_q, the covariance of the query."""
        return self._problem.query_covariance

    @property
    def prior(self) -> Array:
        """Ω, the covariance of the task."""
        return self._problem.prior

    @property
    def noise(self) -> float:
        """τ², the variance of the noise of the labels."""
        return self._problem.noise

    @property
    def score_scale(self) -> float:
        """The factor of the scores."""
        return self._problem.score_scale

    @property
    def null_risk(self) -> float:
        """½ tr ΩΣ_q, the risk of predicting zero."""
        return self._problem.null_risk

    def __repr__(self) -> str:
        return (f"<largo.icl.Problem d={self.dimension} covariance={_matrix_text(self.covariance)} noise={self.noise:g} "
                f"preset={self.preset}>")


class Gradient(NamedTuple):
    """The risk at (A, b), an estimate of its error, and its gradient: (d, d) in A. Each has the shape of L in front."""

    value: Union[float, Array]
    error: Union[float, Array]
    A: Array
    b: Union[float, Array]


class PromptRisk(NamedTuple):
    """A risk over drawn prompts, its standard error, and its gradient in U and v. Each has the shape of L in front."""

    value: Union[float, Array]
    error: Union[float, Array]
    U: Array
    v: Array


@dataclass(frozen=True)
class Threshold:
    """The smallest L whose trained risk is within epsilon of the limit. `before` is the length just below; `tried` has all
    lengths that were tried."""

    epsilon: float
    L: float
    risk: float
    limit: float
    before: Tuple[float, float]
    tried: Tuple[Tuple[float, float], ...]


@dataclass(frozen=True)
class Run:
    """One training at one length: its path in time, its end, and its distance from the run of the infinite prompt.

    `times`, `risks` and `gradient_norms` are (n,); `U_path` is (n, d+1, d+1), `v_path` (n, d+1). `details` has everything
    else that is known: "record_error" (the error of the `risks` of a flow at the recorded parameters; `risk_error` of the
    last one also includes how far the flow itself may be off), "balance_drift", "distances_to_limit_flow", "gradient_gap",
    "distances_to_flow", "noise", "predicted_noise", "distance_to_theorem_limit", and "flat" (the flow stopped in a valley
    too flat to be told from rounding). For flows off the invariant set, `risk_error` includes how far averages over tasks
    move their ends (docs/icl.md).
    """

    L: Union[float, str]
    attention: str
    method: str
    seed: int
    final_risk: float
    risk_error: float
    stationary: bool
    steps: int
    U: Array = field(repr=False)
    v: Array = field(repr=False)
    times: Array = field(repr=False)
    risks: Array = field(repr=False)
    gradient_norms: Array = field(repr=False)
    U_path: Array = field(repr=False)
    v_path: Array = field(repr=False)
    details: Mapping[str, Any] = field(repr=False)

    @property
    def A(self) -> Array:
        """A at the end, on the invariant set: the upper left block of U."""
        return self.U[:-1, :-1]

    @property
    def b(self) -> float:
        """b at the end, on the invariant set: the last entry of v."""
        return float(self.v[-1])


def _checked(problem: Any, function: str) -> _largo.Problem:
    """The problem itself, or a TypeError that says what to do with a task."""
    if isinstance(problem, Problem):
        return problem._problem
    hint = ": other tasks have icl.prompt_risk, and largo.training to train on it" if isinstance(problem, Task) else ""
    raise TypeError(f"{function}: problem is {type(problem).__name__}, must be an icl.Problem{hint}")


def _estimate(result: Tuple[Array, Array], shape: Tuple[int, ...]) -> Estimate:
    return Estimate(shaped(result[0], shape), shaped(result[1], shape))


def risk(problem: Problem, L: LengthInput, *, point: Optional[PointInput] = None, U: Optional[MatrixInput] = None,
         v: Optional[ArrayInput] = None, attention: str = "softmax", nodes: int = 65536, seed: int = 1,
         threads: int = 0, progress: Progress = None) -> Estimate:
    """R_L at (A, b) = `point` or at any (U, v). It is exact: nothing is sampled.

    `error` is an estimate of the numerical error from above: the change of the value if every other node of the rules is
    left out. Off the invariant set and above 32 dimensions, the part beyond R_∞ is instead an average over `nodes` tasks,
    and `error` is 5.41 standard errors of it.

    `L` is one length or an array of lengths, finite or ∞; the result has its shape. A text is a law of random lengths:
    "uniform:1:100" (the positions of a causal prompt), "geometric:50", "10=0.5,100=0.5".

    >>> import largo
    >>> problem = largo.icl.Problem(5, covariance="toeplitz:0.5", noise=0.1)
    >>> round(largo.icl.risk(problem, 100, point=("0.5*identity", 2.0)).value, 7)
    1.9690966
    """
    lengths, shape = as_length_laws(L)
    return _estimate(_largo.icl_risk(_checked(problem, "icl.risk"), lengths, point, U, v, attention, nodes, seed, threads,
                                     as_progress(progress, "icl.risk")), shape)


def sampled_risk(problem: Problem, L: ArrayInput, covariates: LawInput, *, point: Optional[PointInput] = None,
                 U: Optional[MatrixInput] = None, v: Optional[ArrayInput] = None, attention: str = "softmax",
                 prompts: int = 2000, seed: int = 1, threads: int = 0, progress: Progress = None) -> Estimate:
    """R_L for covariates and queries of any law, by sampling `prompts` prompts; at L = ∞ the law itself takes their place.

    >>> import largo
    >>> coins = largo.law("rademacher", d=3)
    >>> round(largo.icl.sampled_risk(largo.icl.Problem(3), 100, coins, point=("identity", 1.0)).value, 9)
    0.098995874
    """
    lengths, shape = as_lengths(L)
    return _estimate(_largo.icl_sampled_risk(_checked(problem, "icl.sampled_risk"), covariates, lengths, point, U, v, attention,
                                             prompts, seed, threads, as_progress(progress, "icl.sampled_risk")), shape)


def floor(problem: Problem, L: ArrayInput, *, prompts: int = 20000, seed: int = 1, threads: int = 0) -> Estimate:
    """The Bayes risk over L tokens, which is that of ridge regression: no predictor does better. The error is 0 if it is
    exact.

    >>> import largo
    >>> float(largo.icl.floor(largo.icl.Problem(5), 3).value)
    1.0
    """
    lengths, shape = as_lengths(L)
    return _estimate(_largo.icl_floor(_checked(problem, "icl.floor"), lengths, prompts, seed, threads), shape)


def gradient(problem: Problem, L: LengthInput, point: PointInput, *, attention: str = "softmax") -> Gradient:
    """R_L at (A, b) and its gradient there, at one length or many.

    >>> import math, largo
    >>> problem = largo.icl.Problem(2)
    >>> largo.icl.gradient(problem, math.inf, largo.icl.limit(problem)).b
    0.0
    """
    lengths, shape = as_length_laws(L)
    value, error, A, b = _largo.icl_gradient(_checked(problem, "icl.gradient"), lengths, point, attention)
    d = problem.dimension
    return Gradient(shaped(value, shape), shaped(error, shape), A.reshape(*shape, d, d), shaped(b, shape))


def prompt_risk(task: Task, L: ArrayInput, *, point: Optional[PointInput] = None, U: Optional[MatrixInput] = None,
                v: Optional[ArrayInput] = None, loss: LossInput = "squared", attention: str = "softmax",
                score_scale: float = 1.0, prompts: int = 2000, seed: int = 1, threads: int = 0,
                progress: Progress = None) -> PromptRisk:
    """E ℓ(<v, T(z_q)>, y) of a head on any task, and its gradient, averaged over `prompts` draws of task, prompt and query.

    The head is (U, v), or U = [[A, 0], [0, 0]] and v = (0, b) at a `point` (A, b). `loss` is "squared", ½(o - y)²,
    "logistic", log(1 + e^{-yo}), or a function (o, y) -> (ℓ, ∂ℓ/∂o). With the same seed, every L, finite or ∞, has the same
    tasks and queries, and the tokens of a shorter prompt are the first ones of a longer one.

    >>> import largo
    >>> task = largo.icl.Classification(1.2, [[1.0, 0.0], [0.0, 0.25]])
    >>> risk = largo.icl.prompt_risk(task, [20, 200], point=("identity", 2.0), loss="logistic", prompts=200)
    >>> risk.value.shape, risk.U.shape, risk.v.shape
    ((2,), (2, 3, 3), (2, 3))
    """
    lengths, shape = as_lengths(L)
    value, error, slope_U, slope_v = _largo.icl_prompt_risk(task, lengths, point, U, v, loss, attention, score_scale, prompts,
                                                            seed, threads, as_progress(progress, "icl.prompt_risk"))
    return PromptRisk(shaped(value, shape), shaped(error, shape), slope_U.reshape(*shape, *slope_U.shape[1:]),
                      slope_v.reshape(*shape, *slope_v.shape[1:]))


def largest_alpha(problem: Problem) -> float:
    """The α below which the paper proves that training on infinite prompts ends at the global minimum.

    >>> import largo
    >>> 0 < largo.icl.largest_alpha(largo.icl.Problem(5)) < 1
    True
    """
    return _largo.icl_largest_alpha(_checked(problem, "icl.largest_alpha"))


def start(problem: Problem, alpha: Optional[float] = None, theta: MatrixInput = "identity") -> Point:
    """The start of training in the paper: A = α ΘΘᵀ/‖ΘΘᵀ‖, b = α. Without α: half of the largest admissible one.

    >>> import largo
    >>> point = largo.icl.start(largo.icl.Problem(2), 0.1)
    >>> point.b, abs(point.balance) < 1e-15
    (0.1, True)
    """
    return Point(*_largo.icl_start(_checked(problem, "icl.start"), alpha, theta))


def limit(problem: Problem, balance: float = 0.0) -> Point:
    """The end of training on infinite prompts: A = tr(Σ⁻²)^{-1/4} Σ⁻¹, b = tr(Σ⁻²)^{1/4} for balance 0.

    >>> import largo
    >>> round(largo.icl.limit(largo.icl.Problem(5)).b, 6)
    1.495349
    """
    return Point(*_largo.icl_limit(_checked(problem, "icl.limit"), balance))


def best_linear(problem: Problem, L: float) -> Point:
    """The minimum of the risk of linear attention at length L.

    >>> import math, largo
    >>> problem = largo.icl.Problem(3)
    >>> largo.icl.risk(problem, 10, point=largo.icl.best_linear(problem, 10), attention="linear").value < problem.null_risk
    True
    """
    return Point(*_largo.icl_best_linear(_checked(problem, "icl.best_linear"), L))


def threshold(problem: Problem, epsilon: float, *, alpha: Optional[float] = None, theta: MatrixInput = "identity",
              attention: str = "softmax", threads: int = 0, progress: Progress = None) -> Threshold:
    """The smallest prompt length at which training ends within `epsilon` of the infinite prompt.

    Both L and L - 1 are trained.

    >>> import largo
    >>> largo.icl.threshold(largo.icl.Problem(2), 0.05).L
    186.0
    """
    found = _largo.icl_threshold(_checked(problem, "icl.threshold"), epsilon, start(problem, alpha, theta), attention,
                                 threads, as_progress(progress, "icl.threshold"))
    return Threshold(float(epsilon), found["L"], found["risk"], found["limit"], found["before"], tuple(found["tried"]))


def _names(name: str, value: Union[str, Sequence[str]]) -> List[str]:
    return list(dict.fromkeys([value] if isinstance(value, str) else map(str, as_list(name, value))))


def _run(result: Dict[str, Any], d: int) -> Run:
    path = result.pop("parameters")
    size = (d + 1) ** 2
    known = {name: result.pop(name) for name in (
        "L", "attention", "method", "seed", "final_risk", "risk_error", "stationary", "steps", "U", "v", "times", "risks",
        "gradient_norms")}
    return Run(**known, U_path=path[:, :size].reshape(-1, d + 1, d + 1).transpose(0, 2, 1), v_path=path[:, size:],
               details=result)


def train(problem: Problem, L: Optional[LengthInput] = None, *, evaluate: Optional[LengthInput] = None,
          method: Union[str, Sequence[str]] = "flow",
          attention: Union[None, str, Sequence[str]] = None, parameters: Optional[str] = None,
          alpha: Optional[float] = None, theta: MatrixInput = "identity", time: Optional[float] = None,
          tolerance: Optional[float] = None, steps: Optional[int] = None, step_size: Optional[float] = None,
          batch: Optional[int] = None, optimizer: Optional[str] = None, schedule: Optional[str] = None,
          kernel: Optional[str] = None, nodes: Optional[int] = None, seed: int = 1, seeds: int = 1,
          checkpoints: Union[None, str, "os.PathLike[str]"] = None, threads: int = 0,
          progress: Progress = None) -> List[Run]:
    """Trains at every length, by gradient flow ("flow"), by stochastic descent ("sgd"), or by both.

    Flows follow the risk without sampled prompts; descents use drawn prompts. A length may be a law of random lengths, as
    in `risk`. `evaluate` are other lengths at which the risk of each end is computed: `details["evaluated"]`.

    `parameters` are "invariant" (A and b), "merged" (U and v) or "factored" (K, Q, V and the output row). Flows run to
    `time`, or as far as the descent beside them, or else until stationary (off the invariant set, to a time of 1000).
    `tolerance` is the relative tolerance of a step: 1e-9, and 1e-4 for softmax attention off the invariant set, whose
    averages over tasks have larger errors. With `checkpoints`, a folder, descents that were stopped are resumed. Times are
    those of the flow on half the mean squared error. For the same seed the results are bit-identical to those of `largo icl
    train`. `seeds` is the number of seeds per descent (up to 4096): `seed`, `seed` + 1 and so on. Each run is the same as
    if it were made alone.

    Arguments that are None take their defaults, as on the command line: 20,000 steps of 0.01 with a batch of 128 prompts,
    optimizer "plain" (or "momentum", "adam"), schedule "constant" (or "inverse-time", "cosine"), kernel "collapsed" (or
    "full"), 2048 nodes.

    >>> import math, largo
    >>> runs = largo.icl.train(largo.icl.Problem(5), [100, math.inf])
    >>> [(run.L, round(run.final_risk, 8), round(run.b, 4)) for run in runs]
    [(100.0, 0.36968237, 2.0586), (inf, 0.0, 1.4953)]
    >>> [run.seed for run in largo.icl.train(largo.icl.Problem(2), 10, method="sgd", steps=20, seed=7, seeds=3)]
    [7, 8, 9]
    """
    plan = _checked(problem, "icl.train")
    given = alpha is not None or not (isinstance(theta, str) and theta == "identity")
    options = {
        "published": problem.preset != "paper",
        "method": _names("method", method),
        "attention": [] if attention is None else _names("attention", attention),
        "L": [] if L is None else as_length_laws(L)[0],
        "evaluate": [] if evaluate is None else as_length_laws(evaluate)[0],
        "parameters": parameters, "start": start(problem, alpha, theta) if given else None,
        "time": time, "tolerance": tolerance, "nodes": nodes, "seed": seed, "seeds": seeds,
        "steps": steps, "step_size": step_size, "batch": batch, "optimizer": optimizer, "schedule": schedule,
        "kernel": kernel, "checkpoints": checkpoints,
    }
    results = _largo.icl_train(plan, options, threads, as_progress(progress, "icl.train"))
    return [_run(result, problem.dimension) for result in results]
