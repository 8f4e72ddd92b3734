"""Expected numbers of singletons and of larger classes in a group, and how far they vary.

Every function takes the different probabilities `p`, the number of values `w` that have each, and
the size `k` of a group whose people are drawn from them one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.errors import ApproximationError
from anonrisk.predict.stirling import log_binomial

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.types import Booleans, Floats, Integers


# Up to this many pairs are simply added.
_FEW = 250_000
# Pairs that are held at once; only memory and speed depend on it.
_CHUNK = 1_000_000
# Chebyshev points at which a smooth kernel is evaluated, twice. Any two different numbers will do:
# where they do not agree, all pairs are added.
_NODES = (16, 24)
# To which share of a variance they must agree.
PAIRS_AGREE = 1e-10
# Values whose pairs together add less than this share of a variance are left out: a tenth of a bit.
_NOTHING = 1e-17


def pair_sum(
    x: Floats, left: Floats, right: Floats, kernel: Callable[[Floats, Floats], Floats], small: float
) -> float:
    """Σ left(a) · kernel(x(a), x(b)) · right(b) over all a and b, itself included.

    `x`, `left` and `right` are arrays (n,); the kernel takes arrays (n, 1) and (1, n), and returns
    (n, n).

    A smooth kernel is a polynomial in either variable but for rounding: it is then evaluated at a
    few Chebyshev points, and the weights are gathered there. Two numbers of points must agree to
    `small`; where they do not, every pair is added.
    """
    if len(x) ** 2 > _FEW:
        rough, fine = (_gathered(x, left, right, kernel, nodes) for nodes in _NODES)
        if abs(fine - rough) <= small:
            return fine
    total = 0.0
    step = max(1, _CHUNK // max(1, len(x)))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        total += float(left[rows] @ kernel(x[rows, None], x[None, :]) @ right)
    return total


def _gathered(
    x: Floats, left: Floats, right: Floats, kernel: Callable[[Floats, Floats], Floats], nodes: int
) -> float:
    """Return the sum from a kernel at so many points (barycentric; Berrut & Trefethen 2004)."""
    angle = (2 * np.arange(nodes) + 1) * np.pi / (2 * nodes)
    low, high = float(x.min()), float(x.max())
    at = low + (high - low) * (1 - np.cos(angle)) / 2
    weight = np.sin(angle) * (-1.0) ** np.arange(nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        # (n, nodes): the share of each number at each point.
        parts = weight / (x[:, None] - at)
        parts /= parts.sum(axis=1, keepdims=True)
    hit = ~np.isfinite(parts).all(axis=1)
    parts[hit] = np.isclose(x[hit, None], at, rtol=1e-15, atol=0)
    with np.errstate(invalid="ignore"):
        return float((left @ parts) @ kernel(at[:, None], at[None, :]) @ (right @ parts))


# Up to this K the variance of the number of people in classes smaller than K is exact.
MAX_K = 12
# For a larger K a limit, which is 2% off for ten values that are equally likely, 12% for three; it
# is exact for fewer than this, if no more chances than those are to be added up.
SOME_VALUES, MAX_CHANCES = 200, 200_000
FEW_VALUES = 10


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
        p, w * first, w * second, lambda a, b: _excess(a, b, k, i, j), PAIRS_AGREE * abs(own)
    )
    # A value makes no pair with itself.
    between -= float(np.dot(w * first * second, _excess(p, p, k, i, j)))
    total = own + between
    return max(0.0, total) if i == j else total


def matters(expected: Floats, variance: float) -> Booleans:
    """Return which values matter to a sum over pairs, of which none exceeds their expectation."""
    return expected * max(1.0, float(expected.sum())) * len(expected) > _NOTHING * abs(variance)


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


def expected_below(p: Floats, w: Integers, k: int, K: int) -> float:
    """Expected number of people in classes smaller than `K`: k Σ p P(Bin(k−1, p) ≤ K−2) (S10)."""
    if K <= 1 or k == 0:
        return 0.0
    if k < K:
        return float(k)
    return float(k * np.dot(w, p * _shares_below(p, k, K)[0]))


def variance_below(p: Floats, w: Integers, k: int, K: int) -> float:
    """Variance of that number: exact for few sizes or probabilities, else a limit (S10)."""
    if K <= 1 or k < K:
        return 0.0
    if K <= MAX_K:
        total = sum(
            (1 if i == j else 2) * i * j * covariance(p, w, k, i, j)
            for i in range(1, K)
            for j in range(i, K)
        )
        return max(0.0, float(total))
    limit = variance_limit(p, w, k, K)
    below, above = _shares_below(p, k, K)
    doubtful = (k * p) ** 2 * below * above
    # As many values of which it is open whether they are below K, if it were as open of each.
    alike = float(np.dot(w, doubtful)) ** 2 / max(float(np.dot(w, doubtful**2)), 1e-300)
    # By pairs the square of the mean is subtracted, exact to 1e-15, which must leave six digits.
    if alike > SOME_VALUES or 1e-15 * expected_below(p, w, k, K) ** 2 > 1e-6 * limit:
        return limit
    least, most = _likely(p, k, K)
    if float((most - least).sum()) * len(p) <= MAX_CHANCES:
        return _variance_by_pairs(p, w, k, K)
    if alike < FEW_VALUES:
        raise ApproximationError(
            f"how far the number of people in classes smaller than {K:,} varies cannot be computed "
            f"for a group of {k:,} and so few values of about that size"
        )
    return limit


def variance_limit(p: Floats, w: Integers, k: int, K: int) -> float:
    """Variance of the number of people in classes smaller than `K`, in one pass (S4).

    Two values hinder each other through their numbers of people X alone, as if g(x) = x [x < K]
    were a straight line in X, of slope b = Cov(g, X) / Var X:
    Var ≈ Σ Var g(X) − Σ b b' k p p' over pairs. With binomial X, and with P that somebody who has
    the value is below K, b = P − (k−1) p P(Bin(k−2, p) = K−2), and all of it is
    Σ (k p)² P (1 − P) + k B (1 − B) − k Σ p² b (1 − b), where B is the mean of b over people:
    nothing large cancels, no chance underflows, and one value alone has the variance 0.
    """
    with np.errstate(divide="ignore"):
        odds = p / (1 - np.minimum(p, 1.0))
    at = (k - 1) * p * np.exp(log_binomial(K - 2, k - 2, odds))
    below, above = _shares_below(p, k, K)
    slope, rest = below - at, above + at
    whole = k * float(np.dot(w, p * slope)) * float(np.dot(w, p * rest))
    own = float(np.dot(w, (k * p) ** 2 * below * above - k * p**2 * slope * rest))
    return max(0.0, own + whole)


def _shares_below(p: Floats, k: int, K: int) -> tuple[Floats, Floats]:
    """P(Bin(k − 1, p) ≤ K − 2) and the rest, as incomplete beta functions: any k will do."""
    from scipy.special import betainc, betaincc

    p = np.minimum(p, 1.0)
    return betaincc(K - 1, k - K + 1, p), betainc(K - 1, k - K + 1, p)


def _likely(p: Floats, k: int, K: int) -> tuple[Integers, Integers]:
    """Between which numbers of people each value has fewer than K, but for a chance of 1e-30."""
    away = 12 * np.sqrt(k * p) + 60
    least = np.clip(k * p - away, 0, K - 2).astype(np.int64)
    return least, np.clip(k * p + away, 0, min(K, k) - 2).astype(np.int64) + 1


def _variance_by_pairs(p: Floats, w: Integers, k: int, K: int) -> float:
    """Σ over pairs of E[g g'] = k(k−1) p p' P(X ≤ K−2, X' ≤ K−2 among k−2 others), less (E g)²."""
    from scipy.special import betaincc

    p = np.minimum(p, 1.0)
    # For each pair of probabilities the chance that both values are below K.
    both = np.empty((len(p), len(p)))
    for row, (least, most) in enumerate(zip(*_likely(p, k, K), strict=True)):
        x = np.arange(least, most)
        left = k - 2 - x
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.exp(log_binomial(x, k - 2, p[row] / (1 - p[row])))
            share = np.minimum(np.nan_to_num(p / (1 - p[row]), nan=0.0, posinf=1.0), 1.0)
        second = betaincc(K - 1, np.maximum(left - K + 2, 1), share[:, None])
        both[row] = np.where(left >= K - 1, second, 1.0) @ chance
    mean = k * p * _shares_below(p, k, K)[0]
    # E g² of one value: its pairs of people, and people each by themselves.
    own = k * (k - 1) * p**2 * betaincc(K - 2, k - K + 1, p) + mean
    joint = k * (k - 1) * np.outer(p, p) * both
    total = float(w @ joint @ w) - float(np.dot(w, np.diag(joint))) + float(np.dot(w, own))
    return max(0.0, total - float(np.dot(w, mean)) ** 2)
