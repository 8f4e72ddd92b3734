"""Micro-batches of a stream, kept in a folder each: written again, they are there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.spark import schema
from anonrisk.engines.spark.jobs import count, guarded, run
from anonrisk.engines.spark.read import NOTHING_IGNORED
from anonrisk.errors import RoleConflictError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The folder of a batch, which is a column for whoever reads all of them.
COLUMN = "batch_id"


def place_of(root: str, batch_id: int) -> str:
    """Name the folder of a batch."""
    return f"{root.rstrip('/')}/{COLUMN}={batch_id}"


def stored(batch: DataFrame, place: str) -> DataFrame:
    """Write a batch in place of an earlier attempt, and give what was written.

    A batch is a recipe: computed once more it may be another one than was checked.
    """
    if COLUMN in batch.columns:
        raise RoleConflictError(
            f"column {COLUMN!r} would be lost: folders of batches have that name; rename it first"
        )
    with guarded("store a batch"):
        _write(schema.without_others(batch), place)
        return batch.sparkSession.read.options(**NOTHING_IGNORED).parquet(place)


def n_rows(batch: DataFrame) -> int:
    """Count the rows of a batch that was stored."""
    with guarded("count the rows of a batch"):
        return count(batch)


def emptied(batch: DataFrame, place: str) -> None:
    """Leave a folder that has the columns of a batch and none of its rows."""
    with guarded("empty the folder of a batch"):
        _write(schema.without_others(batch).limit(0), place)


def _write(table: DataFrame, place: str) -> None:
    run(table.sparkSession, lambda: table.write.mode("overwrite").parquet(place))
