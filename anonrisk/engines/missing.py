"""What a question says of missing values, of classes that were counted with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines import refusals

if TYPE_CHECKING:
    from anonrisk.measures.counts.question import Question
    from anonrisk.measures.counts.tally import Tally


def kept(tally: Tally, question: Question) -> tuple[Tally, int]:
    """Leave out or refuse what is missing, as the question says; return how many rows went."""
    gaps = {name: tally.codes[name] == len(tally.domains[name]) for name in tally.codes}
    unit = question.unit
    if unit is not None and gaps[unit].any():
        raise refusals.missing_unit(unit, int(tally.counts[gaps[unit]].sum()))
    n_missing = {name: int(tally.counts[gaps[name]].sum()) for name in question.columns}
    if question.missing == "value" or not any(n_missing.values()):
        return tally, 0
    if question.missing == "error":
        raise refusals.missing_values(n_missing)
    kept = ~np.any([gaps[name] for name in question.columns], axis=0)
    codes = {name: codes[kept] for name, codes in tally.codes.items()}
    made = replace(tally, codes=codes, counts=tally.counts[kept])
    return made, tally.n_records - made.n_records
