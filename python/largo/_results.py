"""Small result types with named fields."""

from __future__ import annotations

from typing import NamedTuple, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Tilt(NamedTuple):
    """The law tilted by e^<a,z>: Λ(a), and the mean and covariance of the tilted law.

    Shapes: scalar, (d,), (d, d) for one direction; (n,), (n, d), (n, d, d) for n of them.
    """

    log_partition: Union[float, Array]
    mean: Array
    covariance: Array


class Estimate(NamedTuple):
    """A number, or an array of numbers, with an estimate of its error (the standard error if it is sampled)."""

    value: Union[float, Array]
    error: Union[float, Array]


class Point(NamedTuple):
    """Parameters on the invariant set of in-context regression: U = [[A, 0], [0, 0]], v = (0, b)."""

    A: Array
    b: float

    @property
    def balance(self) -> float:
        """‖A‖² - b², which training on infinite prompts conserves."""
        return float(np.sum(self.A**2) - self.b**2)


class Supremum(NamedTuple):
    """The largest error along a path, its own error, and the number of the point where it occurs."""

    value: float
    error: float
    at: int


class ToleratedLength(NamedTuple):
    """From `L` tokens on, E‖softmax - linear‖² is within the tolerance; at `L` it is `value`."""

    L: float
    value: float
