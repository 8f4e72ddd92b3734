"""Groups of neighbours at least cost: Q5, and microaggregation of one column or of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonrisk.core.arrays import Floats, Integers


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
