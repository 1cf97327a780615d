"""In-context learning with one attention head: risks, training and thresholds at every prompt length.

REGRESSION  The task is w ~ N(0, Ω). Tokens are (x_i, y_i) with x_i ~ N(0, Σ), y_i = <w, x_i> + ε_i, ε_i ~ N(0, τ²). The
query is (x_q, 0) with x_q ~ N(0, Σ_q). The head predicts <v, T(x_q, 0)>, where T is softmax (or linear) attention with
scores <z_i, U (x_q, 0)>. Its risk is R_L = ½ E (prediction - <w, x_q>)². On the invariant set U = [[A, 0], [0, 0]], v = (0,
b). L = math.inf is the infinite prompt, by the same calls.

    Problem                                                  the covariances and the noise
    risk, gradient, floor, sampled_risk                      at any L; all exact except the last
    start, limit, best_linear, largest_alpha                 what the paper proves about training
    train, threshold                                         flows and stochastic descent; the L that is long enough

ANY TASK, ANY LOSS  risks are averages over drawn tasks, and over drawn prompts where there is no better way

    Regression, Classification                               any laws and several outputs; two Gaussian classes
    Task                                                     subclass it to define your own task by its draw(uniforms)
    read_task                                                a task, its loss and the scale of its scores from a file
    risk, train, threshold                                   take tasks as well
    prompt_risk                                              the risk with its gradient
    assumptions                                              what has an average over tasks and queries
    learner_risk, bayes_risk                                 that of ridge regression; of the Bayes predictor

    A loss is "squared", "huber:DELTA", "absolute", "logistic", or a function (outputs, targets) -> (values, slopes).

SINGLE LOCATION  one token of the prompt holds the answer; exact for every L

    single_location_risk, single_location_best               at any L and any signal
    single_location_flow                                     training
    single_location_length, single_location_signal           how long a prompt or how weak a signal may be

FILES  save, load: runs of training

>>> import math, largo
>>> problem = largo.icl.Problem(d=5)
>>> point = largo.icl.limit(problem)
>>> largo.icl.risk(problem, [100, 1e6, math.inf], point=point).value.round(8)
array([0.44518126, 0.00046841, 0.        ])
>>> largo.icl.threshold(problem, 0.01).L
4745.0
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import _largo
from ._arguments import (ArrayInput, LawInput, LengthInput, MatrixInput, Progress, as_length_laws, as_lengths, as_list, as_numbers,
                         as_progress, shaped)
from ._assumptions import Assumption, assumptions_of
from ._largo import Classification, Loss, Regression, Task
from ._results import Array, Estimate, Point
from ._runs import PathInput, Run, load, run_of, save
from ._single_location import (SingleLocationBest, SingleLocationFlow, SingleLocationRisk, single_location_best, single_location_flow,
                               single_location_length, single_location_risk, single_location_signal)

__all__ = ["Problem", "Point", "Estimate", "Gradient", "PromptRisk", "BayesRisk", "Threshold", "TaskThreshold", "TrainedExcess", "Run", "Task",
           "Classification", "Regression", "Loss", "TaskFile", "risk", "sampled_risk", "floor", "gradient", "start", "limit", "best_linear",
           "largest_alpha", "train", "threshold", "prompt_risk", "learner_risk", "bayes_risk", "assumptions", "read_task", "save", "load",
           "SingleLocationBest", "SingleLocationFlow", "SingleLocationRisk", "single_location_best", "single_location_flow",
           "single_location_length", "single_location_risk", "single_location_signal"]

#: (A, b), with A as an array or by its name.
PointInput = Union[Point, Tuple[MatrixInput, float]]
#: (A, b), or (U, v) with v an array.
StartInput = Union[PointInput, Tuple[MatrixInput, ArrayInput]]
#: (outputs, targets) -> (values, slopes) of n prompts: arrays (n,) for one output; for m outputs (n, m), but values (n,).
LossFunction = Callable[[Array, Array], Tuple[ArrayInput, ArrayInput]]
#: A loss by its name, from a task file, or as a function.
LossInput = Union[str, Loss, LossFunction]


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

    Matrices are arrays or names ("toeplitz:0.5"); `noise` is a variance, `score_scale` multiplies the scores. `sinks` are
    scores of tokens of value zero that stand in every prompt; one of 0 is the constant of "softmax plus one". Exact risks and flows at (A, b) know them; what draws prompts refuses them.

    >>> import largo
    >>> largo.icl.Problem(covariance=[[2.0, 0.5], [0.5, 1.0]], noise=0.1).null_risk
    1.5
    """

    def __init__(self, d: Optional[int] = None, *, covariance: Optional[MatrixInput] = None,
                 query_covariance: Optional[MatrixInput] = None, prior: Optional[MatrixInput] = None,
                 noise: Optional[float] = None, score_scale: Optional[float] = None, preset: str = "paper",
                 sinks: ArrayInput = ()) -> None:
        self._problem = _largo.Problem(preset, d, covariance, query_covariance, prior, noise, score_scale,
                                       as_numbers("sinks", sinks)[0])
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
    def sink(self) -> float:
        """ln Σ e^score over the tokens of value zero that stand in every prompt; -∞: there are none."""
        return self._problem.sink

    @property
    def null_risk(self) -> float:
        """½ tr ΩΣ_q, the risk of predicting zero."""
        return self._problem.null_risk

    def __repr__(self) -> str:
        return (f"<largo.icl.Problem d={self.dimension} covariance={_matrix_text(self.covariance)} noise={self.noise:g} "
                f"preset={self.preset}{f' sink={self.sink:g}' if self.sink > -np.inf else ''}>")


class Gradient(NamedTuple):
    """The risk at (A, b), an estimate of its error, and its gradient: (d, d) in A. Each has the shape of L in front."""

    value: Union[float, Array]
    error: Union[float, Array]
    A: Array
    b: Union[float, Array]


class PromptRisk(NamedTuple):
    """A risk over draws, its standard error, and its gradient in U and v. Each has the shape of L in front.

    `average` says how the average over the prompts of a task is known: "exact" (Gaussian tokens and squared loss), "limit"
    (L = ∞), or "sampled".
    """

    value: Union[float, Array]
    error: Union[float, Array]
    U: Array
    v: Array
    average: Union[str, npt.NDArray[np.str_]]


class BayesRisk(NamedTuple):
    """The risk of a predictor that samples the posterior of the task: at least the Bayes risk, whatever the samples missed.

    `error` is the standard error over prompts. `excess` estimates what the noise of the samples adds to the value; it does not
    see modes of a posterior that all samples missed. `poor` is the share of prompts whose posterior has fewer than 50 effective
    samples.
    """

    value: Union[float, Array]
    error: Union[float, Array]
    excess: Union[float, Array]
    poor: Union[float, Array]


class TaskFile(NamedTuple):
    """What a task file says: the task, its loss, and the factor of its scores."""

    task: Task
    loss: Loss
    score_scale: float


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


class TrainedExcess(NamedTuple):
    """Training at one length: the risk afterwards, and its excess above that of the infinite prompt."""

    L: float
    risk: Estimate
    excess: Estimate


@dataclass(frozen=True)
class TaskThreshold:
    """The smallest L at which the trained risk of a task was found within epsilon of the limit.

    L(epsilon) is in `interval` = (lower, upper) with a confidence of 95 %: at lower the excess is above epsilon, at upper
    below. Lower is 0 if a prompt of one token may be enough. Risks are means over four sets of draws, with their standard
    errors. `tried` has all lengths that were tried, shortest first. `average` says how averages over finite prompts are
    known, as in `PromptRisk`.
    """

    epsilon: float
    L: float
    interval: Tuple[float, float]
    risk: Estimate
    limit: Estimate
    tried: Tuple[TrainedExcess, ...]
    average: str


def _checked(problem: Any, function: str) -> _largo.Problem:
    """The problem itself, or a TypeError that says what to do with a task."""
    if isinstance(problem, Problem):
        return problem._problem
    hint = ": tasks have icl.risk, icl.prompt_risk, icl.learner_risk, icl.train and icl.threshold" if isinstance(problem, Task) else ""
    raise TypeError(f"{function}: problem is {type(problem).__name__}, must be an icl.Problem{hint}")


def _refuse_for_problems(function: str, options: Dict[str, bool]) -> None:
    """A ValueError for the first option of tasks that is given with a problem."""
    for name, given in options.items():
        if given:
            raise ValueError(f"{function}: {name} is for tasks, and this is an icl.Problem: make an icl.Regression of its laws")


def _is_squared(loss: Any) -> bool:
    return isinstance(loss, str) and loss == "squared"


def _estimate(result: Tuple[Array, Array], shape: Tuple[int, ...]) -> Estimate:
    return Estimate(shaped(result[0], shape), shaped(result[1], shape))


def risk(problem: Union[Problem, Task], L: LengthInput, *, point: Optional[PointInput] = None, U: Optional[MatrixInput] = None,
         v: Optional[ArrayInput] = None, loss: LossInput = "squared", attention: str = "softmax",
         score_scale: Optional[float] = None, nodes: Optional[int] = None, prompts: Optional[int] = None, seed: int = 1,
         threads: int = 0, progress: Progress = None) -> Estimate:
    """R_L at (A, b) = `point` or at any (U, v). That of a Problem is exact: nothing is sampled. That of a Task is an average
    over `prompts` draws (2000 unless given), as in `prompt_risk`.

    For a Problem, `error` is an estimate of the numerical error from above: the change of the value if every other node of
    the rules is left out. Off the invariant set and above 32 dimensions, the part beyond R_∞ is instead an average over
    `nodes` tasks (65536 unless given), and `error` is 5.41 standard errors of it. For a Task it is the standard error over
    draws. `loss`, `score_scale` and `prompts` are for tasks, `nodes` for problems.

    `L` is one length or an array of lengths, finite or ∞; the result has its shape. A text is a law of random lengths:
    "uniform:1:100" (the positions of a causal prompt), "geometric:50", "10=0.5,100=0.5".

    >>> import largo
    >>> problem = largo.icl.Problem(5, covariance="toeplitz:0.5", noise=0.1)
    >>> round(largo.icl.risk(problem, 100, point=("0.5*identity", 2.0)).value, 7)
    1.9690966
    >>> task = largo.icl.Regression(5, covariates="gaussian:cov=toeplitz:0.5", noise=0.1)
    >>> sampled = largo.icl.risk(task, 100, point=("0.5*identity", 2.0), prompts=1000)
    >>> abs(sampled.value - 1.9690966) < 4 * sampled.error
    True
    """
    lengths, shape = as_length_laws(L)
    report = as_progress(progress, "icl.risk")
    if isinstance(problem, Task):
        if nodes is not None:
            raise ValueError("icl.risk: nodes is for an icl.Problem, and this is a task: give prompts")
        found = _largo.icl_prompt_risk("icl.risk", problem, lengths, point, U, v, loss, attention,
                                       1.0 if score_scale is None else score_scale, 2000 if prompts is None else prompts, seed,
                                       threads, report)
        return _estimate(found[:2], shape)
    plan = _checked(problem, "icl.risk")
    _refuse_for_problems("icl.risk", {"loss": not _is_squared(loss), "score_scale": score_scale is not None,
                                      "prompts": prompts is not None})
    return _estimate(_largo.icl_risk(plan, lengths, point, U, v, attention, 65536 if nodes is None else nodes, seed, threads,
                                     report), shape)


def assumptions(problem: Union[Problem, Regression], *, A: Optional[MatrixInput] = None, U: Optional[MatrixInput] = None,
                score_scale: Optional[float] = None) -> Dict[str, Assumption]:
    """The hypotheses about a regression, for scores on the invariant set (`A`) or any others (`U`): `largo.assumptions`
    averaged over the tasks. By name: "sub_gaussian_given_task", "one_sigma_for_all_tasks", "sub_gaussian_queries",
    "task_moment_16", "tilted_moment_4", "tilted_moment_8" and "finite_rho". `score_scale` is for an icl.Regression.

    >>> import largo
    >>> found = largo.icl.assumptions(largo.icl.Problem(2), A="0.5*identity")
    >>> found["finite_rho"].holds, round(found["finite_rho"].value, 6)
    (True, 0.693147)
    >>> found["one_sigma_for_all_tasks"].holds
    False
    """
    if isinstance(problem, Regression):
        return assumptions_of(_largo.regression_assumptions(problem, A, U, 1.0 if score_scale is None else score_scale))
    if isinstance(problem, Task):
        raise TypeError(f"icl.assumptions: problem is {type(problem).__name__}, must be an icl.Problem or an icl.Regression")
    _refuse_for_problems("icl.assumptions", {"score_scale": score_scale is not None})
    return assumptions_of(_largo.problem_assumptions(_checked(problem, "icl.assumptions"), A, U))


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


def prompt_risk(task: Task, L: LengthInput, *, point: Optional[PointInput] = None, U: Optional[MatrixInput] = None,
                v: Optional[ArrayInput] = None, loss: LossInput = "squared", attention: str = "softmax",
                score_scale: float = 1.0, prompts: int = 2000, seed: int = 1, threads: int = 0,
                progress: Progress = None) -> PromptRisk:
    """E ℓ(V T(z_q), y) of a head on any task, and its gradient, averaged over `prompts` draws of task, prompt and query.

    The head is (U, v), where v is (d,) for one output and (m, d) for m, or U = [[A, 0], [0, 0]] and v = (0, b) at a `point`
    (A, b). Prompts are drawn unless their average is known: for Gaussian tokens with the squared loss, and for L = ∞;
    `average` says which. With the same seed, every L, finite or ∞, has the same tasks and queries, and the tokens of a
    shorter prompt are the first ones of a longer one. `L` may be a law of lengths, as in `risk`.

    `loss` is "squared", ½‖o - y‖², "huber:DELTA", "absolute", Σ|o - y|, "logistic", Σ log(1 + e^{-yo}), or a function
    (outputs, targets) -> (values, slopes), called once for many prompts: outputs, targets and slopes ∂ℓ/∂o are (n,) for one
    output and (n, m) for m, values are (n,). A row of its result must depend on its own rows alone.

    >>> import numpy as np, largo
    >>> task = largo.icl.Classification(1.2, [[1.0, 0.0], [0.0, 0.25]])
    >>> risk = largo.icl.prompt_risk(task, [20, np.inf], point=("identity", 2.0), loss="logistic", prompts=200)
    >>> risk.value.shape, risk.U.shape, risk.v.shape, risk.average.tolist()
    ((2,), (2, 3, 3), (2, 3), ['sampled', 'limit'])
    >>> def cosh(outputs, targets):                              # log cosh(o - y), a loss of one's own
    ...     return np.log(np.cosh(outputs - targets)), np.tanh(outputs - targets)
    >>> 0 < largo.icl.prompt_risk(task, 20, point=("identity", 2.0), loss=cosh, prompts=200).value < 1
    True
    """
    lengths, shape = as_length_laws(L)
    value, error, slope_U, slope_v, averages = _largo.icl_prompt_risk(
        "icl.prompt_risk", task, lengths, point, U, v, loss, attention, score_scale, prompts, seed, threads,
        as_progress(progress, "icl.prompt_risk"))
    return PromptRisk(shaped(value, shape), shaped(error, shape), slope_U.reshape(*shape, *slope_U.shape[1:]),
                      slope_v.reshape(*shape, *slope_v.shape[1:]),
                      averages[0] if shape == () else np.array(averages, dtype=np.str_).reshape(shape))


def learner_risk(task: Task, L: LengthInput, *, loss: LossInput = "squared", prompts: int = 2000, seed: int = 1,
                 threads: int = 0, progress: Progress = None) -> Optional[Estimate]:
    """The risk of a learner that knows the laws of the task and sees the prompt and the query, over the draws of
    `prompt_risk`; None for a task without one.

    For Regression it is ridge regression with the second moments of prior and noise. No predictor does better with the
    squared loss if both are Gaussian; the floor of an icl.Problem is `floor`. For Classification it is the Bayes predictor.

    >>> import largo
    >>> task = largo.icl.Regression(3, noise=0.1)
    >>> learner = largo.icl.learner_risk(task, [5, 50], prompts=500)
    >>> bool(learner.value[0] > learner.value[1] > 0)
    True
    """
    lengths, shape = as_length_laws(L)
    found = _largo.icl_learner_risk(task, lengths, loss, prompts, seed, threads, as_progress(progress, "icl.learner_risk"))
    return None if found is None else _estimate(found, shape)


def bayes_risk(task: Task, L: LengthInput, *, loss: LossInput = "squared", prompts: int = 500, seed: int = 1,
               threads: int = 0, progress: Progress = None) -> Optional[BayesRisk]:
    """The risk of the Bayes predictor of a Regression, by sampling the posterior of its task, over the draws of `prompt_risk`.

    A prior with at most 4096 points has an exact posterior, without samples. None where `learner_risk` is the Bayes risk
    already (centred Gaussian prior and noise, and the loss "squared", "huber:DELTA" or "absolute"), and where there is nothing
    to sample: it needs one output, noise with a density (Gaussian, uniform, Laplace, or mixtures of these), and such a prior in
    each coordinate, or an image or a mixture of such laws. L is finite.

    >>> import largo
    >>> task = largo.icl.Regression(2, prior="laplace", noise="uniform")
    >>> bayes = largo.icl.bayes_risk(task, [5, 50], prompts=200)
    >>> ridge = largo.icl.learner_risk(task, [5, 50], prompts=200)
    >>> bool((bayes.value < ridge.value).all() and (bayes.excess < 0.1 * bayes.value).all())
    True
    """
    lengths, shape = as_length_laws(L)
    found = _largo.icl_bayes_risk(task, lengths, loss, prompts, seed, threads, as_progress(progress, "icl.bayes_risk"))
    return None if found is None else BayesRisk(*(shaped(values, shape) for values in found))


def _part_of_file(path: str, part: int) -> Any:
    """Called by pickle and copy: the task or the loss of a file, which is read again."""
    return read_task(path)[part]


def read_task(path: PathInput) -> TaskFile:
    """The task, the loss and the score scale of a task file (docs/icl.md has the format).

    Pickles of the task and of the loss keep the name of the file, and read it again.

    >>> import os, tempfile, largo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "task.toml")
    ...     with open(file, "w") as out:
    ...         _ = out.write('dimension = 3\\nprior = "laplace"\\nnoise = "gaussian:cov=0.1*identity"\\nloss = "huber:1"')
    ...     task, loss, score_scale = largo.icl.read_task(file)
    >>> task.token_dimension, score_scale
    (4, 1.0)
    >>> 0 < largo.icl.risk(task, 20, point=("identity", 1.0), loss=loss, score_scale=score_scale, prompts=200).value
    True
    """
    name = os.path.abspath(os.fspath(path))
    task, loss, score_scale = _largo.icl_read_task(os.fspath(path))
    task._recipe, loss._recipe = (_part_of_file, (name, 0), {}), (_part_of_file, (name, 1), {})
    return TaskFile(task, loss, score_scale)


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


@overload
def threshold(problem: Problem, epsilon: float, *, loss: LossInput = ..., score_scale: Optional[float] = ...,
              prompts: Optional[int] = ..., attention: str = ..., seed: int = ..., alpha: Optional[float] = ...,
              theta: MatrixInput = ..., threads: int = ..., progress: Progress = ...) -> Threshold: ...


@overload
def threshold(problem: Task, epsilon: float, *, loss: LossInput = ..., score_scale: Optional[float] = ...,
              prompts: Optional[int] = ..., attention: str = ..., seed: int = ..., alpha: Optional[float] = ...,
              theta: MatrixInput = ..., threads: int = ..., progress: Progress = ...) -> TaskThreshold: ...


def threshold(problem: Union[Problem, Task], epsilon: float, *, loss: LossInput = "squared",
              score_scale: Optional[float] = None, prompts: Optional[int] = None, attention: str = "softmax", seed: int = 1,
              alpha: Optional[float] = None, theta: MatrixInput = "identity", threads: int = 0,
              progress: Progress = None) -> Union[Threshold, TaskThreshold]:
    """The smallest prompt length at which training ends within `epsilon` of the infinite prompt.

    That of a Problem is exact: both L and L - 1 are trained. A Task is trained with its `loss` (a smooth one) and
    `score_scale` (1 unless given) on four sets of `prompts` draws (4096 unless given), and L comes with an interval of 95 %
    confidence; an epsilon that the noise of the draws hides is an error. A Regression that is a Problem, with the squared
    loss, is solved as one: errors are 0, and the interval is L - 1 to L. Training starts as in `icl.start`, and for tasks as
    in `train`.

    `loss`, `score_scale`, `prompts` and `seed` are for tasks.

    >>> import largo
    >>> largo.icl.threshold(largo.icl.Problem(2), 0.05).L
    186.0
    >>> task = largo.icl.Regression(1, prior="rademacher", noise=0.1)
    >>> found = largo.icl.threshold(task, 0.3, prompts=8, alpha=0.5)
    >>> found.interval[0] < found.L <= found.interval[1], found.average
    (True, 'exact')
    """
    report = as_progress(progress, "icl.threshold")
    if isinstance(problem, Task):
        named_theta = None if isinstance(theta, str) and theta == "identity" else theta
        found = _largo.icl_task_threshold(problem, epsilon, loss, 1.0 if score_scale is None else score_scale, prompts,
                                          attention, seed, alpha, named_theta, threads, report)
        tried = tuple(TrainedExcess(L, Estimate(*risk), Estimate(*excess)) for L, risk, excess in found["tried"])
        return TaskThreshold(float(epsilon), found["L"], found["interval"], Estimate(*found["risk"]),
                             Estimate(*found["limit"]), tried, found["average"])
    plan = _checked(problem, "icl.threshold")
    _refuse_for_problems("icl.threshold", {"loss": not _is_squared(loss), "score_scale": score_scale is not None,
                                           "prompts": prompts is not None})
    found = _largo.icl_threshold(plan, epsilon, start(problem, alpha, theta), attention, threads, report)
    return Threshold(float(epsilon), found["L"], found["risk"], found["limit"], found["before"], tuple(found["tried"]))


def _names(name: str, value: Union[str, Sequence[str]]) -> List[str]:
    return list(dict.fromkeys([value] if isinstance(value, str) else map(str, as_list(name, value))))


def train(problem: Union[Problem, Task], L: Optional[LengthInput] = None, *, evaluate: Optional[LengthInput] = None,
          loss: LossInput = "squared", method: Union[str, Sequence[str]] = "flow",
          attention: Union[None, str, Sequence[str]] = None, parameters: Optional[str] = None,
          start: Optional[StartInput] = None, alpha: Optional[float] = None, theta: MatrixInput = "identity",
          time: Optional[float] = None, tolerance: Optional[float] = None, prompts: Optional[int] = None,
          common_draws: bool = False, score_scale: Optional[float] = None, steps: Optional[int] = None,
          step_size: Optional[float] = None, batch: Optional[int] = None, optimizer: Optional[str] = None,
          schedule: Optional[str] = None, kernel: Optional[str] = None, nodes: Optional[int] = None, seed: int = 1,
          seeds: int = 1, checkpoints: Union[None, str, "os.PathLike[str]"] = None, threads: int = 0,
          progress: Progress = None) -> List[Run]:
    """Trains at every length, by gradient flow ("flow"), by stochastic descent ("sgd"), or by both.

    Flows on a Problem follow the risk without sampled prompts; descents use drawn prompts. A length may be a law of random
    lengths, as in `risk`. `evaluate` are other lengths at which the risk of each end is computed: `details["evaluated"]`.

    A Task is trained with its `loss` (as in `prompt_risk`) and `score_scale` (1 unless given). Its flows follow an average
    over `prompts` draws (4096 unless given), the same along all flows; `risk_error` of an end is the standard error over
    fresh draws. Prompts are drawn only where their average is not known, or always with `common_draws`, which trains on a
    fixed set of prompts. A Regression that is a Problem, with the squared loss, is trained as one. Flows need a smooth loss.

    `parameters` are "invariant" (A and b), "merged" (U and v) or "factored" (K, Q, V and the output row). The `start` is a
    pair (A, b) with a number b, or (U, v) with an array v for merged parameters; without it, the paper's, of `alpha` and
    `theta` as in `icl.start`. Tasks with several outputs, or with tokens and queries of different size, have merged
    parameters; v is then (m, d) for m outputs.

    Flows run to `time`, or as far as the descent beside them, or else until stationary (off the invariant set, to a time of
    1000). `tolerance` is the relative tolerance of a step: 1e-9, 1e-4 for softmax attention off the invariant set, whose
    averages over tasks have larger errors, and 1e-6 for tasks. With `checkpoints`, a folder, descents that were stopped are
    resumed. Times are those of the flow on half the mean squared error. For the same seed the results are bit-identical to
    those of `largo icl train`. `seeds` is the number of seeds per descent (up to 4096): `seed`, `seed` + 1 and so on. Each
    run is the same as if it were made alone.

    Arguments that are None take their defaults, as on the command line: 20,000 steps of 0.01 with a batch of 128 prompts,
    optimizer "plain" (or "momentum", "adam"), schedule "constant" (or "inverse-time", "cosine"), kernel "collapsed" (or
    "full"), 2048 nodes.

    >>> import math, largo
    >>> runs = largo.icl.train(largo.icl.Problem(5), [100, math.inf])
    >>> [(run.L, round(run.final_risk, 8), round(run.b, 4)) for run in runs]
    [(100.0, 0.36968237, 2.0586), (inf, 0.0, 1.4953)]
    >>> [run.seed for run in largo.icl.train(largo.icl.Problem(2), 10, method="sgd", steps=20, seed=7, seeds=3)]
    [7, 8, 9]
    >>> task = largo.icl.Regression(2, covariates="sphere", noise=0.1)
    >>> run, = largo.icl.train(task, math.inf, loss="huber:1", start=("0.1*identity", 0.1), time=2.0, prompts=50)
    >>> bool(run.risks[-1] < run.risks[0]), run.details["average"]
    (True, 'limit')
    """
    is_task = isinstance(problem, Task)
    options = {
        "published": not is_task and getattr(problem, "preset", "paper") != "paper",
        "method": _names("method", method),
        "attention": [] if attention is None else _names("attention", attention),
        "L": [] if L is None else as_length_laws(L)[0],
        "evaluate": [] if evaluate is None else as_length_laws(evaluate)[0],
        "parameters": parameters, "start": start, "alpha": alpha,
        "theta": None if isinstance(theta, str) and theta == "identity" else theta,
        "loss": loss, "prompts": prompts, "common_draws": bool(common_draws),
        "score_scale": 1.0 if score_scale is None else score_scale,
        "time": time, "tolerance": tolerance, "nodes": nodes, "seed": seed, "seeds": seeds,
        "steps": steps, "step_size": step_size, "batch": batch, "optimizer": optimizer, "schedule": schedule,
        "kernel": kernel, "checkpoints": checkpoints,
    }
    plan: Union[_largo.Problem, Task]
    if isinstance(problem, Task):
        plan = problem
        if nodes is not None:
            raise ValueError("icl.train: nodes is for an icl.Problem, and this is a task: give prompts")
    else:
        plan = _checked(problem, "icl.train")
        _refuse_for_problems("icl.train", {"loss": not _is_squared(loss), "score_scale": score_scale is not None})
    return [run_of(result) for result in _largo.icl_train(plan, options, threads, as_progress(progress, "icl.train"))]
