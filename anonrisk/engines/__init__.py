"""Engines: the only code that touches a user's table."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, cast

from anonrisk.core.render import kind_name
from anonrisk.engines.held import HeldTable, NarwhalsEngine, inside_narwhals, loaded
from anonrisk.errors import ArgumentError, UnsupportedFrameError

if TYPE_CHECKING:
    from anonrisk.engines.base import Engine

SUPPORTED = (
    "pandas, Spark (classic and Connect), pandas-on-Spark and Polars DataFrames, "
    "Polars LazyFrames, DuckDB relations, pyarrow Tables, narwhals frames, and tables of "
    "anonrisk.sql.table() and anonrisk.scan()"
)


def engine_for(frame: Any) -> Engine:
    """Find the engine of a table by its type, importing nothing that is not there already."""
    refuse_path(frame)
    if isinstance(frame, loaded("pandas", "DataFrame")):
        # Engines are loaded with the first question, so that importing the package stays cheap.
        from anonrisk.engines.pandas import PandasEngine

        return PandasEngine()
    # A Spark table cannot exist before pyspark was imported, so absent libraries cost nothing.
    if "pyspark.sql" in sys.modules:
        from anonrisk.engines import spark

        if isinstance(frame, spark.frame_types()):
            return cast("Engine", spark.engine_of(frame))
    if "pyspark.pandas" in sys.modules:
        from anonrisk.engines import pandas_on_spark

        if isinstance(frame, pandas_on_spark.frame_type()):
            return pandas_on_spark.PandasOnSparkEngine()
    # `anonrisk.sql` and `anonrisk.gx` make these.
    if "anonrisk.engines.sql" in sys.modules:
        from anonrisk.engines import sql

        if isinstance(frame, sql.SqlTable):
            return cast("Engine", _scan_engine(frame) or sql.SqlEngine())
    native = inside_narwhals(frame)
    if native is not None:
        inner = engine_for(native)
        return inner if inner.name == "arrow" else cast("Engine", NarwhalsEngine(inner))
    if _is_arrow_table(frame):
        return _arrow_engine()
    raise _unsupported(frame)


def refuse_path(frame: Any) -> None:
    """Reject the path of a file in place of a table: nothing was read, and nothing can be said."""
    if isinstance(frame, (str, bytes, os.PathLike)):
        raise ArgumentError(
            f"a table is needed, not its location ({kind_name(frame)}): read it, as with "
            "pandas.read_csv, or give anonrisk.scan(path), which reads it in parts"
        )


def _scan_engine(frame: Any) -> Any:
    """Return the engine of files that are scanned, which are asked as databases are."""
    scan = sys.modules.get("anonrisk.engines.scan")
    if scan is None or not isinstance(frame, scan.ScanTable):
        return None
    return scan.ScanEngine(frame)


def _unsupported(frame: Any) -> UnsupportedFrameError:
    """Return what is taken, and what this one becomes a table with."""
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__qualname__}"
    hint = ""
    if isinstance(frame, loaded("pandas", "Series")) or kind == "polars.Series":
        hint = "; a Series becomes a table with to_frame()"
    elif hasattr(type(frame), "__arrow_c_stream__"):
        hint = "; this one may be used up after one reading: pyarrow.table() makes one that stays"
    elif callable(getattr(type(frame), "to_pandas", None)):
        hint = "; this one converts with its to_pandas()"
    elif kind.startswith(("builtins.", "numpy.")):
        hint = "; the table comes first, and pandas.DataFrame(…) makes one of rows"
    return UnsupportedFrameError(
        f"{kind} is not a supported table: anonrisk takes {SUPPORTED}{hint}"
    )


def _is_arrow_table(frame: Any) -> bool:
    """Return whether it is a table; a stream, gone once it is read, has no length."""
    kind = type(frame)
    if kind is HeldTable:
        return True
    if isinstance(frame, loaded("polars", "LazyFrame")):
        return True
    return (
        hasattr(kind, "__arrow_c_stream__")
        and hasattr(kind, "__len__")
        and any(hasattr(kind, name) for name in ("columns", "column_names"))
    )


def _arrow_engine() -> Engine:
    try:
        from anonrisk.engines.arrow import ArrowEngine
    except ImportError:
        raise UnsupportedFrameError(
            "tables of libraries other than pandas and Spark need pyarrow: pip install pyarrow"
        ) from None
    return cast("Engine", ArrowEngine())
