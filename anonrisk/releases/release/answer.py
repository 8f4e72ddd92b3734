"""What was found of a release, and whether it may be published."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.policy.coverage import caveats_of
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS
from anonrisk.policy.verdict import now, overall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.policy.finding import Finding
    from anonrisk.policy.verdict import Verdict
    from anonrisk.releases.release.approvals import Approval, Waiver

_MEND = (
    "Release.mend (anonrisk release mend) holds persons back, and says how many and whether the "
    "rest passes; so does explain() of this verdict."
)


@dataclass(frozen=True, repr=False)
class ReleaseAnswer:
    """The findings of a `ReleaseVerdict`, which describes them, and what follows from them."""

    tables: Mapping[str, Verdict]
    findings: tuple[Finding, ...] = ()
    name: str | None = None
    audience: str | None = None
    separate: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    digest: str | None = None
    head: str | None = None
    waivers: tuple[Waiver, ...] = ()
    approvals: tuple[Approval, ...] = ()
    approvals_asked: int = 0
    library_version: str = __version__
    checked_at: str = field(default_factory=now, compare=False)
    # What `explain` calls, with the release and its ledger: a stored verdict has neither.
    _explained: Any = field(default=None, compare=False)

    # ---- the answer -------------------------------------------------------------------------

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """Those of every table, then those of all together."""
        of_tables = [item for verdict in self.tables.values() for item in verdict.all_findings]
        return (*of_tables, *self.findings)

    @property
    def status(self) -> str:
        """``"pass"``, ``"fail"`` or ``"could_not_assess"``, by the rule of a `Verdict`."""
        if not self.tables or not all(table.findings for table in self.tables.values()):
            return COULD_NOT_ASSESS
        return overall(item for item in self.every_finding if item.passed or item.blocks())

    @property
    def passed(self) -> bool:
        """Whether the tables may be published."""
        return self.status == PASS

    @property
    def caveats(self) -> tuple[str, ...]:
        """What keeps a pass from being a plain one: approvals to come, and what its tables say."""
        if not self.passed:
            return ()
        lacking = []
        if self.approvals_missing:
            asked = render.count_of(self.approvals_asked, "approval")
            lacking = [f"{self.approvals_missing:,} of {asked} missing"]
        return (*lacking, *caveats_of({name: item.caveats for name, item in self.tables.items()}))

    @property
    def approvals_missing(self) -> int:
        """How many must still be given before it is published."""
        return max(0, self.approvals_asked - len(self.approvals))

    def __bool__(self) -> bool:
        """Mean passed, so that a careless `if` is safe."""
        return self.passed

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that block: those that failed and those that could not be assessed."""
        return tuple(item for item in self.every_finding if item.blocks())

    @property
    def waived(self) -> tuple[Finding, ...]:
        """The findings that failed and that a waiver keeps from blocking."""
        return tuple(item for verdict in self.tables.values() for item in verdict.waived)

    # ---- in words ---------------------------------------------------------------------------

    @property
    def called(self) -> str:
        """What a sentence calls it."""
        return "the release" if self.name is None else f"release {self.name!r}"

    @property
    def about(self) -> list[str]:
        """What there is to know beside the findings, a line each."""
        summary = [] if self.audience is None else [f"for {self.audience}"]
        if self.earlier:
            summary.append(f"compared with {render.count_of(len(self.earlier), 'earlier release')}")
        if self.separate:
            summary.append(f"not with those for {', '.join(self.separate)}, who share nothing")
        lines = [*([", ".join(summary)] if summary else []), *self.joined]
        if self.approvals_asked:
            who = ", ".join(f"{approval.by} ({approval.keyid})" for approval in self.approvals)
            text = f"{len(self.approvals)} of {self.approvals_asked} approvals"
            lines.append(f"{text}: {who}" if who else text)
        lines += [
            f"A waiver of {item.budget} for {item.table} is not needed." for item in self.unused
        ]
        if any(f.budget == "differencing" and f.status == FAIL for f in self.failures):
            lines.append(_MEND)
        return [render.shown(line) for line in lines]

    @property
    def unused(self) -> tuple[Waiver, ...]:
        """Waivers that no finding needs."""
        needed = {(name, f.budget) for name, table in self.tables.items() for f in table.waived}
        return tuple(
            waiver for waiver in self.waivers if (waiver.table, waiver.budget) not in needed
        )
