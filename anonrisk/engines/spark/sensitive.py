"""Sensitive values on Spark: how often each occurs, its rank, its groups in a hierarchy.

Columns of ours, beside those of `count`: `s` the sensitive value, `c` how often a class has it, `t`
how often the table has it, `t_all` the sum of those, `share` one over the other, `r` its rank,
`h0`, `h1`, … its groups, `hash` a number by which classes are sorted.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from anonrisk.engines import base
from anonrisk.engines.order import check_kinds
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.places import kind_of_cells, place
from anonrisk.engines.spark.project import Projection

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_NO_ORDER = ("string", "char", "varchar", "binary")
_SCALES = ("float", "double", "date", "timestamp", "timestamp_ntz")


def is_scale(frame: DataFrame, column: Any) -> bool:
    """Tell whether a column holds floats or dates."""
    with guarded("read the schema"):
        kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    return kinds[column] in _SCALES


class Pairs:
    """The (class, sensitive value) pairs of one question, with their counts; nothing runs yet."""

    def __init__(
        self, frame: DataFrame, question: base.Question, sensitive: base.Sensitive
    ) -> None:
        """Plan the counting of pairs."""
        self.question, self.sensitive = question, sensitive
        self.projection = Projection.of(frame)
        self.f = self.projection.functions
        self.qs = [f"q{i}" for i in range(len(question.columns))]
        self.drops = question.missing == "drop" or sensitive.missing == "drop"
        self.keys = [*(["d"] if self.drops else []), *self.qs]
        self.persons = None if question.unit is None else self._persons()
        self.counted = self._counted()
        # Without a unit, a pair's rows are its records, and one column serves for all three.
        self.first, self.rows = ("c", "c") if self.persons is None else ("first", "rows")

    def window(self, *order: Column) -> Any:
        """Give the window of a class, in an order if there is one."""
        # Numbers that hardly repeat sort faster than the keys, which then decide the rest.
        of_class = self.projection.window.partitionBy("hash", *self.keys)
        return of_class.orderBy(*order) if order else of_class

    def whole(self, *order: Column) -> Any:
        """Give the window of a whole class: windows of one order are one pass."""
        window = self.projection.window
        return self.window(*order).rowsBetween(window.unboundedPreceding, window.unboundedFollowing)

    def upto(self, *order: Column) -> Any:
        """Give the window of a class up to a pair."""
        return self.window(*order).rowsBetween(self.projection.window.unboundedPreceding, 0)

    def _records(self) -> DataFrame:
        """One row per record under our names; dropped ones have no key and no value."""
        f, projection, question = self.f, self.projection, self.question
        unit = [] if question.unit is None else [projection.column(question.unit).alias("u")]
        table = projection.table.select(
            *(
                projection.column(name).alias(q)
                for name, q in zip(question.columns, self.qs, strict=True)
            ),
            projection.column(self.sensitive.column).alias("s"),
            *unit,
        )
        if not self.drops:
            return table
        dropping = [f.expr("false")]
        if question.missing == "drop":
            dropping.append(projection.any_missing(f.col(q) for q in self.qs))
        if self.sensitive.missing == "drop":
            dropping.append(f.col("s").isNull())
        dropped = reduce(lambda a, b: a | b, dropping)
        return table.select(
            *(f.when(~dropped, f.col(name)).alias(name) for name in (*self.qs, "s")),
            *(["u"] if unit else []),
            dropped.alias("d"),
        )

    def _persons(self) -> DataFrame:
        """Each person once per class and value, marked where they are met first in the class."""
        f = self.f
        once = self._records().groupBy(*self.keys, "s", "u").agg(f.count(f.lit(1)).alias("rows"))
        met = self.projection.window.partitionBy(*self.keys, "u").orderBy("s")
        return once.withColumn("first", (f.row_number().over(met) == 1).cast("long"))

    def _counted(self) -> DataFrame:
        f = self.f
        if self.persons is None:
            counted = self._records().groupBy(*self.keys, "s").agg(f.count(f.lit(1)).alias("c"))
        else:
            no_unit = f.sum(f.when(f.col("u").isNull(), f.col("rows")).otherwise(0))
            counted = self.persons.groupBy(*self.keys, "s").agg(
                f.count(f.lit(1)).alias("c"),
                f.sum("first").alias("first"),
                f.sum("rows").alias("rows"),
                no_unit.alias("no_unit"),
            )
        # Brought together by class here, the pairs serve both their class and the whole table.
        together = counted.repartition(*self.keys)
        return together.withColumn("hash", f.xxhash64(*(f.col(key) for key in self.keys)))

    def tallies(self) -> list[Column]:
        """Size and rows of a class, and the rows without a value or a unit, from its pairs."""
        f, rows = self.f, self.f.col(self.rows)
        none = f.lit(0).cast("long")
        no_value = f.sum(f.when(f.col("s").isNull(), rows).otherwise(0))
        refused = self.sensitive.missing == "error"
        return [
            f.sum(self.first).alias("n"),
            f.sum(rows).alias("rows"),
            (no_value if refused else none).alias("no_value"),
            (none if self.persons is None else f.sum("no_unit")).alias("no_unit"),
        ]

    def tallied(self) -> list[Column]:
        """Rows of many classes, as above, and those without a quasi-identifier if it matters."""
        f, rows = self.f, self.f.col("rows")
        missing = self.qs if self.question.missing == "error" else []
        return [
            *(f.sum(name).alias(name) for name in ("rows", "no_value", "no_unit")),
            *(
                f.sum(f.when(f.col(q).isNull(), rows).otherwise(0)).alias(f"m{i}")
                for i, q in enumerate(missing)
            ),
        ]

    def kept(self, table: DataFrame) -> DataFrame:
        """Leave out the dropped records."""
        return table.where(~self.f.col("d")) if self.drops else table

    def values(self) -> DataFrame:
        """Count each value in the whole table, and rank it where that is asked for."""
        f, window = self.f, self.projection.window
        if self.persons is None:
            counts = self.kept(self.counted).groupBy("s").agg(f.sum("c").alias("t"))
        else:
            once = self.kept(self.persons).select("s", "u").distinct()
            counts = once.groupBy("s").agg(f.count(f.lit(1)).alias("t"))
        everything = window.partitionBy(f.lit(0))
        counts = counts.withColumn("t_all", f.sum("t").over(everything))
        counts = counts.withColumn("share", f.col("t") / f.col("t_all"))
        if self.sensitive.ordered:
            rank = f.row_number().over(everything.orderBy(*self._places()))
            counts = counts.withColumn("r", rank - f.lit(1))
        if self.sensitive.hierarchy is not None:
            counts = counts.select("*", *self._groups())
        return counts

    def _places(self) -> list[Column]:
        """What to sort values by: the missing one last."""
        f = self.f
        missing_last = f.col("s").isNull()
        return [missing_last, f.col("s") if self.sensitive.order is None else self.place()]

    def place(self) -> Any:
        """The place of a value in the caller's order, from 1; 0 where it has none."""
        return place(self.f, self.f.col("s"), self.type, self.sensitive.order or ())

    def _groups(self) -> list[Column]:
        f, hierarchy = self.f, self.sensitive.hierarchy
        assert hierarchy is not None  # noqa: S101
        text = f.col("s").cast("string")
        levels = hierarchy.levels() or [dict.fromkeys(hierarchy.leaves, 0)]
        return [
            f.create_map(*(f.lit(word) for pair in groups.items() for word in pair))[text].alias(
                f"h{level}"
            )
            for level, groups in enumerate(levels)
        ]

    def check(self) -> list[int]:
        """Refuse values without a rank or a group; give the counts of ordered values by rank."""
        column = self.sensitive.column
        if self.sensitive.hierarchy is not None:
            if self.type.typeName() in ("float", "double", "decimal"):
                raise base.no_hierarchy(column)
            with guarded("look values up in the hierarchy"):
                lost = self.values().where(self.f.col("h0").isNull()).count()
            if lost:
                raise base.unknown_values(column, lost, "hierarchy")
        if not self.sensitive.ordered:
            return []
        if self.sensitive.order is not None:
            check_kinds(column, self.sensitive.order, kind_of_cells(self.type))
        elif self.type.typeName() in _NO_ORDER:
            raise base.not_ordered(column)
        placed = self.place() if self.sensitive.order is not None else self.f.lit(1)
        values = self.values().select(
            "t", "r", (self.f.col("s").isNotNull() & (placed == 0)).alias("x")
        )
        with guarded("rank the sensitive values"):
            rows = values.orderBy("r").limit(base.MAX_ORDERED + 1).collect()
        base.check_ordered(column, len(rows))
        unknown = sum(row["x"] for row in rows)
        if unknown:
            raise base.unknown_values(column, unknown, "order")
        return [row["t"] for row in rows]

    @property
    def type(self) -> DataType:
        """The type of the sensitive column."""
        position = self.projection.names.index(str(self.sensitive.column))
        return self.projection.fields[position].dataType
