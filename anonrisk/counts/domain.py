"""The different values of one column, in order, as plain arrays that every engine can give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# What the values of a column are, and how an array holds them: "whole" numbers as int64, a "number"
# as float64, a "date" as days and a "timestamp" as microseconds since 1970 in Greenwich, "text" and
# "boolean" ("true", "false") as str. "other" has an equality and nothing more.
NUMBERS = ("whole", "number")
DATES = ("date", "timestamp")
MICROSECONDS = 86_400_000_000


@dataclass(frozen=True)
class Domain:
    """The different values of a column, ascending; a code is a place among them.

    The code after the last stands for a missing value, whether one occurs or not.
    """

    kind: str
    values: NDArray[Any]
    # Whether close values were put together before they were counted.
    collapsed: bool = False

    def __len__(self) -> int:
        """Count the known values."""
        return len(self.values)

    @property
    def is_scale(self) -> bool:
        """Tell whether values have distances."""
        return self.kind in NUMBERS or self.kind in DATES

    def positions(self) -> NDArray[np.float64]:
        """Give numbers that stand for the values: days for dates, else the numbers themselves."""
        if self.kind == "timestamp":
            return np.asarray(np.floor_divide(self.values, MICROSECONDS), dtype=np.float64)
        return np.asarray(self.values, dtype=np.float64)

    def only(self, chosen: NDArray[np.bool_]) -> Domain:
        """Give some of the values, in the same order."""
        return Domain(self.kind, self.values[chosen], self.collapsed)

    def texts(self) -> list[str]:
        """Write the values as a hierarchy knows them."""
        if self.kind == "whole":
            return [str(int(value)) for value in self.values]
        if self.kind == "date":
            return [str(day) for day in self.values.astype("datetime64[D]")]
        return [str(value) for value in self.values]


def typed(domain: Domain, kind: str) -> Domain:
    """Take values for what the type of their column says they are."""
    if kind == "other":
        return Domain(kind, np.arange(len(domain)))
    if kind == "timestamp":
        return replace(domain, kind=kind)
    return domain
