"""The database behind a repository: SQLite or PostgreSQL, through SQLAlchemy.

Nothing is ever changed or deleted: a submission is a new row. Connections are opened for one
transaction and closed after it, so that processes may share a repository.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anonrisk.core.database import open_store, withheld, writing
from anonrisk.errors import StoreError

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection, MetaData

VERSION = 1
SUBMISSIONS, ABOUT = "anonrisk_priors", "anonrisk_priors_about"


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
        self._engine, self.place = open_store(url, "a repository")
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
            key = connection.execute(table.insert().values(**values)).inserted_primary_key
        return int(key[0]) if key else 0

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
            return {row.name: row.value for row in connection.execute(table.select()).all()}

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

    def _writing(self) -> contextlib.AbstractContextManager[Connection]:
        return writing(self._engine, "priors")


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
