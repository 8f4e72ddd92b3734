"""What both engines say about a column of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.render import count_of
from anonrisk.errors import ArgumentError, MissingTimeError, NoOrderError, UnsupportedColumnError

if TYPE_CHECKING:
    from anonrisk.core.columns import Name


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
