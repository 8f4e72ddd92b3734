"""What is true of a table before a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.measures.recode import Keep
from anonrisk.planning.losses.base import (
    ClassLoss,
    GroupedClasses,
    GroupedColumn,
    entropy_of,
)
from anonrisk.planning.outcome import PlanOutcome
from anonrisk.planning.suppress.class_rules import Coded, Requirements

if TYPE_CHECKING:
    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.losses.base import Loss


def before_plan(tally: Tally, request: PlanRequest, loss: Loss) -> PlanOutcome:
    """Measure the table as it is; what breaks a rule stands below."""
    qid, n = request.qid, tally.n_records
    required = Requirements(tally, qid, request.rules, unit=request.unit, allowed=n)
    coded = Coded(
        [tally.codes[name] for name in (*qid, *required.beside)],
        tally.counts,
        [len(tally.domains[name]) + 1 for name in (*qid, *required.beside)],
    )
    sizes = required.counted(coded, qid, np.ones(len(tally.counts), dtype=bool))
    whole = tally.only(qid)
    margins = [whole.margin(name) for name in qid]
    return PlanOutcome(
        n,
        sizes.n_classes,
        sizes.k,
        n - int(required.kept(coded).records.sum()),
        _loss(whole, qid, loss),
        int((whole.counts**2).sum()),
        tuple(int((margin > 0).sum()) for margin in margins),
        None if request.unit is None else sizes.n_records,
        bits=float(np.mean([entropy_of(margin) for margin in margins])),
        range_loss=0.0,
    )


def _loss(tally: Tally, qid: Qid, loss: Loss) -> float:
    """Return what is lost before anything has become coarse: classes and secrets as they are."""
    columns = [GroupedColumn.of(Keep(), c, tally.domains[c], tally.margin(c)) for c in qid]
    if not isinstance(loss, ClassLoss):
        return float(np.mean([column.mean(loss.of_groups(column)) for column in columns]))
    classes = GroupedClasses(
        [tally.codes[name] for name in qid],
        {column.name: column.groups for column in columns},
        [column.n_groups for column in columns],
        tally.counts,
        np.ones(len(tally.counts), dtype=bool),
    )
    return float(loss.of_classes(classes) @ tally.counts / tally.n_records)
