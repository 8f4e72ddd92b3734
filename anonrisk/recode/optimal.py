"""Groups of neighbours at least cost: Q5, and microaggregation of one column or of several."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonrisk.core.arrays import Floats, Integers

COSTS = ("diameter", "median", "radius", "squared")


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
    cost : {"diameter", "median", "radius", "squared"}
        The largest diameter of a group; or the sum over groups of the distances to the median, of
        radius × size, or of the squared distances to the mean.

    Returns
    -------
    list of int
        The place of the first value of each group.

    Notes
    -----
    Q5: cost(i) = min over j of cost(j) ⊕ c(j..i), ⊕ = + or max (Lodha & Thomas). No group that can
    be cut into two of at least k need be looked at, because cutting never costs more; without ties
    those left have k to 2k − 1 members, so that the work is O(nk).

    Examples
    --------
    >>> import numpy as np
    >>> optimal_groups(np.array([1.0, 2, 10, 11, 12]), np.ones(5, int), 2, "squared")
    [0, 2]
    """
    n = len(values)
    below = [0, *np.cumsum(counts).tolist()]
    if below[-1] < k:
        raise ArgumentError(f"k={k} is larger than the number of records, {below[-1]:,}")
    price = _price(values, counts, below, cost)
    worst = cost == "diameter"
    best = [float("inf")] * (n + 1)
    best[0] = 0.0
    came = [0] * (n + 1)
    for i in range(1, n + 1):
        # The shortest group that ends here starts at `near`; longer ones until they can be cut.
        near = bisect_left(below, below[i] - k + 1) - 1
        if near < 0:
            continue
        # Cut at `cut`, the second half has k members; then the first half must have fewer than k.
        cut = near
        low = bisect_left(below, below[cut] - k + 1)
        for j in range(near, low - 1, -1):
            if best[j] == float("inf"):
                continue
            c = price(j, i)
            total = max(best[j], c) if worst else best[j] + c
            if total < best[i]:
                best[i], came[i] = total, j
    starts = []
    i = n
    while i:
        i = came[i]
        starts.append(i)
    return starts[::-1]


def _price(
    values: Floats, counts: NDArray[Any], below: list[int], cost: str
) -> Callable[[int, int], float]:
    """Give the cost of a group of the values from i up to, not including, j."""
    # Around their mean, sums of squares lose the least to rounding.
    centre = float(np.average(values, weights=counts))
    x = (values - centre).tolist()
    sums = np.concatenate(([0.0], np.cumsum((values - centre) * counts))).tolist()
    if cost == "diameter":
        return lambda i, j: x[j - 1] - x[i]
    if cost == "radius":
        return lambda i, j: (x[j - 1] - x[i]) / 2 * (below[j] - below[i])
    if cost == "median":

        def to_median(i: int, j: int) -> float:
            middle = bisect_left(below, (below[i] + below[j] + 1) // 2, i + 1, j) - 1
            left = x[middle] * (below[middle] - below[i]) - (sums[middle] - sums[i])
            right = sums[j] - sums[middle] - x[middle] * (below[j] - below[middle])
            return float(left + right)

        return to_median
    squares = np.concatenate(([0.0], np.cumsum((values - centre) ** 2 * counts))).tolist()
    return lambda i, j: max(
        squares[j] - squares[i] - (sums[j] - sums[i]) ** 2 / (below[j] - below[i]), 0.0
    )


def mdav(points: Floats, counts: Integers, k: int) -> Integers:
    """Group points in several dimensions by their distance to far ones (MDAV).

    Parameters
    ----------
    points : array of n × d
        Different points.
    counts : array of n
        How often each occurs; equal points are never split.
    k : int
        The least number of records in a group.

    Returns
    -------
    array of n
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
