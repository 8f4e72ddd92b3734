"""The table as it is, before a plan, by one tally of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.errors import ArgumentError
from anonrisk.planning.class_rules import Coded, Requirements
from anonrisk.planning.losses import private_losses
from anonrisk.planning.outcome import PlanOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.goals import PlanRequest


def private_pairs(tally: Tally, qid: Qid, about_whom: Qid) -> dict[Name, Tally]:
    """Count the pairs of each column's values with the sensitive ones."""
    for name in about_whom:
        if len(np.unique(tally.codes[name])) == 1:
            raise ArgumentError(
                f"sensitive column {name!r} has one value only: no recoding loses anything about it"
            )
    return {name: tally.only((name, other)) for other in about_whom for name in qid}


def before(tally: Tally, request: PlanRequest, pairs: Mapping[Name, Tally]) -> PlanOutcome:
    """Measure the table as it is; what breaks a rule stands below."""
    qid, n = request.qid, tally.n_records
    required = Requirements(tally, qid, request.rules, unit=request.unit, allowed=n)
    coded = Coded(
        [tally.codes[name] for name in (*qid, *required.beside)],
        tally.counts,
        [len(tally.domains[name]) + 1 for name in (*qid, *required.beside)],
    )
    sizes = required.counted(coded, qid, np.ones(len(tally.counts), dtype=bool))
    # What is unknown of a sensitive value before anything has become coarse.
    unknown = 0.0
    for name, pair in pairs.items():
        margin = tally.margin(name)
        unknown += float(private_losses(np.arange(len(margin)), len(margin), name, pair) @ margin)
    records = tally.only(qid).counts
    return PlanOutcome(
        n,
        sizes.n_classes,
        sizes.k,
        n - int(required.kept(coded).records.sum()),
        unknown / (len(qid) * n),
        int((records**2).sum()),
        tuple(int((tally.margin(name) > 0).sum()) for name in qid),
        None if request.unit is None else sizes.n_records,
    )
