"""What an engine must do, and the rules by which two cells are the same.

An engine reduces a table of one library to `ClassSizes`. Its keyed tallies (values of
quasi-identifiers with their counts) never leave it.

The rules of equality, the same on every engine:

- None, NULL, NaN, NaT and pd.NA are one value, "missing". With ``missing="value"`` it forms
  classes like any other; with ``"drop"`` records that miss a quasi-identifier are left out and
  counted; with ``"error"`` they are refused.
- 0.0 equals -0.0. Strings are compared exactly, byte for byte. Instants are compared as instants,
  whatever their zone. Categories that no record has form no class.
- Cells without an equality of their own (lists, maps, structs), and object columns that mix
  types, are refused by the name of their column.
- Index, row order, column order and partitioning change nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from anonrisk.core.render import count_of
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    HierarchyError,
    MissingSensitiveError,
    MissingUnitError,
    MissingValuesError,
    PopulationError,
    TooManyGroupsError,
    TooManyValuesError,
    UnsupportedColumnError,
    WeightError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.pseudonyms import Step
    from anonrisk.counts.class_profiles import ClassProfiles
    from anonrisk.counts.class_sizes import ClassSizes
    from anonrisk.counts.counter import Counter
    from anonrisk.counts.tally import Tally
    from anonrisk.counts.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.measures.risk import Attacker, Matched
    from anonrisk.measures.suda import Totals
    from anonrisk.predict.population.benedetti_franconi import WeightedClasses
    from anonrisk.predict.population.loglinear import Independence
    from anonrisk.recode import Bins, Recoding

# More groups than this are not a summary any more.
MAX_GROUPS = 10_000
# Nor does anybody look at more kinds of class, or order more values, than this.
MAX_PROFILES = 100_000
MAX_ORDERED = 100_000
# Classes that a plan may be made from.
MAX_CLASSES = 500_000
# Scores of which the smallest is the worst.
LEAST = ("distinct", "entropy", "recursive")
# exp of an entropy of two equal values is 1.9999999999999998; that is not less than 2.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Question:
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
    sizes: ClassSizes | None
    n_dropped: int = 0


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

    population: Any = None
    weight: Name | None = None
    household: Name | None = None
    factor: float = 1.0


@dataclass(frozen=True)
class Score:
    """A number that every class has; a table has the worst of them."""

    name: str
    c: float | None = None

    @property
    def least(self) -> bool:
        """Whether the smallest is the worst, as for diversity, or the largest, as for distance."""
        return self.name in LEAST

    def breaks(self, limit: float) -> float:
        """Give the value beyond which a class breaks a limit, a hair in the class's favour."""
        return limit * (1 - TOLERANCE) if self.least else limit * (1 + TOLERANCE)


@dataclass(frozen=True)
class Scored:
    """The worst class by each score, and the sizes of all."""

    sizes: ClassSizes
    worst: dict[Score, float]


@dataclass(frozen=True)
class CellSuppression:
    """Suppress cells instead of records, and write this in their place."""

    marker: str | float | None = "*"


@dataclass(frozen=True)
class Noise:
    """Random numbers to add: a law, its scale for each column, and a seed."""

    law: str
    scales: dict[Name, float]
    seed: int


class Engine(Protocol):
    """One library of tables."""

    name: str

    def columns(self, frame: Any) -> Sequence[Name]:
        """List the names of the table's columns; repeated ones as often as they occur."""

    def index(self, frame: Any) -> Sequence[Name]:
        """List the names of what is published beside the columns."""

    def check(self, frame: Any, roles: Mapping[Name, str]) -> None:
        """Refuse, from the schema alone, a table or column that cannot be counted."""

    def count(self, frame: Any, question: Question) -> list[ClassSizes]:
        """Count the classes of each quasi-identifier."""

    def count_by(self, frame: Any, question: Question, by: Name) -> list[list[Group]]:
        """Count the classes of each quasi-identifier within each group of `by`, in order."""

    def sizes(self, frame: Any, question: Question, name: str) -> Any:
        """Give each record the size of its class, under `name`."""

    def at_risk(self, frame: Any, question: Question, k: int) -> Any:
        """Select the records in classes smaller than k."""

    def is_scale(self, frame: Any, column: Name) -> bool:
        """Tell whether a column holds floats or dates, which have distances by themselves."""

    def profiles(self, frame: Any, question: Question, sensitive: Sensitive) -> ClassProfiles:
        """Count the sensitive values of each kind of class."""

    def scores(
        self, frame: Any, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class by its sensitive values, and give the worst."""

    def breaking(
        self,
        frame: Any,
        question: Question,
        limits: Sequence[tuple[Sensitive, Score, float]],
        k: int | None,
    ) -> Any:
        """Select the records of the classes that break a limit, or are smaller than k."""

    def matched(self, frame: Any, question: Question, against: Against) -> Matched:
        """Find the size that each class of the release has in the population."""

    def households(self, frame: Any, question: Question, against: Against) -> Attacker:
        """Give the risk that a record has by any member of its household."""

    def marked(self, frame: Any, columns: Sequence[Name], marker: str) -> int:
        """Count the rows that have the marker of a suppressed cell in one of the columns."""

    def in_intervals(self, frame: Any, widths: Mapping[Name, float]) -> Any:
        """Give the table with the number of its interval in place of each value."""

    def weighted(self, frame: Any, question: Question, weight: Name) -> WeightedClasses:
        """Sum weights, and risks that follow from them, over the classes."""

    def independence(self, frame: Any, question: Question, fraction: float) -> Independence:
        """Compare the classes with what their columns give if they are independent."""

    # How many sets of columns share a pass over the table; 0 where they are counted one by one.
    sets_a_pass: int

    def counter(self, frame: Any, question: Question) -> Counter:
        """Get ready to count many sets of the columns of a question."""

    def suda(
        self,
        frame: Any,
        counter: Any,
        max_size: int,
        names: list[str],
        risk: Callable[[Totals], float | None],
    ) -> tuple[Any, Any, Totals]:
        """Score every record by its minimal uniques; scores, more of each record, and totals."""

    def tally(self, frame: Any, columns: Qid, collapsible: Qid = ()) -> Tally:
        """Count the classes of some columns with their values, which stay inside.

        Where there are too many, close values of the collapsible columns may be put together.
        """

    def recode(self, frame: Any, recodings: Mapping[Name, Recoding]) -> Any:
        """Give a table with some columns recoded."""

    def is_whole(self, frame: Any, column: Name) -> bool:
        """Tell whether a column holds whole numbers."""

    def is_text(self, frame: Any, column: Name) -> bool:
        """Tell whether a column holds text, or nothing."""

    def quantile_bins(self, frame: Any, column: Name, n_bins: int) -> Bins:
        """Cut a column of numbers into bins of about the same number of records."""

    def suppress(
        self, frame: Any, question: Question, k: int, cells: CellSuppression | None = None
    ) -> Any:
        """Leave out the records of classes smaller than k, or their cells."""

    def microaggregate(self, frame: Any, columns: Qid, k: int) -> Any:
        """Replace numbers by the mean of a group of at least k records."""

    def perturb(self, frame: Any, noise: Noise) -> Any:
        """Add noise to some columns, and mark the table."""

    def permute(self, frame: Any, columns: Qid, by: Qid, seed: int) -> Any:
        """Shuffle some columns within groups, and mark the table."""

    def nested(self, frame: Any) -> Sequence[str]:
        """List the paths inside columns that are structs, as `person.name`."""

    def row_labels(self, frame: Any) -> str | None:
        """Say what rows are labelled by without a name: "row numbers", "unnamed", or nothing."""

    def with_labels(self, frame: Any, name: str) -> Any:
        """Give the table with its index as columns; labels without a name under this one."""

    def has_rows(self, frame: Any) -> bool:
        """Tell whether there is any row, without reading more than one."""

    def perturbed(self, frame: Any) -> Mapping[Name, str]:
        """Tell which columns a random step has changed, and by which."""

    def traces(self, frame: Any, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""

    def links(self, frame: Any, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""

    def pseudonymize(self, frame: Any, step: Step) -> Any:
        """Give the table with one column replaced by pseudonyms."""

    def read_roles(self, frame: Any) -> Roles | None:
        """Read the roles that the table carries."""

    def write_roles(self, frame: Any, roles: Roles) -> Any:
        """Give a table that carries these roles; the one at hand stays as it is."""


def check_kind(kind: str | None, recoding: Recoding, name: Name) -> None:
    """Refuse a recoding that is for other values than the column has."""
    if kind is not None and recoding.takes is not None and kind not in recoding.takes:
        raise UnsupportedColumnError(
            f"column {name!r} holds values of kind {kind}; "
            f"the recoding {recoding.name!r} takes {', '.join(recoding.takes)}"
        )


def check_k(k: int, n_records: int) -> None:
    """Refuse a k that no class can have."""
    if k > n_records:
        raise ArgumentError(f"k={k} is larger than the table, which has {n_records:,} records")


def not_noisy(name: Name, kind: str) -> UnsupportedColumnError:
    """Say that noise is for numbers."""
    return UnsupportedColumnError(
        f"column {name!r} holds values of kind {kind}; noise is for numbers and dates"
    )


def not_markable(name: Name) -> ArgumentError:
    """Say that a text cannot stand among numbers with a fraction."""
    return ArgumentError(
        f"column {name!r} holds numbers with a fraction, which have no one way to be written "
        "beside a text: give suppressed=None (missing) or a number"
    )


def missing_unit(unit: Name, n_missing: int) -> MissingUnitError:
    """Say how many rows belong to nobody."""
    rows = count_of(n_missing, "row")
    return MissingUnitError(
        f"unit {unit!r} is missing in {rows}; every row must belong to a person"
    )


def missing_values(n_missing: Mapping[Name, int]) -> MissingValuesError:
    """Say which quasi-identifiers miss how many values."""
    counts = ", ".join(f"{name!r} in {count_of(n, 'row')}" for name, n in n_missing.items() if n)
    return MissingValuesError(
        f"quasi-identifiers are missing ({counts}) and missing='error' refuses them"
    )


def missing_sensitive(column: Name, n_missing: int) -> MissingSensitiveError:
    """Say how often a sensitive value is missing."""
    rows = count_of(n_missing, "row")
    return MissingSensitiveError(
        f"sensitive column {column!r} is missing in {rows} and missing_sensitive='error' refuses",
        n_missing,
    )


def check_population(n_lost: int, n_short: int) -> None:
    """Refuse a population that cannot be what the release was drawn from."""
    if n_lost or n_short:
        raise PopulationError(
            f"{count_of(n_lost + n_short, 'record')} of the release "
            f"{'is' if n_lost + n_short == 1 else 'are'} in classes that the population lacks "
            f"({n_lost:,}) or has fewer of than the release ({n_short:,})"
        )


def check_weights(weight: Name, n_missing: int, n_small: int) -> None:
    """Refuse sampling weights that are missing or below 1."""
    if n_missing or n_small:
        raise WeightError(
            f"weight {weight!r} is missing or infinite in {count_of(n_missing, 'row')} "
            f"and below 1 in {count_of(n_small, 'row')}; a record stands for at least itself"
        )


def missing_household(household: Name, n_missing: int) -> MissingUnitError:
    """Say how many rows belong to no household."""
    rows = count_of(n_missing, "row")
    return MissingUnitError(f"household {household!r} is missing in {rows}")


def not_a_number(weight: Name) -> WeightError:
    """Say that weights must be numbers."""
    return WeightError(f"weight {weight!r} is not a column of numbers")


def not_numbers(column: Name) -> UnsupportedColumnError:
    """Say that only numbers lie in intervals of a width."""
    return UnsupportedColumnError(
        f"column {column!r} does not hold numbers; only those have a width"
    )


def no_hierarchy(column: Name) -> ArgumentError:
    """Say that numbers with a fraction have no place in a hierarchy."""
    return ArgumentError(
        f"sensitive column {column!r} holds numbers with a fraction, which can be written in more "
        "than one way; a hierarchy is over text, whole numbers, dates or booleans"
    )


def not_ordered(column: Name) -> ArgumentError:
    """Say what it takes to order values that have no order of their own."""
    return ArgumentError(
        f"the values of sensitive column {column!r} have no order of their own; "
        "give order=[…], from the smallest to the largest"
    )


def unknown_values(column: Name, n_values: int, where: str) -> AnonRiskError:
    """Say how many values an order or a hierarchy misses, not which."""
    values = count_of(n_values, "value")
    kind = HierarchyError if where == "hierarchy" else ArgumentError
    return kind(f"the {where} misses {values} of sensitive column {column!r}")


def check_ordered(column: Name, n_values: int) -> None:
    """Refuse more values than an ordered distance takes."""
    if n_values > MAX_ORDERED:
        raise TooManyValuesError(
            f"sensitive column {column!r} has more than {MAX_ORDERED:,} different values; "
            "bin them before you ask for an ordered distance"
        )


def check_groups(by: Name, n_groups: int) -> None:
    """Refuse more groups than a summary can hold."""
    if n_groups > MAX_GROUPS:
        raise TooManyGroupsError(
            f"{by!r} has more than {MAX_GROUPS:,} different values, the most that `by` takes"
        )


def in_order(groups: Iterable[Group]) -> list[Group]:
    """Order groups by their value, the missing one last."""
    all_ = list(groups)
    known = [group for group in all_ if not pd.isna(group.label)]
    # Values without an order of their own stay as they came; objects may raise whatever they like.
    with suppress(Exception):
        known.sort(key=lambda group: group.label)
    return known + [group for group in all_ if pd.isna(group.label)]
