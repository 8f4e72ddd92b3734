"""What a table in a database is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.counts.schema import Schema
from anonrisk.engines.sql import nested
from anonrisk.engines.sql.cells import largest_whole
from anonrisk.errors import UnsupportedFrameError

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
        """Refuse columns by their type or collation when they are counted, not before."""

    def nested(self) -> Sequence[str]:
        """List the paths inside structs, where the database has them."""
        return nested.paths(self.frame)

    def has_rows(self) -> bool:
        """Tell whether there is any row."""
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
        """Tell whether a column holds whole numbers."""
        return self._holds(column) == "whole numbers"

    def is_text(self, column: Name) -> bool:
        """Tell whether a column holds text, or nothing."""
        return self._holds(column) == "text"

    def _holds(self, column: Name) -> str:
        held: str = self.frame.holds(column)
        return held


# Words that change a table, or follow persons through it.
_CHANGES = "gives a table with other cells, and nothing of ours is written to a database"
_VISITS = "compares the records of each person with those of all others, one by one"
_READ = "read the table into pandas or Spark"
_REFUSED = {
    "apply": (_CHANGES, f"run the query that plan.to_sql() writes, or {_READ}"),
    **dict.fromkeys(("generalize", "microaggregate"), (_CHANGES, _READ)),
    **dict.fromkeys(("perturb", "permute", "pseudonymize"), (_CHANGES, _READ)),
    **dict.fromkeys(("trajectory", "linkability"), (_VISITS, _READ)),
}


def refuse_word(word: str) -> None:
    """Refuse a word that no database is asked for, before any statement is sent."""
    if word in _REFUSED:
        why, instead = _REFUSED[word]
        raise UnsupportedFrameError(f"{word!r} is not asked of a database: it {why}; {instead}")


def refused(asked: str) -> UnsupportedFrameError:
    """Say that a database is not asked for this."""
    return UnsupportedFrameError(
        f"tables in a database are counted and scored, not asked for {asked}: {_READ}"
    )
