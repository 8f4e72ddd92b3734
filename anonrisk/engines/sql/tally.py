"""The classes of some columns, brought out of a database where they are not too many.

Columns of ours: those of `count`, `x` a number, `b` the number of its bin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from anonrisk.counts import bounds
from anonrisk.counts.domain import DATES, NUMBERS, typed
from anonrisk.engines import limits, refusals
from anonrisk.engines.numpy.tally import tally as tally_of_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.sql.dialects import NANOSECONDS
from anonrisk.engines.sql.numbers import LARGEST, double
from anonrisk.engines.sql.table import kind_of_cells
from anonrisk.errors import UnsupportedColumnError
from anonrisk.recode.edges import named_edges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.tally import Tally
    from anonrisk.engines.sql.table import SqlTable

# Where classes would have to be brought.
OUT = "out of the database"
_KINDS = {
    "whole numbers": "whole",
    "floats": "number",
    "decimals": "number",
    "text": "text",
    "timestamps": "timestamp",
    "dates": "date",
    "booleans": "boolean",
}


def tally(table: SqlTable, columns: Qid, collapsible: Qid = ()) -> Tally:
    """Count the classes of some columns; close values are put together only if there are too many.

    Numbers go to fine bins and dates to months, of columns that may be; what is then still too much
    is refused.
    """
    found = table.kinds(dict.fromkeys(columns, "quasi-identifier"))
    kinds = {name: _KINDS.get(kind_of_cells(kind), "other") for name, kind in found.items()}
    plain = {name: table.cell(name, kind) for name, kind in found.items()}
    _refuse_fine(table, {name: plain[name] for name in columns if found[name] == NANOSECONDS})
    out = {name: _cell(table, plain[name], kinds[name]) for name in columns}
    brought = _brought(table, out)
    collapsed: dict[Name, Any] = {}
    if brought is None and collapsible:
        for name in collapsible:
            closer = _collapsed(table, name, plain[name], found[name], kinds[name])
            if closer is not None:
                collapsed[name] = closer
        brought = _brought(table, out | collapsed)
    if brought is None:
        raise refusals.too_many_classes(bounds.MAX_CLASSES, OUT)
    rows, weights = brought
    made = tally_of_rows(PandasTable(rows), dict.fromkeys(columns, "quasi-identifier"), weights)
    domains = {
        name: replace(typed(domain, kinds[name]), collapsed=name in collapsed)
        for name, domain in made.domains.items()
    }
    return replace(made, domains=domains)


def _refuse_fine(table: SqlTable, instants: Mapping[Name, Any]) -> None:
    """Refuse instants that are no whole microseconds: two of them would become one value."""
    for name, cell in instants.items():
        fine = table.dialect.nanoseconds(cell) % sa.literal_column("1000") != 0
        query = sa.select(sa.func.count()).select_from(table.source).where(fine)
        if int(table.fetch(query, "look at the instants")[0][0]):
            raise UnsupportedColumnError(
                f"quasi-identifier {str(name)!r} holds instants finer than a microsecond, which a "
                "plan does not tell apart; round them first"
            )


def _cell(table: SqlTable, cell: Any, kind: str) -> Any:
    """Give a cell in a form that every driver brings out as it is."""
    if kind == "timestamp":
        return table.dialect.microseconds(cell)
    if kind == "number":
        return double(cell)
    if kind == "other":
        return table.dialect.as_text(cell)
    return cell


def _brought(table: SqlTable, out: Mapping[Name, Any]) -> tuple[pd.DataFrame, Any] | None:
    """Bring out what is different in some cells, with counts; None if too much is."""
    named = (cell.label(f"q{i}") for i, cell in enumerate(out.values()))
    rows = sa.select(*named).select_from(table.source).subquery("r")
    query = sa.select(*rows.c, sa.func.count()).group_by(*rows.c).limit(bounds.MAX_CLASSES + 1)
    found = table.fetch(query, "count the classes")
    if len(found) > bounds.MAX_CLASSES:
        return None
    columns = {i: pd.Series([row[i] for row in found], dtype=object) for i in range(len(out))}
    made = pd.DataFrame(columns, index=range(len(found)))
    made.columns = pd.Index(list(out), tupleize_cols=False)
    return made, np.array([int(row[-1]) for row in found], dtype=np.int64)


def _collapsed(table: SqlTable, name: Name, cell: Any, type_: str, kind: str) -> Any:
    """Give a coarser cell: dates by month, numbers by fine bins; None where there is none."""
    if kind in DATES:
        month = sa.func.date_trunc("month", table.dialect.in_greenwich(cell, type_))
        return sa.cast(month, sa.Date) if kind == "date" else table.dialect.microseconds(month)
    if kind not in NUMBERS:
        return None
    cuts = _cuts(table, name, double(cell))
    whole = kind == "whole"
    edges = named_edges(cuts, low=cuts[0], high=cuts[-1], whole=whole) if cuts else []
    if not edges:
        return None
    # Each bin is known by a number inside it, the outer ones by the ends of the column.
    inside = [cuts[0], *edges[:-1], cuts[-1]]
    shown = [sa.literal(int(x) if whole else float(x)) for x in inside]
    bins: list[Any] = [
        (double(cell) < double(float(edge)), label)
        for edge, label in zip(edges, shown, strict=False)
    ]
    bins.append((cell.is_not(None), shown[-1]))
    return sa.cast(sa.case(*bins), sa.BigInteger() if whole else sa.Double())


def _cuts(table: SqlTable, name: Name, number: Any) -> list[float]:
    """Find the ends of as many parts of the same number of records; nothing where none is known."""
    parts = sa.func.ntile(bounds.FINE_BINS).over(order_by=number)
    rows = sa.select(number.label("x"), parts.label("b")).select_from(table.source)
    of = rows.where(number.is_not(None)).subquery("n")
    infinite = sa.or_(of.c.x > double(LARGEST), of.c.x < double(-LARGEST))
    ends = sa.select(
        sa.func.min(of.c.x), sa.func.max(of.c.x), sa.func.sum(sa.case((infinite, 1), else_=0))
    )
    found = table.fetch(ends.group_by(of.c.b).order_by(of.c.b), "find the quantiles")
    limits.refuse_infinite(sum(int(row[2]) for row in found), name)
    ends_of = {float(row[1]) for row in found} | {float(row[0]) for row in found[:1]}
    return sorted(ends_of)
