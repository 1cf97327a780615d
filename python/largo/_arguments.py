"""Types and conversions of arguments: arrays of any library, matrices by name, lengths, progress."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable, List, Optional, Protocol, Sequence, Tuple, Union

import numpy.typing as npt

from . import _largo
from ._results import Array


class SupportsDLPack(Protocol):
    """Arrays of PyTorch, JAX and other libraries, on the CPU."""

    def __dlpack__(self) -> Any: ...


ArrayInput = Union[npt.ArrayLike, SupportsDLPack]
#: A matrix, or its name: "0.5*identity", "toeplitz:0.5", "diag:1,2,3", "random:7", "file.npy".
MatrixInput = Union[ArrayInput, str]
#: A law, or a matrix whose rows are the tokens of a prompt.
LawInput = Union[_largo.Law, ArrayInput]
#: Prompt lengths, or the name of a law of lengths, "uniform:1:100", or a list of either.
LengthInput = Union[ArrayInput, str, Sequence[Union[float, str]]]
#: Called with the share done, from 0 to 1. True shows a tqdm bar.
Progress = Union[None, bool, Callable[[float], object]]


def as_numbers(name: str, value: ArrayInput) -> Tuple[List[float], Tuple[int, ...]]:
    """The numbers in one list, and their original shape."""
    array = _largo.numbers(name, value)
    numbers: List[float] = array.ravel().tolist()
    return numbers, array.shape


def as_lengths(value: ArrayInput) -> Tuple[List[float], Tuple[int, ...]]:
    """Prompt lengths, each at least one token; ∞ is allowed."""
    lengths, shape = as_numbers("L", value)
    for L in lengths:
        if not L >= 1:
            raise ValueError(f"L is {L:g}, must be at least 1 (math.inf is the infinite prompt)")
    return lengths, shape


def as_length_laws(value: LengthInput) -> Tuple[List[Union[float, str]], Tuple[int, ...]]:
    """Prompt lengths, or texts that name laws of lengths, such as "uniform:1:100"; one of them, or a list."""
    if isinstance(value, str):
        return [value], ()
    if isinstance(value, (list, tuple)) and any(isinstance(one, str) for one in value):
        return [one if isinstance(one, str) else as_lengths(one)[0][0] for one in value], (len(value),)
    lengths, shape = as_lengths(value)
    return list(lengths), shape


def as_whole(name: str, value: Any) -> int:
    """A whole number, such as 1000 or 1e3."""
    return _largo.whole(name, value)


def as_number(name: str, value: Any) -> float:
    """One real number."""
    numbers, shape = as_numbers(name, value)
    if shape != ():
        raise TypeError(f"{name} is an array, must be a number")
    return numbers[0]


def as_list(name: str, value: Any) -> List[Any]:
    """The value as a list; a TypeError if it is a single number or the like."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name} is {type(value).__name__}, must be a list")
    return list(value)


def choice(function: str, argument: str, value: object, known: Iterable[str]) -> str:
    """The value, if it is one of the names; otherwise a ValueError that lists them."""
    names = list(known)
    if value not in names:
        raise ValueError(f"{function}: {argument} is {value!r}, must be one of {', '.join(names)}")
    return str(value)


def shaped(values: Array, shape: Tuple[int, ...]) -> Union[float, Array]:
    """A float for one number, otherwise an array of the given shape."""
    return float(values[0]) if shape == () else values.reshape(shape)


def without_repeats(values: Iterable[float]) -> List[float]:
    """The values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def as_frame(rows: Any) -> Any:
    """The rows as a pandas data frame."""
    try:
        import pandas  # type: ignore[import]
    except ImportError:
        raise ImportError("to_frame needs pandas, which is not installed (Debian: python3-pandas)") from None
    return pandas.DataFrame(rows)


class _Bar:
    """A tqdm bar as a function of the share done."""

    def __init__(self, tqdm: Any, name: str) -> None:
        self._bar = tqdm(total=100, desc=name, unit="%", leave=False)

    def __call__(self, share: float) -> None:
        self._bar.update(math.floor(100 * share) - self._bar.n)
        if share >= 1:
            self._bar.close()


def as_progress(progress: Progress, name: str) -> Optional[Callable[[float], object]]:
    """The function to call with the share done, or None."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        if not callable(progress):
            raise TypeError(f"progress is {type(progress).__name__}, must be a function, True or None")
        return progress
    try:
        from tqdm.auto import tqdm  # type: ignore[import]
    except ImportError:
        raise ValueError("progress=True draws a bar with tqdm, which is not installed; give a function") from None
    return _Bar(tqdm, name)
