"""How wide intervals must be, and what holds where there are very many narrow ones."""

from __future__ import annotations

from itertools import pairwise
from math import log, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import one_of, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ApproximationError, ArgumentError
from anonrisk.predict.distribution import Distribution, check_density
from anonrisk.predict.sources import FromDistribution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike


def density_limit(phi: Callable[[float], float], per_value: float) -> float:
    """Share of values with a singleton, as their number grows, for a density of probabilities.

    Parameters
    ----------
    phi : function on [0, 1]
        Density of the probabilities relative to uniform: value i of N has φ(i/N)/N.
    per_value : float
        People a value, a = k/N.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.predict.density_variance_limit : the variance
    anonrisk.predict.singletons : exact, for as many values as there are

    Notes
    -----
    C1: E S / N → a ∫ φ e^(−aφ) over [0, 1].

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Proposition 5.7
    and Example 5.8; corrected as in docs/formulas.md, ``koot-example-5.8``.

    Examples
    --------
    >>> from anonrisk.predict import density_limit
    >>> round(density_limit(lambda x: 2 * x, 0.8), 5)
    0.29692
    """
    a, phi = positive(per_value, "per_value"), _relative_density(phi)
    return a * _over_values(lambda x: phi(x) * np.exp(-a * phi(x)))


def density_variance_limit(phi: Callable[[float], float], per_value: float) -> float:
    """Variance of the number of singletons a value, as the number of values grows.

    Parameters
    ----------
    phi, per_value
        As in `density_limit`.

    Returns
    -------
    float
        Times the number of values it is the variance of the number of singletons.

    See Also
    --------
    anonrisk.predict.density_limit : the mean
    anonrisk.predict.singletons : exact, for as many values as there are

    Notes
    -----
    C2: Var S / N → ∫ (aφ e^(−aφ) − a²φ² e^(−2aφ)) − a (∫ φ(1 − aφ) e^(−aφ))² over [0, 1]. The last
    term is what a fixed group size takes away.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Proposition
    5.11; corrected as in docs/formulas.md, ``koot-proposition-5.11``.

    Examples
    --------
    >>> from anonrisk.predict import density_variance_limit
    >>> round(density_variance_limit(lambda x: 2 * x, 0.8), 5)
    0.19918
    """
    a, phi = positive(per_value, "per_value"), _relative_density(phi)

    def own(x: float) -> float:
        alone = a * phi(x) * np.exp(-a * phi(x))
        return float(alone - alone**2)

    drift = _over_values(lambda x: phi(x) * (1 - a * phi(x)) * np.exp(-a * phi(x)))
    return _over_values(own) - a * drift**2


def _relative_density(phi: Any) -> Callable[[float], float]:
    if not callable(phi):
        raise ArgumentError("phi must be a function on [0, 1]")
    try:
        seen = np.array([phi(x) for x in np.linspace(0, 1, 101)], dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError("phi must give a number for every number of [0, 1]") from None
    # The other way round, a density that is not a number would pass.
    if not (seen >= 0).all() or not abs(_over_values(phi) - 1) <= 1e-6:
        raise ArgumentError("phi must be a density on [0, 1]: never below 0, with integral 1")
    checked: Callable[[float], float] = phi
    return checked


def _over_values(g: Callable[[float], float]) -> float:
    from scipy.integrate import quad

    return float(quad(g, 0, 1, limit=200)[0])


# Offsets of the first interval that are tried for each width of a density. Chosen: the worst of
# more of them may be a little worse, and whoever asks is told how many there were.
OFFSETS = 16
LEVEL = 0.95
# A density spreads between the quantiles that leave this share outside on either side; widths are
# tried from so small a part of the spread up to twice it.
_OUTSIDE, _PARTS = 1e-9, 10_000
# Up to which t = (k − 1)Δ/σ an expansion is good, by its order; see the Notes of `expansion`.
_FIRST_GOOD, _SECOND_GOOD = 0.9, 1.9
# The share of a group that may be corrected by the Normal expansion; see its Notes.
_MOST_CORRECTED = 0.3
# An integral leaves this out on either side, and has so many pieces, each with its own quadrature.
_LEFT_OUT, _PIECES = 1e-15, 40


@dataclass(frozen=True, repr=False)
class Tried(render.PrintedFields):
    """One width, at the offset where it does worst.

    Attributes
    ----------
    width : float
        Width of an interval.
    offset : float
        Where an interval begins: the worst of all, or the first that breaks the budget.
    mean : float
        Expected share of singletons there.
    upper : float
        Share that is not exceeded with 95% probability.
    """

    width: float
    offset: float
    mean: float
    upper: float


@dataclass(frozen=True, repr=False)
class SuggestedWidth(Document, render.PrintedTable):
    """The smallest width that keeps singletons within a budget, and those that did not.

    Attributes
    ----------
    width : float
        The suggestion.
    max_fraction : float
        The budget.
    group_size : int
        Number of people.
    tried : tuple of Tried
        All widths up to the suggestion, from narrow to wide.
    where : str
        Which offsets were tried, in words.
    """

    width: float
    max_fraction: float
    group_size: int
    tried: tuple[Tried, ...]
    where: str = "wherever they begin"

    def _lines(self) -> list[str]:
        share = f"at most {render.percent(self.max_fraction)} of a group of {self.group_size:,}"
        likely = "are singletons with 95% probability"
        return [f"Intervals of {self.width:g}: {share} {likely}, {self.where}"]

    def _header(self) -> tuple[str, ...]:
        return "width", "worst offset", "expected", "not exceeded (95%)"

    def _rows(self) -> list[list[str]]:
        return [
            [f"{t.width:g}", f"{t.offset:g}", render.percent(t.mean), render.percent(t.upper)]
            for t in self.tried
        ]


def suggest_width(
    values: Any,
    group_size: int,
    max_fraction: float,
    *,
    widths: Sequence[float] | None = None,
) -> SuggestedWidth:
    """Find the smallest width whose intervals leave few enough singletons.

    Parameters
    ----------
    values : frozen scipy distribution, or list of probabilities
        The density of the column, or the probability of each of consecutive whole numbers.
    group_size : int
        Number of people whose values are rounded.
    max_fraction : float
        The budget: the largest share of the group that may be singletons.
    widths : list of float, optional
        What to try; left out, 1, 2, 5, 10, … and, for a density, tenths of those as needed.

    Returns
    -------
    SuggestedWidth

    See Also
    --------
    anonrisk.predict.expansion : a formula by hand, for narrow intervals
    anonrisk.plan : how coarse the columns of a table must become

    Notes
    -----
    Every width is tried, from narrow to wide: the share of singletons need not fall with the width
    (a wider interval may begin at a worse place), so that no bisection is right. The upper 95%
    quantile of the law is compared with the budget, at every offset of whole numbers and at 16
    offsets of a density (I1).

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 6.3.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from anonrisk.predict import suggest_width
    >>> suggest_width(norm(40, 12), group_size=300, max_fraction=0.02).width
    5.0
    """
    k = whole_number(group_size, "group_size", at_least=1)
    budget = positive(max_fraction, "max_fraction")
    if budget > 1:
        raise ArgumentError("max_fraction is a share, at most 1")
    cut = _cutter(values)
    tried = []
    for width in _widths(widths, cut):
        worst = _worst(cut, width, k, budget)
        tried.append(worst)
        if worst.upper <= budget:
            where = "wherever they begin" if cut.whole else f"at each of {OFFSETS} offsets"
            return SuggestedWidth(width, budget, k, tuple(tried), where)
    raise ArgumentError(
        f"no width up to {tried[-1].width:g} keeps singletons within "
        f"{render.percent(budget)} of {k:,} people; allow more, or leave the column out"
    )


@dataclass(frozen=True)
class _Cutter:
    """A column that can be cut into intervals of any width."""

    cut: Callable[[float, float], Distribution]
    smallest: float
    largest: float
    whole: bool


def _cutter(values: Any) -> _Cutter:
    if isinstance(values, Distribution):
        raise ArgumentError(
            "a Distribution does not know which values are neighbours; give the probabilities of "
            "consecutive whole numbers, or a density"
        )
    if hasattr(values, "cdf"):
        check_density(values)
        spread = float(values.isf(_OUTSIDE) - values.ppf(_OUTSIDE))
        if not np.isfinite(spread) or spread <= 0:
            raise ArgumentError("the density has no finite spread")
        cut = lambda width, offset: Distribution.from_density(values, width, offset=offset)  # noqa: E731
        return _Cutter(cut, spread / _PARTS, 2 * spread, whole=False)
    p = Distribution.from_probabilities(values)
    value = np.array(values, dtype=float)

    def grouped(width: float, offset: float) -> Distribution:
        cell = (np.arange(len(value)) + round(offset)) // round(width)
        return Distribution.from_probabilities(np.bincount(cell, weights=value))

    return _Cutter(grouped, 1.0, 2.0 * max(len(value), p.n_values), whole=True)


def _widths(widths: Sequence[float] | None, cutter: _Cutter) -> list[float]:
    if widths is not None:
        if not isinstance(widths, (list, tuple)):
            raise ArgumentError("widths must be a list of numbers")
        values = sorted(positive(width, "width") for width in widths)
        if not values or (cutter.whole and any(width != round(width) for width in values)):
            raise ArgumentError("widths must be a list of whole numbers for whole-numbered values")
        return values
    first = int(np.floor(np.log10(cutter.smallest)))
    last = int(np.ceil(np.log10(cutter.largest)))
    nameable = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    return [width for width in nameable if cutter.smallest <= width <= cutter.largest]


def _worst(cutter: _Cutter, width: float, k: int, budget: float) -> Tried:
    """Try the offsets of one width; stop at the first that breaks the budget."""
    steps = round(width) if cutter.whole else OFFSETS
    worst: Tried | None = None
    for step in range(steps):
        offset = float(step) if cutter.whole else step * width / steps
        source = FromDistribution(cutter.cut(width, offset), k)
        mean, sd = source.mean(), sqrt(source.variance())
        # No 95% quantile lies further above the mean than this (Cantelli).
        if worst is not None and mean + sd * sqrt(LEVEL / (1 - LEVEL)) <= worst.upper * k:
            continue
        upper = source.law().upper(LEVEL) / k
        if worst is None or upper > worst.upper:
            worst = Tried(width, offset, mean / k, upper)
        if upper > budget:
            break
    assert worst is not None  # noqa: S101
    return worst


def expansion(density: Any, group_size: int, width: float, *, order: str = "resummed") -> float:
    """Approximate the expected number of singletons among values rounded to narrow intervals.

    Exact bins (`Distribution.from_density`) are right at any width; this is for a formula by hand.

    Parameters
    ----------
    density : frozen scipy distribution
        A smooth density.
    group_size : int
        Number of people.
    width : float
        Width of an interval.
    order : {"first", "second", "resummed"}
        How much of the expansion in the width to take.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.predict.Distribution.from_density : exact bins at any width
    anonrisk.predict.normal_expansion : several Normal columns

    Notes
    -----
    I4: E S = k − Δ k(k−1) ∫f² + ½ Δ² k(k−1)(k−2) ∫f³ + O(Δ³); resummed k ∫ f (1 − Δf)^(k−1). With t
    = (k − 1)Δ/σ the first is off by 4% at t = .9, the second by 5% at 1.9, and are refused beyond;
    the resummed form is within 1.5% up to Δ = σ/2 at any k, for a Normal density, and is refused
    beyond.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 6.3.1; corrected
    as in docs/formulas.md, ``koot-6.3.1-exponential``, ``koot-6.3.1-ends``.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from anonrisk.predict import expansion
    >>> round(expansion(norm(0, 1), 10, 0.1), 2)
    7.77
    """
    k = whole_number(group_size, "group_size", at_least=1)
    delta = positive(width, "width")
    one_of(order, "order", ("first", "second", "resummed"))
    check_density(density)
    sigma = float(density.std())
    t = (k - 1) * delta / sigma
    good = {
        "first": t <= _FIRST_GOOD,
        "second": t <= _SECOND_GOOD,
        "resummed": delta <= sigma / 2,
    }
    if not good[order]:
        raise ApproximationError(
            f"the {order} expansion is not good at this width and group size; cut the density into "
            "exact intervals instead: singletons(Distribution.from_density(density, width), k)"
        )
    if order == "resummed":
        return k * _integral(density, lambda f: f * (1 - np.minimum(delta * f, 1.0)) ** (k - 1))
    value = k - delta * k * (k - 1) * _integral(density, lambda f: f**2)
    if order == "second":
        cube = _integral(density, lambda f: f**3)
        value += 0.5 * delta**2 * k * (k - 1) * (k - 2) * cube
    return value


def _integral(density: Any, g: Callable[[Any], Any]) -> float:
    from scipy.integrate import quad

    low, high = float(density.ppf(_LEFT_OUT)), float(density.isf(_LEFT_OUT))
    points = np.linspace(low, high, _PIECES + 1)
    parts = (quad(lambda x: float(g(density.pdf(x))), a, b)[0] for a, b in pairwise(points))
    return float(sum(parts))


def normal_expansion(group_size: int, widths: ArrayLike, covariance: ArrayLike) -> float:
    """Approximate the expected singletons of a Normal of several dimensions, rounded in each.

    Parameters
    ----------
    group_size : int
        Number of people.
    widths : list of float
        Width of the intervals of each column.
    covariance : matrix of float
        Covariances of the columns.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.predict.expansion : one column, any smooth density
    anonrisk.predict.Distribution.bivariate_normal : exact bins of two columns

    Notes
    -----
    I6: E S ≈ k − ∏Δ · k(k−1) / ((4π)^(n/2) √det Σ). Refused where the correction exceeds .3 k or
    a width exceeds half the deviation that is left in its column when the others are known; within
    that it was off by 6% at most.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 6.4.1; corrected
    as in docs/formulas.md, ``koot-6.4.1``.

    Examples
    --------
    >>> from anonrisk.predict.width import normal_expansion
    >>> round(normal_expansion(10, [1, 1], [[16, 8], [8, 25]]), 2)
    9.61
    """
    k = whole_number(group_size, "group_size", at_least=1)
    try:
        delta, sigma = np.array(widths, dtype=float), np.array(covariance, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError("widths and covariance must be numbers") from None
    if (
        delta.ndim != 1
        or sigma.shape != (len(delta), len(delta))
        or not np.allclose(sigma, sigma.T)
    ):
        raise ArgumentError(
            "covariance must be a symmetric matrix, with one row and one column per width"
        )
    if (delta <= 0).any() or not np.isfinite(delta).all() or np.linalg.eigvalsh(sigma).min() <= 0:
        raise ArgumentError("widths must be above 0 and the covariance positive definite")
    left = 1 / np.sqrt(np.diagonal(np.linalg.inv(sigma)))
    _, log_det = np.linalg.slogdet(sigma)
    log_correction = np.log(delta).sum() - len(delta) / 2 * log(4 * pi) - log_det / 2
    correction = k * (k - 1) * float(np.exp(log_correction))
    if correction > _MOST_CORRECTED * k or (delta > left / 2).any():
        raise ApproximationError(
            "the expansion is not good at these widths: they must be well below the deviation "
            "left in each column when the others are known; use Distribution.bivariate_normal"
        )
    return k - correction
