"""What would help a release that did not pass: tried and judged by the gate itself, not guessed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from anonrisk.policy.finding import FAIL
from anonrisk.policy.problem import Problem, attempt
from anonrisk.releases.release.check import judged
from anonrisk.releases.release.explanation import MendTrial, ReleaseExplanation
from anonrisk.releases.release.mend import mend

if TYPE_CHECKING:
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.parts import ReleaseParts
    from anonrisk.releases.release.verdict import ReleaseVerdict

# Budgets about more than one table, which no column of it decides.
_TOGETHER = ("differencing", "linked")


def explain(
    verdict: ReleaseVerdict, release: ReleaseParts, ledger: Ledger | None, previous: Any = None
) -> ReleaseExplanation:
    """Try what may help against the findings that block; see `ReleaseVerdict.explain`."""
    tables = {}
    with ExitStack() as opened:
        for name in fails_alone(verdict):
            table = judged(release, name, opened)
            if table.counted is not None:
                tables[name] = table.verdict.explain()
    failed = any(f.budget == "differencing" and f.status == FAIL for f in verdict.failures)
    if ledger is None or not failed:
        return ReleaseExplanation(tables)
    leavers = "drop" if previous is None else "keep"
    mended = attempt(lambda: mend(release, ledger, leavers=leavers, previous=previous))
    if isinstance(mended, Problem):
        return ReleaseExplanation(tables, MendTrial(leavers, why_not=mended.message))
    return ReleaseExplanation(tables, MendTrial(leavers, mended.price, mended.verdict.status))


def fails_alone(verdict: ReleaseVerdict) -> list[str]:
    """List the tables that do not pass by themselves, whatever there is beside them."""
    return [
        name
        for name, item in verdict.tables.items()
        if any(f.blocks() and f.budget not in _TOGETHER for f in item.all_findings)
    ]
