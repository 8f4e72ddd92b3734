"""Suppression on Spark: records, or cells, of classes smaller than k."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.spark.clock import microseconds
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.jobs import collect
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.recode import kind_of, replaced, type_of
from anonrisk.engines.spark.rewrite import refusing, with_sizes
from anonrisk.engines.spark.tally import brought, cell
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts import bounds
from anonrisk.measures.counts.change import CellSuppression, ChosenCells

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.question import Question


def records(frame: DataFrame, question: Question, k: int) -> DataFrame:
    """Leave out the records of classes smaller than k; lazy."""
    with guarded("suppress records"):
        projection = Projection.of(frame)
        sized = with_sizes(projection, question)
        return sized.where(projection.functions.col("n") >= k).drop("n").toDF(*projection.names)


def cells(frame: DataFrame, change: CellSuppression | ChosenCells) -> DataFrame:
    """Suppress cells of small classes."""
    with guarded("suppress cells"):
        if isinstance(change, ChosenCells):
            return _chosen(frame, change)
        return _Marking(frame, change.question, change.k, change.marker).table()


def _chosen(frame: DataFrame, change: ChosenCells) -> DataFrame:
    """Make cells missing that a function chooses by the keys of the table, on the driver."""
    projection, qid = Projection.of(frame), change.question.qid
    cells = {name: cell(projection, name) for name in qid}
    result = brought(projection.table, cells, bounds.MAX_CLASSES)
    if result is None:
        raise refusals.too_many_classes(bounds.MAX_CLASSES)
    rows, counts = result
    if not len(rows):
        return frame
    chosen = change.choose([_codes(rows, name) for name in qid], counts)
    return _without(projection, cells, rows, chosen) if chosen.any() else frame


def _codes(rows: pd.DataFrame, name: Name) -> Codes:
    domain, codes = coded_rows(PandasTable(rows), name)
    return Codes(codes, len(domain) + 1, int((codes == len(domain)).sum()))


def _without(
    projection: Projection, cells: dict[Name, Any], rows: pd.DataFrame, chosen: Any
) -> DataFrame:
    """Look each record up in a small table of the keys that lose cells, and of which."""
    f, changed = projection.functions, chosen.any(axis=1)
    places = range(len(cells))
    keyed = projection.table.select("*", *(c.alias(f"q{i}") for i, c in enumerate(cells.values())))
    lines = [
        [*key, *(bool(lost) for lost in lost_by_key)]
        for key, lost_by_key in zip(
            rows[changed].itertuples(index=False, name=None), chosen[changed], strict=True
        )
    ]
    schema = keyed.select(*(f.col(f"q{i}").alias(f"old{i}") for i in places)).schema
    for i in places:
        schema = schema.add(f"lost{i}", "boolean")
    small = keyed.sparkSession.createDataFrame(lines, schema)
    same = reduce(and_, (f.col(f"q{i}").eqNullSafe(f.col(f"old{i}")) for i in places))
    new = {
        # A record that is in none of them has NULL there, and keeps its cell.
        name: f.when(f.col(f"lost{i}"), f.lit(None)).otherwise(projection.column(name))
        for i, name in enumerate(cells)
        if chosen[:, i].any()
    }
    return replaced(projection, keyed.join(f.broadcast(small), same, "left"), new)


class _Marking:
    """Marks cells from the last column on, until no class is smaller than k.

    The columns of a quasi-identifier are called `q0`, `q1`, … meanwhile.
    """

    def __init__(
        self, frame: DataFrame, question: Question, k: int, marker: str | float | None
    ) -> None:
        self.projection = Projection.of(frame)
        self.f = self.projection.functions
        self.question, self.k = question, k
        self.qs = [f"q{i}" for i in range(len(question.qid))]
        self.markers = [self._marker(name, marker) for name in question.qid]
        self.text = isinstance(marker, str)

    def _marker(self, name: Name, marker: str | float | None) -> Any:
        kind = kind_of(self.projection, name)
        if isinstance(marker, str):
            if kind in ("number", "timestamp", "other"):
                raise refusals.not_markable(name)
            return self.f.lit(marker)
        if marker is not None and kind not in ("whole", "number"):
            raise ArgumentError(f"column {name!r} is not a column of numbers: mark it with a text")
        return self.f.lit(marker).cast(type_of(self.projection, name))

    def table(self) -> DataFrame:
        f = self.f
        table = self.projection.table.select(
            "*",
            *(
                self._cell(name).alias(q)
                for name, q in zip(self.question.qid, self.qs, strict=True)
            ),
        )
        if self.question.unit is not None:
            unit = self.projection.column(self.question.unit)
            message = f"unit {self.question.unit!r} is missing"
            table = table.withColumn("u", refusing(self.projection, unit.isNull(), message, unit))
        for i in reversed(range(len(self.qs))):
            small = self._size() < self.k
            table = table.withColumn("small", small)
            marked = f.when(f.col("small"), self.markers[i]).otherwise(f.col(self.qs[i]))
            table = table.withColumn(self.qs[i], marked).drop("small")
        joining = self._joining(table)
        new = {
            name: f.when(joining, marker).otherwise(f.col(q)) if joining is not None else f.col(q)
            for name, q, marker in zip(self.question.qid, self.qs, self.markers, strict=True)
        }
        return replaced(self.projection, table, new)

    def _cell(self, name: Name) -> Any:
        column = self.projection.column(name)
        return column.cast("string") if self.text else column

    def _size(self) -> Any:
        f, of_class = self.f, self.projection.window.partitionBy(*self.qs)
        if self.question.unit is None:
            return f.count(f.lit(1)).over(of_class)
        return f.max(f.dense_rank().over(of_class.orderBy("u"))).over(of_class)

    def _joining(self, table: DataFrame) -> Any:
        """Select the class that joins those left over, if any are left over."""
        f = self.f
        members = f.count(f.lit(1)) if self.question.unit is None else f.countDistinct("u")
        classes = table.groupBy(*self.qs).agg(members.alias("n"))
        left = collect(classes.where(f.col("n") < self.k).limit(1))
        if not left:
            return None
        texts = [self._written(q) for q in self.qs]
        order = [text.asc_nulls_first() for text in texts]
        others = classes.where(f.col("n") >= self.k).orderBy("n", *order).limit(1)
        chosen = collect(others.select(*texts))
        if not chosen:
            refusals.check_k(self.k, left[0]["n"])
        pairs = zip(texts, chosen[0], strict=True)
        return reduce(and_, (text.eqNullSafe(f.lit(value)) for text, value in pairs))

    def _written(self, q: str) -> Any:
        """Write a cell as a text: an instant of Python's would be read by other clocks."""
        f, name = self.f, self.question.qid[self.qs.index(q)]
        kind = "string" if self.text else type_of(self.projection, name).typeName()
        if kind in ("timestamp", "timestamp_ntz"):
            return microseconds(f, f.col(q), kind).cast("string")
        if kind == "binary":
            return f.hex(q)
        # The texts of two zeros differ.
        zero = kind in ("float", "double")
        text = f.col(q).cast("string")
        return f.when(f.col(q) == 0, f.lit("0")).otherwise(text) if zero else text
