"""Studies: one quantity at many points, declared in a file, run into a store, and read as a table."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from . import _largo
from ._arguments import Progress, as_frame, as_progress

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class StudyRun:
    """The result of a run. `content` is a hash of the results; it does not depend on how they were computed."""

    store: str
    units: int
    done: int
    failed: int
    ran: int
    seconds: float
    content: str


@dataclass(frozen=True)
class StudyStatus:
    """The progress of a study; `failures` has (inputs, message) of the first ten failures."""

    title: str
    quantity: str
    version: str
    units: int
    done: int
    failed: int
    others: int
    running: bool
    rate: float
    unit_seconds: float
    failures: Tuple[Tuple[Mapping[str, Any], str], ...]
    content: str


@dataclass(frozen=True)
class StudyTable:
    """The results of a study. `rows` are dicts with the parameters, NAME and NAME_error of each result, "message" (why
    there are no results) and "warning" (what sampled results may have missed)."""

    title: str
    quantity: str
    version: str
    content: str
    configuration: Mapping[str, Any]
    units: int
    parameters: Tuple[str, ...]
    results: Tuple[str, ...]
    axes: Tuple[str, ...]
    rows: Tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> Any:
        """The rows as a pandas data frame (pandas must be installed)."""
        return as_frame([dict(row) for row in self.rows])


def run_study(file: Path, store: Optional[Path] = None, *, set: Mapping[str, object] = {}, retry: bool = False,
              threads: int = 0, progress: Progress = None) -> StudyRun:
    """Runs the units of a study that are not in its store yet; a run that was stopped is resumed.

    `file` is the study's TOML file. `store` is a SQLite file; the default is FILE.sqlite beside it. `set` gives other
    values of parameters, as texts or numbers, or lists or ranges for the grid. Ctrl-C keeps what is finished and raises
    KeyboardInterrupt.

    >>> import os, tempfile, largo
    >>> folder = tempfile.mkdtemp()
    >>> file = os.path.join(folder, "spread.toml")
    >>> _ = open(file, "w").write('title = "Spread"\\nquantity = "moments"\\n[grid]\\ns = [0.5, 1]\\nL = [10, 100]\\n')
    >>> largo.run_study(file).done
    4
    >>> largo.run_study(file).ran
    0
    >>> table = largo.read_study(os.path.join(folder, "spread.sqlite"))
    >>> [round(row["P2"], 4) for row in table.rows]
    [0.1234, 0.0128, 0.1947, 0.0255]
    """
    path = os.fspath(file)
    place = os.fspath(store) if store is not None else os.path.splitext(path)[0] + ".sqlite"
    if not isinstance(set, Mapping):
        raise TypeError(f"run_study: set is {type(set).__name__}, must be a dict of parameters")
    if not isinstance(retry, bool):
        raise TypeError(f"run_study: retry is {type(retry).__name__}, must be True or False")
    changes = {str(key): _text(value) for key, value in set.items()}
    return StudyRun(**_largo.run_study(path, place, changes, retry, threads, as_progress(progress, "run_study")))


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    return repr(value) if isinstance(value, float) else str(value)


def study_status(store: Path) -> StudyStatus:
    """The progress of a study, also while it is running."""
    status: Dict[str, Any] = _largo.study_status(os.fspath(store))
    status["failures"] = tuple((json.loads(inputs), message) for inputs, message in status["failures"])
    return StudyStatus(**status)


def read_study(store: Path) -> StudyTable:
    """The results in a store: the finished units, in the study's order, also while it is running."""
    table: Dict[str, Any] = _largo.read_study(os.fspath(store))
    table["configuration"] = json.loads(table["configuration"])
    for name in ("parameters", "results", "axes", "rows"):
        table[name] = tuple(table[name])
    return StudyTable(**table)
