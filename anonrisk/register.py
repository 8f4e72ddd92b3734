"""Puts `.anon` on the tables of the libraries that are installed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.accessor import AnonAccessor
from anonrisk.engines.held import HeldTable

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _OnTable:
    """A descriptor that makes an accessor for each table it is looked up on."""

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
        target.anon = _OnTable()


def register_held() -> None:
    """Register with tables that are held together with their roles."""
    HeldTable.anon = _OnTable()  # type: ignore[attr-defined]


def register_polars() -> None:
    """Register with Polars: at once if it is imported already, else when it will be.

    Importing it here would take a second of everybody who does not use it.
    """
    polars = sys.modules.get("polars")
    if polars is None:
        if not any(isinstance(finder, _WhenPolarsComes) for finder in sys.meta_path):
            sys.meta_path.insert(0, _WhenPolarsComes())
        return
    for kind in ("DataFrame", "LazyFrame"):
        # A file of the user's own may have that name, too.
        if hasattr(polars, kind):
            getattr(polars, kind).anon = _OnTable()


class _WhenPolarsComes:
    """Finds nothing by itself: it has Polars found by others, once, and watches it being loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Tell how Polars is loaded, if that is what is looked for."""
        if name != "polars":
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        found = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        specs = (find(name, path, target) for find in found if find is not None)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                register_polars()

            # Of this one loader, which Python made for this one import.
            spec.loader.exec_module = load_and_register
        return spec


def _connect_frame() -> list[Any]:
    try:
        from pyspark.sql.connect.dataframe import DataFrame
    except ImportError:
        # grpc is not installed, so that no Connect table can exist.
        return []
    return [DataFrame]
