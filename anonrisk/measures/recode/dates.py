"""Recodings of dates: to periods of the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core.arguments import one_of, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.measures.recode import labels as text
from anonrisk.measures.recode.recoding import Recoding

if TYPE_CHECKING:
    from anonrisk.core.arrays import Integers
    from anonrisk.measures.counts.tally import Domain

PARTS = ("day", "week", "month", "quarter", "half", "year", "decade")


@dataclass(frozen=True)
class DatePart(Recoding):
    """Put dates into days, weeks, months, quarters, half-years, years or decades, in Greenwich.

    Weeks are those of ISO 8601, from Monday on: 2024-12-31 is in ``2025-W01``.

    With `earliest` all earlier years are put together.
    """

    part: str
    earliest: int | None = None
    name: ClassVar[str] = "date"
    takes: ClassVar[tuple[str, ...] | None] = ("date", "timestamp")

    def __post_init__(self) -> None:
        """Reject parts that are none."""
        one_of(self.part, "part", PARTS)
        if self.earliest is not None:
            whole_number(self.earliest, "earliest", at_least=1)
            if self.part != "year":
                raise ArgumentError("earliest= is a year, and goes with part='year'")

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the dates of one period one group."""
        days = domain.positions().astype(np.int64)
        if self.part == "day":
            periods, number = np.unique(days, return_inverse=True)
            return number.astype(np.int64), [str(p) for p in periods.astype("datetime64[D]")]
        # The first of January 1970 was a Thursday, and the year of a week is that of its Thursday.
        thursdays = (days + 3) // 7 * 7
        at = (thursdays if self.part == "week" else days).astype("datetime64[D]")
        months, years = at.astype("datetime64[M]").astype(np.int64), at.astype("datetime64[Y]")
        of_year = (at - years.astype("datetime64[D]")).astype(np.int64)
        year = years.astype(np.int64) + 1970
        if self.part == "decade":
            year = year // 10 * 10
        elif self.earliest is not None:
            year = np.maximum(year, self.earliest - 1)
        within = {
            "week": of_year // 7,
            "month": months % 12,
            "quarter": months % 12 // 3,
            "half": months % 12 // 6,
        }.get(self.part, np.zeros_like(year))
        # No year has more than 53 weeks.
        periods, number = np.unique(year * 64 + within, return_inverse=True)
        names = [
            text.of_earlier(self.earliest)
            if self.earliest is not None and period // 64 < self.earliest
            else text.of_period(int(period // 64), self.part, int(period % 64) + 1)
            for period in periods
        ]
        return number.astype(np.int64), names

    def __str__(self) -> str:
        """Return what is done."""
        early = "" if self.earliest is None else f", {text.of_earlier(self.earliest)} together"
        return {"half": "half-year"}.get(self.part, self.part) + early
