"""Puts `.anon` on the tables of the libraries that are installed."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from anonrisk.accessor import AnonAccessor


class _OnSpark:
    """A descriptor that makes an accessor for each Spark table it is looked up on."""

    def __get__(self, frame: Any, owner: Any = None) -> Any:
        return AnonAccessor if frame is None else AnonAccessor(frame)


def register_pandas() -> None:
    """Register with pandas."""
    # pandas warns when an attribute is replaced, as it is when the module is reloaded.
    if getattr(pd.DataFrame, "anon", None) is not AnonAccessor:
        pd.api.extensions.register_dataframe_accessor("anon")(AnonAccessor)


def register_spark() -> None:
    """Register with Spark, where it is installed: classic and Connect."""
    try:
        from pyspark.sql import DataFrame
    except ImportError:
        return
    targets: list[Any] = [DataFrame]
    # In Spark 4 both kinds of table derive from this class; in 3.5 they do not.
    if DataFrame.__module__ == "pyspark.sql.dataframe" and hasattr(DataFrame, "_sc"):
        targets += _connect_frame()
    for target in targets:
        target.anon = _OnSpark()


def register_polars() -> None:
    """Register with Polars, where it is imported already: importing it takes a second."""
    polars = sys.modules.get("polars")
    if polars is not None and not hasattr(polars.DataFrame, "anon"):
        polars.api.register_dataframe_namespace("anon")(AnonAccessor)


def _connect_frame() -> list[Any]:
    try:
        from pyspark.sql.connect.dataframe import DataFrame
    except ImportError:
        # grpc is not installed, so that no Connect table can exist.
        return []
    return [DataFrame]
