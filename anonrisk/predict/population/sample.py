"""A table as a simple random sample of a population, and what a model says about that."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from anonrisk.core.arguments import whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, count_of, percent
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError, ModelError, PopulationError
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from anonrisk.core.results import Interval
    from anonrisk.core.types import Floats

    Histogram: TypeAlias = ClassCounts | Mapping[int, int]

# Above this share of the population, drawing without replacement is not like drawing with it: the
# variance of a number differs by that share. A tenth is chosen; the exact urn is right at any.
FINITE = 0.1
# No population is larger, and what is counted of one fits into 64 bits.
_MOST = 10**15


@dataclass(frozen=True)
class Sample:
    """The class sizes of a table, and the size of the population that it was drawn from.

    Examples
    --------
    >>> sample = Sample.of({1: 40, 2: 10, 3: 5}, 750)
    >>> sample.n, sample.u, sample.s(2), sample.f
    (75, 55, 10, 0.1)
    """

    classes_of: ClassCounts
    N: int

    @classmethod
    def of(cls, histogram: Histogram | Sample, population_size: int) -> Sample:
        """Check that the table can be a sample of that population, one record per person."""
        if isinstance(histogram, Sample):
            return histogram
        sizes = class_sizes(histogram)
        sizes.refuse_overlap()
        N = whole_number(population_size, "population_size", at_least=1, at_most=_MOST)
        if sizes.n_memberships != sizes.n_records:
            raise ArgumentError(
                "some persons are in several classes, so that the table is not a sample of "
                "persons: reduce it to one row per person"
            )
        if sizes.n_records > N:
            raise PopulationError(
                f"a population of {N:,} cannot have given a table of "
                f"{count_of(sizes.n_records, 'record')}"
            )
        return cls(sizes, N)

    @property
    def n(self) -> int:
        """Records in the table."""
        return self.classes_of.n_records

    @property
    def u(self) -> int:
        """Classes in the table."""
        return self.classes_of.n_classes

    @property
    def f(self) -> float:
        """Share of the population that is in the table."""
        return self.n / self.N

    @property
    def finite(self) -> bool:
        """Whether the sample is so large a share that it must be counted as drawn from an urn."""
        return self.f > FINITE

    @property
    def sizes(self) -> Floats:
        """The class sizes that occur."""
        return self.classes_of.sizes.astype(float)

    @property
    def classes(self) -> Floats:
        """The number of classes of each of them."""
        return self.classes_of.classes.astype(float)

    def s(self, size: int) -> int:
        """Count the classes of one size."""
        return int(self.classes_of.classes[self.classes_of.sizes == size].sum())


def class_sizes(histogram: Histogram) -> ClassCounts:
    """Read a histogram of class sizes, frozen or as a mapping of size to number of classes."""
    if isinstance(histogram, ClassCounts):
        return histogram
    return ClassCounts.from_histogram(histogram)


def singletons_of(sample: Sample, model: str) -> int:
    """Return how many records are alone, without which some models say nothing."""
    if not sample.s(1):
        raise ModelError(f"{model} needs singletons, and the table has none")
    return sample.s(1)


def require_tenth(sample: Sample, model: str) -> None:
    """Reject a table that is too small a part of its population for a model."""
    if sample.f < FINITE:
        raise ModelError(
            f"{model} needs a table of at least a tenth of the population, not {percent(sample.f)}"
        )


REGISTER = "holds a register of the whole population and looks for people who are unique in it"
LINKER = (
    "links each singleton of the table to a register of the population and picks at random among "
    "those who match"
)
EVERY_RECORD = (
    "links every record of the table to a register of the population and picks at random among "
    "those who match"
)
ONE_MATCH = (
    "looks for one person of the population, finds exactly one record that matches, and takes it "
    "to be that person"
)


@dataclass(frozen=True, repr=False)
class ModelEstimate(Document, PrintedFields):
    """What one model says about the population that a table is a sample of.

    Attributes
    ----------
    model, formula : str
        Its name, and its formulas (`P3`, …).
    attacker : str
        Who would do what, in words.
    converged : bool
        Whether the model could be fitted. If not there are no figures, and `note` says why.
    uniques : float or None
        Expected number of people who are unique in the population.
    singletons_unique : float or None
        Expected share of the table's singletons who are unique in the population.
    matches : float or None
        Expected number of correct matches of somebody who links the table's singletons.
    match_correct : float or None
        Probability that a unique match is correct.
    reidentifications, highest_risk : float or None
        Expected number of correct matches over all records, and the risk of the record most at
        risk.
    interval : Interval or None
        95% interval of the one figure that the model is for, where there is one.
    parameters : dict
        What was fitted.
    doubtful : bool
        Whether the figures should not be relied on: the bounds leave room for an error of more
        than two (see `anonrisk.predict.population.models`), or the model itself sees why not.
    note : str
        Why there is no figure, or when not to trust it.
    """

    model: str
    formula: str = field(repr=False)
    attacker: str
    converged: bool = True
    uniques: float | None = None
    singletons_unique: float | None = None
    matches: float | None = None
    match_correct: float | None = None
    reidentifications: float | None = None
    highest_risk: float | None = None
    interval: Interval | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    doubtful: bool = False
    note: str = ""
