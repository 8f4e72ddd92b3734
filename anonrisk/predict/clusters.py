"""Classes of a group of whole clusters (homes, say): an estimate and how far it may miss (P14).

A part is what one cluster has in one class, m members; r parts make a class. `n` are the records of
the table, `t` = k/n, and a group of `k` consists of other clusters of the same population with so
many people. If every cluster is kept with chance t, a class has j of its members with chance

    w_j = Σ_s N_s t^s (1 − t)^(r − s),

N_s the ways to take s of its parts with j members together. Σ w_j over the classes is right on
average for another group; beyond the table's size it is the series of Good and Toulmin. What one
more cluster with that part changes is δ = w_{j−m} − w_j of the class without it. With δ_h the sum
of δ over the parts of cluster h, and z_h its people, the distance from what the group will have has
the variance

    Σ w² + Σ w − 2Q + t (1 + t) (Σ_h (δ_h − R z_h)² − Σ δ²),   R = Σ_h δ_h / Σ_h z_h.

The first three terms are those of P13, each class for itself; Σ_h δ_h² − Σ δ² is what the classes
of one cluster have in common, and R z_h is there because n and k are fixed numbers of people, of
however many clusters. If all clusters have one member it is P13. Assumed: clusters are drawn with
equal chances, one independently of the other, and two classes hardly ever share two clusters more
than chance has it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import e, exp, factorial
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.predict.another_group import HALF, ClassEstimate, tapered

if TYPE_CHECKING:
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.population import ClusteredClasses

# Classes of more are not told apart: the ways to put them together are too many (42 for ten).
LARGEST = 10
# As in `anonrisk.predict.another_group`, but less, since smaller classes limit the estimate here.
# Chosen in five tables of benchmarks/homes.py and three worlds of tests/homes.py, 120 runs each.
# For classes of 2 and 3 beyond the table's size, intervals held in 71% of the worst cell with 0, in
# 88% with .25, in 89% with .3 and .6, and were up to 1.8 times as wide as the ideal with .3, 3.2
# times with .6.
LEAST_SD_OF_NOISE = 0.3


def another_group(counted: ClusteredClasses, k: int, j: int) -> ClassEstimate:
    """Estimate the number of classes of `j` in another group, at most twice the table's size.

    Notes
    -----
    P14. Near the table's size and beyond, products of δ are noisy: the last bracket is at least
    what it would be if every part were a cluster of its own, and beyond the table's size that of a
    group of its size, if that is nearer to 0. There, estimate and variance are held within limits
    as in `anonrisk.predict.another_group.estimate`, for each number of parts.
    """
    parts, t = _Parts(counted, j), k / counted.n
    w = parts.chances(t)
    mean = float(parts.classes @ w)
    variance = float(parts.classes @ w**2)
    together = max(parts.together(min(t, 1.0)), parts.apart(min(t, 1.0)))
    if t <= 1:
        variance += mean - 2 * parts.chance_squared(t, mean) + t * (1 + t) * together
        return ClassEstimate(mean, max(0.0, variance), t)
    low, high, most, weight = parts.limits(t)
    high = min(high, float(k // j))
    mean = min(max(mean, min(low, high)), high) + 0.0
    variance += mean - 2 * parts.chance_squared(t, mean)
    most += ((high - low) / 2) ** 2
    variance = min(variance, max(most, (LEAST_SD_OF_NOISE * mean) ** 2))
    variance += t * (1 + t) * min(together, parts.together(t), key=abs)
    return ClassEstimate(mean, max(0.0, variance), weight)


def part_of_table(counted: ClusteredClasses, k: int, j: int) -> ClassEstimate:
    """Return the number of classes of `j` among some clusters of this very table.

    Notes
    -----
    P14: what is drawn of a known table has the variance
    Σ w (1 − w) + t (1 − t) (Σ_h (δ_h − R z_h)² − Σ δ²).
    """
    parts, t = _Parts(counted, j), k / counted.n
    w = parts.chances(t)
    variance = float(parts.classes @ (w * (1 - w)))
    if t < 1:
        variance += t * (1 - t) * parts.together(t)
    return ClassEstimate(float(parts.classes @ w), max(0.0, variance), 0.0)


class _Parts:
    """The kinds of class by the parts that they are made of, as far as classes of `j` can tell.

    `made` (j + 1, n_kinds) holds for each kind its parts r, and those of 1, …, j members.
    """

    def __init__(self, counted: ClusteredClasses, j: int) -> None:
        self.counted, self.j = counted, j
        members = np.minimum(counted.members, j + 1)
        n_classes = counted.sizes.n_classes
        made = np.bincount(counted.class_of * (j + 2) + members, minlength=n_classes * (j + 2))
        made = made.reshape(n_classes, j + 2).T.copy()
        made[0] = made.sum(axis=0)
        made = made[: j + 1]
        keys, _ = radix.keys_of((row, int(row.max()) + 1) for row in made)
        _, first, kind_of, self.classes = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        self.made: Integers = made[:, first]
        parts = kind_of[counted.class_of] * (j + 2) + members
        self.kinds, self.part_of, self.n_parts = np.unique(
            parts, return_inverse=True, return_counts=True
        )

    def chances(self, t: float) -> Floats:
        """Return w_j of each kind of class."""
        return self._chances(self.made, self.j, t)

    def together(self, t: float) -> float:
        """Return what classes have in common by their clusters, less what n and k fix."""
        change = self._changes(t)
        changes = np.bincount(self.counted.cluster_of, change[self.part_of]).astype(np.float64)
        return _about_ratio(changes, self.counted.people) - float(self.n_parts @ change**2)

    def apart(self, t: float) -> float:
        """Return the same as if every part were a cluster of its own."""
        change = self._changes(t)[self.part_of]
        return _about_ratio(change, self.counted.members) - float(change @ change)

    def _changes(self, t: float) -> Floats:
        """Return δ of each kind of part."""
        j = self.j
        kind, members = np.divmod(self.kinds, j + 2)
        others = self.made[:, kind]
        others[0] -= 1
        for m in range(1, j + 1):
            others[m, members == m] -= 1
        change = -self._chances(others, j, t)
        for m in range(1, j + 1):
            chosen = members == m
            change[chosen] += self._chances(others[:, chosen], j - m, t)
        return change

    def chance_squared(self, t: float, mean: float) -> float:
        """Return Q = Σ P(class has j)² over the classes, or less; 0 for j above 1.

        Notes
        -----
        a of the r parts of a class have one member, and P = tλ₁ e^(−tλ), λ₁ and λ the expected
        numbers of both. Up to half the table's size Q = t² Σ a (a − 1) (1 − 2t)^(r − 2). Beyond,
        x = tλ and y = tλ₁, weighted by P, have means from a group of the table's size at most, and
        as E e^u ≥ e^(E u), Q / Σ P ≥ ȳ e^(−x̄) e^(−Var(y) / (2 ȳ²)) in second order.
        """
        if self.j > 1 or mean <= 0:
            return 0.0
        r, a = self.made.astype(float)
        if 2 * t <= 1:
            powers = (1 - 2 * t) ** np.maximum(r - 2, 0)
            return t * t * float(self.classes @ (a * (a - 1) * powers))
        seen = min(t, 1.0)

        def moment(values: Floats, n_members: int) -> float:
            chances = seen**n_members * _powers(r - n_members, seen)
            return float(self.classes @ (values * chances))

        own = moment(a, 1)
        y = moment(a * (a - 1), 2) / own if own > 0 else 0.0
        if y <= 0:
            return 0.0
        x = moment(a * (r - 1), 2) / own
        spread = max(0.0, moment(a * (a - 1) * (a - 2), 3) / own / y**2 - 1)
        more = t / seen
        return mean * y * more * exp(-x * more - spread / 2)

    def limits(self, t: float) -> tuple[float, float, float, float]:
        """Return between what the mean lies beyond the table's size, a Poisson variance, a weight.

        Notes
        -----
        What classes of the table stand for limits the mean from above, those made of the same parts
        or of some of them: whichever allows least.
        """
        r = self.made[0]
        low = high = most = weight = 0.0
        for s, ways in _ways(self.made, self.j).items():
            number = self.classes * ways
            own, next_ = float(number[r == s].sum()), float(number[r == s + 1].sum())
            low += t**s * own * exp(-(t - 1) * (next_ + HALF) / max(own, HALF))
        seen = dict(zip(map(tuple, self.made.T.tolist()), self.classes.tolist(), strict=True))
        for made in _partitions(self.j, self.j):
            allowed = []
            for some in _fewer(made):
                each = stands_for(some, made, t)
                own = seen.get((len(some), *(some.count(m) for m in range(1, self.j + 1))), 0)
                allowed.append((each * (own + HALF), each, own))
            _, each, own = min(allowed)
            high += each * own
            most += (1 + each) * each * own
            weight = max(weight, each)
        return low, high, most, weight

    def _chances(self, made: Integers, j: int, t: float) -> Floats:
        """Return the chance of `j` members of classes made of such parts."""
        result = np.zeros(made.shape[1])
        for s, ways in _ways(made, j).items():
            powers = _powers(made[0] - s, t)
            if t > 1:
                powers = powers * tapered(self.counted.n_clusters, made[0] - s)
            result += t**s * ways * powers
        return result


def _powers(left: Floats | Integers, t: float) -> Floats:
    """Return the chance that none of so many parts are kept; 0 where there are fewer than none."""
    return np.where(left < 0, 0.0, (1 - t) ** np.maximum(left, 0))


def _ways(made: Integers, j: int) -> dict[int, Floats]:
    """Count the ways to take s parts with `j` members together, by s."""
    result: dict[int, Floats] = {}
    for partition in _partitions(j, j):
        ways = np.ones(made.shape[1])
        for m in set(partition):
            for taken in range(partition.count(m)):
                ways *= np.maximum(made[m] - taken, 0) / (taken + 1)
        s = len(partition)
        result[s] = result[s] + ways if s in result else ways
    return result


def _about_ratio(changes: Floats, people: Integers) -> float:
    """Return the sum of squares of what changes beyond what so many people change."""
    beyond = changes - changes.sum() / people.sum() * people
    return float(beyond @ beyond)


@lru_cache
def _partitions(j: int, most: int) -> tuple[tuple[int, ...], ...]:
    """Return the ways to write `j` as a sum of whole numbers of at most `most`, largest first."""
    if j == 0:
        return ((),)
    first = range(min(j, most), 0, -1)
    return tuple((m, *rest) for m in first for rest in _partitions(j - m, m))


def _fewer(made: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Return what a class made of such parts may have of them, one at least."""
    return {some for number in range(1, len(made) + 1) for some in combinations(made, number)}


def stands_for(some: tuple[int, ...], made: tuple[int, ...], t: float) -> float:
    """Return for how many classes of parts `made` in a larger group one of `some` stands at most.

    Notes
    -----
    If λ_m parts of m members are expected in the table, λ parts in all, a class is made of a_m of
    them, s in all, in a group t > 1 times as large with chance t^s Π λ_m^(a_m)/a_m! e^(−tλ), and of
    b_m ≤ a_m of them in the table with Π λ_m^(b_m)/b_m! e^(−λ). As x^d e^(−cx) ≤ (d/(ce))^d, the
    former is at most t^s Π b_m!/a_m! (d_m/((t − 1) e))^(d_m) times the latter, d = a − b.
    """
    result = t ** len(made)
    for m in set(made):
        a, b = made.count(m), some.count(m)
        result *= factorial(b) / factorial(a) * ((a - b) / ((t - 1) * e)) ** (a - b)
    return result
