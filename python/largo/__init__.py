"""largo: the large-prompt limit of softmax attention.

Softmax attention over a prompt of L tokens converges, as L grows, to an operator on the law of the tokens. For Gaussian
tokens this operator is linear. largo computes attention at finite L and in the limit by the same calls. It also computes
how far the two are apart at any L, and how a head trains on prompts of any length. Finite and infinite prompts differ only
in an argument: a matrix of tokens or a law, L = 100 or L = math.inf.

LAWS  infinite prompts. Each has log_partition(a), tilt(a), mean(), covariance() and sample(L, seed).
    Gaussian, Sphere, Ball, Product, Mixture, Affine, Elliptical, Pair
    rademacher, uniform, three_point, bernoulli, laplace    independent coordinates
    law("gaussian:cov=toeplitz:0.5", d=3)                   by the names that the command line uses
    Prompt(tokens, weights)                                 a finite prompt, which is a law, too
    Law                                                     subclass it to define your own law by its log_partition(a)
    check_law                                               checks that the methods and the tokens of a law are consistent

ATTENTION  on a law or on a matrix of tokens
    attention, attention_vjp, attention_jacobian
    check_lemma                                             checks that attention over Gaussian prompts is affine

STATISTICS  of softmax over L Gaussian scores of spread s; exact, for any real L up to 1e300 and for ∞
    moments(s, L), class_moments(classes), heaviest_mass(classes, k), SoftmaxTable(L)(s), power_sum_moment
    needle_chances, needle_quantile                         the law of the weight of one token beside such classes
    condensation_line, concentration_exponent, averaged_exponent
    temperature, inverse_temperature                        factors β(L) on the scores, and those that keep a target
    largo.parts                                             an algebra of the identities behind them

CONCENTRATION  how far attention over L tokens is from its limit
    concentration, length_for_tolerance, errors_along_path
    assumptions                                             the hypotheses of the propositions, and which of them hold

IN-CONTEXT LEARNING  largo.icl
    regression: risks, gradient flows, stochastic descent, limits, thresholds at every L
    any other task and loss: risks, gradients and training over drawn prompts

HEADS  largo.heads: captured heads of a real model, and how far each is from its limit

TRAINING  largo.training: gradient flow and stochastic descent on any function of yours

STUDIES  one quantity at many points, stored in a file; a stopped study can be resumed
    run_study, study_status, read_study

FIGURES  largo.plot, with Matplotlib

PYTORCH  largo.torch: attention and its limit as differentiable functions and modules

Arrays may be NumPy arrays, anything with DLPack (PyTorch, JAX), a buffer, or nested lists. C-contiguous float64 and float32
prompts and float64 queries are not copied. Matrices may be given by name ("0.5*identity", "toeplitz:0.5", "file.npy").
Mistakes raise ValueError (or TypeError for something that is not an array of real numbers); the message says what is wrong,
where, and what was expected. Calls release the interpreter's lock and stop on Ctrl-C. `threads` is 0 for all cores; it
never changes a bit of a result. Long calls take `progress`: a function of the share done, or True for a tqdm bar.

>>> import math, largo
>>> law = largo.law("gaussian", d=3)
>>> largo.attention(law, [1.0, 0.0, -1.0])                       # an infinite prompt: linear
array([ 1.,  0., -1.])
>>> largo.attention(law.sample(1000), [1.0, 0.0, -1.0]).round(3)  # one of 1000 tokens
array([ 0.939, -0.031, -0.868])
>>> largo.moments(2, 1e4).mse                                    # E (A - s)², A the output along the query
0.017455498094...
>>> largo.moments(2, math.inf).mse
0.0
"""

from typing import TYPE_CHECKING, Any, List

from . import heads, icl, parts, training
from ._assumptions import Assumption, assumptions
from ._attention import attention, attention_jacobian, attention_vjp
from ._check_law import LawReport, check_law
from ._concentration import Concentration, PathErrors, concentration, errors_along_path, length_for_tolerance
from ._largo import (Affine, Ball, Elliptical, Gaussian, Law, Mixture, Moments, Pair, Product, Prompt, SoftmaxTable,
                     Sphere, Statistics, __version__)
from ._laws import bernoulli, laplace, law, matrix, rademacher, three_point, uniform
from ._lemma import LemmaReport, check_lemma
from ._moments import (ClassMoments, NeedleChances, averaged_exponent, class_moments, concentration_exponent,
                       condensation_line, heaviest_mass, moments, needle_chances, needle_quantile, power_sum_moment)
from ._results import Estimate, Point, Supremum, Tilt, ToleratedLength
from ._studies import StudyRun, StudyStatus, StudyTable, read_study, run_study, study_status
from ._temperature import Temperatures, inverse_temperature, temperature

__all__ = [
    "Affine", "Assumption", "Ball", "ClassMoments", "Concentration", "Elliptical", "Estimate", "Gaussian", "Law", "LawReport", "LemmaReport",
    "Mixture",
    "Moments", "NeedleChances", "Pair", "PathErrors", "Point", "Product", "Prompt", "SoftmaxTable", "Sphere", "Statistics", "StudyRun",
    "StudyStatus", "StudyTable", "Supremum", "Temperatures", "Tilt", "ToleratedLength", "__version__", "assumptions", "attention",
    "attention_jacobian", "attention_vjp", "averaged_exponent", "bernoulli", "check_law", "check_lemma", "class_moments", "concentration",
    "concentration_exponent", "condensation_line", "errors_along_path", "heads", "heaviest_mass", "icl", "inverse_temperature",
    "laplace", "law",
    "length_for_tolerance", "matrix", "moments", "needle_chances", "needle_quantile", "parts", "power_sum_moment", "rademacher", "read_study", "run_study",
    "study_status", "temperature", "three_point", "training", "uniform",
]

if TYPE_CHECKING:
    from . import plot as plot
    from . import torch as torch

_NEEDS = {"plot": "matplotlib", "torch": "torch"}  # modules that need a package which may not be installed


def __getattr__(name: str) -> Any:
    """Loads largo.plot and largo.torch on first use."""
    if name in _NEEDS:
        from importlib import import_module
        return import_module(f"largo.{name}")
    raise AttributeError(f"module 'largo' has no attribute '{name}'")


def __dir__() -> List[str]:
    from importlib.util import find_spec
    return sorted(set(globals()) | {name for name, package in _NEEDS.items() if find_spec(package)})


# Objects of the compiled part appear as largo's own in help() and tracebacks.
for _one in (Affine, Ball, Elliptical, Gaussian, Law, Mixture, Moments, Pair, Product, Prompt, SoftmaxTable, Sphere,
             Statistics):
    _one.__module__ = "largo"
for _one in (icl.Task, icl.Classification, icl.Regression, icl.Loss, icl.Run):
    _one.__module__ = "largo.icl"
parts.Expression.__module__ = "largo.parts"
del _one
