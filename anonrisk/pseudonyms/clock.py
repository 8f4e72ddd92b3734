"""The clock of this machine, and how far the clocks of two machines may differ."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from anonrisk.pseudonyms.pseudonym import EPOCH

# What is written by one machine and read by another is not refused for so little.
CLOCKS_DIFFER = timedelta(minutes=5)


def now() -> datetime:
    """Return the time of this machine, in UTC."""
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC, without rounding.

    Examples
    --------
    >>> microseconds(datetime(1970, 1, 2, tzinfo=UTC))
    86400000000
    """
    return (moment - EPOCH) // timedelta(microseconds=1)


def written(at: int) -> str:
    """Write microseconds since 1970-01-01 UTC as a time that people can read.

    Examples
    --------
    >>> written(86_400_000_001)
    '1970-01-02T00:00:00.000001+00:00'
    """
    return (EPOCH + timedelta(microseconds=at)).isoformat(timespec="microseconds")
