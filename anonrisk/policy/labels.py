"""Names of a policy in the words of a table: a number is the text that it is written as.

YAML takes ``2020`` for a number where a file has the column ``"2020"``, and pandas may number its
columns where a policy has texts. Neither may name nothing in silence.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from anonrisk.errors import DuplicateColumnError
from anonrisk.policy.rules import LISTS, SINGLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.rules import Rule
    from anonrisk.policy.terms import Terms

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
