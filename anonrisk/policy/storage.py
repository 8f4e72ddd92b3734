"""What is stored besides the rows of a table: in a file to be published it blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anonrisk.core.render import count_of
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, Finding, unknown
from anonrisk.policy.problem import Problem, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anonrisk.measures.counts.schema import Stored
    from anonrisk.policy.verdict import Verdict

# A sentence names no more than somebody reads, and of each no more than tells which it is.
_SHOWN, _LONGEST = 5, 60


def of_storage(examine: Callable[[], Stored]) -> tuple[Finding, ...]:
    """Judge what is stored; where nobody can tell what that is, nothing passes."""
    found = attempt(examine)
    if isinstance(found, Problem):
        return (unknown("storage", found.message),)
    severity = "fail" if found.in_file else "warn"
    return tuple(
        Finding("storage", FAIL, severity, sentence, value=n, limit=0, margin=-n)
        for n, sentence in ((_of_values(found)), (_of_metadata(found)))
        if n
    )


def with_files(verdict: Verdict, storage: Iterable[Finding]) -> Verdict:
    """Return what files hold, in place of their table in memory, unless that is unknown."""
    doubts = [finding for finding in verdict.storage if finding.status == COULD_NOT_ASSESS]
    return replace(verdict, storage=(*storage, *doubts))


def _of_values(found: Stored) -> tuple[int, str]:
    n = sum(found.unused.values())
    told = _listed(f"{count:,} in {_short(name)}" for name, count in found.unused.items())
    if found.in_file:
        held = f"The files hold {count_of(n, 'value')} that no row has ({told})"
        return n, f"{held}, as people who were removed leave them. Write them anew: {found.remedy}."
    listed = f"The columns list {count_of(n, 'value')} that no row has ({told})"
    return n, f"{listed}, which a file of the table may hold. Remove them: {found.remedy}"


def _of_metadata(found: Stored) -> tuple[int, str]:
    n = len(found.metadata)
    told = _listed(map(_short, found.metadata))
    keys = count_of(n, "entry", "entries")
    return n, (
        f"The files carry {keys} of metadata that are not known to be harmless ({told}). Write "
        f"them anew: {found.remedy}."
    )


def _listed(told: Iterable[str]) -> str:
    every = list(told)
    more = [f"{len(every) - _SHOWN:,} more"] if len(every) > _SHOWN else []
    return ", ".join([*every[:_SHOWN], *more])


def _short(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
