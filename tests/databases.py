"""The same cells as a table of each database."""

from __future__ import annotations

import datetime as dt
import importlib.util
import math

import pytest

KINDS = ("sqlite", "duckdb", "postgresql")


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
