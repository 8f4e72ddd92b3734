"""Microaggregation, noise, permutation and suppression on Spark."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines import limits, refusals
from anonrisk.engines.microaggregate import MAX_MDAV, means, means_of_several
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.spark import recode
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, instant, microseconds
from anonrisk.engines.spark.recode import kind_of, replaced, type_of
from anonrisk.engines.spark.rewrite import refusing, with_sizes
from anonrisk.engines.spark.tally import brought, cell, tally, values_of
from anonrisk.errors import (
    ArgumentError,
    TooManyClassesError,
    TooManyRecordsError,
    UnsupportedColumnError,
)
from anonrisk.measures.counts import question
from anonrisk.measures.counts.change import CellSuppression, ChosenCells
from anonrisk.measures.counts.tally import DATES, MICROSECONDS, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.change import Noise
    from anonrisk.measures.counts.question import Question
    from anonrisk.measures.counts.tally import Domain

_METADATA_KEY = "anonrisk_perturbed"


def microaggregate(frame: DataFrame, columns: Qid, k: int) -> DataFrame:
    """Replace numbers by the mean of their group, found on the driver and joined by value."""
    projection = Projection.of(frame)
    if len(columns) == 1:
        counted = values_of(frame, columns[0])
        domain = _by_type(projection, columns[0], counted.domains[columns[0]])
        moved = {columns[0]: means(domain, counted.margin(columns[0])[:-1], k, columns[0])}
        rows = [domain.values.tolist(), *(new.tolist() for new in moved.values())]
    else:
        try:
            counted = tally(frame, columns, limit=MAX_MDAV)
        except TooManyClassesError:
            raise TooManyRecordsError(
                f"more than {MAX_MDAV:,} different records: too many to bring to the driver and "
                "group by MDAV; recode the columns first, or take parts of the table"
            ) from None
        if not counted.n_records:
            return frame
        typed = {n: _by_type(projection, n, domain) for n, domain in counted.domains.items()}
        moved = means_of_several(replace(counted, domains=typed), k)
        old = [counted.domains[n].values[counted.codes[n]].tolist() for n in columns]
        rows = [*old, *(new.tolist() for new in moved.values())]
    lines = list(zip(*rows, strict=True))
    if len({line[: len(columns)] for line in lines}) < len(lines):
        # Joined by those, one record would become two.
        raise UnsupportedColumnError(
            f"{', '.join(map(repr, columns))} hold numbers of more digits than a floating-point "
            "number keeps, which Spark cannot microaggregate; round them first"
        )
    with guarded("microaggregate"):
        return _joined(projection, columns, lines)


def _by_type(projection: Projection, name: Name, domain: Domain) -> Domain:
    """Take numbers for what the column's type says: floats may be whole by chance."""
    if domain.kind == "whole" and kind_of(projection, name) == "number":
        return replace(domain, kind="number", values=domain.values.astype(np.float64))
    return domain


def _joined(projection: Projection, columns: Qid, rows: list[tuple[Any, ...]]) -> DataFrame:
    """Look each record's values up in a small table of old and new ones."""
    f = projection.functions
    keys = [_key(projection, name) for name in columns]
    types = ["double" if kind_of(projection, n) == "number" else "bigint" for n in columns]
    schema = ", ".join(
        [f"old{i} {t}" for i, t in enumerate(types)] + [f"new{i} {t}" for i, t in enumerate(types)]
    )
    cast = [
        [float(x) if t == "double" else int(x) for x, t in zip(row, types * 2, strict=True)]
        for row in rows
    ]
    small = projection.table.sparkSession.createDataFrame(cast, schema)
    keyed = projection.table.select("*", *(k.alias(f"key{i}") for i, k in enumerate(keys)))
    same = reduce(and_, (f.col(f"key{i}") == f.col(f"old{i}") for i in range(len(keys))))
    table = keyed.join(f.broadcast(small), same, "left")
    new = {name: _back(projection, name, f.col(f"new{i}")) for i, name in enumerate(columns)}
    return replaced(projection, table, new)


def _key(projection: Projection, name: Name) -> Any:
    """Return the number by which a cell is known on the driver."""
    f, column, kind = projection.functions, projection.column(name), kind_of(projection, name)
    if kind == "timestamp":
        return instant(projection, name)
    if kind == "date":
        return f.unix_date(column).cast("long")
    return column.cast("double" if kind == "number" else "long")


def _back(projection: Projection, name: Name, number: Column) -> Any:
    """Turn such a number into a cell of the column's type."""
    f, kind = projection.functions, kind_of(projection, name)
    if kind == "date":
        return f.date_from_unix_date(number.cast("int"))
    if kind == "timestamp":
        made = f.timestamp_micros(number.cast("long"))
        if type_of(projection, name).typeName() == "timestamp":
            return made
        # Read in Greenwich, where the number was made, whatever the zone of the session.
        days = f.date_from_unix_date(f.floor(number / f.lit(MICROSECONDS)).cast("int"))
        rest = number - f.unix_date(days).cast("long") * f.lit(MICROSECONDS)
        seconds = f.make_dt_interval(f.lit(0), f.lit(0), f.lit(0), rest / f.lit(1_000_000))
        return days.cast("timestamp_ntz") + seconds
    type_ = type_of(projection, name)
    # As pandas rounds: halves to the even digit.
    rounded = f.bround(number, type_.scale) if type_.typeName() == "decimal" else number
    return rounded.cast(type_)


def perturb(frame: DataFrame, noise: Noise) -> DataFrame:
    """Add noise; whole numbers are rounded, dates move by whole days, the missing stay; lazy."""
    with guarded("add noise"):
        projection = Projection.of(frame)
        new: dict[Name, Any] = {}
        for number, (name, scale) in enumerate(noise.scales.items()):
            kind = kind_of(projection, name)
            if kind not in NUMBERS and kind not in DATES:
                raise refusals.not_noisy(name, kind)
            if kind != "number":
                limits.check_noise(name, noise.law, scale)
            drawn = _drawn(projection, noise.law, scale, noise.seed * 1_000 + number)
            new[name] = _moved(projection, name, drawn)
        return replaced(projection, projection.table, new, {_METADATA_KEY: "perturb"})


def _moved(projection: Projection, name: Name, drawn: Column) -> Any:
    f, kind = projection.functions, kind_of(projection, name)
    column, type_ = projection.column(name), type_of(projection, name)
    ends = recode.bounds(type_)
    if kind == "whole":
        # Exact, and without passing the ends of the type; noise may stand here only once.
        step = f.greatest(f.least(f.round(drawn), f.lit(2e19)), f.lit(-2e19))
        moved = column.cast("decimal(20,0)") + step.cast("decimal(20,0)")
    else:
        moved = column.cast("double") + drawn
    if kind in NUMBERS:
        if ends is not None:
            low, high = (
                f.lit(end).cast("decimal(20,0)" if kind == "whole" else "double") for end in ends
            )
            moved = f.when(column.isNotNull(), f.greatest(f.least(moved, high), low))
        return moved.cast(type_)
    days = f.round(drawn).cast("int")
    if kind == "date":
        return f.date_add(column, days)
    return column + f.make_dt_interval(days, f.lit(0), f.lit(0), f.lit(0))


def _drawn(projection: Projection, law: str, scale: float, seed: int) -> Any:
    f = projection.functions
    if law == "normal":
        return f.randn(seed) * f.lit(scale)
    if law == "uniform":
        return (f.rand(seed) * 2 - 1) * f.lit(scale)
    # The difference of two exponentials; 1 - rand is never zero.
    first, second = -f.log(1 - f.rand(seed)), -f.log(1 - f.rand(seed + 500))
    return (first - second) * f.lit(scale)


def permute(frame: DataFrame, columns: Qid, by: Qid, seed: int) -> DataFrame:
    """Move to each record the cells of the next one in a random order of its group; lazily."""
    with guarded("permute"):
        projection = Projection.of(frame)
        f, window = projection.functions, projection.window
        groups = [projection.column(name) for name in by] or [f.lit(0)]
        positions = [projection.names.index(str(name)) for name in columns]
        table = projection.table.withColumn("random", f.rand(seed))
        of_group = window.partitionBy(*groups)
        in_order = of_group.orderBy("random")
        table = table.select(
            "*",
            f.struct(*(f.col(f"c{p}") for p in positions)).alias("cells"),
        )
        following = f.coalesce(
            f.lead("cells").over(in_order),
            # The last takes those of the first; a struct is never NULL itself.
            f.first("cells").over(in_order),
        )
        table = table.withColumn("taken", following)
        new = {
            name: f.col("taken").getField(f"c{p}")
            for name, p in zip(columns, positions, strict=True)
        }
        return replaced(projection, table, new, {_METADATA_KEY: "permute"})


def perturbed(frame: DataFrame) -> Mapping[Name, str]:
    """Read the marks from column metadata."""
    with guarded("read the schema"):
        fields = frame.schema.fields
    return {x.name: str(x.metadata[_METADATA_KEY]) for x in fields if _METADATA_KEY in x.metadata}


def suppress_records(frame: DataFrame, question: Question, k: int) -> DataFrame:
    """Leave out the records of classes smaller than k; lazy."""
    with guarded("suppress records"):
        projection = Projection.of(frame)
        sized = with_sizes(projection, question)
        return sized.where(projection.functions.col("n") >= k).drop("n").toDF(*projection.names)


def suppress_cells(frame: DataFrame, change: CellSuppression | ChosenCells) -> DataFrame:
    """Suppress cells of small classes."""
    with guarded("suppress cells"):
        if isinstance(change, ChosenCells):
            return _chosen(frame, change)
        return _Marking(frame, change.question, change.k, change.marker).table()


def _chosen(frame: DataFrame, change: ChosenCells) -> DataFrame:
    """Make cells missing that a function chooses by the keys of the table, on the driver."""
    projection, qid = Projection.of(frame), change.question.qid
    cells = {name: cell(projection, name) for name in qid}
    result = brought(projection.table, cells, question.MAX_CLASSES)
    if result is None:
        raise refusals.too_many_classes(question.MAX_CLASSES)
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
