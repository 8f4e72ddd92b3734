"""The classes of some columns with their values, fetched where they are not too many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from anonrisk.engines import refusals
from anonrisk.engines.numpy.tally import tally as tally_of_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.measures.counts import question
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.tally import typed
from anonrisk.measures.recode.edges import named_edges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.pushed.rows import Row, Rows
    from anonrisk.measures.counts.tally import Tally

    Counts = NDArray[np.int64]


class TalliedTable(Protocol):
    """A table whose values can be fetched."""

    @property
    def place(self) -> str:
        """Where values would have to be brought, as a message says it."""

    def fetch_rows(self, rows: Rows, doing: str, most: int | None = None) -> list[Row]:
        """Run the steps, and fetch the first so many rows."""

    def kinds_of_values(self, columns: Qid) -> dict[Name, str]:
        """Return the kind of each column, in the words of `counts.domain`."""

    def coarser_cells(self, columns: Qid) -> dict[Name, Any]:
        """Return cells with close values put together: dates by month, numbers by fine bins."""

    def plain_cells(self, columns: Qid, coarser: Mapping[Name, Any]) -> Rows:
        """Return the columns as `q0`, `q1`, … in a form that arrives as it is, some coarser."""


def tally(
    table: TalliedTable,
    columns: Qid,
    collapsible: Qid = (),
    limit: int = 0,
    *,
    by_place: bool = False,
) -> Tally:
    """Count the classes of some columns; close values are put together only if there are too many.

    Numbers go to fine bins and dates to months, of columns that may be; what is then still too much
    is refused.
    """
    limit = limit or question.MAX_CLASSES
    kinds = table.kinds_of_values(columns)
    names = {name: f"q{i}" for i, name in enumerate(columns)}
    coarser: dict[Name, Any] = {}
    rows = table.plain_cells(columns, {}).group(*names.values(), n="count(1)")
    fetched = table.fetch_rows(rows, "count the classes", limit + 1)
    classes = _as_table(fetched, names) if len(fetched) <= limit else None
    if by_place:
        # If every second of so many classes has another value, all of them would be too many.
        collapsible = tuple(
            name
            for name in collapsible
            if 2 * len({row[names[name]] for row in fetched}) > len(fetched)
        )
    if classes is None and collapsible:
        coarser = table.coarser_cells(collapsible)
        classes = fetch_classes(table, table.plain_cells(columns, coarser), names, limit)
    if classes is None:
        raise refusals.too_many_classes(limit, table.place)
    return _tally_of(*classes, kinds, coarser)


def tallies(table: TalliedTable, sets: Sequence[Qid]) -> list[Tally]:
    """Count the classes of several sets of columns in one statement."""
    columns = tuple(dict.fromkeys(name for item in sets for name in item))
    kinds, most = table.kinds_of_values(columns), question.MAX_CLASSES
    names = {name: f"q{i}" for i, name in enumerate(columns)}
    # A grouping by two equal sets would count every record twice.
    numbers = {key: w for w, key in enumerate(dict.fromkeys(map(frozenset, sets)))}
    of_sets = [[names[name] for name in columns if name in key] for key in numbers]
    classes = table.plain_cells(columns, {}).group_sets(of_sets, name="w", n="count(1)")
    fetched = table.fetch_rows(classes, "count the classes", most * len(of_sets) + 1)
    by_set: list[list[Row]] = [[] for _ in of_sets]
    for row in fetched:
        by_set[int(row["w"])].append(row)
    if any(len(classes_of_set) > most for classes_of_set in by_set):
        raise refusals.too_many_classes(most, table.place)
    tables = [
        _as_table(by_set[numbers[frozenset(item)]], {name: names[name] for name in item})
        for item in sets
    ]
    return [_tally_of(*classes_of_set, kinds, {}) for classes_of_set in tables]


def values_and_sizes(
    table: TalliedTable, columns: Qid, qid: Qid
) -> tuple[list[Tally], ClassCounts]:
    """Count each column, and the sizes of the classes of some of them, in one statement."""
    kinds, most = table.kinds_of_values(columns), question.MAX_CLASSES
    names = {name: f"q{i}" for i, name in enumerate(columns)}
    sets = [[names[name] for name in qid], *([q] for q in names.values())]
    counted = table.plain_cells(columns, {}).group_sets(sets, name="w", n="count(1)")
    # Of the classes nothing is kept but their size.
    known = {q: f"case when w > 0 then {q} end" for q in names.values()}
    size, m = "case when w = 0 then n else 0 end", "case when w = 0 then 1 else n end"
    rows = counted.select("w", **known, size=size, m=m)
    rows = rows.group("w", *names.values(), "size", n="sum(m)")
    limit = (most + 1) * len(columns) + question.MAX_SIZES
    fetched = table.fetch_rows(rows, "count the values of each column", limit)
    by_set: list[list[Row]] = [[] for _ in sets]
    for row in fetched:
        by_set[int(row["w"])].append(row)
    sizes, *values = by_set
    if any(len(of_column) > most for of_column in values):
        raise refusals.too_many_classes(most, table.place)
    sizes.sort(key=lambda row: int(row["size"]))
    made = ClassCounts(
        [int(row["size"]) for row in sizes], [int(row["n"]) for row in sizes], qid=qid
    )
    tables = (
        _as_table(rows, {name: names[name]}) for name, rows in zip(columns, values, strict=True)
    )
    return [_tally_of(*of_column, kinds, {}) for of_column in tables], made


def fetch_classes(
    table: TalliedTable, rows: Rows, names: Mapping[Any, str], limit: int
) -> tuple[pd.DataFrame, Counts] | None:
    """Fetch what is different in some columns, with counts; None if too much is."""
    classes = rows.group(*names.values(), n="count(1)")
    fetched = table.fetch_rows(classes, "count the classes", limit + 1)
    return None if len(fetched) > limit else _as_table(fetched, names)


def fine_bins(cuts: Sequence[float] | None, *, whole: bool) -> tuple[list[float], list[Any]]:
    """Return edges at the ends of fine parts of a column, and a number to know each bin by.

    That is one inside of the bin, of the outer ones an end of the column; nothing where all numbers
    are in one bin.
    """
    edges = named_edges(cuts, low=cuts[0], high=cuts[-1], whole=whole) if cuts else []
    if not cuts or not edges:
        return [], []
    inside = [cuts[0], *edges[:-1], cuts[-1]]
    return list(edges), [int(x) if whole else float(x) for x in inside]


def _as_table(rows: Sequence[Row], names: Mapping[Any, str]) -> tuple[pd.DataFrame, Counts]:
    columns = {i: [row[q] for row in rows] for i, q in enumerate(names.values())}
    made = pd.DataFrame(columns, index=range(len(rows)), dtype=object)
    made.columns = pd.Index(list(names), tupleize_cols=False)
    return made, np.array([int(row["n"]) for row in rows], dtype=np.int64)


def _tally_of(
    rows: pd.DataFrame, counts: Counts, kinds: Mapping[Name, str], coarser: Mapping[Name, Any]
) -> Tally:
    roles: dict[Name, str] = dict.fromkeys(rows.columns, "quasi-identifier")
    made = tally_of_rows(PandasTable(rows), roles, counts)
    domains = {
        name: replace(typed(domain, kinds[name]), collapsed=name in coarser)
        for name, domain in made.domains.items()
    }
    return replace(made, domains=domains)
