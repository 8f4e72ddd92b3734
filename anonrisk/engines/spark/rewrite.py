"""New columns and new tables on Spark, lazily: nothing runs until the user asks for it.

Pseudonyms: HMAC written in SQL would put the padded key into every plan, log and page of the UI; a
pandas function needs pandas on the executors, one of our modules needs anonrisk there. A nested
plain function needs Python's standard library only, and travels with the subkey of pseudonyms
inside, as bytes that Spark neither prints nor logs. The key itself stays where it is.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.engines.pushed.score import class_values, scored_classes
from anonrisk.engines.spark.count import SparkMatchedKeys
from anonrisk.engines.spark.jobs import guarded
from anonrisk.engines.spark.project import Projection, clock, instant, modules, whole_part
from anonrisk.engines.spark.rows import SparkTable, frame_of
from anonrisk.errors import ArgumentError
from anonrisk.measures.scores import FORMULAS
from anonrisk.pseudonyms.pseudonym import pseudonym_maker, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.question import Question, Score, Sensitive
    from anonrisk.pseudonyms.pseudonym import Pseudonymisation


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


_TEXT = ("string", "char", "varchar")
_WHOLE = ("byte", "short", "integer", "long")


def pseudonymize(frame: DataFrame, step: Pseudonymisation) -> DataFrame:
    """Return the table with one column replaced; lazy."""
    with guarded("make the pseudonyms"):
        projection = Projection.of(frame)
        f = projection.functions
        value = _canonical(projection, step)
        made = f.udf(_function(step), "string", useArrow=False)(value, _period(projection, step))
        position = projection.names.index(str(step.column))
        metadata = projection.fields[position].metadata
        columns = [f.col(name) for name in projection.table.columns]
        columns[position] = made.alias(f"c{position}", metadata=metadata)
        return projection.table.select(*columns).toDF(*projection.names)


def _function(step: Pseudonymisation) -> Callable[[str | None, str | None], str | None]:
    """Make the function that executors run: nested, so that it travels by value, and plain."""
    make = pseudonym_maker(step)

    def pseudonym(value: str | None, period: str | None) -> str | None:
        return None if value is None else make(value.encode(), (period or "").encode())

    return pseudonym


def _canonical(projection: Projection, step: Pseudonymisation) -> Any:
    """Return the letter and the text of each value; NULL where it is missing."""
    f = projection.functions
    column = projection.column(step.column)
    kind = projection.fields[projection.names.index(str(step.column))].dataType.typeName()
    if kind in _TEXT or kind == "void":
        return f.concat(f.lit("s"), column)
    if kind in _WHOLE:
        return f.concat(f.lit("i"), column.cast("string"))
    if kind == "date":
        return f.concat(f.lit("d"), column.cast("string"))
    if kind in ("timestamp", "timestamp_ntz"):
        return f.concat(f.lit("t"), instant(projection, step.column).cast("string"))
    raise refused(step.column, kind)


def _period(projection: Projection, step: Pseudonymisation) -> Any:
    """Name the period of each record."""
    f = projection.functions
    if step.time is None or step.every is None:
        return f.lit(None).cast("string")
    time = clock(projection, step.time, calendar=not step.by_records)
    value = projection.column(step.column)
    number: Any = time
    if step.by_records:
        earlier = projection.window.partitionBy(value).orderBy(time)
        number = f.rank().over(earlier) - f.lit(1)
    number = whole_part(f, number, step.every)
    label = f.concat(f.lit(step.period_label(0).removesuffix("0")), number.cast("string"))
    lacking = time.isNull() & value.isNotNull()
    return refusing(projection, lacking, f"time {step.time!r} is missing", label)
