"""From what a caller wrote about the loss to what can be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from anonrisk.core.arguments import one_of
from anonrisk.core.columns import as_name, require
from anonrisk.core.literals import ColumnLoss, Loss
from anonrisk.errors import ArgumentError, RoleConflictError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.schema import Schema

# Losses that look at columns one by one, so that each can be worth more than another.
_BY_COLUMN = (*get_args(ColumnLoss), "private")


def loss_word(loss: Any) -> str:
    """Check a loss, and name it."""
    if callable(loss):
        return "function"
    one_of(loss, "loss", get_args(Loss))
    return str(loss)


def refuse_weights(loss: str, weights: Mapping[Any, float] | None) -> None:
    """Reject weights of columns where a loss does not look at columns."""
    if weights is not None and loss not in _BY_COLUMN:
        raise ArgumentError(
            f"column_weights= has no effect with loss={loss!r}, which looks at classes and not at "
            f"columns; it goes with {', '.join(map(repr, _BY_COLUMN))}"
        )


def target_of(loss: str, target: Any, qid: Qid, schema: Schema) -> Qid:
    """Find the column whose values should stay predictable, if any."""
    if (target is None) == (loss == "target"):
        raise ArgumentError("loss='target' and target=, the column to predict, belong together")
    if target is None:
        return ()
    name = as_name(target, "target column")
    require((name,), "target column", schema.columns)
    if name in qid:
        raise RoleConflictError(
            f"column {name!r} cannot be both quasi-identifier and target column"
        )
    schema.check({name: "target column"})
    return (name,)
