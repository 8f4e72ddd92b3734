"""What a floor knows of things that are made above it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ChecksTables(Protocol):
    """A policy, as `anonrisk.apply` knows it."""

    def check(
        self, frame: Any, *, n_original: int | None = None, plan: Any = None, original: Any = None
    ) -> Any:
        """Compare a table with every budget."""


@runtime_checkable
class AssessesTables(Protocol):
    """A policy, as `anonrisk.assess` knows it."""

    def assess(self, frame: Any) -> Any:
        """Take every measure that the policy names."""


class GivesPrices(Protocol):
    """What made a plan, and can say what others would cost."""

    def prices(self, plan: Any, frame: Any, time_limit: float | None) -> Any:
        """Search what else a plan could keep to."""

    def attack(self, plan: Any, frame: Any, sensitive: Any) -> Any:
        """Measure what is learned by whoever knows how a plan is made."""

    def gap(self, plan: Any, frame: Any, sample: int | None, seed: int) -> Any:
        """Compare a plan by region with the least loss."""


@runtime_checkable
class StatesGoals(Protocol):
    """A policy, as `anonrisk.plan` knows it."""

    def plan_goals(self, frame: Any) -> Any:
        """Return what a plan for a table must keep to."""
