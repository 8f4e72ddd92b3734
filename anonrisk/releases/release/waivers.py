"""Waivers: somebody answers for a broken budget of one release, by name and for a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import day_of
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.core.results import Document
from anonrisk.errors import PolicyError
from anonrisk.policy import budgets, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.policy.policy import Policy
    from anonrisk.policy.verdict import Verdict

KEYS = ("budget", "table", "reason", "owner", "expires")
# With it a finding's sentence is still shown to its end on every page.
_LONGEST_REASON = 1_000


@dataclass(frozen=True, repr=False)
class Waiver(Document, PrintedFields):
    """Lets a release pass although one budget of one table is broken.

    The finding stays ``"fail"``, with severity ``"waived"``, and says why, who and until when in
    every rendering. A direct identifier, and what could not be assessed, cannot be waived.

    Parameters
    ----------
    budget : str
        As findings name it: ``"k"``, ``"differencing"``, ``"risk.prosecutor.highest"``.
    table : str
        Which table of the release.
    reason : str
        Why it is acceptable.
    owner : str
        Who answers for it.
    expires : date or str
        The last day, in UTC, on which it holds, as ``"2026-12-31"``.

    Examples
    --------
    >>> print(Waiver("k", "patients", "agreed with the ethics board", "A. Officer", "2026-12-31"))
    Waiver
    field    value
    budget   k
    table    patients
    reason   agreed with the ethics board
    owner    A. Officer
    expires  2026-12-31
    """

    budget: str
    table: str
    reason: str
    owner: str
    expires: str

    def __post_init__(self) -> None:
        """Check every part."""
        for key in ("budget", "owner"):
            object.__setattr__(self, key, fields.said(getattr(self, key), f"{key} of a waiver"))
        # On one line and without its full stop, as sentences of every rendering take it.
        said = fields.said(self.reason, "reason of a waiver", most=_LONGEST_REASON)
        object.__setattr__(self, "reason", said.rstrip("."))
        # As the release writes it, blanks too.
        fields.text(self.table, "table of a waiver")
        object.__setattr__(self, "expires", _day(self.expires))
        if budgets.named(self.budget) is None:
            raise PolicyError(_not_waived(self.budget))

    @classmethod
    def of(cls, value: Any, where: str = "a waiver") -> Waiver:
        """Read what a document has; a waiver as it is."""
        if isinstance(value, Waiver):
            return value
        stated = fields.mapping(value, where, KEYS, {"until": "expires", "by": "owner"})
        missing = [key for key in KEYS if stated.get(key) is None]
        if missing:
            raise PolicyError(f"{where} has no {missing[0]}: it needs {', '.join(KEYS)}")
        return cls(**stated)

    @property
    def sentence(self) -> str:
        """What it says, beside the finding that it is about."""
        return f"Waived until {self.expires} by {self.owner}: {self.reason}."

    def expired(self, today: date | None = None) -> bool:
        """Return whether its last day has passed, in UTC."""
        return date.fromisoformat(self.expires) < (today or datetime.now(UTC).date())


def refuse_wrong(waivers: Sequence[Waiver], policies: Mapping[str, Policy]) -> None:
    """Reject waivers of tables and budgets that there are not, and two of the same."""
    for i, waiver in enumerate(waivers):
        policy = policies.get(waiver.table)
        if policy is None:
            raise PolicyError(
                f"a waiver names table {waiver.table!r}, which is not in the release"
                f"{nearest(waiver.table, policies)}"
            )
        stated = {budget.name for rule in policy.rules for budget in rule.budgets}
        if waiver.budget not in stated:
            raise PolicyError(
                f"a waiver names budget {waiver.budget!r}, which the policy of "
                f"{waiver.table!r} does not have{nearest(waiver.budget, stated)}"
            )
        if any((item.budget, item.table) == (waiver.budget, waiver.table) for item in waivers[:i]):
            raise PolicyError(f"{waiver.budget} of {waiver.table!r} is waived twice")


def refuse_expired(waivers: Iterable[Waiver], today: date | None = None) -> None:
    """Reject waivers whose last day has passed: who waives again decides again."""
    for waiver in waivers:
        if waiver.expired(today):
            raise PolicyError(
                f"the waiver of {waiver.budget} for {waiver.table!r} expired on {waiver.expires}: "
                "fix the table, or decide again and set a new date"
            )


def waive(verdict: Verdict, waivers: Iterable[Waiver]) -> Verdict:
    """Return a table's verdict with what its waivers cover; nothing that nobody can tell is."""
    own = {waiver.budget: waiver for waiver in waivers if waiver.table == verdict.table}
    findings = tuple(
        finding.waived(own[finding.budget].to_dict(), own[finding.budget].sentence)
        if finding.waivable and finding.severity == "fail" and finding.budget in own
        else finding
        for finding in verdict.findings
    )
    return replace(verdict, findings=findings)


def _day(value: Any) -> str:
    # YAML makes dates of what looks like one; a moment is also a date to Python.
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return day_of(value.strip()).isoformat()
    except (AttributeError, ValueError):
        raise PolicyError("expires of a waiver must be a date, such as 2026-12-31") from None


def _not_waived(budget: str) -> str:
    if budget == "direct":
        return "a direct identifier cannot be waived: take the column out of the table"
    return (
        f"a waiver names budget {budget!r}, which does not exist"
        f"{nearest(budget, budgets.BUDGETS)}; only budgets can be waived"
    )
