"""Profiles on Spark: explicit, and bounded, because what is asked for is brought to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.counts import bounds
from anonrisk.counts.class_profiles import ValueCounts
from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.score import refuse_missing
from anonrisk.engines.spark.sensitive import Pairs
from anonrisk.errors import TooManyProfilesError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anonrisk.counts.question import Question, Sensitive


def profiles(frame: DataFrame, question: Question, sensitive: Sensitive) -> ValueCounts:
    """Count the sensitive values of each kind of class."""
    pairs = Pairs(frame, question, sensitive)
    with guarded("rank the sensitive values"):
        pairs.check()
    f = pairs.f
    with guarded("count the profiles"):
        values = pairs.values()
        if not sensitive.ordered:
            # Any numbering will do; this one is the same in both queries.
            numbered = pairs.projection.window.partitionBy(f.lit(0)).orderBy("v")
            values = values.withColumn("r", f.row_number().over(numbered) - f.lit(1))
        levels = [name for name in values.columns if name.startswith("h")]
        overall = (
            values.select("r", "t", *levels).orderBy("r").limit(bounds.MAX_ORDERED + 1).collect()
        )
        if len(overall) > bounds.MAX_ORDERED:
            raise _too_many(f"{bounds.MAX_ORDERED:,} different values")
        ranks = f.broadcast(values.select("v", "r"))
        table = pairs.counted.join(ranks, f.col("s").eqNullSafe(f.col("v")), "left")
        entries = f.sort_array(f.collect_list(f.struct("r", "c")))
        classes = table.groupBy(*pairs.keys).agg(entries.alias("entries"), *pairs.tallies())
        dropped = ["d"] if pairs.drops else []
        kinds = classes.groupBy(*dropped, "entries", "n").agg(
            f.count(f.lit(1)).alias("classes"), *pairs.tallied()
        )
        rows = kinds.limit(bounds.MAX_PROFILES + 1).collect()
    if len(rows) > bounds.MAX_PROFILES:
        raise _too_many(f"{bounds.MAX_PROFILES:,} kinds of class")
    refuse_missing(rows, question, sensitive)
    n_dropped = sum(row["rows"] for row in rows if pairs.drops and row["d"])
    kept = [row for row in rows if not (pairs.drops and row["d"])]
    if not kept:
        ClassCounts([], [], n_dropped=n_dropped)
    kept.sort(key=lambda row: [(entry["r"], entry["c"]) for entry in row["entries"]])
    entries_of = [row["entries"] for row in kept]
    groups = [[row[name] for row in overall] for name in levels]
    return ValueCounts(
        starts=np.concatenate(([0], np.cumsum([len(found) for found in entries_of]))),
        ranks=np.array([entry["r"] for found in entries_of for entry in found], dtype=np.int64),
        counts=np.array([entry["c"] for found in entries_of for entry in found], dtype=np.int64),
        classes=np.array([row["classes"] for row in kept], dtype=np.int64),
        sizes=np.array([row["n"] for row in kept], dtype=np.int64),
        overall=np.array([row["t"] for row in overall], dtype=np.int64),
        ordered=sensitive.ordered,
        levels=np.array(groups, dtype=np.int64) if groups else None,
        qid=question.qid,
        sensitive=sensitive.column,
        unit=question.unit,
        missing=question.missing,
        missing_sensitive=sensitive.missing,
        n_rows=sum(row["rows"] for row in kept),
        n_dropped=n_dropped,
    )


def _too_many(limit: str) -> TooManyProfilesError:
    return TooManyProfilesError(
        f"more than {limit}: too many to bring to the driver. Ask for the measures themselves "
        "(ldiv, tcloseness, assess), which have no such limit"
    )
