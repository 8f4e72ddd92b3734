"""What an engine is asked about traces, and the small counts it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import EmptyTableError, MissingUnitError, MissingValuesError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid


# What is counted of steps where Ctrl-C came before all of them were taken.
MEASURED = "measurements made, each of one length in one draw"


@dataclass(frozen=True)
class TraceQuestion:
    """Whose records are linked, what an attacker knows of them, and how it is drawn."""

    user: Name
    item: Qid
    lengths: tuple[int, ...]
    k: int = 2
    time: Name | None = None
    ordered: bool = False
    consecutive: bool = False
    sample: int | None = None
    draws: int = 1
    seed: int = 0
    missing: str = "value"

    @property
    def n_steps(self) -> int:
        """Number of steps to the answer: draws of every length."""
        return self.draws * len(self.lengths)

    @property
    def in_time(self) -> bool:
        """Whether the order of the records matters."""
        return self.ordered or self.consecutive

    def roles(self) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        roles = {self.user: "user", **dict.fromkeys(self.item, "item")}
        return roles if self.time is None else {**roles, self.time: "time"}


@dataclass(frozen=True)
class StepCounts:
    """How many users `length` of their records single out, and the sums behind an interval.

    A user counts as the share of their point sets that fewer than k users have, of so many draws.
    """

    length: int
    n_users: int
    n_short: int
    total: float
    squares: float
    weighted: float
    weight: float
    draws: int = 1


@dataclass(frozen=True)
class TraceCounts:
    """All that leaves an engine about traces; no cell of the table is among it."""

    n_records: int
    n_dropped: int
    n_users: int
    popularity: tuple[tuple[int, int], ...]
    steps: tuple[StepCounts, ...]
    n_gaps: int = 0
    span: int = 0
    on_calendar: bool = False


@dataclass(frozen=True)
class LinkQuestion:
    """Whose pseudonyms change when, and what their records are matched by."""

    user: Name
    qid: Qid
    time: Name
    at: int | None = None
    period: int | None = None
    missing: str = "value"
    at_on_calendar: bool = False

    def roles(self) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        return {
            self.user: "user",
            **dict.fromkeys(self.qid, "quasi-identifier"),
            self.time: "time",
        }


@dataclass(frozen=True)
class LinkCounts:
    """How many persons are on both sides of a change, and how many are linked across it."""

    n_records: int
    n_dropped: int
    n_persons: int
    n_changes: int
    n_both: int
    n_linked: int
    n_false: int
    expected: float
    chance: float


def missing_user(user: Name, n_missing: int) -> MissingUnitError:
    """Return how many records belong to nobody."""
    rows = count_of(n_missing, "record")
    return MissingUnitError(f"user {user!r} is missing in {rows}; every record must be somebody's")


def missing_items(role: str, n_missing: Mapping[Name, int]) -> MissingValuesError:
    """Return which columns miss how many values."""
    counts = ", ".join(f"{name!r} in {count_of(n, 'record')}" for name, n in n_missing.items() if n)
    return MissingValuesError(f"{role} is missing ({counts}) and missing='error' refuses that")


def check_any(n_records: int, n_dropped: int) -> None:
    """Reject to measure nothing."""
    if not n_records:
        dropped = count_of(n_dropped, "record")
        why = f"{dropped} dropped for a missing value" if n_dropped else "the table has no records"
        raise EmptyTableError(f"there is nothing to measure: {why}")
