"""New numbers in the type of an old column: whole numbers, decimals, floats."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines import limits
from anonrisk.engines.pandas.shape import is_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
