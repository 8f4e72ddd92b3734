"""The same cells as a table of each database."""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib.util
import math
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd
import pytest

from anonrisk.errors import AnonRiskError

KINDS = ("sqlite", "duckdb", "postgresql")
# And DuckDB by its own package; what takes a server, or a second way to the same, is the night's.
PLACES = (
    "sqlite",
    "duckdb itself",
    *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("duckdb", "postgresql")),
)


ODD = 'we"ird. `%s :x 1'


def pandas_of(cells):
    """The same cells on pandas; a column `i` is of whole numbers that may be missing."""
    made = {name: pd.Series(column, dtype=object) for name, column in cells.items()}
    return pd.DataFrame({**made, ODD: cells[ODD], "i": pd.array(cells["i"], dtype="Int64")})


def answer(measure, *args, **kwargs):
    """What a call gives, or how it refuses."""
    try:
        return measure(*args, **kwargs)
    except AnonRiskError as error:
        return type(error).__name__, str(error)


def connect(kind, request, folder):
    """Open an empty database; skip where its driver or server is missing."""
    sa = pytest.importorskip("sqlalchemy")
    if kind == "sqlite":
        return sa.create_engine(f"sqlite:///{folder}/t.sqlite")
    if kind == "duckdb":
        if importlib.util.find_spec("duckdb_engine") is None:
            pytest.skip("no driver: pip install duckdb-engine")
        return sa.create_engine(f"duckdb:///{folder}/t.duckdb")
    return sa.create_engine(request.getfixturevalue("postgres_server").new_database())


def write(connection, name, cells):
    """Make a table of these cells, replacing one of that name."""
    import sqlalchemy as sa

    types = {
        str: sa.Text,
        int: sa.BigInteger,
        float: sa.Double,
        bool: sa.Boolean,
        dt.date: sa.Date,
    }
    columns = []
    for column, values in cells.items():
        known = [value for value in values if value is not None]
        columns.append(sa.Column(column, types[type(known[0]) if known else str]))
    metadata = sa.MetaData()
    table = sa.Table(name, metadata, *columns)
    table.drop(connection, checkfirst=True)
    table.create(connection)
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    if connection.dialect.name == "sqlite":
        # It has no NaN: its own way of storing one is NULL.
        rows = [{c: None if is_nan(v) else v for c, v in row.items()} for row in rows]
    if rows:
        connection.execute(sa.insert(table), rows)
    return table


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


@dataclass
class Seen:
    """The statements that a database was sent, by what they were for, and the rows it gave."""

    doing: list = field(default_factory=list)
    rows: int = 0

    def kinds(self):
        """Count the statements that read more than a type or a collation."""
        return Counter(what for what in self.doing if "type" not in what and "coll" not in what)


@dataclass
class Place:
    """An open database in which tables can be made."""

    kind: str
    connection: object
    writer: object

    def table(self, cells, name="t"):
        """Make a table of these cells."""
        import sqlalchemy as sa

        write(self.writer, name, cells)
        self.writer.commit()
        return self._of(sa.table(name))

    def query(self, text):
        """Return what a query gives as a table."""
        import sqlalchemy as sa

        return self._of(sa.text(text).columns().subquery("given"))

    def _of(self, source):
        from anonrisk.engines.sql import SqlTable

        return SqlTable(self.connection, source)

    @contextlib.contextmanager
    def watched(self):
        """Write down what is asked of tables in the meantime."""
        from anonrisk.engines.sql import SqlTable

        seen, plain = Seen(), SqlTable.fetch

        def fetch(table, query, doing):
            rows = plain(table, query, doing)
            seen.doing.append(doing)
            seen.rows += len(rows)
            return rows

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqlTable, "fetch", fetch)
            yield seen


@contextlib.contextmanager
def opened(kind, request, folder):
    """Open an empty database through SQLAlchemy, or DuckDB by its own package."""
    engine = connect(kind.partition(" ")[0], request, folder)
    with engine.connect() as writer:
        if kind == "duckdb itself":
            # SQLAlchemy's own connection of DuckDB, so that both see the same tables.
            own = writer.connection.driver_connection
            yield Place(kind, getattr(own, "_ConnectionWrapper__c", own), writer)
        else:
            yield Place(kind, writer, writer)
    engine.dispose()
