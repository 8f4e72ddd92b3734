"""Questions about a group: from a distribution, a counted table or a divergence."""

from __future__ import annotations

from heapq import heappop, heappush
from math import ceil, e, exp
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, one_of, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import kind_name
from anonrisk.core.results import Document, Probability
from anonrisk.errors import ApproximationError, ArgumentError
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.predict import independent, moments, sources
from anonrisk.predict.distribution import Distribution
from anonrisk.predict.independent import Poisson
from anonrisk.predict.kl import KnownByKl, expected_singletons
from anonrisk.predict.moments import mean
from anonrisk.predict.prediction import PredictedClasses, PredictedRecords, Prediction

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.predict.sources import PredictionSource

# Where the tilted recursion is run, its cost is this at most.
MAX_STEPS = 50_000_000
# A hundred times mankind: whoever asks about more is mistaken.
MAX_GROUP = 10**12
# Class sizes that are told apart: more nobody reads.
MAX_SIZES = 10_000


def singletons(known: Distribution | KnownByKl, group_size: int) -> Prediction:
    """How many of a group will be singletons.

    Parameters
    ----------
    known : Distribution or KnownByKl
        How likely the values are, or only their number and divergence.
    group_size : int
        Number of people, drawn one by one.

    Returns
    -------
    Prediction

    See Also
    --------
    anonrisk.predict_singletons : judging by a table
    anonrisk.predict.classes : classes of every size
    anonrisk.predict.uniqueness : the chance that nobody shares a value

    Notes
    -----
    S2: E S = k Σ p (1 − p)^(k−1). Variance S3, law S14 or, where that takes long, S15. From a
    divergence S5 and S6, within the limits where they are good.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Propositions 5.1
    and 5.9, and 5.4.3; corrected as in docs/formulas.md, ``koot-5.1``, ``koot-5.3.1-variance``,
    ``koot-5.4.3``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, singletons
    >>> singletons(Distribution.uniform(365), 364).mean
    134.4602302344...
    """
    return Prediction(_source(known, group_size))


def classes(known: Distribution | KnownByKl, group_size: int, upto: int = 10) -> PredictedClasses:
    """In classes of which size the people of a group will be.

    Parameters
    ----------
    known, group_size
        As in `singletons`; the group has at least one person.
    upto : int
        The largest class size to tell apart.

    Returns
    -------
    PredictedClasses

    See Also
    --------
    anonrisk.predict.singletons : classes of one, with their law
    anonrisk.predict.records_below : people in all classes smaller than k
    anonrisk.predict_classes : judging by a table

    Notes
    -----
    S7: E C_j = C(k, j) Σ p^j (1 − p)^(k−j); S8: the share of people is j E C_j / k.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Remark 5.3;
    corrected as in docs/formulas.md, ``koot-remark-5.3``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, classes
    >>> classes(Distribution.uniform(2), 4, upto=4).share.round(12).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    source = _source(known, group_size)
    return predicted_classes(source, upto)


def predicted_classes(source: PredictionSource, upto: int) -> PredictedClasses:
    """Ask a source for its classes."""
    if whole_number(upto, "upto", at_least=1) > MAX_SIZES:
        raise ArgumentError(f"upto must be at most {MAX_SIZES:,}")
    return PredictedClasses(source, int(upto))


def records_below(known: Distribution, group_size: int, k: int) -> PredictedRecords:
    """How many people of a group will be in classes smaller than `k`.

    Parameters
    ----------
    known, group_size
        As in `singletons`.
    k : int
        The class size that is asked for.

    Returns
    -------
    PredictedRecords

    See Also
    --------
    anonrisk.predict.k_anonymous : chance that there are none
    anonrisk.predict.classes : size by size

    Notes
    -----
    S10: k Σ p P(Bin(k − 1, p) ≤ K − 2).

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Remark 5.3,
    summed over sizes; corrected as in docs/formulas.md, ``koot-remark-5.3``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, records_below
    >>> records_below(Distribution.uniform(100), 1_000, 5)
    Of a group of 1,000, 10.1 are expected in classes smaller than 5 (1.0%), give or
      take 5.7
    """
    known = _distribution(known)
    n = group_of(group_size)
    K = whole_number(k, "k", at_least=1)
    p, w = known.p, known.values
    mean, variance = moments.expected_below(p, w, n, K), moments.variance_below(p, w, n, K)
    return PredictedRecords(n, K, mean, variance)


def k_anonymous(known: Distribution | ClassCounts, group_size: int, k: int) -> Probability:
    """Chance that the table of a group will be k-anonymous: no class smaller than `k`.

    Parameters
    ----------
    known : Distribution or ClassCounts
        How likely the values are, or the table whose records are drawn without replacement.
    group_size : int
        Number of people.
    k : int
        The class size that is asked for.

    Returns
    -------
    Probability

    See Also
    --------
    anonrisk.predict.records_below : how many fall short
    anonrisk.predict.uniqueness : chance that everybody is alone
    anonrisk.probabilistic_k : a promise per value only

    Notes
    -----
    S16: k! [z^k] ∏ (e^x − Σ x^m/m! over 0 < m < K), by S13's contour.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 5.4.3; corrected
    as in docs/formulas.md, ``koot-5.4.3``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, k_anonymous
    >>> k_anonymous(Distribution.from_probabilities([0.1, 0.2, 0.3, 0.4]), 7, 3)
    0.0603200000000... (exact)
    """
    K = whole_number(k, "k", at_least=1)
    source = _source(known, group_size)
    if K == 1:
        return Probability(0.0, "exact")
    return source.all_allowed(independent.EmptyOrAtLeast(K))


def uniqueness(
    known: Distribution | KnownByKl | ClassCounts, group_size: int, *, method: str = "auto"
) -> Probability:
    """Chance that all people of a group differ.

    Parameters
    ----------
    known, group_size
        As in `singletons`.
    method : {"auto", "contour", "recursion", "saddlepoint"}
        ``"auto"`` is exact, but for huge numbers of values where the saddlepoint takes its place.

    Returns
    -------
    Probability
        It says which method was used.

    See Also
    --------
    anonrisk.predict.singletons : how many are alone, where not all are
    anonrisk.predict.Distribution.from_kl : where only a divergence is known
    anonrisk.uniqueness : measured in a table

    Notes
    -----
    U2, U3: π = k! e_k(p), by a tilted recursion or a contour; U4: second-order saddlepoint, within
    5e-4 for groups of five and more that are neither sure nor hopeless, 2% for smaller ones; U6:
    π_u e^(−k(k−1)κ/N) from a divergence.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, chapter 4, (4.1)
    to (4.3); corrected as in docs/formulas.md, ``koot-4.2``, ``koot-4.3.2-power``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, uniqueness
    >>> uniqueness(Distribution.uniform(365), 23)
    0.4927027656760... (exact)
    """
    one_of(method, "method", ("auto", "contour", "recursion", "saddlepoint"))
    source = _source(known, group_size)
    if source.k <= 1 or method in {"auto", "contour"} or isinstance(known, ClassCounts):
        return source.all_allowed(independent.AtMostOne())
    exact = _distribution(known)
    if source.k > exact.n_values:
        return source.all_allowed(independent.AtMostOne())
    if method == "recursion":
        return Probability(_recursion(exact, source.k), "exact")
    numbers = Poisson(exact.p, exact.values)
    return Probability(
        min(0.0, independent.saddlepoint(numbers, source.k, independent.AtMostOne())), method
    )


def _recursion(known: Distribution, k: int) -> float:
    """log(k! e_k(p)) value by value, tilted so that nothing underflows (U2)."""
    if known.n_values * k > MAX_STEPS:
        raise ArgumentError("the recursion takes too many steps for so many values; use 'auto'")
    if k == known.n_values:
        return Poisson(known.p, known.values).log_most(1)
    x, outside, _ = independent.tilted(Poisson(known.p, known.values), k, independent.AtMostOne())
    odds = np.repeat(x.ratio(1), known.values)
    chances = np.zeros(k + 1)
    chances[0] = 1.0
    for theta in odds / (1 + odds):
        chances[1:] = (1 - theta) * chances[1:] + theta * chances[:-1]
        chances[0] *= 1 - theta
    return min(0.0, outside + float(np.log(chances[k])))


def group_of(group_size: Any) -> int:
    """Read the size of a group: as many people as there will ever be, at most."""
    k = whole_number(group_size, "group_size, the number of people,", at_least=1)
    if k > MAX_GROUP:
        raise ArgumentError(f"group_size must be at most {MAX_GROUP:,}")
    return k


def _source(known: Any, group_size: int) -> PredictionSource:
    k = group_of(group_size)
    if isinstance(known, Distribution):
        return sources.FromDistribution(known, k)
    if isinstance(known, KnownByKl):
        return sources.FromKl(known, k)
    if isinstance(known, ClassCounts):
        return subgroup_of(known, k)
    raise ArgumentError(
        f"give a Distribution (Distribution.from_counts, uniform, …), not {kind_name(known)}"
    )


def subgroup_of(counted: ClassCounts, k: int) -> sources.FromTable:
    """Draw from the records of a table; it must have that many."""
    if k > counted.n_memberships:
        raise ArgumentError(
            f"a group of {k:,} cannot be drawn from {counted.n_memberships:,} records; for other "
            "people from the same population use anonrisk.predict_singletons (draw='auto')"
        )
    return sources.FromTable(counted, k)


def _distribution(known: Any) -> Distribution:
    """Take nothing else than a distribution."""
    if isinstance(known, KnownByKl):
        raise ApproximationError(
            "the divergence alone does not decide it; give the distribution itself "
            "(Distribution.from_counts, from_probabilities or from_class_sizes)"
        )
    if not isinstance(known, Distribution):
        raise ArgumentError("give a Distribution (Distribution.from_counts, uniform, …)")
    return known


@dataclass(frozen=True, repr=False)
class GroupDesign(Document, render.PrintedLines):
    """The best size of a group; made by `best_group_size`.

    Attributes
    ----------
    group_size : int
        Number of people in a group that is worth most.
    cost_per_group : float
        What a group costs, in people who are singled out.
    fraction : float
        Expected share of the people who are singled out with groups of this size.
    worth : float
        What is maximised: that share less the cost of the groups, per person.
    method : str
        ``"exact"`` or ``"kl"``.
    """

    group_size: int
    cost_per_group: float
    fraction: float
    worth: float
    method: str

    def _lines(self) -> list[str]:
        people = render.count_of(self.group_size, "person", "people")
        how = "exact mean" if self.method == "exact" else "approximated from kl"
        alone = f"{render.percent(self.fraction)} of the people are then singled out"
        return [
            f"Best group: {people}, at a cost of {self.cost_per_group:g} per group",
            f"{alone}, {self.worth:.3g} per person less the cost ({how})",
        ]


def best_group_size(
    known: Distribution | KnownByKl | tuple[int, float],
    cost_per_group: float,
    *,
    method: str = "auto",
) -> GroupDesign:
    """Find how many people should share a group so that most are told apart at least cost.

    The designer of, say, a postal code wants that code and age together tell people apart: small
    groups do so best, but every group costs.

    Parameters
    ----------
    known : Distribution, or n_values and kl
        How likely the values are within a group (ages, in the example), or only their number
        and divergence from uniform: ``(95, 0.03)`` or ``Distribution.from_kl(95, 0.03)``.
    cost_per_group : float
        What one more group costs, counted in people who are singled out.
    method : {"auto", "exact", "kl"}
        ``"auto"`` is exact where the distribution is known.

    Returns
    -------
    GroupDesign

    See Also
    --------
    anonrisk.predict.singletons : how many of such a group are alone
    anonrisk.predict.suggest_width : wider values instead of larger groups

    Notes
    -----
    With k people a group, maximised over whole k is E S / k − C / k: ``"exact"`` takes the exact
    mean (S2), ``"kl"`` S5 as printed, e^(−a)(1 + κ a(a − 2)) − C / k with a = k/N, within the
    limits where that is good. Refused where no size is worth its cost; for the latter, C ≥ (1 − κ)
    N / e.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Example 5.6 and
    Remark 5.4; corrected as in docs/formulas.md, ``koot-remark-5.4``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, best_group_size
    >>> best_group_size((95, 0.0), 10)
    Best group: 38 people, at a cost of 10 per group
    67.0% of the people are then singled out, 0.407 per person less the cost
      (approximated from kl)
    >>> best_group_size(Distribution.uniform(95), 10).group_size
    37
    """
    one_of(method, "method", ("auto", "exact", "kl"))
    cost = not_negative(cost_per_group, "cost_per_group")
    value = _known(known)
    if isinstance(value, KnownByKl):
        if method == "exact":
            raise ArgumentError("the exact form needs the distribution itself, not n_values and kl")
        return _by_kl(value, cost)
    if method == "kl":
        return _by_kl(KnownByKl(value.n_values, value.kl), cost)
    return _exactly(value, cost)


def _exactly(known: Distribution, cost: float) -> GroupDesign:
    p, w = known.p, known.values

    def share(k: int) -> float:
        return mean(p, w, k) / k

    # Beyond 1/p every value is had by one person less and less often.
    return _design(share, cost, ceil(1 / float(p.min())), "exact", known.n_values)


def _by_kl(known: KnownByKl, cost: float) -> GroupDesign:
    n, kl = known.n_values, known.kl
    if cost >= (1 - kl) * n / e:
        raise _too_expensive(cost, n)

    def share(k: int) -> float:
        a = k / n
        return exp(-a) * (1 + kl * a * (a - 2))

    # The number of singletons is largest at k = N for every κ that may be used.
    design = _design(share, cost, n, "kl", n)
    expected_singletons(known, design.group_size)
    return design


def _design(
    share: Callable[[int], float], cost: float, upto: int, method: str, n_values: int
) -> GroupDesign:
    k, worth = best_whole(share, cost, upto)
    if worth <= 0:
        raise _too_expensive(cost, n_values)
    return GroupDesign(k, cost, share(k), worth, method)


def _too_expensive(cost: float, n_values: int) -> ArgumentError:
    return ArgumentError(
        f"cost_per_group={cost:g} is more than a group of any size is worth: with {n_values:,} "
        f"values a group can single out about {n_values / e:.3g} people at best"
    )


def _known(value: Any) -> Distribution | KnownByKl:
    if isinstance(value, (Distribution, KnownByKl)):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return KnownByKl(*value)
    raise ArgumentError(
        f"give a Distribution, or n_values and kl as a pair, not {render.kind_name(value)}"
    )


def best_whole(share: Callable[[int], float], cost: float, upto: int) -> tuple[int, float]:
    """Find the whole k from 1 to `upto` with the largest share(k) − cost/k; the least of equals.

    `share` must not rise with k. Then share(a) − cost/b bounds everything between a and b, and
    intervals whose bound is no better than the best seen are never looked into: the answer is
    the true maximum, however many local ones there are.

    Examples
    --------
    >>> best_whole(lambda k: 0.9**k, 1.0, 1_000)[0]
    4
    """
    best, value = 1, share(1) - cost

    def see(k: int) -> float:
        nonlocal best, value
        part = share(k)
        if (part - cost / k, -k) > (value, -best):
            best, value = k, part - cost / k
        return part

    waiting: list[tuple[float, int, int]] = []

    def look_into(low: int, high: int, at_low: float) -> None:
        bound = at_low - cost / high
        if high > low and bound >= value:
            heappush(waiting, (-bound, low, high))

    # Doubling first: a good value soon, and no interval in which cost/k changes its magnitude.
    low, at_low = 1, share(1)
    while low < upto:
        high = min(2 * low, upto)
        at_high = see(high)
        look_into(low, high, at_low)
        low, at_low = high, at_high
    while waiting:
        bound, low, high = heappop(waiting)
        if -bound < value or high - low < 2:
            continue
        middle = (low + high) // 2
        at_middle = see(middle)
        look_into(low, middle, share(low))
        look_into(middle, high, at_middle)
    return best, value
