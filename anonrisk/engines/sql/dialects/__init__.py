"""The kinds of database that are asked, each in a file of its own."""

from __future__ import annotations

from anonrisk.engines.sql.dialects.base import NANOSECONDS, Dialect
from anonrisk.engines.sql.dialects.datafusion import DataFusion
from anonrisk.engines.sql.dialects.duckdb import DuckDB
from anonrisk.engines.sql.dialects.postgresql import PostgreSQL
from anonrisk.engines.sql.dialects.sqlite import SQLite
from anonrisk.errors import UnsupportedFrameError

__all__ = ["DIALECTS", "NANOSECONDS", "Dialect", "dialect_of", "kind_of_cells"]

_ALL = (SQLite(), DuckDB(), DataFusion(), PostgreSQL())
DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in _ALL}


def dialect_of(name: str) -> Dialect:
    """Find a kind of database; refuse one that nobody has compared with `engines.base`."""
    if name not in DIALECTS:
        *titles, last = (dialect.title for dialect in DIALECTS.values())
        raise UnsupportedFrameError(
            f"what {name} considers equal has not been compared with anonrisk's rules: "
            f"use {', '.join(titles)} or {last}, or read the table into pandas or Spark"
        )
    return DIALECTS[name]


def kind_of_cells(kind: str) -> str:
    """Return what a column of some type holds; the type itself where we have no word for it."""
    held = (pair for dialect in DIALECTS.values() for pair in dialect.held.items())
    return next((word for word, kinds in held if kind in kinds), kind)
