"""Recodings by region as Spark expressions: each record finds its way, nothing is joined."""

from __future__ import annotations

import math
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines import refusals
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, modules
from anonrisk.engines.spark.recode import counted, day, expression, in_bins, kind_of, replaced
from anonrisk.engines.spark.rewrite import refusing
from anonrisk.engines.spark.tally import brought, cell
from anonrisk.measures.counts import question
from anonrisk.measures.counts.tally import PlacedTally, typed
from anonrisk.measures.recode import Keep, Star
from anonrisk.measures.recode.recoding import MARKER
from anonrisk.measures.recode.regions import DateRanges, NumberRanges, Parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.change import UnseenCounts
    from anonrisk.measures.counts.question import ClassesInRegions
    from anonrisk.measures.recode import Recoding
    from anonrisk.measures.recode.regions import ByRegion, Regions

# Of a whole number of Spark, but for its sign.
_BITS = 63


def by_region(frame: DataFrame, regions: Regions, unseen: str) -> DataFrame:
    """Return a table recoded by region; under "top", what is in none has stars. Lazy."""
    with guarded("recode the columns"):
        projection = Projection.of(frame)
        f = projection.functions
        table, lost = _with_regions(projection, regions), f.col("region").isNull()
        if unseen == "suppress":
            table = table.where(~lost)
        elif unseen == "refuse":
            region = refusing(projection, lost, "the plan has no region for it", f.col("region"))
            table = table.withColumn("region", region)
        new = {name: _label(f, *label) for name, label in regions.labels().items()}
        return replaced(projection, table, new)


def classes(frame: DataFrame, asked: ClassesInRegions) -> PlacedTally | None:
    """Count the classes of some regions in one job; None if they are too many for the driver."""
    with guarded("count the regions"):
        projection = Projection.of(frame)
        f, table, region = projection.functions, projection.table, projection.functions.lit(0)
        if asked.regions is not None:
            table, region = _with_regions(projection, asked.regions), f.col("region")
            chosen = np.zeros(len(asked.regions), dtype=np.int64)
            chosen[list(asked.chosen)] = 1
            table = table.where(_whole_numbers(f, chosen.tolist())[region] == 1)
        placed = [_place(projection, name, recoding) for name, recoding in asked.places.items()]
        if not asked.values:
            n_places = [recoding.n_places for recoding in asked.places.values()]
            n_regions = 1 if asked.regions is None else len(asked.regions)
            return _packed(table, [region, *placed], [n_regions, *n_places])
        cells = [region, *placed, *(cell(projection, name) for name in asked.values)]
        result = brought(table, dict(enumerate(cells)), question.MAX_CLASSES)
    if result is None:
        return None
    rows, counts = result
    numbers = [rows[i].to_numpy(dtype=np.int64) for i in range(1 + len(placed))]
    made = PandasTable(rows)
    values = {}
    for i, name in enumerate(asked.values, start=len(numbers)):
        domain, codes = coded_rows(made, i)
        values[name] = typed(domain, kind_of(projection, name)), codes
    return PlacedTally(numbers[0], numbers[1:], counts, values)


def _packed(table: DataFrame, cells: list[Any], sizes: list[int]) -> PlacedTally | None:
    """Bring classes as whole numbers, those of a part of the table in one row.

    A row of Python for each of millions of classes would take a gigabyte. How many there are was
    counted, or follows from the cells that there are.
    """
    f, _ = modules(table)
    # One more of each, for what has no place; as many columns as go into 63 bits.
    keys: list[tuple[Any, list[int]]] = []
    for place, size in zip(cells, sizes, strict=True):
        shifted = (place + 1).cast("long")
        if keys and math.prod(keys[-1][1]) * (size + 1) < 2**_BITS:
            key, packed = keys[-1]
            keys[-1] = key * f.lit(size + 1) + shifted, [*packed, size + 1]
        else:
            keys.append((shifted, [size + 1]))
    names = [f"k{i}" for i in range(len(keys))]
    chosen = table.select(*(key.alias(name) for name, (key, _) in zip(names, keys, strict=True)))
    counted = chosen.groupBy(*names).agg(f.count(f.lit(1)).alias("n"))
    parts = counted.groupBy(f.spark_partition_id().alias("part"))
    rows = collect(parts.agg(*(f.collect_list(name).alias(name) for name in (*names, "n"))))
    columns = {
        name: np.concatenate([np.zeros(0, np.int64), *(np.asarray(row[name]) for row in rows)])
        for name in (*names, "n")
    }
    if len(columns["n"]) > question.MAX_PLACED:
        return None
    places = [
        number.astype(np.int64) - 1
        for name, (_, packed) in zip(names, keys, strict=True)
        for number in np.unravel_index(columns[name], packed)
    ]
    return PlacedTally(places[0], places[1:], columns["n"], {})


def unseen(frame: DataFrame, regions: Regions) -> UnseenCounts:
    """Count the records that are in no region."""
    with guarded("look for records without region"):
        projection = Projection.of(frame)
        lost = projection.functions.col("region").isNull()
        return counted(projection, _with_regions(projection, regions), {None: lost})


def _with_regions(projection: Projection, regions: Regions) -> DataFrame:
    """Add the number of each record's region; NULL where it is in none."""
    f = projection.functions
    places = {
        f"p{i}": _place(projection, name, recoding)
        for i, (name, recoding) in enumerate(regions.columns.items())
    }
    # One after another, so that each is computed once for all columns.
    table = projection.table.select("*", *(place.alias(p) for p, place in places.items()))
    table = table.withColumn("found", _leaf(f, regions, list(places)))
    return table.withColumn("region", _inside(f, regions, list(places)))


def _whole_numbers(f: Any, numbers: Iterable[int]) -> Any:
    """Write many numbers as one constant, of which Spark makes an array before it runs."""
    return f.split(f.lit(",".join(map(str, numbers))), ",").cast("array<int>")


def _leaf(f: Any, regions: Regions, places: list[str]) -> Any:
    """Follow the cuts to a region, which has a negative number."""
    if not len(regions.cuts):
        return f.lit(-1)
    column, place, below, above = (_whole_numbers(f, ways) for ways in regions.cuts.T.tolist())
    at = f.array(*map(f.col, places))

    def further(cut: Column, _: Column) -> Any:
        way = f.when(at[column[cut]] < place[cut], below[cut]).otherwise(above[cut])
        return f.when(cut < 0, cut).otherwise(way)

    return f.aggregate(f.sequence(f.lit(1), f.lit(regions.depth)), f.lit(0), further)


def _inside(f: Any, regions: Regions, places: list[str]) -> Any:
    """Return the region if it has the place of every column, else NULL."""
    region = -f.col("found") - 1
    inside = []
    for i, place in enumerate(places):
        first, last = (_whole_numbers(f, ends) for ends in regions.boxes[:, i].T.tolist())
        inside.append(f.col(place).between(first[region], last[region]))
    return f.when(reduce(and_, inside), region)


def _label(f: Any, source: Any, labels: list[str]) -> Any:
    region = f.col("region")
    number = _whole_numbers(f, source.tolist())[region]
    named = f.when(number >= 0, f.array(*map(f.lit, labels or [MARKER]))[number])
    return f.when(region.isNull(), f.lit(MARKER)).otherwise(named)


def _place(projection: Projection, name: Name, recoding: ByRegion) -> Any:
    """Return the place of each cell, -1 where it has none."""
    f, column = projection.functions, projection.column(name)
    refusals.check_kind(kind_of(projection, name), recoding, name)
    if isinstance(recoding, NumberRanges):
        if isinstance(recoding, DateRanges):
            column = f.unix_date(day(projection, name))
        bins = range(len(recoding.edges) + 1)
        placed = in_bins(projection, column, recoding.edges, bins) if recoding.edges else f.lit(0)
        return f.when(column.isNull(), f.lit(recoding.missing)).otherwise(placed)
    assert isinstance(recoding, Parts)  # noqa: S101
    parts = [
        _part(projection, name, recoding.places(level), step)
        for level, step in enumerate(recoding.levels)
    ]
    known = f.coalesce(*parts, f.lit(-1))
    return f.when(column.isNull(), f.lit(recoding.missing)).otherwise(known)


def _part(projection: Projection, name: Name, places: dict[str, int], step: Recoding) -> Any:
    """Look up the part of one step; NULL where no region has it."""
    f = projection.functions
    if isinstance(step, Star) or not places:
        return f.lit(next(iter(places.values()), None)).cast("int")
    keep = isinstance(step, Keep)
    label = projection.column(name).cast("string") if keep else expression(projection, name, step)
    return f.create_map(*(f.lit(word) for pair in places.items() for word in pair))[label]
