"""Factors β(L) on the scores of growing prompts, and the factor that keeps a statistic at a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _largo
from ._arguments import ArrayInput, LawInput, MatrixInput, as_frame, as_list

#: A name ("sqrt-log", "yarn:4096"), a formula in L, a file, a constant factor, or a function of L.
TemperatureInput = Union[str, float, Callable[[float], float]]

_NUMBERS = ("effective_tokens", "entropy", "needle_weight", "crowd_weight", "log_partition", "output_error")


@dataclass(frozen=True)
class Temperatures:
    """What temperature() and inverse_temperature() return.

    The numbers are arrays, or single numbers where L is one. Those of temperature() have an axis in front, that of the
    laws in `laws`. `planted_weights` has one more axis at the end, that of the sinks and then the classes. What a prompt
    does not have is None: the weight of a needle without one, or the output error where something is beside the crowd.
    `errors` has an estimate of the error of each. `growth` says how β grows between the last two lengths of
    inverse_temperature(): {"from", "to", "power", "power_of_log"}, read off and not proved.
    """

    laws: Tuple[str, ...]
    L: Any
    beta: Any
    effective_tokens: Any
    entropy: Any
    needle_weight: Any
    crowd_weight: Any
    planted_weights: Any
    log_partition: Any
    output_error: Any
    errors: Mapping[str, Any]
    growth: Optional[Mapping[str, float]] = None

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """A dict for each length and law, with the keys of `largo temperature --json`."""
        shape = np.shape(self.beta)
        lengths = np.broadcast_to(self.L, shape).ravel()
        names = np.repeat(self.laws, lengths.size // len(self.laws))
        flat = {name: np.ravel(getattr(self, name)) for name in ("beta", *_NUMBERS) if getattr(self, name) is not None}
        planted = np.reshape(self.planted_weights, (lengths.size, -1)) if lengths.size else np.empty((0, 0))
        errors = {name: np.ravel(self.errors[name]) for name in _NUMBERS if name in self.errors}
        return [{"L": float(lengths[i]), "law": str(names[i]),
                 **{name: float(flat[name][i]) if name in flat else None for name in ("beta", *_NUMBERS)},
                 "planted_weights": planted[i].tolist(),
                 "errors": {name: float(one[i]) for name, one in errors.items()}} for i in range(lengths.size)]

    def to_dict(self) -> Dict[str, Any]:
        """The whole result, as the command line prints it with --json."""
        return {"rows": self.rows, **({} if self.growth is None else {"growth": dict(self.growth)})}

    def to_frame(self) -> Any:
        """The rows as a pandas data frame (pandas must be installed)."""
        return as_frame([{name: value for name, value in row.items() if name not in ("planted_weights", "errors")}
                         for row in self.rows])


def _result(laws: Sequence[str], L: Any, shape: Tuple[int, ...], found: Mapping[str, Mapping[str, Any]],
            growth: Optional[Mapping[str, float]] = None) -> Temperatures:
    def fields(numbers: Mapping[str, Any]) -> Dict[str, Any]:
        shaped = {name: one.reshape(shape)[()] for name, one in numbers.items() if name != "planted_weights"}
        planted = numbers["planted_weights"]
        return {**shaped, "planted_weights": planted.reshape((*shape, planted.shape[1]))}

    values = {"needle_weight": None, "output_error": None, **fields(found["values"])}
    return Temperatures(laws=tuple(laws), L=L[()], errors=fields(found["errors"]), growth=growth, **values)


def _law(law: Any, L: Any) -> Any:
    """A text, or a name with the factor at each length."""
    if isinstance(law, str):
        return law
    if callable(law):
        return (getattr(law, "__name__", "function"), [float(law(float(length))) for length in L.ravel()])
    return (f"{float(law):g}", np.full(L.size, float(law)))


def _crowd(**given: Any) -> Dict[str, Any]:
    given["sinks"] = np.atleast_1d(given["sinks"]) if np.size(given["sinks"]) else np.empty(0)
    given["classes"] = as_list("classes", given["classes"])
    return given


def temperature(
    L: ArrayInput,
    *,
    s: Optional[float] = None,
    law: Optional[LawInput] = None,
    query: Optional[ArrayInput] = None,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    needle: Optional[float] = None,
    sinks: ArrayInput = (),
    classes: Sequence[Tuple[float, float, float]] = (),
    beta: Union[None, TemperatureInput, Sequence[TemperatureInput], Mapping[str, TemperatureInput]] = None,
    threads: int = 0,
) -> Temperatures:
    """Factors β(L) on all scores, side by side, and what softmax does with them over L tokens. Exact: nothing is sampled.

    The L tokens of the crowd have normal scores of standard deviation `s`, or scores <U query, token> with tokens of a
    `law` (which must know the law of its scores). Beside them there may be a `needle` of a given score, `sinks` of given
    scores, and `classes` (count, shift, spread) of normal scores; the factor multiplies their scores too.

    `beta` is one law, several, or a dict of names and laws. A law is a name (constant, sqrt-log, log, log-squared, yarn:N,
    longrope:N with the length N in training), a formula in L ("1+0.1*ln(L/4096)"), a file with columns L and beta, a
    constant factor, or a function of L. Without it, the first four are compared. L is a number or an array.

    >>> import math, largo
    >>> found = largo.temperature([1e3, 1e6], s=1, needle=8, beta=["constant", "sqrt-log", lambda L: 0.3 * math.log(L)])
    >>> found.needle_weight.round(3)
    array([[0.644, 0.002],
           [1.   , 1.   ],
           [0.999, 1.   ]])
    >>> largo.temperature(1e6, s=1, beta="yarn:4096").effective_tokens.round()
    array([3365.])
    """
    lengths = np.asarray(_largo.numbers("L", L))
    if isinstance(beta, Mapping):
        named = [(name, _law(one, lengths)) for name, one in beta.items()]
    else:
        given: List[TemperatureInput] = []
        if isinstance(beta, (str, float, int)) or callable(beta):
            given = [beta]
        elif beta is not None:
            given = list(beta)
        named = [("", _law(one, lengths)) for one in given]
    laws = [one for _, one in named]
    names, found = _largo.temperature(
        _crowd(s=s, law=law, query=query, U=U, V=V, needle=needle, sinks=sinks, classes=classes), lengths.ravel(),
        None if beta is None else laws, threads)
    names = [own or name for (own, _), name in zip(named, names)] if named else names
    return _result(names, lengths, (len(names), *lengths.shape), found)


def inverse_temperature(
    L: ArrayInput,
    statistic: str,
    target: Union[str, ArrayInput, Callable[[float], float]],
    *,
    s: Optional[float] = None,
    law: Optional[LawInput] = None,
    query: Optional[ArrayInput] = None,
    U: Optional[MatrixInput] = None,
    V: Optional[MatrixInput] = None,
    needle: Optional[float] = None,
    sinks: ArrayInput = (),
    classes: Sequence[Tuple[float, float, float]] = (),
    threads: int = 0,
) -> Temperatures:
    """The smallest factor β on all scores that brings a statistic of the softmax weights to a target, for each L.

    `statistic` is "effective_tokens", "entropy" or "needle_weight". `target` is a number, an array, which is broadcast
    against L, a formula in L, or a function of L. The prompt is described as in temperature(). A target that no factor
    reaches is a ValueError, which says what can be reached.

    >>> import largo
    >>> found = largo.inverse_temperature([1e2, 1e4, 1e6], "effective_tokens", 10, s=1)
    >>> found.beta.round(3)
    array([1.818, 3.456, 4.646])
    >>> abs(found.effective_tokens - 10).max() < 1e-9
    True
    """
    lengths = np.asarray(_largo.numbers("L", L))
    if callable(target):
        target = np.reshape([float(target(float(length))) for length in lengths.ravel()], lengths.shape)
    if not isinstance(target, str):
        numbers = np.asarray(_largo.numbers("target", target))
        try:
            lengths, numbers = np.broadcast_arrays(lengths, numbers)
        except ValueError:
            raise ValueError(f"inverse_temperature: L of shape {lengths.shape} and target of shape {numbers.shape} "
                             "cannot be broadcast against each other") from None
        target = numbers.ravel()
    found, growth = _largo.inverse_temperature(
        _crowd(s=s, law=law, query=query, U=U, V=V, needle=needle, sinks=sinks, classes=classes), lengths.ravel(),
        statistic, target, threads)
    return _result(["target"], lengths, lengths.shape, found, growth)
