"""The small tables of the suite, as tables of every kind that anonrisk takes."""

from __future__ import annotations

import datetime as dt
import importlib.util
import itertools
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import anonrisk

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.testing.case import SmallColumn, SmallTable

    Build = Callable[[SmallTable], Any]

_SQL_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER", "float": "REAL", "bytes": "BLOB"},
    "postgresql": {
        "text": "TEXT",
        "integer": "BIGINT",
        "float": "DOUBLE PRECISION",
        "bytes": "BYTEA",
        "boolean": "BOOLEAN",
        "date": "DATE",
        "instant": "TIMESTAMP",
        "zoned": "TIMESTAMPTZ",
        "decimal": "NUMERIC(20,4)",
    },
}
_SPARK_TYPES = {
    "text": "string",
    "integer": "bigint",
    "float": "double",
    "bytes": "binary",
    "boolean": "boolean",
    "date": "date",
    "zoned": "timestamp",
    "decimal": "decimal(20,4)",
}


def _nullable(table: SmallTable) -> pd.DataFrame:
    return table.to_pandas().convert_dtypes()


def _objects(table: SmallTable) -> pd.DataFrame:
    columns = table.columns.items()
    return pd.DataFrame({name: pd.Series(list(c.cells), dtype=object) for name, c in columns})


def _arrow(table: SmallTable) -> Any:
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "instant": pa.timestamp("us"),
        "decimal": pa.decimal128(20, 4),
        "bytes": pa.binary(),
    }

    def array(column: SmallColumn) -> Any:
        if column.kind == "zoned":
            # pyarrow takes the time on the clock of any other zone for one of UTC.
            cells = [cell and cell.astimezone(dt.UTC) for cell in column.cells]
            return pa.array(cells, type=pa.timestamp("us", tz=column.zone))
        if column.kind == "category":
            codes = [None if c is None else column.levels.index(c) for c in column.cells]
            return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), list(column.levels))
        return pa.array(column.cells, type=types[column.kind])

    return pa.table({name: array(column) for name, column in table.columns.items()})


def _pandas_arrow(table: SmallTable) -> pd.DataFrame:
    built: pd.DataFrame = _arrow(table).to_pandas(types_mapper=pd.ArrowDtype)
    return built


def _polars(table: SmallTable) -> Any:
    import polars as pl

    return pl.from_arrow(_arrow(table))


def _narwhals(table: SmallTable) -> Any:
    import narwhals

    return narwhals.from_native(_polars(table))


def _duckdb(table: SmallTable) -> Any:
    import duckdb

    return duckdb.from_arrow(_arrow(table))


def _scan() -> Build:
    from pyarrow import parquet

    folder = Path(tempfile.mkdtemp(prefix="anonrisk-testing-"))
    numbers = itertools.count()

    def build(table: SmallTable) -> Any:
        path = folder / f"{next(numbers)}.parquet"
        parquet.write_table(_arrow(table), path)
        return anonrisk.scan(path)

    # A TemporaryDirectory would warn that nobody has closed it.
    weakref.finalize(build, shutil.rmtree, folder, ignore_errors=True)
    return build


def _duckdb_sql() -> Build:
    import duckdb

    connection = duckdb.connect()
    numbers = itertools.count()

    def build(table: SmallTable) -> Any:
        name = f"t{next(numbers)}"
        connection.register("given", _arrow(table))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")  # noqa: S608
        connection.unregister("given")
        return anonrisk.sql.table(connection, name)

    return build


def _datafusion() -> Build:
    from datafusion import SessionContext

    session, numbers = SessionContext(), itertools.count()

    def build(table: SmallTable) -> Any:
        name, made = f"t{next(numbers)}", _arrow(table)
        session.register_record_batches(name, [made.to_batches() or [_no_rows(made)]])
        return anonrisk.sql.table(session, name)

    return build


def _no_rows(table: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], table.schema)


def _sqlite() -> Build:
    import sqlite3

    return _inserting(sqlite3.connect(":memory:"), "sqlite")


def _postgresql(url: str) -> Build:
    import psycopg

    return _inserting(psycopg.connect(url.replace("+psycopg", ""), autocommit=True), "postgresql")


def _inserting(connection: Any, kind: str) -> Build:
    """Build tables by inserting their rows, of the session alone where there are others."""
    mark = "?" if kind == "sqlite" else "%s"
    numbers = itertools.count()

    def build(table: SmallTable) -> Any:
        kinds = {name: _stored(column) for name, column in table.columns.items()}
        absent = {*kinds.values()} - {*_SQL_TYPES[kind]}
        if absent:
            raise NotImplementedError(f"{kind} has no type for {', '.join(sorted(absent))}")
        name = f"anonrisk_testing_{next(numbers)}"
        columns = ", ".join(f'"{each}" {_SQL_TYPES[kind][kinds[each]]}' for each in kinds)
        cursor = connection.cursor()
        cursor.execute(f"CREATE TEMPORARY TABLE {name} ({columns})")
        rows = [tuple(row.values()) for row in table.rows()]
        marks = ", ".join([mark] * len(kinds))
        if rows:
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608
        connection.commit()
        return anonrisk.sql.table(connection, name)

    return build


def _stored(column: SmallColumn) -> str:
    """Return the kind that a column has where there are no categories."""
    return "text" if column.kind == "category" else column.kind


def _spark(*, remote: bool = False, instant: str = "timestamp_ntz") -> Build:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    session: Any = SparkSession.getActiveSession()
    if session is None:
        session = (builder.remote("local[2]") if remote else builder).getOrCreate()

    def build(table: SmallTable) -> Any:
        # Written as SQL, no Python worker has to run for every look at the table.
        types = {**_SPARK_TYPES, "instant": instant}
        kinds = [types[_stored(column)] for column in table.columns.values()]
        lines = [
            ", ".join(_literal(cell, kind) for cell, kind in zip(row.values(), kinds, strict=True))
            for row in table.rows()
        ]
        missing = ", ".join(_literal(None, kind) for kind in kinds)
        values = ", ".join(f"({line})" for line in lines or [missing])
        frame = session.sql(f"SELECT * FROM VALUES {values}").toDF(*table.columns)  # noqa: S608
        return frame if lines else frame.limit(0)

    return build


def _literal(cell: Any, kind: str) -> str:
    """Write a cell as SQL of exactly its type and value."""
    if cell is None:
        return f"CAST(NULL AS {kind})"
    if isinstance(cell, str | bytes):
        raw = cell.encode() if isinstance(cell, str) else cell
        return f"CAST(X'{raw.hex()}' AS {kind})"
    text = cell.isoformat(" ") if isinstance(cell, dt.datetime) else str(cell)
    return f"CAST('{text}' AS {kind})"


def _pandas_on_spark() -> Build:
    import anonrisk.pandas_on_spark  # noqa: F401 - puts .anon on its tables

    # It cannot hold an instant without a zone.
    build = _spark(instant="timestamp")
    return lambda table: build(table).pandas_api()


# Each kind of table: what must be installed, and who builds it, at once or from a session.
KINDS: dict[str, tuple[tuple[str, ...], Callable[..., Any], bool]] = {
    "pandas": ((), lambda table: table.to_pandas(), True),
    "pandas-nullable": ((), _nullable, True),
    "pandas-object": ((), _objects, True),
    "pandas-arrow": (("pyarrow",), _pandas_arrow, True),
    "arrow": (("pyarrow",), _arrow, True),
    "polars": (("pyarrow", "polars"), _polars, True),
    "polars-lazy": (("pyarrow", "polars"), lambda table: _polars(table).lazy(), True),
    "narwhals": (("pyarrow", "polars", "narwhals"), _narwhals, True),
    "duckdb": (("pyarrow", "duckdb"), _duckdb, True),
    "duckdb-sql": (("pyarrow", "duckdb", "sqlalchemy", "sqlglot"), _duckdb_sql, False),
    "datafusion": (("pyarrow", "datafusion", "sqlalchemy", "sqlglot"), _datafusion, False),
    "sqlite": (("sqlalchemy", "sqlglot"), _sqlite, False),
    "scan": (("pyarrow", "duckdb", "sqlalchemy", "sqlglot"), _scan, False),
    "spark": (("pyspark",), _spark, False),
    "connect": (("pyspark",), lambda: _spark(remote=True), False),
    "pandas-on-spark": (("pyspark",), _pandas_on_spark, False),
    "postgresql": (("psycopg", "sqlalchemy", "sqlglot"), _postgresql, False),
}
# What starts or needs a server is asked by name only.
SERVERS = ("spark", "connect", "pandas-on-spark", "postgresql")


def installed() -> list[str]:
    """Return the kinds of table whose libraries are here, and that need no server."""
    return [name for name in KINDS if name not in SERVERS and not lacking(name)]


def lacking(name: str) -> list[str]:
    """Return the libraries that a kind of table needs and that are not installed."""
    return [needed for needed in KINDS[name][0] if importlib.util.find_spec(needed) is None]
