"""Scores of classes on Spark: computed where the classes are, so that only the worst leave."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.question import Question, Score, Scored, Sensitive
from anonrisk.engines import refusals
from anonrisk.engines.spark import count
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.rewrite import refusing, size_of_class
from anonrisk.engines.spark.sensitive import Pairs
from anonrisk.errors import ArgumentError
from anonrisk.measures import tcloseness
from anonrisk.measures.formula import Placeholders
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row

# Cells of the grid by which a cumulative share is looked up among those of the table.
_GRID, _LARGEST_GRID = 1 << 10, 1 << 16


def scores(
    frame: DataFrame,
    question: Question,
    sensitive: Sensitive,
    asked: Sequence[Score],
) -> Scored:
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
        worst[score] = FORMULAS[score.name].worst_of(row[f"x{i}"] for row in kept)
    return Scored(sizes, worst)


def breaking(
    frame: DataFrame,
    question: Question,
    limits: Sequence[tuple[Sensitive, Score, float]],
    k: int | None,
) -> DataFrame:
    """Select the records of the classes that break a limit, or are smaller than k."""
    return _selected(frame, question, limits, k, broken=True)


def keeping(
    frame: DataFrame,
    question: Question,
    limits: Sequence[tuple[Sensitive, Score, float]],
    k: int,
) -> DataFrame:
    """Select the records of the classes of at least k that break no limit."""
    return _selected(frame, question, limits, k, broken=False)


def _selected(
    frame: DataFrame,
    question: Question,
    limits: Sequence[tuple[Sensitive, Score, float]],
    k: int | None,
    *,
    broken: bool,
) -> DataFrame:
    found = []
    for sensitive, score, limit in limits:
        pairs = Pairs(frame, question, sensitive)
        classes = pairs.kept(scored_classes(pairs, [score]))
        with guarded("find the classes that break a limit"):
            bad = classes.where(FORMULAS[score.name].breaks(pairs.f.col("x0"), limit))
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
        if not broken:
            wanted = ~wanted
        # Asking for the size makes the job fail on what the question refuses.
        wanted &= f.col("n").isNotNull()
        for sensitive in {limit[0].column: limit[0] for limit in limits}.values():
            if sensitive.missing == "error":
                lost = projection.column(sensitive.column).isNull()
                message = f"sensitive column {sensitive.column!r} is missing"
                wanted = refusing(projection, lost, message, wanted)
        names = [f"c{i}" for i in range(len(projection.names))]
        return marked.where(wanted).select(*names).toDF(*projection.names)


def scored_classes(pairs: Pairs, asked: Sequence[Score]) -> DataFrame:
    """One row per class: its key, size `n`, `rows`, and the scores `x0`, `x1`, …."""
    with guarded("rank the sensitive values"):
        counts = pairs.check()
    with guarded("score the classes"):
        if any(score.name == "hierarchical" for score in asked):
            return _in_hierarchy(pairs, asked)
        return _by_values(pairs, asked, counts)


def _by_values(pairs: Pairs, asked: Sequence[Score], counts: list[int]) -> DataFrame:
    f, table = pairs.f, pairs.counted
    words = Placeholders(pairs.of_class, pairs.first, n_values=len(counts))
    formulas = [FORMULAS[score.name] for score in asked]
    if any(formula.compared for formula in formulas):
        table = table.join(f.broadcast(pairs.values()), f.expr("s <=> v"), "left")
    windows = dict.fromkeys(text for formula in formulas for text in formula.windows)
    order = next((formula.order for formula in formulas if formula.order), "")
    table = table.selectExpr("*", *map(words.text, windows), pairs.total(order))
    if tcloseness.ORDERED in formulas:
        table = _moved(pairs, table, counts)
    # As text: an expression built call by call costs more than many a query.
    texts = (words.text(FORMULAS[score.name].sql, score.c) for score in asked)
    scored = [f.expr(f"{text} as x{i}") for i, text in enumerate(texts)]
    return table.groupBy(*pairs.keys).agg(*pairs.tallies(), *scored)


def _moved(pairs: Pairs, table: DataFrame, counts: list[int]) -> DataFrame:
    """Add what each value moves in an ordered distance; see `measures.tcloseness.ordered`."""
    f = pairs.f
    Q = np.cumsum(counts) / max(sum(counts), 1)
    sums = _array(f, np.concatenate(([0.0], np.cumsum(Q))))
    table = _split(pairs, table.selectExpr("*", f"{tcloseness.REACHED} as reached"), Q)
    table = table.select(
        "*",
        *(
            f.element_at(sums, f.expr(f"cast({rank} as int) + 1")).alias(f"sum_{rank}")
            for rank in ("r", "high", "split")
        ),
    )
    return table.selectExpr("*", f"{tcloseness.MOVED} as moved")


def _split(pairs: Pairs, table: DataFrame, Q: Any) -> DataFrame:
    """Add the rank, from r to high, from where on the table's Q is above the class's P (`reached`).

    A grid says how many Q are below the cell in which P lies; those inside are searched by halves.
    """
    f = pairs.f
    grid = min(max(_GRID, 1 << int(4 * len(Q)).bit_length()), _LARGEST_GRID)
    starts = np.searchsorted(Q, np.arange(grid + 1) / grid, side="right")
    rounds = int(np.diff(starts).max(initial=0)).bit_length()
    shares = _array(f, np.concatenate((Q, np.full(1 << rounds, 2.0))))
    cell = f.expr(f"cast(least(floor(reached * {grid}), {grid}) as int) + 1")
    table = table.withColumn("below", f.element_at(_array(f, starts), cell).cast("int"))
    for step in (1 << i for i in reversed(range(rounds))):
        beyond = f.element_at(shares, f.expr(f"below + {step}")) <= f.col("reached")
        table = table.withColumn("below", f.expr("below") + f.when(beyond, step).otherwise(0))
    return table.withColumn("split", f.expr(tcloseness.SPLIT))


def _array(f: Any, numbers: Any) -> Any:
    """Write numbers as one constant: as separate literals they would take seconds to send."""
    text = ",".join(map(repr, numbers.tolist()))
    return f.split(f.lit(text), ",").cast("array<double>")


def _in_hierarchy(pairs: Pairs, asked: Sequence[Score]) -> DataFrame:
    """Score classes by the mean over levels of the distance between groups of values."""
    f, hierarchy = pairs.f, pairs.sensitive.hierarchy
    assert hierarchy is not None  # noqa: S101
    if len(asked) > 1:
        raise ArgumentError("a hierarchical distance is scored by itself")
    n_levels = max(hierarchy.height, 1)
    values = pairs.values()
    groups = f.array(*(f.col(f"h{level}") for level in range(n_levels)))
    by_level = values.select("t", "t_all", f.posexplode(groups).alias("level_", "group_"))
    totals = by_level.groupBy("level_", "group_").agg(f.expr("sum(t) / first(t_all) as share"))
    table = pairs.counted.join(
        f.broadcast(values.drop("t", "t_all")), f.col("s").eqNullSafe(f.col("v")), "left"
    )
    table = table.selectExpr("*", pairs.total())
    no_unit = f.lit(0) if pairs.persons is None else f.col("no_unit")
    missing = f.when(f.col("s").isNull(), f.col(pairs.rows)).otherwise(0)
    levels = table.select(
        *(*pairs.keys, "total", "c"),
        f.col(pairs.first).alias("first"),
        f.col(pairs.rows).alias("rows"),
        no_unit.alias("no_unit"),
        missing.alias("none"),
        f.posexplode(groups).alias("level", "group"),
    )
    merged = levels.groupBy(*pairs.keys, "level", "group").agg(
        f.sum("c").alias("c"),
        f.first("total").alias("total"),
        *(f.sum(name).alias(name) for name in ("first", "rows", "no_unit", "none")),
    )
    here = (f.col("level") == f.col("level_")) & (f.col("group") == f.col("group_"))
    compared = merged.join(f.broadcast(totals), here, "left")
    words = Placeholders(pairs.of_class, pairs.first, n_levels=n_levels)
    # Every level has seen every row, so that one of them speaks for all.
    lowest = f.col("level") == 0

    def at_lowest(name: str) -> Any:
        return f.sum(f.when(lowest, f.col(name)).otherwise(0))

    return compared.groupBy(*pairs.keys).agg(
        at_lowest("first").alias("n"),
        at_lowest("rows").alias("rows"),
        at_lowest("none").alias("no_value"),
        at_lowest("no_unit").alias("no_unit"),
        f.expr(f"{words.text(tcloseness.HIERARCHICAL.sql)} as x0"),
    )


def _worst(pairs: Pairs, classes: DataFrame, asked: Sequence[Score]) -> DataFrame:
    """Keep the worst score of the classes of each size, and the counts."""
    f = pairs.f
    worst = (f"{FORMULAS[score.name].worst_in_sql}(x{i}) as x{i}" for i, score in enumerate(asked))
    return (
        classes.selectExpr("*", *([] if pairs.drops else ["false as d"]))
        .groupBy("d", "n")
        .agg(f.expr("count(1) as classes"), *pairs.tallied(), *map(f.expr, worst))
    )


def refuse_missing(rows: list[Row], question: Question, sensitive: Sensitive) -> None:
    """Refuse what was found missing and the question refuses."""
    if question.unit is not None:
        no_unit = sum(row["no_unit"] for row in rows)
        if no_unit:
            raise refusals.missing_unit(question.unit, no_unit)
    if question.missing == "error":
        n_missing = {
            name: sum(row[f"m{i}"] for row in rows) for i, name in enumerate(question.columns)
        }
        if any(n_missing.values()):
            raise refusals.missing_values(n_missing)
    # Dropped rows carry no value either, but that is no fault of theirs.
    no_value = sum(row["no_value"] for row in rows if not (row.asDict().get("d")))
    if sensitive.missing == "error" and no_value:
        raise refusals.missing_sensitive(sensitive.column, no_value)


def _persons(
    frame: DataFrame, question: Question, sensitive: Sensitive, n_dropped: int
) -> ClassCounts:
    """Count persons by the smallest of their classes, which the scores do not tell."""
    if sensitive.missing == "drop":
        projection = Projection.of(frame)
        known = projection.table.where(projection.column(sensitive.column).isNotNull())
        frame = known.toDF(*projection.names)
    return replace(count.class_sizes(frame, question)[0], n_dropped=n_dropped)


def _class_sizes(rows: list[Row], question: Question, n_dropped: int) -> ClassCounts:
    ordered = sorted(rows, key=lambda row: row["n"])
    return ClassCounts(
        [row["n"] for row in ordered],
        [row["classes"] for row in ordered],
        qid=question.qid,
        missing=question.missing,
        n_rows=sum(row["rows"] for row in rows),
        n_dropped=n_dropped,
    )
