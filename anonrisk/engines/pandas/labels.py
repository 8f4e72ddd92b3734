"""What a pandas table publishes beside its columns: labels of its rows, and fields of structs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

# A filter that keeps one row in a hundred leaves row numbers; an id is usually longer.
_ROWS_A_NUMBER = 100


def row_labels(index: pd.Index) -> str | None:
    """Return what rows are labelled by without a name: row numbers after a filter, or more.

    Row numbers are whole, unique, increasing, at least 0 and below 100 times the rows.
    """
    if None not in index.names:
        return None
    if isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1):
        return None
    return "row numbers" if _are_row_numbers(index) else "unnamed"


def _are_row_numbers(index: pd.Index) -> bool:
    if isinstance(index, pd.MultiIndex) or not pd.api.types.is_integer_dtype(index.dtype):
        return False
    if not len(index):
        return True
    if index.hasnans or not (index.is_monotonic_increasing and index.is_unique):
        return False
    return bool(index[0] >= 0 and index[-1] < _ROWS_A_NUMBER * len(index))


def with_labels(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Bring the index back among the columns; a level without a name gets this one."""
    moved = frame.copy(deep=False)
    moved.index = moved.index.set_names(level_names(frame.index.names, name))
    # A name that is then there twice is refused where it is asked for.
    return moved.reset_index(allow_duplicates=True)


def level_names(value: Sequence[Any], name: str) -> list[Any]:
    """Name every level of an index: the first without a name gets this one, others a number too."""
    unnamed = iter([name, *(f"{name} {i}" for i in range(2, len(value) + 1))])
    return [next(unnamed) if level is None else level for level in value]


def nested(frame: pd.DataFrame) -> list[str]:
    """List the paths inside columns: of Arrow's structs and unions, and of mappings in cells."""
    results: dict[str, None] = {}
    for position, (name, dtype) in enumerate(frame.dtypes.items()):
        if isinstance(dtype, pd.ArrowDtype):
            results.update(dict.fromkeys(_paths(str(name), dtype.pyarrow_dtype)))
        elif pd.api.types.is_object_dtype(dtype):
            _look_inside(str(name), frame.iloc[:, position], results)
    return list(results)


def _look_inside(name: str, column: pd.Series[Any], result: dict[str, None]) -> None:
    """Collect the keys of mappings; the first cell tells whether a column holds any."""
    # What is missing is None, NaN or NaT; cells of other kinds may not like to be compared.
    known = next((c for c in column if c is not None and not isinstance(c, float)), None)
    if not isinstance(known, (dict, list, tuple)):
        return
    for cell in column:
        _keys(name, cell, result)


def _keys(name: str, cell: Any, result: dict[str, None]) -> None:
    if isinstance(cell, (list, tuple)):
        for item in cell:
            _keys(name, item, result)
    elif isinstance(cell, dict):
        for key, value in cell.items():
            below = f"{name}.{key}"
            result[below] = None
            _keys(below, value, result)


def _paths(name: str, kind: Any) -> list[str]:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _paths(name, kind.storage_type)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        results = []
        for field in map(kind.field, range(kind.num_fields)):
            below = f"{name}.{field.name}"
            results += [below, *_paths(below, field.type)]
        return results
    if pa.types.is_map(kind):
        return _paths(name, kind.key_type) + _paths(name, kind.item_type)
    value_type = getattr(kind, "value_type", None)
    return [] if value_type is None else _paths(name, value_type)
