"""What a plan consists of, for all that reads, writes, prints and draws one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.planning.budget import ValueBudget
    from anonrisk.planning.goal import SensitiveGoal
    from anonrisk.planning.outcome import PlanOutcome
    from anonrisk.recode import Recoding
    from anonrisk.recode.regions import Regions


@dataclass(frozen=True, repr=False)
class PlanFields:
    """The fields of a plan; `anonrisk.Plan` says what they mean."""

    recodings: dict[Name, Recoding]
    k: int | None = None
    max_suppression: float = 0.0
    columns: Qid = ()
    before: PlanOutcome | None = None
    after: PlanOutcome | None = None
    budget: ValueBudget | None = None
    optimal: bool = False
    loss: str = "entropy"
    note: str = field(default="", repr=False)
    partial: bool = False
    regions: Regions | None = None
    goals: tuple[SensitiveGoal, ...] = ()

    @property
    def method(self) -> str:
        """``"full-domain"``, or ``"multidimensional"`` where columns differ by region."""
        return "full-domain" if self.regions is None else "multidimensional"

    @property
    def qids(self) -> Qid:
        """The columns that the plan recodes or keeps."""
        return tuple(self.recodings)
