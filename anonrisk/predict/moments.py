"""Expected numbers of singletons and of larger classes in a group, and how far they vary.

Every function takes the different probabilities `p`, the number of values `w` that have each, and
the size `k` of a group whose people are drawn from them one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.predict.pairs import pair_sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.arrays import Booleans, Floats, Integers

# Up to this K the variance of the number of people in classes smaller than K is exact.
MAX_K = 12


def expected_each(p: Floats, k: int) -> Floats:
    """Chance that a value is had by exactly one of the group, for each probability (S2).

    Written with log1p: ``(1 - p) ** (k - 1)`` loses five digits at p = 1e-12, k = 1e12.
    """
    return classes_each(p, k, 1)


def classes_each(p: Floats, k: int, j: int) -> Floats:
    """Chance that a value is had by exactly `j` of the group, for each probability (S7)."""
    if j > k:
        return np.zeros_like(p)
    m = np.arange(j)
    choose = float(np.log((k - m) / (m + 1)).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (k - j) * np.log1p(-np.minimum(p, 1.0)) if k > j else np.zeros_like(p)
        return np.exp(choose + j * np.log(p) + others)


def mean(p: Floats, w: Integers, k: int) -> float:
    """Expected number of singletons: E S = k Σ p (1 − p)^(k−1) (S2; Koot 2012, 5.1)."""
    return float(np.dot(w, expected_each(p, k))) if k else 0.0


def variance(p: Floats, w: Integers, k: int) -> float:
    """Variance of the number of singletons (S3), in its stable form."""
    return covariance(p, w, k, 1, 1)


def covariance(p: Floats, w: Integers, k: int, i: int, j: int) -> float:
    """Covariance of the numbers of classes of `i` and of `j` people (S9).

    With E the chance that a value is had by i people and E' by j, it is the sum over values of
    [i = j] E − E E', and over pairs of values of E E' (e^L − 1), where e^L is how much likelier
    two values are had by i and j people than if they were independent. The difference of large
    numbers that one would write down first is 4.6% wrong at k = 10^7.
    """
    first, second = classes_each(p, k, i), classes_each(p, k, j)
    own = float(np.dot(w, (first if i == j else 0.0) - first * second))
    used = matters(w * first, own) | matters(w * second, own)
    p, first, second, w = p[used], first[used], second[used], w[used]
    between = pair_sum(
        p, w * first, w * second, lambda a, b: _excess(a, b, k, i, j), 1e-10 * abs(own)
    )
    # A value makes no pair with itself.
    between -= float(np.dot(w * first * second, _excess(p, p, k, i, j)))
    total = own + between
    return max(0.0, total) if i == j else total


def matters(expected: Floats, variance: float) -> Booleans:
    """Tell which values matter to a sum over pairs, of which none exceeds their expectation."""
    return expected * max(1.0, float(expected.sum())) * len(expected) > 1e-17 * abs(variance)


def _excess(p: Floats, q: Floats, k: int, i: int, j: int) -> Floats:
    """How much likelier i people on one value and j on another are than if independent, less 1."""
    if i + j > k:
        return np.full(np.broadcast_shapes(p.shape, q.shape), -1.0)
    m = np.arange(i)
    start = float(np.log1p(-j / (k - m)).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        # (1 − p − q) / ((1 − p)(1 − q)) is 1 less the product of the odds; two values that are all
        # there is, or are by rounding, leave nothing for the others.
        hindered = np.log1p(-np.minimum(p / (1 - p) * (q / (1 - q)), 1.0)) if k > i + j else 0.0
        ratio = start + (k - i - j) * hindered - j * np.log1p(-p) - i * np.log1p(-q)
        # A value that everybody has makes no pair.
        return np.asarray(np.nan_to_num(np.expm1(ratio), nan=-1.0, posinf=0.0))


def variance_limit(
    p: Floats, w: Integers, k: int, g: Callable[[Floats], Floats], upto: int
) -> float:
    """Variance of a sum over classes of g(class size), at the cost of one pass (S4).

    Var ≈ Σ Var g(Y) − (Σ Cov(g(Y), Y))² / k with Y Poisson of mean k p. `g` is 0 above `upto`.
    Within 1.2% for groups of a quarter of the values or more, 1e-7 for a group of a million.
    """
    lam = k * p
    first, second, joint = np.zeros_like(lam), np.zeros_like(lam), np.zeros_like(lam)
    chance = np.exp(-lam)
    for x in range(upto + 1):
        value = float(g(np.array([float(x)]))[0])
        first += value * chance
        second += value**2 * chance
        joint += value * x * chance
        chance = chance * lam / (x + 1)
    spread = float(np.dot(w, second - first**2))
    drift = float(np.dot(w, joint - first * lam))
    return max(0.0, spread - drift**2 / k)


def expected_below(p: Floats, w: Integers, k: int, K: int) -> float:
    """Expected number of people in classes smaller than `K`: k Σ p P(Bin(k−1, p) ≤ K−2) (S10)."""
    from scipy.special import betaincc

    if K <= 1 or k == 0:
        return 0.0
    if k < K:
        return float(k)
    # P(Bin(k − 1, p) ≤ K − 2) as an incomplete beta function, which knows no largest k.
    return float(k * np.dot(w, p * betaincc(K - 1, k - K + 1, np.minimum(p, 1.0))))


def variance_below(p: Floats, w: Integers, k: int, K: int) -> float:
    """Variance of that number: Σ i j Cov(C_i, C_j) over i, j < K, or its limit (S10, S4)."""
    if K <= 1 or k < K:
        return 0.0
    if K > MAX_K:
        return variance_limit(p, w, k, lambda x: x * (x < K), K - 1)
    total = sum(
        (1 if i == j else 2) * i * j * covariance(p, w, k, i, j)
        for i in range(1, K)
        for j in range(i, K)
    )
    return max(0.0, float(total))
