"""One column made coarse by ranks or at least cost (Lodha & Thomas, 4.1 and 5.2; Q5).

Functions of numbers only. A plan cuts columns in these ways too (``plan(bins=…)``); its labels
name bins, not their medians, since a median is somebody's value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import positive, whole_number
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from anonrisk.core.types import Floats, Integers


# Costs of groups that are computed at once.
_AT_ONCE = 1 << 20


def optimal_groups(values: Floats, counts: NDArray[Any], k: int, cost: str) -> list[int]:
    """Find where the groups of least cost start, each of at least k records.

    Parameters
    ----------
    values : array
        Different values, ascending: equal ones are never split.
    counts : array
        How often each occurs.
    k : int
        The least number of records in a group.
    cost : {"median", "squared", "centre"}
        The sum over groups of the distances to the median, or of the squared ones to the mean; or
        the spread of the widest group.

    Returns
    -------
    list of int
        The place of the first value of each group.

    Notes
    -----
    Q5: cost(i) = min over j of cost(j) ⊕ c(j..i), ⊕ a sum or a maximum (Lodha & Thomas). No group
    that can be cut into two of at least k need be looked at, because cutting never costs more;
    without ties those left have k to 2k − 1 members, so that the work is O(nk).

    Examples
    --------
    >>> import numpy as np
    >>> optimal_groups(np.array([1.0, 2, 10, 11, 12]), np.ones(5, int), 2, "squared")
    [0, 2]
    """
    n = len(values)
    below = np.concatenate(([0], np.cumsum(counts)))
    if below[-1] < k:
        raise ArgumentError(f"k={k} is larger than the number of records, {below[-1]:,}")
    price = _price(values, counts, below, cost)
    joined = np.maximum if cost == "centre" else np.add
    # The shortest group that ends before i starts at `near`; cut there, the second half has k
    # members, so that in the longest one, from `far` on, the first half has fewer.
    near = np.searchsorted(below, below - k, side="right") - 1
    far = np.searchsorted(below, below[near] - k, side="right")
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    came = np.zeros(n + 1, dtype=np.int64)
    # The groups before these have fewer than k members.
    first = int(np.searchsorted(near, 0))
    lengths = np.where(near >= 0, near - far + 1, 0)
    places = np.concatenate(([0], np.cumsum(lengths)))
    while first <= n:
        last = max(int(np.searchsorted(places, places[first] + _AT_ONCE)) - 1, first + 1)
        ends = np.repeat(np.arange(first, last), lengths[first:last])
        offset = places[first]
        # From the nearest start to the farthest, so that of equal costs the shortest is taken.
        starts = near[ends] - (np.arange(len(ends)) + offset - places[ends])
        prices = price(starts, ends)
        for i in range(first, last):
            group = slice(places[i] - offset, places[i + 1] - offset)
            costs = joined(best[starts[group]], prices[group])
            place = costs.argmin()
            best[i], came[i] = costs[place], starts[group][place]
        first = last
    results = []
    i = n
    while i:
        i = int(came[i])
        results.append(i)
    return results[::-1]


def _price(
    values: Floats, counts: NDArray[Any], below: Integers, cost: str
) -> Callable[[Integers, Integers], Floats]:
    """Return the costs of groups of the values from i up to, not including, j."""
    if cost == "centre":
        return lambda i, j: values[j - 1] - values[i]
    # Around their mean, sums of squares lose the least to rounding.
    x = values - float(np.average(values, weights=counts))
    sums = np.concatenate(([0.0], np.cumsum(x * counts)))
    if cost == "median":

        def to_median(i: Integers, j: Integers) -> Floats:
            middle = np.searchsorted(below, (below[i] + below[j] + 1) // 2) - 1
            left = x[middle] * (below[middle] - below[i]) - (sums[middle] - sums[i])
            right = sums[j] - sums[middle] - x[middle] * (below[j] - below[middle])
            return np.asarray(left + right)

        return to_median
    squares = np.concatenate(([0.0], np.cumsum(x**2 * counts)))

    def to_mean(i: Integers, j: Integers) -> Floats:
        within = squares[j] - squares[i] - (sums[j] - sums[i]) ** 2 / (below[j] - below[i])
        return np.asarray(np.maximum(within, 0.0))

    return to_mean


def mdav(points: Floats, counts: Integers, k: int) -> Integers:
    """Group points in several dimensions by their distance to far ones (MDAV).

    Parameters
    ----------
    points : array (n, d)
        Different points.
    counts : array (n,)
        How often each occurs; equal points are never split.
    k : int
        The least number of records in a group.

    Returns
    -------
    array (n,)
        The number of each point's group.

    Notes
    -----
    Domingo-Ferrer & Mateo-Sanz 2002, with columns divided by their standard deviation; O(n²/k).
    """
    n = int(counts.sum())
    if n < k:
        raise ArgumentError(f"k={k} is larger than the number of records, {n:,}")
    scale = np.sqrt(np.average((points - np.average(points, 0, counts)) ** 2, 0, counts))
    scaled = points / np.where(scale > 0, scale, 1.0)
    group = np.full(len(points), -1, dtype=np.int64)
    left = np.arange(len(points))
    number = 0

    def distances(place: Floats) -> Floats:
        return np.asarray(((scaled[left] - place) ** 2).sum(axis=1))

    def take(around: Floats) -> None:
        nonlocal left, number
        order = np.argsort(distances(around), kind="stable")
        size = int(np.searchsorted(np.cumsum(counts[left[order]]), k)) + 1
        group[left[order[:size]]] = number
        number += 1
        left = np.delete(left, order[:size])

    while counts[left].sum() >= 2 * k:
        centre = np.average(scaled[left], axis=0, weights=counts[left])
        far = scaled[left[np.argmax(distances(centre))]]
        opposite = scaled[left[np.argmax(distances(far))]]
        # As in the paper: two groups of k, and k or more that are left.
        pair = counts[left].sum() >= 3 * k
        take(far)
        if pair and counts[left].sum() >= 2 * k:
            take(opposite)
    if len(left) and counts[left].sum() >= k:
        group[left] = number
    elif len(left):
        # A large tie may leave fewer than k: they join the nearest group.
        centres = np.array(
            [np.average(scaled[group == g], 0, counts[group == g]) for g in range(number)]
        )
        place = np.average(scaled[left], axis=0, weights=counts[left])
        group[left] = int(np.argmin(((centres - place) ** 2).sum(axis=1)))
    return group


# A plan's sampled quantiles are off by at most 1% of the records, all at once with chance 95%.
SAMPLE_ERROR = 0.01
SAMPLE_RISK = 0.05


def ranks(values: ArrayLike) -> Integers:
    """Return the rank of each number: r for the r-th smallest, equal ones in their order.

    Parameters
    ----------
    values : array
        Numbers.

    Returns
    -------
    array of int

    See Also
    --------
    anonrisk.measures.recode.rank_difference : how far a map moves them
    anonrisk.measures.recode.quantile_map : the map that moves them least

    Notes
    -----
    π(s) = r for the r-th smallest number s (Definition 7).

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, Definition 7; corrected as in docs/formulas.md,
    ``lodha-definition-7``.

    Examples
    --------
    >>> ranks([1, 12, 4, 7, 3]).tolist()
    [1, 5, 3, 4, 2]
    """
    order = np.argsort(_numbers(values, "values"), kind="stable")
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.arange(1, len(order) + 1)
    return result


def rank_difference(values: ArrayLike, mapped: ArrayLike) -> int:
    """Add up how far a map moves numbers in rank.

    Parameters
    ----------
    values : array of n
        Different numbers: equal ones have no rank of their own.
    mapped : array of n
        What each became, again one of the values.

    Returns
    -------
    int

    See Also
    --------
    anonrisk.measures.recode.ranks : the ranks
    anonrisk.measures.recode.quantile_map : the map that makes it least

    Notes
    -----
    Definition 8: ``Σ |π(f(s)) − π(s)|``.

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, Definition 8; corrected as in docs/formulas.md,
    ``lodha-definition-7``.

    Examples
    --------
    >>> rank_difference([1, 12, 4, 7, 3], [3, 7, 3, 7, 3])
    3
    """
    before, after = _pair(values, mapped)
    ordered = np.sort(before)
    if (ordered[1:] == ordered[:-1]).any():
        raise ArgumentError("values must differ: equal ones have no rank of their own")
    places = np.searchsorted(ordered, after)
    if (ordered[np.minimum(places, len(ordered) - 1)] != after).any():
        raise ArgumentError("mapped must be one of the values, for each of them")
    return int(np.abs(places + 1 - ranks(before)).sum())


def quantile_map(values: ArrayLike, k: int) -> Floats:
    """Map numbers to the medians of groups of at least k, at the least difference of ranks.

    Parameters
    ----------
    values : array
        Numbers; equal ones stay together.
    k : int
        The least number of them that become the same.

    Returns
    -------
    array of float
        The median of each number's group.

    See Also
    --------
    anonrisk.measures.recode.rank_difference : what it makes least
    anonrisk.microaggregate : means of groups, on a table

    Notes
    -----
    Q6 (Definition 9): ⌊n/k⌋ groups of neighbours, as even as they can be, each to its median (the
    lower one of two). Theorem 5: no k-anonymous map has a smaller difference of ranks, Σ ⌊m²/4⌋
    over groups of m. That is true of different numbers only: groups of even sizes would split equal
    ones, so that groups are then found by Q5 over the different numbers, at the ranks of their
    middles.

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, Definition 9 and Theorem 5; corrected as in
    docs/formulas.md, ``lodha-theorem-5``, ``lodha-3.1``.

    Examples
    --------
    >>> quantile_map([1, 12, 4, 7, 3], k=2).tolist()
    [3.0, 7.0, 3.0, 7.0, 3.0]
    >>> quantile_map([1, 2, 2, 2, 9, 9], k=2).tolist()
    [2.0, 2.0, 2.0, 2.0, 9.0, 9.0]
    """
    numbers = _numbers(values, "values")
    n, k = len(numbers), whole_number(k, "k", at_least=1)
    if n < k:
        raise ArgumentError(f"k={k} is larger than the number of values, {n:,}")
    different, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    cumulated = np.cumsum(counts)
    if len(different) == n:
        # The first n mod q groups have one more, so that no two sizes differ by more than one.
        q = n // k
        starts = np.concatenate(([0], np.cumsum(np.full(q, n // q) + (np.arange(q) < n % q))[:-1]))
    else:
        middles = cumulated - (counts - 1) / 2
        starts = np.array(optimal_groups(middles, counts, k, "median"))
    below = np.concatenate(([0], cumulated))
    ends = np.append(starts[1:], len(different))
    middle = np.searchsorted(cumulated, (below[starts] + below[ends] + 1) // 2)
    return np.asarray(np.repeat(different[middle], ends - starts)[place], dtype=np.float64)


def sample_size(error: float, risk: float) -> int:
    """Return the number of records whose quantiles are those of the whole, to within an error.

    Parameters
    ----------
    error : float
        By how much a quantile may be off, as a share of the records.
    risk : float
        The chance with which any of them may be off by more.

    Returns
    -------
    int

    See Also
    --------
    anonrisk.measures.recode.sampled_quantiles : draws such a sample
    anonrisk.plan : takes one with ``bins="sampled"``

    Notes
    -----
    Q7: ln(2/δ)/(2ε²), for all quantiles at once.

    References
    ----------
    - P. Massart, *The Tight Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality*, Annals of
      Probability 18(3), 1990, 1269-1283.
    - S. Lodha & D. Thomas, *Probabilistic Anonymity*, 4.1; corrected as in docs/formulas.md,
      ``lodha-4.1``.

    Examples
    --------
    >>> sample_size(0.01, 0.05)
    18445
    """
    for share, what in ((error, "error"), (risk, "risk")):
        if positive(share, what) >= 1:
            raise ArgumentError(f"{what} must be a share: above 0, below 1")
    size = math.log(2 / risk) / 2 / error / error
    if math.isinf(size):
        raise ArgumentError("error is too small: no table has that many records")
    return math.ceil(size)


def sampled_quantiles(
    values: ArrayLike,
    n_groups: int,
    *,
    error: float = SAMPLE_ERROR,
    risk: float = SAMPLE_RISK,
    seed: int,
) -> Floats:
    """Estimate the numbers that cut a column into groups of the same size, from a sample.

    Parameters
    ----------
    values : array
        The column.
    n_groups : int
        Number of groups; there is one cut fewer.
    error, risk : float
        As in `sample_size`.
    seed : int
        For the sample.

    Returns
    -------
    array of float
        The cuts, from low to high.

    See Also
    --------
    anonrisk.measures.recode.sample_size : how many it draws
    anonrisk.plan : takes them with ``bins="sampled"``

    Notes
    -----
    Q7. The number of rank t of n is taken to be the one of rank ⌈st/n⌉ among s drawn ones.

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, 4.1; corrected as in docs/formulas.md,
    ``lodha-4.1``.

    Examples
    --------
    >>> cuts = sampled_quantiles(range(100_000), 4, seed=1)
    >>> [bool(abs(cut / 100_000 - share) < 0.01) for cut, share in zip(cuts, (0.25, 0.5, 0.75))]
    [True, True, True]
    """
    numbers = _numbers(values, "values")
    groups = whole_number(n_groups, "n_groups", at_least=1)
    size = min(sample_size(error, risk), len(numbers))
    chance = np.random.default_rng(whole_number(seed, "seed", at_least=0))
    drawn = chance.choice(numbers, size, replace=False)
    wanted = np.ceil(size * np.arange(1, groups) / groups).astype(np.int64) - 1
    return np.sort(drawn)[np.maximum(wanted, 0)]


def normalised_error(values: ArrayLike, mapped: ArrayLike) -> float:
    """Return the squared error of a map, as a share of that of mapping everything to the mean.

    Parameters
    ----------
    values, mapped : array of n
        Numbers, and what each became.

    Returns
    -------
    float
        0 where nothing moved, 1 where everything became the mean.

    See Also
    --------
    anonrisk.measures.recode.rank_difference : the same by ranks
    anonrisk.utility : what a changed table is still good for

    Notes
    -----
    Q8: Σ (x′ − x)² / Σ (x̄ − x)². For b groups of the same size they say 1/b²; that is so for
    evenly spread numbers only. Long tails lose far more.

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, 5.2, Figure 7; corrected as in
    docs/formulas.md, ``lodha-5.2``.

    Examples
    --------
    >>> normalised_error([1, 2, 3, 4], [1.5, 1.5, 3.5, 3.5])
    0.2
    """
    before, after = _pair(values, mapped)
    # In parts of the largest, so that no square is too large to write down.
    scale = max(float(np.abs(before).max()), float(np.abs(after).max())) or 1.0
    before, after = before / scale, after / scale
    moved = float(((after - before) ** 2).sum())
    most = float(((before.mean() - before) ** 2).sum())
    if not most:
        if not moved:
            return 0.0
        raise ArgumentError("values are all the same: there is nothing to normalise by")
    return moved / most


def _numbers(value: ArrayLike, what: str) -> Floats:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        # Their messages quote what was given.
        raise ArgumentError(f"{what} must be a list of numbers") from None
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ArgumentError(f"{what} must be a list of numbers, at least one and none missing")
    return numbers


def _pair(values: ArrayLike, mapped: ArrayLike) -> tuple[Floats, Floats]:
    before, after = _numbers(values, "values"), _numbers(mapped, "mapped")
    if len(before) != len(after):
        raise ArgumentError("values and mapped must be of the same length")
    return before, after
