"""Links across a change of pseudonyms, on Spark.

Columns of ours: `u` the person, `i` the quasi-identifier as a struct, `p` the period, `n` the
number of persons who have `i` in it, `m` the same one period later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.counts.traces import LinkCounts
from anonrisk.engines.spark.clock import on_calendar, whole_part
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.linked import Linked
from anonrisk.engines.times import check_moment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anonrisk.counts.traces import LinkQuestion


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
        holders = _holders(linked, question, seen["low"], seen["high"])
        found = _found(linked, holders, _whole_sets(linked, holders)).collect()[0]
        n_false = _wrong(linked, holders).count()
    n_both = int(found["both"])
    return LinkCounts(
        seen["rows"],
        seen["dropped"],
        seen["users"],
        int(found["changes"]),
        n_both,
        int(found["linked"] or 0),
        int(n_false),
        float(found["best"] or 0) / n_both if n_both else 0.0,
        float(found["chance"] or 0) / n_both if n_both else 0.0,
    )


def _holders(linked: Linked, question: LinkQuestion, low: int, high: int) -> DataFrame:
    """Every person once for each period and quasi-identifier, with how many have it."""
    f = linked.f
    if question.period is not None:
        period = whole_part(f, f.col("t"), question.period)
    else:
        at = -(-(low + high) // 2) if question.at is None else question.at
        period = (f.col("t") >= f.lit(at)).cast("long")
    cells = linked.projection.window.partitionBy("p", "i")
    pairs = linked.table().select(period.alias("p"), "i", "u").distinct()
    return pairs.withColumn("n", f.count(f.lit(1)).over(cells))


def _whole_sets(linked: Linked, holders: DataFrame) -> DataFrame:
    """Every person once for each period, with the set of all their values as one value."""
    f = linked.f
    values = f.sort_array(f.collect_list("i")).alias("i")
    sets = holders.groupBy("p", "u").agg(values)
    same = linked.projection.window.partitionBy("p", "i")
    return sets.withColumn("n", f.count(f.lit(1)).over(same))


def _same(linked: Linked, holders: DataFrame) -> DataFrame:
    """What a person has before and after a change: how many have it on either side."""
    f = linked.f
    before = holders.select("p", "i", "u", "n")
    after = holders.select(
        (f.col("p") - 1).alias("p2"),
        f.col("i").alias("i2"),
        f.col("u").alias("u2"),
        f.col("n").alias("m"),
    )
    return before.join(
        after,
        (f.col("p") == f.col("p2"))
        & (f.col("u") == f.col("u2"))
        & f.col("i").eqNullSafe(f.col("i2")),
    ).select("p", "u", "n", "m")


def _found(linked: Linked, holders: DataFrame, sets: DataFrame) -> DataFrame:
    """One row: persons on both sides, right links, and the sums of chances."""
    f = linked.f
    same = _same(linked, holders).unionAll(_same(linked, sets))
    single = (f.col("n") == 1) & (f.col("m") == 1)
    chances = same.groupBy("p", "u").agg(
        f.max(f.lit(1.0) / f.col("m")).alias("best"),
        f.max(single.cast("int")).alias("linked"),
    )
    persons = holders.select("p", "u").distinct()
    everybody = linked.projection.window.partitionBy("p")
    sized = persons.withColumn("size", f.count(f.lit(1)).over(everybody))
    following = sized.select(
        (f.col("p") - 1).alias("p3"), f.col("u").alias("u3"), f.col("size").alias("size3")
    )
    both = persons.join(
        following, (f.col("p") == f.col("p3")) & (f.col("u") == f.col("u3"))
    ).select(f.col("p").alias("p4"), f.col("u").alias("u4"), "size3")
    joined = both.join(chances, (f.col("p4") == f.col("p")) & (f.col("u4") == f.col("u")), "left")
    return joined.agg(
        f.count(f.lit(1)).alias("both"),
        f.countDistinct("p4").alias("changes"),
        f.sum("linked").alias("linked"),
        f.sum("best").alias("best"),
        f.sum(f.lit(1.0) / f.col("size3")).alias("chance"),
    )


def _wrong(linked: Linked, holders: DataFrame) -> DataFrame:
    """The quasi-identifiers that one person has before and another one after."""
    f = linked.f
    alone = holders.where(f.col("n") == 1)
    before = alone.select("p", "i", "u")
    after = alone.select(
        (f.col("p") - 1).alias("p2"), f.col("i").alias("i2"), f.col("u").alias("u2")
    )
    same_value = (f.col("p") == f.col("p2")) & f.col("i").eqNullSafe(f.col("i2"))
    return before.join(after, same_value).where(f.col("u") != f.col("u2"))
