"""New columns and new tables on Spark, lazily: nothing runs until the user asks for it."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.engines.pushed.score import class_values, scored_classes
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection, modules
from anonrisk.engines.spark.rows import SparkTable, frame_of
from anonrisk.engines.spark.wildcard import SparkMatchedKeys
from anonrisk.errors import ArgumentError
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.question import Question, Score, Sensitive


def sizes(frame: DataFrame, question: Question, name: str) -> DataFrame:
    """Add the size of each record's class; NULL where the record was dropped."""
    with guarded("size the classes"):
        projection = Projection.of(frame)
        # Spark would call two columns that differ only by case ambiguous.
        if name.casefold() in {existing.casefold() for existing in projection.names}:
            raise ArgumentError(f"the table already has a column {name!r}; give another name=")
        return with_sizes(projection, question).toDF(*projection.names, name)


def at_risk(frame: DataFrame, question: Question, k: int) -> DataFrame:
    """Select the records in classes smaller than k; a dropped record is in no class."""
    with guarded("select the records at risk"):
        projection = Projection.of(frame)
        sized = with_sizes(projection, question)
        return sized.where(projection.functions.col("n") < k).drop("n").toDF(*projection.names)


def with_sizes(projection: Projection, question: Question) -> DataFrame:
    """Return the table with a column `n` more, the size of each record's class."""
    matched = None
    if question.missing == "wildcard":
        matched = SparkMatchedKeys(projection, question.qid)
    # Where all records miss the same columns, or none, those that match are equal.
    if matched is None or len(matched.patterns) <= 1:
        return projection.table.withColumn("n", size_of_class(projection, question))
    f = projection.functions
    sizes = matched.sized().select("key", f.col("size").alias("n"))
    keyed = projection.table.withColumn("key", matched.key)
    return keyed.join(sizes, "key").select(*projection.table.columns, "n")


def without(frame: DataFrame, columns: Qid) -> DataFrame:
    """Leave out columns, by their place: a name may be read as a path."""
    with guarded("leave out columns"):
        projection = Projection.of(frame)
        names = projection.names
        places = [i for i, name in enumerate(names) if name not in columns]
        kept = projection.table.select(*(f"c{i}" for i in places))
        return kept.toDF(*(names[i] for i in places))


def size_of_class(projection: Projection, question: Question) -> Any:
    """Return the size of each record's class; refuses, when computed, what the question refuses."""
    f, window = projection.functions, projection.window
    columns = [projection.column(name) for name in question.qid]
    of_class = window.partitionBy(*columns)
    if question.unit is None:
        size = f.count(f.lit(1)).over(of_class)
    else:
        # The last rank of a person within the class is the number of its different persons; Spark
        # has no distinct count over a window.
        unit = projection.column(question.unit)
        rank = f.dense_rank().over(of_class.orderBy(unit))
        size = f.max(rank).over(of_class)
    incomplete = projection.any_missing(columns)
    if question.missing == "drop":
        size = f.when(~incomplete, size)
    if question.missing == "error":
        size = refusing(projection, incomplete, "a quasi-identifier is missing", size)
    if question.unit is not None:
        lost = projection.column(question.unit).isNull()
        size = refusing(projection, lost, f"unit {question.unit!r} is missing", size)
    return size


def refusing(projection: Projection, condition: Column, message: str, value: Column) -> Any:
    """Let the job fail where a condition holds: a lazy table has no other time to refuse."""
    f = projection.functions
    return f.when(condition, f.raise_error(f.lit(f"anonrisk: {message}"))).otherwise(value)


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
    results = []
    for sensitive, score, limit in limits:
        about = class_values(SparkTable(frame), question, sensitive, [score])
        about.look()
        with guarded("find the classes that break a limit"):
            scored = frame_of(about.kept(scored_classes(about, [score])))
            f, _ = modules(scored)
            bad = scored.where(FORMULAS[score.name].breaks(f.col("x0"), limit))
            results.append(bad.selectExpr(*(f"{q} as b_{q}" for q in about.records.qs)))
    with guarded("select the records at risk"):
        projection = Projection.of(frame)
        f = projection.functions
        columns = [projection.column(name) for name in question.qid]
        size = size_of_class(projection, question)
        table = projection.table.select(
            "*", *(column.alias(f"q{i}") for i, column in enumerate(columns)), size.alias("n")
        )
        classes = reduce(lambda a, b: a.union(b), results).distinct()
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


def mixed(frame: DataFrame, other: DataFrame, seed: int) -> DataFrame:
    """Put the rows of another table among them; lazy."""
    with guarded("put rows of an earlier release among these"):
        both = frame.unionByName(other)
        return both.orderBy(Projection.of(both).functions.rand(seed))
