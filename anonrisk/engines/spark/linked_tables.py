"""Tables joined along a person's key on Spark: grouped first, joined where they are, then counted.

Columns of ours: `u` the person, `a0`, `a1`, … whether there is a row in each table, `c0_0`, `c0_1`,
… the quasi-identifying columns of each, `d0`, `d1`, … a person's number of classes, `n` the size of
a combination.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.spark import count
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.project import Projection
from anonrisk.measures.counts import bounds
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.question import LinkedCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from anonrisk.measures.counts.question import LinkedClasses, Question

# A cluster shuffles more than one process holds.
MOST = 100 * bounds.MAX_COMBINATIONS
_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
}


def combinations(frame: DataFrame, asked: LinkedClasses) -> LinkedCounts:
    """Count the persons of each combination of classes; no person reaches the driver."""
    tables = [(frame, asked.question), *asked.others]
    refusals.check_one_type([(question.unit, _kind(table, question)) for table, question in tables])
    # These refuse what is missing, each in one action.
    sizes = [count.class_sizes(table, question)[0] for table, question in tables]
    with guarded("join the classes"):
        classes = [_classes(table, question, t) for t, (table, question) in enumerate(tables)]
        n_combinations, n_persons, n_shared = _sizes_of_join(classes)
        refusals.check_shared([question.unit for _, question in tables], n_shared)
        refusals.check_combinations(n_combinations, MOST)
        rows = collect(_histogram(classes))
    results = sorted((row for row in rows if row["members"]), key=lambda row: row["n"])
    persons = {row["n"]: row["persons"] for row in rows if row["persons"]}
    counted = ClassCounts(
        [row["n"] for row in results],
        [row["members"] // row["n"] for row in results],
        [persons.get(row["n"], 0) for row in results],
        unit=asked.question.unit,
        missing=asked.question.missing,
        n_rows=sum(size.n_rows for size in sizes),
        n_dropped=sum(size.n_dropped for size in sizes),
    )
    return LinkedCounts(counted, n_persons, n_shared)


def _kind(frame: DataFrame, question: Question) -> str:
    name = frame.schema[str(question.unit)].dataType.typeName()
    return _KINDS.get(name, name)


def _classes(frame: DataFrame, question: Question, t: int) -> DataFrame:
    """Pair the classes of a table with their persons, each once."""
    projection = Projection.of(frame)
    f = projection.functions
    cells = [projection.column(name) for name in question.qid]
    table = projection.table
    if question.missing == "drop":
        table = table.where(~projection.any_missing(cells))
    named = [cell.alias(f"c{t}_{i}") for i, cell in enumerate(cells)]
    assert question.unit is not None  # noqa: S101
    once = table.select(projection.column(question.unit).alias("u"), *named).distinct()
    return once.withColumn(f"a{t}", f.lit(1))


def _outer(tables: Sequence[DataFrame]) -> DataFrame:
    """Join by person; who has no row in a table has NULL there."""
    return reduce(lambda first, other: first.join(other, "u", "full_outer"), tables)


def _sizes_of_join(
    classes: Sequence[DataFrame],
) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Count what the join will have, whom each table has, and whom of them it shares."""
    f: Any = Projection.of(classes[0]).functions
    degrees = [
        item.groupBy("u").agg(f.count(f.lit(1)).alias(f"d{t}")) for t, item in enumerate(classes)
    ]
    each = reduce(
        lambda first, other: first * other,
        (f.coalesce(f.col(f"d{t}"), f.lit(1)).cast("double") for t in range(len(classes))),
    )
    there = [f.col(f"d{t}").isNotNull() for t in range(len(classes))]
    several = reduce(lambda first, other: first + other, (item.cast("int") for item in there)) > 1
    shared = [f.count(f.when(item & several, 1)) for item in there]
    persons = [f.count(f.when(item, 1)) for item in there]
    total, *numbers = collect(_outer(degrees).agg(f.sum(each), *persons, *shared))[0]
    own = len(classes)
    return float(total or 0.0), tuple(numbers[:own]), tuple(numbers[own:])


def _histogram(classes: Sequence[DataFrame]) -> DataFrame:
    """Return how many combinations there are of each size, and persons by their smallest."""
    first = Projection.of(classes[0])
    f: Any = first.functions
    joined = _outer(classes)
    keys = [name for name in joined.columns if name != "u"]
    sized = joined.withColumn("n", f.count(f.lit(1)).over(first.window.partitionBy(*keys)))
    zero = f.lit(0).cast("long")
    members = sized.groupBy("n").agg(f.count(f.lit(1)).alias("members"))
    smallest = sized.groupBy("u").agg(f.min("n").alias("n"))
    persons = smallest.groupBy("n").agg(f.count(f.lit(1)).alias("persons"))
    return members.select("n", "members", zero.alias("persons")).union(
        persons.select("n", zero.alias("members"), "persons")
    )
