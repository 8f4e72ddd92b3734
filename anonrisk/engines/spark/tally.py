"""The classes of some columns, brought to the driver where they are not too many."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.counts import bounds
from anonrisk.counts.domain import DATES, NUMBERS, typed
from anonrisk.engines import limits, refusals
from anonrisk.engines.numpy.tally import tally as tally_of_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.spark.guard import guarded
from anonrisk.engines.spark.project import Projection
from anonrisk.engines.spark.recode import day, in_bins, kind_of, type_of
from anonrisk.errors import ArgumentError, TooManyClassesError, TooManyValuesError
from anonrisk.recode import Bins
from anonrisk.recode.edges import bins_at, named_edges
from anonrisk.recode.edges import quantile_bins as bins_of_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.tally import Tally


def tally(frame: DataFrame, columns: Qid, collapsible: Qid = (), limit: int = 0) -> Tally:
    """Count the classes of some columns; close values are put together only if there are too many.

    Numbers go to fine bins and dates to months, of columns that may be; what is then still too much
    is refused.
    """
    limit = limit or bounds.MAX_CLASSES
    projection = Projection.of(frame)
    with guarded("count the classes"):
        cells = {name: cell(projection, name) for name in columns}
        found = brought(projection.table, projection.functions, cells, limit)
    collapsed: dict[Name, Column] = {}
    if found is None and collapsible:
        with guarded("count the classes"):
            collapsed = _collapsed(projection, collapsible)
            cells |= collapsed
            found = brought(projection.table, projection.functions, cells, limit)
    if found is None:
        raise refusals.too_many_classes(limit)
    return _made(projection, *found, collapsed)


def tallies(frame: DataFrame, sets: Sequence[Qid]) -> list[Tally]:
    """Count the classes of several sets of columns in one job: each record once for every set."""
    projection = Projection.of(frame)
    f = projection.functions
    names = {name: f"q{i}" for i, name in enumerate(dict.fromkeys(chain.from_iterable(sets)))}
    most = bounds.MAX_CLASSES
    with guarded("count the classes"):
        each = f.explode(f.array(*(f.lit(s) for s in range(len(sets))))).alias("s")
        cells = (cell(projection, name).alias(q) for name, q in names.items())
        repeated = projection.table.select(*cells).select(each, "*")
        inside = {q: [s for s, one in enumerate(sets) if name in one] for name, q in names.items()}
        kept = (f.when(f.col("s").isin(inside[q]), f.col(q)).alias(q) for q in inside)
        classes = repeated.select("s", *kept).groupBy("s", *inside).agg(_n(f))
        rows = classes.limit(most * len(sets) + 1).collect()
    found: list[list[Row]] = [[] for _ in sets]
    for row in rows:
        found[row["s"]].append(row)
    if any(len(of_set) > most for of_set in found):
        raise refusals.too_many_classes(most)
    return [
        _made(projection, *_read(of_set, {name: names[name] for name in one}), {})
        for one, of_set in zip(sets, found, strict=True)
    ]


def _made(
    projection: Projection, rows: pd.DataFrame, weights: Any, collapsed: Mapping[Name, Column]
) -> Tally:
    roles: dict[Name, str] = dict.fromkeys(rows.columns, "quasi-identifier")
    made = tally_of_rows(PandasTable(rows), roles, weights)
    domains = {
        name: replace(typed(domain, kind_of(projection, name)), collapsed=name in collapsed)
        for name, domain in made.domains.items()
    }
    return replace(made, domains=domains)


def cell(projection: Projection, name: Name) -> Any:
    """Give a cell in a form that comes to the driver as it is, whatever its zone."""
    f, column = projection.functions, projection.column(name)
    kind = kind_of(projection, name)
    if kind == "timestamp":
        return instant(projection, name)
    if kind == "other":
        return (
            f.hex(column)
            if type_of(projection, name).typeName() == "binary"
            else column.cast("string")
        )
    return column.cast("double") if type_of(projection, name).typeName() == "decimal" else column


def instant(projection: Projection, name: Name) -> Any:
    """Give microseconds since 1970 in Greenwich, or by the wall clock where there is no zone."""
    f, column = projection.functions, projection.column(name)
    if type_of(projection, name).typeName() == "timestamp":
        return f.unix_micros(column)
    whole = f.unix_date(column.cast("date")).cast("long") * f.lit(86_400_000_000)
    clock = f.hour(column) * 3600 + f.minute(column) * 60
    return (
        whole
        + clock.cast("long") * f.lit(1_000_000)
        + (f.date_format(column, "ssSSSSSS").cast("long"))
    )


def brought(
    table: DataFrame, f: Any, cells: Mapping[Any, Any], limit: int
) -> tuple[pd.DataFrame, Any] | None:
    """Bring what is different in some cells to the driver, with counts; None if too much is."""
    names = [f"q{i}" for i in range(len(cells))]
    chosen = table.select(*(c.alias(q) for c, q in zip(cells.values(), names, strict=True)))
    rows = chosen.groupBy(*names).agg(_n(f)).limit(limit + 1).collect()
    if len(rows) > limit:
        return None
    return _read(rows, dict(zip(cells, names, strict=True)))


def _n(f: Any) -> Any:
    return f.count(f.lit(1)).alias("n")


def _read(rows: Sequence[Row], names: Mapping[Any, str]) -> tuple[pd.DataFrame, Any]:
    """Make a table of some columns of rows, and give their counts."""
    made = {name: pd.Series([row[q] for row in rows], dtype=object) for name, q in names.items()}
    table_of = pd.DataFrame(made, index=range(len(rows)))
    table_of.columns = pd.Index(list(names), tupleize_cols=False)
    return table_of, np.array([row["n"] for row in rows], dtype=np.int64)


def _collapsed(projection: Projection, names: Qid) -> dict[Name, Any]:
    f = projection.functions
    numbers = [name for name in names if kind_of(projection, name) in NUMBERS]
    collapsed: dict[Name, Any] = {}
    for name in names:
        if kind_of(projection, name) in DATES:
            month = f.trunc(day(projection, name), "month")
            date = kind_of(projection, name) == "date"
            collapsed[name] = (
                month if date else (f.unix_date(month).cast("long") * f.lit(86_400_000_000))
            )
    for name, cuts in zip(numbers, _cuts(projection, numbers, bounds.FINE_BINS), strict=True):
        if cuts is None:
            continue
        whole = kind_of(projection, name) == "whole"
        edges = named_edges(cuts, low=cuts[0], high=cuts[-1], whole=whole)
        if edges:
            # Each bin is known by a number inside it, the outer ones by the ends of the column.
            inside = [cuts[0], *edges[:-1], cuts[-1]]
            shown = [int(x) for x in inside] if whole else inside
            collapsed[name] = in_bins(projection, projection.column(name), edges, shown)
    return collapsed


def _cuts(projection: Projection, names: list[Name], n_bins: int) -> list[list[float] | None]:
    """Find quantiles, about, of some columns in one job."""
    f = projection.functions
    if not names:
        return []
    shares = f.array(*(f.lit(i / n_bins) for i in range(n_bins + 1)))
    found = [
        f.percentile_approx(projection.column(name).cast("double"), shares, f.lit(10_000)).alias(
            f"p{i}"
        )
        for i, name in enumerate(names)
    ]
    infinite = [
        f.count_if(f.abs(projection.column(name).cast("double")) == f.lit(float("inf"))).alias(
            f"i{i}"
        )
        for i, name in enumerate(names)
    ]
    row = projection.table.agg(*found, *infinite).collect()[0]
    for i, name in enumerate(names):
        limits.refuse_infinite(row[f"i{i}"], name)
    return [None if cuts is None else [float(cut) for cut in cuts] for cuts in row[: len(names)]]


def values_of(frame: DataFrame, name: Name) -> Tally:
    """Count the different values of one column, if they are not too many."""
    try:
        return tally(frame, (name,), limit=bounds.MAX_ORDERED)
    except TooManyClassesError:
        raise TooManyValuesError(
            f"column {name!r} has more than {bounds.MAX_ORDERED:,} different values, too many to "
            "bring to the driver; round or bin them first"
        ) from None


def quantile_bins(frame: DataFrame, name: Name, n_bins: int) -> Bins:
    """Cut a column of numbers into bins of about the same number of records.

    Above 100,000 different values the quantiles are approximate, to one record in 10,000.
    """
    projection = Projection.of(frame)
    refusals.check_kind(kind_of(projection, name), Bins((0.0,)), name)
    try:
        margin = values_of(frame, name)
    except TooManyValuesError:
        with guarded("find the quantiles"):
            (cuts,) = _cuts(projection, [name], n_bins)
        assert cuts is not None  # noqa: S101
        whole = kind_of(projection, name) == "whole"
        return bins_at(cuts[1:-1], cuts[0], cuts[-1], whole=whole)
    domain = margin.domains[name]
    if not len(domain):
        raise ArgumentError(f"column {name!r} has no known value to cut at")
    limits.check_finite(domain.values, margin.margin(name)[:-1], name)
    return bins_of_counts(
        domain.values, margin.margin(name)[:-1], n_bins, whole=domain.kind == "whole"
    )
