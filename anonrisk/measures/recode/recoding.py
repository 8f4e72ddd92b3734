"""What every recoding is: plain data that turns known values into groups with labels."""

from __future__ import annotations

import calendar
import datetime as dt
import hashlib
import math
import re
from abc import ABC, abstractmethod
from dataclasses import fields
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.tally import Domain

MARKER = "*"
# What rare values are called together.
OTHER = "other"
_NUMBER = r"-?\d+(?:\.\d+)?"
_BETWEEN = re.compile(rf"^({_NUMBER})(?:-| to )({_NUMBER})$")
_HALF_OPEN = re.compile(rf"^\[({_NUMBER}), ({_NUMBER})\)$")
_BELOW = re.compile(rf"^<({_NUMBER})$")
_FROM = re.compile(rf"^>=({_NUMBER})$")
_PERIOD = re.compile(r"^(\d{4})(?:-(Q|H)?(\d{1,2}))?(s)?$")
_WEEK = re.compile(r"^(\d{4})-W(\d{2})$")
_DAY = r"(\d{4}(?:-\d{2}){0,2})"
_EARLIER, _LATER = re.compile(rf"^<{_DAY}$"), re.compile(rf"^>={_DAY}$")
_DAYS = re.compile(rf"^{_DAY}(?: to {_DAY})?$")
_REST = re.compile(r"all others|other( \d+| than top (?P<top>\d+))?")
_REMAINDER = "rest of "
# A node of a tree may have a name of any length.
_LONGEST = 60
EPOCH = dt.date(1970, 1, 1).toordinal()


def of_number(number: float) -> str:
    """Write a number without an exponent.

    Examples
    --------
    >>> of_number(1e6), of_number(0.25)
    ('1000000', '0.25')
    """
    if float(number).is_integer():
        return str(int(number))
    return np.format_float_positional(number, trim="-")


def of_bins(edges: Sequence[float], *, whole: bool) -> list[str]:
    """Name the bins between edges; the outer ones are open-ended."""
    ends = [None, *edges, None]
    return [of_range(low, high, whole=whole) for low, high in pairwise(ends)]


def of_range(low: float | None, high: float | None, *, whole: bool) -> str:
    """Name the numbers from one edge up to another; None where it is open-ended."""
    if low is None:
        return MARKER if high is None else f"<{of_number(high)}"
    if high is None:
        return f">={of_number(low)}"
    if not whole:
        return f"[{of_number(low)}, {of_number(high)})"
    last = int(high) - 1
    dash = "-" if low >= 0 else " to "
    return f"{int(low)}{dash}{last}" if last > low else str(int(low))


def of_days(low: float | None, high: float | None) -> str:
    """Name the days from one up to another, in years or months where they are whole.

    Examples
    --------
    >>> of_days(0, 365), of_days(0, 396), of_days(None, 366), of_days(1, 3), of_days(9, 10)
    ('1970', '1970-01 to 1971-01', '<1971-01-02', '1970-01-02 to 1970-01-03', '1970-01-10')
    """
    ends = [_date(end) for end in (low, high) if end is not None]
    letters = 10 if any(d.day > 1 for d in ends) else 7 if any(d.month > 1 for d in ends) else 4
    if low is None or high is None:
        (name,) = [day.isoformat()[:letters] for day in ends] or [MARKER]
        return name if low is high else f"<{name}" if low is None else f">={name}"
    first, last = (_date(day).isoformat()[:letters] for day in (low, high - 1))
    return first if first == last else f"{first} to {last}"


def of_period(year: int, part: str, number: int) -> str:
    """Name a period of the calendar.

    Examples
    --------
    >>> of_period(1981, "half", 2), of_period(1981, "month", 7), of_period(1980, "decade", 0)
    ('1981-H2', '1981-07', '1980s')
    >>> of_period(2024, "week", 7)
    '2024-W07'
    """
    if part in ("week", "month"):
        return f"{year:04}-{'W' if part == 'week' else ''}{number:02}"
    if part in ("quarter", "half"):
        return f"{year:04}-{part[0].upper()}{number}"
    return f"{year:04}s" if part == "decade" else f"{year:04}"


def of_earlier(year: int) -> str:
    """Name all years before one."""
    return f"<{year:04}"


def of_others(values: Iterable[str]) -> str:
    """Name all values but those that are kept, by a name that none has in any spelling.

    Examples
    --------
    >>> of_others(["nurse"]), of_others(["Other", "nurse"])
    ('other', 'all others')
    """
    taken = {value.strip().casefold() for value in values}
    names = chain((OTHER, "all others"), (f"{OTHER} {number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def of_rest(top: int) -> str:
    """Name all values but the commonest, where others than these may be told elsewhere."""
    return f"{OTHER} than top {top}"


def rest(label: str) -> int | None:
    """Read how many values are not among the others that a label names: 0 if all that are told.

    Examples
    --------
    >>> rest("other"), rest("other than top 8"), rest("nurse")
    (0, 8, None)
    """
    result = _REST.fullmatch(label)
    return None if result is None else int(result["top"] or 0)


def of_remainder(part: str) -> str:
    """Name what is left of a part of which some values have labels of their own.

    Examples
    --------
    >>> of_remainder("*"), len(of_remainder("a" * 60))
    ('rest of *', 60)
    """
    label = f"{_REMAINDER}{part}"
    if len(label) <= _LONGEST:
        return label
    # Two long names may begin alike.
    end = f"… {hashlib.sha256(part.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
    return f"{label[: _LONGEST - len(end)]}{end}"


def remainder(label: str) -> str | None:
    """Read the part of which a label names what is left; None if it names no remainder.

    The name of a part that was too long ends with "…" and six digits of its hash.

    Examples
    --------
    >>> remainder("rest of *"), remainder("*")
    ('*', None)
    """
    return label.removeprefix(_REMAINDER) if label.startswith(_REMAINDER) else None


def shortened(names: Sequence[str]) -> str:
    """List a few names."""
    return ", ".join(names if len(names) <= 4 else [*names[:2], "…", names[-1]])


def extent(  # noqa: PLR0911
    label: str, *, dates: bool, whole: bool
) -> tuple[float, float] | None:
    """Read the least and the largest number that a label stands for; None if it names no range.

    Dates are days since 1970; the ends that a label leaves open are infinite.

    Examples
    --------
    >>> extent("30-39", dates=False, whole=True), extent(">=40", dates=False, whole=True)
    ((30.0, 39.0), (40.0, inf))
    """
    if dates:
        try:
            return _period_extent(label)
        except ValueError:
            # It looks like a date and is none: "2020-13".
            return None
    if result := _BETWEEN.match(label):
        return float(result[1]), float(result[2])
    if result := _HALF_OPEN.match(label):
        return float(result[1]), math.nextafter(float(result[2]), -math.inf)
    if result := _BELOW.match(label):
        below = float(result[1])
        return -math.inf, below - 1 if whole else math.nextafter(below, -math.inf)
    if result := _FROM.match(label):
        return float(result[1]), math.inf
    if re.fullmatch(_NUMBER, label):
        return float(label), float(label)
    return None


def _period_extent(  # noqa: PLR0911
    label: str,
) -> tuple[float, float] | None:
    if result := _EARLIER.match(label):
        return -math.inf, float(_ends(result[1])[0] - 1)
    if result := _LATER.match(label):
        return float(_ends(result[1])[0]), math.inf
    if result := _DAYS.match(label):
        return float(_ends(result[1])[0]), float(_ends(result[2] or result[1])[1])
    if result := _WEEK.match(label):
        monday = dt.date.fromisocalendar(int(result[1]), int(result[2]), 1).toordinal() - EPOCH
        return float(monday), float(monday + 6)
    result = _PERIOD.match(label)
    if result is None:
        return None
    year, letter, number = int(result[1]), result[2], int(result[3] or 0)
    if result[4]:
        # The calendar has no year 0.
        return float(_day(max(year, 1), 1)), float(_last(year + 9, 12))
    if not number:
        return float(_day(year, 1)), float(_last(year, 12))
    months = {"Q": 3, "H": 6, None: 1}[letter]
    if number * months > 12:
        return None
    return float(_day(year, (number - 1) * months + 1)), float(_last(year, number * months))


def _ends(written: str) -> tuple[int, int]:
    """Return the first and the last day of a year, a month or a day."""
    year, *rest = map(int, written.split("-"))
    if len(rest) == 2:
        day = dt.date(year, *rest).toordinal() - EPOCH
        return day, day
    return _day(year, *(rest or [1])), _last(year, *(rest or [12]))


def _date(day: float) -> dt.date:
    return dt.date.fromordinal(int(day) + EPOCH)


def _day(year: int, month: int) -> int:
    return dt.date(year, month, 1).toordinal() - EPOCH


def _last(year: int, month: int) -> int:
    return dt.date(year, month, calendar.monthrange(year, month)[1]).toordinal() - EPOCH


class Recoding(ABC):
    """How the values of one column are put together."""

    name: ClassVar[str]
    # Kinds of values that it takes; None for all.
    takes: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the group number of each known value, and the labels of the groups.

        Labels are None where values stay themselves.
        """

    @property
    def for_missing(self) -> str | None:
        """What becomes of a missing value: a label, or None where it stays missing."""
        return None

    def knows(self, domain: Domain) -> Booleans:
        """Return for each value whether there is a group for it."""
        return np.ones(len(domain), dtype=bool)

    @property
    def for_unseen(self) -> str:
        """What a value becomes that there is no group for."""
        return MARKER

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON, none of them a cell; None is left out."""
        stored = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in stored.items()}
        return {"recoding": self.name, **{k: v for k, v in plain.items() if v is not None}}

    def __str__(self) -> str:
        """Return in a few words what is done."""
        raise NotImplementedError


def numbered(names: list[str]) -> tuple[Integers, list[str] | None]:
    """Number names in order of their text."""
    different = sorted(set(names))
    place = {name: i for i, name in enumerate(different)}
    return np.array([place[name] for name in names], dtype=np.int64), different
