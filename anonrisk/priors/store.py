"""The database behind a repository: SQLite or PostgreSQL, through SQLAlchemy.

Nothing is ever changed or deleted: a submission is a new row. Connections are opened for one
transaction and closed after it, so that processes may share a repository.
"""

from __future__ import annotations

import contextlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.database import check_installed, make_engine, withheld
from anonrisk.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import URL, Connection, Engine, MetaData

VERSION = 1
SUBMISSIONS, ABOUT = "anonrisk_priors", "anonrisk_priors_about"
# Any number will do, as long as nobody else locks the same: "priors" as a number.
_LOCK = 0x7072696F7273


class PriorStore:
    """Rows of submissions in a database.

    Parameters
    ----------
    url : str or path
        A URL of SQLAlchemy, or the path of an SQLite file.
    floor : int
        The least number of records to publish about, kept where the database is new.
    """

    def __init__(self, url: Any, floor: int) -> None:
        """Connect; make the tables in a new database, check the version of an old one."""
        self._engine, self.place = _engine(url)
        with self._withheld():
            about = self._about()
            if about is None:
                about = self._make(floor)
        if about.get("version") != str(VERSION):
            raise StoreError(
                f"{self.place} holds version {about.get('version', 'unknown')} of the tables, "
                f"this library reads version {VERSION}"
            )
        self.floor = int(about["floor"])

    def add(self, row: Mapping[str, Any]) -> int:
        """Store one submission; give its number."""
        table = _tables().tables[SUBMISSIONS]
        values = dict(row) | {"qid": json.dumps(row["qid"], ensure_ascii=False)}
        with self._withheld(), self._writing() as connection:
            done = connection.execute(table.insert().values(**values))
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give every submission, in the order they came."""
        table = _tables().tables[SUBMISSIONS]
        with self._withheld(), self._engine.connect() as connection:
            found = connection.execute(table.select().order_by(table.c.number)).mappings().all()
        for row in found:
            yield dict(row) | {"qid": _names(row["qid"])}

    def _withheld(self) -> contextlib.AbstractContextManager[None]:
        return withheld(f"{self.place} cannot be used")

    def _about(self) -> dict[str, str] | None:
        """What the database says about its own tables; None if it has none."""
        from sqlalchemy import inspect

        with self._engine.connect() as connection:
            present = set(inspect(connection).get_table_names())
            if ABOUT not in present:
                if SUBMISSIONS in present:
                    return {}
                return None
            table = _tables().tables[ABOUT]
            return {row.name: row.value for row in connection.execute(table.select())}

    def _make(self, floor: int) -> dict[str, str]:
        tables = _tables()
        about = {"version": str(VERSION), "floor": str(floor)}
        with self._writing() as connection:
            # Somebody else may have made them between our look and our lock.
            tables.create_all(connection)
            table = tables.tables[ABOUT]
            if not connection.execute(table.select()).first():
                rows = [{"name": name, "value": value} for name, value in about.items()]
                connection.execute(table.insert(), rows)
        found = self._about()
        return found or {}

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Open a transaction that no other writer can be in at the same time."""
        from sqlalchemy import text

        with self._engine.execution_options(writing=True).begin() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection


def _engine(url: Any) -> tuple[Engine, str]:
    """Make an engine, and the name of the place for messages: no user, password or options."""
    check_installed("a repository")
    from sqlalchemy import NullPool, StaticPool, event, make_url

    if isinstance(url, Path) or (isinstance(url, str) and "://" not in url):
        parsed = make_url("sqlite://").set(database=str(url))
    elif isinstance(url, str):
        try:
            parsed = make_url(url)
        except Exception:  # noqa: BLE001 - whatever it is, its message quotes the URL
            raise ArgumentError("this is not the URL of a database") from None
    else:
        raise ArgumentError(f"url must be text or a path, not a {type(url).__name__}")
    parsed = _with_driver(parsed)
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


def _with_driver(url: URL) -> URL:
    """Name the driver of a PostgreSQL URL: which one is the default depends on SQLAlchemy."""
    backend, _, driver = url.drivername.partition("+")
    if backend == "sqlite":
        return url
    if backend not in {"postgresql", "postgres"}:
        raise ArgumentError("a repository is an SQLite file or a PostgreSQL database")
    drivers = (driver,) if driver else ("psycopg", "psycopg2")
    found = next((name for name in drivers if find_spec(name) is not None), None)
    if found is None:
        raise StoreError(
            f"PostgreSQL needs the driver {drivers[0]!r}: pip install 'psycopg[binary]'"
        )
    return url.set(drivername=f"postgresql+{found}")


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


def _tables() -> MetaData:
    from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, Table, Text

    tables = MetaData()
    whole = BigInteger().with_variant(Integer(), "sqlite")
    Table(
        SUBMISSIONS,
        tables,
        Column("number", whole, primary_key=True, autoincrement=True),
        Column("qid", Text, nullable=False),
        Column("population", Text, nullable=False),
        Column("kl", Double, nullable=False),
        Column("s2", Double, nullable=False),
        Column("s3", Double, nullable=False),
        Column("n_values", BigInteger, nullable=False),
        Column("n_records", BigInteger, nullable=False),
        Column("domain", Text, nullable=False),
        Column("by", Text, nullable=False),
        # Text, so that a row with something else there is put aside instead of blocking the rest.
        Column("when", Text, nullable=False),
        Index("anonrisk_priors_key", "population", "qid"),
        sqlite_autoincrement=True,
    )
    Table(ABOUT, tables, Column("name", Text, primary_key=True), Column("value", Text))
    return tables


def _names(stored: Any) -> Any:
    """Read the names of a quasi-identifier; what is not a list of them is refused later."""
    try:
        return json.loads(stored)
    except (TypeError, ValueError, RecursionError):
        return None
