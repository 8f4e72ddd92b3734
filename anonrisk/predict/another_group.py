"""Classes of another group: drawn from a known table, or from the population behind it.

Of a group drawn from a known table, `c` are its different class sizes, `w` the number of classes
that have each, `n` its records and `k` the size of the group.

Of another group from the population, `C_j` is the number of classes of j people in a group of `k`,
`n` the records of the table, `s_i` its classes of size i, `t` = k/n. The estimate is Σ a_i s_i with
weights that make it right on average (S17 up to the table's size, P2 beyond), and its distance from
`C_j` has the variance (P13)

    Σ a_i² s_i + Ĉ_j − 2Q − (j Ĉ_j − (j+1) Ĉ_{j+1})² (1/n + 1/k),

the table's own chance and the group's together. Q = Σ P(class has j)² over the classes is what
makes both less than Poisson; the last term is there because n and k are fixed numbers.
S17, P2 and P13 stand in docs/formulas.md.

Sizes i, numbers s_i and weights a_i are parallel arrays (n_sizes,), one row per class size that the
table has, as in `ClassCounts`.
"""

from __future__ import annotations

from math import ceil, comb, exp, lgamma, log, log2
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.predict.moments import PAIRS_AGREE, matters, pair_sum
from anonrisk.predict.population.good_toulmin import coefficients, thinned
from anonrisk.predict.stirling import log_apart, log_falling

if TYPE_CHECKING:
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.class_sizes import ClassCounts


def classes_each(c: Integers, n: int, k: int, j: int) -> Floats:
    """Chance that exactly `j` of the group come from a class of each size.

    C(c, j) C(n − c, k − j) / C(n, k), written with falling powers whose large parts cancel.
    """
    left = n - k
    if j > k:
        return np.zeros(len(c))
    m = np.arange(j)
    with np.errstate(divide="ignore", invalid="ignore"):
        choose = np.log(np.maximum(c[:, None] - m, 0) / (m + 1)).sum(axis=1)
        drawn = float(np.log((k - m) / n).sum())
        stayed = np.where(c > j, (c - j) * np.log(left / n), 0.0)
        chance = choose + drawn + stayed + log_falling(left, c - j) - log_falling(n, c)
    return np.where(c < j, 0.0, np.exp(chance))


def drawn_mean(c: Integers, w: Integers, n: int, k: int) -> float:
    """Expected number of singletons of the group."""
    return float(np.dot(w, classes_each(c, n, k, 1)))


def drawn_variance(c: Integers, w: Integers, n: int, k: int) -> float:
    """Variance of the number of singletons: as S3, with pairs drawn without replacement."""
    if k in (0, n):
        return 0.0
    each = classes_each(c, n, k, 1)
    own = float(np.dot(w, each - each**2))
    used = matters(w * each, own)
    x, each, weight = c[used].astype(float), each[used], (w * each)[used]
    between = pair_sum(x, weight, weight, lambda a, b: _excess(a, b, n, k), PAIRS_AGREE * own)
    # A class makes no pair with itself.
    between -= float(np.dot(weight * each, _excess(x, x, n, k)))
    return max(0.0, own + between)


def _excess(a: Floats, b: Floats, n: int, k: int) -> Floats:
    """How much likelier one record from each of two classes is than if independent, less 1."""
    left = n - k
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log1p(-1 / k) + log_apart(left, a - 1, b - 1) - log_apart(n, a, b)
        return np.asarray(np.nan_to_num(np.expm1(ratio), nan=-1.0))


def shared_by(c: Integers, w: Integers, n: int, k: int, people: int) -> float:
    """Expected number of sets of `people` of the group who share a value."""
    total = np.array(w, dtype=float)
    for j in range(people):
        total *= (c - j) / (n - j) * (k - j) / (j + 1)
    return float(total.sum())


# Where the series of Good and Toulmin is noise, its standard deviation is taken to be at least
# this share of the estimate, so that a 95% interval reaches down to nothing: 1.96 of .51 would do.
# Chosen on other laws than the 11 of tests/worlds.py. In those, in groups of 1.25, 1.5 and 2 times
# a table of 1,000, 150 runs each, it was taken for 4% of the estimates for classes of 1 to 6.
# Intervals for classes of 3 held in 97.1% on average (least of 33 cells 89%) with .6 and .5, in
# 95.8% (88%) with .3, in 95.7% (87%) with 0; those for singletons and pairs hardly change.
LEAST_SD_OF_NOISE = 0.6
# In a group larger than the table, larger classes than this are not told apart: their intervals
# miss too often. In the same runs those for classes of 5 and 6 held in 78% and 79% of the worst
# cell and below 93% in 7 and 10 of 33; those for 4 in 91% and 1 of 33, which is kept in reserve.
LARGEST_BEYOND = 3
# Classes that are added where a table may have none of a size, so that their number is not taken
# for certain: half of one, as in Anscombe's and Haldane's corrections of counts (both 1956).
HALF = 0.5


@dataclass(frozen=True)
class ClassEstimate:
    """How many classes of one size another group will have.

    Attributes
    ----------
    mean : float
        The estimate.
    variance : float
        Mean square of its distance from the number that the group will have.
    weight : float
        How many classes of the group one class of that size in the table stands for, at most.
    """

    mean: float
    variance: float
    weight: float


def estimate(counted: ClassCounts, k: int, j: int) -> ClassEstimate:
    """Estimate the number of classes of `j` in a group of `k`, at most twice the table's size.

    Notes
    -----
    P13. The subtracted square is lessened by its own variance, Σ (j a_i − (j+1) b_i)² s_i with b_i
    the weights of j + 1, without which it is too large where few classes tell it.
    Beyond the table's size, Σ λ^j e^(−tλ) over the classes falls with t and its logarithm is
    convex, so that the estimate lies between t^j s_j times e^(−(t−1)(j+1) s_{j+1}/s_j) and 1.
    Noise is a variance above (1 + t^j) t^j s_j, of a Poisson number s_j and of the group's own, and
    the square of half the distance between those two ends; their sum is then taken instead.
    """
    n, s = counted.n_memberships, counted.classes
    t = k / n
    a, b = weights(counted, k, j), weights(counted, k, j + 1)
    own, next_ = float(np.dot(a, s)), float(np.dot(b, s))
    weight = t**j
    low, high, mean = 0.0, float(k // j), own
    if k > n:
        own, next_ = (float(s[counted.sizes == size].sum()) for size in (j, j + 1))
        high = min(high, weight * own)
        low = min(high, weight * own * exp(-(t - 1) * (j + 1) * (next_ + HALF) / max(own, HALF)))
    # Nobody is 0, not -0.
    mean = min(max(mean, low), high) + 0.0
    fixed = j * a - (j + 1) * b
    square = max(0.0, float(np.dot(fixed, s)) ** 2 - float(np.dot(fixed**2, s)))
    variance = float(np.dot(a**2, s)) + mean - 2 * mean * _chance(counted, k, j, own, next_)
    variance = max(0.0, variance - square * (1 / n + 1 / k))
    if k > n:
        most = (1 + weight) * weight * own + ((weight * own - low) / 2) ** 2
        if variance > most:
            variance = max(most, (LEAST_SD_OF_NOISE * mean) ** 2)
    return ClassEstimate(mean, variance, weight)


def weights(counted: ClassCounts, k: int, j: int) -> Floats:
    """Return what a class of each size of the table adds to the estimate, (n_sizes,).

    Notes
    -----
    Up to the table's size the chance that j of the group come from it (S17). Beyond, the terms of
    Good and Toulmin alternate and grow; they are tapered by P(Bin(b, ½) ≥ i − j), b = ½ log₂ n
    (Orlitsky, Suresh & Wu 2016), whose error falls with n as fast as chance does.
    """
    n = counted.n_memberships
    if k == n:
        return np.asarray(counted.sizes == j, dtype=float)
    if k < n:
        return classes_each(counted.sizes, n, k, j)
    return np.asarray(coefficients(counted, k / n, j) * tapered(n, counted.sizes - j))


def tapered(n: int, more: Integers) -> Floats:
    """Return P(Bin(b, ½) ≥ more), b = ½ log₂ n: what is left of each term of the series."""
    tosses = ceil(log2(n) / 2)
    # (tosses + 1,): ways to have i heads; `at_least` has one more, since more than all cannot be.
    heads = np.array([comb(tosses, i) for i in range(tosses + 1)])
    at_least = np.append(np.cumsum(heads[::-1])[::-1] / 2.0**tosses, 0.0)
    return np.asarray(at_least[np.clip(more, 0, tosses + 1)])


def _chance(counted: ClassCounts, k: int, j: int, own: float, next_: float) -> float:
    """Return Q/Ĉ_j, the chance of having j people of the classes that have them, or less.

    `own` and `next_` are the classes of j and j + 1 people that are expected in a group of k, or
    of n where that is less. Up to half the table's size a group twice as large tells:
    Q = C(2j, j) 4^(−j) Ĉ_{2j}(2t). Beyond, x = tλ of the classes, weighted by their chances, has a
    mean x̄ from Ĉ_{j+1} and a variance from Ĉ_{j+2}, and as E e^y ≥ e^(E y),
    Q/Ĉ_j ≥ x̄^j e^(−x̄) / j! · e^(−j Var(x)/(2 x̄²)) in second order.
    """
    n = counted.n_memberships
    if own > 0 and 2 * k <= n:
        return comb(2 * j, j) * 4.0**-j * thinned(counted, 2 * k / n, size=2 * j) / own
    if own <= 0 or next_ <= 0:
        return 0.0
    seen = min(k, n)
    last = float(np.dot(weights(counted, seen, j + 2), counted.classes))
    x = (j + 1) * next_ / own
    spread = max(0.0, (j + 1) * (j + 2) * last / own / x**2 - 1)
    x *= k / seen
    return exp(j * log(x) - x - lgamma(j + 1) - j * spread / 2)
