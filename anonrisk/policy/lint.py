"""`Policy.lint`: what a policy says that it can hardly mean, before any row is looked at."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from anonrisk.core.column_roles import Roles
from anonrisk.core.columns import nearest, skeleton, spelt
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedTable, count_of, exact, fitted, joined, shown
from anonrisk.engines.one_state import one_state
from anonrisk.policy import budgets, judge, release_rules
from anonrisk.policy.coverage import settings_of
from anonrisk.policy.evidence import pasted
from anonrisk.policy.finding import WAIVED
from anonrisk.policy.measure import published_by
from anonrisk.policy.release_rules import role_of
from anonrisk.policy.terms import LISTS, SINGLE
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms

    Baseline: TypeAlias = Terms | Verdict

# A column in a role further on is looked at less.
_KINDS_OF_ROLE = ("direct", "quasi", "weight", "sensitive", "by", "unit", "insensitive", None)


@dataclass(frozen=True)
class _Limit:
    """One limit on one quasi-identifier, of a policy or as a verdict remembers it."""

    name: str
    limit: float
    severity: str
    # Empty where the table itself says which columns there are.
    columns: Qid
    parameters: tuple[tuple[str, str], ...]
    sensitive: Name | None = None
    every_subset_of: int | None = None
    where: str = ""

    @property
    def said(self) -> str:
        """The limit in words."""
        sign = "at least" if budgets.at_least(self.name) else "at most"
        source = f" of {joined(self.columns)}" if self.columns else ""
        about = "" if self.sensitive is None else f" in {shown(self.sensitive)}"
        only = "" if self.severity == "fail" else ", which only warns"
        return f"{self.name}{source}{about} {sign} {exact(self.limit)}{only}"

    def beside(self, other: _Limit) -> str:
        """The limit in words, with the parameters that another one does not have."""
        own = [f"{key} {value}" for key, value in {*self.parameters} - {*other.parameters}]
        return f"{self.said} ({', '.join(sorted(own))})" if own else self.said

    def covers(self, other: _Limit) -> bool:
        """Return whether it is about all that another limit is: more columns single out more."""
        kind = budgets.named(self.name)
        summary = dict(self.parameters), dict(other.parameters)
        same = self.name == other.name and kind is not None and kind.implies(*summary)
        columns = not self.columns or {*other.columns} <= {*self.columns}
        size = other.every_subset_of or len(other.columns)
        subsets = self.every_subset_of is None or 0 < size <= self.every_subset_of
        about = self.sensitive is None or self.sensitive == other.sensitive
        return same and columns and subsets and about

    def keeps(self, other: _Limit) -> bool:
        """Return whether it asks for at least as much."""
        more = self.limit - other.limit
        strict = more >= 0 if budgets.at_least(self.name) else more <= 0
        return strict and (self.severity == "fail" or other.severity != "fail")


def weaker(policy: Terms, against: Baseline) -> Iterator[tuple[str, str]]:
    """Return where a policy asks for less than another, or than that of a verdict: place, words."""
    if isinstance(against, Verdict):
        yield from _limits(policy, _of_verdict(against))
        yield from _roles(policy, against.columns)
        yield from _settings(policy, against.coverage.settings)
        return
    yield from _limits(policy, _of_policy(against))
    yield from _roles(policy, {name: role_of(against, Roles(), name) for name in against.listed})
    yield from _settings(policy, settings_of(against))


def _limits(policy: Terms, others: Iterator[_Limit]) -> Iterator[tuple[str, str]]:
    own = [*_of_policy(policy)]
    for other in others:
        covering = [item for item in own if item.covers(other)]
        if any(item.keeps(other) for item in covering):
            continue
        about = (None, other.sensitive)
        alike = [i for i in own if i.name == other.name and i.sensitive in about]
        if not alike:
            yield "budgets", f"There was {other.said}; there is nothing like it now."
            continue
        item = (covering or alike)[0]
        yield item.where, f"There was {other.beside(item)}; now it is {item.beside(other)}."


def _of_policy(policy: Terms) -> Iterator[_Limit]:
    for where, rule, budget in judge.budgets_in_place(policy):
        columns = policy.roles.whole if rule.columns is None else rule.columns
        about = (budget.sensitive or policy.roles.sensitive) if budget.about_values else ()
        for sensitive in about or (None,):
            yield _Limit(
                *(budget.name, budget.limit, budget.severity, columns),
                _parameters(budget.parameters()),
                sensitive,
                rule.every_subset_of,
                where,
            )


def _of_verdict(verdict: Verdict) -> Iterator[_Limit]:
    for finding in verdict.findings:
        if budgets.named(finding.budget) is not None and finding.limit is not None:
            fields = {key: value for key, value in finding.parameters.items() if key != WAIVED}
            severity = "fail" if finding.severity == WAIVED else finding.severity
            yield _Limit(
                finding.budget,
                finding.limit,
                severity,
                finding.qid,
                _parameters(fields),
                finding.sensitive,
            )


def _parameters(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, str(value)) for key, value in fields.items()))


def _roles(policy: Terms, before: Mapping[Name, str | None]) -> Iterator[tuple[str, str]]:
    """Name the columns that are looked at less than before."""
    for name, role in before.items():
        current = role_of(policy, Roles(), name) if name in policy.listed else None
        if _KINDS_OF_ROLE.index(current) > _KINDS_OF_ROLE.index(role):
            yield f"roles.{role}", f"{name!r} was {role}; now it is {current or 'without a role'}."


def _settings(policy: Terms, before: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name the settings by which fewer columns, rows or groups are looked at than before.

    A verdict of something that could not be read has none.
    """
    settings = settings_of(policy)
    if not before:
        return
    less = {
        "unlisted": settings["unlisted"] == "ignore" != before["unlisted"],
        # A class can only grow by what matches every value.
        "missing": settings["missing"] != before["missing"]
        and (before["missing"] == "error" or settings["missing"] in {"drop", "wildcard"}),
        "missing_sensitive": before["missing_sensitive"] in {None, "error"}
        and settings["missing_sensitive"] in {"value", "drop"},
        "max_dropped_fraction": (settings["max_dropped_fraction"] or 0)
        > (before["max_dropped_fraction"] or 0),
        "by": settings["by"] is None and before["by"] is not None,
    }
    for key in (key for key, is_less in less.items() if is_less):
        words = ("unset" if item[key] is None else shown(item[key]) for item in (before, settings))
        yield key, "{} was {}; now it is {}.".format(key, *words)
    if settings["stable_unit"] and not before["stable_unit"]:
        yield "stable_unit", "The unit is said to be stable now (stable_unit); it was not."
    for column, doubt in settings["acknowledged"]:
        if [column, doubt] not in before["acknowledged"]:
            text = f"The doubt {doubt} about {column!r} is acknowledged now; it was not."
            yield "acknowledged", text


ERROR, WARN = "error", "warn"
# Where in a policy a finding about columns is settled.
_PLACES = {"direct": "roles.direct", "unlisted": "unlisted"}
_ROLES = {"quasi": "quasi-identifier", "sensitive": "sensitive column", "unit": "unit"}


@dataclass(frozen=True)
class Remark:
    """One thing that a policy says and can hardly mean.

    Attributes
    ----------
    severity : {"error", "warn"}
        Whether no table can pass, or the policy is weaker than one it is compared with; or whether
        somebody should look.
    what : str
        What it is about: ``"reviewed"``, ``"nothing_decides"``, ``"vacuous"``,
        ``"attribute_disclosure"``, ``"no_direct"``, ``"name"``, ``"column"``, ``"direct"``,
        ``"unlisted"``, ``"table"`` or ``"weaker"``.
    where : str
        The place in the policy, as ``"budgets.k"``.
    sentence : str
        What is wrong, and what was probably meant; names of columns, and no cell.
    """

    severity: str
    what: str
    where: str
    sentence: str


@dataclass(frozen=True, repr=False)
class LintResult(PrintedTable):
    """What `Policy.lint` has to say; it prints as text and as HTML.

    ``bool(result)`` is true if there is no remark of severity ``"error"``.

    Attributes
    ----------
    remarks : tuple of Remark
        Those that are errors first.
    policy_name : str or None
        What the policy is called.
    """

    remarks: tuple[Remark, ...]
    policy_name: str | None = None

    @property
    def errors(self) -> tuple[Remark, ...]:
        """The remarks by which no table passes, or the policy is weaker than another."""
        return tuple(remark for remark in self.remarks if remark.severity == ERROR)

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """All other remarks."""
        return tuple(remark for remark in self.remarks if remark.severity != ERROR)

    def __bool__(self) -> bool:
        """Mean that there is no error."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell."""
        remarks = [asdict(remark) for remark in self.remarks]
        return {"policy": self.policy_name, "remarks": remarks}

    def __repr__(self) -> str:
        """Print as text: a sentence for each remark, with its place in the policy."""
        summary = (
            f"- {remark.severity}, {remark.where}: {shown(remark.sentence)}"
            for remark in self.remarks
        )
        return fitted(*self._lines(), *summary)

    def _lines(self) -> list[str]:
        about = "" if self.policy_name is None else f" {shown(self.policy_name)}"
        if not self.remarks:
            return [f"Policy{about}: nothing to remark"]
        counts = (count_of(len(self.errors), "error"), count_of(len(self.warnings), "warning"))
        return [f"Policy{about}: {', '.join(counts)}"]

    def _header(self) -> tuple[str, ...]:
        return ("severity", "what", "where", "in words") if self.remarks else ()

    def _rows(self) -> list[list[str]]:
        return [
            [remark.severity, remark.what, remark.where, remark.sentence] for remark in self.remarks
        ]


def lint(policy: Terms, frame: Any = None, against: Baseline | None = None) -> LintResult:
    """Read a policy as somebody would who has seen many; see `Policy.lint`."""
    remarks = [*of_terms(policy)]
    if frame is not None:
        with one_state(frame, "lint"):
            published = published_by(frame)
        remarks += _of_table(policy, published)
    if against is not None:
        summary = weaker(policy, against)
        remarks += [Remark(ERROR, "weaker", where, sentence) for where, sentence in summary]
    ordered = sorted(dict.fromkeys(remarks), key=lambda item: item.severity != ERROR)
    return LintResult(tuple(ordered), policy.name)


def of_terms(policy: Terms) -> Iterator[Remark]:
    """Look at the policy alone."""
    drafts = release_rules.reviewed(policy)
    yield from (Remark(ERROR, f.budget, "reviewed", f.sentence) for f in drafts)
    yield from _of_limits(policy)
    yield from _of_roles(policy)
    yield from _of_names(policy)


def _of_limits(policy: Terms) -> Iterator[Remark]:
    if policy.advisory:
        return
    every = [*judge.budgets_in_place(policy)]
    for where, _, budget in every:
        if budget.vacuous:
            yield Remark(
                WARN, "vacuous", where, f"No table can break {judge.why_undecided(budget)}."
            )
    if every and judge.nothing_decides(budget for *_, budget in every):
        undecided = judge.undecided([budget for *_, budget in every], of_policy=True)
        yield Remark(ERROR, "nothing_decides", "budgets", f"{undecided[0].upper()}{undecided[1:]}.")


def _of_roles(policy: Terms) -> Iterator[Remark]:
    every = [budget for *_, budget in judge.budgets_in_place(policy)]
    about = [budget for budget in every if budget.about_values and not budget.vacuous]
    judged = {name for b in about for name in b.sensitive or policy.roles.sensitive}
    open_ = [name for name in policy.roles.sensitive if name not in judged]
    if open_:
        names = ", ".join(map(repr, open_))
        listed = ", ".join(map(pasted, open_))
        yield Remark(
            WARN,
            "attribute_disclosure",
            "roles.sensitive",
            f"No budget judges what is learned of {names}: where all of a class have one value, it "
            f"is known of everybody in it. Add to budgets  ldiv: {{l: 2, sensitive: [{listed}]}}",
        )
    if policy.unlisted == "ignore" and not policy.roles.direct:
        yield Remark(
            WARN,
            "no_direct",
            "roles.direct",
            "No direct identifier is named, and columns without a role are not looked at "
            "(unlisted: ignore): a column of names would be published. Name them, or say "
            "unlisted: refuse.",
        )


def _of_names(policy: Terms) -> Iterator[Remark]:
    """Look for names that are no texts, and for two that look alike."""
    seen: dict[str, tuple[str, Name]] = {}
    for where, name in _named(policy):
        if not isinstance(name, str):
            yield Remark(
                WARN,
                "name",
                where,
                f"A column is named by the number {name}, and names are texts: write '{name}', in "
                "quotes.",
            )
            continue
        shape = skeleton(name)
        other = seen.setdefault(shape, (where, name))[1] if shape else name
        if other != name:
            yield Remark(
                WARN,
                "name",
                where,
                f"{spelt(name)} and {spelt(other)} look alike, but are two names.",
            )


def _named(policy: Terms) -> Iterator[tuple[str, Name]]:
    roles = policy.roles
    for role in LISTS:
        yield from ((f"roles.{role}", name) for name in getattr(roles, role))
    for role in SINGLE:
        if getattr(roles, role) is not None:
            yield f"roles.{role}", getattr(roles, role)
    for rule in policy.rules:
        yield from (("qids", name) for name in rule.columns or ())
    if policy.by is not None:
        yield "by", policy.by


def _of_table(policy: Terms, published: Published) -> Iterator[Remark]:
    """Look at the columns of a table: what a gate would say of their names."""
    for finding in release_rules.of_columns(policy, published):
        # That nobody has read a draft is said of the policy itself.
        if not finding.passed and finding.budget != "reviewed":
            severity = ERROR if finding.blocks() else WARN
            place = _PLACES.get(finding.budget, "roles")
            yield Remark(severity, finding.budget, place, finding.sentence)
    direct, insensitive = {*policy.roles.direct}, {*policy.roles.insensitive}
    for where, name in _named(policy):
        if name in published.names or name in direct or name in insensitive:
            continue
        role = _ROLES.get(where.removeprefix("roles."), "column")
        meant = _alike(name, published.names) or nearest(name, published.names) or "."
        size = count_of(len(published.names), "column")
        text = f"{role} {name!r} is not in the table{meant} The table has {size}."
        yield Remark(ERROR, "column", where, text[0].upper() + text[1:])

    for doubt in policy.acknowledged:
        if doubt.column not in published.names:
            meant = _alike(doubt.column, published.names)
            meant = meant or nearest(doubt.column, published.names) or "."
            text = f"Acknowledged column {doubt.column!r} is not in the table{meant}"
            yield Remark(WARN, "column", "acknowledged", text)


def _alike(name: Name, names: Qid) -> str:
    """Name the column that is spelt otherwise and looks the same."""
    shape = skeleton(name)
    result = next((item for item in names if shape and skeleton(item) == shape), None)
    return "" if result is None else f"; did you mean {spelt(result)}?"
