"""Data intrusion simulation: is a unique match the right person? (P9; Elliot 2000)."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from anonrisk.core.results import Interval
from anonrisk.predict.population.sample import ONE_MATCH, ModelEstimate, Sample, singletons_of

if TYPE_CHECKING:
    from anonrisk.predict.population.sample import Histogram

# The quantile of the Normal law for 95%, rounded.
_Z = 1.96
# Below this many pairs the figure is up to a fifth too high.
_FEW = 20


def dis(
    histogram: Histogram | Sample,
    population_size: int = 0,
    *,
    weight_of_pairs: float | None = None,
) -> ModelEstimate:
    """Return the probability that a unique match is correct, with its 95% interval.

    Parameters
    ----------
    histogram : ClassCounts, mapping of size to number of classes, or Sample
        The class sizes of the table.
    population_size : int
        Number of people in the population; not used with a `Sample`.
    weight_of_pairs : float, optional
        Sum of the sampling weights of the records in classes of two, where those are unequal;
        there is then no interval.

    Returns
    -------
    ModelEstimate
        With `match_correct` and its `interval`.

    See Also
    --------
    anonrisk.risk : `unique_match` is its interval
    anonrisk.predict.population.rocher_match : one person whose probability is known

    Notes
    -----
    P9: f s₁ / (f s₁ + 2(1 − f) s₂). It needs no model: singletons share their population classes
    with 2(1 − f)/f · s₂ people on average. It is s₁ over the sum of those classes' sizes, a
    harmonic mean, and can be far below the mean of 1/F.

    References
    ----------
    - M. J. Elliot, *DIS: a New Approach to the Measurement of Statistical Disclosure Risk*, Risk
      Management 2(4), 2000, 39-48.
    - C. J. Skinner & M. J. Elliot, *A Measure of Disclosure Risk for Microdata*, JRSS B 64(4),
      2002, 855-867.

    Examples
    --------
    >>> found = dis({1: 40, 2: 10}, 600)
    >>> round(found.match_correct, 6), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.181818, 0.089, 0.38)
    """
    sample = Sample.of(histogram, population_size)
    f, s1, s2, s3 = sample.f, singletons_of(sample, "DIS"), sample.s(2), sample.s(3)
    odds = (1 - f) / f
    if weight_of_pairs is not None:
        return _estimate(s1, max(weight_of_pairs - 2 * s2, 0.0), None, s2)
    others = 2 * odds * s2
    se = sqrt((4 * odds**2 + 2 * odds) * s2 + 6 * odds**2 * s3)
    least, most = max(others - _Z * se, 0.0), others + _Z * se
    if s2 < _FEW:
        # Few pairs are not normal. Pairs and singletons are about Poisson, so that there are exact
        # limits of the ratio of their means, at 98% because people in large classes vary more.
        pairs = _ratio(s2, s1)
        least, most = min(least, 2 * odds * pairs.low * s1), max(most, 2 * odds * pairs.high * s1)
    return _estimate(s1, others, Interval(s1 / (s1 + most), s1 / (s1 + least)), s2)


def _ratio(some: int, others: int) -> Interval:
    """Return the 98% limits of the ratio of two Poisson means (Clopper & Pearson 1934)."""
    from scipy.special import betaincinv

    low = float(betaincinv(some, others + 1, 0.01)) if some else 0.0
    high = float(betaincinv(some + 1, others, 0.99))
    return Interval(low / (1 - low), high / (1 - high))


def _estimate(s1: int, others: float, interval: Interval | None, s2: int) -> ModelEstimate:
    note = "a harmonic mean: below the average chance of a match"
    if s2 < _FEW:
        note = f"only {s2} classes of two: do not trust it; read its interval"
    return ModelEstimate(
        "dis",
        "P9",
        ONE_MATCH,
        match_correct=s1 / (s1 + others),
        interval=interval,
        doubtful=s2 < _FEW,
        note=note,
    )
