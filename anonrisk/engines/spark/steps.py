"""Microaggregation, noise and permutation on Spark."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines import limits, refusals
from anonrisk.engines.microaggregate import MAX_MDAV, means, means_of_several
from anonrisk.engines.spark.clock import instant
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark import recode
from anonrisk.engines.spark.recode import kind_of, replaced, type_of
from anonrisk.engines.spark.tally import tally, values_of
from anonrisk.errors import TooManyClassesError, TooManyRecordsError, UnsupportedColumnError
from anonrisk.measures.counts.tally import DATES, MICROSECONDS, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.change import Noise
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
