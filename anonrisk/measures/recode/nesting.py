"""Which of two recodings of a column tells more, whatever values the column has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonrisk.measures.recode.dates import DatePart
from anonrisk.measures.recode.kinds import Bins, Keep, Level, Star, TopBottom
from anonrisk.measures.recode.texts import MergeRare, Prefix, ZipArea

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.measures.recode.recoding import Recoding

# Each period is in one of every later one; a week is in one of none.
_PERIODS = ("day", "month", "quarter", "half", "year", "decade")


def is_within(fine: Recoding, coarse: Recoding) -> bool:
    """Return whether all that one recoding puts together the other puts together too.

    That must hold whatever values the column has; every recoding is within itself.

    Examples
    --------
    >>> is_within(Bins((20, 30, 40)), Bins((30,))), is_within(Bins((30,)), Bins((35,)))
    (True, False)
    >>> is_within(DatePart("month"), DatePart("year")), is_within(Star(), Keep())
    (True, False)
    """
    if fine == coarse or isinstance(fine, Keep) or isinstance(coarse, Star):
        return True
    if isinstance(fine, Prefix) and isinstance(coarse, MergeRare):
        return coarse.beginning is not None and is_within(fine, coarse.beginning)
    compare = _OF_ONE_KIND.get(type(fine))
    return compare is not None and type(fine) is type(coarse) and compare(fine, coarse)


def _bins(fine: Bins, coarse: Bins) -> bool:
    return set(coarse.edges) <= set(fine.edges)


def _prefix(fine: Prefix, coarse: Prefix) -> bool:
    # Without a width the stars tell how long the value was.
    return coarse.length <= fine.length and (coarse.width is not None or fine.width is None)


def _area(fine: ZipArea, coarse: ZipArea) -> bool:
    return set(coarse.known) <= set(fine.known)


def _merge(fine: MergeRare, coarse: MergeRare) -> bool:
    return fine.beginning == coarse.beginning and set(coarse.kept) <= set(fine.kept)


def _date(fine: DatePart, coarse: DatePart) -> bool:
    if fine.earliest is not None:
        # What is earlier is more than a decade.
        return coarse.earliest is not None and coarse.earliest >= fine.earliest
    if "week" in (fine.part, coarse.part):
        return fine.part in ("day", coarse.part)
    return _PERIODS.index(fine.part) <= _PERIODS.index(coarse.part)


def _level(fine: Level, coarse: Level) -> bool:
    return fine.fingerprint == coarse.fingerprint and fine.level <= coarse.level


def _ends(fine: TopBottom, coarse: TopBottom) -> bool:
    def end(value: float | None, if_none: float) -> float:
        return if_none if value is None else value

    return end(coarse.top, math.inf) <= end(fine.top, math.inf) and end(
        coarse.bottom, -math.inf
    ) >= end(fine.bottom, -math.inf)


_OF_ONE_KIND: dict[type, Callable[[Any, Any], bool]] = {
    Bins: _bins,
    Prefix: _prefix,
    ZipArea: _area,
    MergeRare: _merge,
    DatePart: _date,
    Level: _level,
    TopBottom: _ends,
}
