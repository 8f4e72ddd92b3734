"""One column made coarse by ranks (Lodha & Thomas, 4.1 and 5.2), with the errata of the print.

Functions of numbers only. A plan cuts columns in these ways too (``plan(bins=…)``); its labels
name bins, not their medians, since a median is somebody's value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import positive, whole_number
from anonrisk.errors import ArgumentError
from anonrisk.measures.recode.optimal import optimal_groups

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from anonrisk.core.arrays import Floats, Integers

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
