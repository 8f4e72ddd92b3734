"""What a planned table must keep to: one goal each, and what came of it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, one_of, positive
from anonrisk.core.frozen import dataclass
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts

MET, MISSED, NOT_PLANNED = "met", "missed", "not planned"


@dataclass(frozen=True)
class SensitiveGoal:
    """What the sensitive values of every class must keep to.

    Attributes
    ----------
    column : name
        The sensitive column.
    score : str
        The score of a class: a kind of `anonrisk.ldiv`, or a distance of `anonrisk.tcloseness`.
    limit : float
        The least diversity, or the largest distance.
    c : float or None
        The constant of ``"recursive"``.
    order : tuple or None
        The values from the smallest to the largest, as the caller gave them.
    """

    column: Name
    score: str
    limit: float
    c: float | None = None
    order: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Check the numbers: no class would ever break a limit that is none."""
        one_of(self.score, "the score", tuple(FORMULAS))
        not_negative(self.limit, "the limit")
        if self.c is not None:
            positive(self.c, "c")

    def __str__(self) -> str:
        """Return what is asked for."""
        sign = "at least" if FORMULAS[self.score].least else "at most"
        name = f"{self.score} {FORMULAS[self.score].measure.rpartition('_')[2]}"
        constant = "" if self.c is None else f" (c = {self.c:g})"
        return (
            f"{name}{constant} of {render.visible(self.column)} {sign} {render.exact(self.limit)}"
        )

    def implies(self, other: SensitiveGoal) -> bool:
        """Return whether what keeps to this goal keeps to the other one."""
        same = (self.column, self.score, self.c, self.order)
        if same != (other.column, other.score, other.c, other.order):
            return False
        least = FORMULAS[self.score].least
        return self.limit >= other.limit if least else self.limit <= other.limit


class GoalResult(NamedTuple):
    """The outcome of a goal: the value reached, whether it suffices, or why it is unknown."""

    value: float | None
    met: bool
    why: str = ""


@dataclass(frozen=True)
class TableGoal:
    """What the classes of some columns must keep to all together, as an average or a share."""

    qid: Qid
    measure: Callable[[ClassCounts, int], GoalResult] = field(repr=False)


@dataclass(frozen=True)
class PlanGoal:
    """One budget of a policy, as a plan goes about it.

    Attributes
    ----------
    budget : str
        Its name in a verdict.
    qid : tuple of names
        The columns that it is about.
    limit : float
    severity : {"fail", "warn"}
        Whether a plan must keep to it, or should.
    k : int
        The size that every class must have for it; 1 where less may do.
    by_size : bool
        Whether that size is all that it asks for.
    enough : int or None
        A size of every class with which it is met, mostly.
    about : SensitiveGoal or None
        What the sensitive values of every class must keep to for it.
    measure : function or None
        What tells from the classes that are left, and from how many rows there were, whether it is
        met.
    of_suppression : bool
        Whether it limits the share of records that are left out.
    why_not : str
        Why no recoding is looked for by it.
    """

    budget: str
    qid: Qid
    limit: float
    severity: str = "fail"
    k: int = 1
    by_size: bool = False
    enough: int | None = None
    about: SensitiveGoal | None = None
    measure: Callable[[ClassCounts, int], GoalResult] | None = field(default=None, repr=False)
    of_suppression: bool = False
    why_not: str = ""


@dataclass(frozen=True, repr=False)
class PlannedBudget(render.PrintedFields):
    """What a plan makes of one budget of a policy.

    Attributes
    ----------
    budget : str
        Its name in a verdict, as ``"k"`` or ``"risk.prosecutor.highest"``.
    status : {"met", "missed", "not planned"}
        Whether the table that the plan makes keeps to it; the last where a recoding is not how it
        is reached.
    severity : {"fail", "warn"}
    limit : float
    value : float or None
        What it will be.
    qid : tuple of names
    sensitive : name or None
    why : str
        Why it is not met.
    """

    budget: str
    status: str
    severity: str
    limit: float
    value: float | None = None
    qid: Qid = ()
    sensitive: Name | None = None
    why: str = ""
