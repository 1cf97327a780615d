"""The hypotheses of the propositions: the value of each, whether it holds, and what needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple

from . import _largo
from ._arguments import ArrayInput, LawInput, MatrixInput
from ._concentration import queries_of


@dataclass(frozen=True)
class Assumption:
    """One hypothesis, with the keys of `largo assumptions --json`.

    `holds` is True, False, or None where it cannot be decided; `note` then says why. `value` may be infinite, and is None
    where it is not known; `kind` says whether it is "exact", or a bound ("at most", "at least"). `where` says where the
    hypothesis fails, or what decides. `at_queries` has the value at each query, if finitely many are given.
    """

    name: str
    value: Optional[float]
    holds: Optional[bool]
    needed_by: str
    kind: Optional[str]
    statement: str
    where: str
    note: str
    at_queries: Tuple[float, ...]


def assumptions_of(rows: Iterable[Mapping[str, Any]]) -> Dict[str, Assumption]:
    """The rows of the compiled part, by name."""
    found: Dict[str, Assumption] = {}
    for row in rows:
        fields: Dict[str, Any] = {**row, "at_queries": tuple(row["at_queries"])}
        found[row["name"]] = Assumption(**fields)
    return found


def assumptions(
    law: LawInput,
    *,
    query: Optional[ArrayInput] = None,
    query_law: Optional[_largo.Law] = None,
    U: Optional[MatrixInput] = None,
    K: Optional[MatrixInput] = None,
    Q: Optional[MatrixInput] = None,
    threads: int = 0,
) -> Dict[str, Assumption]:
    """The hypotheses of the paper's propositions and of the certified bounds, for tokens of a law and scores <z', Uz>.

    Queries are one `query` (e,), several (n, e), or a `query_law`; U is the identity unless it, or K and Q, is given. The
    result is a dict by name: "sub_gaussian_tokens", "large_sigma", "sub_gaussian_queries", "centred_tokens",
    "gaussian_tokens", "bounded_tokens", "finite_log_partition", "tilted_moment_4", "tilted_moment_8" and "finite_rho" (whose
    value is the logarithm of the average of ρ). Nothing is sampled. A law of your own says where its Λ is infinite by
    returning +inf there.

    >>> import largo
    >>> law = largo.law("gaussian", d=2)
    >>> found = largo.assumptions(law, query_law=law)
    >>> found["tilted_moment_4"].value, found["tilted_moment_4"].holds
    (32.0, True)
    >>> found["finite_rho"].holds, found["finite_rho"].where
    (False, '2|Γ^½ U Σ^½|² = 2 > 1, with Σ the covariance of the queries')
    """
    return assumptions_of(_largo.assumptions(law, U, K, Q, queries_of(query, query_law, "assumptions"), threads))
