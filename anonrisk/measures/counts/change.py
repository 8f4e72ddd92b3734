"""What an engine makes of a table: other cells, fewer records, or more said about each."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.question import Asks
from anonrisk.pseudonyms.pseudonym import Pseudonymisation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.counter import Counter
    from anonrisk.measures.counts.question import Question, Score, Sensitive
    from anonrisk.pseudonyms.encoding import Hashes
    from anonrisk.pseudonyms.keys import Key


@dataclass(frozen=True)
class Totals:
    """What the minimal uniques of all records add up to."""

    n_scored: int
    score: float
    largest: float
    adjustment: float
    n_minimal: tuple[int, ...]
    contributions: tuple[float, ...]
    # How many sets of columns were looked at; None: all.
    n_decided: int | None = None


@dataclass(frozen=True)
class UnseenCounts:
    """How many records a table has, and how many of them a recoding does not know.

    Attributes
    ----------
    n_records, n_unseen : int
        All records, and those with a value that is unknown, or in no region.
    by_column : dict of column to int
        How often each column's value is unknown; nothing where a record has no region, which is
        no column's fault.
    """

    n_records: int
    n_unseen: int
    by_column: Mapping[Name, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Recode:
    """Recode columns, each by a recoding of `anonrisk.recode`; `unseen` is for what one misses."""

    recodings: Mapping[Name, Any]
    unseen: str = "refuse"


@dataclass(frozen=True)
class RecodeByRegion:
    """Recode columns by the region of each record; `unseen` is for records that are in none."""

    columns: Qid
    regions: Any
    unseen: str = "refuse"


@dataclass(frozen=True)
class Intervals:
    """Put the number of its interval, of a width for each column, in place of each value."""

    widths: Mapping[Name, float]


@dataclass(frozen=True)
class GroupMeans:
    """Replace numbers by the mean of a group of at least k records."""

    columns: Qid
    k: int


@dataclass(frozen=True)
class Noise:
    """Add random numbers: a law, its scale for each column, and a seed."""

    law: str
    scales: dict[Name, float]
    seed: int


@dataclass(frozen=True)
class Shuffle:
    """Shuffle columns within the groups of others."""

    columns: Qid
    by: Qid
    seed: int


@dataclass(frozen=True)
class CellSuppression:
    """Write a marker into cells of classes smaller than k, until there are none."""

    question: Question
    k: int
    marker: str | float | None = "*"


@dataclass(frozen=True)
class ChosenCells:
    """Make cells missing that a function chooses, from the keys of a table and their counts.

    It is given a column of codes for each of the question's, in the order of the values, and how
    many records have each key; it gives a row of flags a key.
    """

    question: Question
    choose: Callable[[Sequence[Any], Integers], Booleans]


@dataclass(frozen=True)
class LabelsAsColumns:
    """Bring the index back among the columns; labels without a name get this one."""

    name: str


@dataclass(frozen=True)
class LeaveOut:
    """Leave out columns."""

    columns: Qid


@dataclass(frozen=True)
class FoldSpellings:
    """Write texts without case, spaces and accents (`counts.contents.folded`)."""

    columns: Qid


@dataclass(frozen=True)
class RowsAmong:
    """Put the rows of another table of the same kind and columns among them, in any order.

    Where they are tells nothing of which table they come from.
    """

    other: Any
    seed: int


# A step of pseudonyms is one more.
Change: TypeAlias = (
    Recode
    | RecodeByRegion
    | Intervals
    | GroupMeans
    | Noise
    | Shuffle
    | CellSuppression
    | ChosenCells
    | LabelsAsColumns
    | LeaveOut
    | FoldSpellings
    | RowsAmong
    | Pseudonymisation
)


@dataclass(frozen=True)
class CountUnseen(Asks[UnseenCounts]):
    """How many records have what a change does not know."""

    change: Recode | RecodeByRegion


@dataclass(frozen=True)
class LargeClasses:
    """The records of classes of at least k that break no limit."""

    question: Question
    k: int
    limits: tuple[tuple[Sensitive, Score, float], ...] = ()


@dataclass(frozen=True)
class BreakingClasses:
    """The records of classes that are smaller than k, or break a limit."""

    question: Question
    k: int = 0
    limits: tuple[tuple[Sensitive, Score, float], ...] = ()


@dataclass(frozen=True)
class RowsOfPersons:
    """The records of some persons, by the keyed hashes of their unit; or of all others."""

    unit: Name
    key: Key = field(repr=False)
    hashes: Hashes = field(repr=False)
    others: bool = False


Selection: TypeAlias = LargeClasses | BreakingClasses | RowsOfPersons


@dataclass(frozen=True)
class SizeOfClass(Asks[Any]):
    """The size of each record's class, under a name."""

    question: Question
    name: str


@dataclass(frozen=True)
class MinimalUniques(Asks[tuple[Any, Any, Totals]]):
    """The score of each record by its minimal uniques; more of each record; and totals.

    `risk` is what DIS-SUDA adds to 1 / score^power, if it is asked for.
    """

    counter: Counter
    max_size: int
    names: list[str]
    risk: Callable[[Totals], float | None]
