"""Ways to a database: a connection that is open, or what opens one for each question.

Its errors are replaced by ours: theirs may quote the cell that upset them.

SQLAlchemy writes every statement that touches a user's table; who carries it out is told here. What
is asked inside `one_state` sees one state of the database, in a transaction that only reads.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.sql.dialects import DIALECTS, dialect_of
from anonrisk.errors import (
    AnonRiskError,
    EngineError,
    MissingLibraryError,
    UnsupportedFrameError,
    raise_alone,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from contextlib import AbstractContextManager

    from anonrisk.engines.sql.dialects import Dialect


@contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Run some queries; let our own errors through and replace all others."""
    try:
        yield
    except AnonRiskError as error:
        raise_alone(error)
    except Exception as error:  # noqa: BLE001
        # What a cell holds cannot make this so: the package is there, or it is not.
        if "'pytz'" in str(error) and find_spec("pytz") is None:
            raise_alone(
                MissingLibraryError(
                    "DuckDB gives values with a time zone only where pytz is installed: "
                    "pip install pytz"
                )
            )
        raise_alone(
            EngineError(
                f"the database could not {doing} ({type(error).__name__}); its message is "
                "withheld because it may quote a cell. A server keeps it in its log; a database in "
                "this process keeps none: see whether a file is damaged, or the disk is full."
            )
        )


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


def database_of(value: Any) -> Database:
    """Return by which package a connection was opened, or can be."""
    if isinstance(value, sa.Connection):
        return ThroughSqlAlchemy(value)
    if isinstance(value, sa.Engine):
        return ThroughEngine(value)
    if isinstance(value, DuckDBFile):
        return value
    for dialect in DIALECTS.values():
        module, kind = dialect.driver
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(value, getattr(loaded, kind)):
            return ThroughDriver(value, dialect.name)
    raise UnsupportedFrameError(
        f"{type(value).__name__} is not a connection to a database that anonrisk supports: give a "
        "URL, an engine or a connection of SQLAlchemy, a connection of sqlite3, psycopg or DuckDB, "
        "or a session of DataFusion"
    )


def same_place(database: Database, other: Database) -> bool:
    """Return whether a statement can name the tables of both."""
    if isinstance(database, ThroughEngine) and isinstance(other, ThroughEngine):
        urls = [database.engine.url, other.engine.url]
        # What is in memory is another database for each engine.
        kept = all(url.database not in {None, "", ":memory:"} for url in urls)
        return database.key == other.key or (kept and urls[0] == urls[1])
    return database.key == other.key


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
        with dialect_of(self.dialect).plain(driver):
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
        run, dialect = self.connection.exec_driver_sql, dialect_of(self.dialect)
        if dialect.begin_within and not autocommit:
            run(dialect.begin_within)
            yield
        elif dialect.begins_itself or self._begun_already:
            yield
        else:
            run(dialect.begin)
            try:
                yield
            finally:
                run("ROLLBACK")

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


@dataclass(frozen=True)
class ThroughDriver:
    """A connection of a database's own package, which needs no dialect of SQLAlchemy beside it."""

    connection: Any
    dialect: str

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""
        return id(self.connection)

    @property
    def _dialect(self) -> Dialect:
        return dialect_of(self.dialect)

    @contextmanager
    def one_state(self) -> Iterator[Connected]:
        """Begin a transaction and roll it back, unless one is under way."""
        with self._dialect.plain(self.connection):
            if self._dialect.in_transaction(self.connection):
                yield self
            else:
                yield from self._begun()

    def _begun(self) -> Iterator[Connected]:
        begin = self._dialect.begin
        if self._dialect.begin_within and not self.connection.autocommit:
            begin = self._dialect.begin_within
        self.connection.execute(begin)
        try:
            yield self
        finally:
            self.connection.execute("ROLLBACK")

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows."""
        return list(self._run(query).fetchall())

    def batches(self, query: Any, n_rows: int) -> Iterator[list[Any]]:
        """Run a query and read its rows, so many at a time."""
        answer = self._run(query, streams=True)
        try:
            while result := answer.fetchmany(n_rows):
                yield list(result)
        finally:
            if answer is not self.connection:
                answer.close()

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""
        return [str(column[0]) for column in self._run(query).description]

    def _run(self, query: Any, *, streams: bool = False) -> Any:
        writer = self._dialect.writer
        written = query.compile(dialect=writer, compile_kwargs={"render_postcompile": True})
        cursor = self._dialect.cursor(self.connection, streams=streams)
        if written.positiontup is None:
            # Without parameters psycopg reads no %, and SQLAlchemy has doubled them.
            return cursor.execute(str(written), written.params)
        return cursor.execute(str(written), [written.params[name] for name in written.positiontup])


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
