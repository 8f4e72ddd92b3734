"""What the minimal uniques of all records add up to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Totals:
    """What the minimal uniques of all records add up to."""

    n_scored: int
    score: float
    largest: float
    adjustment: float
    n_minimal: tuple[int, ...]
    contributions: tuple[float, ...]
    # How many sets of columns were looked at, if Ctrl-C came before all of them were.
    n_decided: int | None = None
