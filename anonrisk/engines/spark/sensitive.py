"""Sensitive values on Spark: how often each occurs, its rank, its groups in a hierarchy.

Columns of ours, beside those of `count`: `s` the sensitive value, `c` how often a class has it, `t`
how often the table has it, `t_all` the sum of those, `share` one over the other, `r` its rank,
`h0`, `h1`, … its groups, `hash` a number by which classes are sorted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.counts import bounds
from anonrisk.engines import refusals
from anonrisk.engines.order import check_kinds
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.places import kind_of_cells, place
from anonrisk.engines.spark.project import Projection
from anonrisk.measures.formula import ALL

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from anonrisk.counts.question import Question, Sensitive

_NO_ORDER = ("string", "char", "varchar", "binary")
_SCALES = {
    **dict.fromkeys(("float", "double"), "floats"),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "dates"),
}


def scale_of(frame: DataFrame, column: Any) -> str | None:
    """Return "floats" or "dates" where a column is of such a type."""
    with guarded("read the schema"):
        kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    return _SCALES.get(kinds[column])


def largest_whole(frame: DataFrame, column: Any) -> float | None:
    """Return the largest magnitude of floats that are all whole; None if one is not."""
    projection = Projection.of(frame)
    # The remainder of an infinite one is NaN, and greater than anything to Spark.
    number = f"cast({projection.text(column)} as double)"
    with guarded("look for fractions"):
        (row,) = projection.table.selectExpr(
            f"coalesce(max(abs({number})), 0D) as largest",
            f"coalesce(max(abs({number} % 1D)), 0D) = 0D as whole",
        ).collect()
    return float(row["largest"]) if row["whole"] else None


class Pairs:
    """The (class, sensitive value) pairs of one question, with their counts; nothing runs yet."""

    def __init__(self, frame: DataFrame, question: Question, sensitive: Sensitive) -> None:
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

    @property
    def of_class(self) -> str:
        """The columns of a class; numbers that hardly repeat sort faster than the keys."""
        return ", ".join(("hash", *self.keys))

    def total(self, order: str = "") -> str:
        """Write the sum over a class, in an order that other windows have: those are one pass."""
        in_order = f" order by {order} {ALL}" if order else ""
        return f"sum(c) over (partition by {self.of_class}{in_order}) as total"

    def _records(self) -> DataFrame:
        """One row per record under our names; dropped ones have no key and no value."""
        question, text = self.question, self.projection.text
        unit = [] if question.unit is None else [f"{text(question.unit)} as u"]
        table = self.projection.table.selectExpr(
            *(f"{text(name)} as {q}" for name, q in zip(question.columns, self.qs, strict=True)),
            f"{text(self.sensitive.column)} as s",
            *unit,
        )
        if not self.drops:
            return table
        needed = [
            *(self.qs if question.missing == "drop" else []),
            *(["s"] if self.sensitive.missing == "drop" else []),
        ]
        dropped = " or ".join(f"{name} is null" for name in needed) or "false"
        return table.selectExpr(
            *(f"if({dropped}, null, {name}) as {name}" for name in (*self.qs, "s")),
            *(["u"] if unit else []),
            f"{dropped} as d",
        )

    def _persons(self) -> DataFrame:
        """Each person once per class and value, marked where they are met first in the class."""
        once = self._records().groupBy(*self.keys, "s", "u").agg(self.f.expr("count(1) as rows"))
        met = f"partition by {', '.join(self.keys)}, u order by s"
        return once.selectExpr("*", f"if(row_number() over ({met}) = 1, 1L, 0L) as first")

    def _counted(self) -> DataFrame:
        expr, pairs = self.f.expr, [*self.keys, "s"]
        if self.persons is None:
            counted = self._records().groupBy(*pairs).agg(expr("count(1) as c"))
        else:
            counted = self.persons.groupBy(*pairs).agg(
                expr("count(1) as c"),
                expr("sum(first) as first"),
                expr("sum(rows) as rows"),
                expr("sum(if(u is null, rows, 0L)) as no_unit"),
            )
        # Brought together by class here, the pairs serve both their class and the whole table.
        together = counted.repartition(*self.keys)
        return together.selectExpr("*", f"xxhash64({', '.join(self.keys)}) as hash")

    def tallies(self) -> list[Column]:
        """Size and rows of a class, and the rows without a value or a unit, from its pairs."""
        no_value = f"sum(if(s is null, {self.rows}, 0L))"
        refused = self.sensitive.missing == "error"
        return [
            self.f.expr(f"sum({self.first}) as n"),
            self.f.expr(f"sum({self.rows}) as rows"),
            self.f.expr(f"{no_value if refused else '0L'} as no_value"),
            self.f.expr(f"{'0L' if self.persons is None else 'sum(no_unit)'} as no_unit"),
        ]

    def tallied(self) -> list[Column]:
        """Rows of many classes, as above, and those without a quasi-identifier if it matters."""
        missing = self.qs if self.question.missing == "error" else []
        return [
            *(self.f.expr(f"sum({name}) as {name}") for name in ("rows", "no_value", "no_unit")),
            *(
                self.f.expr(f"sum(if({q} is null, rows, 0L)) as m{i}")
                for i, q in enumerate(missing)
            ),
        ]

    def kept(self, table: DataFrame) -> DataFrame:
        """Leave out the dropped records."""
        return table.where(~self.f.col("d")) if self.drops else table

    def values(self) -> DataFrame:
        """Count each value in the whole table, and rank it where that is asked for."""
        if self.persons is not None:
            return self._described(self._by_person(self.persons))
        counts = self.kept(self.counted).groupBy("s").agg(self.f.expr("sum(c) as t"))
        # Always true; but if nothing needed the counts, the optimiser would drop them here, and
        # shuffle the pairs a second time instead of reading those of the classes.
        return self._described(counts.where("t > 0"))

    def _values_at_once(self) -> DataFrame:
        """Count each value as above, where the classes are not needed."""
        if self.persons is not None:
            return self._described(self._by_person(self.persons))
        records = self.kept(self._records())
        return self._described(records.groupBy("s").agg(self.f.expr("count(1) as t")))

    def _by_person(self, persons: DataFrame) -> DataFrame:
        once = self.kept(persons).select("s", "u").distinct()
        return once.groupBy("s").agg(self.f.expr("count(1) as t"))

    def _described(self, counts: DataFrame) -> DataFrame:
        """Add a value's share, rank and groups; the value itself is called `v` from here on."""
        f, total = self.f, "sum(t) over (partition by 0)"
        columns = [f.expr(text) for text in (f"{total} as t_all", f"t / {total} as share")]
        if self.sensitive.ordered:
            everything = self.projection.window.partitionBy(f.lit(0))
            rank = f.row_number().over(everything.orderBy(*self._places()))
            columns.append((rank - f.lit(1)).alias("r"))
        if self.sensitive.hierarchy is not None:
            columns += self._groups()
        # One partition already, so that the windows need no shuffle of their own.
        return counts.coalesce(1).select(f.expr("s as v"), "t", *columns)

    def _places(self) -> list[Column]:
        """What to sort values by: the missing one last."""
        missing_last = self.f.expr("s is null")
        return [missing_last, self.f.col("s") if self.sensitive.order is None else self._place("s")]

    def _place(self, of: str) -> Any:
        """The place of a value in the caller's order, from 1; 0 where it has none."""
        return place(self.f, self.f.col(of), self.type, self.sensitive.order or ())

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
                raise refusals.no_hierarchy(column)
            with guarded("look values up in the hierarchy"):
                # A missing value that is refused anyway is told as such, later.
                refused = self.sensitive.missing == "error"
                without = "h0 is null and v is not null" if refused else "h0 is null"
                lost = self._values_at_once().where(without).count()
            if lost:
                raise refusals.unknown_values(column, lost, "hierarchy")
        if not self.sensitive.ordered:
            return []
        if self.sensitive.order is not None:
            check_kinds(column, self.sensitive.order, kind_of_cells(self.type))
        elif self.type.typeName() in _NO_ORDER:
            raise refusals.not_ordered(column)
        placed = self._place("v") if self.sensitive.order is not None else self.f.lit(1)
        values = self._values_at_once().select(
            "t", "r", (self.f.col("v").isNotNull() & (placed == 0)).alias("x")
        )
        with guarded("rank the sensitive values"):
            rows = values.orderBy("r").limit(bounds.MAX_ORDERED + 1).collect()
        refusals.check_ordered(column, len(rows))
        unknown = sum(row["x"] for row in rows)
        if unknown:
            raise refusals.unknown_values(column, unknown, "order")
        return [row["t"] for row in rows]

    @property
    def type(self) -> DataType:
        """The type of the sensitive column."""
        position = self.projection.names.index(str(self.sensitive.column))
        return self.projection.fields[position].dataType
