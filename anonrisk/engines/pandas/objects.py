"""Cells that are Python objects or Arrow values: which may be compared, and which are equal."""

from __future__ import annotations

import datetime as dt
import enum
import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from anonrisk.columns import Name

# Types that Python holds equal across each other, or that are one notion under two names; the
# first that fits is the kind of a cell. bool comes before int, datetime before date, because one
# is derived from the other.
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("bytes", (bytes,)),
    ("boolean", (bool, np.bool_)),
    ("integer", (int, np.integer)),
    ("float", (float, np.floating)),
    ("timestamp", (dt.datetime,)),
    ("date", (dt.date,)),
    ("time", (dt.time,)),
    ("duration", (dt.timedelta,)),
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
    """Tell whether a cell of this type can equal one of another type, as 1, 1.0 and True do."""
    return issubclass(kind, (numbers.Number, np.bool_))


def refuse_mixed(values: Collection[Any], name: Name, role: str) -> None:
    """Refuse cells of different kinds in one column: nobody knows whether 1 is 1.0, or True."""
    types = kinds_of(values, name, role)
    found = sorted({_kind(kind) for kind in types})
    if found == ["timestamp"] and len({value.tzinfo is None for value in values}) > 1:
        found = ["timestamp with zone", "timestamp without zone"]
    if len(found) > 1:
        raise UnsupportedColumnError(
            f"{role} {name!r} mixes types ({', '.join(found)}); convert the column to one of them"
        )


def _kind(type_: type) -> str:
    for kind, types in _KINDS:
        if issubclass(type_, types):
            return kind
    return type_.__qualname__


def same_instants(uniques: NDArray[Any]) -> NDArray[np.int64] | None:
    """Map timestamps that carry zones to one code per instant; None if these are not such.

    Python itself calls two aware datetimes unequal where one falls into the repeated hour of a
    clock change, even if they are the same instant.
    """
    if not len(uniques) or not isinstance(uniques[0], dt.datetime) or uniques[0].tzinfo is None:
        return None
    instants = [value.astimezone(dt.UTC).replace(tzinfo=None) for value in uniques]
    codes, _ = pd.factorize(np.array(instants, dtype=object))
    return codes


def arrow_nested(dtype: Any) -> bool:
    """Tell whether an Arrow type has cells made of other cells."""
    import pyarrow as pa

    if pa.types.is_dictionary(dtype):
        return arrow_nested(dtype.value_type)
    return bool(pa.types.is_nested(dtype))


def arrow_dictionary(arrow: Any) -> tuple[Any, Any] | None:
    """Give an Arrow column's codes and uniques; None where Arrow cannot encode its type."""
    import pyarrow as pa

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


def release_arrow() -> None:
    """Give memory that Arrow has freed back to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


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


def is_scale(column: pd.Series[Any]) -> bool:
    """Tell whether a column holds floats or dates."""
    dtype: Any = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        known = column[column.notna()].iloc[:1]
        return any(isinstance(value, (float, np.floating, dt.date)) for value in known)
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        kind = dtype.pyarrow_dtype
        return any(
            test(kind) for test in (pa.types.is_floating, pa.types.is_date, pa.types.is_timestamp)
        )
    return getattr(dtype, "kind", "O") in "fM" and not isinstance(dtype, pd.CategoricalDtype)
