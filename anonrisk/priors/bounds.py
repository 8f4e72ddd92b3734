"""What every distribution that fits the published numbers has in common.

The numbers of a prior are sums over values: Σ p = 1, Σ p² = s2, Σ p³ = s3, Σ p ln p = −entropy,
and where n_values was declared there are at most so many of them. So is the expected number of
singletons, k Σ p (1 − p)^(k−1). The least and the largest that the latter can be, given the
former, is a small linear programme over how many values have each probability. It needs no
approximation and no limit on the divergence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.results import Interval
from anonrisk.errors import InvalidPriorError
from anonrisk.priors import precision
from anonrisk.priors.checks import ROUNDING

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats
    from anonrisk.priors.prior import Prior


# Neighbouring probabilities of the grid differ by about two percent.
_POINTS = 800


@dataclass(frozen=True)
class SingletonBounds:
    """What a group may have at least and at most.

    Attributes
    ----------
    mean : Interval
        The expected number of singletons.
    variance : float
        The largest variance of their number: by Efron and Stein's inequality it is at most
        E S + 2 E C₂, as somebody who comes or goes adds a singleton, or joins one to a pair.
    """

    mean: Interval
    variance: float


def of_singletons(prior: Prior, k: int) -> SingletonBounds:
    """Give the least and the largest expected number of singletons in a group of `k`.

    Allowed for are rounding and three standard errors of every published number.
    """
    if k <= 1:
        return SingletonBounds(Interval(k, k, level=1.0), 0.0)
    p = _grid(prior)
    rows, limits = _constraints(prior, p)
    others = np.log1p(-np.minimum(p, 1 - 1e-12))
    alone = np.exp((k - 1) * others)
    paired = (k - 1) * p * np.exp((k - 2) * others)
    low, high = (sign * _least(sign * alone, rows, limits) for sign in (1, -1))
    spread = -_least(-(alone + paired), rows, limits)
    mean = Interval(k * max(low, 0.0), k * min(high, 1.0), level=1.0)
    return SingletonBounds(mean, k * max(spread, 0.0))


def _least(objective: Floats, rows: Floats, limits: Floats) -> float:
    from scipy.optimize import linprog

    everybody = np.ones((1, len(objective)))
    # The second way is slower; it is for the rare case that rounding confuses the first.
    for method in ("highs", "highs-ipm"):
        found = linprog(
            objective, A_ub=rows, b_ub=limits, A_eq=everybody, b_eq=[1.0], method=method
        )
        if found.status == 0 and found.fun is not None:
            return float(found.fun)
    raise InvalidPriorError("no distribution has these published numbers all together")


def _grid(prior: Prior) -> Floats:
    """Probabilities that a value may have: from next to nothing to the largest that fits."""
    largest = min(_most(prior.s2, precision.of_s2(prior)) ** 0.5, 1.0)
    largest = min(largest, _most(prior.s3, precision.of_s3(prior)) ** (1 / 3))
    even = 1 / prior.n_values
    largest = min(max(largest, 1.02 * even), 1.0)
    # All values that are rarer than this have a ten-thousandth of the people between them. Where
    # values were observed in a sample, there may be more of them, and rarer ones.
    rare = even if prior.domain == "declared" else min(even, 1 / prior.n_records)
    smallest = min(rare, largest) * 1e-4
    return np.unique(np.concatenate([np.geomspace(smallest, largest, _POINTS), [even]]))


def _constraints(prior: Prior, p: Floats) -> tuple[Floats, Floats]:
    """Rows and limits for the share of people who have a value of each probability.

    Written per person rather than per value, with each row scaled to about 1.
    """
    rows, limits = [], []
    if prior.domain == "declared":
        rows, limits = [1 / (p * prior.n_values)], [1 + ROUNDING]
    for power, number, precise in (
        (1, prior.s2, precision.of_s2(prior)),
        (2, prior.s3, precision.of_s3(prior)),
    ):
        scale = _most(number, precise)
        rows += [p**power / scale, -(p**power) / scale]
        limits += [1.0, -max(number - precise.most, 0.0) / scale]
    if prior.n_records >= 5 * prior.n_values:
        # Below that the entropy of a sample says little about that of the population.
        allowed = precision.of_entropy(prior).most
        entropy = precision.unbiased_entropy(prior)
        rows += [-np.log(p), np.log(p)]
        limits += [entropy + allowed, -(entropy - allowed)]
    return np.array(rows), np.array(limits)


def _most(number: float, precise: precision.Precision) -> float:
    return math.fsum((number, precise.most))
