"""Pitman's model of a population without end: two parameters, fitted by maximum likelihood."""

from __future__ import annotations

from math import exp, expm1, inf, log
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.errors import ArgumentError, ModelError
from anonrisk.predict.population.sample import LINKER, ModelEstimate, Sample, singletons_of
from anonrisk.predict.stirling import digamma_rise, log_rising

if TYPE_CHECKING:
    from anonrisk.predict.population.sample import Histogram

# Where the likelihood is looked at before its peak is narrowed down.
_GRID = np.concatenate(([0.0, 1e-4, 1e-3, 5e-3], np.linspace(0.01, 0.99, 50), [0.999, 0.9999]))
# Below this α its limit, 0, is nearer than what rounding leaves of the formula.
_NEXT_TO_NONE = 1e-7
# ln(θ + α) is looked for between these.
_LOW, _HIGH = -200.0, 200.0


@dataclass(frozen=True, repr=False)
class Pitman(PrintedFields):
    """Pitman's model with its two parameters, 0 ≤ α < 1 and θ > −α.

    Examples
    --------
    >>> round(Pitman(theta=20, alpha=0.4).expected_classes(300, size=1), 3)
    57.268
    """

    theta: float
    alpha: float

    def __post_init__(self) -> None:
        """Reject parameters outside the model."""
        if not 0 <= self.alpha < 1 or not -self.alpha < self.theta < inf:
            raise ArgumentError(
                "Pitman's model takes alpha from 0 to below 1, and theta + alpha above 0"
            )

    def expected_classes(self, N: int, size: int) -> float:
        """Return the expected number of classes of a size among N people (P4)."""
        whole_number(size, "size", at_least=1)
        if size > N:
            return 0.0
        t, a = self.theta, self.alpha
        ways = log_rising(N - size + 1, size) - log_rising(1, size)
        # Γ(θ+1)/Γ(θ+α) and Γ(θ+α+N−j)/Γ(θ+N), each by steps upwards.
        first = log_rising(t + a, 1 - a)
        second = -log_rising(t + a + N - size, size - a)
        return exp(ways + log_rising(1 - a, size - 1) + first + second)

    def uniques(self, n: int, N: int, s1: int, u: int) -> tuple[float, float]:
        """Return the uniques among N people, all and those among the s1 singletons of n (P5).

        Examples
        --------
        >>> all_, known = Pitman(theta=20, alpha=0.4).uniques(n=60, N=300, s1=25, u=35)
        >>> round(all_, 3), round(known, 3)
        (55.364, 10.833)
        """
        t, a = self.theta, self.alpha
        stay = exp(-log_rising(t + n, a) - log_rising(t + a + N - 1, 1 - a))
        known = stay * s1 * (t + a + n - 1)
        return known + stay * (N - n) * (t + a * u), known

    def match(self, n: int, N: int) -> float:
        """Return the mean of 1/F over the singletons among n people, F their classes among N.

        A singleton's share of the people to come is Beta(1 − α, θ + α + n − 1), and the mean of
        1/(1 + Binomial) over it is a sum that telescopes.
        """
        t, a = self.theta, self.alpha
        rest = N - n
        if a < _NEXT_TO_NONE:
            return (t + n - 1) * digamma_rise(t + n - 1, rest + 1) / (rest + 1)
        rise = log_rising(t + n + rest, a) - log_rising(t + n - 1, a)
        return (t + n - 1) * expm1(rise) / ((rest + 1) * a)


def pitman(histogram: Histogram | Sample, population_size: int = 0) -> ModelEstimate:
    """Estimate the people who are unique in the population by Pitman's model, given the sample.

    Parameters
    ----------
    histogram : ClassCounts, mapping of size to number of classes, or Sample
        The class sizes of the table.
    population_size : int
        Number of people in the population; not used with a `Sample`.

    Returns
    -------
    ModelEstimate
        With `uniques`, the people who are unique in the population.

    See Also
    --------
    anonrisk.predict.population.Pitman : the model with given parameters
    anonrisk.predict.population.dankar : a rule that chooses it for small samples
    anonrisk.predict.population.bounds : what holds whatever the model

    Notes
    -----
    P4 is fitted by maximum likelihood and P5 is what it gives for this sample.

    References
    ----------
    N. Hoshino, *Applying Pitman's Sampling Formula to Microdata Disclosure Risk Assessment*,
    Journal of Official Statistics 17(4), 2001, 499-520.

    Examples
    --------
    >>> round(pitman({1: 25, 2: 5, 3: 3, 4: 2, 8: 1}, 300).uniques)
    50
    """
    sample = Sample.of(histogram, population_size)
    singletons_of(sample, "Pitman's model")
    model = fit(sample)
    all_, known = model.uniques(sample.n, sample.N, sample.s(1), sample.u)
    # Classes more even than the model allows end at the edge of its parameters.
    even = "may be several times too high: classes are more even than the model allows (alpha = 0)"
    other = "far too high or too low, up to fifteen times, where classes are not of Pitman's kind"
    return ModelEstimate(
        "pitman",
        "P4, P5",
        LINKER,
        uniques=all_,
        singletons_unique=known / sample.s(1),
        matches=sample.s(1) * model.match(sample.n, sample.N),
        parameters={"theta": model.theta, "alpha": model.alpha},
        note=other if model.alpha else even,
    )


def fit(sample: Sample) -> Pitman:
    """Fit Pitman's model by maximum likelihood (P4).

    The likelihood is profiled: for each α the best θ is the root of one equation, so that the
    peak over α is a root too, and that it was found is certain.
    """
    from scipy.optimize import brentq

    n, u = sample.n, sample.u
    if u == n:
        raise ModelError(
            "Pitman's model cannot be fitted: every record is a singleton, so that the likelihood "
            "has no maximum"
        )
    if u == 1:
        raise ModelError("Pitman's model cannot be fitted to a single class")
    heights = [_log_likelihood(sample, _theta(n, u, a), a) for a in _GRID]
    best = int(np.argmax(heights))
    if best == 0 and _slope(sample, 0.0) <= 0:
        return Pitman(_theta(n, u, 0.0), 0.0)
    low, high = float(_GRID[max(best - 1, 0)]), float(_GRID[min(best + 1, len(_GRID) - 1)])
    if best == len(_GRID) - 1 or not _slope(sample, low) > 0 > _slope(sample, high):
        raise ModelError("Pitman's model cannot be fitted: the likelihood has no maximum within it")
    alpha = float(brentq(lambda a: _slope(sample, a), low, high, xtol=1e-13))
    return Pitman(_theta(n, u, alpha), alpha)


def _theta(n: int, u: int, alpha: float) -> float:
    """Find the θ that is best for an α."""
    from scipy.optimize import brentq

    def slope(t: float) -> float:
        above = exp(t)
        return _inverse_sum(above - alpha, alpha, u) - digamma_rise(above - alpha + 1, n - 1)

    # u < n classes: the slope falls from plus infinity to below zero.
    return exp(float(brentq(slope, _LOW, _HIGH, xtol=1e-14))) - alpha


def _inverse_sum(theta: float, alpha: float, u: int) -> float:
    """Sum 1/(θ + iα) over 1 ≤ i < u."""
    if not alpha:
        return (u - 1) / theta
    # θ/α + 1 as (θ + α)/α would lose θ + α where θ is next to −α.
    return digamma_rise(max(theta / alpha + 1, 1e-300), u - 1) / alpha


def _slope(sample: Sample, alpha: float) -> float:
    """Return the derivative of the profile likelihood."""
    from scipy.special import digamma

    u = sample.u
    theta = _theta(sample.n, u, alpha)
    if alpha:
        rising = (u - 1 - theta * _inverse_sum(theta, alpha, u)) / alpha
    else:
        rising = u * (u - 1) / (2 * theta)
    falling = sample.classes * (digamma(sample.sizes - alpha) - digamma(1 - alpha))
    return rising - float(falling.sum())


def _log_likelihood(sample: Sample, theta: float, alpha: float) -> float:
    from scipy.special import gammaln

    n, u = sample.n, sample.u
    new = (
        (u - 1) * log(alpha) + log_rising(max(theta / alpha + 1, 1e-300), u - 1)
        if alpha
        else (u - 1) * log(theta)
    )
    old = sample.classes * (gammaln(sample.sizes - alpha) - gammaln(1 - alpha))
    return new - log_rising(theta + 1, n - 1) + float(old.sum())
