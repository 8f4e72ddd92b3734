"""Roles and rules of a policy: which columns are checked together, against which budgets."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import PolicyError
from anonrisk.policy import budgets, fields
from anonrisk.policy.budgets.base import MethodBudget, ReleaseBudget, TableBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.budgets import Budget

# More subsets than this are a search, not a gate; on Spark each repeats the table once.
MAX_SUBSETS = 1_000
LISTS = ("quasi", "sensitive", "direct", "insensitive")
SINGLE = ("unit", "weight")


@dataclass(frozen=True)
class PolicyRoles:
    """What each column is, as a policy says it; see `anonrisk.declare`.

    Attributes
    ----------
    quasi, sensitive, direct, insensitive : tuple of names
        The columns of each role.
    unit : name or None
        The column that says which person a row belongs to.
    weight : name or None
        A sampling weight, which is a quasi-identifier too if it is published.
    """

    quasi: Qid = ()
    sensitive: Qid = ()
    direct: Qid = ()
    insensitive: Qid = ()
    unit: Name | None = None
    weight: Name | None = None

    @property
    def whole(self) -> Qid:
        """The whole quasi-identifier: a published weight belongs to it."""
        return self.quasi if self.weight is None else (*self.quasi, self.weight)

    @property
    def classified(self) -> set[Name]:
        """All columns that have a role."""
        single = (self.unit, self.weight)
        return {
            *(name for role in LISTS for name in getattr(self, role)),
            *(name for name in single if name is not None),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; roles that no column has are left out."""
        lists = {role: list(getattr(self, role)) for role in LISTS if getattr(self, role)}
        single = {role: getattr(self, role) for role in SINGLE if getattr(self, role) is not None}
        return {**lists, **single}


@dataclass(frozen=True)
class Rule:
    """A quasi-identifier, or every subset of one, and its budgets.

    Attributes
    ----------
    columns : tuple of names or None
        The columns; None for the whole quasi-identifier, as the roles have it.
    every_subset_of : int or None
        Check every so many of the columns instead of all together.
    budgets : tuple of Budget
        What each must satisfy.
    """

    columns: Qid | None
    every_subset_of: int | None
    budgets: tuple[Budget, ...]

    def qids(self, whole: Qid) -> Iterator[Qid]:
        """List the quasi-identifiers to check; `whole` is what the roles say."""
        columns = whole if self.columns is None else self.columns
        if self.every_subset_of is None:
            yield columns
        else:
            yield from combinations(columns, self.every_subset_of)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as an entry of `qids`."""
        columns = {} if self.columns is None else {"columns": list(self.columns)}
        subsets = {"every_subset_of": self.every_subset_of} if self.every_subset_of else {}
        return {**columns, **subsets, "budgets": budgets.written(self.budgets)}


def read_roles(argument: Any) -> PolicyRoles:
    """Read the roles of the columns; none has two of them."""
    if argument is None:
        return PolicyRoles()
    for name, role in argument.items() if isinstance(argument, dict) else ():
        if name not in (*LISTS, *SINGLE) and isinstance(role, str) and role in LISTS:
            raise PolicyError(
                f"roles has no key {name!r}: a role names its columns; write {role}: [{name}]"
            )
    stated = fields.mapping(argument, "roles", (*LISTS, *SINGLE))
    results: dict[str, Any] = {}
    for role, value in stated.items():
        # An empty role is what a template has before somebody fills it in.
        if value is None or (isinstance(value, (list, tuple)) and not value and role != "quasi"):
            continue
        read = fields.names if role in LISTS else fields.name
        results[role] = read(value, f"roles.{role}")
    roles = PolicyRoles(**results)
    seen: dict[Any, str] = {}
    for role in (*LISTS, *SINGLE):
        value = getattr(roles, role)
        for column in value if role in LISTS else () if value is None else (value,):
            if (seen.get(column), role) == ("direct", "unit"):
                raise PolicyError(
                    f"column {column!r} is both direct and unit in roles: a direct identifier must "
                    "be gone and a unit must be there; replace it by a pseudonym"
                )
            if column in seen:
                raise PolicyError(f"column {column!r} is both {seen[column]} and {role} in roles")
            seen[column] = role
    return roles


def read_rules(value: dict[str, Any], roles: PolicyRoles) -> tuple[Rule, ...]:
    """Read the budgets of all quasi-identifiers together, and those of each entry of qids."""
    rules = []
    if value.get("budgets") is not None:
        rules.append(Rule(None, None, budgets.read(value["budgets"], "budgets")))
    entries = value.get("qids")
    for i, entry in enumerate([] if entries is None else fields.listed(entries, "qids")):
        rules.append(_rule(entry, f"qids[{i}]", roles))
    if not rules:
        _check_without_budgets(value, roles)
    return tuple(rules)


def _check_without_budgets(value: dict[str, Any], roles: PolicyRoles) -> None:
    """Reject a policy without a budget, unless there is no quasi-identifier to measure.

    Direct identifiers, and columns that nobody has named, need no number to fail.
    """
    there = f"add {fields.WRITTEN['budgets']}; there are {', '.join(budgets.BUDGETS)}"
    if roles.whole:
        raise PolicyError(
            f"quasi-identifier {roles.whole[0]!r} has no budget, as the policy holds no budget; "
            f"{there}"
        )
    refuses = value.get("unlisted", "refuse") == "refuse"
    if not (roles.direct or (refuses and roles.classified)) or value.get("unlisted") == "quasi":
        raise PolicyError(f"the policy holds no budget; {there}")
    if value.get("by") is not None:
        raise PolicyError(f"by: groups are measured by budgets, and the policy holds none; {there}")


def _rule(value: Any, where: str, roles: PolicyRoles) -> Rule:
    entry = fields.mapping(value, where, ("columns", "every_subset_of", "budgets"))
    if entry.get("budgets") is None:
        raise PolicyError(f"{where} has no budget: add budgets, as in budgets: {{k: 5}}")
    columns = fields.names(entry["columns"], f"{where}.columns") if "columns" in entry else None
    size = None
    if entry.get("every_subset_of") is not None:
        size = fields.whole(entry["every_subset_of"], f"{where}.every_subset_of", at_least=1)
    if columns is None and size is None:
        raise PolicyError(f"{where} needs columns, or every_subset_of")
    if roles.whole and columns is not None:
        for column in columns:
            if column not in roles.whole:
                raise PolicyError(
                    f"{where}.columns: {column!r} is not among the quasi-identifiers of roles"
                    f"{nearest(column, roles.whole)}"
                )
    rule = Rule(columns, size, budgets.read(entry["budgets"], f"{where}.budgets"))
    if columns is not None or roles.whole:
        check_subsets(rule, roles.whole, where)
    for budget in rule.budgets:
        whole = isinstance(budget, (MethodBudget, ReleaseBudget, TableBudget))
        if size is not None and whole:
            raise PolicyError(f"{where}: {budget.name} applies to all columns, not to every subset")
    return rule


def check_subsets(rule: Rule, whole: Qid, where: str) -> None:
    """Reject subsets that do not exist, or are too many."""
    n_columns = len(whole if rule.columns is None else rule.columns)
    size = rule.every_subset_of or n_columns
    if size > n_columns:
        raise PolicyError(
            f"{where}.every_subset_of is {size}, but there are only {count_of(n_columns, 'column')}"
        )
    if comb(n_columns, size) > MAX_SUBSETS:
        raise PolicyError(
            f"{where}: {comb(n_columns, size):,} subsets are more than a gate checks "
            f"({MAX_SUBSETS:,})"
        )
