"""What a pandas table is: labels and types, categories, and the roles and marks in its `attrs`.

Errors of pandas, and of the objects in its cells, are replaced by ours: they may quote a cell.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from anonrisk.core.column_roles import Roles
from anonrisk.engines.held import ROLES_KEY
from anonrisk.engines.pandas import encode
from anonrisk.engines.reading.parquet_files import OURS
from anonrisk.errors import AnonRiskError, EngineError, RolesLostError, raise_alone
from anonrisk.measures.counts.schema import Schema, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid

Kind = TypeVar("Kind", bound=type)


def guarded(kind: Kind) -> Kind:
    """Let our own errors out of all that is public in a class, and replace all others."""
    for name, method in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(method, property) and method.fget is not None:
            setattr(kind, name, property(_guarded(method.fget)))
        elif callable(method) and not isinstance(method, type):
            setattr(kind, name, _guarded(method))
    return kind


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except MemoryError:
            raise
        except AnonRiskError as error:
            raise_alone(error)
        # A cell may be an object whose own methods raise.
        except Exception as error:  # noqa: BLE001
            raise_alone(
                EngineError(
                    f"this table could not be read ({type(error).__qualname__}, of "
                    f"{type(error).__module__}); the message is withheld because it may quote a "
                    "cell. Look at columns of Python objects; of a query, run it by itself."
                )
            )

    return call


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


def stored(frame: pd.DataFrame) -> Stored:
    """Count the categories of each column, and of the index, that no row has."""
    columns = [(str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
    results = {name: n for name, column in columns if (n := _n_unused(column))}
    lines = [
        f"df[{name!r}] = {_line(frame[name])}" for name in frame.columns if str(name) in results
    ]
    if n_labels := _n_unused(frame.index.to_series()):
        results["index"] = n_labels
        lines.append("df.index = df.index.remove_unused_categories()")
    others = "" if len(lines) < 2 else ", and the others likewise"
    return Stored(results, remedy=f"{lines[0]}{others}" if lines else "")


def without_unused(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the categories that its rows have, and with our own notes alone."""
    made = frame.copy(deep=False)
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        if _is_dictionary(column.dtype):
            # As a category of pandas, which reads no other dictionary of its files again.
            held = column.array.__arrow_array__().to_pandas()
            column = pd.Series(held.array, index=column.index, name=column.name)
        if isinstance(column.dtype, pd.CategoricalDtype):
            made.isetitem(i, column.cat.remove_unused_categories().array)
    made.attrs = {key: value for key, value in frame.attrs.items() if key in OURS}
    return made


def _n_unused(column: Any) -> int:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        return len(dtype.categories) - int(np.count_nonzero(np.bincount(codes[codes >= 0])))
    if _is_dictionary(dtype):
        from anonrisk.engines.reading.storage import n_unused

        return n_unused(column.array.__arrow_array__())
    return 0


def _line(column: Any) -> str:
    if _is_dictionary(column.dtype):
        return f"df[{column.name!r}].astype('category').cat.remove_unused_categories()"
    return f"df[{column.name!r}].cat.remove_unused_categories()"


def _is_dictionary(dtype: Any) -> bool:
    if not isinstance(dtype, pd.ArrowDtype):
        return False
    import pyarrow as pa

    return bool(pa.types.is_dictionary(dtype.pyarrow_dtype))


_ATTRS_KEY = "anonrisk_perturbed"
COLUMNS_KEY = "anonrisk_perturbed_among"


@guarded
class PandasSchema(Schema):
    """What a pandas table is."""

    @property
    def columns(self) -> Qid:
        """The column labels."""
        return tuple(self.frame.columns.tolist())

    @property
    def index(self) -> tuple[Name | None, ...]:
        """The names of the index; None for labels without one that do not number rows."""
        unnamed = [None] if self.row_labels == "unnamed" else []
        return (*(name for name in self.frame.index.names if name is not None), *unnamed)

    @property
    def row_labels(self) -> str | None:
        """What the index is where it, or a level of it, has no name."""
        return row_labels(self.frame.index)

    @property
    def roles(self) -> Roles | None:
        """The roles in `attrs`."""
        stored = self.frame.attrs.get(ROLES_KEY)
        return None if stored is None else Roles.from_dict(stored)

    @property
    def perturbed(self) -> Mapping[Name, str]:
        """The columns that `attrs` tell were changed.

        Where one is gone, every column that is new may be it under another name.
        """
        frame = self.frame
        marks = _marks(frame)
        columns = list(frame.columns)
        results = {name: step for name, step in marks if name in columns}
        known = frame.attrs.get(COLUMNS_KEY, columns)
        for name, step in marks:
            if name not in columns and name not in frame.index.names:
                new = [column for column in columns if column not in known]
                results |= dict.fromkeys(new, f"{step} of {name!r}, which is gone: renamed?")
        return results

    def check(self, roles: Mapping[Name, str]) -> None:
        """Reject nested types; what an object column holds is only seen when it is encoded."""
        for name, role in roles.items():
            encode.refuse_nested(encode.column_of(self.frame, name).dtype, name, role)

    def nested(self) -> Sequence[str]:
        """List the paths inside Arrow's structs, and inside cells that are mappings."""
        return nested(self.frame)

    def stored(self) -> Stored:
        """Count the categories that no row has, of columns and of the index."""
        return stored(self.frame)

    def has_rows(self) -> bool:
        """Return whether there is any row."""
        return len(self.frame) > 0

    def scale_of(self, column: Name) -> str | None:
        """Look at the type, and where that is `object` at the first value."""
        return encode.scale_of(encode.column_of(self.frame, column))

    def largest_whole(self, column: Name) -> float | None:
        """Look at all values."""
        from anonrisk.engines.pandas import recode

        numbers = recode.as_floats(encode.column_of(self.frame, column), column)
        numbers = numbers[~np.isnan(numbers)]
        # An infinite one less itself is no number, and so not zero.
        with np.errstate(invalid="ignore"):
            whole = numbers - np.floor(numbers) == 0
        return float(np.abs(numbers).max(initial=0)) if whole.all() else None

    def is_whole(self, column: Name) -> bool:
        """Look at all values: pandas makes whole numbers floats where one is missing."""
        from anonrisk.engines.pandas import recode

        return recode.kind_of_all(encode.column_of(self.frame, column)) == "whole"

    def is_text(self, column: Name) -> bool:
        """Look at the first known value."""
        from anonrisk.engines.pandas import recode

        return recode.kind_of(encode.column_of(self.frame, column)) in ("text", None)


def with_roles(frame: pd.DataFrame, roles: Roles) -> pd.DataFrame:
    """Keep the roles in `attrs`, as plain values, which survive a Parquet file."""
    declared = frame.copy(deep=False)
    declared.attrs = {**frame.attrs, ROLES_KEY: roles.to_dict()}
    return declared


def marked(frame: pd.DataFrame, columns: Qid, step: str) -> pd.DataFrame:
    """Keep in `attrs` that equality of these columns' cells means nothing any more."""
    earlier = _marks(frame)
    marks = [*(pair for pair in earlier if pair[0] not in columns), *((c, step) for c in columns)]
    # The columns of the first time, so that a rename is noticed later.
    known = frame.attrs.get(COLUMNS_KEY, list(frame.columns))
    listed = [list(pair) for pair in marks]
    frame.attrs = {**frame.attrs, _ATTRS_KEY: listed, COLUMNS_KEY: known}
    return frame


def _marks(frame: pd.DataFrame) -> list[tuple[Any, str]]:
    """Read pairs of a column and a step; what cannot be read might have been any column."""
    stored = frame.attrs.get(_ATTRS_KEY, ())
    try:
        marks = [(name, step) for name, step in stored]
        listed = isinstance(frame.attrs.get(COLUMNS_KEY, []), list)
        if listed and all(isinstance(step, str) and hash(name) is not None for name, step in marks):
            return marks
    except (TypeError, ValueError):
        pass
    raise RolesLostError(
        "the table says that columns were changed at random, but not which: the mark is damaged"
    )
