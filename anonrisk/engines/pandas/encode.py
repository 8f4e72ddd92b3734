"""One column to small integer codes: equal cells, equal codes.

Cells may be Python objects or Arrow values: which may be compared, and which are equal.
"""

from __future__ import annotations

import datetime as dt
import enum
import numbers
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from anonrisk.engines.numpy.table import Codes
from anonrisk.errors import AnonRiskError, UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

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


# Below this many records a thread costs more than it saves.
_WORTH_A_THREAD = 200_000
# Integers that span no more than this serve as their own codes; counting does not mind the gaps.
_SPAN = 2**31
_ONE_AT_A_TIME = Lock()
# What is known of each table that somebody asks about, the latest first.
_REMEMBERED: ContextVar[tuple[tuple[Any, dict[Any, Codes]], ...]] = ContextVar(
    "remembered", default=()
)


@contextmanager
def remembering(frame: Any) -> Iterator[None]:
    """Encode each column of a table once for all that is asked inside."""
    before = _REMEMBERED.set(((frame, remembered(frame)), *_REMEMBERED.get()))
    try:
        yield
    finally:
        _REMEMBERED.reset(before)


def remembered(frame: Any) -> dict[Any, Codes]:
    """Return the codes of columns that are known; a new dict where none are remembered."""
    return next((codes for known, codes in _REMEMBERED.get() if known is frame), {})


def column_of(frame: pd.DataFrame, name: Name) -> pd.Series[Any]:
    """Get a column by position: a label may be a tuple, or look like an indexer of pandas."""
    column: Any = frame.iloc[:, _place(frame.columns, name)]
    return with_one_missing(cast("pd.Series[Any]", column))


def _place(columns: pd.Index[Any], name: Name) -> int:
    """Find a label; pandas knows the places of plain ones, of which a table may have thousands."""
    if type(columns) is pd.Index and columns.is_unique:
        place = columns.get_loc(name)
        if isinstance(place, int):
            return place
    return list(columns).index(name)


def encode(frame: pd.DataFrame, roles: Mapping[Name, str]) -> dict[Name, Codes]:
    """Encode some columns of a table, side by side where it is large."""
    return side_by_side(
        lambda name: encode_column(column_of(frame, name), name, roles[name]),
        roles,
        len(frame),
        remembered(frame),
    )


def side_by_side(
    encoder: Callable[[Name], Codes], names: Iterable[Name], n_rows: int, known: dict[Name, Codes]
) -> dict[Name, Codes]:
    """Encode the columns that are not known yet, one in each thread where there are many rows."""
    new = [name for name in names if name not in known]
    if n_rows < _WORTH_A_THREAD or len(new) <= 1:
        known |= {name: encoder(name) for name in new}
        return {name: known[name] for name in names}
    # pyarrow and the hash tables of pandas release the interpreter while they work.
    with ThreadPoolExecutor(min(len(new), os.cpu_count() or 1)) as pool:
        known |= zip(new, pool.map(encoder, new), strict=True)
    # Arrow keeps what it freed; counting comes next and needs room of its own.
    release_arrow()
    return {name: known[name] for name in names}


def refuse_nested(dtype: Any, name: Name, role: str) -> None:
    """Reject a type whose cells are lists, maps or structs."""
    if isinstance(dtype, pd.ArrowDtype) and arrow_nested(dtype.pyarrow_dtype):
        raise UnsupportedColumnError(
            f"{role} {name!r} holds values of type {dtype}, which cannot be compared as one cell"
        )


def encode_column(column: Any, name: Name, role: str) -> Codes:
    """Encode one column, of pandas or of Arrow."""
    try:
        return _dispatch(column, name, role)
    except AnonRiskError:
        raise
    # Errors of other libraries may quote the cell that upset them.
    except Exception as error:  # noqa: BLE001
        reason = "unhashable" if "unhashable" in str(error) else type(error).__name__
        raise UnsupportedColumnError(
            f"{role} {name!r} holds values that cannot be compared as one cell ({reason})"
        ) from None


def _dispatch(column: Any, name: Name, role: str) -> Codes:
    if not isinstance(column, pd.Series):
        return _of_arrow(arrow_with_one_missing(column), name, role)
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(column, name, role)
    if isinstance(dtype, np.dtype):
        return _plain(column, name, role)
    if not _is_arrow(dtype):
        return _factorized(column.array)
    arrays: Any = column.array
    return _of_arrow(arrays.__arrow_array__(), name, role)


def _of_arrow(arrow: Any, name: Name, role: str) -> Codes:
    return _arrow_span(arrow) or _dictionary(arrow, name, role)


def _plain(column: pd.Series[Any], name: Name, role: str) -> Codes:
    values = column.to_numpy()
    if values.dtype.kind == "b":
        return Codes(values.view(np.uint8), 2)
    if values.dtype.kind in "iu" and len(values):
        spanned = _span(values)
        if spanned is not None:
            return spanned
    if values.dtype.kind == "O":
        return _objects(column, name, role)
    # pandas has no hash tables for numbers in the byte order of another machine.
    return _factorized(values.astype(values.dtype.newbyteorder("="), copy=False))


def _span(values: NDArray[Any]) -> Codes | None:
    low, high = int(values.min()), int(values.max())
    span = high - low + 1
    if span > _SPAN:
        return None
    # Subtracted in the column's own width, then narrowed: the difference fits by construction.
    shifted = values if low == 0 else values - values.dtype.type(low)
    if low != 0 and values.dtype.kind == "i":
        # An int8 column from -128 to 127 wraps around; seen as unsigned it is right again.
        shifted = shifted.view(f"u{values.dtype.itemsize}")
    return Codes(_narrow(shifted, span), span)


def _arrow_span(arrow: Any) -> Codes | None:
    """Let whole numbers and days of Arrow be their own codes, as those of NumPy are."""
    integers = arrow_integers(arrow)
    if integers is None:
        return None
    values, missing = integers
    spanned = _span(values)
    if spanned is None or missing is None:
        return spanned
    return _with_missing(
        np.where(missing, -1, spanned.values.astype(np.int64)), spanned.cardinality
    )


def _categories(column: pd.Series[Any], name: Name, role: str) -> Codes:
    categories, codes = column.cat.categories, column.cat.codes.to_numpy()
    if categories.dtype == object:
        used = np.bincount(codes[codes >= 0], minlength=len(categories)) > 0
        refuse_mixed(categories.to_numpy()[used], name, role)
    return _with_missing(codes, len(categories))


def _objects(column: pd.Series[Any], name: Name, role: str) -> Codes:
    values = column.to_numpy()
    # Python objects are hashed one at a time anyway; side by side they would only take more room.
    with _ONE_AT_A_TIME:
        codes, uniques = pd.factorize(values)
    kinds = kinds_of(uniques, name, role)
    # 1, 1.0 and True hash alike, so that one of them hides the others among the uniques.
    hiding = any(map(may_hide_another, kinds))
    refuse_mixed(values[codes >= 0] if hiding else uniques, name, role)
    if are_instants(uniques):
        codes, uniques = pd.factorize(as_instants(values))
    return _with_missing(codes, len(uniques))


def _factorized(array: Any) -> Codes:
    codes, uniques = pd.factorize(array)
    # A nullable Float64 keeps NaN apart from NA, depending on the version of pandas.
    unknown = np.asarray(pd.isna(np.asarray(uniques, dtype=float))) if _is_float(uniques) else None
    if unknown is not None and unknown.any():
        codes = np.where((codes < 0) | unknown[codes], -1, codes)
    return _with_missing(codes, len(uniques))


def _is_float(values: Any) -> bool:
    return getattr(values.dtype, "kind", "O") == "f"


def _is_arrow(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype) or (
        isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow")
    )


def _dictionary(arrow: Any, name: Name, role: str) -> Codes:
    encoded = arrow_dictionary(arrow)
    if encoded is None:
        return _objects(pd.Series(arrow.to_pylist(), dtype=object), name, role)
    codes, uniques = encoded
    mapping = arrow_merges(uniques)
    n_missing = codes.null_count
    size = len(uniques)
    values: NDArray[Any] = codes.fill_null(size).to_numpy() if n_missing else codes.to_numpy()
    if mapping is None:
        return Codes(_narrow(values, size + bool(n_missing)), size + bool(n_missing), n_missing)
    return _with_missing(np.append(mapping, -1)[values], size)


def _with_missing(codes: NDArray[Any], size: int) -> Codes:
    """Turn the -1 by which pandas marks a missing value into the last code."""
    absent = codes < 0
    n_missing = int(np.count_nonzero(absent))
    if not n_missing:
        return Codes(_narrow(codes, size), max(size, 1))
    return Codes(_narrow(np.where(absent, size, codes), size + 1), size + 1, n_missing)


def _narrow(codes: NDArray[Any], cardinality: int) -> NDArray[Any]:
    """Keep codes in the fewest bytes that hold them."""
    return codes.astype(np.min_scalar_type(max(cardinality - 1, 0)), copy=False)
