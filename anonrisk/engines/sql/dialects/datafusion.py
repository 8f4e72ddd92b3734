"""DataFusion, in this process: files and batches of Arrow that a session has registered."""

from __future__ import annotations

import re
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anonrisk.engines.sql.dialects.base import NANOSECONDS, Dialect
from anonrisk.errors import UnsupportedFrameError
from anonrisk.measures.counts import contents as rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_WHOLE = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_INSTANTS = ("Timestamp", "Timestamp with zone", NANOSECONDS)
# A category: its values are stored once, and its cells are numbers of those.
_CATEGORY = "Dictionary of texts"
_ZONED = re.compile(r'Timestamp\([^,]*, "')


class DataFusion(Dialect):
    """DataFusion."""

    name = "datafusion"
    title = "DataFusion"
    sqlglot = "postgres"
    driver = ("datafusion", "SessionContext")
    texts = ("Utf8", "LargeUtf8", "Utf8View")
    floats = ("Float16", "Float32", "Float64")
    others = (
        *_WHOLE,
        *_INSTANTS,
        *("Boolean", "Decimal128", "Decimal256", "Date32", "Date64", "Time32", "Time64(µs)"),
        "Null",
        *("Binary", "LargeBinary", "BinaryView", "FixedSizeBinary", _CATEGORY),
    )
    held = {  # noqa: RUF012
        "text": (*texts, _CATEGORY, "Null"),
        "whole numbers": _WHOLE,
        "floats": floats,
        "decimals": ("Decimal128", "Decimal256"),
        "booleans": ("Boolean",),
        "bytes": ("Binary", "LargeBinary", "BinaryView", "FixedSizeBinary"),
        "dates": ("Date32", "Date64"),
        "times": ("Time32", "Time64(µs)"),
        "timestamps": _INSTANTS,
    }
    keeps_steps = False
    # Version 55 joins rows by IS NOT DISTINCT FROM whose keys differ.
    joins_missing = "apart"
    # As an expression, the rule of an IBAN nests deeper than the parser of a session goes.
    spelling = rules.Spelling("({} ~ '{}')", "ascii", "chr", "text", checking="anonrisk_checked")

    @cached_property
    def writer(self) -> Any:
        """Return what writes statements: DataFusion reads what is written for PostgreSQL."""
        return postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

    def cell(self, column: Any, kind: str) -> Any:
        """Return a column such that missing is NULL and equal cells are equal."""
        # Milliseconds that are no whole days are days all the same.
        other = {_CATEGORY: sa.Text, "Date64": sa.Date}.get(kind)
        return super().cell(column, kind) if other is None else sa.cast(column, other)

    def without_nan(self, column: Any, kind: str) -> Any:  # noqa: ARG002
        """Return a column of floats with NULL for NaN, and one zero: windows tell -0.0 from 0.0."""
        zero = sa.func.abs(column) == 0
        return sa.case((sa.func.isnan(column), sa.null()), (zero, 0.0), else_=column)

    def type_of(self, column: Any) -> Any:
        """Return the type of a column."""
        return sa.func.arrow_typeof(column)

    def type_name(self, written: str) -> str:
        """Name a type without its parameters, but for a zone and for what a dictionary holds."""
        name = written.partition("(")[0]
        if name == "Dictionary" and written.rpartition(" ")[2].rstrip(")") in self.texts:
            return _CATEGORY
        if written.startswith("Timestamp(ns"):
            return NANOSECONDS
        if name == "Time64":
            return written
        return "Timestamp with zone" if self.has_zone(written) else name

    def has_zone(self, written: str) -> bool:
        """Return whether a type of instants has a zone, by how the database writes it."""
        return bool(_ZONED.match(written))

    def tells_apart(self, table: Any, name: Any) -> Any:  # noqa: ARG002
        """Return that texts are compared exactly: there are no collations."""
        return sa.true()

    def paths(self, table: Any) -> list[str]:
        """List the paths inside the structs of a table."""
        every = sa.select(sa.text("*")).select_from(table.source)
        with table.reading() as under_way:
            text = str(every.compile(dialect=self.writer))
            schema = under_way.connected.connection.sql(text).schema()
        return [path for field in schema for path in _within(field.name, field.type)]

    def microseconds(self, cell: Any) -> Any:
        """Return the microseconds from 1970 to an instant, or to what a clock says."""
        return sa.cast(self.in_greenwich(cell, "Timestamp with zone"), sa.BigInteger)

    def nanoseconds(self, cell: Any) -> Any:
        """Return the nanoseconds from 1970 to an instant, or to what a clock says."""
        fine: Any = sa.literal_column("'Timestamp(Nanosecond, Some(\"UTC\"))'")
        return sa.cast(sa.func.arrow_cast(cell, fine), sa.BigInteger)

    def in_greenwich(self, cell: Any, kind: str) -> Any:
        """Return what a clock in Greenwich shows."""
        zoned = kind in {"Timestamp with zone", NANOSECONDS}
        return sa.func.arrow_cast(cell, _IN_GREENWICH) if zoned else cell

    def matches(self, text: Any, pattern: str) -> Any:
        """Return whether the whole of a text matches an expression."""
        return text.regexp_match(rf"\A(?:{pattern})\z")

    def is_among(self, cell: Any, column: Any) -> Any:
        """Return whether a cell is one of those of a query, which is no condition in another."""
        every = sa.select(sa.func.array_agg(column)).scalar_subquery()
        return sa.func.array_has(every, cell)

    def as_json(self, cell: Any) -> Any:
        """Return the type of a cell that is made of others: it names their keys as JSON does."""
        return sa.func.arrow_typeof(cell)

    def tables(self, connected: Any) -> list[tuple[str, str, bool]]:
        """List the tables that were registered, and whether a session finds them by their names."""
        session = connected.connection
        catalogues = [session.catalog(name) for name in session.catalog_names()]
        return [
            (schema, name, session.table_exist(f'"{name}"'))
            for catalogue in catalogues
            for schema in catalogue.schema_names()
            for name in catalogue.schema(schema).table_names()
        ]

    def columns_alone(self, query: str) -> str | None:
        """Return the query itself: in parentheses the second `zip` is `zip:1`."""
        return query

    def in_transaction(self, connection: Any) -> bool:  # noqa: ARG002
        """Return whether no transaction is to begin: there are none."""
        return True

    def cursor(self, connection: Any, *, streams: bool) -> Any:  # noqa: ARG002
        """Return what runs a statement; refuse a session that reads other SQL than ours."""
        # Where "x" is a text, as in MySQL, every cell of a column would be the same.
        if connection.sql('SELECT "x" FROM (SELECT 1 AS x)').collect()[0][0].to_pylist() != [1]:
            raise UnsupportedFrameError(
                'this session of DataFusion takes "zip" for a text, not for the name of a column: '
                "set datafusion.sql_parser.dialect to generic or postgresql"
            )
        return _Cursor(connection)

    def prepare(self, connection: Callable[[], Any]) -> None:
        """Let a session check digits, and read texts on one line."""
        import pyarrow as pa
        from datafusion import udf

        for name, function, returned in (
            ("anonrisk_checked", rules.checked_bits, pa.int64()),
            ("anonrisk_plain", rules.plain, pa.string()),
        ):
            source = partial(_of_each, function, returned)
            connection().register_udf(udf(source, [pa.string()], returned, "immutable", name))


_IN_GREENWICH: Any = sa.literal_column("'Timestamp(Microsecond, Some(\"UTC\"))'")


class _Cursor:
    """One statement, which may only read, and its rows as they arrive."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def execute(self, text: str, parameters: Sequence[Any]) -> Self:
        """Send a statement; it runs when rows are fetched."""
        from datafusion import SQLOptions

        options = SQLOptions().with_allow_ddl(False).with_allow_dml(False)  # noqa: FBT003
        values = {str(i): value for i, value in enumerate(parameters, start=1)}
        self.answer = self.session.sql(
            text,
            options=options.with_allow_statements(False),  # noqa: FBT003
            param_values=values or None,
        )
        self.description = [(field.name,) for field in self.answer.schema()]
        self.rows = self._rows()
        return self

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.answer.execute_stream():
            columns = batch.to_pyarrow().columns
            yield from zip(*(column.to_pylist() for column in columns), strict=True)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return list(self.rows)

    def fetchmany(self, n_rows: int) -> list[tuple[Any, ...]]:
        """Return the next so many rows."""
        return list(islice(self.rows, n_rows))

    def close(self) -> None:
        """Read no more."""
        self.rows = iter(())


def _of_each(function: Callable[[str], Any], returned: Any, texts: Any) -> Any:
    import pyarrow as pa

    return pa.array(
        [None if text is None else function(text) for text in texts.to_pylist()], returned
    )


def _within(name: str, kind: Any) -> list[str]:
    """List the paths inside a type of Arrow."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        results = []
        for field in kind:
            below = f"{name}.{field.name}"
            results += [below, *_within(below, field.type)]
        return results
    if pa.types.is_map(kind):
        return [*_within(name, kind.key_type), *_within(name, kind.item_type)]
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return _within(name, kind.value_type) if listed or pa.types.is_fixed_size_list(kind) else []
