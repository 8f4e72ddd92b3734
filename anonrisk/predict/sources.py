"""Where a prediction comes from: a distribution, the records of a table, or a divergence alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, replace
from functools import cached_property
from math import inf, log, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.core.results import Interval, Probability
from anonrisk.errors import ApproximationError
from anonrisk.predict import another_group, clusters, independent, kl, law, moments
from anonrisk.predict.another_group import LARGEST_BEYOND, ClassEstimate, estimate
from anonrisk.predict.independent import Binomial, Poisson

if TYPE_CHECKING:
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.population import ClusteredClasses
    from anonrisk.predict.distribution import Distribution
    from anonrisk.predict.independent import Numbers
    from anonrisk.predict.kl import KnownByKl
    from anonrisk.predict.law import Law


class PredictionSource(ABC):
    """What a prediction asks."""

    # Size of the group.
    k: int
    # Whether mean and law are estimates from a table, not known.
    estimated = False

    @property
    def largest(self) -> int | None:
        """The largest class that is told apart, where there is a limit."""
        return None

    @property
    @abstractmethod
    def words(self) -> str:
        """How the group comes about."""

    @abstractmethod
    def mean(self) -> float:
        """Expected number of singletons."""

    @abstractmethod
    def variance(self) -> float:
        """Variance of their number."""

    # What a bracket comes from, in words.
    between: ClassVar[str] = "putting near probabilities together leaves"

    def bracket(self) -> Interval | None:
        """Between which numbers the mean lies, where it is not known exactly."""
        return None

    def quick_law(self) -> law.Law:
        """Chances of 0, 1, 2, … in a moment, for a picture of many groups."""
        return self.law()

    @abstractmethod
    def law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons."""

    def largest_group(self) -> int:
        """Size of the largest group that a picture shows beside this one."""
        return 4 * max(self.k, 1)

    def of_size(self, k: int) -> PredictionSource:
        """Return the same for a group of another size, at most the largest."""
        return replace(self, k=k)  # type: ignore[type-var]

    @abstractmethod
    def all_allowed(self, allowed: independent.Allowed) -> Probability:
        """Chance that all class sizes are allowed."""

    @abstractmethod
    def classes(self, j: int) -> float:
        """Expected number of classes of j people."""

    def class_law(self, j: int) -> Law | None:  # noqa: ARG002
        """Chances of 0, 1, 2, … classes of j people, where the source knows them."""
        return None


class _Drawn(PredictionSource):
    """What the two kinds of draw share."""

    @property
    @abstractmethod
    def numbers(self) -> Numbers:
        """Class sizes as independent numbers, given their sum."""

    @property
    def n_values(self) -> int:
        """Number of values that somebody may have."""
        return int(self.numbers.w.sum())

    @abstractmethod
    def shared_by(self, people: int) -> float:
        """Expected number of sets of so many people who share a value."""

    def is_certain(self) -> bool:
        """Return whether every draw is the same."""
        return self.k <= 1

    def quick_law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons; Normal where the exact law takes a while."""
        mean, variance = self.mean(), self.variance()
        if variance > 0 and law.cost(self.numbers, self.k, sqrt(variance)) > law.QUICK:
            return law.normal(self.k, mean, variance)
        return self.law()

    def law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons."""
        mean, variance = self.mean(), self.variance()
        if self.is_certain() or variance == 0:
            return law.normal(self.k, mean, 0.0)
        sd, numbers = sqrt(variance), self.numbers.gathered(self.k)
        if law.cost(numbers, self.k, sd) > law.CHEAP:
            near = law.approximate(self.k, mean, variance, self.shared_by(2), self.shared_by(3))
            if near is not None:
                return near
        return law.exact(numbers, self.k, mean, sd)

    def all_allowed(self, allowed: independent.Allowed) -> Probability:
        """Chance that all class sizes are allowed."""
        k = self.k
        if k == 0 or (k == 1 and allowed.K == 1):
            return Probability(0.0, "exact")
        if k < allowed.K or (allowed.K == 1 and k > self.n_values):
            return Probability(-np.inf, "exact")
        log, how = independent.log_probability(self.numbers, k, allowed)
        return Probability(min(0.0, log), how)


@dataclass(frozen=True)
class FromDistribution(_Drawn):
    """People drawn one by one from a distribution (S2 to S16)."""

    distribution: Distribution
    k: int
    words: str = "people drawn one by one from a known distribution"

    @cached_property
    def numbers(self) -> Poisson:
        """Class sizes as independent numbers, given their sum."""
        return Poisson(self.distribution.p, self.distribution.values)

    def mean(self) -> float:
        """Expected number of singletons."""
        return moments.mean(self.distribution.p, self.distribution.values, self.k)

    def variance(self) -> float:
        """Variance of their number."""
        if self.k <= 1:
            return 0.0
        return moments.variance(self.distribution.p, self.distribution.values, self.k)

    def bracket(self) -> Interval | None:
        """Each bin keeps its whole probability, and its chance of being alone falls with p."""
        known = self.distribution
        if not known.binned or self.k == 0:
            return None
        weight = known.p * known.values
        ends = (moments.expected_each(p, self.k) / p for p in (known.high, known.low))
        low, high = (float(np.dot(weight, each)) for each in ends)
        return Interval(low, high, level=1.0)

    def shared_by(self, people: int) -> float:
        """Expected number of sets of so many people who share a value."""
        steps = np.prod([(self.k - j) / (j + 1) for j in range(people)])
        return float(steps * np.dot(self.distribution.values, self.distribution.p**people))

    def classes(self, j: int) -> float:
        """Expected number of classes of j people."""
        each = moments.classes_each(self.distribution.p, self.k, j)
        return float(np.dot(self.distribution.values, each))


@dataclass(frozen=True)
class FromTable(_Drawn):
    """Records drawn from a table without replacement (S17)."""

    counted: ClassCounts
    k: int

    @property
    def words(self) -> str:
        """How the group comes about."""
        n = self.counted.n_memberships
        return f"persons drawn singly, without replacement, from the table's {n:,} records"

    @cached_property
    def numbers(self) -> Binomial:
        """Class sizes as independent numbers, given their sum."""
        return Binomial(self.counted.sizes, self.counted.classes)

    @property
    def n(self) -> int:
        """Number of records of the table."""
        return self.counted.n_memberships

    def largest_group(self) -> int:
        """Size of the largest group: the whole table."""
        return self.n

    def is_certain(self) -> bool:
        """Return whether every draw is the same."""
        return self.k <= 1 or self.k == self.n

    def mean(self) -> float:
        """Expected number of singletons."""
        if self.k == self.n:
            return float(self.counted.singletons)
        return another_group.drawn_mean(self.counted.sizes, self.counted.classes, self.n, self.k)

    def variance(self) -> float:
        """Variance of their number."""
        if self.is_certain():
            return 0.0
        return another_group.drawn_variance(
            self.counted.sizes, self.counted.classes, self.n, self.k
        )

    def shared_by(self, people: int) -> float:
        """Expected number of sets of so many people who share a value."""
        return another_group.shared_by(
            self.counted.sizes, self.counted.classes, self.n, self.k, people
        )

    def all_allowed(self, allowed: independent.Allowed) -> Probability:
        """Chance that all class sizes are allowed."""
        if self.k == self.n:
            sizes = self.counted.sizes
            good = sizes.max() <= 1 if allowed.K == 1 else sizes.min() >= allowed.K
            return Probability(0.0 if good else -np.inf, "exact")
        return super().all_allowed(allowed)

    def classes(self, j: int) -> float:
        """Expected number of classes of j people."""
        sizes, classes = self.counted.sizes, self.counted.classes
        if self.k == self.n:
            return float(classes[sizes == j].sum())
        return float(np.dot(classes, another_group.classes_each(sizes, self.n, self.k, j)))


@dataclass(frozen=True)
class FromKl(PredictionSource):
    """A group of which only the number of values and their divergence are known (S5 to S8, U6)."""

    known: KnownByKl
    k: int
    of_table: bool = False
    between: ClassVar[str] = "whatever the distribution of that divergence, the mean is"

    @property
    def words(self) -> str:
        """How the group comes about."""
        table = "; both as in this table, whose own chance is left out" if self.of_table else ""
        return f"persons drawn singly, approximated from {self.known}{table}"

    def mean(self) -> float:
        """Expected number of singletons."""
        return kl.expected_singletons(self.known, self.k).value

    def bracket(self) -> Interval:
        """Between which numbers the mean lies for every law of this divergence."""
        expected_classes = kl.expected_classes(self.known, self.k, 1)
        return Interval(expected_classes.low, expected_classes.high, level=1.0)

    def variance(self) -> float:
        """Variance of their number."""
        return kl.variance(self.known, self.k)

    def law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons."""
        near = law.normal(self.k, kl.mean(self.known, self.k), self.variance())
        return law.Law(near.first, near.chance, "Normal, mean and variance from kl")

    def all_allowed(self, allowed: independent.Allowed) -> Probability:
        """Chance that all class sizes are allowed."""
        if allowed.K == 1:
            return Probability(kl.log_uniqueness(self.known, self.k), "kl")
        raise ApproximationError(
            "the divergence alone says nothing about the chance that no class is small; "
            "give the distribution itself"
        )

    def classes(self, j: int) -> float:
        """Expected number of classes of j people."""
        return kl.judged_classes(self.known, self.k, j).value


@dataclass(frozen=True)
class AnotherGroup(PredictionSource):
    """Other people from the population of a table, up to twice as many as it has (P13)."""

    counted: ClassCounts
    k: int

    estimated = True

    @property
    def words(self) -> str:
        """How the group comes about."""
        records = count_of(self.n, "record")
        return f"another group from the population of the table's {records}, persons drawn singly"

    @property
    def n(self) -> int:
        """Number of records of the table."""
        return self.counted.n_memberships

    @property
    def largest(self) -> int | None:
        """The largest class that is told apart."""
        return LARGEST_BEYOND if self.k > self.n else None

    def largest_group(self) -> int:
        """Size of the largest group: of the table, or as far as was asked for."""
        return max(self.n, self.k)

    @cached_property
    def _estimates(self) -> dict[int, ClassEstimate]:
        """What was estimated before, by class size."""
        return {}

    def estimate(self, j: int) -> ClassEstimate:
        """Estimate the number of classes of j people."""
        if self.k <= 1:
            return ClassEstimate(float(self.k == j), 0.0, 0.0)
        if j not in self._estimates:
            self._estimates[j] = self._estimated(j)
        return self._estimates[j]

    def _estimated(self, j: int) -> ClassEstimate:
        return estimate(self.counted, self.k, j)

    def mean(self) -> float:
        """Expected number of singletons."""
        return self.estimate(1).mean

    def variance(self) -> float:
        """Variance about the number that the group will have, that of the estimate included."""
        return self.estimate(1).variance

    @cached_property
    def _law(self) -> Law:
        if self.k <= 1:
            return law.normal(self.k, self.mean(), 0.0)
        return law.estimated_singletons(self.k, self.k / self.n, self.estimate(1))

    def law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons, the table's own chance included."""
        return self._law

    def all_allowed(self, allowed: independent.Allowed) -> Probability:
        """Chance that nobody, or everybody, is a singleton, by the same law."""
        place = (self.k if allowed.K == 1 else 0) - self._law.first
        chance = self._law.chance
        result = float(chance[place]) if 0 <= place < len(chance) else 0.0
        rest = min(1.0, float(np.delete(chance, place).sum())) if result else 1.0
        return Probability(log(result) if result else -inf, self._law.how, rest)

    def classes(self, j: int) -> float:
        """Expected number of classes of j people."""
        return self.estimate(j).mean

    def class_law(self, j: int) -> Law:
        """Chances of 0, 1, 2, … classes of j people."""
        if j == 1 or self.k <= 1:
            return self._law if j == 1 else law.normal(self.k, 0.0, 0.0)
        return law.estimated_classes(self.estimate(j), self.k // j)


@dataclass(frozen=True)
class AnotherGroupOfClusters(AnotherGroup):
    """Other clusters, as whole homes, from the population of a table (P14)."""

    clustered: ClusteredClasses = field(kw_only=True)

    @property
    def words(self) -> str:
        """How the group comes about."""
        return f"another group from the population of {self._table}, whole clusters drawn"

    @property
    def _table(self) -> str:
        made = f"{count_of(self.n, 'record')} in {self.clustered.n_clusters:,} clusters"
        return f"the table's {made} ({render.named(self.clustered.cluster)})"

    def _estimated(self, j: int) -> ClassEstimate:
        return clusters.another_group(self.clustered, self.k, j)


@dataclass(frozen=True)
class ClustersOfTable(AnotherGroupOfClusters):
    """Some clusters of a table, without replacement (P14)."""

    @property
    def words(self) -> str:
        """How the group comes about."""
        return f"whole clusters drawn, without replacement, from {self._table}"

    def largest_group(self) -> int:
        """Size of the largest group: the whole table."""
        return self.n

    def _estimated(self, j: int) -> ClassEstimate:
        return clusters.part_of_table(self.clustered, self.k, j)

    @cached_property
    def _law(self) -> Law:
        return self.class_law(1)

    def class_law(self, j: int) -> Law:
        """Chances of 0, 1, 2, … classes of j people."""
        known = self.estimate(j)
        return law.normal(self.k // j, known.mean, known.variance)
