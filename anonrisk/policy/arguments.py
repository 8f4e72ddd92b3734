"""The keywords of `anonrisk.Policy`, for type checkers: roles, settings and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from anonrisk.policy.budget_arguments import BudgetArguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.literals import Missing, MissingOrWildcard, Unlisted


class RoleArguments(TypedDict, total=False):
    """What each column is."""

    quasi: Name | Sequence[Name] | None
    sensitive: Name | Sequence[Name] | None
    direct: Name | Sequence[Name] | None
    insensitive: Name | Sequence[Name] | None
    unit: Name | None
    weight: Name | None


class PolicyArguments(RoleArguments, BudgetArguments, total=False):
    """The keys of a policy document, and those of its roles and budgets by themselves."""

    version: int
    name: str | None
    description: str | None
    reviewed: bool
    advisory: bool
    roles: Mapping[str, Any]
    unlisted: Unlisted
    missing: MissingOrWildcard
    missing_sensitive: Missing | None
    max_dropped_fraction: float | None
    dropped_are_removed: bool
    by: Name | None
    suppressed: str | None
    sampling_fraction: float | None
    population_size: int | None
    unsuppressed: bool
    acknowledged: Sequence[Mapping[str, Any]]
    budgets: Mapping[str, Any]
    qids: Sequence[Mapping[str, Any]]
