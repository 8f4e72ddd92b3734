"""The keywords of a policy that are settings and budgets.

Written by python3 dev.py stubs; what is changed here is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Missing, MissingOrWildcard, Unlisted


class SettingArguments(TypedDict, total=False):
    """What each setting of a policy may be given as."""

    name: str | None
    description: str | None
    reviewed: bool
    advisory: bool
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
    stable_unit: str | None
    acknowledged: Sequence[Mapping[str, Any]]


class BudgetArguments(TypedDict, total=False):
    """What each budget of a policy may be given as."""

    credibility: float | dict[str, Any] | Sequence[float | dict[str, Any]]
    differencing: int | dict[str, Any] | Sequence[int | dict[str, Any]]
    k: int | dict[str, Any] | Sequence[int | dict[str, Any]]
    ldiv: int | dict[str, Any] | Sequence[int | dict[str, Any]]
    linked: int | dict[str, Any] | Sequence[int | dict[str, Any]]
    max_fraction_below_k: dict[str, Any] | Sequence[dict[str, Any]]
    max_records_below_k: dict[str, Any] | Sequence[dict[str, Any]]
    max_suppressed: float | dict[str, Any] | Sequence[float | dict[str, Any]]
    max_unique_fraction: float | dict[str, Any] | Sequence[float | dict[str, Any]]
    max_unique_records: int | dict[str, Any] | Sequence[int | dict[str, Any]]
    population_unique_fraction: dict[str, Any] | Sequence[dict[str, Any]]
    predicted_singletons: dict[str, Any] | Sequence[dict[str, Any]]
    risk: dict[str, Any]
    tcloseness: dict[str, Any] | Sequence[dict[str, Any]]
    whole_person: int | dict[str, Any] | Sequence[int | dict[str, Any]]
