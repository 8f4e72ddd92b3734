"""Links across a change of pseudonyms, on Spark.

Columns of ours: `u` the person, `i` the quasi-identifier as a struct, or all that a person has of
it in a period as an array, `p` the period, `n` the number of persons who have `i` in it, `m` the
same one period later. What comes later is found by windows: a table that is joined with itself is
counted twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.spark.clock import on_calendar, whole_part
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.linked import Linked
from anonrisk.engines.times import check_moment
from anonrisk.measures.counts.traces import LinkCounts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from anonrisk.measures.counts.traces import LinkQuestion


def links(frame: DataFrame, question: LinkQuestion) -> LinkCounts:
    """Match persons before and after each change by their quasi-identifiers."""
    linked = Linked(
        frame,
        question.user,
        question.qid,
        question.time,
        question.missing,
        role="quasi-identifier",
        calendar=question.period is not None,
    )
    if question.at is not None:
        calendar = on_calendar(linked.projection, question.time)
        check_moment(question.time, at_on_calendar=question.at_on_calendar, on_calendar=calendar)
    seen = linked.checked()
    with guarded("link the persons"):
        pairs = _pairs(linked, question, seen["low"], seen["high"])
        rows = collect(_right(linked, _persons(linked, pairs)).unionAll(_wrong(linked, pairs)))
    results = {name: sum(row[name] or 0 for row in rows) for name in _SUMS}
    n_both = int(results["both"])
    return LinkCounts(
        seen["rows"],
        seen["dropped"],
        seen["users"],
        int(results["changes"]),
        n_both,
        int(results["linked"]),
        int(results["false"]),
        float(results["best"]) / n_both if n_both else 0.0,
        float(results["chance"]) / n_both if n_both else 0.0,
    )


def _pairs(linked: Linked, question: LinkQuestion, low: int, high: int) -> DataFrame:
    """Every person once for each period and quasi-identifier."""
    f = linked.f
    if question.period is not None:
        period = whole_part(f, f.col("t"), question.period)
    else:
        at = -(-(low + high) // 2) if question.at is None else question.at
        period = (f.col("t") >= f.lit(at)).cast("long")
    return linked.table().select(period.alias("p"), "i", "u").distinct()


def _persons(linked: Linked, pairs: DataFrame) -> DataFrame:
    """Every person once for each period: the best link by a single value, and all their values."""
    f, window = linked.f, linked.projection.window
    # By person from here on, which serves both what they have next and all that they have.
    sized = _sized(linked, pairs).repartition("u")
    own = window.partitionBy("u", "i").orderBy("p")
    later = f.when(_follows(f.lead("p").over(own), f.col("p")), f.lead("n").over(own))
    every = f.sort_array(f.collect_list("i")).alias("i")
    best, sure = (f.max(column) for column in _chances(linked))
    return (
        sized.withColumn("m", later)
        .groupBy("u", "p")
        .agg(every, best.alias("best"), sure.alias("linked"))
    )


def _sized(linked: Linked, holders: DataFrame) -> DataFrame:
    """Count the persons who have the same in a period."""
    same = linked.projection.window.partitionBy("p", "i")
    return holders.withColumn("n", linked.f.count(linked.f.lit(1)).over(same))


def _follows(later: Column, period: Column) -> Column:
    """Return whether one period comes right after another; a sum would overflow at the last."""
    return later - 1 == period


def _chances(linked: Linked) -> tuple[Column, Column]:
    """The chance that a link is right, and whether it is the only one there is."""
    f = linked.f
    only = (f.col("n") == 1) & (f.col("m") == 1)
    return f.lit(1.0) / f.col("m"), only.cast("int")


def _right(linked: Linked, persons: DataFrame) -> DataFrame:
    """One row: persons on both sides, right links, and the sums of chances."""
    f = linked.f
    in_time = linked.projection.window.partitionBy("u").orderBy("p")
    later = {name: f.lead(name).over(in_time).alias(f"later_{name}") for name in ("p", "i", "n")}
    table = _sized(linked, persons).select("*", *later.values())
    both = f.coalesce(_follows(f.col("later_p"), f.col("p")), f.expr("false"))
    unchanged = both & f.col("later_i").eqNullSafe(f.col("i"))
    table = table.withColumn("m", f.when(unchanged, f.col("later_n")))
    best, sure = _chances(linked)
    here = f.struct(
        f.col("p"),
        f.lit(1).alias("size"),
        f.lit(0).alias("both"),
        f.greatest("best", best).alias("best"),
        f.greatest("linked", sure).alias("linked"),
    )
    # Who is also in the next period is counted there, beside all that are.
    there = f.struct(
        f.col("later_p").alias("p"),
        f.lit(0).alias("size"),
        f.lit(1).alias("both"),
        f.lit(None).cast("double").alias("best"),
        f.lit(None).cast("int").alias("linked"),
    )
    each = f.explode(f.when(both, f.array(here, there)).otherwise(f.array(here))).alias("x")
    sums = (f.sum(name).alias(name) for name in ("size", "both", "best", "linked"))
    periods = table.select(each).select("x.*").groupBy("p").agg(*sums)
    some = f.col("both") > 0
    return periods.agg(
        f.sum("both").alias("both"),
        f.count(f.when(some, 1)).alias("changes"),
        f.sum("linked").alias("linked"),
        f.lit(0).cast("long").alias("false"),
        f.sum("best").alias("best"),
        f.sum(f.when(some, f.col("both") / f.col("size"))).alias("chance"),
    )


def _wrong(linked: Linked, pairs: DataFrame) -> DataFrame:
    """One row: the quasi-identifiers that one person alone has before and another one after."""
    f = linked.f
    cells = pairs.groupBy("p", "i").agg(f.count(f.lit(1)).alias("n"), f.min("u").alias("u"))
    in_time = linked.projection.window.partitionBy("i").orderBy("p")
    another = f.lead("u").over(in_time) != f.col("u")
    false = _follows(f.lead("p").over(in_time), f.col("p")) & another
    table = cells.where(f.col("n") == 1).select(false.cast("long").alias("false"))
    none, nothing = f.lit(0).cast("long"), f.lit(0.0)
    return table.agg(f.sum("false").alias("false")).select(
        none.alias("both"),
        none.alias("changes"),
        none.alias("linked"),
        "false",
        nothing.alias("best"),
        nothing.alias("chance"),
    )


_SUMS = ("both", "changes", "linked", "false", "best", "chance")
