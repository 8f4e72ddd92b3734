"""The keywords of `anonrisk.Policy`, for type checkers: roles, settings and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from anonrisk.policy.budget_arguments import BudgetArguments, SettingArguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name


class RoleArguments(TypedDict, total=False):
    """What each column is."""

    quasi: Name | Sequence[Name] | None
    sensitive: Name | Sequence[Name] | None
    direct: Name | Sequence[Name] | None
    insensitive: Name | Sequence[Name] | None
    unit: Name | None
    weight: Name | None


class PolicyArguments(RoleArguments, SettingArguments, BudgetArguments, total=False):
    """The keys of a policy document, and those of its roles and budgets by themselves."""

    version: int
    roles: Mapping[str, Any]
    budgets: Mapping[str, Any]
    qids: Sequence[Mapping[str, Any]]
