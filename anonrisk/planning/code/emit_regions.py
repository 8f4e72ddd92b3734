"""A plan by region as code: each record finds its way along the cuts, then cells get labels."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.errors import PlanError
from anonrisk.measures.recode import Bins, Keep, Level, Star, TopBottom
from anonrisk.measures.recode.labels import EPOCH, MARKER, of_number
from anonrisk.measures.recode.regions import DateRanges, NumberRanges, Parts
from anonrisk.planning.code.emit import SqlWriter, checked_function, checked_select

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.measures.recode import Recoding
    from anonrisk.measures.recode.regions import ByRegion, Regions
    from anonrisk.planning.code.emit import CodedPlan

# Measured: 6,189 regions and 40,000 records take SQLite and DuckDB 3 seconds of a processor.
MAX_REGIONS = 5_000
_REGION = "anonrisk_region"
_NO_REGION = "anonrisk: the plan has no region for a record"


def sql_code(plan: CodedPlan, regions: Regions, dialect: str, table: str, on_unseen: str) -> str:
    """Write a plan by region as one SELECT over a table of the same columns."""
    _check_size(regions)
    write = SqlWriter(dialect, on_unseen)
    if dialect == "spark":
        added, new = _by_arrays(regions, write)
        sources = [table, *(f"anonrisk_step_{i}" for i in range(len(added)))]
        steps = ", ".join(map(_step, sources[1:], sources, added))
        source = sources[-1]
    else:
        steps, new = _by_joins(regions, write, table)
        source = "anonrisk_found"
    carried, lost, size = _lost(write)
    return checked_select(
        plan, write, new, source, steps=steps, carried=carried, lost=lost, size_of_lost=size
    )


def pyspark_code(plan: CodedPlan, regions: Regions, on_unseen: str) -> str:
    """Write a plan by region as a function of PySpark."""
    _check_size(regions)
    write = SqlWriter("spark", on_unseen)
    steps, new = _by_arrays(regions, write)
    carried, lost, size = _lost(write)
    return checked_function(plan, new, steps=steps, carried=carried, lost=lost, size_of_lost=size)


def _check_size(regions: Regions) -> None:
    if len(regions) > MAX_REGIONS:
        raise PlanError(
            f"a plan of {len(regions):,} regions is more than is written as one query, which "
            f"is {MAX_REGIONS:,}: store it with to_json() and use anonrisk.apply, or make a plan "
            "with method='full-domain'"
        )


def _lost(write: SqlWriter) -> tuple[tuple[str, ...], str, str]:
    """Return which column tells the records of no region, how, and what size they have then."""
    if write.on_unseen == "top":
        return (), "", "0"
    size = "0" if write.on_unseen == "suppress" else write.error(_NO_REGION, _REGION)
    return (_REGION,), f"{_REGION} < 0", size


def _step(name: str, source: str, added: Mapping[str, str]) -> str:
    cells = ",\n  ".join(f"{cell} AS {column}" for column, cell in added.items())
    return f"{name} AS (\nSELECT *,\n  {cells}\nFROM {source}\n)"


def _places(regions: Regions, write: SqlWriter) -> dict[str, str]:
    return {
        f"anonrisk_place_{i}": _place(write, write.name(str(name)), recoding)
        for i, (name, recoding) in enumerate(regions.columns.items())
    }


def _cuts(regions: Regions) -> list[list[int]]:
    """Return the cuts; where there is none, one of which both sides are the only region."""
    cuts: list[list[int]] = regions.cuts.tolist()
    return cuts or [[0, 0, -1, -1]]


def _by_joins(regions: Regions, write: SqlWriter, table: str) -> tuple[str, dict[str, str]]:
    """Write the way of each combination of places along the cuts, and the new cells at its end.

    Nested cases would need no joins, but SQLite's parser takes fewer than 19 inside each other.
    """
    places = _places(regions, write)
    new, labels, summary = {}, [], []
    for i, (name, (source, texts)) in enumerate(regions.labels().items()):
        labels.append(f"anonrisk_label_{i}")
        summary.append([write.text(texts[n]) if n >= 0 else "NULL" for n in source.tolist()])
        new[str(name)] = _starred(write, write.as_text(labels[-1]))
    numbers = [range(len(regions)), *regions.boxes.reshape(len(regions), -1).T.tolist()]
    ends = [f"anonrisk_{end}_{i}" for i in range(len(places)) for end in ("first", "last")]
    names, carried = ", ".join(places), "".join(f", {label}" for label in labels)
    at = " ".join(f"WHEN {i} THEN {place}" for i, place in enumerate(places))
    same = " AND ".join(f"p.{place} = w.{place}" for place in places)
    inside = " AND ".join(
        f"w.{place} BETWEEN {first} AND {last}"
        for place, first, last in zip(places, ends[::2], ends[1::2], strict=True)
    )
    cuts = _cuts(regions)
    steps = f"""RECURSIVE {_step("anonrisk_placed", table, places)}, anonrisk_cuts (
  anonrisk_cut, anonrisk_axis, anonrisk_place, anonrisk_below, anonrisk_above
) AS (
{_values([range(len(cuts)), *zip(*cuts, strict=True)])}
), anonrisk_regions (
  {", ".join(["anonrisk_number", *ends, *labels])}
) AS (
{_values([*numbers, *summary])}
), anonrisk_way ({names}, anonrisk_at) AS (
SELECT DISTINCT {names}, 0
FROM anonrisk_placed
UNION ALL
SELECT {names}, CASE
  WHEN CASE anonrisk_axis {at} END < anonrisk_place THEN anonrisk_below ELSE anonrisk_above
END
FROM anonrisk_way JOIN anonrisk_cuts ON anonrisk_cut = anonrisk_at
), anonrisk_found AS (
SELECT p.*{carried}, COALESCE(anonrisk_number, -1) AS {_REGION}
FROM anonrisk_placed p
JOIN anonrisk_way w ON {same} AND anonrisk_at < 0
LEFT JOIN anonrisk_regions ON anonrisk_number = -1 - anonrisk_at AND {inside}
)"""  # noqa: S608
    return steps, new


def _values(columns: Iterable[Iterable[object]]) -> str:
    rows = (", ".join(map(str, row)) for row in zip(*columns, strict=True))
    return "VALUES " + ",\n  ".join(f"({row})" for row in rows)


def _starred(write: SqlWriter, label: str) -> str:
    return f"CASE WHEN {_REGION} < 0 THEN {write.text(MARKER)} ELSE {label} END"


def _by_arrays(regions: Regions, write: SqlWriter) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Write what Spark adds to the table, step by step, to find the region; and the new cells.

    Not all of its versions know recursive queries.
    """
    places = _places(regions, write)
    axis, place, below, above = map(_numbers, zip(*_cuts(regions), strict=True))
    way = (
        f"aggregate(sequence(1, {max(regions.depth, 1)}), 0, (cut, i) -> "
        f"CASE WHEN cut < 0 THEN cut WHEN array({', '.join(places)})[{axis}[cut]] < {place}[cut] "
        f"THEN {below}[cut] ELSE {above}[cut] END)"
    )
    number = "(-1 - anonrisk_at)"
    inside = " AND ".join(
        f"{place} BETWEEN {_numbers(first)}[{number}] AND {_numbers(last)}[{number}]"
        for place, (first, last) in zip(
            places, regions.boxes.transpose(1, 2, 0).tolist(), strict=True
        )
    )
    region = f"CASE WHEN {inside} THEN {number} ELSE -1 END"
    new = {}
    for name, (label, texts) in regions.labels().items():
        # The label after the last is a missing one.
        of_region = f"{_numbers(np.where(label < 0, len(texts), label).tolist())}[{_REGION}]"
        text = ", ".join([*map(write.text, texts), write.as_text("NULL")])
        new[str(name)] = _starred(write, f"array({text})[{of_region}]")
    return [places, {"anonrisk_at": way}, {_REGION: region}], new


def _numbers(numbers: Iterable[int]) -> str:
    """Write many numbers as one constant, of which Spark makes an array before it runs."""
    return f"CAST(split('{','.join(map(str, numbers))}', ',') AS ARRAY<INT>)"


def _place(write: SqlWriter, column: str, recoding: ByRegion) -> str:
    """Write the place of a cell, -1 where it has none."""
    if isinstance(recoding, NumberRanges):
        bins = list(map(str, range(len(recoding.edges) + 1)))
        missing = str(recoding.missing)
        if not isinstance(recoding, DateRanges):
            edges = list(map(of_number, recoding.edges))
            return write.between(column, edges, bins, missing, write.or_nan(column))
        days = [dt.date.fromordinal(int(edge) + EPOCH).isoformat() for edge in recoding.edges]
        # SQLite keeps dates as text.
        lite = write.dialect == "sqlite"
        edges = [f"'{day}'" if lite else f"DATE '{day}'" for day in days]
        return write.between(f"DATE({column})" if lite else column, edges, bins, missing)
    assert isinstance(recoding, Parts)  # noqa: S101
    parts = [
        _part(write, column, recoding.places(level), step)
        for level, step in enumerate(recoding.levels)
    ]
    known = ", ".join([part for part in parts if part] + ["-1"])
    nan = write.or_nan(column) if any(isinstance(step, Bins) for step in recoding.levels) else ""
    return f"CASE WHEN {column} IS NULL{nan} THEN {recoding.missing} ELSE COALESCE({known}) END"


def _part(write: SqlWriter, column: str, places: Mapping[str, int], step: Recoding) -> str:
    """Write the part of one step; NULL where no region has it, nothing where none has any."""
    if not places:
        return ""
    if isinstance(step, Star):
        return str(*places.values())
    fields, cell = dict(places), write.as_text(column)
    if isinstance(step, Level):
        fields = {
            leaf: places[source] for leaf, source in step.mapping().items() if source in places
        }
    elif not isinstance(step, Keep):
        cell = write.cell(column, step)
        cell = write.as_text(cell) if isinstance(step, TopBottom) else cell
    values: dict[int, list[str]] = {}
    for value, place in fields.items():
        values.setdefault(place, []).append(write.text(value))
    cases = (
        f"WHEN {cell} IN ({', '.join(source)}) THEN {place}" for place, source in values.items()
    )
    return f"CASE {' '.join(cases)} END"
