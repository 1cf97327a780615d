"""Runs of training, and files of them."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Mapping, Sequence, Union

import numpy as np

from ._arguments import as_list
from ._results import Array

PathInput = Union[str, "os.PathLike[str]"]

_ARRAYS = ("U", "v", "times", "risks", "gradient_norms", "U_path", "v_path")
_FORMAT = "largo.icl runs, version 1"


@dataclass(frozen=True)
class Run:
    """One training at one length: its path in time, its end, and its distance from the run of the infinite prompt.

    `times`, `risks` and `gradient_norms` are (n,); `U_path` is (n, d+1, d+1), `v_path` (n, d+1). For a task, U is (tokens,
    queries) and v is (tokens,), or (outputs, tokens) for several outputs. `details` has everything else that is known:
    "record_error" (the error of the `risks` of a flow at the recorded parameters; `risk_error` of the last one also includes
    how far the flow itself may be off), "average" (how a flow over draws averages over prompts: "exact", "limit" or
    "sampled"), "balance_drift", "distances_to_limit_flow", "gradient_gap", "distances_to_flow", "noise", "predicted_noise",
    "distance_to_theorem_limit", and "flat" (the flow stopped in a valley too flat to be told from rounding). For flows off
    the invariant set, `risk_error` includes how far averages over tasks move their ends (docs/icl.md).
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
        """b at the end, on the invariant set: the last entry of v. Only for one output."""
        if self.v.ndim != 1:
            raise ValueError(f"Run.b is for one output, but v has shape {self.v.shape}: use v")
        return float(self.v[-1])


def run_of(result: Dict[str, Any]) -> Run:
    """The run from what the compiled part returns: U by columns and v by rows, in one row for each record."""
    path, U, v = result.pop("parameters"), result["U"], result["v"]
    d, e = U.shape
    outputs = () if len(v) == d else (len(v) // d,)
    result["v"] = v.reshape(*outputs, d)
    known = {one.name: result.pop(one.name) for one in fields(Run) if one.name in result}
    return Run(**known, U_path=path[:, :d * e].reshape(-1, e, d).transpose(0, 2, 1),
               v_path=path[:, d * e:].reshape(-1, *outputs, d), details=result)


def save(path: PathInput, runs: Sequence[Run]) -> None:
    """Writes runs to a file, which `load` reads. It is an .npz of NumPy without pickles: the arrays, and one text in JSON
    with everything else. The file is there as a whole or not at all.

    >>> import math, os, tempfile, largo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "runs.npz")
    ...     largo.icl.save(file, largo.icl.train(largo.icl.Problem(2), math.inf))
    ...     [run.L for run in largo.icl.load(file)]
    [inf]
    """
    arrays: Dict[str, Any] = {}
    described: List[Dict[str, Any]] = []
    for i, run in enumerate(as_list("runs", runs)):
        if not isinstance(run, Run):
            raise TypeError(f"icl.save: runs[{i}] is {type(run).__name__}, must be an icl.Run, as icl.train returns them")
        values = {one.name: getattr(run, one.name) for one in fields(Run)}
        details = dict(values.pop("details"))
        in_arrays = [name for name, value in details.items() if isinstance(value, np.ndarray)]
        for name in _ARRAYS:
            arrays[f"{i}/{name}"] = values.pop(name)
        for name in in_arrays:
            arrays[f"{i}/details/{name}"] = details.pop(name)
        described.append({**values, "details": details, "arrays of details": in_arrays})
    text = json.dumps({"format": _FORMAT, "runs": described})
    name = os.fspath(path)
    unfinished = f"{name}.{os.getpid()}.tmp"
    try:
        with open(unfinished, "wb") as file:
            np.savez(file, description=np.array(text), **arrays)
        os.replace(unfinished, name)
    except BaseException:
        if os.path.exists(unfinished):
            os.remove(unfinished)
        raise


def load(path: PathInput) -> List[Run]:
    """The runs of a file that `save` wrote, equal to those saved in every field. Any other file is a ValueError.

    >>> import math, os, tempfile, largo
    >>> runs = largo.icl.train(largo.icl.Problem(2), math.inf)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "runs.npz")
    ...     largo.icl.save(file, runs)
    ...     largo.icl.load(file)[0].final_risk == runs[0].final_risk
    True
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        if file.read(2) != b"PK":
            raise ValueError(f"icl.load: {name!r} is no file of icl.save: it is not an .npz")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as stored:
                described = json.loads(str(stored["description"]))
                if described["format"] != _FORMAT:
                    raise ValueError(f"its format is {described['format']!r}")
                return [_loaded(stored, i, one) for i, one in enumerate(described["runs"])]
        except (ValueError, KeyError, TypeError, EOFError, OSError, MemoryError, RecursionError, NotImplementedError,
                zipfile.BadZipFile) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"icl.load: {name!r} is no file of icl.save, or is damaged: {reason}") from None


#: Kinds of the fields that are no arrays.
_KINDS: Dict[str, Any] = {"L": (float, str), "attention": str, "method": str, "seed": int, "final_risk": float,
                          "risk_error": float, "stationary": bool, "steps": int, "details": dict}


def _loaded(stored: Any, i: int, described: Dict[str, Any]) -> Run:
    """Run number i; an error for anything that `save` does not write."""
    values = {name: described[name] for name in _KINDS}
    for name, kind in _KINDS.items():
        if not isinstance(values[name], kind) or (kind is int and isinstance(values[name], bool)):
            raise ValueError(f"{name} of run {i} is {type(values[name]).__name__}")
    for name in _ARRAYS:
        values[name] = _numbers(stored, f"{i}/{name}")
    n, U, v = len(values["times"]), values["U"], values["v"]
    expected = {"U": U.shape[:2], "v": (*v.shape[:-1][:1], U.shape[0]), "times": (n,), "risks": (n,), "gradient_norms": (n,),
                "U_path": (n, *U.shape), "v_path": (n, *v.shape)}
    for name, shape in expected.items():
        if values[name].shape != shape:
            raise ValueError(f"{name} of run {i} has shape {values[name].shape}, must be {shape}")
    for name in described["arrays of details"]:
        values["details"][name] = _numbers(stored, f"{i}/details/{name}")
    return Run(**values)


def _numbers(stored: Any, name: str) -> Array:
    array: Array = stored[name]
    if array.dtype != np.float64 or array.ndim == 0:
        raise ValueError(f"{name} has dtype {array.dtype} and {array.ndim} dimensions")
    return array
