"""What is true of a table before a plan, or after it."""

from __future__ import annotations

from dataclasses import dataclass

from anonrisk.core import render


@dataclass(frozen=True, repr=False)
class PlanOutcome(render.PrintedFields):
    """What is true of a table: before a plan, or after it.

    Attributes
    ----------
    n_records, n_classes, k
        Records, classes, and the size of the smallest class, of what is published.
    n_below : int
        Before: records in classes smaller than the plan's k. After: records suppressed for it.
    loss : float
        Mean over original records and columns of what a cell loses, by the plan's `loss`; a
        suppressed record loses 1.
    discernibility : int
        Sum of the squares of class sizes; a suppressed record counts as much as all records.
    values : tuple of int
        Different values of each column once recoded, those of suppressed records among them;
        `anonrisk.utility` counts those that are left in the published table.
    n_persons : int or None
        Persons, where the plan counts them; `k` then is the fewest of them in a class.
    average_risk : float or None
        Of a prosecutor, over all records or persons; after a plan.
    scores : tuple of float
        The worst score of a class for each sensitive goal of the plan's `class_rules`, in order.
    """

    n_records: int
    n_classes: int
    k: int | None
    n_below: int
    loss: float
    discernibility: int
    values: tuple[int, ...]
    n_persons: int | None = None
    average_risk: float | None = None
    scores: tuple[float, ...] = ()

    @property
    def highest_risk(self) -> float | None:
        """The risk of somebody in the smallest class, from a prosecutor."""
        return None if self.k is None else 1 / self.k
