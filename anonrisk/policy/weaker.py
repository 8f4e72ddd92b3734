"""A policy against another, or against the verdict of the last release: where it asks for less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from anonrisk.core.column_roles import Roles
from anonrisk.core.render import joined, shown
from anonrisk.policy import budgets, limits
from anonrisk.policy.finding import WAIVED
from anonrisk.policy.release_rules import role_of
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.terms import Terms

    Baseline: TypeAlias = Terms | Verdict

# A column in a role further on is looked at less.
_ROLES = ("direct", "quasi", "weight", "sensitive", "by", "unit", "insensitive", None)


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
        of = f" of {joined(self.columns)}" if self.columns else ""
        about = "" if self.sensitive is None else f" in {shown(self.sensitive)}"
        only = "" if self.severity == "fail" else ", which only warns"
        return f"{self.name}{of}{about} {sign} {self.limit:g}{only}"

    def covers(self, other: _Limit) -> bool:
        """Tell whether it is about all that another limit is: more columns single out more."""
        kind = budgets.named(self.name)
        told = dict(self.parameters), dict(other.parameters)
        same = self.name == other.name and kind is not None and kind.implies(*told)
        columns = not self.columns or {*other.columns} <= {*self.columns}
        size = other.every_subset_of or len(other.columns)
        subsets = self.every_subset_of is None or 0 < size <= self.every_subset_of
        about = self.sensitive is None or self.sensitive == other.sensitive
        return same and columns and subsets and about

    def keeps(self, other: _Limit) -> bool:
        """Tell whether it asks for at least as much."""
        more = self.limit - other.limit
        strict = more >= 0 if budgets.at_least(self.name) else more <= 0
        return strict and (self.severity == "fail" or other.severity != "fail")


def weaker(policy: Terms, against: Baseline) -> Iterator[tuple[str, str]]:
    """Say where a policy asks for less than another, or than the one of a verdict: place, words."""
    if isinstance(against, Verdict):
        yield from _limits(policy, _of_verdict(against))
        yield from _roles(policy, against.columns)
        return
    yield from _limits(policy, _of_policy(against))
    yield from _roles(policy, {name: role_of(against, Roles(), name) for name in against.listed})
    yield from _settings(policy, against)


def _limits(policy: Terms, others: Iterator[_Limit]) -> Iterator[tuple[str, str]]:
    own = [*_of_policy(policy)]
    for other in others:
        covering = [one for one in own if one.covers(other)]
        if not covering:
            yield "budgets", f"There was {other.said}; there is nothing like it now."
        elif not any(one.keeps(other) for one in covering):
            yield covering[0].where, f"There was {other.said}; now it is {covering[0].said}."


def _of_policy(policy: Terms) -> Iterator[_Limit]:
    for where, rule, budget in limits.placed(policy):
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
    for one in verdict.findings:
        if budgets.named(one.budget) is not None and one.limit is not None:
            told = {key: value for key, value in one.parameters.items() if key != WAIVED}
            severity = "fail" if one.severity == WAIVED else one.severity
            yield _Limit(one.budget, one.limit, severity, one.qid, _parameters(told), one.sensitive)


def _parameters(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, str(value)) for key, value in given.items()))


def _roles(policy: Terms, before: Mapping[Name, str | None]) -> Iterator[tuple[str, str]]:
    """Name the columns that are looked at less than before."""
    for name, role in before.items():
        now = role_of(policy, Roles(), name) if name in policy.listed else None
        if _ROLES.index(now) > _ROLES.index(role):
            yield f"roles.{role}", f"{name!r} was {role}; now it is {now or 'without a role'}."


def _settings(policy: Terms, other: Terms) -> Iterator[tuple[str, str]]:
    """Name the settings by which fewer columns, rows or groups are looked at."""
    less = {
        "unlisted": policy.unlisted == "ignore" != other.unlisted,
        # A class can only grow by what matches every value.
        "missing": policy.missing != other.missing
        and (other.missing == "error" or policy.missing in {"drop", "wildcard"}),
        "missing_sensitive": other.missing_sensitive in {None, "error"}
        and policy.missing_sensitive in {"value", "drop"},
        "max_dropped_fraction": (policy.max_dropped_fraction or 0)
        > (other.max_dropped_fraction or 0),
        "by": policy.by is None and other.by is not None,
    }
    for key in (key for key, is_less in less.items() if is_less):
        before, now = (shown(getattr(one, key) or "unset") for one in (other, policy))
        yield key, f"{key} was {before}; now it is {now}."
    answered = {(one.column, one.doubt) for one in other.acknowledged}
    for one in policy.acknowledged:
        if (one.column, one.doubt) not in answered:
            told = f"The doubt {one.doubt} about {one.column!r} is acknowledged now; it was not."
            yield "acknowledged", told
