"""What is true of a table before a plan, or after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import render
from anonrisk.planning.losses.base import (
    ClassLoss,
    RecodedClasses,
    RecodedColumn,
    entropy_of,
)
from anonrisk.recode import Keep

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats
    from anonrisk.core.columns import Qid
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.losses.base import Loss


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
    # Plans that were stored before these were told lack them.
    bits: float | None = None
    range_loss: float | None = None


def before_plan(tally: Tally, qid: Qid, k: int, loss: Loss) -> PlanOutcome:
    """Measure a table before anything has become coarse."""
    counts, margins = tally.counts, [tally.margin(name) for name in qid]
    codes = [tally.codes[name] for name in qid]
    values = {name: np.arange(len(margin)) for name, margin in zip(qid, margins, strict=True)}
    everybody = np.ones(len(counts), dtype=bool)
    classes = RecodedClasses(codes, values, list(map(len, margins)), counts, everybody)
    if isinstance(loss, ClassLoss):
        lost = loss.of_classes(classes) @ counts / tally.n_records
    else:
        domains = zip(qid, margins, strict=True)
        columns = [RecodedColumn.of(Keep(), tally.domains[c], c, m) for c, m in domains]
        lost = loss.by_column(columns, classes).mean()
    return PlanOutcome(
        tally.n_records,
        len(counts),
        int(counts.min()),
        int(counts[counts < k].sum()),
        float(lost),
        int((counts**2).sum()),
        tuple(int((margin > 0).sum()) for margin in margins),
        float(np.mean([entropy_of(margin) for margin in margins])),
        0.0,
    )


def bits_kept(lost: Floats, tally: Tally, qid: Qid) -> float:
    """Give the bits that a cell keeps, from the share of them that each column loses."""
    had = np.array([entropy_of(tally.margin(name)) for name in qid])
    return float(((1 - lost) * had).mean())
