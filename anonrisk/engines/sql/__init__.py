"""Tables in a database, through SQLAlchemy: what `anonrisk.gx` needs to measure SQL batches.

SQLite, DuckDB and PostgreSQL group cells by the rules of `engines.base`, once NaN is made NULL;
columns and collations for which that is not so are refused. Only histograms and worst scores
leave the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from anonrisk.engines.sql import count, nested, score
from anonrisk.engines.sql.table import SqlTable
from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.counts.class_sizes import ClassCounts
    from anonrisk.counts.question import Question, Score, Scored, Sensitive

__all__ = ["SqlEngine", "SqlTable"]


class SqlEngine:
    """Counts and scores tables in a database; everything else is refused."""

    name = "sql"

    def columns(self, table: SqlTable) -> Sequence[Name]:
        """List the names of the columns."""
        return list(table.names)

    def index(self, _: SqlTable) -> Sequence[Name]:
        """Nothing is published beside the columns."""
        return []

    def check(self, table: SqlTable, roles: Mapping[Name, str]) -> None:
        """Refuse columns by their type or collation when they are counted, not before."""

    def count(self, table: SqlTable, question: Question) -> list[ClassCounts]:
        """Count the classes of each quasi-identifier."""
        return count.class_sizes(table, question)

    def is_scale(self, table: SqlTable, column: Name) -> bool:
        """Tell whether a column holds floats or dates."""
        return table.is_scale(column)

    def scores(
        self, table: SqlTable, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class by its sensitive values, and give the worst."""
        return score.scores(table, question, sensitive, scores)

    def read_roles(self, _: SqlTable) -> None:
        """Tables in a database carry no roles."""

    def nested(self, table: SqlTable) -> Sequence[str]:
        """List the paths inside structs, where the database has them."""
        return nested.paths(table)

    def row_labels(self, _: SqlTable) -> None:
        """Rows have no labels."""

    def with_labels(self, table: SqlTable, _: str) -> SqlTable:
        """There are none to bring back."""
        return table

    def has_rows(self, table: SqlTable) -> bool:
        """Tell whether there is any row."""
        return table.has_rows()

    def perturbed(self, _: SqlTable) -> dict[Name, str]:
        """Nothing tells of columns that were changed at random."""
        return {}

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what a database is not asked for."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedFrameError(
            f"tables in a database are counted and scored, not asked for {name!r}: "
            "read the table into pandas or Spark"
        )
