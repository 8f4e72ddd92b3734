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
    result = attempt(examine)
    if isinstance(result, Problem):
        return (unknown("storage", result.message),)
    severity = "fail" if result.in_file else "warn"
    return tuple(
        Finding("storage", FAIL, severity, sentence, value=n, limit=0, margin=-n)
        for n, sentence in ((_of_values(result)), (_of_metadata(result)))
        if n
    )


def with_files(verdict: Verdict, storage: Iterable[Finding]) -> Verdict:
    """Return what files hold, in place of their table in memory, unless that is unknown."""
    doubts = [finding for finding in verdict.storage if finding.status == COULD_NOT_ASSESS]
    return replace(verdict, storage=(*storage, *doubts))


def _of_values(stored: Stored) -> tuple[int, str]:
    n = sum(stored.unused.values())
    summary = _listed(f"{count:,} in {_short(name)}" for name, count in stored.unused.items())
    if stored.in_file:
        held = f"The files hold {count_of(n, 'value')} that no row has ({summary})"
        return (
            n,
            f"{held}, as removed people leave behind. Write them anew: {stored.remedy}.",
        )
    listed = f"The columns list {count_of(n, 'value')} that no row has ({summary})"
    return n, f"{listed}, which a file of the table may hold. Remove them: {stored.remedy}"


def _of_metadata(stored: Stored) -> tuple[int, str]:
    n = len(stored.metadata)
    summary = _listed(map(_short, stored.metadata))
    keys = count_of(n, "entry", "entries")
    return n, (
        f"The files carry {keys} of metadata that are not known to be harmless ({summary}). Write "
        f"them anew: {stored.remedy}."
    )


def _listed(summary: Iterable[str]) -> str:
    every = list(summary)
    more = [f"{len(every) - _SHOWN:,} more"] if len(every) > _SHOWN else []
    return ", ".join([*every[:_SHOWN], *more])


def _short(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
