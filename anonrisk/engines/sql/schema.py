"""What a table in a database is, and its cells as numbers and as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.engines.sql.database import ThroughDriver, guarded
from anonrisk.engines.sql.table import kind_of_cells
from anonrisk.measures.counts.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.sql.table import SqlTable

# What is above is infinite.
LARGEST = sys.float_info.max


def double(number: Any) -> Any:
    """Make a number a float; quotients and sums of those are floats in every database."""
    return sa.cast(sa.literal(number) if isinstance(number, float) else number, sa.Double())


def as_number(table: SqlTable, cell: Any, kind: str) -> Any:
    """Return a cell as a number, days or microseconds since 1970; None where it is neither."""
    held = kind_of_cells(kind)
    if held in {"whole numbers", "floats", "decimals"}:
        return sa.cast(cell, sa.Double())
    if held == "dates":
        return sa.cast(days(cell), sa.Double())
    if held == "timestamps":
        return sa.cast(table.dialect.microseconds(cell), sa.Double())
    return None


def days(cell: Any) -> Any:
    """Return the days from 1970 to a date; SQLite has none."""
    return cell.op("-")(sa.literal_column("DATE '1970-01-01'"))


def largest_whole(table: SqlTable, column: Name) -> float | None:
    """Return the largest magnitude of floats that are all whole; None if one is not."""
    kind = table.kinds({column: "column"})[column]
    number = double(table.cell(column, kind))
    size = sa.func.abs(number)
    has_fraction = sa.or_(number != sa.func.round(number), size > LARGEST)
    asked = [sa.func.max(size), sa.func.sum(sa.case((has_fraction, 1), else_=0))]
    query = sa.select(*asked).select_from(table.source)
    ((largest, n_fractions),) = table.fetch(query, "look for fractions")
    return None if n_fractions else float(largest or 0)


def by_letters(table: SqlTable, text: Any) -> Any:
    """Sort texts by the numbers of their letters, as Python does."""
    return sa.collate(text, table.dialect.letters) if table.dialect.letters else text


def let_look(table: SqlTable) -> None:
    """See to it that the database has the functions that cells are looked at with."""
    with table.reading() as under_way, guarded("be given functions"):

        def connection() -> Any:
            ours: Any = under_way.connected
            through = isinstance(ours, ThroughDriver)
            return ours.connection if through else ours.connection.connection.dbapi_connection

        table.dialect.prepare(connection)


def matches(table: SqlTable, cell: Any, pattern: str) -> Any:
    """Return whether the whole of a text matches an expression; a line break is no character."""
    pattern = pattern.replace(".*", r"[^\n]*")
    return table.dialect.matches(sa.cast(cell, sa.Text), pattern)


def contains(table: SqlTable, cell: Any, pattern: str) -> Any:
    """Return whether a part of a text matches an expression."""
    return table.dialect.contains(sa.cast(cell, sa.Text), pattern)


class SqlSchema(Schema):
    """What a table in a database is: it has no index and no marks, and we keep its roles."""

    @property
    def columns(self) -> Qid:
        """The names of the columns."""
        return tuple(self.frame.names)

    @property
    def roles(self) -> Roles | None:
        """The roles that were declared for the table."""
        return self.frame.roles or None

    def check(self, roles: Mapping[Name, str]) -> None:
        """Reject columns by their type or collation when they are counted, not before."""

    def nested(self) -> Sequence[str]:
        """List the paths inside structs, where the database has them."""
        paths: list[str] = self.frame.dialect.paths(self.frame)
        return paths

    def has_rows(self) -> bool:
        """Return whether there is any row."""
        has_rows: bool = self.frame.has_rows()
        return has_rows

    def scale_of(self, column: Name) -> str | None:
        """Look at the type; in SQLite at those that the cells have."""
        held = self._holds(column)
        return {"floats": "floats", "dates": "dates", "timestamps": "dates"}.get(held)

    def largest_whole(self, column: Name) -> float | None:
        """Look at all values, in one statement."""
        return largest_whole(self.frame, column)

    def is_whole(self, column: Name) -> bool:
        """Return whether a column holds whole numbers."""
        return self._holds(column) == "whole numbers"

    def is_text(self, column: Name) -> bool:
        """Return whether a column holds text, or nothing."""
        return self._holds(column) == "text"

    def _holds(self, column: Name) -> str:
        held: str = self.frame.holds(column)
        return held
