"""What an engine is asked, and how much it may answer."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.counter import Counter
from anonrisk.measures.counts.population import Attacker, Independence, Matched, WeightedClasses
from anonrisk.measures.counts.tally import PlacedTally, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy


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
