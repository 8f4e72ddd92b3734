"""Suppression on Spark: records, or cells, of classes smaller than k."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.recode import kind_of, replaced, type_of
from anonrisk.engines.spark.rewrite import refusing, with_sizes
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name
    from anonrisk.counts.question import Question


def records(frame: DataFrame, question: Question, k: int) -> DataFrame:
    """Leave out the records of classes smaller than k; lazy."""
    with guarded("suppress records"):
        projection = Projection.of(frame)
        sized = with_sizes(projection, question)
        return sized.where(projection.functions.col("n") >= k).drop("n").toDF(*projection.names)


def cells(frame: DataFrame, question: Question, k: int, marker: str | float | None) -> DataFrame:
    """Mark cells of small classes, from the last column on, until no class is smaller than k."""
    with guarded("suppress cells"):
        return _Marking(frame, question, k, marker).table()


class _Marking:
    """The columns of a quasi-identifier as `q0`, `q1`, … while cells of theirs are marked."""

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
            raise ArgumentError(f"column {name!r} is no column of numbers: mark it by a text")
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
        left = classes.where(f.col("n") < self.k).limit(1).collect()
        if not left:
            return None
        order = [f.col(q).cast("string").asc_nulls_first() for q in self.qs]
        others = classes.where(f.col("n") >= self.k).orderBy("n", *order).limit(1).collect()
        if not others:
            refusals.check_k(self.k, left[0]["n"])
        return reduce(and_, (f.col(q).eqNullSafe(f.lit(others[0][q])) for q in self.qs))
