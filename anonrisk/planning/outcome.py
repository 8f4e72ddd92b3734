"""What is true of a table before a plan, or after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.planning.losses.base import entropy_of

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats
    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.tally import Tally


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
        Mean over original records, and columns, of what is lost, by the plan's `loss`; a suppressed
        record loses 1.
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
    bits : float or None
        Mean over original records and columns of the bits that a cell tells; a suppressed record
        tells nothing.
    range_loss : float or None
        The loss by ``"range"``, whatever the plan's is, so that plans can be compared.
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
    bits: float | None = None
    range_loss: float | None = None

    @property
    def highest_risk(self) -> float | None:
        """The risk of somebody in the smallest class, from a prosecutor."""
        return None if self.k is None else 1 / self.k


def bits_kept(lost: Floats, tally: Tally, qid: Qid) -> float:
    """Return the bits that a cell keeps, from the share of them that each column loses."""
    had = np.array([entropy_of(tally.margin(name)) for name in qid])
    return float(((1 - lost) * had).mean())
