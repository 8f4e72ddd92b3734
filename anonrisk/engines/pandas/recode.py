"""Recodings applied to pandas columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.core import radix
from anonrisk.engines import limits, refusals
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.encode import column_of
from anonrisk.engines.pandas.numbers import as_decimal, bounds, places_of, type_decides
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.pandas.values import plain
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import ArgumentError, HierarchyError, UnsupportedColumnError
from anonrisk.recode import Bins, Keep, Star, TopBottom
from anonrisk.recode.edges import bins_at
from anonrisk.recode.labels import MARKER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.recode import Recoding
    from anonrisk.recode.regions import Regions


def recode(frame: pd.DataFrame, recodings: Mapping[Name, Recoding]) -> pd.DataFrame:
    """Give a table with some columns recoded."""
    return replaced(frame, {name: recoded(frame, name, r) for name, r in recodings.items()})


def replaced(frame: pd.DataFrame, columns: Mapping[Name, Any]) -> pd.DataFrame:
    """Give a table with other cells in some columns, which stay where they are."""
    changed = frame.copy(deep=False)
    labels: list[Any] = list(frame.columns)
    for name, cells in columns.items():
        changed.isetitem(labels.index(name), cells)
    return changed


def recoded(frame: pd.DataFrame, name: Name, recoding: Recoding) -> Any:
    """Recode one column."""
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
    try:
        groups, labels = recoding.groups(domain)
    except HierarchyError as error:
        raise HierarchyError(f"column {name!r}: {error}") from None
    return labelled(np.append(groups, -1)[codes], labels or [])


def by_region(frame: pd.DataFrame, regions: Regions) -> pd.DataFrame:
    """Give a table recoded by region; a record that is in none has a star in every column."""
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
    found = regions.find([place[row] for place in places])[number]
    # The star stands last, where the region -1 finds it.
    new = {
        name: labelled(np.append(of, len(labels))[found], [*labels, MARKER])
        for name, (of, labels) in regions.labels().items()
    }
    return replaced(frame, new)


def labelled(places: NDArray[np.int64], labels: Sequence[str]) -> Any:
    """Give each record a label, or none where its place is -1."""
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
    """Say what a column holds by its first known value; None if it has none."""
    known = column.iloc[:1]
    if not len(known) or known.isna().any():
        known = column[column.notna().to_numpy()].iloc[:1]
    return plain(known)[0] if len(known) else None


def kind_of_all(column: pd.Series[Any]) -> str | None:
    """Say what a column holds by all of its known values; None if it has none."""
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
        places = places_of(column)
        ends = {k: None if end is None else as_decimal(end, places) for k, end in ends.items()}
    try:
        return column.clip(**ends).astype(column.dtype).array
    except (TypeError, NotImplementedError):
        raise UnsupportedColumnError(f"column {name!r} is not a column of numbers") from None
