"""What a table in a database is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.engines.sql.cells import largest_whole
from anonrisk.measures.counts.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid


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
