"""The loss that a caller names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.errors import ArgumentError
from anonrisk.planning.losses.discernibility import DiscernibilityLoss
from anonrisk.planning.losses.entropy import EntropyLoss
from anonrisk.planning.losses.function import FunctionLoss
from anonrisk.planning.losses.private import PrivateLoss
from anonrisk.planning.losses.range import RangeLoss
from anonrisk.planning.losses.target import TargetLoss

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.losses.base import CellLoss, Loss

ENTROPY, RANGE = EntropyLoss(), RangeLoss()
# Losses that add up over columns, and need no other one.
OF_COLUMNS: dict[str, CellLoss] = {loss.word: loss for loss in (ENTROPY, RANGE)}
# What a region loses is known from its own records, or from the extent of its cells. What a cell
# tells of a sensitive value is not: it depends on who is in the region, and on the whole column.
BY_REGION = (*OF_COLUMNS, DiscernibilityLoss.word, TargetLoss.word)


def loss_of(asked: Any, tally: Tally, qid: Qid, about: Name | None = None) -> Loss:
    """Make the loss that a word, or a function, stands for.

    Parameters
    ----------
    asked : str or function
        A word of `anonrisk.core.literals.Loss`, checked before.
    tally : Tally
        Of the columns, and of the one that the loss is about.
    about : name, optional
        The sensitive column of ``"private"``, the target of ``"target"``.
    """
    if callable(asked):
        return FunctionLoss(asked)
    if asked in OF_COLUMNS:
        return OF_COLUMNS[asked]
    if asked == DiscernibilityLoss.word:
        return DiscernibilityLoss()
    assert about is not None  # noqa: S101
    if len(np.unique(tally.codes[about])) == 1:
        role = "target" if asked == TargetLoss.word else "sensitive"
        raise ArgumentError(
            f"{role} column {about!r} has one value only: no recoding loses anything about it"
        )
    if asked == TargetLoss.word:
        return TargetLoss(tally.only((*qid, about)), about)
    return PrivateLoss({name: tally.only((name, about)) for name in qid})
