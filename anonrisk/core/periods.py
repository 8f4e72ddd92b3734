"""Lengths of time as a caller writes them: 30 days are "30D"."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from anonrisk.core.render import kind_name
from anonrisk.errors import ArgumentError

_SECOND = 1_000_000
_MOST_DIGITS = 30
_UNITS = {
    "s": _SECOND,
    "min": 60 * _SECOND,
    "h": 3_600 * _SECOND,
    "D": 86_400 * _SECOND,
    "W": 7 * 86_400 * _SECOND,
}


def microseconds(value: Any) -> int:
    """Read a length of time.

    Examples
    --------
    >>> microseconds("30D") == microseconds(dt.timedelta(days=30)) == 30 * 86_400 * 10**6
    True
    >>> microseconds("1M")
    Traceback (most recent call last):
    ...
    anonrisk.errors.ArgumentError: period='1M' is not a number of s, min, h, D or W; months ...
    """
    if isinstance(value, dt.timedelta):
        length = value // dt.timedelta(microseconds=1)
    else:
        result = (
            re.fullmatch(r"\s*(\d+)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
        )
        if result is None or result[2] not in _UNITS:
            shown = repr(value) if isinstance(value, str) else kind_name(value)
            months = "; months and years are not all of one length" if result else ""
            raise ArgumentError(
                f"period={shown} is not a number of {', '.join(list(_UNITS)[:-1])} or W{months}"
            )
        # Python reads numbers of a few thousand digits only.
        length = int(result[1]) * _UNITS[result[2]] if len(result[1]) <= _MOST_DIGITS else 2**62
    if not 0 < length < 2**62:
        raise ArgumentError("period must be longer than zero and shorter than 146,000 years")
    return int(length)
