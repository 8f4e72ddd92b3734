"""A table in a database: of which types its columns are, and how many rows miss what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.engines.sql import equality
from anonrisk.engines.sql.equality import kind_of_cells
from anonrisk.engines.sql.source import DIALECTS, SqlSource
from anonrisk.errors import EmptyTableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name

__all__ = ["DIALECTS", "Look", "SqlTable", "any_missing", "kind_of_cells", "look"]


class SqlTable(SqlSource):
    """What can be selected from in a database, with the types of its columns."""

    def cell(self, name: Name, kind: str) -> Any:
        """Give a column such that missing is NULL and equal cells are equal."""
        return equality.cell(self, name, kind)

    def kinds(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Find the type of each column; refuse those whose equality is not anonrisk's."""
        return equality.kinds(self, roles)

    def holds(self, name: Name, role: str = "column") -> str:
        """Say what a column holds, in the words of `equality`."""
        return kind_of_cells(self.kinds({name: role})[name])


@dataclass(frozen=True)
class Look:
    """What one scan says of the rows: how many, and how many miss what."""

    n_rows: int
    n_incomplete: int
    n_missing: dict[Name, int]


def look(table: SqlTable, cells: Mapping[Name, Any], needed: Sequence[Name]) -> Look:
    """Count the rows, those that miss one of the `needed` columns, and the gaps of each column."""

    def count_where(condition: Any) -> Any:
        return sa.func.sum(sa.case((condition, 1), else_=0))

    missing = [count_where(cell.is_(None)) for cell in cells.values()]
    incomplete = count_where(any_missing(cells[name] for name in needed))
    query = sa.select(sa.func.count(), incomplete, *missing).select_from(table.source)
    rows = table.fetch(query, "count the rows")
    if not rows or not rows[0][0]:
        raise EmptyTableError("the table has no records; there is nothing to measure")
    n_rows, n_incomplete, *n_missing = map(int, rows[0])
    return Look(n_rows, n_incomplete, dict(zip(cells, n_missing, strict=True)))


def any_missing(cells: Iterable[Any]) -> Any:
    """Tell whether one of the cells is missing."""
    return sa.or_(sa.false(), *(cell.is_(None) for cell in cells))
