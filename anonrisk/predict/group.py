"""Questions about a group: from a distribution, a counted table or a divergence, to an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import one_of, whole_number
from anonrisk.core.render import kind_name
from anonrisk.core.results import Probability
from anonrisk.errors import ApproximationError, ArgumentError
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.predict import contour, moments, sources
from anonrisk.predict.distribution import Distribution
from anonrisk.predict.independent import Poisson
from anonrisk.predict.kl import KnownByKl
from anonrisk.predict.prediction import PredictedClasses, PredictedRecords, Prediction

if TYPE_CHECKING:
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
    return source.all_allowed(contour.EmptyOrAtLeast(K))


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
        return source.all_allowed(contour.AtMostOne())
    exact = _distribution(known)
    if source.k > exact.n_values:
        return source.all_allowed(contour.AtMostOne())
    if method == "recursion":
        return Probability(_recursion(exact, source.k), "exact")
    numbers = Poisson(exact.p, exact.values)
    return Probability(
        min(0.0, contour.saddlepoint(numbers, source.k, contour.AtMostOne())), method
    )


def _recursion(known: Distribution, k: int) -> float:
    """log(k! e_k(p)) value by value, tilted so that nothing underflows (U2)."""
    if known.n_values * k > MAX_STEPS:
        raise ArgumentError("the recursion takes too many steps for so many values; use 'auto'")
    if k == known.n_values:
        return Poisson(known.p, known.values).log_most(1)
    x, outside, _ = contour.tilted(Poisson(known.p, known.values), k, contour.AtMostOne())
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
