"""Ways to a database: a connection that is open, or what opens one for each question.

SQLAlchemy writes every statement that touches a user's table; who carries it out is told here. What
is asked inside `one_state` sees one state of the database, in a transaction that only reads.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from contextlib import AbstractContextManager

# How a transaction begins that sees one state and only reads.
_BEGIN = {
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "duckdb": "BEGIN TRANSACTION",
    "sqlite": "BEGIN",
}
# The same where the driver has sent a BEGIN of its own before the first statement.
_SET = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Connected(Protocol):
    """What a statement is sent to."""

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows, which are few."""

    def batches(self, query: Any, n_rows: int) -> Iterator[list[Any]]:
        """Run a query and read its rows, so many at a time."""

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""


class Database(Protocol):
    """Where a table is."""

    @property
    def dialect(self) -> str:
        """Name of the kind of database."""

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""

    def one_state(self) -> AbstractContextManager[Connected]:
        """Let all that is asked inside see one state; a transaction of the caller's stays."""


def database_of(given: Any) -> Database:
    """Tell by which package a connection was opened, or can be."""
    if isinstance(given, sa.Connection):
        return ThroughSqlAlchemy(given)
    if isinstance(given, sa.Engine):
        return ThroughEngine(given)
    if isinstance(given, DuckDBFile):
        return given
    for module, kind, dialect, through in _DRIVERS:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(given, getattr(loaded, kind)):
            driven: Database = through(given, dialect)
            return driven
    raise UnsupportedFrameError(
        f"{type(given).__name__} is no connection to a database that anonrisk asks: give a URL, an "
        "engine or a connection of SQLAlchemy, or a connection of sqlite3, psycopg or DuckDB"
    )


def same_place(one: Database, other: Database) -> bool:
    """Tell whether a statement can name the tables of both."""
    if isinstance(one, ThroughEngine) and isinstance(other, ThroughEngine):
        urls = [one.engine.url, other.engine.url]
        # What is in memory is another database for each engine.
        kept = all(url.database not in {None, "", ":memory:"} for url in urls)
        return one.key == other.key or (kept and urls[0] == urls[1])
    return one.key == other.key


@dataclass(frozen=True)
class ThroughSqlAlchemy:
    """A database that SQLAlchemy has a connection to."""

    connection: sa.Connection

    @property
    def dialect(self) -> str:
        """Name of the kind of database."""
        return str(self.connection.dialect.name)

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""
        return id(self.connection)

    @contextmanager
    def one_state(self) -> Iterator[Connected]:
        """Begin a transaction and roll it back, unless one is under way."""
        connection = self.connection
        driver: Any = connection.connection.dbapi_connection
        if connection.in_transaction() or self._begun_already:
            yield self
            return
        ours = connection.begin()
        try:
            with self._begun(autocommit=getattr(driver, "autocommit", None) is True):
                yield self
        finally:
            ours.rollback()

    @property
    def _begun_already(self) -> bool:
        """Whether the driver is in a transaction, as it is where an event of an engine began it."""
        return getattr(self.connection.connection.dbapi_connection, "in_transaction", False) is True

    @contextmanager
    def _begun(self, *, autocommit: bool) -> Iterator[None]:
        run = self.connection.exec_driver_sql
        if self.dialect == "postgresql" and not autocommit:
            run(_SET)
            yield
        elif self.dialect == "postgresql" or (self.dialect == "sqlite" and not self._begun_already):
            # The driver of SQLite begins nothing for a query.
            run(_BEGIN[self.dialect])
            try:
                yield
            finally:
                run("ROLLBACK")
        else:
            yield

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows."""
        return list(self.connection.execute(query))

    def batches(self, query: Any, n_rows: int) -> Iterator[list[Any]]:
        """Run a query and read its rows, so many at a time."""
        streamed = {"stream_results": True, "yield_per": n_rows}
        for part in self.connection.execute(query, execution_options=streamed).partitions():
            yield list(part)

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""
        return [str(name) for name in self.connection.execute(query).keys()]  # noqa: SIM118


@dataclass(frozen=True)
class ThroughEngine:
    """A database that SQLAlchemy opens a connection to for each question."""

    engine: sa.Engine

    @property
    def dialect(self) -> str:
        """Name of the kind of database."""
        return str(self.engine.dialect.name)

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""
        return id(self.engine)

    @contextmanager
    def one_state(self) -> Iterator[Connected]:
        """Open a connection, and close it afterwards."""
        with (
            self.engine.connect() as connection,
            ThroughSqlAlchemy(connection).one_state() as connected,
        ):
            yield connected


def _writer(dialect: Any, **options: Any) -> Any:
    return dialect(**options)


# DuckDB reads what is written for PostgreSQL.
WRITERS = {
    "duckdb": _writer(postgresql.dialect, paramstyle="numeric_dollar"),
    "postgresql": _writer(postgresql.dialect, paramstyle="pyformat"),
    "sqlite": _writer(sqlite.dialect, paramstyle="qmark"),
}


@dataclass(frozen=True)
class ThroughDriver:
    """A connection of a database's own package, which needs no dialect of SQLAlchemy beside it."""

    connection: Any
    dialect: str

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""
        return id(self.connection)

    @contextmanager
    def one_state(self) -> Iterator[Connected]:
        """Begin a transaction and roll it back, unless one is under way."""
        with self._texts():
            if self._in_transaction():
                yield self
            else:
                yield from self._begun()

    @contextmanager
    def _texts(self) -> Iterator[None]:
        """Let SQLite give texts as texts, whatever the caller wants of this connection."""
        if self.dialect != "sqlite":
            yield
            return
        wanted, self.connection.text_factory = self.connection.text_factory, str
        try:
            yield
        finally:
            self.connection.text_factory = wanted

    def _begun(self) -> Iterator[Connected]:
        begin = _BEGIN[self.dialect]
        if self.dialect == "postgresql" and not self.connection.autocommit:
            begin = _SET
        self.connection.execute(begin)
        try:
            yield self
        finally:
            self.connection.execute("ROLLBACK")

    def _in_transaction(self) -> bool:
        if self.dialect == "sqlite":
            return bool(self.connection.in_transaction)
        if self.dialect == "postgresql":
            return bool(self.connection.info.transaction_status)
        # DuckDB does not tell, and a BEGIN too many would end the caller's transaction; outside of
        # one, every statement has a number of its own.
        numbers = {self.connection.execute("SELECT txid_current()").fetchone() for _ in range(2)}
        return len(numbers) == 1

    def with_expressions(self) -> None:
        """Let SQLite match regular expressions, as a connection of SQLAlchemy does."""
        try:
            self.connection.execute("SELECT 'a' REGEXP 'a'")
        except Exception:  # noqa: BLE001 - whatever it says, it cannot
            self.connection.create_function("regexp", 2, _searched, deterministic=True)

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows."""
        return list(self._run(query).fetchall())

    def batches(self, query: Any, n_rows: int) -> Iterator[list[Any]]:
        """Run a query and read its rows, so many at a time."""
        # A plain cursor of PostgreSQL brings all rows over at once.
        name = f"anonrisk_{token_hex(8)}" if self.dialect == "postgresql" else None
        answer = self._run(query, name)
        try:
            while found := answer.fetchmany(n_rows):
                yield list(found)
        finally:
            if name is not None:
                answer.close()

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""
        return [str(column[0]) for column in self._run(query).description]

    def _run(self, query: Any, cursor_name: str | None = None) -> Any:
        written = query.compile(
            dialect=WRITERS[self.dialect], compile_kwargs={"render_postcompile": True}
        )
        cursor = self._cursor(cursor_name)
        if written.positiontup is None:
            # Without parameters psycopg reads no %, and SQLAlchemy has doubled them.
            return cursor.execute(str(written), written.params)
        return cursor.execute(str(written), [written.params[name] for name in written.positiontup])

    def _cursor(self, name: str | None = None) -> Any:
        """Give what runs a statement, whatever the caller wants rows to be."""
        if self.dialect == "duckdb":
            # A cursor of DuckDB is a connection of its own, with transactions of its own.
            return self.connection
        cursor = self.connection.cursor(*filter(None, [name]))
        cursor.row_factory = None if self.dialect == "sqlite" else _tuples()
        return cursor


def _tuples() -> Any:
    from psycopg.rows import tuple_row

    return tuple_row


def _searched(pattern: str, text: str | None) -> bool | None:
    return None if text is None else re.search(pattern, text) is not None


# Module, class of connections, dialect, and what asks them.
_DRIVERS = (
    ("duckdb", "DuckDBPyConnection", "duckdb", ThroughDriver),
    ("sqlite3", "Connection", "sqlite", ThroughDriver),
    ("psycopg", "Connection", "postgresql", ThroughDriver),
)


@dataclass(frozen=True)
class DuckDBFile:
    """A file of DuckDB, opened by its own package for each question, and only to read."""

    path: str
    dialect: str = field(default="duckdb", repr=False)

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""
        return "duckdb", self.path

    @contextmanager
    def one_state(self) -> Iterator[Connected]:
        """Open a connection, and close it afterwards."""
        import duckdb

        with (
            duckdb.connect(self.path, read_only=True) as connection,
            ThroughDriver(connection, self.dialect).one_state() as connected,
        ):
            yield connected
