"""DuckDB."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anonrisk.engines.sql.dialects import base
from anonrisk.engines.sql.dialects.base import Dialect
from anonrisk.measures.counts.contents import Spelling

_WHOLE = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER"),
    *("UBIGINT", "UHUGEINT"),
)
_INSTANTS = (
    *("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"),
)


class DuckDB(Dialect):
    """DuckDB."""

    name = "duckdb"
    title = "DuckDB"
    sqlglot = "duckdb"
    driver = ("duckdb", "DuckDBPyConnection")
    url = "duckdb:///people.duckdb"
    texts = ("VARCHAR",)
    floats = ("FLOAT", "DOUBLE")
    others = (
        *_WHOLE,
        *_INSTANTS,
        *("BOOLEAN", "DECIMAL", "BLOB", "DATE", "TIME", "UUID", "ENUM", '"NULL"'),
    )
    held = {  # noqa: RUF012
        "text": ("VARCHAR", "ENUM", '"NULL"'),
        "whole numbers": _WHOLE,
        "floats": floats,
        "decimals": ("DECIMAL",),
        "booleans": ("BOOLEAN",),
        "dates": ("DATE",),
        "times": ("TIME",),
        "timestamps": _INSTANTS,
    }
    catalogue = (
        "SELECT schema_name, table_name, schema_name = current_schema() OR temporary "
        "FROM duckdb_tables() UNION ALL SELECT schema_name, view_name, "
        "schema_name = current_schema() OR temporary FROM duckdb_views() WHERE NOT internal"
    )
    begin = "BEGIN TRANSACTION"
    begins_itself = True
    spelling = Spelling("regexp_matches({}, '{}')", "ascii", "chr", "varchar")
    letters = "binary"

    @cached_property
    def writer(self) -> Any:
        """Return what writes statements: DuckDB reads what is written for PostgreSQL."""
        return postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

    def without_nan(self, column: Any, kind: str) -> Any:  # noqa: ARG002
        """Return a column of floats with NULL for NaN.

        By the least and largest number that a file of Parquet says it has, which leave NaN out,
        DuckDB would hold a comparison with NaN, and isnan too, for false without a look. What comes
        out of a list may be NULL for all it knows, so that it looks.
        """
        looked_at = sa.func.list_extract(sa.func.list_value(column), sa.literal_column("1"))
        return sa.case((sa.func.isnan(looked_at), sa.null()), else_=column)

    def paths(self, table: Any) -> list[str]:
        """List the paths inside the structs of a table."""
        kinds = base.types(table, self)
        return [path for name, kind in kinds.items() for path in base.in_type(name, kind)]

    def microseconds(self, cell: Any) -> Any:
        """Return the microseconds from 1970 to an instant, or to what a clock says."""
        return sa.func.epoch_us(cell)

    def matches(self, text: Any, pattern: str) -> Any:
        """Return whether the whole of a text matches an expression."""
        return sa.func.regexp_full_match(text, pattern)

    def contains(self, text: Any, pattern: str) -> Any:
        """Return whether a part of a text matches an expression."""
        return sa.func.regexp_matches(text, pattern)

    def as_json(self, cell: Any) -> Any:
        """Return a cell that is made of others as JSON."""
        return sa.func.to_json(cell)

    def columns_alone(self, query: str) -> str | None:
        """Return the query with no rows: in parentheses the second `zip` is `zip_1`."""
        return f"({query}\n) LIMIT 0"

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection is in a transaction, by the number that statements have.

        It does not say, and a BEGIN too many would end the caller's transaction; outside of one,
        every statement has a number of its own.
        """
        numbers = {connection.execute("SELECT txid_current()").fetchone() for _ in range(2)}
        return len(numbers) == 1

    def cursor(self, connection: Any, *, streams: bool) -> Any:  # noqa: ARG002
        """Return the connection: a cursor of DuckDB has transactions of its own."""
        return connection
