"""The small tables, as tables of every kind, and who is asked about them."""

from __future__ import annotations

import datetime as dt
import importlib.util
import itertools
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import anonrisk
from anonrisk._version import __version__
from anonrisk.accessor import ON_CLASSES
from anonrisk.core.frozen import dataclass
from anonrisk.engines.refusals import REFUSED
from anonrisk.errors import ArgumentError, EmptyTableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.testing.case import Case, SmallColumn, SmallTable

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


_STEP = re.compile(r"(\w+)(\([^)]*\))?")
# Cases that a kind of table refuses, by what it is not asked for (`engines.refusals`). A refusal
# that is not listed fails the suite, and so does one that does not happen.
_ASKED = {
    "missing-wildcard*": "missing='wildcard'",
    "at-risk-[lt]": "at_risk(l=), at_risk(t=)",
    "kl-after": "kl_after",
    **{word: word for word in ("compare", "linkability", "suda", "trajectory")},
}
_TITLES = {
    "duckdb": "DuckDB relation",
    "polars-lazy": "Polars, lazy",
    "datafusion": "DataFusion",
    "duckdb-sql": "DuckDB, PostgreSQL",
    "postgresql": "DuckDB, PostgreSQL",
    "scan": "scan",
    "sqlite": "SQLite",
}
REFUSALS = {
    name: {
        pattern: refusal.sentence
        for pattern, asked in _ASKED.items()
        for refusal in REFUSED
        if refusal.asked == asked and title in refusal.tables
    }
    for name, title in _TITLES.items()
}


@dataclass(frozen=True)
class OwnTool:
    """anonrisk, asked about tables of one kind.

    Parameters
    ----------
    name : str
        The kind of table.
    build : function
        Builds a table of that kind.
    refusals : mapping
        The cases that it refuses, by a pattern of their ids, and why.
    """

    name: str
    build: Callable[[SmallTable], Any] = field(repr=False)
    refusals: Mapping[str, str] = field(default_factory=dict, repr=False)
    version: str = f"anonrisk {__version__}"
    _built: dict[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, case: Case) -> Any:
        """Ask the function that the case names."""
        frame, options = self._table(case.table), dict(case.options)
        if case.population is not None:
            # The second table of a question has a name of its own in some functions.
            word = {"compare": "previous", "utility": "original"}.get(case.measure, "population")
            options[word] = self._table(case.population)
        if case.qids:
            options["qids"] = list(case.qids)
        if case.sensitive is not None:
            options["sensitive"] = case.sensitive
        ask = _OWN.get(case.measure) or getattr(anonrisk, case.measure)
        try:
            result = ask(frame, **options)
        except NotImplementedError:
            # Of a table that cannot be built this is an answer, of a measure it is a fault.
            raise RuntimeError("anonrisk has every measure") from None
        if case.attributes:
            return {name: read(result, name) for name in case.attributes}
        return result

    def _table(self, table: SmallTable) -> Any:
        if table.name not in self._built:
            self._built[table.name] = self.build(table)
        return self._built[table.name]


def read(result: Any, path: str) -> Any:
    """Read an attribute of a result: ``prosecutor.share_above(0.2)``, ``estimates.0.uniques``."""
    for name, call in _STEP.findall(path):
        if name.isdigit():
            result = result[int(name)]
        elif isinstance(result, Mapping) or hasattr(result, "iloc"):
            result = result[name]
        else:
            result = getattr(result, name)
        if call:
            result = result(*map(_argument, filter(None, call[1:-1].split(","))))
    return result.tolist() if hasattr(result, "tolist") else result


def _argument(written: str) -> float | str:
    """Read the argument of a method: a whole number, another number or a word."""
    if written.isdigit():
        return int(written)
    return float(written) if written[0].isdigit() else written


def _sizes(frame: Any, qids: list[str], **options: Any) -> Any:
    """Count the records by the size that `sizes` gives each, whatever holds the table."""
    sized = anonrisk.sizes(frame, qids, **options)
    if getattr(sized, "ndim", 2) == 1:
        sized = frame.assign(class_size=sized)
    counted = anonrisk.summary(sized, [qids], by="class_size")
    return {"size": counted.index.get_level_values(1).tolist(), "records": counted["records"]}


def _at_risk(frame: Any, qids: list[str], **options: Any) -> Any:
    """Count the records that `at_risk` gives."""
    try:
        return anonrisk.classes(anonrisk.at_risk(frame, qids, **options), qids).n_rows
    except EmptyTableError:
        # A table without a row at risk is right; one without any row was refused above.
        return 0


def _of_classes(frame: Any, *, name: str, **options: Any) -> Any:
    return getattr(anonrisk.classes(frame, **options), name)


_OWN: dict[str, Callable[..., Any]] = {
    "sizes": _sizes,
    "at_risk": _at_risk,
    **{name: partial(_of_classes, name=name) for name in ON_CLASSES},
}


def engine(name: str) -> OwnTool:
    """Return anonrisk on one kind of table, to be run.

    Parameters
    ----------
    name : str
        A kind of table: pandas, pandas-nullable, pandas-object, pandas-arrow, arrow, polars,
        polars-lazy, narwhals, duckdb (a relation), duckdb-sql, datafusion, sqlite, scan, spark,
        connect, pandas-on-spark, or postgresql with the address of a database, ``postgresql=URL``.

    Returns
    -------
    OwnTool
        What `anonrisk.testing.run` takes.

    Examples
    --------
    >>> from anonrisk import testing
    >>> case = next(case for case in testing.cases() if case.id == "minus-zero")
    >>> testing.engine("pandas")(case)
    2
    """
    kind, _, address = name.partition("=")
    if kind not in KINDS:
        raise ArgumentError(f"{kind!r} is not a kind of table: give one of {', '.join(KINDS)}")
    absent = lacking(kind)
    if absent:
        raise ArgumentError(f"{kind} needs what is not installed: {', '.join(absent)}")
    if bool(address) != (kind == "postgresql"):
        raise ArgumentError("postgresql, and nothing else, takes an address: postgresql=URL")
    _, build, at_once = KINDS[kind]
    made = build if at_once else build(address) if address else build()
    return OwnTool(kind, made, REFUSALS.get(kind, {}))


def pycanon(case: Case) -> Any:
    """Ask pycanon, as another tool is asked: in a function of a case.

    What it does not have is a NotImplementedError; whatever else it raises is listed as refused.
    """
    from pycanon import anonymity as own

    words = {
        "k": own.k_anonymity,
        "alpha": lambda *value: own.alpha_k_anonymity(*value)[0],
        "ldiv distinct": own.l_diversity,
        "ldiv entropy": own.entropy_l_diversity,
        "ldiv recursive": own.recursive_c_l_diversity,
        "beta_likeness basic": own.basic_beta_likeness,
        "beta_likeness enhanced": own.enhanced_beta_likeness,
        "delta_disclosure": own.delta_disclosure,
        # It takes the ordered distance for numbers, and the equal one for texts.
        "tcloseness ordered": own.t_closeness,
        "tcloseness equal": own.t_closeness,
    }
    column = case.table.columns.get(case.sensitive or "")
    number = column is not None and column.kind in ("integer", "float")
    other = case.measure == "tcloseness" and number is not (case.label == "tcloseness ordered")
    if case.label not in words or {*case.options} - {"variant", "c", "distance"} or other:
        raise NotImplementedError(case.label)
    asked = [] if case.sensitive is None else [[case.sensitive]]
    answer = words[case.label](case.table.to_pandas(), list(case.qids), *asked)
    if case.label == "ldiv recursive":
        c, answer = answer
        if not case.options["c"] >= c:
            raise NotImplementedError("it names one c, and says nothing of smaller ones")
    return answer
