"""PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anonrisk.engines.sql.dialects import base
from anonrisk.engines.sql.dialects.base import Dialect
from anonrisk.measures.counts.contents import Spelling

if TYPE_CHECKING:
    from collections.abc import Iterator

# Floats are fetched as text, and two of them may be one where a session wants fewer digits.
_ALL_DIGITS = "SET LOCAL extra_float_digits = 3"
_INSTANTS = ("timestamp without time zone", "timestamp with time zone")


class PostgreSQL(Dialect):
    """PostgreSQL."""

    name = "postgresql"
    title = "PostgreSQL"
    sqlglot = "postgres"
    driver = ("psycopg", "Connection")
    url = "postgresql://user@host/database"
    texts = ("text", "character varying", "name")
    floats = ("real", "double precision", "numeric")
    others = (
        *("boolean", "smallint", "integer", "bigint", "oid", "date", "uuid", "bytea", '"char"'),
        *("time without time zone", *_INSTANTS),
    )
    held = {  # noqa: RUF012
        "text": texts,
        "whole numbers": ("smallint", "integer", "bigint"),
        "floats": ("real", "double precision"),
        "decimals": ("numeric",),
        "booleans": ("boolean",),
        "dates": ("date",),
        "times": ("time without time zone",),
        "timestamps": _INSTANTS,
    }
    catalogue = (
        "SELECT n.nspname, c.relname, pg_table_is_visible(c.oid) FROM pg_class AS c "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')"
    )
    begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_ALL_DIGITS}"
    begin_within = f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; {_ALL_DIGITS}"
    joins_missing = "apart"
    spelling = Spelling("({} ~ '{}')", "ascii", "chr", "text")
    letters = "C"

    @cached_property
    def writer(self) -> Any:
        """Return what writes statements for psycopg."""
        return postgresql.dialect(paramstyle="pyformat")  # type: ignore[no-untyped-call]

    def without_nan(self, column: Any, kind: str) -> Any:
        """Return a column of floats with NULL for NaN, which equals itself here."""
        type_: Any = sa.Numeric() if kind == "numeric" else sa.Double()
        return sa.func.nullif(column, sa.cast(sa.literal_column("'NaN'"), type_))

    def type_of(self, column: Any) -> Any:
        """Return the type of a column."""
        return sa.func.pg_typeof(column)

    def enumerations(self, table: Any, kinds: set[str]) -> set[str]:
        """Find which of some types are enumerations."""
        if not kinds:
            return set()
        types = sa.table("pg_type", sa.column("oid"), sa.column("typtype"), schema="pg_catalog")
        name = sa.func.format_type(types.c.oid, sa.null())
        query = sa.select(name).where(types.c.typtype == "e", name.in_(sorted(kinds)))
        return {row[0] for row in table.fetch(query, "read the types")}

    def tells_apart(self, table: Any, name: Any) -> Any:
        """Return whether the collation of a column is deterministic."""
        columns: list[Any] = [sa.column("oid"), sa.column("collisdeterministic")]
        collations = sa.table("pg_collation", *columns, schema="pg_catalog")
        here = sa.cast(sa.func.pg_collation_for(table.raw(name)), _RegCollation)
        exact = sa.select(collations.c.collisdeterministic).where(collations.c.oid == here)
        return exact.scalar_subquery()

    def paths(self, table: Any) -> list[str]:
        """List the paths inside the structs of a table."""
        kinds = base.types(table, self)
        inside = base.composites(table, set(kinds.values()))
        return [path for name, kind in kinds.items() for path in base.within(name, kind, inside)]

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection is in a transaction."""
        return bool(connection.info.transaction_status)

    @contextmanager
    def plain(self, connection: Any) -> Iterator[None]:
        """Let the server keep no statement of ours, which a table that is made anew would break."""
        if not hasattr(connection, "prepare_threshold"):  # that of psycopg2
            yield
            return
        wanted, connection.prepare_threshold = connection.prepare_threshold, None
        try:
            yield
        finally:
            connection.prepare_threshold = wanted

    def cursor(self, connection: Any, *, streams: bool) -> Any:
        """Return what runs a statement; a plain one brings all rows over at once."""
        from psycopg.rows import tuple_row

        cursor = connection.cursor(*([f"anonrisk_{token_hex(8)}"] if streams else []))
        cursor.row_factory = tuple_row
        return cursor


class _RegCollation(sa.types.UserDefinedType[Any]):
    """PostgreSQL's type for the number of a collation."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Name the type."""
        return "regcollation"
