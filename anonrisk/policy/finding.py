"""One thing that a check found, and when a number keeps a limit."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, joined, named, shown, visible
from anonrisk.core.results import Document, restore
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.question import TOLERANCE
from anonrisk.policy import budgets
from anonrisk.policy.budgets.base import SEVERITIES, within
from anonrisk.policy.evidence import as_given, in_short, inside, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anonrisk.core.columns import Name, Qid

PASS, FAIL, COULD_NOT_ASSESS = "pass", "fail", "could_not_assess"
STATUSES = (PASS, FAIL, COULD_NOT_ASSESS)
# The severity of a broken budget that somebody answers for, in a release and for a time.
WAIVED = "waived"
# What a waiver says, and where a finding keeps it.
WAIVER = ("reason", "owner", "expires")
# What a finding may be about beside the budgets; one of another name was not written here.
LIMITS = "limits"
_SHARES = ("max_dropped_fraction", "missing_sensitive")
_OTHERS = {
    "max_dropped_fraction": "The share of rows left out",
    "find_qids": "",
    "against": "The change against the base",
    "approvals": "Who has approved the release",
    "coverage": "What the verdict covers",
    "files": "What is published",
    "contents": "What the columns hold",
    "storage": "What is stored besides the rows",
    **dict.fromkeys(("direct", "unlisted", "missing_sensitive", "reviewed", "table"), "The table"),
    LIMITS: "The table",
}


@dataclass(frozen=True, repr=False)
class Finding(Document, PrintedFields):
    """One budget, measured.

    Attributes
    ----------
    budget : str
        The key of the policy, as ``"k"`` or ``"risk.prosecutor.highest"``; also ``"direct"``,
        ``"unlisted"``, ``"reviewed"``, ``"limits"``, ``"max_dropped_fraction"``,
        ``"missing_sensitive"``, ``"against"``, ``"contents"``, ``"coverage"`` and ``"table"`` for
        what a policy checks or tells by itself; of a release also ``"approvals"`` and ``"files"``.
        In `Verdict.storage` it is ``"storage"``.
    status : {"pass", "fail", "could_not_assess"}
        Whether the budget is kept; the last where that cannot be told.
    severity : {"fail", "warn", "waived"}
        Whether it blocks a release. What could not be assessed blocks in any case; what is waived
        is broken, and somebody answers for it: `parameters` has the waiver, `sentence` its text.
    sentence : str
        What was found, in plain words.
    value, limit : number or None
        What was measured, and the limit; of a prediction, the upper end of its interval.
    margin : float or None
        How much room is left; below zero, by how much the limit is missed.
    estimate : float or None
        Of a prediction: what to expect, of which `value` is the upper end.
    qid : tuple of names
        The quasi-identifier; of every subset, the worst.
    sensitive : name or None
        The sensitive column.
    group : str or None
        The group of the column that `by` names.
    parameters : dict
        What else the budget says, as the kind of diversity.
    """

    budget: str
    status: str
    severity: str
    sentence: str
    value: float | None = None
    limit: float | None = None
    margin: float | None = None
    estimate: float | None = None
    qid: Qid = ()
    sensitive: Name | None = None
    group: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _document = (
        *("budget", "status", "severity", "value", "limit", "margin", "estimate", "qid"),
        *("sensitive", "group", "parameters", "sentence"),
    )

    @property
    def passed(self) -> bool:
        """Whether the budget is kept."""
        return self.status == PASS

    @property
    def numbers(self) -> tuple[str, str, str]:
        """Value, limit and margin as a table has them: shares in percent."""
        value, limit, margin = self.value, self.limit, self.margin
        share = budgets.of_shares(self.budget) or self.budget in _SHARES
        if value is None or not (share or self.parameters.get("as_fraction")):
            return in_short(value), in_short(limit), in_short(margin)
        if limit is None or margin is None:
            return percent(value), in_short(limit), in_short(margin)
        room = as_given if 0 < abs(margin) < 0.001 else percent
        return percent(value, limit), as_given(limit), room(margin)

    def blocks(self, fail_on: str = "fail") -> bool:
        """Return whether it keeps a table from being published; see `Verdict.fail_on`."""
        if self.status == COULD_NOT_ASSESS:
            # Nobody knows how bad it is where nothing was measured. Limits that only warn are no
            # gate, unless somebody says that warnings decide.
            return not (self.budget == LIMITS and self.severity == fail_on == "warn")
        if self.passed or self.severity == WAIVED:
            return False
        return self.severity == "fail" or fail_on == "warn"

    @property
    def waivable(self) -> bool:
        """Whether somebody may answer for it: a budget of a policy that was measured and broken."""
        return self.status == FAIL and budgets.named(self.budget) is not None

    def waived(self, waiver: Mapping[str, str], sentence: str) -> Finding:
        """Return the same finding, still broken, with the waiver that keeps it from blocking."""
        return replace(
            self,
            severity=WAIVED,
            sentence=f"{self.sentence} {sentence}",
            parameters={**self.parameters, WAIVED: {key: waiver[key] for key in WAIVER}},
        )

    @property
    def enough_k(self) -> int | None:
        """The size of every class that would keep to the budget; None where none says so.

        Examples
        --------
        >>> Finding("risk.prosecutor.highest", "fail", "fail", "", value=1.0, limit=0.09).enough_k
        12
        """
        kind = budgets.named(self.budget)
        if kind is None or self.limit is None:
            return None
        return kind.enough_k(self.limit, self.parameters)

    @property
    def key(self) -> tuple[Any, ...]:
        """What two findings that say the same have in common, whichever door they came by."""
        stated = tuple(sorted((name, str(value)) for name, value in self.parameters.items()))
        about = (self.budget, self.status, self.severity, self.qid, self.sensitive, self.group)
        return (*about, self.value, self.limit, stated)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Finding:
        """Read what `to_dict` gave, and refuse a status that its own numbers contradict."""
        severities = (*SEVERITIES, WAIVED)
        if stored["status"] not in STATUSES or stored["severity"] not in severities:
            raise ArgumentError("a finding has an unknown status or severity")
        finding: Finding = restore(cls, stored)
        if (finding.severity == WAIVED) != (WAIVED in finding.parameters) or (
            finding.severity == WAIVED and not finding._says_its_waiver()
        ):
            raise ArgumentError(f"budget {finding.budget!r} is waived without a valid waiver")
        if finding.contradicts_itself():
            raise ArgumentError(f"the numbers of budget {finding.budget!r} contradict its status")
        return finding

    def _says_its_waiver(self) -> bool:
        waiver = self.parameters[WAIVED]
        said = [waiver[key] for key in WAIVER]
        return self.waivable and all(
            isinstance(item, str) and item in self.sentence for item in said
        )

    def contradicts_itself(self) -> bool:
        """Return whether the numbers do not add up, or say something else than the status."""
        if self.passed and self.budget not in _OTHERS and budgets.named(self.budget) is None:
            return True
        value, limit, margin = self.value, self.limit, self.margin
        if value is None or limit is None or margin is None:
            # What passed was measured.
            return self.status == PASS
        if any(map(math.isnan, (value, limit, margin))):
            return self.status != COULD_NOT_ASSESS
        at_least = budgets.at_least(self.budget)
        room = value - limit if at_least else limit - value
        hair = TOLERANCE * max(1.0, abs(limit), abs(value))
        if math.isfinite(room) and abs(room - margin) > hair:
            return True
        kept = within(value, limit, at_least=at_least)
        return self.status == (FAIL if kept else PASS)


def about_of(finding: Finding, said: Qid = ()) -> str:
    """Write what a finding is about, but for the quasi-identifier that was said already."""
    parts = [
        "" if finding.qid == said else joined(finding.qid),
        "" if finding.sensitive is None else f": {named(finding.sensitive)}",
        "" if finding.group is None else f"in {visible(finding.group)}",
    ]
    return " ".join(filter(None, parts)).removeprefix(": ")


def name_of(finding: Finding) -> str:
    """Write which finding it is: the budget, and what it is about.

    Examples
    --------
    >>> name_of(Finding("ldiv", "fail", "fail", "", qid=("zip", "age"), sensitive="illness"))
    'ldiv of zip + age in illness'
    """
    source = joined(finding.qid)
    parts = [shown(finding.budget), f"of {source}" if source else ""]
    if finding.sensitive is not None:
        parts.append(f"in {visible(finding.sensitive)}")
    if finding.group is not None:
        parts.append(f"for {visible(finding.group)}")
    return " ".join(filter(None, parts))


def named_once(
    findings: Iterable[Finding],
    header: tuple[str, ...],
    rows_of: Callable[[Qid], list[list[str]]],
) -> tuple[list[str], tuple[str, ...], list[list[str]]]:
    """Name a quasi-identifier above a table that is all about it, not in each of its rows.

    The last column says what a row is about; where nothing is left to say there is none.
    """
    qids = {finding.qid for finding in findings if finding.qid}
    said = qids.pop() if len(qids) == 1 else ()
    rows = rows_of(said)
    width = None if any(row[-1] for row in rows) else -1
    return [f"of {joined(said)}"] if said else [], header[:width], [row[:width] for row in rows]


def unknown(budget: str, message: str, *, severity: str = "fail", **about: Any) -> Finding:
    """Return the finding of something that could not be measured, and why."""
    kind = budgets.named(budget)
    what = (_OTHERS.get(budget) if kind is None else kind.what) or f"Budget {budget}"
    why = shown(message).rstrip(".")
    return Finding(
        budget=budget,
        status=COULD_NOT_ASSESS,
        severity=severity,
        sentence=f"{inside(about.get('group'))}{what} could not be assessed: {why}.",
        **about,
    )
