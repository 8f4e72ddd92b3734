"""Risk from people outside a table that is a sample of them: bounds that hold (P12; P9, P10)."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import as_percent, not_negative, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, percent
from anonrisk.core.results import Interval
from anonrisk.errors import ArgumentError, ModelError, PopulationError
from anonrisk.measures.counts.population import ABOVE, Attacker
from anonrisk.measures.risk import Risk, of_release
from anonrisk.predict.population.benedetti_franconi import of_weights
from anonrisk.predict.population.bounds import EVERY_SIZE, LEVEL, OF_DRAW, Programme, drawn
from anonrisk.predict.population.dis import dis
from anonrisk.predict.population.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.population import ClusteredClasses, WeightedClasses
    from anonrisk.predict.population.sample import ModelEstimate

# How far a table may be from the share of the population that it is said to be: of what is expected
# this share, for fractions that were rounded, or so many standard deviations.
_ROUNDED, _DEVIATIONS = 0.01, 4
_AT_LEAST = (
    "only this is certain: a class has at least as many people in the population as in the table"
)
_NOTHING_SAID = (
    f"from a sample of which {_AT_LEAST}; population_size or unsuppressed would narrow it down"
)
_UNEQUAL = f"from a sample with unequal chances, of which {_AT_LEAST}"
_CONTRADICTED = (
    "the class sizes are not those of a simple random sample from which nothing was removed, so "
    f"that unsuppressed is not true; {_AT_LEAST}"
)


@dataclass(frozen=True)
class Sampling:
    """What is said of how a table came from its population: all people with the same chance.

    Attributes
    ----------
    fraction : float or None
        The share of the population that was drawn.
    population_size : int or None
        The number of people in the population.
    unsuppressed : bool
        Whether no record was removed from what was drawn.
    """

    fraction: float | None = None
    population_size: int | None = None
    unsuppressed: bool = False

    def __post_init__(self) -> None:
        """Reject what is too little to go by."""
        if self.fraction is not None or (self.population_size is None and not self.unsuppressed):
            return
        if self.population_size is None:
            raise ArgumentError("unsuppressed needs a sampling_fraction or a population_size")
        if not self.unsuppressed:
            raise ArgumentError(
                "population_size needs a sampling_fraction beside it: which share was drawn cannot "
                "be seen where records may have been removed (if none was, say unsuppressed)"
            )

    @property
    def known(self) -> bool:
        """Whether anything is said."""
        return self.fraction is not None or self.unsuppressed

    def share(self, sizes: ClassCounts, together: float = 1.0) -> float:
        """Return the share of the population that was drawn; make sure that the table fits it.

        `together` are the people that somebody who was drawn brought along, on average.
        """
        N, f = self.population_size, self.fraction
        if N is None or f == 1:
            assert f is not None  # noqa: S101
            return f
        if f is None:
            if sizes.n_dropped:
                raise ArgumentError(
                    f"{count_of(sizes.n_dropped, 'row')} with a missing quasi-identifier left out: "
                    "give the sampling_fraction, which cannot be derived from the rest"
                )
            return Sample.of(sizes, N).f
        expected = f * N
        spread = max(_ROUNDED * expected, _DEVIATIONS * sqrt(expected * together))
        removed = self.unsuppressed and not sizes.n_dropped and sizes.n_records < expected - spread
        if removed or sizes.n_records > expected + spread:
            raise PopulationError(
                f"{percent(f)} of {N:,} people are about {expected:,.0f}, and the table has "
                f"{count_of(sizes.n_records, 'record')}"
                + (": some were removed, or the numbers are wrong" if removed else "")
            )
        return f


def sampling_of(fraction: Any, population_size: Any, unsuppressed: Any) -> Sampling:
    """Read what a caller says of the draw."""
    if not isinstance(unsuppressed, bool):
        raise ArgumentError("unsuppressed is True or False: whether no record was removed")
    people = population_size
    if people is not None:
        people = whole_number(people, "population_size", at_least=1)
    return Sampling(None if fraction is None else fraction_of(fraction), people, unsuppressed)


def fraction_of(value: Any) -> float:
    """Read a sampling fraction."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 1:
        raise ArgumentError(f"sampling_fraction is a share: above 0, at most 1{as_percent(value)}")
    return float(value)


@dataclass(frozen=True, eq=False, repr=False)
class BoundedAttacker(Attacker):
    """The risk from one attacker, from a sample: `highest` and `average` are upper ends.

    Attributes
    ----------
    low : float
        Lower end of the average, which the highest risk cannot be below.
    level : float or None
        The share of samples whose bounds hold; None where they are certain.
    """

    low: float = 0.0
    level: float | None = None
    shares: Callable[[float], Interval] | None = None

    @property
    def average_interval(self) -> Interval:
        """Least and largest average."""
        return Interval(min(self.low, self.average), self.average, self.level)

    @property
    def highest_interval(self) -> Interval | None:
        """Least and largest risk of the record at most risk; a marketer has none."""
        if self.highest is None:
            return None
        return Interval(min(self.low, self.highest), self.highest, self.level)

    def share_interval(self, threshold: float) -> Interval:
        """Least and largest share of the records whose risk is above a threshold."""
        high = super().share_above(threshold)
        if self.shares is None:
            return Interval(0.0, high, self.level)
        shares = self.shares(not_negative(threshold, "the threshold"))
        high = min(high, shares.high)
        return Interval(min(shares.low, high), high, self.level)

    def share_above(self, threshold: float) -> float:
        """Largest share of the records whose risk can be strictly greater than a threshold."""
        return self.share_interval(threshold).high

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        names = ("highest_interval", "average_interval")
        ends = {name: getattr(self, name) for name in names}
        return {**super().to_dict(), **{name: item and [*item] for name, item in ends.items()}}


@dataclass(frozen=True, eq=False, repr=False)
class SampledRisk(Risk):
    """Re-identification risk of a table that is a sample.

    Attributes
    ----------
    assumes : str
        What the bounds rest on, in words.
    model : ModelEstimate or None
        What Benedetti and Franconi's model says of unequal weights (P10); no bound.
    """

    assumes: str = _NOTHING_SAID
    model: ModelEstimate | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        match, model = self.unique_match, self.model
        return {
            **super().to_dict(),
            "assumes": self.assumes,
            "unique_match": None if match is None else [match.low, match.high],
            "model": None if model is None else model.to_dict(),
        }

    @property
    def notes(self) -> list[str]:
        """What the bounds rest on, and what stands beside them, in words."""
        notes = [self.assumes]
        if self.unique_match is not None:
            low, high = (percent(end).removesuffix("%") for end in self.unique_match)
            notes.append(f"a unique match is right in {low} to {high}%")
        if self.model is not None:
            highest, every = self.model.highest_risk or 0.0, self.model.reidentifications or 0.0
            average = every / float(self.prosecutor.records.sum())  # type: ignore[union-attr]
            notes.append(
                f"beside it a model, Benedetti-Franconi: highest {percent(highest)}, "
                f"average {percent(average)}; {self.model.note}"
            )
        return notes


def of_sample(sizes: ClassCounts, sampling: Sampling) -> Risk:
    """Bound the risks of a table that is a sample.

    Notes
    -----
    P12. *By class*: with G(j) from `least_in_population`, every class has F ≥ G(f) at once in 95%
    of samples, whatever classes were removed after the draw. *Linear programme*, where nothing
    was removed: over all populations that agree with the table, Σ D_F bounds the marketer's
    average (f/n) Σ D_F, and Σ_{F<1/x} F D_F the share above x; the luck of the draw is added. The
    smaller of the two is taken. Lower ends that hold however the table was drawn: (Σ √f)²/(nN) for
    the marketer by Cauchy's inequality, J/N for the journalist.

    Examples
    --------
    >>> from anonrisk.measures.counts.class_sizes import ClassCounts
    >>> sizes = ClassCounts([10, 40], [200, 25])
    >>> of_sample(sizes, Sampling(0.05, 60_000)).journalist.highest
    0.0232558139534...
    """
    sizes.refuse_overlap()
    f, N = sampling.share(sizes), sampling.population_size
    if f == 1:
        # Everybody was drawn: the classes of the table are those of the population.
        return replace(of_release(sizes), basis="population")
    if N is None and not sampling.unsuppressed:
        return _certain(sizes)
    # Of people whose quasi-identifier is known, where the others are left out.
    drawn_from = round(sizes.n_records / f) if N is None or sizes.n_dropped else N
    sample = Sample.of(sizes, max(drawn_from, sizes.n_records))
    programme = _Programme(sample) if sampling.unsuppressed else None
    if programme is not None and not programme.agrees:
        return _certain(sizes, _CONTRADICTED)
    return _bounded(sizes, f, N or sample.N, programme)


def of_clusters(counted: ClusteredClasses, sampling: Sampling) -> Risk:
    """Bound the risks of a table that is a sample of whole clusters, as homes.

    Notes
    -----
    P12, by class alone. A class with parts of r clusters has parts of at least G(r) clusters in the
    population, of which there are N at most; those that were not drawn have a member each, so that
    F ≥ G(r) − r + f for all classes at once in 95% of samples, whatever classes were removed since.

    Examples
    --------
    >>> from anonrisk.measures.counts.class_sizes import ClassCounts
    >>> from anonrisk.measures.counts.population import ClusteredClasses
    >>> parts = np.arange(40)
    >>> homes = ClusteredClasses(ClassCounts([80], [1]), parts * 0, parts, parts * 0 + 2, "home")
    >>> of_clusters(homes, Sampling(0.05, 1_600)).journalist.highest
    0.0016583747927...
    """
    if sampling.fraction is None or sampling.population_size is None or sampling.unsuppressed:
        raise ArgumentError(
            "cluster= needs sampling_fraction= and population_size=, and no unsuppressed=: more "
            "can be told only where persons were drawn singly"
        )
    f = sampling.share(counted.sizes, counted.together)
    if f == 1:
        return of_sample(counted.sizes, sampling)
    N = sampling.population_size
    parts = np.bincount(counted.class_of)
    size = np.bincount(counted.class_of, counted.members).astype(np.int64)
    kinds, classes = np.unique(np.stack([size, parts]), axis=1, return_counts=True)
    least = least_in_population(kinds[1], f, N) + kinds[0] - kinds[1]
    return _bounded(counted.sizes, f, N, None, (kinds[0], classes, least))


def of_weighted(weighted: WeightedClasses) -> SampledRisk:
    """Return what holds however a table was drawn, with what a model says of its weights beside."""
    return of_unequal(weighted.sizes, of_weights(weighted))


def of_unequal(sizes: ClassCounts, model: ModelEstimate | None = None) -> SampledRisk:
    """Return what holds of a sample with unequal chances: nobody exceeds the prosecutor."""
    return _certain(sizes, _UNEQUAL, "weights", model)


def at_most(attacker: Attacker) -> BoundedAttacker:
    """Take a risk that was computed with F = f for an upper end."""
    return BoundedAttacker(
        attacker.name, attacker.average, attacker.highest, attacker.risks, attacker.records
    )


def least_in_population(sizes: Integers, fraction: float, population_size: int) -> Integers:
    """Return the size G(j) that a class has at least in the population, if j of it were drawn.

    Notes
    -----
    P12: G(j) is the least F with P(Bin(F, f) ≥ j) > 0.05 F/N. A class of size F is then too small
    for what was drawn of it with probability at most 0.05 F/N, and those add up to 0.05 over a
    population of N people: with 95%, F ≥ G(j) for all classes of the table together. For j = 1
    nothing is gained. Drawn without replacement, tails are smaller.

    Examples
    --------
    >>> least_in_population(np.array([1, 3, 10, 100]), 0.05, 60_000).tolist()
    [1, 3, 43, 1462]
    """
    from scipy.special import betainc

    j = sizes.astype(float)
    # The chance per person rises with F and then falls, so that where it is above the limit at the
    # end it has been so since it first was. At j/f it is, since j is at most n, about f N.
    low, high = j.copy(), np.maximum(np.minimum(np.ceil(j / fraction), population_size), j)
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        likely = betainc(j, middle - j + 1, fraction) > (1 - LEVEL) * middle / population_size
        high = np.where(likely, middle, high)
        low = np.where(likely, low, np.minimum(middle + 1, high))
    result: Integers = high.astype(np.int64)
    return result


def _certain(
    sizes: ClassCounts,
    assumes: str = _NOTHING_SAID,
    basis: str = "sampling_fraction",
    model: ModelEstimate | None = None,
) -> SampledRisk:
    plain = of_release(sizes)
    return SampledRisk(
        plain.prosecutor,
        at_most(plain.journalist),
        at_most(plain.marketer),
        basis=basis,
        assumes=assumes,
        model=model,
    )


def _bounded(
    sizes: ClassCounts,
    f: float,
    N: int,
    programme: _Programme | None,
    clustered: tuple[Integers, Integers, Integers] | None = None,
) -> SampledRisk:
    """Bound the risks; `clustered` has kinds of class: size, number, least size among all."""
    n, u = sizes.n_records, sizes.n_classes
    singly = (sizes.sizes, sizes.classes, least_in_population(sizes.sizes, f, N))
    size, classes, least = clustered or singly
    records, risks = (size * classes).astype(float), 1 / least
    average = float((records * risks).sum() / n)
    among = max(average, u / float((classes * least).sum()))
    low = float((sizes.classes * np.sqrt(sizes.sizes)).sum()) ** 2 / (n * N)
    shares = unique_match = None
    removed = ", whatever was removed since"
    if programme is not None:
        result = programme.average
        average, among, low = (
            min(average, result.high),
            min(among, result.high),
            max(low, result.low),
        )
        shares, unique_match = programme.share_above, programme.unique_match
        removed = " and nothing was removed since"
    how = "as whole clusters" if clustered else "singly"
    assumes = f"95%, if {percent(f)} of {N:,} people were drawn {how} with equal chances{removed}"
    bounds: dict[str, Any] = {"level": LEVEL, "shares": shares}
    highest = float(risks.max())
    return SampledRisk(
        of_release(sizes).prosecutor,
        BoundedAttacker("journalist", among, highest, risks, records, max(low, u / N), **bounds),
        BoundedAttacker("marketer", average, low=low, **bounds),
        basis="sampling_fraction",
        assumes=assumes,
        unique_match=unique_match,
    )


class _Programme:
    """The programme of a sample, asked about this very table."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.programme = sample, Programme(sample)

    @property
    def agrees(self) -> bool:
        """Whether there is a population that the table can be a simple random sample of."""
        return self.programme.needed == 1

    @property
    def average(self) -> Interval:
        """Bounds on the marketer's average."""
        return self._of_table(self.programme.classes)

    def share_above(self, risk: float) -> Interval:
        """Bounds on the share of records whose risk is above a number."""
        if risk * EVERY_SIZE < 1:
            # Between sizes that are not all looked at.
            return Interval(0.0, 1.0)
        return self._of_table(self.programme.above(risk * ABOVE))

    @property
    def unique_match(self) -> Interval | None:
        """Bounds on the share of correct ones among unique matches."""
        return dis(self.sample).interval if self.sample.s(1) else None

    def _of_table(self, gain: Callable[[Integers], Floats]) -> Interval:
        try:
            people = self.programme.between(gain, 1 - LEVEL - OF_DRAW)
        except ModelError:
            return Interval(0.0, 1.0)
        result = drawn(people, self.sample.f) / self.sample.n
        return Interval(min(result.low, 1.0), min(result.high, 1.0))
