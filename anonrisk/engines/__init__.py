"""Engines: the only code that touches a user's table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from anonrisk.errors import UnsupportedFrameError

if TYPE_CHECKING:
    from anonrisk.engines.base import Engine

SUPPORTED = "pandas, Spark (classic and Connect) and pandas-on-Spark DataFrames"


def engine_for(frame: Any) -> Engine:
    """Find the engine of a table by its type, importing nothing that is not there already."""
    if isinstance(frame, pd.DataFrame):
        # Engines are loaded with the first question, so that importing the package stays cheap.
        from anonrisk.engines.pandas import PandasEngine

        return PandasEngine()
    # A Spark table cannot exist before pyspark was imported, so absent libraries cost nothing.
    if "pyspark.sql" in sys.modules:
        from anonrisk.engines import spark

        if isinstance(frame, spark.frame_types()):
            return spark.SparkEngine()
    if "pyspark.pandas" in sys.modules:
        from anonrisk.engines import pandas_on_spark

        if isinstance(frame, pandas_on_spark.frame_type()):
            return pandas_on_spark.PandasOnSparkEngine()
    # Only `anonrisk.gx` makes these, for batches of SQL.
    if "anonrisk.engines.sql" in sys.modules:
        from anonrisk.engines import sql

        if isinstance(frame, sql.SqlTable):
            return cast("Engine", sql.SqlEngine())
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__qualname__}"
    hint = ""
    if callable(getattr(type(frame), "to_pandas", None)):
        hint = "; this one converts with its to_pandas()"
    elif isinstance(frame, pd.Series):
        hint = "; a Series becomes a table with to_frame()"
    raise UnsupportedFrameError(
        f"{kind} is not a supported table: anonrisk takes {SUPPORTED}{hint}"
    )
