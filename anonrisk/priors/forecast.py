"""From published numbers to a prediction and a decision."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, one_of, positive, whole_number
from anonrisk.core.results import Interval
from anonrisk.errors import ApproximationError, ArgumentError, warn_of_approximation
from anonrisk.priors import bounds

if TYPE_CHECKING:
    from anonrisk.predict import Prediction
    from anonrisk.priors.prior import Prior

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
        """Tell whether at most this share of the group will be singletons.

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
        """Give plain values that serialise as JSON."""
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
    7; corrected as in docs/errata.md, ``koot-5.1``, ``koot-5.3.2``.

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
    one_of(method, "method", METHODS)
    k = whole_number(group_size, "group_size", at_least=1)
    found = bounds.of_singletons(prior, k)
    within, variance = found.mean, found.variance
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
    from anonrisk.priors.from_moments import FromMoments

    if method == "bounds":
        return None
    if method == "pairs":
        return Prediction(FromMoments(prior.s2, prior.s3, k))
    if prior.kl_corrected is None:
        raise ApproximationError(
            "the divergence was counted on fewer than five records a value: it says more about "
            "their number than about the population"
        )
    return singletons(Distribution.from_kl(prior.n_values, prior.kl_corrected), k)
