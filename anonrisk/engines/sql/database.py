"""Ways to a database: a connection of SQLAlchemy, or one of DuckDB's own package.

SQLAlchemy writes every statement that touches a user's table; who carries it out is told here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anonrisk.errors import UnsupportedFrameError


class Database(Protocol):
    """What a statement is sent to."""

    @property
    def dialect(self) -> str:
        """Name of the kind of database."""

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows, which are few."""

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""


def database_of(connection: Any) -> Database:
    """Tell by which package a connection was opened."""
    if isinstance(connection, sa.Connection):
        return ThroughSqlAlchemy(connection)
    duckdb = sys.modules.get("duckdb")
    if duckdb is not None and isinstance(connection, duckdb.DuckDBPyConnection):
        return ThroughDuckDB(connection)
    raise UnsupportedFrameError(
        f"{type(connection).__name__} is no connection to a database that anonrisk asks: give one "
        "of SQLAlchemy or of DuckDB"
    )


@dataclass(frozen=True)
class ThroughSqlAlchemy:
    """A database that SQLAlchemy has a connection to."""

    connection: sa.Connection

    @property
    def dialect(self) -> str:
        """Name of the kind of database."""
        return str(self.connection.dialect.name)

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows."""
        return list(self.connection.execute(query))

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""
        return [str(name) for name in self.connection.execute(query).keys()]  # noqa: SIM118


# DuckDB reads what is written for PostgreSQL.
_FOR_DUCKDB = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class ThroughDuckDB:
    """DuckDB by its own package, which needs no dialect of SQLAlchemy beside it."""

    connection: Any
    dialect: str = "duckdb"

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows."""
        return list(self._run(query).fetchall())

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""
        return [str(column[0]) for column in self._run(query).description]

    def _run(self, query: Any) -> Any:
        written = query.compile(dialect=_FOR_DUCKDB, compile_kwargs={"render_postcompile": True})
        return self.connection.execute(
            str(written), [written.params[name] for name in written.positiontup or ()]
        )
