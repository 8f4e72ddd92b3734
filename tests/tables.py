"""The same cells as a table of each kind, and back."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import importlib
import itertools

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk.accessor import AnonAccessor
from anonrisk.engines import engine_for
from anonrisk.engines.held import HeldTable

THROUGH_ARROW = ("polars", "duckdb", "polars_lazy", "pyarrow", "narwhals", "held")
SPARK_TYPES = {
    str: "string",
    bool: "boolean",
    int: "bigint",
    float: "double",
    bytes: "binary",
    dt.date: "date",
    dt.datetime: "timestamp",
    decimal.Decimal: "decimal(20,4)",
}


def pandas_table(kind, cells):
    if kind == "pandas_object":
        return pd.DataFrame(
            {name: pd.Series(list(column), dtype=object) for name, column in cells.items()}
        )
    table = pd.DataFrame({name: list(column) for name, column in cells.items()})
    # pandas 2.2 tries whether floats are whole numbers, and NumPy warns of infinity there.
    with np.errstate(invalid="ignore"):
        if kind == "pandas_nullable":
            return table.convert_dtypes()
        if kind == "pandas_arrow":
            pytest.importorskip("pyarrow")
            return table.convert_dtypes(dtype_backend="pyarrow")
    return table


def arrow_builder(kind):
    """A function that makes tables of a kind that speaks the Arrow stream, with `.anon` on them."""
    pa = pytest.importorskip("pyarrow")
    made = {
        "polars": _polars,
        "polars_lazy": lambda columns: _polars(columns).lazy(),
        "duckdb": lambda columns: pytest.importorskip("duckdb").from_arrow(pa.table(columns)),
        "narwhals": lambda columns: pytest.importorskip("narwhals").from_native(_polars(columns)),
        "pyarrow": lambda columns: anonrisk.table(pa.table(columns)),
        "held": lambda columns: anonrisk.table(_polars(columns)),
    }[kind]
    empty = made({"x": pa.array([1])})
    if kind not in ("pyarrow", "held"):
        type(empty).anon = property(AnonAccessor)

    def build(cells, partitions=2):
        columns = {name: arrow_column(column) for name, column in cells.items()}
        if kind == "duckdb" and any("\0" in name for name in cells):
            pytest.skip("DuckDB itself cannot hold a name with a zero byte")
        return made(columns)

    build.kind, build.is_pandas = kind, False
    return build


def arrow_column(column):
    """Cells as Arrow has them, instants in their zone; an array of Arrow stays as it is."""
    import pyarrow as pa

    known = [cell for cell in column if isinstance(cell, dt.datetime) and cell.tzinfo is not None]
    if isinstance(column, pa.Array) or not known:
        return column if isinstance(column, pa.Array) else pa.array(list(column))
    # Where Spark is used, pyarrow may be told to ignore the zones of Python's times.
    start, step = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(microseconds=1)
    numbers = [None if cell is None else (cell - start) // step for cell in column]
    return pa.array(numbers, pa.timestamp("us", str(known[0].tzinfo)))


def scan_builder(folder):
    """A function that writes tables as Parquet files, and scans them."""
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    pytest.importorskip("sqlglot")
    parquet = importlib.import_module("pyarrow.parquet")

    def build(cells, partitions=2):
        path = folder / f"{len(list(folder.iterdir()))}.parquet"
        columns = {name: arrow_column(column) for name, column in cells.items()}
        parquet.write_table(pa.table(columns), path)
        return anonrisk.scan(path)

    build.kind, build.is_pandas = "scan", False
    return build


SQL_TYPES = {
    "sqlite": {str: "TEXT", bytes: "BLOB", float: "REAL", int: "INTEGER"},
    "duckdb_sql": {
        str: "VARCHAR",
        bytes: "BLOB",
        float: "DOUBLE",
        int: "BIGINT",
        bool: "BOOLEAN",
        dt.date: "DATE",
        dt.datetime: "TIMESTAMP",
        decimal.Decimal: "DECIMAL(20,4)",
    },
    "postgresql": {
        str: "TEXT",
        bytes: "BYTEA",
        float: "DOUBLE PRECISION",
        int: "BIGINT",
        bool: "BOOLEAN",
        dt.date: "DATE",
        dt.datetime: "TIMESTAMP",
        decimal.Decimal: "NUMERIC(20,4)",
    },
}


# They would be stored as text or as numbers, and be those.
NOT_IN_SQLITE = {bool, dt.date, dt.datetime, decimal.Decimal}


def sql_connection(kind, request):
    """An empty database of this kind: in memory, or on the server that runs for all tests."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("sqlglot")
    if kind == "sqlite":
        return importlib.import_module("sqlite3").connect(":memory:", isolation_level=None)
    if kind == "duckdb_sql":
        return pytest.importorskip("duckdb").connect()
    return request.getfixturevalue("postgres_connection")


def sql_builder(kind, connection):
    """A function that writes tables into a database, and names them there."""
    mark = "%s" if kind == "postgresql" else "?"

    def build(cells, partitions=2):
        name = f"t{next(SQL_NUMBERS)}"
        columns = ", ".join(
            '"' + column.replace('"', '""') + f'" {sql_type(kind, cells[column])}'
            for column in cells
        )
        rows = [tuple(map(as_stored, row)) for row in zip(*cells.values(), strict=True)]
        foreign = {type(cell) for row in rows for cell in row} & NOT_IN_SQLITE
        if kind == "sqlite" and foreign:
            pytest.skip(f"SQLite has no type for {foreign.pop().__name__}")
        try:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            if rows:
                marks = ", ".join([mark] * len(cells))
                asked = connection.cursor() if kind == "postgresql" else connection
                asked.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        except Exception as error:  # noqa: BLE001
            pytest.skip(f"{kind} itself cannot hold this table ({type(error).__name__})")
        return anonrisk.sql.table(connection, name)

    build.kind, build.is_pandas, build.connection = kind, False, connection
    return build


def datafusion_builder():
    """A function that registers tables in a session of DataFusion."""
    pa = pytest.importorskip("pyarrow")
    session = pytest.importorskip("datafusion").SessionContext()
    pytest.importorskip("sqlglot")

    def build(cells, partitions=2):
        name = f"t{next(SQL_NUMBERS)}"
        made = pa.table({name: arrow_column(column) for name, column in cells.items()})
        if any("\0" in name for name in cells):
            pytest.skip("DataFusion itself cuts a name at a zero byte")
        # A batch of no rows beside the others, so that a table without rows has one.
        none = pa.RecordBatch.from_pylist([], made.schema)
        size = -(-len(made) // partitions) or 1
        parts = [made.slice(at, size).to_batches() for at in range(0, len(made), size)]
        session.register_record_batches(name, [[none], *parts])
        return anonrisk.sql.table(session, name)

    build.kind, build.is_pandas, build.connection = "datafusion", False, session
    return build


SQL_NUMBERS = itertools.count()


def sql_type(kind, column):
    known = [cell for cell in map(as_stored, column) if cell is not None]
    first = type(known[0]) if known else str
    if first is dt.datetime and known[0].tzinfo is not None and kind != "sqlite":
        return "TIMESTAMPTZ"
    return SQL_TYPES[kind].get(first, "")


def as_stored(cell):
    """A cell as Python has it: pandas and NumPy have times, numbers and gaps of their own."""
    if cell is pd.NaT or cell is pd.NA:
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.to_pydatetime()
    return cell.item() if hasattr(cell, "item") else cell


def sql_rows(table):
    """The cells of a table in a database."""
    import sqlalchemy as sa

    names = table.names
    query = sa.select(*(table.raw(name) for name in names)).select_from(table.source)
    return [dict(zip(names, row, strict=True)) for row in table.fetch(query, "read the cells")]


def _polars(columns):
    polars = pytest.importorskip("polars")
    return polars.DataFrame([polars.Series(*column) for column in columns.items()])


def spark_table(session, cells, partitions=2):
    schema = ", ".join(
        f"`{name.replace('`', '``')}` {spark_type(column)}" for name, column in cells.items()
    )
    rows = list(zip(*cells.values(), strict=True))
    if not 0 < len(rows) <= 100 or "connect" in type(session).__module__:
        return session.createDataFrame(rows, schema).repartition(partitions)
    # Written as SQL, no Python worker has to run for every look at the table.
    types = [spark_type(column) for column in cells.values()]
    lines = (
        "(" + ", ".join(literal(cell, kind) for cell, kind in zip(row, types, strict=True)) + ")"
        for row in rows
    )
    table = session.sql(f"SELECT * FROM VALUES {', '.join(lines)}").toDF(*cells)
    return table.repartition(partitions)


def literal(cell, kind):
    """A cell as SQL of exactly its type and value."""
    if cell is None:
        return f"CAST(NULL AS {kind})"
    if kind in {"string", "binary"}:
        raw = cell.encode() if isinstance(cell, str) else cell
        return f"CAST(X'{raw.hex()}' AS {kind})"
    if isinstance(cell, dt.datetime) and cell.tzinfo is None:
        # As createDataFrame reads it: in the zone of this machine.
        cell = cell.astimezone()
    text = cell.isoformat(" ") if isinstance(cell, dt.datetime) else str(cell)
    return f"CAST('{text}' AS {kind})"


def spark_type(column):
    known = [cell for cell in column if cell is not None]
    return SPARK_TYPES[type(known[0])] if known else "string"


def to_rows(table) -> list[dict]:
    """The cells of any kind of table as a list of dicts, missing ones as None."""
    if hasattr(table, "to_spark") or hasattr(table, "reading"):
        table = table.to_pandas()
    if hasattr(table, "reading"):
        return sql_rows(table)
    table = table.frame if isinstance(table, HeldTable) else table
    if type(table).__name__ == "LazyFrame":
        table = table.collect()
    # From Spark 4.3 on its tables speak Arrow too, but not of every name and time.
    of_spark = type(table).__module__.startswith("pyspark.")
    if hasattr(table, "__arrow_c_stream__") and not (of_spark or isinstance(table, pd.DataFrame)):
        import pyarrow as pa

        return pa.table(table).to_pylist()
    if isinstance(table, pd.DataFrame):
        records = table.to_dict("records")
        return [{k: None if pd.isna(v) else v for k, v in record.items()} for record in records]
    return [row.asDict() for row in table.collect()]


def without_rows(table):
    """The same table without any row."""
    if isinstance(table, HeldTable):
        return HeldTable(without_rows(table.frame), table.notes)
    if hasattr(table, "reading"):
        import sqlalchemy as sa

        none = sa.select(sa.text("*")).select_from(table.source).where(sa.false())
        return dataclasses.replace(table, source=none.subquery("none"))
    for name, asked in (("iloc", lambda: table.iloc[:0]), ("slice", lambda: table.slice(0, 0))):
        if hasattr(table, name) and not hasattr(table, "sparkSession"):
            return asked()
    return table.limit(0) if hasattr(table, "limit") else table.head(0)


def columns_of(table) -> list:
    """The names of the columns of any kind of table."""
    return list(engine_for(table).schema(table).columns)


def rows_of(cells) -> list[dict]:
    """The rows of a table that is given as lists of cells."""
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
