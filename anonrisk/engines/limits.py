"""What numbers a step can take, what a type can hold and which times, on every engine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.render import count_of
from anonrisk.errors import (
    ArgumentError,
    MissingTimeError,
    NoOrderError,
    TooManyClassesError,
    UnsupportedColumnError,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.measures.recode import TopBottom

# The largest share of cells that rounded noise may leave as they are.
MAX_UNMOVED = 0.95
# Entries of a state that come to this process out of Spark or a database: about a gigabyte on their
# way.
MAX_KEYED = 4_000_000


def check_noise(name: Name, law: str, scale: float) -> None:
    """Reject noise that rounding to whole numbers or days would take away again."""
    half = 0.5 / scale
    shares = {"laplace": 1 - math.exp(-half), "uniform": min(half, 1.0)}
    unmoved = shares.get(law, math.erf(half / math.sqrt(2)))
    if unmoved > MAX_UNMOVED:
        raise ArgumentError(
            f"scale={scale:g} is too small for column {name!r}, which holds whole numbers or "
            f"dates: rounding would leave {unmoved:.1%} of its cells as they are"
        )


def check_keyed(n_entries: int) -> None:
    """Reject more entries of a state than this process should hold at once."""
    if n_entries > MAX_KEYED:
        raise TooManyClassesError(
            f"a state of this table has more than {MAX_KEYED:,} classes, persons or values, which "
            "would all have to come here: make states of parts of the table and merge them, or "
            "ask for a sketch (anonrisk.sketch), which keeps a sample of the classes"
        )


def check_finite(values: NDArray[Any], counts: NDArray[np.int64], name: Name) -> None:
    """Reject infinite numbers, and numbers too far apart to have a distance."""
    if values.dtype.kind != "f":
        return
    refuse_infinite(int(counts[np.isinf(values)].sum()), name)
    if len(values) and math.isinf(float(values.max()) - float(values.min())):
        raise UnsupportedColumnError(
            f"column {name!r} holds numbers whose distance overflows to infinity: divide the "
            "column by 10, or make those numbers missing first"
        )


def refuse_infinite(n_infinite: int, name: Name) -> None:
    """Reject a column with infinite numbers, and say how many."""
    if n_infinite:
        raise UnsupportedColumnError(
            f"column {name!r} is infinite in {count_of(n_infinite, 'row')}: infinite numbers have "
            "neither a mean nor a bin; make them missing or finite first"
        )


def decimal_bounds(precision: int, scale: int) -> tuple[float, float]:
    """Return the least and the largest float that a type of decimals holds."""
    whole = 10.0 ** (precision - scale)
    # Where floats are coarser than the last place, one that is surely inside.
    high = min(whole - 10.0**-scale, whole * (1 - 2.0**-52))
    return -high, high


def ends_within(
    recoding: TopBottom, name: Name, bounds: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """Return the bottom and the top that a column's type can hold; None for one without effect."""
    if bounds is None:
        return recoding.bottom, recoding.top
    low, high = bounds
    bottom, top = recoding.bottom, recoding.top
    for what, end, outside in (
        ("bottom", bottom, bottom is not None and bottom > high),
        ("top", top, top is not None and top < low),
    ):
        if outside:
            raise ArgumentError(
                f"{what}={end} cannot be stored in column {name!r}: its type holds numbers "
                f"from {low:g} to {high:g}"
            )
    return (
        None if bottom is None or bottom < low else bottom,
        None if top is None or top > high else top,
    )


def not_a_time(name: Name, kind: str) -> UnsupportedColumnError:
    """Return what a time may be."""
    text = kind in ("string", "large_string", "str", "text", "object", "varchar", "char")
    hint = "; read the text as dates first" if text else ""
    return UnsupportedColumnError(
        f"time {name!r} holds values of type {kind}; "
        f"a time is a date, a timestamp or a whole number{hint}"
    )


def too_far_away(name: Name) -> UnsupportedColumnError:
    """Return an error: 64 bits of microseconds end."""
    return UnsupportedColumnError(
        f"time {name!r} holds instants that are too far from 1970 to be counted in microseconds"
    )


def not_on_the_calendar(name: Name) -> UnsupportedColumnError:
    """Return an error: numbers have no days."""
    return UnsupportedColumnError(
        f"time {name!r} holds numbers, which have no days or hours; convert it to timestamps"
    )


def check_moment(name: Name, *, at_on_calendar: bool, on_calendar: bool) -> None:
    """Reject to compare a date with numbers, or a number with dates."""
    if at_on_calendar != on_calendar:
        value, needed = ("a date", "a whole number") if at_on_calendar else ("a number", "a date")
        holds = "dates or timestamps" if on_calendar else "numbers"
        raise ArgumentError(f"at= is {value}, but time {name!r} holds {holds}; give {needed}")


def missing_time(name: Name | None, n_missing: int) -> MissingTimeError:
    """Return how many records have no place in the order."""
    return MissingTimeError(f"time {name!r} is missing in {count_of(n_missing, 'record')}")


def tied_times(name: Name | None, n_tied: int) -> NoOrderError:
    """Return how many records have no order among themselves."""
    return NoOrderError(
        f"{count_of(n_tied, 'record')} of one user with different items have the same time "
        f"{name!r}, so that their order is unknown; give a finer time, or ask without order"
    )
