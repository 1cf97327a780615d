"""Training of any model: gradient flow and stochastic descent on a risk that is a Python function.

It does what largo.icl.train does for in-context regression, for your own functions (largo.icl.prompt_risk makes some):

>>> import numpy as np, largo
>>> def risk(x):                                                 # value and gradient
...     return (x[0] - 1) ** 2 + 10 * x[1] ** 2, np.array([2 * (x[0] - 1), 20 * x[1]])
>>> np.abs(largo.training.flow(risk, [0.0, 1.0]).end).round(6)
array([1., 0.])
>>> largo.training.descend(lambda x, step: risk(x), [0.0, 1.0], steps=500, step_size=0.05).end.round(6)
array([1., 0.])
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Callable, Optional, Tuple, Union

from . import _largo
from ._arguments import ArrayInput, Progress, as_progress
from ._results import Array

__all__ = ["Flow", "Descent", "flow", "descend"]

#: Maps parameters (n,) to the value and the gradient (n,).
RiskFunction = Callable[[Array], Tuple[float, ArrayInput]]
#: The same for batch number `step`.
BatchFunction = Callable[[Array, int], Tuple[float, ArrayInput]]


@dataclass(frozen=True)
class Flow:
    """A gradient flow: (m,) `times` of its steps, and `risks` and `gradient_norms` at these; `path` is (m, n).

    `stationary` says whether the flow came to its end, `to_go` how far away the end is (None if there is no estimate), and
    `evaluations` how often the risk was evaluated. `flat` says that the flow stopped in a valley whose curvature cannot be
    told from rounding; it is not known how far that valley continues.
    """

    times: Array = field(repr=False)
    path: Array = field(repr=False)
    risks: Array = field(repr=False)
    gradient_norms: Array = field(repr=False)
    stationary: bool
    flat: bool
    to_go: Optional[float]
    evaluations: int

    @property
    def end(self) -> Array:
        """The parameters at the end, (n,)."""
        return self.path[-1, :]


@dataclass(frozen=True)
class Descent:
    """A stochastic descent: (m,) `times`, which are the sums of the step sizes so far, the mean `losses` since the record
    before, and the `path`."""

    times: Array = field(repr=False)
    path: Array = field(repr=False)
    losses: Array = field(repr=False)
    steps: int

    @property
    def end(self) -> Array:
        """The parameters at the end, (n,)."""
        return self.path[-1, :]


def flow(risk: RiskFunction, start: ArrayInput, *, time: float = math.inf, tolerance: float = 1e-9,
         stationary_tolerance: float = 1e-9, method: str = "dense", most_steps: int = 20000) -> Flow:
    """Follows dθ/dt = -∇R(θ) from `start`, to `time` or until stationary.

    The method is backward differentiation with steps of variable size.

    `tolerance` is the relative tolerance of a step. `method` is "dense" (up to about 50 parameters) or "krylov". `risk` is
    called with (n,) parameters and returns the value and the (n,) gradient; exceptions that it raises are passed on. A flow
    that leaves every bound, as it does if the gradient has the wrong sign, raises ValueError.

    >>> import largo
    >>> flow = largo.training.flow(lambda x: (0.5 * float(x @ x), x), [1.0], time=2.0)
    >>> round(flow.end[0], 6)                                    # e^-2
    0.135335
    """
    return Flow(**_largo.training_flow(risk, start, time, tolerance, stationary_tolerance, method, most_steps))


def descend(batch: BatchFunction, start: ArrayInput, *, steps: int, step_size: float, schedule: str = "constant",
            optimizer: str = "plain", records: int = 100, checkpoint: Union[None, str, "os.PathLike[str]"] = None,
            progress: Progress = None) -> Descent:
    """Descends on batches from `start`: "plain", with "momentum" 0.9, or by "adam". The `schedule` is constant,
    inverse-time or cosine.

    `batch` is called with (n,) parameters and the number of the step, from 0, and returns value and gradient. If its random
    draws depend only on that number, a run that is stopped and resumed (`checkpoint`, a file) is the same run. A checkpoint
    of a run with another start or other settings is refused.

    >>> import numpy as np, largo
    >>> def batch(x, step):
    ...     target = 1 + np.random.default_rng(step).normal()
    ...     return 0.5 * (x[0] - target) ** 2, x - target
    >>> abs(largo.training.descend(batch, [0.0], steps=2000, step_size=0.2, schedule="inverse-time").end[0] - 1) < 0.1
    True
    """
    return Descent(**_largo.training_descend(batch, start, steps, step_size, schedule, optimizer, records, checkpoint,
                                             as_progress(progress, "training.descend")))
