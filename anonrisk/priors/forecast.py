"""From published numbers, rounded as they are, to a prediction and a decision."""

from __future__ import annotations

import math
import warnings
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import instance_of, not_negative, one_of, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Interval, Probability
from anonrisk.errors import (
    ApproximationError,
    ArgumentError,
    InvalidPriorError,
    warn_of_approximation,
)
from anonrisk.predict import law
from anonrisk.predict.sources import PredictionSource
from anonrisk.priors.prior import ROUNDING

if TYPE_CHECKING:
    from anonrisk.core.types import Floats
    from anonrisk.predict import Prediction
    from anonrisk.predict.independent import Allowed
    from anonrisk.priors.prior import Prior

# So many standard errors are put down to chance.
ERRORS = 3


@dataclass(frozen=True)
class Precision:
    """What rounding may do at most, and the standard error of counting."""

    rounding: float
    error: float

    @property
    def most(self) -> float:
        """How far off the number may be, all in all."""
        return self.rounding + ERRORS * self.error


def of_s2(prior: Prior) -> Precision:
    """Standard error of s2: Var ≈ 4(s3 − s2²)/n + 2 s2/n² + 4/n⁴.

    The last two terms are those of a Poisson number of pairs, never quite 0.
    """
    n = prior.n_records
    spread = max(prior.s3 - prior.s2**2, 0.0)
    variance = 4 * spread / n + 2 * prior.s2 / n**2 + 4 / n**4
    return Precision(ROUNDING * prior.s2, math.sqrt(variance))


def of_s3(prior: Prior) -> Precision:
    """Standard error of s3: Var ≈ 9(s5 − s3²)/n + 6 s3/n³ + 36/n⁶, where s5 ≤ s3^(5/3)."""
    n = prior.n_records
    spread = max(prior.s3 ** (5 / 3) - prior.s3**2, 0.0)
    variance = 9 * spread / n + 6 * prior.s3 / n**3 + 36 / n**6
    return Precision(ROUNDING * prior.s3, math.sqrt(variance))


def unbiased_entropy(prior: Prior) -> float:
    """Entropy in nats without the bias of counting few records (Miller and Madow)."""
    return prior.entropy + (prior.n_values - 1) / (2 * prior.n_records)


def of_entropy(prior: Prior) -> Precision:
    """Standard error of the entropy, where there are five records per value or more.

    Its variance is that of ln p over n. The moments give the former as ln(s3/s2²), exactly so
    where the logarithms are Normal. The correction of the bias is itself allowed to be off by
    its own size, and the rounding of n_values by what it does to ln(n_values).
    """
    ratio = prior.s3 / prior.s2**2 if prior.s2 else 0.0
    spread = math.log(ratio) if ratio > 1 else 0.0
    bias = (prior.n_values - 1) / (2 * prior.n_records)
    error = math.sqrt((spread + 1 / prior.n_records) / prior.n_records)
    return Precision(ROUNDING * (prior.kl + 1) + bias, error)


def of_domain(prior: Prior) -> Precision:
    """The size of a declared domain is rounded, not counted."""
    return Precision(ROUNDING * prior.n_values, 0.0)


# The numbers of a prior are sums over values: Σ p = 1, Σ p² = s2, Σ p³ = s3, Σ p ln p = −entropy,
# and where n_values was declared there are at most so many of them. So is the expected number of
# singletons, k Σ p (1 − p)^(k−1). The least and the largest that the latter can be, given the
# former, is a small linear programme over how many values have each probability. It needs no
# approximation and no limit on the divergence.

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
    """Return the least and the largest expected number of singletons in a group of `k`.

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
        result = linprog(
            objective, A_ub=rows, b_ub=limits, A_eq=everybody, b_eq=[1.0], method=method
        )
        if result.status == 0 and result.fun is not None:
            return float(result.fun)
    raise InvalidPriorError("no distribution has these published numbers all together")


def _grid(prior: Prior) -> Floats:
    """Probabilities that a value may have: from next to nothing to the largest that fits."""
    largest = min(_most(prior.s2, of_s2(prior)) ** 0.5, 1.0)
    largest = min(largest, _most(prior.s3, of_s3(prior)) ** (1 / 3))
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
        (1, prior.s2, of_s2(prior)),
        (2, prior.s3, of_s3(prior)),
    ):
        scale = _most(number, precise)
        rows += [p**power / scale, -(p**power) / scale]
        limits += [1.0, -max(number - precise.most, 0.0) / scale]
    if prior.n_records >= 5 * prior.n_values:
        # Below that the entropy of a sample says little about that of the population.
        allowed = of_entropy(prior).most
        entropy = unbiased_entropy(prior)
        rows += [-np.log(p), np.log(p)]
        limits += [entropy + allowed, -(entropy - allowed)]
    return np.array(rows), np.array(limits)


def _most(number: float, precise: Precision) -> float:
    return math.fsum((number, precise.most))


# S15: with this many people and so few triples, all who are not singletons are pairs.
LEAST, MOST_TRIPLES = 20, 0.01


@dataclass(frozen=True)
class FromMoments(PredictionSource):
    """A group in which hardly any three people share a value (S15, U5).

    Parameters
    ----------
    s2, s3 : float
        Chances that two, and three, people share a value.
    k : int
        Size of the group.
    """

    s2: float
    s3: float
    k: int
    words: str = "approximated from the published chances that two or three people share a value"

    @property
    def pairs(self) -> float:
        """Expected number of pairs of people who share a value."""
        return self.k * (self.k - 1) / 2 * self.s2

    @property
    def triples(self) -> float:
        """Expected number of triples."""
        return self.k * (self.k - 1) * (self.k - 2) / 6 * self.s3

    def check(self) -> None:
        """Reject where the number of pairs is not enough to know."""
        if self.k < LEAST or self.triples >= MOST_TRIPLES:
            raise ApproximationError(
                f"a group of {self.k:,} with {self.triples:.2g} expected triples: pairs are enough "
                f"to know from {LEAST} people up, and with fewer than {MOST_TRIPLES:g} triples"
            )

    def mean(self) -> float:
        """Expected number of singletons, k(1 − (k−1)s2 + (k−1)(k−2)s3/2).

        The terms of Σ p(1 − p)^(k−1) alternate and fall, so that the truth lies between this and
        three times the number of triples less.
        """
        self.check()
        return self.k - 2 * self.pairs + 3 * self.triples

    def variance(self) -> float:
        """Variance of their number: that of twice a Poisson number of pairs."""
        return 4 * self.pairs

    def law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons; total variation distance at most .03."""
        near = law.approximate(self.k, self.mean(), self.variance(), self.pairs, self.triples)
        if near is None:
            raise ApproximationError("the number of pairs is not enough to know")
        return near

    def all_allowed(self, allowed: Allowed) -> Probability:
        """Chance that everybody is unique (U5), where it is large enough to be known."""
        if allowed.K != 1:
            raise ApproximationError("pairs and triples say nothing about the rest")
        k, two, three = self.k, self.s2, self.s3
        falling = k * (k - 1)
        exponent = (
            -falling * two / 2 + falling * (k - 2) * three / 3 - falling * (2 * k - 3) * two**2 / 4
        )
        if exponent < log(0.1):
            raise ApproximationError("too small a chance to know from pairs and triples")
        return Probability(min(exponent, 0.0), "pairs and triples")

    def classes(self, j: int) -> float:
        """Expected number of classes of one; pairs and triples say too little about others."""
        if j != 1:
            raise ApproximationError("pairs and triples say too little about larger classes")
        return self.mean()


METHODS = ("auto", "pairs", "kl", "bounds")
# Budgets are compared in the table's favour by what floats do to equal numbers.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(render.PrintedLines):
    """Singletons in a group, predicted from published numbers; made by `Repository.predict`.

    Attributes
    ----------
    prior : Prior
        The submission that was used.
    group_size : int
        Number of people in the group.
    method : str
        ``"pairs"``, ``"kl"`` or ``"bounds"``.
    prediction : Prediction or None
        The approximation that was used; none with ``"bounds"``.
    bounds : Interval
        The least and the largest expected number of singletons over all distributions that have
        the published numbers, within rounding and three standard errors.
    most_variance : float
        The largest variance of their number over the same distributions.
    """

    prior: Prior
    group_size: int
    method: str
    prediction: Prediction | None
    bounds: Interval
    most_variance: float

    @property
    def mean(self) -> float | None:
        """Expected number of singletons; none where only bounds are known."""
        return None if self.prediction is None else self.prediction.mean

    @property
    def fraction(self) -> float | None:
        """Expected share of the group who are singletons; none where only bounds are known."""
        return None if self.prediction is None else self.prediction.fraction

    def interval(self, level: float = 0.95) -> Interval:
        """Between which numbers of singletons the group will have, with this probability.

        Chance and ignorance of the distribution together: the law of the approximation, widened
        by the bounds. With bounds alone, these are widened by what a Normal law with the largest
        variance, or a Poisson law where few are expected, puts on either side.
        """
        if not 0 < positive(level, "level") < 1:
            raise ArgumentError("level must be a number between 0 and 1, such as 0.95")
        k, (least, most) = self.group_size, self.bounds
        if self.prediction is None:
            low, high = self._around(least, most, (1 - level) / 2)
        else:
            near, far = self.prediction.interval(level)
            low = round(near - max(self.prediction.mean - least, 0.0))
            high = round(far + max(most - self.prediction.mean, 0.0))
        return Interval(max(low, 0), min(high, k), level=level)

    def _around(self, least: float, most: float, side: float) -> tuple[int, int]:
        from scipy.special import gammaincc, ndtri

        chance = float(-ndtri(side)) * math.sqrt(self.most_variance)
        high = math.ceil(most + chance)
        # P(Poisson ≤ x) is the upper incomplete gamma function of x + 1.
        while gammaincc(high + 1, most) < 1 - side:
            high += 1
        return math.floor(least - chance), high

    def verdict(self, max_fraction: float) -> str:
        """Return whether at most this share of the group will be singletons.

        Returns
        -------
        str
            ``"pass"`` if the upper end of the 95% interval is within the budget, ``"fail"`` if
            the expected number is not, ``"could_not_assess"`` otherwise: never a pass.
        """
        budget = not_negative(max_fraction, "max_fraction") * self.group_size * (1 + _TOLERANCE)
        if self.interval(0.95).high <= budget:
            return "pass"
        expected = self.bounds.low if self.mean is None else self.mean
        return "fail" if expected > budget else "could_not_assess"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        low, high = self.interval()
        return {
            "prior": self.prior.to_dict(),
            "group_size": self.group_size,
            "method": self.method,
            "mean": self.mean,
            "fraction": self.fraction,
            "least_mean": self.bounds.low,
            "most_mean": self.bounds.high,
            "level": 0.95,
            "low": low,
            "high": high,
        }

    def _lines(self) -> list[str]:
        k = self.group_size
        low, high = self.interval()
        least, most = self.bounds
        expected = "" if self.mean is None else f"{self.mean:,.1f} expected, "
        shares = f"{render.percent(low / k)} to {render.percent(high / k)}"
        how = {
            "pairs": "pairs of people who share a value",
            "kl": "divergence from uniform",
            "bounds": "bounds alone",
        }
        first = f"Predicted singletons in a group of {k:,}: {expected}"
        return [
            f"{first}{low:,.0f} to {high:,.0f} ({shares}) with 95% probability",
            f"whatever the distribution behind the numbers: {least:,.1f} to {most:,.1f} expected",
            f"by {how[self.method]}; from {self.prior}",
        ]


def forecast(prior: Prior, group_size: int, *, method: str = "auto") -> Forecast:
    """Predict the singletons in a group from one prior.

    Parameters
    ----------
    prior : Prior
        What a data holder published.
    group_size : int
        Number of people in the group.
    method : {"auto", "pairs", "kl", "bounds"}
        As in `anonrisk.priors.Repository.predict`.

    Returns
    -------
    Forecast
        The prediction, and the bounds in any case.

    See Also
    --------
    anonrisk.priors.Repository.predict : finds the prior, and whether holders agree
    anonrisk.predict_singletons : from a table instead of published numbers

    Notes
    -----
    S15 and U5 (pairs), S5, S6 and U6 (kl) with the limits within which they are good; the bounds
    are a linear programme over all distributions that fit.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, chapters 5 and
    7; corrected as in docs/formulas.md, ``koot-5.1``, ``koot-5.3.2``.

    Examples
    --------
    >>> from anonrisk.priors import Prior, forecast
    >>> prior = Prior(["zip", "age"], "Amsterdam 2021", kl=0.123, s2=0.0013, s3=2e-6,
    ...               n_values=900, n_records=873_000, by="City of Amsterdam", when="2021-06-01")
    >>> forecast(prior, 25)
    Predicted singletons in a group of 25: 24.2 expected, 21 to 25 (84.0% to 100.0%) with ...
    whatever the distribution behind the numbers: 24.2 to 24.2 expected
    by pairs of people who share a value; from age + zip in Amsterdam 2021: 0.123 nats ...
    """
    from anonrisk.priors.prior import Prior

    instance_of(prior, Prior, "prior")
    one_of(method, "method", METHODS)
    k = whole_number(group_size, "group_size", at_least=1)
    result = of_singletons(prior, k)
    within, variance = result.mean, result.variance
    if method != "auto":
        return Forecast(prior, k, method, _predicted(prior, k, method), within, variance)
    reasons = []
    for name in ("pairs", "kl"):
        try:
            with warnings.catch_warnings(record=True) as doubts:
                warnings.simplefilter("always")
                predicted = _predicted(prior, k, name)
        except ApproximationError as error:
            reasons.append(str(error))
            continue
        slack = _TOLERANCE * k
        if predicted and within.low - slack <= predicted.mean <= within.high + slack:
            # Of an estimate that is not taken nobody is warned.
            for doubt in doubts:
                warn_of_approximation(str(doubt.message))
            return Forecast(prior, k, name, predicted, within, variance)
        reasons.append(f"what {name!r} says contradicts the other numbers")
    raise ApproximationError(
        f"these numbers give no estimate for a group of {k:,}, only bounds: "
        f"{within.low:,.1f} to {within.high:,.1f} singletons expected (method='bounds'). "
        f"{'. '.join(reasons)}"
    )


def _predicted(prior: Prior, k: int, method: str) -> Prediction | None:
    from anonrisk.predict import Distribution, Prediction, singletons

    if method == "bounds":
        return None
    if method == "pairs":
        return Prediction(FromMoments(prior.s2, prior.s3, k))
    if prior.kl_corrected is None:
        raise ApproximationError(
            "the divergence was counted on fewer than five records per value: it says more about "
            "their number than about the population"
        )
    return singletons(Distribution.from_kl(prior.n_values, prior.kl_corrected), k)
