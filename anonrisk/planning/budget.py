"""How many different values a table can bear, and how to share them among its columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

# From this many records Poisson's law stands for the binomial one, and errs on the safe side: of
# 1,000 it gives fewer values by .1% to .7% for k up to 20 and β of .01 and .1, by 5% for k = 900
# and β = .01; of 10,000 by a tenth of that.
_SMALL = 1_000


@dataclass(frozen=True)
class ValueBudget:
    """Number of different values under which a value is shared by k of n records.

    Attributes
    ----------
    n_records : int
        The size of the table or population.
    k : int
    beta : float
        The chance with which one value may have fewer than k records.
    exact, chernoff : float
        Q3: the number of values, by the exact tail and by the bound of the paper.
    per_column : tuple of int
        Q4: the share of each column.
    """

    n_records: int
    k: int
    beta: float
    exact: float
    chernoff: float
    per_column: tuple[int, ...] = ()


def chernoff_values(n: int, k: int, beta: float) -> float:
    """Bound the number of equally likely values such that each has k of n with chance 1 − β.

    Notes
    -----
    Q3: n/(k − 1) · (1 + x − √(x² + 2x)), x = ln(1/β)/(k − 1), k ≥ 2 (Lodha & Thomas, theorem 4).

    Examples
    --------
    >>> round(10**6 / chernoff_values(10**6, 100, 0.1), 1)
    122.8
    """
    if k < 2:
        return float(n)
    x = math.log(1 / beta) / (k - 1)
    return n / (k - 1) * (1 + x - math.sqrt(x * x + 2 * x))


def exact_values(n: int, k: int, beta: float) -> float:
    """Solve P(fewer than k of n have a value) = β for the number of equally likely values.

    Notes
    -----
    Q3, by Poisson's law, and the binomial law for small n.

    Examples
    --------
    >>> round(10**6 / exact_values(10**6, 100, 0.1), 1)
    113.0
    """
    # Not scipy.stats, which takes longer to import than a small plan to find.
    from scipy.special import bdtri, pdtri

    if k < 2:
        return float(n)
    if k > n:
        return n / k
    return 1 / float(bdtri(k - 1, n, beta)) if n < _SMALL else n / float(pdtri(k - 1, beta))


def shares(values: float, weights: Sequence[float], caps: Sequence[int]) -> list[int]:
    """Share a number of values among columns, more to those with more weight.

    Notes
    -----
    Q4: min Σ w/d with ∏ d = D', 1 ≤ d ≤ cap: d = clip(w·t, 1, cap), t by bisection; rounded down.
    Where there is room for one value more of some column, the one that gains most by it has it:
    for 25 columns that could have 1.99 values each, rounding alone would leave nothing of any.

    Examples
    --------
    >>> shares(2400, [1, 1], [10_000, 10_000]), shares(100, [1, 1], [2, 500])
    ([50, 48], [2, 50])
    >>> sum(shares(2e7, [1] * 25, [100] * 25))
    49
    """
    if values < 1:
        raise ArgumentError("there are too few records to publish even one value; lower k")
    if math.prod(caps) <= values:
        return [int(cap) for cap in caps]
    log_values = math.log(values)

    def split(log_t: float) -> list[float]:
        t = math.exp(log_t)
        return [min(max(w * t, 1.0), cap) for w, cap in zip(weights, caps, strict=True)]

    # Logarithms that exp can take; 200 halvings leave nothing between them that a number can tell.
    low, high = -700.0, 700.0
    for _ in range(200):
        middle = (low + high) / 2
        if sum(map(math.log, split(middle))) < log_values:
            low = middle
        else:
            high = middle
    # A hair above, so that what should be 50 is not rounded down from 49.999….
    whole = [max(int(d * (1 + 1e-12)), 1) for d in split(high)]
    return _filled(whole, log_values, weights, caps)


def _filled(
    split: list[int], log_values: float, weights: Sequence[float], caps: Sequence[int]
) -> list[int]:
    """Return single values more to columns, the most useful for its room first, while they fit."""
    room = log_values + 1e-12 - sum(map(math.log, split))
    while True:
        fit = [c for c, d in enumerate(split) if d < caps[c] and math.log1p(1 / d) <= room]
        if not fit:
            return split
        # Σ w/d falls by w/(d(d + 1)).
        best = max(
            fit, key=lambda c: weights[c] / (split[c] * (split[c] + 1) * math.log1p(1 / split[c]))
        )
        room -= math.log1p(1 / split[best])
        split[best] += 1
