"""Cells that are Python objects or Arrow values: which may be compared, and which are equal."""

from __future__ import annotations

import datetime as dt
import enum
import numbers
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name

# Types that Python holds equal across each other, or that are one notion under two names; the
# first that fits is the kind of a cell. bool comes before int, timedelta64 before integer, datetime
# before date, because one is derived from the other.
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("bytes", (bytes,)),
    ("boolean", (bool, np.bool_)),
    ("duration", (dt.timedelta, np.timedelta64)),
    ("integer", (int, np.integer)),
    ("float", (float, np.floating)),
    ("timestamp", (dt.datetime,)),
    ("date", (dt.date,)),
    ("time", (dt.time,)),
    ("period", (pd.Period,)),
    ("interval", (pd.Interval,)),
)


def kinds_of(values: Collection[Any], name: Name, role: str) -> set[type]:
    """List the types of some cells, refusing those without an equality as one cell."""
    types = set(map(type, values))
    for kind in types:
        own_equality = "__eq__" in _defined(kind) or issubclass(kind, enum.Enum)
        nested = issubclass(kind, Iterable) and not issubclass(kind, (str, bytes, enum.Enum))
        if nested or not own_equality:
            raise UnsupportedColumnError(
                f"{role} {name!r} holds values of type {kind.__name__}, "
                "which cannot be compared as one cell"
            )
    return types


def _defined(kind: type) -> set[str]:
    return {name for base in kind.__mro__[:-1] for name in vars(base)}


def may_hide_another(kind: type) -> bool:
    """Return whether a cell of this type can equal one of another type, as 1, 1.0 and True do."""
    return issubclass(kind, (numbers.Number, np.bool_))


def refuse_mixed(values: Collection[Any], name: Name, role: str) -> None:
    """Reject cells of different kinds in one column: nobody knows whether 1 is 1.0, or True."""
    types = kinds_of(values, name, role)
    results = sorted({_kind(kind) for kind in types})
    if results in (["timestamp"], ["time"]) and len({v.tzinfo is None for v in values}) > 1:
        results = [f"{results[0]} with zone", f"{results[0]} without zone"]
    if len(results) > 1:
        raise UnsupportedColumnError(
            f"{role} {name!r} mixes types ({', '.join(results)}); convert the column to one of them"
        )


def _kind(type_: type) -> str:
    for kind, types in _KINDS:
        if issubclass(type_, types):
            return kind
    return type_.__qualname__


def are_instants(uniques: NDArray[Any]) -> bool:
    """Return whether these are timestamps that carry zones."""
    first = uniques[0] if len(uniques) else None
    return isinstance(first, dt.datetime) and first.tzinfo is not None


def as_instants(values: NDArray[Any]) -> NDArray[Any]:
    """Turn timestamps that carry zones into what a clock in Greenwich shows.

    Python itself compares two of the same zone by the clock on the wall: in the hour that a clock
    change repeats, it calls different instants equal, and equal ones of two zones different.
    """
    known = ~pd.isna(values)
    instants = values.copy()
    instants[known] = [v.astimezone(dt.UTC).replace(tzinfo=None) for v in values[known]]
    return instants


def arrow_nested(dtype: Any) -> bool:
    """Return whether an Arrow type has cells made of other cells."""
    import pyarrow as pa

    if pa.types.is_dictionary(dtype):
        return arrow_nested(dtype.value_type)
    return bool(pa.types.is_nested(dtype))


def arrow_dictionary(arrow: Any) -> tuple[Any, Any] | None:
    """Return an Arrow column's codes and uniques; None where Arrow cannot encode its type."""
    import pyarrow as pa

    if pa.types.is_null(arrow.type) or not len(arrow):
        # Arrow cannot bring the chunks of a column without any value together.
        return None
    if pa.types.is_dictionary(arrow.type):
        # Its own dictionary may hold a value twice, or a null.
        arrow = arrow.cast(arrow.type.value_type)
    try:
        encoded = arrow.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else None
    if encoded is None:
        return None
    return encoded.indices, encoded.dictionary


def arrow_integers(arrow: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None] | None:
    """Return whole numbers, or days as such, and which are missing; None where there are none.

    In place of a missing one stands the least of the others.
    """
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_date32(arrow.type):
        arrow = arrow.cast(pa.int32())
    if not pa.types.is_integer(arrow.type) or arrow.null_count == len(arrow):
        return None
    if not arrow.null_count:
        return arrow.to_numpy(), None
    filled = arrow.fill_null(compute.min(arrow))
    return filled.to_numpy(), arrow.is_null().to_numpy(zero_copy_only=False)


def with_one_missing(column: pd.Series[Any]) -> pd.Series[Any]:
    """Make the NaN of Arrow's floats null: pandas takes only the null for missing."""
    dtype: Any = column.dtype
    if not isinstance(dtype, pd.ArrowDtype) or dtype.kind != "f":
        return column
    cells = column.array.__arrow_array__()
    known = arrow_with_one_missing(cells)
    if known is cells:
        return column
    made = pd.arrays.ArrowExtensionArray(known)
    return pd.Series(made, index=column.index, name=column.name)


def arrow_with_one_missing(cells: Any) -> Any:
    """Make the NaN of an Arrow column null; the same column where there is none."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_floating(cells.type):
        return cells
    unknown = compute.is_nan(cells)
    return compute.if_else(unknown, None, cells) if compute.any(unknown).as_py() else cells


def without_views(column: pd.Series[Any]) -> pd.Series[Any]:
    """Make text as views, of which Arrow can take no rows, text as it usually is."""
    dtype: Any = column.dtype
    if not isinstance(dtype, pd.ArrowDtype) or str(dtype.pyarrow_dtype) != "string_view":
        return column
    import pyarrow as pa

    made = column.array.__arrow_array__().cast(pa.large_string())
    return pd.Series(pd.arrays.ArrowExtensionArray(made), index=column.index, name=column.name)


def release_arrow() -> None:
    """Return memory that Arrow has freed to the system, where it is in use."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()


def arrow_merges(uniques: Any) -> NDArray[np.int64] | None:
    """Map each Arrow value to a code, -1 for missing; None where every value is its own."""
    import pyarrow as pa

    if pa.types.is_floating(uniques.type):
        # Arrow tells 0.0 from -0.0 and NaN from null; we do not.
        return np.asarray(pd.factorize(uniques.to_numpy(zero_copy_only=False))[0])
    if uniques.null_count:
        present = np.asarray(uniques.is_valid())
        return np.where(present, np.arange(len(uniques)), -1)
    return None


def scale_of(column: pd.Series[Any]) -> str | None:
    """Return "floats" or "dates" where a column holds those, by its type or its first value."""
    dtype: Any = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        value = next(iter(column[column.notna()].iloc[:1]), None)
        floats, dates = isinstance(value, (float, np.floating)), isinstance(value, dt.date)
    elif isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        kind = dtype.pyarrow_dtype
        floats = pa.types.is_floating(kind)
        dates = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    else:
        code = "O" if isinstance(dtype, pd.CategoricalDtype) else getattr(dtype, "kind", "O")
        floats, dates = code == "f", code == "M"
    return "floats" if floats else "dates" if dates else None
