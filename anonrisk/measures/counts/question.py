"""What an engine is asked, of classes and of traces, and how much it may answer."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import EmptyTableError, MissingUnitError, MissingValuesError
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.counter import Counter
from anonrisk.measures.counts.population import Attacker, Independence, Matched, WeightedClasses
from anonrisk.measures.counts.tally import PlacedTally, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy

# More groups than this are not a summary any more.
MAX_GROUPS = 10_000
# Nor does anybody look at more kinds of class, or order more values, than this.
MAX_PROFILES = 100_000
MAX_ORDERED = 100_000
# Classes that a plan may be made from.
MAX_CLASSES = 500_000
# The same where all that is brought of a class is a few whole numbers.
MAX_PLACED = 4_000_000
# Bins that numbers are put into before they are counted, where there are too many classes.
FINE_BINS = 128
# Sets of columns that records miss, where a missing cell matches every value: every two of them
# are compared.
MAX_PATTERNS = 256
# A bit each.
MAX_WILDCARD_COLUMNS = 62
# Combinations of classes that linked tables are joined to: a person has each of theirs in one table
# with each of theirs in the others.
MAX_COMBINATIONS = 10_000_000
# Where a missing cell matches every value classes overlap, and may have more sizes than the square
# root of the records.
MAX_SIZES = 1_000_000


@dataclass(frozen=True)
class LinkedCounts:
    """The combinations of classes that persons have, and how far the tables are about the same.

    Attributes
    ----------
    sizes : ClassCounts
        How many persons have each combination.
    n_persons, n_shared : tuple of int
        The persons of each table, and those of them who are in another one, too.
    """

    sizes: ClassCounts
    n_persons: tuple[int, ...]
    n_shared: tuple[int, ...]


# exp of an entropy of two equal values is 1.9999999999999998; that is not less than 2.
TOLERANCE = 1e-9

Answer_co = TypeVar("Answer_co", covariant=True)


class Asks(Generic[Answer_co]):
    """Something to ask an engine; the parameter is the type of the answer."""


@dataclass(frozen=True)
class Question(Asks[list[ClassCounts]]):
    """Which classes to count: one or several quasi-identifiers, by record or by person."""

    qids: tuple[Qid, ...]
    unit: Name | None = None
    missing: str = "value"

    @property
    def qid(self) -> Qid:
        """The quasi-identifier of a question about one."""
        (only,) = self.qids
        return only

    @property
    def columns(self) -> Qid:
        """Every quasi-identifying column once, in order of appearance."""
        return tuple(dict.fromkeys(name for qid in self.qids for name in qid))

    def roles(self, more: Mapping[Name, str] | None = None) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        roles = {**(more or {}), **dict.fromkeys(self.columns, "quasi-identifier")}
        return roles if self.unit is None else {**roles, self.unit: "unit"}


@dataclass(frozen=True)
class Group:
    """The classes of one group of a column; none where every record of it was dropped."""

    label: Any
    sizes: ClassCounts | None
    n_dropped: int = 0


@dataclass(frozen=True)
class ByGroup(Asks[list[list[Group]]]):
    """The classes of a question within each group of a column, in order."""

    question: Question
    by: Name


@dataclass(frozen=True)
class WholePersons(Asks[ClassCounts]):
    """The persons of a question about one quasi-identifier; alike are those whose rows all are."""

    question: Question


@dataclass(frozen=True)
class ManySets(Asks[Counter]):
    """The classes of many sets of a question's columns, which come up one after another."""

    question: Question


@dataclass(frozen=True)
class MarkedRows(Asks[int]):
    """How many rows have the marker of a suppressed cell in one of the columns."""

    columns: Qid
    marker: str


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column, and what is known about its values."""

    column: Name
    missing: str = "value"
    ordered: bool = False
    order: tuple[Any, ...] | None = None
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True)
class Against:
    """What is known of the population that a table is a sample of."""

    # A question that is printed shows no cell.
    population: Any = field(default=None, repr=False)
    weight: Name | None = None
    household: Name | None = None


@dataclass(frozen=True)
class InPopulation(Asks[Matched]):
    """The size that each class of a release has in the population."""

    question: Question
    against: Against


@dataclass(frozen=True)
class InHousehold(Asks[Attacker]):
    """The risk that a record has by any member of its household."""

    question: Question
    against: Against


@dataclass(frozen=True)
class LinkedClasses(Asks[LinkedCounts]):
    """The combinations of classes that persons have in this table and others, by their units."""

    question: Question
    # Tables of the same engine, with a question each; one that is printed shows no cell.
    others: tuple[tuple[Any, Question], ...] = field(repr=False)


@dataclass(frozen=True)
class ClassesWithValues(Asks[Tally]):
    """The classes of some columns with their values, which stay inside.

    Where there are too many, close values of the collapsible columns may be put together; if the
    caller can count by place instead, only where such a column has too many values by itself.
    """

    columns: Qid
    collapsible: Qid = ()
    by_place: bool = False


@dataclass(frozen=True)
class ClassesOfSets(Asks[list[Tally]]):
    """The classes of several sets of columns, with their values, from one look at the table."""

    sets: tuple[Qid, ...]


@dataclass(frozen=True)
class ValuesAndSizes(Asks[tuple[list[Tally], ClassCounts]]):
    """The values of each column, and the sizes of the classes of some, from one look at the table.

    Attributes
    ----------
    columns : names
        Each is counted for itself.
    qid : names
        More than one of them, of whose classes the sizes are counted.
    """

    columns: Qid
    qid: Qid


@dataclass(frozen=True)
class ClassesInRegions(Asks[PlacedTally | None]):
    """The classes of some regions; None where there are too many.

    Attributes
    ----------
    places : mapping of column to recoding
        How the values of each column are placed (`anonrisk.measures.recode.regions`).
    regions
        The regions of the table; None where it is one.
    chosen : tuple of int
        The regions that are asked about.
    values : names
        Columns of which the values are counted too.
    """

    places: Mapping[Name, Any]
    regions: Any = None
    chosen: tuple[int, ...] = ()
    values: Qid = ()


@dataclass(frozen=True)
class QuantileBins(Asks[Any]):
    """A recoding of numbers to bins of about the same number of records."""

    column: Name
    n_bins: int


@dataclass(frozen=True)
class SumsOfWeights(Asks[WeightedClasses]):
    """Weights, and risks that follow from them, summed over the classes."""

    question: Question
    weight: Name


@dataclass(frozen=True)
class IfIndependent(Asks[Independence]):
    """The classes beside what their columns give if they are independent."""

    question: Question
    fraction: float


@dataclass(frozen=True)
class Score:
    """A number that every class has; a table has the worst of them (`measures.scores`)."""

    name: str
    c: float | None = None


@dataclass(frozen=True)
class Scored:
    """The worst class by each score, and the sizes of all."""

    sizes: ClassCounts
    worst: dict[Score, float]


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
