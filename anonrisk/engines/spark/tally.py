"""The classes of some columns, brought to the driver where they are not too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines import limits, refusals
from anonrisk.engines.pushed import tally as pushed_tally
from anonrisk.engines.pushed.rows import Made
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, instant
from anonrisk.engines.spark.recode import day, in_bins, kind_of, type_of
from anonrisk.engines.spark.rows import SparkTable
from anonrisk.errors import ArgumentError, TooManyClassesError, TooManyValuesError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.tally import DATES, NUMBERS
from anonrisk.measures.recode import Bins
from anonrisk.measures.recode.edges import bins_at
from anonrisk.measures.recode.edges import quantile_bins as bins_of_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.pushed.rows import Rows
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.tally import Tally


def tally(
    frame: DataFrame,
    columns: Qid,
    collapsible: Qid = (),
    limit: int = 0,
    *,
    by_place: bool = False,
) -> Tally:
    """Count the classes of some columns; close values are put together if there are too many."""
    table = _TalliedFrame(frame)
    return pushed_tally.tally(table, columns, collapsible, limit, by_place=by_place)


def tallies(frame: DataFrame, sets: Sequence[Qid]) -> list[Tally]:
    """Count the classes of several sets of columns in one job: each record once for every set."""
    return pushed_tally.tallies(_TalliedFrame(frame), sets)


def values_and_sizes(frame: DataFrame, columns: Qid, qid: Qid) -> tuple[list[Tally], ClassCounts]:
    """Count each column, and the sizes of the classes of some of them, in one job."""
    return pushed_tally.values_and_sizes(_TalliedFrame(frame), columns, qid)


class _TalliedFrame(SparkTable):
    """A Spark table as `engines.pushed.tally` asks it."""

    place = "to the driver"

    def kinds_of_values(self, columns: Qid) -> dict[Name, str]:
        projection = Projection.of(self.frame)
        return {name: kind_of(projection, name) for name in columns}

    def plain_cells(self, columns: Qid, coarser: Mapping[Name, Any]) -> Rows:
        with guarded("count the classes"):
            projection = Projection.of(self.frame)
            cells = {name: cell(projection, name) for name in columns} | dict(coarser)
            return selected(projection.table, cells)

    def coarser_cells(self, columns: Qid) -> dict[Name, Any]:
        with guarded("count the classes"):
            return _collapsed(Projection.of(self.frame), columns)


def selected(table: DataFrame, cells: Mapping[Any, Any]) -> Rows:
    """Return cells as `q0`, `q1`, …."""
    named = {f"q{i}": cell for i, cell in enumerate(cells.values())}
    return Made(tuple(named), table.select(*(cell.alias(q) for q, cell in named.items())))


def brought(table: DataFrame, cells: Mapping[Any, Any], limit: int) -> tuple[Any, Any] | None:
    """Bring what is different in some cells to the driver, with counts; None if too much is."""
    names = {name: f"q{i}" for i, name in enumerate(cells)}
    return pushed_tally.fetch_classes(_TalliedFrame(table), selected(table, cells), names, limit)


def cell(projection: Projection, name: Name) -> Any:
    """Return a cell in a form that comes to the driver as it is, whatever its zone."""
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
    return column


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
    for name, cuts in zip(numbers, _cuts(projection, numbers, question.FINE_BINS), strict=True):
        whole = kind_of(projection, name) == "whole"
        edges, inside = pushed_tally.fine_bins(cuts, whole=whole)
        if edges:
            collapsed[name] = in_bins(projection, projection.column(name), edges, inside)
    return collapsed


def _cuts(projection: Projection, names: list[Name], n_bins: int) -> list[list[float] | None]:
    """Find quantiles, about, of some columns in one job."""
    f = projection.functions
    if not names:
        return []
    shares = f.array(*(f.lit(i / n_bins) for i in range(n_bins + 1)))
    results = [
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
    row = collect(projection.table.agg(*results, *infinite))[0]
    for i, name in enumerate(names):
        limits.refuse_infinite(row[f"i{i}"], name)
    return [None if cuts is None else [float(cut) for cut in cuts] for cuts in row[: len(names)]]


def values_of(frame: DataFrame, name: Name) -> Tally:
    """Count the different values of one column, if they are not too many."""
    try:
        return tally(frame, (name,), limit=question.MAX_ORDERED)
    except TooManyClassesError:
        raise TooManyValuesError(
            f"column {name!r} has more than {question.MAX_ORDERED:,} different values, too many to "
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
