"""Recodings applied to pandas columns, and new numbers in the type of an old column."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core import radix
from anonrisk.engines import limits, refusals
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.contents import is_whole
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.table import PandasTable, plain
from anonrisk.engines.refusals import not_numbers
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import ArgumentError, UnsupportedColumnError
from anonrisk.measures.counts.change import RecodeByRegion, UnseenCounts
from anonrisk.measures.recode import Bins, Keep, Star, TopBottom
from anonrisk.measures.recode.edges import bins_at
from anonrisk.measures.recode.recoding import MARKER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.change import Recode
    from anonrisk.measures.recode import Recoding
    from anonrisk.measures.recode.regions import Regions


def in_intervals(frame: pd.DataFrame, widths: Mapping[Name, float]) -> pd.DataFrame:
    """Return the table with the number of its interval in place of each value."""
    changed = frame.copy(deep=False)
    for name, width in widths.items():
        changed[name] = _numbered(column_of(frame, name), name, width)
    changed.attrs = dict(frame.attrs)
    return changed


def _numbered(column: pd.Series[Any], name: Name, width: float) -> pd.Series[Any]:
    if column.dtype == object:
        column = _of_objects(column, name)
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        raise not_numbers(name)
    if pd.api.types.is_integer_dtype(column.dtype) and width == int(width):
        return column // int(width)
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(np.floor(values / width), index=column.index)


def _of_objects(column: pd.Series[Any], name: Name) -> pd.Series[Any]:
    known = column[column.notna()]
    kinds = set(known.map(type))
    if not all(issubclass(kind, (int, float, Decimal, np.number)) for kind in kinds):
        raise not_numbers(name)
    if any(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        raise not_numbers(name)
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        return column.astype("Int64")
    return column.map(float, na_action="ignore").astype("Float64")


# More digits than any type of decimals has.
_EXACT = Context(prec=400)


def type_decides(column: pd.Series[Any]) -> str:
    """Return by its type what a column of numbers is: "whole", "decimal" or "float"."""
    if is_whole(column, column.notna().to_numpy()):
        return "whole"
    return "decimal" if _is_decimal(column) else "float"


def without_categories(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the cells of a categorical column in the type of its categories."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object).infer_objects()
    return column


def _is_decimal(column: pd.Series[Any]) -> bool:
    if isinstance(column.dtype, pd.ArrowDtype):
        return str(column.dtype).startswith("decimal")
    if not pd.api.types.is_object_dtype(column.dtype):
        return False
    return isinstance(next(iter(column[column.notna()]), None), Decimal)


def bounds(column: pd.Series[Any]) -> tuple[float, float] | None:
    """Return the least and the largest number that the column's type holds; None if it has none."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("decimal"):
        stored: Any = dtype.pyarrow_dtype
        return limits.decimal_bounds(stored.precision, stored.scale)
    plain = getattr(dtype, "numpy_dtype", dtype)
    if plain.kind not in "iu":
        return None
    held = np.iinfo(plain)
    return int(held.min), int(held.max)


def in_type(column: pd.Series[Any], values: NDArray[Any]) -> Any:
    """Write a number for each row in the column's type; what was missing stays missing."""
    missing = column.isna().to_numpy()
    if _is_decimal(column):
        return _decimals(column, values, missing)
    made: Any = pd.Series(values, index=column.index)
    if pd.api.types.is_object_dtype(column.dtype):
        return made.astype(object).mask(missing, None).array
    made = made.astype(column.dtype)
    return (made.mask(missing) if missing.any() else made).array


def as_decimal(number: Any, places: int, rounding: str | None = None) -> Decimal:
    """Write a number as a decimal with so many places."""
    return Decimal(repr(number) if isinstance(number, float) else int(number)).quantize(
        Decimal(1).scaleb(-places), rounding, context=_EXACT
    )


def decimal_ends(
    bottom: float | None, top: float | None, places: int
) -> tuple[Decimal | None, Decimal | None]:
    """Write the ends of a column inwards, so that no cell lies beyond what was asked for."""
    low = None if bottom is None else as_decimal(bottom, places, ROUND_CEILING)
    high = None if top is None else as_decimal(top, places, ROUND_FLOOR)
    # Where no decimal is between them, the one above.
    return low, high if low is None or high is None else max(low, high)


def places_of(column: pd.Series[Any]) -> int:
    """Count the places behind the point that a column of decimals has."""
    if isinstance(column.dtype, pd.ArrowDtype):
        stored: Any = column.dtype.pyarrow_dtype
        return int(stored.scale)
    exponents = [cell.as_tuple().exponent for cell in column[column.notna()]]
    return max((-e for e in exponents if isinstance(e, int)), default=0)


def _decimals(column: pd.Series[Any], values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    places, ends = places_of(column), bounds(column)
    if ends is not None:
        values = np.clip(values, *ends)
    cells = [
        None if lost else as_decimal(float(value), places)
        for value, lost in zip(values, missing, strict=True)
    ]
    return pd.Series(cells, index=column.index, dtype=column.dtype).array


def moved_whole(column: pd.Series[Any], drawn: NDArray[np.float64]) -> NDArray[Any]:
    """Add noise to whole numbers without leaving them; the ends of their type are not passed."""
    steps, ends = np.rint(drawn), bounds(column)
    if ends is None or ends[1] >= 2**63:
        low, high = ends or (-np.inf, np.inf)
        return np.array(
            [
                0 if lost else min(max(int(cell) + int(step), low), high)
                for cell, step, lost in zip(column, steps, column.isna(), strict=True)
            ],
            dtype=object,
        )
    cells = column.to_numpy(dtype=np.int64, na_value=0)
    low, high = ends
    total = cells + steps
    # In floats it is seen what would pass the end, where the sum of integers would begin anew.
    moved = cells + np.clip(steps, -9.2e18, 9.2e18).astype(np.int64)
    return np.where(total >= high, high, np.where(total <= low, low, moved))


def recode(frame: pd.DataFrame, change: Recode | RecodeByRegion) -> pd.DataFrame:
    """Return a table with some columns recoded."""
    new, unknown = _changed(frame, change)
    if change.unseen == "refuse":
        refusals.check_unseen(_counted(frame, unknown))
    made = replaced(frame, new)
    if change.unseen != "suppress" or not unknown:
        return made
    left = made.loc[~np.any(list(unknown.values()), axis=0)]
    columns = change.columns if isinstance(change, RecodeByRegion) else list(change.recodings)
    return without_unused(left, columns)


def unseen(frame: pd.DataFrame, change: Recode | RecodeByRegion) -> UnseenCounts:
    """Count the records that a change does not know."""
    return _counted(frame, _changed(frame, change)[1])


def _changed(
    frame: pd.DataFrame, change: Recode | RecodeByRegion
) -> tuple[dict[Name, Any], dict[Name | None, NDArray[np.bool_]]]:
    """Return new columns, and which records are unknown to each; None stands for all together."""
    if isinstance(change, RecodeByRegion):
        return _by_region(frame, change.regions)
    unknown: dict[Name | None, NDArray[np.bool_]] = {}
    new = {name: recoded(frame, name, r, unknown) for name, r in change.recodings.items()}
    return new, unknown


def _counted(frame: pd.DataFrame, unknown: Mapping[Name | None, NDArray[np.bool_]]) -> UnseenCounts:
    any_ = np.any(list(unknown.values()), axis=0) if unknown else np.zeros(0, dtype=bool)
    by_column = {name: int(rows.sum()) for name, rows in unknown.items() if name is not None}
    return UnseenCounts(len(frame), int(any_.sum()), by_column)


def without_unused(frame: pd.DataFrame, names: Sequence[Name]) -> pd.DataFrame:
    """Forget categories that no record has any more: they would still tell the value left out."""
    unused = {
        name: column_of(frame, name).cat.remove_unused_categories().array
        for name in names
        if isinstance(column_of(frame, name).dtype, pd.CategoricalDtype)
    }
    return replaced(frame, unused) if unused else frame


def replaced(frame: pd.DataFrame, columns: Mapping[Name, Any]) -> pd.DataFrame:
    """Return a table with other cells in some columns, which stay where they are."""
    changed = frame.copy(deep=False)
    labels: list[Any] = list(frame.columns)
    for name, cells in columns.items():
        changed.isetitem(labels.index(name), cells)
    return changed


def recoded(
    frame: pd.DataFrame,
    name: Name,
    recoding: Recoding,
    lost: dict[Name | None, NDArray[np.bool_]],
) -> Any:
    """Recode one column; say of which records the value is unknown, if of any."""
    column = column_of(frame, name)
    if isinstance(recoding, Keep):
        return column.array
    if isinstance(recoding, Star):
        return labelled(np.zeros(len(frame), dtype=np.int64), [recoding.label])
    if isinstance(recoding, (Bins, TopBottom)):
        refusals.check_kind(kind_of(column), recoding, name)
        if isinstance(recoding, TopBottom):
            return _clipped(column, recoding, name)
        numbers = as_floats(column, name)
        places = recoding.places(numbers)
        unknown = np.isnan(numbers)
        if unknown.any():
            places[unknown] = -1
        return labelled(places, recoding.labels)
    domain, codes = coded_rows(PandasTable(frame), name)
    if len(domain):
        refusals.check_kind(domain.kind, recoding, name)
    known = recoding.knows(domain)
    if known.all():
        groups, labels = recoding.groups(domain)
        return labelled(np.append(groups, -1)[codes], labels or [])
    lost[name] = np.append(~known, [False])[codes]
    some, names = recoding.groups(domain.only(known))
    labels = [*(names or []), recoding.for_unseen]
    groups = np.full(len(domain), len(labels) - 1)
    groups[known] = some
    return labelled(np.append(groups, -1)[codes], labels)


def _by_region(
    frame: pd.DataFrame, regions: Regions
) -> tuple[dict[Name, Any], dict[Name | None, NDArray[np.bool_]]]:
    """Return columns recoded by region; a record that is in none has a star in each."""
    places = []
    for name, recoding in regions.columns.items():
        domain, codes = coded_rows(PandasTable(frame), name)
        if len(domain):
            refusals.check_kind(domain.kind, recoding, name)
        groups, _ = recoding.groups(domain)
        places.append(np.append(groups, recoding.missing)[codes])
    sizes = [recoding.n_places + 1 for recoding in regions.columns.values()]
    # Each combination is looked up once; a place may be -1.
    keys, _ = radix.keys_of(((p + 1, n) for p, n in zip(places, sizes, strict=True)), closed_up)
    number, n_combinations = closed_up(keys)
    row = np.empty(n_combinations, dtype=np.int64)
    row[number] = np.arange(len(number))
    result = regions.find([place[row] for place in places])[number]
    # The star stands last, where the region -1 finds it.
    new: dict[Name, Any] = {
        name: labelled(np.append(label, len(labels))[result], [*labels, MARKER])
        for name, (label, labels) in regions.labels().items()
    }
    lost = result < 0
    return new, {None: lost} if lost.any() else {}


def labelled(places: NDArray[np.int64], labels: Sequence[str]) -> Any:
    """Label each record; one whose place is -1 gets none."""
    words = pd.Series(list(labels)) if labels else pd.Series([""])
    return words.array.take(places, allow_fill=True)


def quantile_bins(frame: pd.DataFrame, name: Name, n_bins: int) -> Bins:
    """Cut a column of numbers at its quantiles, moved to edges that are easy to name."""
    column = column_of(frame, name)
    kind = kind_of(column)
    if kind is None:
        raise ArgumentError(f"column {name!r} has no known value to cut at")
    refusals.check_kind(kind, Bins((0.0,)), name)
    numbers = as_floats(column, name)
    if np.isnan(numbers).any():
        numbers = numbers[~np.isnan(numbers)]
    elif isinstance(column.dtype, np.dtype):
        numbers = numbers.copy()
    limits.refuse_infinite(int(np.isinf(numbers).sum()), name)
    ranks = len(numbers) * np.arange(1, n_bins) // n_bins
    # Only the ranks that are asked for are put into place.
    numbers.partition(np.unique(np.concatenate(([0], ranks, [len(numbers) - 1]))))
    whole = kind == "whole"
    if column.dtype.kind not in "iu":
        whole = bool(np.all(numbers == np.floor(numbers)))
    return bins_at(numbers[ranks], float(numbers[0]), float(numbers[-1]), whole=whole)


def kind_of(column: pd.Series[Any]) -> str | None:
    """Return what a column holds by its first known value; None if it has none."""
    known = column.iloc[:1]
    if not len(known) or known.isna().any():
        known = column[column.notna().to_numpy()].iloc[:1]
    return plain(known)[0] if len(known) else None


def kind_of_all(column: pd.Series[Any]) -> str | None:
    """Return what a column holds by all of its known values; None if it has none."""
    known = column[column.notna().to_numpy()]
    return plain(known)[0] if len(known) else None


def as_floats(column: pd.Series[Any], name: Name) -> NDArray[np.float64]:
    """Read a column of numbers, missing as NaN."""
    try:
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        # The error of numpy would quote the cell.
        raise UnsupportedColumnError(f"column {name!r} is not a column of numbers") from None


def _clipped(column: pd.Series[Any], recoding: TopBottom, name: Name) -> Any:
    kind = type_decides(column)
    bottom, top = limits.ends_within(recoding, name, bounds(column))
    ends: dict[str, Any] = {"lower": bottom, "upper": top}
    if kind == "whole":
        for end in (recoding.bottom, recoding.top):
            if end is not None and end != int(end):
                raise ArgumentError(f"column {name!r} holds whole numbers: top and bottom must too")
        ends = {key: None if end is None else int(end) for key, end in ends.items()}
    elif kind == "decimal":
        ends["lower"], ends["upper"] = decimal_ends(bottom, top, places_of(column))
    try:
        return column.clip(**ends).astype(column.dtype).array
    except (TypeError, NotImplementedError):
        raise UnsupportedColumnError(f"column {name!r} is not a column of numbers") from None
