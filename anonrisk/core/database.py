"""What stores have in common: an engine of SQLAlchemy, and errors that quote nobody."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import kind_name
from anonrisk.errors import AnonRiskError, ArgumentError, MissingLibraryError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection, Engine, MetaData

# So long a writer waits for the one before it.
SECONDS_TO_WAIT = 60


def check_installed(who: str) -> None:
    """Raise an error that names what to install where SQLAlchemy is missing."""
    if find_spec("sqlalchemy") is None:
        raise MissingLibraryError(f"{who} needs SQLAlchemy: pip install 'anonrisk[store]'")


def make_engine(url: str | URL, **options: Any) -> Engine:
    """Make an engine whose writers wait for each other."""
    from sqlalchemy import create_engine, make_url

    if make_url(url).get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": SECONDS_TO_WAIT}
    try:
        return create_engine(url, **options)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"this kind of database needs the driver {error.name!r}; install it"
        ) from None


@contextmanager
def withheld(failing: str) -> Iterator[None]:
    """Replace errors of the database by what could not be done."""
    try:
        yield
    except AnonRiskError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote a cell
        why = _reason(error)
        raise StoreError(
            f"{failing} ({type(error).__name__}){why}; the message of the database is withheld "
            "because it may quote a person"
        ) from None


# What SQLite's codes and PostgreSQL's states say, as far as somebody can do something about it.
_SQLITE = {
    5: "another process holds it",
    8: "it is read-only",
    10: "the disk does not answer",
    11: "the file is damaged",
    13: "the disk is full",
    14: "the file cannot be opened",
    18: "it takes at most a billion bytes at once",
    26: "the file is not a database",
}
_POSTGRESQL = {
    "25006": "it is read-only",
    "42501": "the account lacks the right to it",
    "53100": "the disk is full",
}


def _reason(error: Exception) -> str:
    """Return what is wrong by the code of an error, which quotes nobody."""
    cause = getattr(error, "orig", error)
    # The first byte of SQLite's code is the kind, the rest a detail.
    known = _SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
    known = known or _POSTGRESQL.get(str(getattr(cause, "sqlstate", "")))
    return f": {known}" if known else ""


def open_store(url: Any, what: str) -> tuple[Engine, str]:
    """Make an engine for a path or a URL of SQLite or PostgreSQL, of which nothing is opened yet.

    With it comes the name of the place for messages: no user, password or options.
    """
    check_installed(what)
    from sqlalchemy import NullPool, StaticPool, event, make_url

    if isinstance(url, os.PathLike) or (isinstance(url, str) and "://" not in url):
        parsed = make_url("sqlite://").set(database=os.fspath(url))
    elif isinstance(url, str):
        try:
            parsed = make_url(url)
        except Exception:  # noqa: BLE001 - whatever it is, its message quotes the URL
            raise ArgumentError("this is not the URL of a database") from None
    else:
        raise ArgumentError(
            f"the url of {what} is a path, or that of a database, not {kind_name(url)}"
        )
    parsed = _with_driver(parsed, what)
    place = _place(parsed)
    if parsed.get_backend_name() == "sqlite":
        # A database in memory is gone with its connection, which therefore is kept.
        in_memory = parsed.database in {None, "", ":memory:"}
        engine = make_engine(parsed, poolclass=StaticPool if in_memory else NullPool)
        event.listen(engine, "connect", _leave_transactions_to_us)
        event.listen(engine, "begin", _begin)
        return engine, place
    with withheld(f"{place} cannot be used"):
        return make_engine(parsed, poolclass=NullPool), place


def keep_on_disk(engine: Engine) -> None:
    """Let what SQLite has committed stay when the power fails, the folder's entry included.

    And what it has deleted or replaced go: else the bytes stay in the file until they are needed.
    """
    from sqlalchemy import event

    def to_disk(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA secure_delete = ON")

    event.listen(engine, "connect", to_disk)


def has_tables(
    connection: Connection,
    tables: MetaData,
    holds: str,
    what: str,
    error: type[StoreError] = StoreError,
) -> bool:
    """Return whether all tables of a store are there, or none; refuse a part, or another's file."""
    from sqlalchemy import inspect

    present, ours = set(inspect(connection).get_table_names()), set(tables.tables)
    if not present & ours:
        if present and connection.dialect.name == "sqlite":
            raise error(f"{holds} something other than {what}")
        return False
    if ours - present:
        raise error(f"{holds} only a part of {what}")
    return True


def _with_driver(url: URL, what: str) -> URL:
    """Name the driver of a PostgreSQL URL: which one is the default depends on SQLAlchemy."""
    backend, _, driver = url.drivername.partition("+")
    if backend == "sqlite":
        return url
    if backend not in {"postgresql", "postgres"}:
        raise ArgumentError(f"{what} is an SQLite file or a PostgreSQL database")
    drivers = (driver,) if driver else ("psycopg", "psycopg2")
    result = next((name for name in drivers if find_spec(name) is not None), None)
    if result is None:
        raise MissingLibraryError(
            f"PostgreSQL needs the driver {drivers[0]!r}: pip install 'psycopg[binary]'"
        )
    return url.set(drivername=f"postgresql+{result}")


def _place(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"SQLite file {url.database}" if url.database else "SQLite in memory"
    return f"PostgreSQL database {url.database} at {url.host}:{url.port or 5432}"


def _leave_transactions_to_us(connection: Any, _record: object) -> None:
    # Else Python's driver begins them late, and two writers may find out only in the middle.
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


@contextmanager
def writing(engine: Engine, lock: str) -> Iterator[Connection]:
    """Open a transaction that no other writer under this lock can be in at the same time."""
    from sqlalchemy import text

    with _with(engine, writing=True, isolation="READ COMMITTED").begin() as connection:
        if engine.dialect.name == "postgresql":
            # What is read below is what the writer before has left, whatever the server's default.
            number = int.from_bytes(lock.encode(), "big")
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": number})
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that sees one state of the database, whoever writes meanwhile."""
    with _with(engine, writing=False, isolation="REPEATABLE READ").begin() as connection:
        yield connection


def _with(engine: Engine, *, writing: bool, isolation: str) -> Engine:
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level=isolation)
    return engine.execution_options(writing=writing)
