"""What a plan consists of, for all that reads, writes, prints and draws one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anonrisk.planning.class_rules import ClassRule
from anonrisk.recode import Level

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.planning.budget import ValueBudget
    from anonrisk.planning.goal import PlannedBudget, SensitiveGoal
    from anonrisk.planning.outcome import PlanOutcome
    from anonrisk.planning.plan_steps import PlanStep
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
    rules: tuple[ClassRule, ...] = ()
    unit: Name | None = None
    leave_out: Qid = ()
    budgets: tuple[PlannedBudget, ...] = ()
    steps: tuple[PlanStep, ...] = ()

    @property
    def class_rules(self) -> tuple[ClassRule, ...]:
        """What every class keeps to: of all columns, or of several sets of them."""
        if self.rules or self.k is None:
            return self.rules
        return (ClassRule(self.qids, self.k, self.goals),)

    @property
    def method(self) -> str:
        """``"full-domain"``, or ``"multidimensional"`` where columns differ by region."""
        return "full-domain" if self.regions is None else "multidimensional"

    @property
    def may_meet_unseen(self) -> bool:
        """Whether a table may hold values that the plan does not know."""
        levels = (isinstance(recoding, Level) for recoding in self.recodings.values())
        return self.regions is not None or any(levels)

    def may_leave_out(self, n_records: int) -> int:
        """Give the number of records, of so many, that may be suppressed."""
        return math.floor(self.max_suppression * n_records + 1e-9)

    @property
    def qids(self) -> Qid:
        """The columns that the plan recodes or keeps."""
        return tuple(self.recodings)
