"""A table against the one before: how many more people a change makes unique."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, PrintedLines, count_of, joined
from anonrisk.core.results import Document
from anonrisk.policy.check import checked
from anonrisk.policy.evidence import Evidence, Problem, inside, label
from anonrisk.policy.finding import FAIL, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anonrisk.core.columns import Qid
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.verdict import Verdict

_MEASURED = ("quasi", "sensitive", "unit", "weight", "by")
# Of every subset of many columns, and of many groups, no more is printed than somebody reads.
_SHOWN = 5


@dataclass(frozen=True, repr=False)
class UniqueChange(Document, PrintedFields):
    """Who is alone in their class of one quasi-identifier, before a change and after it.

    Attributes
    ----------
    qid : tuple of names
        The quasi-identifier.
    before, after : int
        How many are singletons in the base and in the table.
    who : {"record", "person"}
        What is counted; persons where the policy names a unit.
    group : str or None
        The group of the column that `by` names.
    """

    qid: Qid
    before: int
    after: int
    who: str = "record"
    group: str | None = None
    _document = ("qid", "group", "who", "before", "after", "more", "sentence")

    @property
    def more(self) -> int:
        """How many more are unique after the change; below zero, how many fewer."""
        return self.after - self.before

    @property
    def sentence(self) -> str:
        """What changed, in plain words.

        Examples
        --------
        >>> UniqueChange(("zip", "age"), 12, 53, "person").sentence
        'This change makes 41 more people unique by zip + age: 12 before, 53 now.'
        """
        many = "people" if self.who == "person" else "records"
        than = "more" if self.more >= 0 else "fewer"
        number = count_of(abs(self.more), f"{than} {self.who}", f"{than} {many}")
        text = f"{self.before:,} before, {self.after:,} now"
        if not self.more:
            number, text = f"no more {many}", f"{self.after:,} as before"
        return (
            f"{inside(self.group)}This change makes {number} unique by {joined(self.qid)}: {text}."
        )


@dataclass(frozen=True, repr=False)
class AgainstBase(Document, PrintedLines):
    """What a change does to the people in a table; it decides nothing.

    Attributes
    ----------
    unique : tuple of UniqueChange
        One per quasi-identifier (and group), the most that became unique first.
    newly_broken : tuple of Finding
        What does not pass now, and had nothing against it in the base.
    newly_met : tuple of Finding
        Findings of the base that failed there, and have nothing like them now.
    """

    unique: tuple[UniqueChange, ...]
    newly_broken: tuple[Finding, ...] = ()
    newly_met: tuple[Finding, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """What changed, in plain words: of many quasi-identifiers the first, of budgets each."""
        more = len(self.unique) - _SHOWN
        return [
            *(item.sentence for item in self.unique[:_SHOWN]),
            *([f"And {more:,} more quasi-identifiers or groups, not shown."] if more > 0 else []),
            *(f"No longer kept: {name_of(result)}." for result in self.newly_broken),
            *(f"Now kept, unlike before: {name_of(result)}." for result in self.newly_met),
        ]

    def _lines(self) -> list[str]:
        return [f"- {sentence}" for sentence in self.sentences]


def check_against(
    policy: Terms, frame: Any, base: Any, **beside: Any
) -> tuple[Verdict, AgainstBase | Problem | None]:
    """Check a table as `Policy.check` does, and say what is otherwise than in a base.

    The verdict is the table's alone. Where the base cannot be compared with, a problem says why;
    where the table itself could not be counted there is nothing to say.
    """
    n_original = beside.pop("n_original", None)
    verdict, current = checked(policy, frame, n_original=n_original, **beside)
    if current is None:
        return verdict, None
    other, before = checked(policy, base, **beside)
    other_columns = _other_columns(verdict, other)
    if other_columns:
        return verdict, Problem(other_columns)
    if before is None:
        return verdict, Problem(" ".join(failure.sentence for failure in other.failures))
    changes: list[UniqueChange] = []
    for qid, failure in current.measured.items():
        if isinstance(failure.groups, Problem):
            continue
        old = before.measured.get(qid, Evidence(Problem(f"{joined(qid)} is not measured in it")))
        if isinstance(old.groups, Problem):
            return verdict, old.groups
        who = "record" if current.roles.unit is None else "person"
        changes += _changes(qid, _singletons(policy, old), _singletons(policy, failure), who)
    return verdict, AgainstBase(
        tuple(sorted(changes, key=lambda finding: -finding.more)),
        tuple(
            _unlike([finding for finding in verdict.findings if not finding.passed], other.findings)
        ),
        tuple(
            _unlike(
                [finding for finding in other.findings if finding.status == FAIL], verdict.findings
            )
        ),
    )


def _other_columns(verdict: Verdict, other: Verdict) -> str:
    """Name the columns that are measured in one of two tables alone; nothing if there are none."""
    ours, theirs = (
        [name for name, role in item.columns.items() if role in _MEASURED]
        for item in (verdict, other)
    )
    alone = {
        "table": [name for name in ours if name not in theirs],
        "base": [name for name in theirs if name not in ours],
    }
    lines = [
        f"{', '.join(map(repr, names))} in the {which} alone"
        for which, names in alone.items()
        if names
    ]
    return f"not the same columns are measured: {', '.join(lines)}" if lines else ""


def _singletons(policy: Terms, evidence: Evidence) -> Counter[str | None]:
    """Count who is alone, group by group; labels that are written alike are one group."""
    counts: Counter[str | None] = Counter()
    for group in evidence.groups if isinstance(evidence.groups, list) else ():
        named = None if policy.by is None else label(group.label)
        counts[named] += 0 if group.sizes is None else ClassSizes.of(group.sizes).records_at_most(1)
    return counts


def _changes(
    qid: Qid, old: Counter[str | None], new: Counter[str | None], who: str
) -> Iterator[UniqueChange]:
    for group in dict.fromkeys((*new, *old)):
        yield UniqueChange(qid, old[group], new[group], who, group)


def _unlike(bad: Iterable[Finding], others: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings that nothing like them does not pass among the others.

    Of every subset the worst is told, which may be another one: then any that says the same of
    other columns is like it.
    """
    known = [item for item in others if not item.passed]
    asked = {(_asked(item), item.qid) for item in others}
    for item in bad:
        same = [other for other in known if _asked(other) == _asked(item)]
        if (_asked(item), item.qid) in asked:
            same = [other for other in same if other.qid == item.qid]
        if not same:
            yield item


def _asked(finding: Finding) -> tuple[Any, ...]:
    """Return what was asked, but for the quasi-identifier."""
    stated = tuple(sorted((key, str(value)) for key, value in finding.parameters.items()))
    about = (finding.budget, finding.severity, finding.sensitive, finding.group)
    # What a policy checks by itself has a limit only where it could be told.
    return (*about, finding.limit if finding.qid else None, stated)
