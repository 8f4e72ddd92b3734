"""The rules of a release that every front door shares: what is published, and who looked.

A policy's own check, a suite of Great Expectations, the command line and the Spark jobs all come
here with the same two things, a policy and what a table publishes, and get the same findings.

YAML takes ``2020`` for a number where a file has the column ``"2020"``, and pandas may number its
columns where a policy has texts. Neither may name nothing in silence.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from anonrisk.core import column_roles
from anonrisk.core.column_roles import Roles
from anonrisk.core.columns import nearest, skeleton, spelt, unmerged
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, joined, visible
from anonrisk.core.results import Document, plain, restore_fields, restore_name
from anonrisk.errors import DuplicateColumnError
from anonrisk.policy import doubts
from anonrisk.policy.budgets.base import within
from anonrisk.policy.doubts import Examined
from anonrisk.policy.evidence import Problem, as_given, pasted, percent
from anonrisk.policy.finding import (
    COULD_NOT_ASSESS,
    FAIL,
    PASS,
    Finding,
    unknown,
)
from anonrisk.policy.terms import LISTS, SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.evidence import Evidence
    from anonrisk.policy.terms import Rule, Terms

TermsT = TypeVar("TermsT", bound="Terms")


def with_labels(policy: TermsT, names: Sequence[Name]) -> TermsT:
    """Return the policy with the table's own labels in place of numbers, or of their texts.

    What a table does not have keeps its name.
    """
    labels = _Labels(names)
    roles = policy.roles
    own: dict[str, Any] = {role: labels.every(getattr(roles, role)) for role in LISTS}
    own |= {role: labels.of(getattr(roles, role)) for role in SINGLE}
    changes = {
        "roles": replace(roles, **own),
        "rules": tuple(_rule(rule, labels) for rule in policy.rules),
        "by": labels.of(policy.by),
    }
    if all(getattr(policy, key) == value for key, value in changes.items()):
        return policy
    resolved = copy(policy)
    for key, value in changes.items():
        object.__setattr__(resolved, key, value)
    return resolved


def _rule(rule: Rule, labels: _Labels) -> Rule:
    columns = None if rule.columns is None else labels.every(rule.columns)
    budgets = tuple(
        budget
        if budget.sensitive is None
        else replace(budget, sensitive=labels.every(budget.sensitive))
        for budget in rule.budgets
    )
    return replace(rule, columns=columns, budgets=budgets)


class _Labels:
    """The labels of a table, by what they are and by how they are written."""

    def __init__(self, names: Sequence[Name]) -> None:
        self._written: dict[str, set[Name]] = {}
        for name in names:
            if isinstance(name, str) or _is_number(name):
                self._written.setdefault(str(name), set()).add(name)

    def every(self, names: Qid) -> Qid:
        return tuple(label for label in map(self.of, names) if label is not None)

    def of(self, name: Name | None) -> Name | None:
        if not isinstance(name, str) and not _is_number(name):
            return name
        labels = self._written.get(str(name), set())
        if isinstance(name, str) and name in labels:
            return name
        if len(labels) > 1:
            raise DuplicateColumnError(
                f"{name} is the name of two columns of this table, once as a number and once as a "
                "text: rename one of them"
            )
        return next(iter(labels), name)


def _is_number(name: object) -> bool:
    return isinstance(name, Integral) and not isinstance(name, bool)


# How an engine calls labels of rows that go by no name.
ROW_NUMBERS, UNNAMED = "row numbers", "unnamed"
# How they are called where columns are listed.
ROW_LABELS = "row labels"
# The role of a column of which no more is known than that somebody gave it one.
CLASSIFIED = "classified"
# A line to paste has no more names than somebody reads.
_OFFERED = 50
_DROP_LABELS = (
    "The rows have labels without a name, which are published too: leave them out with "
    "reset_index(drop=True), or name them and give them a role."
)


@dataclass(frozen=True)
class Published(Document):
    """What a table gives away beside its cells.

    Attributes
    ----------
    columns : tuple of names
        Its columns.
    index : tuple of names
        The levels of its index that have a name, which are written with it.
    nested : tuple of str
        The paths inside columns that are structs, as ``person.name``.
    labels : str or None
        What the rows are labelled by without a name: ``"row numbers"`` or ``"unnamed"``.
    declared : Roles
        The roles that it carries.
    """

    columns: Qid
    index: Qid = ()
    nested: tuple[str, ...] = ()
    labels: str | None = None
    declared: Roles = field(default_factory=Roles)
    _document = ("columns", "index", "nested", "labels")

    @property
    def names(self) -> Qid:
        """Every name that is published once, in order."""
        return tuple(dict.fromkeys((*self.columns, *self.index)))

    @property
    def index_as_declared(self) -> tuple[Any, ...]:
        """The index as rules of declared roles see it: None for labels that go by no name."""
        return (*self.index, None) if self.labels == UNNAMED else self.index

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; names of columns alone, no cell."""
        declared = self.declared.to_dict()
        roles = {key: plain(restore_name(names)) for key, names in declared.items()}
        return super().to_dict() | {"declared": roles}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Published:
        """Read back what `to_dict` gave."""
        return cls(**restore_fields(cls, stored), declared=Roles.from_dict(stored["declared"]))


# ---- which columns have a role ------------------------------------------------------------------


def listed(policy: Terms, declared: Roles) -> set[Name]:
    """List the columns that the policy names anywhere, or the table declares.

    A quasi-identifier or sensitive column that the table alone declares counts where the policy
    leaves them to the table. Elsewhere none of its budgets would look at it.
    """
    known: set[Any] = {*policy.listed, *declared.direct, *declared.insensitive, declared.unit} - {
        None
    }
    if not policy.roles.quasi and any(rule.columns is None for rule in policy.rules):
        known |= {*declared.quasi}
    return known if policy.roles.sensitive else known | {*declared.sensitive}


def absent(policy: Terms, names: Qid) -> Qid:
    """List what the policy counts and a table with these names lacks.

    A name that is gone harms nobody where nothing is counted by it.
    """
    harmless = {*policy.roles.direct, *policy.roles.insensitive}
    missing = {name for name in with_labels(policy, names).listed if name not in names}
    return tuple(sorted(missing - harmless, key=str))


def unlisted(policy: Terms, published: Published) -> Qid:
    """List the columns of the table that nobody has named, in order."""
    policy = with_labels(policy, published.names)
    known = listed(policy, published.declared)
    return tuple(name for name in published.names if name not in known)


def role_of(policy: Terms, declared: Roles, name: Name) -> str | None:
    """Return the role of a column, by the key that a policy has for it; None if it has none."""
    for roles in (policy.roles, declared):
        for role in ("quasi", "sensitive", "direct", "insensitive"):
            if name in getattr(roles, role):
                return role
    if name in (policy.roles.unit, declared.unit):
        return "unit"
    if name == policy.roles.weight:
        return "weight"
    if any(name in (rule.columns or ()) for rule in policy.rules):
        return "quasi"
    if any(name in (budget.sensitive or ()) for rule in policy.rules for budget in rule.budgets):
        return "sensitive"
    return "by" if name == policy.by else None


def described(policy: Terms, published: Published) -> dict[str, Any]:
    """Return for a verdict what was published: each column's role, and what nobody looked at."""
    policy = with_labels(policy, published.names)
    declared = published.declared
    known = listed(policy, declared)
    columns = {
        name: role_of(policy, declared, name) if name in known else None for name in published.names
    }
    loose = unlisted(policy, published)
    if policy.unlisted == "quasi":
        columns |= dict.fromkeys((name for name in loose), "quasi")
        loose = ()
    unseen = () if policy.unlisted == "refuse" else loose
    labels = published.labels
    if labels == ROW_NUMBERS or (labels == UNNAMED and policy.unlisted == "ignore"):
        unseen = (*unseen, ROW_LABELS)
    return {"columns": columns, "not_looked_at": unseen}


def roles_of(
    policy: Terms, published: Published, classified: Iterable[Name] = ()
) -> dict[Name, str | None]:
    """Return the role of each column; of those that others have classified, that they are."""
    roles: dict[Name, str | None] = described(policy, published)["columns"]
    named = {*classified}
    return {
        name: CLASSIFIED if role is None and name in named else role for name, role in roles.items()
    }


# ---- findings about columns ---------------------------------------------------------------------


def of_columns(
    policy: Terms,
    published: Published,
    examined: Examined | Problem | None = None,
    *,
    whole: Terms | None = None,
    classified: Iterable[Name] | None = None,
) -> list[Finding]:
    """Judge the columns themselves: a draft, direct identifiers, roles, and what they hold.

    `examined` is what was counted of their contents, or why it was not. An expectation knows the
    roles by the `whole` policy that it is a part of, or only which columns are `classified`.
    """
    policy = with_labels(policy, published.names)
    known = examined if isinstance(examined, Examined) else Examined()
    if classified is not None and whole is None:
        roles: dict[Name, str | None] = dict.fromkeys(classified, CLASSIFIED)
    else:
        roles = roles_of(whole or policy, published, classified or ())
    return [
        *reviewed(policy),
        *_repeated(published),
        *_direct(policy, published),
        *_unlisted(policy, published, known),
        *doubts.findings(whole or policy, roles, published.nested, known),
        *([unknown(doubts.BUDGET, examined.message)] if isinstance(examined, Problem) else ()),
    ]


def no_records() -> Finding:
    """Return the finding of a table with nothing to publish."""
    return unknown("table", "it has no records; there is nothing to publish")


def reviewed(policy: Terms) -> Iterator[Finding]:
    """Stop at a draft: nobody has decided yet what its columns are."""
    if not policy.reviewed:
        yield unknown(
            "reviewed",
            "this policy is a draft that nobody has reviewed (reviewed: false): read what it says "
            "of every column, then remove that line",
        )


def _repeated(published: Published) -> Iterator[Finding]:
    """Stop at two columns of one name: whoever gave it a role has looked at one of them."""
    twice = [name for name, n in Counter((*published.columns, *published.index)).items() if n > 1]
    if twice:
        text = (
            f"{twice[0]!r} names more than one column or level of the index; give each a "
            "name of its own"
        )
        yield unknown("table", text)


def _direct(policy: Terms, published: Published) -> Iterator[Finding]:
    """Fail for every direct identifier that is there; what may be one cannot be told."""
    named = tuple(dict.fromkeys((*policy.roles.direct, *published.declared.direct)))
    if not named:
        return
    there = [name for name in named if name in published.names or name in published.nested]
    if there:
        columns = ", ".join(map(repr, there))
        text = f"The table still has direct identifiers: {columns}. Remove them."
        n = len(there)
        yield Finding("direct", FAIL, "fail", text, value=n, limit=0, margin=-n)
        return
    declared = published.declared
    known = listed(policy, declared)
    # A note on the table excuses no column from what the policy forbids.
    by_policy = _spelt_otherwise(policy.roles.direct, published, policy.listed)
    renamed = column_roles.renamed_direct(
        declared, published.columns, published.index_as_declared, known
    )
    doubt = renamed or by_policy or _spelt_otherwise(declared.direct, published, known)
    if doubt:
        yield unknown("direct", doubt)
        return
    text = "No direct identifier is left in the table."
    yield Finding("direct", PASS, "fail", text, value=0, limit=0, margin=0)


def _spelt_otherwise(direct: Qid, published: Published, known: set[Name]) -> str | None:
    """Find a column that is a direct identifier but for its spelling, and has no other role."""
    forbidden = {skeleton(name): name for name in direct if skeleton(name)}
    for name, shapes in _shapes(published):
        if name in known:
            continue
        for shape in shapes:
            if shape in forbidden:
                return (
                    f"direct identifier {forbidden[shape]!r} is not a column, but {spelt(name)} "
                    "is, which may be the same: remove it, or give it a role under its own name"
                )
    return None


def _may_be_direct(policy: Terms, published: Published) -> set[Name]:
    """List the columns that are, or hold, a direct identifier that is spelt otherwise."""
    direct = {skeleton(name) for name in (*policy.roles.direct, *published.declared.direct)} - {""}
    near = {name for name, shapes in _shapes(published) if shapes & direct}
    return near | {str(name).partition(".")[0] for name in near if name in published.nested}


def _shapes(published: Published) -> Iterator[tuple[Name, set[str]]]:
    """Yield each name with the skeletons that it may be found by: as a whole, and its last part.

    What a join adds to a name, as in ``name_x``, makes it no other column.
    """
    every: list[tuple[Name, tuple[object, ...]]] = []
    for name in published.names:
        parts = name if isinstance(name, tuple) else (name,)
        whole = ".".join(map(str, parts)) if isinstance(name, tuple) else name
        every.append((name, (whole, parts[-1])))
    every += [(path, (path, path.rpartition(".")[2])) for path in published.nested]
    for name, written in every:
        yield name, {skeleton(item) for text in written for item in (text, unmerged(text))}


def _unlisted(policy: Terms, published: Published, examined: Examined) -> Iterator[Finding]:
    """Stop at columns that nobody has looked at, where the policy does not say what they are."""
    if policy.unlisted != "refuse":
        return
    loose = unlisted(policy, published)
    labels = published.labels == UNNAMED
    if not loose and not labels:
        return
    lines = []
    if loose:
        have, them = ("has", "it") if len(loose) == 1 else ("have", "them")
        lines.append(
            f"{count_of(len(loose), 'column')} {have} no role in the policy"
            f"{_meant(policy, published, loose)}, "
            f"so that nobody has said what may be learned from {them}"
            f"{_offered(policy, published, loose, examined)}"
        )
    if labels:
        lines.append(_DROP_LABELS)
    yield unknown("unlisted", " ".join(lines))


def _offered(policy: Terms, published: Published, loose: Qid, examined: Examined) -> str:
    """Offer what a draft would say of columns, which errs on the safe side."""
    # Nobody is offered a line that lets a direct identifier through.
    near = _may_be_direct(policy, published)
    harmless = tuple(name for name in loose if name not in near)
    if not harmless:
        return ""
    wanted = policy.roles.unit is None and published.declared.unit is None
    roles = doubts.proposed(harmless[:_OFFERED], examined, unit_wanted=wanted)
    lists = ", ".join(
        f"{role}: {pasted(names[0])}"
        if role == "unit"
        else f"{role}: [{', '.join(map(pasted, names))}]"
        for role, names in roles.items()
    )
    more = len(harmless) - _OFFERED
    first = f" (the first {_OFFERED}; {more:,} more are left)" if more > 0 else ""
    return f"; a draft would say under roles{first}  {lists}"


def _meant(policy: Terms, published: Published, loose: Qid) -> str:
    gone = [name for name in policy.listed if name not in published.names]
    for name in loose:
        hint = nearest(name, gone)
        if hint:
            return f" ({name!r}{hint})"
    return ""


# ---- findings about rows that were left out -----------------------------------------------------


def of_rows(policy: Terms, measured: Mapping[Qid, Evidence]) -> Iterator[Finding]:
    """Judge the rows that no measure has seen, quasi-identifier by quasi-identifier."""
    for qid, result in measured.items():
        if isinstance(result.groups, list):
            yield from _dropped(policy, qid, result)
            yield from _without_value(policy, qid, result)
    yield from _removed_for_others(policy, measured)


def _removed_for_others(policy: Terms, measured: Mapping[Qid, Evidence]) -> Iterator[Finding]:
    """Stop where classes were counted with rows that are removed for another quasi-identifier.

    A row that misses one is removed from the release, and so from the classes of all the others.
    """
    if policy.missing != "drop" or not policy.dropped_are_removed:
        return
    every = {name for qid in measured for name in qid}
    whole = next((result for qid, result in measured.items() if {*qid} == every), None)
    n_removed = None if whole is None else whole.n_dropped
    if n_removed is None and not any(result.n_dropped for result in measured.values()):
        return
    for qid, result in measured.items():
        if isinstance(result.groups, list) and result.n_dropped != n_removed:
            yield unknown(
                "max_dropped_fraction",
                f"classes of {joined(qid)} were counted with rows that are left out for a missing "
                "value elsewhere, and removed: remove them before the check",
                qid=qid,
            )


def _dropped(policy: Terms, qid: Qid, evidence: Evidence) -> Iterator[Finding]:
    """Judge the rows that were left out for a missing quasi-identifier."""
    limit = policy.max_dropped_fraction
    if limit is None or policy.missing != "drop":
        return
    n_dropped, n_rows = evidence.n_dropped, evidence.n_rows
    share = n_dropped / max(n_dropped + n_rows, 1)
    text = (
        f"{count_of(n_dropped, 'row')} ({percent(share, limit)}) left out for a missing value of "
        f"{joined(qid)}; at most {as_given(limit)} may be."
    )
    status = PASS if within(share, limit, at_least=False) else FAIL
    if n_dropped and status == PASS and not policy.dropped_are_removed:
        status = COULD_NOT_ASSESS
        text += (
            " They would be published unmeasured: remove them and say so with "
            "dropped_are_removed: true, or count them with missing: value."
        )
    yield _of_share("max_dropped_fraction", status, text, share, limit, qid=qid)


def _without_value(policy: Terms, qid: Qid, evidence: Evidence) -> Iterator[Finding]:
    """Judge the rows that no budget on a sensitive column has seen."""
    limit, n_rows = policy.max_dropped_fraction, evidence.n_rows
    for column, n_scored in evidence.n_scored.items():
        if n_rows <= n_scored:
            continue
        share = (n_rows - n_scored) / n_rows
        source = visible(column)
        why = source if policy.by is None else f"{source} or {visible(policy.by)}"
        text = (
            f"{count_of(n_rows - n_scored, 'row')} ({percent(share, limit)}) left out of the "
            f"measures of {source} for a missing value of {why} (missing_sensitive: drop)"
        )
        about: dict[str, Any] = {"qid": qid, "sensitive": column}
        if limit is None:
            text += "; say with max_dropped_fraction how many may be"
            yield unknown("missing_sensitive", text, **about)
            continue
        status = PASS if within(share, limit, at_least=False) else FAIL
        text += f"; at most {as_given(limit)} may be."
        yield _of_share("missing_sensitive", status, text, share, limit, **about)


def _of_share(
    budget: str, status: str, text: str, share: float, limit: float, **about: Any
) -> Finding:
    """Make a finding about a share of the rows that must not exceed a limit."""
    margin = limit - share
    return Finding(budget, status, "fail", text, value=share, limit=limit, margin=margin, **about)


def once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep one of each: several expectations tell of the same rows left out."""
    kept: dict[Any, Finding] = {}
    for finding in findings:
        kept.setdefault((finding.key, finding.sentence), finding)
    return tuple(kept.values())
