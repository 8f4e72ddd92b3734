"""Scores of classes on Spark: computed where the classes are, so that only the worst leave."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts import ClassSizes
from anonrisk.engines import base
from anonrisk.engines.spark import count
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.rewrite import refusing, size_of_class
from anonrisk.engines.spark.sensitive import Pairs
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row

_COMPARED = ("equal", "ordered", "beta", "enhanced_beta", "delta", "strict_delta")
# Cells of the grid by which a cumulative share is looked up among those of the table.
_GRID = 1024


def scores(
    frame: DataFrame,
    question: base.Question,
    sensitive: base.Sensitive,
    asked: Sequence[base.Score],
) -> base.Scored:
    """Score every class in one action (after a look at the order of values), and give the worst."""
    pairs = Pairs(frame, question, sensitive)
    classes = scored_classes(pairs, asked)
    with guarded("score the classes"):
        rows = _worst(pairs, classes, asked).collect()
    refuse_missing(rows, question, sensitive)
    kept = [row for row in rows if not row["d"]]
    n_dropped = sum(row["rows"] for row in rows if row["d"])
    if question.unit is None or not kept:
        sizes = _class_sizes(kept, question, n_dropped)
    else:
        sizes = _persons(frame, question, sensitive, n_dropped)
    worst = {}
    for i, score in enumerate(asked):
        values = [row[f"x{i}"] for row in kept]
        worst[score] = min(values) if score.least else max(values)
    return base.Scored(sizes, worst)


def breaking(
    frame: DataFrame,
    question: base.Question,
    limits: Sequence[tuple[base.Sensitive, base.Score, float]],
    k: int | None,
) -> DataFrame:
    """Select the records of the classes that break a limit, or are smaller than k."""
    found = []
    for sensitive, score, limit in limits:
        pairs = Pairs(frame, question, sensitive)
        classes = pairs.kept(scored_classes(pairs, [score]))
        with guarded("find the classes that break a limit"):
            beyond = pairs.f.lit(score.breaks(limit))
            value = pairs.f.col("x0")
            bad = classes.where(value < beyond if score.least else value > beyond)
            found.append(bad.select(*(pairs.f.col(q).alias(f"b_{q}") for q in pairs.qs)))
    with guarded("select the records at risk"):
        projection = Projection.of(frame)
        f = projection.functions
        columns = [projection.column(name) for name in question.qid]
        size = size_of_class(projection, question)
        table = projection.table.select(
            "*", *(column.alias(f"q{i}") for i, column in enumerate(columns)), size.alias("n")
        )
        classes = reduce(lambda a, b: a.union(b), found).distinct()
        same = reduce(
            lambda a, b: a & b,
            (f.col(f"q{i}").eqNullSafe(f.col(f"b_q{i}")) for i in range(len(columns))),
        )
        marked = table.join(classes.withColumn("bad", f.lit(1)), same, "left")
        wanted = f.col("bad").isNotNull()
        if k is not None:
            wanted |= f.col("n") < k
        # Asking for the size makes the job fail on what the question refuses.
        wanted &= f.col("n").isNotNull()
        for sensitive in {limit[0].column: limit[0] for limit in limits}.values():
            if sensitive.missing == "error":
                lost = projection.column(sensitive.column).isNull()
                message = f"sensitive column {sensitive.column!r} is missing"
                wanted = refusing(projection, lost, message, wanted)
        names = [f"c{i}" for i in range(len(projection.names))]
        return marked.where(wanted).select(*names).toDF(*projection.names)


def scored_classes(pairs: Pairs, asked: Sequence[base.Score]) -> DataFrame:
    """One row per class: its key, size `n`, `rows`, and the scores `x0`, `x1`, …."""
    with guarded("rank the sensitive values"):
        counts = pairs.check()
    with guarded("score the classes"):
        if any(score.name == "hierarchical" for score in asked):
            return _in_hierarchy(pairs, asked)
        return _by_values(pairs, asked, counts)


def _by_values(pairs: Pairs, asked: Sequence[base.Score], counts: list[int]) -> DataFrame:
    f, table = pairs.f, pairs.counted
    names = {score.name for score in asked}
    if names & set(_COMPARED):
        values = f.broadcast(pairs.values().withColumnRenamed("s", "v"))
        table = table.join(values, f.col("s").eqNullSafe(f.col("v")), "left")
    order = []
    if "ordered" in names:
        order = [f.col("r")]
        table = _walked(pairs, table, len(counts))
    if "recursive" in names:
        # From the smallest count up, the running sum is the tail r_l + … + r_m.
        order = [f.col("c")]
        table = table.withColumn("tail", f.sum("c").over(pairs.upto(*order)))
        table = table.withColumn("most", f.max("c").over(pairs.whole(*order)))
    table = table.withColumn("all", f.sum("c").over(pairs.whole(*order)))
    if "ordered" in names:
        table = _moved(pairs, table, counts)
    expressions = [
        _expression(pairs, score, len(counts)).alias(f"x{i}") for i, score in enumerate(asked)
    ]
    return table.groupBy(*pairs.keys).agg(*pairs.tallies(), *expressions)


def _expression(pairs: Pairs, score: base.Score, n_values: int) -> Any:  # noqa: PLR0911
    """Give the aggregate of one score over the pairs of a class; formulas as in `measures`."""
    f = pairs.f
    c, everything, size = f.col("c"), f.sum("c"), f.sum(pairs.first)
    p, q = f.col("c") / f.col("all"), f.col("share")
    gain = f.greatest((p - q) / q, f.lit(0.0))
    infinite = f.lit(float("inf"))
    if score.name == "distinct":
        return f.least(f.count(f.lit(1)), size)
    if score.name == "entropy":
        nats = f.log(everything) - f.sum(c * f.log(c)) / everything
        return f.exp(f.greatest(nats, f.lit(0.0)))
    if score.name == "recursive":
        return f.sum((f.lit(score.c) * f.col("tail") > f.col("most")).cast("long"))
    if score.name == "alpha":
        return f.max("c") / size
    if score.name == "equal":
        return f.sum(f.greatest(p - q, f.lit(0.0)))
    if score.name == "beta":
        return f.max(gain)
    if score.name == "enhanced_beta":
        return f.max(f.when(gain <= -f.log(q) * (1 + 1e-12), gain).otherwise(infinite))
    if score.name == "ordered":
        return f.sum("moved") / f.lit(float(max(n_values - 1, 1)))
    apart = f.max(f.abs(f.log(p / q)))
    if score.name == "strict_delta":
        # Shares of the values that a class has add up to one only if it has all of them.
        return f.when(f.sum("t") < f.first("t_all"), infinite).otherwise(apart)
    return apart


def _walked(pairs: Pairs, table: DataFrame, n_values: int) -> DataFrame:
    """Add, rank by rank, the running count of a class and where its next value is."""
    f = pairs.f
    up = pairs.window(f.col("r"))
    return (
        table.withColumn("running", f.sum("c").over(pairs.upto(f.col("r"))))
        .withColumn("high", f.coalesce(f.lead("r").over(up), f.lit(n_values - 1)))
        .withColumn("before", f.when(f.lag("r").over(up).isNull(), f.col("r")))
    )


def _moved(pairs: Pairs, table: DataFrame, counts: list[int]) -> DataFrame:
    """Add what each value moves in an ordered distance; see `measures.closeness.ordered`."""
    f = pairs.f
    Q = np.cumsum(counts) / max(sum(counts), 1)
    prefix = np.concatenate(([0.0], np.cumsum(Q)))
    starts = np.searchsorted(Q, np.arange(_GRID + 2) / _GRID, side="right")
    below_, prefix_, starts_ = (_array(f, numbers) for numbers in (Q, prefix, starts))
    table = table.withColumn("P", f.col("running") / f.col("all"))
    cell = f.least(f.floor(f.col("P") * _GRID), f.lit(_GRID)).cast("int")
    start = f.element_at(starts_, cell + 1).cast("int")
    end = f.element_at(starts_, cell + 2).cast("int")
    share = f.col("P")
    inside = f.size(f.filter(f.slice(below_, start + 1, end - start), lambda v: v <= share))
    split = f.greatest(f.least(start + inside, f.col("high")), f.col("r")).cast("int")
    table = table.withColumn("split", split)

    def summed(column: str) -> Any:
        return f.element_at(prefix_, f.col(column).cast("int") + 1)

    below = share * (f.col("split") - f.col("r")) - (summed("split") - summed("r"))
    above = (summed("high") - summed("split")) - share * (f.col("high") - f.col("split"))
    first = f.when(f.col("before").isNotNull(), summed("r")).otherwise(f.lit(0.0))
    moved = f.when(f.col("high") > f.col("r"), below + above).otherwise(f.lit(0.0))
    return table.withColumn("moved", moved + first)


def _array(f: Any, numbers: Any) -> Any:
    """Write numbers as one constant: as separate literals they would take seconds to send."""
    text = ",".join(map(repr, numbers.tolist()))
    return f.split(f.lit(text), ",").cast("array<double>")


def _in_hierarchy(pairs: Pairs, asked: Sequence[base.Score]) -> DataFrame:
    """Score classes by the mean over levels of the distance between groups of values."""
    f, hierarchy = pairs.f, pairs.sensitive.hierarchy
    assert hierarchy is not None  # noqa: S101
    if len(asked) > 1:
        raise ArgumentError("a hierarchical distance is scored by itself")
    n_levels = max(hierarchy.height, 1)
    values = pairs.values().withColumnRenamed("s", "v")
    groups = f.array(*(f.col(f"h{level}") for level in range(n_levels)))
    by_level = values.select("t", "t_all", f.posexplode(groups).alias("level_", "group_"))
    totals = by_level.groupBy("level_", "group_").agg(
        f.sum("t").alias("t"), f.first("t_all").alias("t_all")
    )
    table = pairs.counted.join(
        f.broadcast(values.drop("t", "t_all")), f.col("s").eqNullSafe(f.col("v")), "left"
    )
    table = table.withColumn("all", f.sum("c").over(pairs.window()))
    no_unit = f.lit(0) if pairs.persons is None else f.col("no_unit")
    missing = f.when(f.col("s").isNull(), f.col(pairs.rows)).otherwise(0)
    levels = table.select(
        *(*pairs.keys, "all", "c"),
        f.col(pairs.first).alias("first"),
        f.col(pairs.rows).alias("rows"),
        no_unit.alias("no_unit"),
        missing.alias("none"),
        f.posexplode(groups).alias("level", "group"),
    )
    merged = levels.groupBy(*pairs.keys, "level", "group").agg(
        f.sum("c").alias("c"),
        f.first("all").alias("all"),
        *(f.sum(name).alias(name) for name in ("first", "rows", "no_unit", "none")),
    )
    here = (f.col("level") == f.col("level_")) & (f.col("group") == f.col("group_"))
    compared = merged.join(f.broadcast(totals), here, "left")
    gained = f.greatest(f.col("c") / f.col("all") - f.col("t") / f.col("t_all"), f.lit(0.0))
    # Every level has seen every row, so that one of them speaks for all.
    lowest = f.col("level") == 0

    def at_lowest(name: str) -> Any:
        return f.sum(f.when(lowest, f.col(name)).otherwise(0))

    return compared.groupBy(*pairs.keys).agg(
        at_lowest("first").alias("n"),
        at_lowest("rows").alias("rows"),
        at_lowest("none").alias("no_value"),
        at_lowest("no_unit").alias("no_unit"),
        (f.sum(gained) / n_levels).alias("x0"),
    )


def _worst(pairs: Pairs, classes: DataFrame, asked: Sequence[base.Score]) -> DataFrame:
    """Keep the worst score of the classes of each size, and the counts."""
    f = pairs.f
    dropped = f.col("d") if pairs.drops else f.expr("false").alias("d")
    return (
        classes.select("*", *([] if pairs.drops else [dropped]))
        .groupBy("d", "n")
        .agg(
            f.count(f.lit(1)).alias("classes"),
            *pairs.tallied(),
            *(
                (f.min if score.least else f.max)(f"x{i}").alias(f"x{i}")
                for i, score in enumerate(asked)
            ),
        )
    )


def refuse_missing(rows: list[Row], question: base.Question, sensitive: base.Sensitive) -> None:
    """Refuse what was found missing and the question refuses."""
    if question.unit is not None:
        no_unit = sum(row["no_unit"] for row in rows)
        if no_unit:
            raise base.missing_unit(question.unit, no_unit)
    if question.missing == "error":
        n_missing = {
            name: sum(row[f"m{i}"] for row in rows) for i, name in enumerate(question.columns)
        }
        if any(n_missing.values()):
            raise base.missing_values(n_missing)
    # Dropped rows carry no value either, but that is no fault of theirs.
    no_value = sum(row["no_value"] for row in rows if not (row.asDict().get("d")))
    if sensitive.missing == "error" and no_value:
        raise base.missing_sensitive(sensitive.column, no_value)


def _persons(
    frame: DataFrame, question: base.Question, sensitive: base.Sensitive, n_dropped: int
) -> ClassSizes:
    """Count persons by the smallest of their classes, which the scores do not tell."""
    if sensitive.missing == "drop":
        projection = Projection.of(frame)
        known = projection.table.where(projection.column(sensitive.column).isNotNull())
        frame = known.toDF(*projection.names)
    return replace(count.class_sizes(frame, question)[0], n_dropped=n_dropped)


def _class_sizes(rows: list[Row], question: base.Question, n_dropped: int) -> ClassSizes:
    ordered = sorted(rows, key=lambda row: row["n"])
    return ClassSizes(
        [row["n"] for row in ordered],
        [row["classes"] for row in ordered],
        qid=question.qid,
        missing=question.missing,
        n_rows=sum(row["rows"] for row in rows),
        n_dropped=n_dropped,
    )
