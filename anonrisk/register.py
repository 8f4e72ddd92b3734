"""Puts `.anon` on the tables of libraries, when they are imported: before this package or after."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from anonrisk.accessor import AnonAccessor
from anonrisk.engines.held import HeldTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _OnTable:
    """A descriptor that makes an accessor for each table it is looked up on."""

    def __get__(self, frame: Any, owner: Any = None) -> Any:
        return AnonAccessor if frame is None else AnonAccessor(frame)


def register() -> None:
    """Register with what is imported already at once, and with the others when they come."""
    HeldTable.anon = _OnTable()  # type: ignore[attr-defined]
    for name, put in _LIBRARIES.items():
        if name in sys.modules:
            put(sys.modules[name])
    if not any(type(finder).__name__ == _WhenImported.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


def _on_pandas(pandas: Any) -> None:
    # A file of the user's own may have that name, too; and pandas warns when an attribute is
    # replaced, as it is when this module is loaded again.
    frame = getattr(pandas, "DataFrame", None)
    if frame is not None and getattr(frame, "anon", None) is not AnonAccessor:
        pandas.api.extensions.register_dataframe_accessor("anon")(AnonAccessor)


def _on_frames(module: Any) -> None:
    for kind in ("DataFrame", "LazyFrame"):
        if hasattr(module, kind):
            getattr(module, kind).anon = _OnTable()


def _on_pandas_on_spark(_: Any) -> None:
    from anonrisk import pandas_on_spark  # noqa: F401


# In Spark 4 tables of classic and of Connect derive from one class; in 3.5 they do not.
_LIBRARIES: dict[str, Callable[[Any], None]] = {
    "pandas": _on_pandas,
    "polars": _on_frames,
    "pyspark.sql.dataframe": _on_frames,
    "pyspark.sql.connect.dataframe": _on_frames,
    "pyspark.pandas": _on_pandas_on_spark,
}


class _WhenImported:
    """Finds nothing by itself: it has a library found by others, and watches it being loaded."""

    def __init__(self) -> None:
        self.looking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how a library is loaded, if it is one of those."""
        put = _LIBRARIES.get(name)
        if put is None or name in self.looking:
            return None
        self.looking.add(name)
        try:
            others = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
            specs = (find(name, path, target) for find in others if find is not None)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            self.looking.discard(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                put(module)

            # Of this one loader, which Python made for this one import.
            spec.loader.exec_module = load_and_register
        return spec
