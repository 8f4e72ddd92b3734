"""What a table in a database is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from anonrisk.counts.schema import Schema
from anonrisk.engines.sql import nested
from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name, Qid


class SqlSchema(Schema):
    """What a table in a database is: it carries neither an index nor roles nor marks."""

    @property
    def columns(self) -> Qid:
        """The names of the columns."""
        return tuple(self.frame.names)

    def check(self, roles: Mapping[Name, str]) -> None:
        """Refuse columns by their type or collation when they are counted, not before."""

    def nested(self) -> Sequence[str]:
        """List the paths inside structs, where the database has them."""
        return nested.paths(self.frame)

    def has_rows(self) -> bool:
        """Tell whether there is any row."""
        has_rows: bool = self.frame.has_rows()
        return has_rows

    def is_scale(self, column: Name) -> bool:
        """Tell whether a column holds floats or dates."""
        scale: bool = self.frame.is_scale(column)
        return scale

    def is_whole(self, column: Name) -> NoReturn:
        """Refuse to tell."""
        raise refused(f"the type of {column!r}")

    def is_text(self, column: Name) -> NoReturn:
        """Refuse to tell."""
        raise refused(f"the type of {column!r}")


def refused(asked: str) -> UnsupportedFrameError:
    """Say that a database is not asked for this."""
    return UnsupportedFrameError(
        f"tables in a database are counted and scored, not asked for {asked}: "
        "read the table into pandas or Spark"
    )
