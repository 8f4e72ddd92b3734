"""Zipf's exponent from how often each item occurs: least squares, and maximum likelihood."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from anonrisk.core.arrays import Floats, Integers


# Sums over ranks are term by term up to here, and by the Euler-Maclaurin formula beyond.
# What the formula leaves out is about its next term, c/12 of that of this rank over the rank.
_TERMS = 100_000
# Nodes of Gauss's quadrature over the logarithms of ranks beyond, a smooth function.
_NODES = 80
# Where the search for an exponent ends at first; it goes on at twice that while it must.
_STEEP = 50.0


@dataclass(frozen=True)
class Fit:
    """A Zipf law fitted to the popularity of items.

    Attributes
    ----------
    c : float
        The exponent.
    n_items : int
        Number of items.
    r_squared : float or None
        Share of the variance of the logarithms that the law explains; None where all items are
        equally popular, since there is then no variance to explain.
    method : str
        ``"least squares"`` or ``"maximum likelihood"``.
    """

    c: float
    n_items: int
    r_squared: float | None
    method: str

    def __repr__(self) -> str:
        """Print as a line."""
        explained = "-" if self.r_squared is None else f"{self.r_squared:.3f}"
        return (
            f"exponent {self.c:.3f} by {self.method} over {self.n_items:,} items, R² = {explained}"
        )


def fit(
    counts: ArrayLike | ClassCounts,
    items: ArrayLike | None = None,
    method: str = "least squares",
) -> Fit:
    """Fit a Zipf law to how often each item occurs.

    Parameters
    ----------
    counts : array of int, or ClassSizes
        How often an item occurs; in any order. Classes are items, and their sizes the counts.
    items : array of int, optional
        How many items occur so often; one for each count if left out.
    method : {"least squares", "maximum likelihood"}
        A straight line through the logarithms of rank and frequency, as in the paper, which gives
        every item the same weight; or the exponent under which these frequencies are likeliest,
        which weighs items by their records. R² is of the straight line in both cases.

    Returns
    -------
    ZipfFit
        The exponent, the number of items and R².

    See Also
    --------
    anonrisk.trajectory : fits the items of linked records
    anonrisk.predict.Distribution.zipf : the law itself
    anonrisk.predict.zipf.Zipf : what it says of linked records

    Notes
    -----
    The likelihood takes the observed ranks for the true ones, which flatters a small sample. Only
    items that occur are counted: ``Distribution.zipf(found.n_items, found.c)`` is the law of those.
    Z1 is the law that is fitted, p = g·x^(−c) at rank x.

    References
    ----------
    H. Kikuchi & K. Takahashi, *Zipf Distribution Model for Quantifying Risk of Re-identification
    from Trajectory Data*, 2016, 3.2; corrected as in docs/formulas.md, ``kikuchi-3.2``.

    Examples
    --------
    >>> fit([1200, 600, 400, 300, 240])
    exponent 1.000 by least squares over 5 items, R² = 1.000

    Of a table, and what a group of its people would show:

    >>> import pandas as pd
    >>> import anonrisk
    >>> from anonrisk.predict import Distribution, fit_zipf, singletons
    >>> trips = pd.DataFrame({"station": [x for x in range(1, 41) for _ in range(240 // x)]})
    >>> found = fit_zipf(trips.anon.classes("station"))
    >>> found
    exponent 1.022 by least squares over 40 items, R² = 0.999
    >>> round(singletons(Distribution.zipf(found.n_items, found.c), 30).mean, 1)
    9.3
    """
    frequency, number = _histogram(counts, items)
    d = int(number.sum())
    if d < 2:
        raise ArgumentError("a law of ranks needs at least two different items")
    if method == "least squares":
        c, intercept = _least_squares(frequency, number)
    elif method == "maximum likelihood":
        c = _likeliest(frequency, number)
        intercept = None
    else:
        raise ArgumentError("method must be 'least squares' or 'maximum likelihood'")
    return Fit(c, d, _r_squared(frequency, number, c, intercept), method)


def power_sums(d: int, c: float) -> tuple[float, float]:
    """Return Σ x^(−c) and Σ x^(−c)·ln x over the ranks 1 to d.

    Examples
    --------
    >>> power_sums(3, 1)
    (1.8333333333333333, 0.7127776865...)
    """
    ranks = np.arange(1, min(d, _TERMS) + 1, dtype=float)
    log = np.log(ranks)
    terms = np.exp(-c * log)
    plain, logged = float(terms.sum()), float((terms * log).sum())
    if d > _TERMS:
        more = _tail(_TERMS, d, c)
        plain, logged = plain + more[0], logged + more[1]
    return plain, logged


def _tail(a: int, d: int, c: float) -> tuple[float, float]:
    """Sum from a + 1 to d: the integral, and half of the terms at its ends."""
    low, high = math.log(a), math.log(d)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    t = (high - low) / 2 * nodes + (high + low) / 2
    density = np.exp((1 - c) * t) * weights * (high - low) / 2
    ends = (a**-c, d**-c)
    plain = float(density.sum()) + (ends[1] - ends[0]) / 2
    logged = float((density * t).sum()) + (ends[1] * high - ends[0] * low) / 2
    return plain, logged


def _histogram(counts: ArrayLike | ClassCounts, items: ArrayLike | None) -> tuple[Floats, Integers]:
    if isinstance(counts, ClassCounts):
        if items is not None:
            raise ArgumentError("items come with the class sizes: give one of them")
        counts.refuse_overlap()
        items, counts = counts.classes, counts.sizes
    try:
        frequency = np.asarray(counts, dtype=float)
        ones = np.ones(frequency.shape, np.int64)
        number = ones if items is None else np.asarray(items)
        with np.errstate(invalid="ignore"):
            whole = number.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        # Their messages quote what was given.
        raise ArgumentError("counts and items must be lists of numbers") from None
    if frequency.ndim != 1 or frequency.shape != number.shape:
        raise ArgumentError("counts and items must be lists of the same length")
    if not (np.isfinite(frequency) & (frequency > 0) & (number > 0)).all():
        raise ArgumentError("counts and items must be above 0")
    if (whole != number).any():
        raise ArgumentError("items must be whole numbers: how many occur so often")
    order = np.argsort(-frequency, kind="stable")
    return frequency[order], whole[order]


def _log_ranks(number: Integers) -> tuple[Floats, float]:
    """Sum the logarithms of the ranks of each run of equal counts, and all their squares."""
    from scipy.special import gammaln

    last = np.cumsum(number)
    sums = gammaln(last + 1.0) - gammaln(last - number + 1.0)
    squares, d = 0.0, int(last[-1])
    for start in range(1, d + 1, 10 * _TERMS):
        part = np.log(np.arange(start, min(start + 10 * _TERMS, d + 1), dtype=float))
        squares += float(part @ part)
    return sums, squares


def _least_squares(frequency: Floats, number: Integers) -> tuple[float, float]:
    d = float(number.sum())
    sums, squares = _log_ranks(number)
    log = np.log(frequency)
    x, y = float(sums.sum()) / d, float(number @ log) / d
    slope = (float(sums @ log) - d * x * y) / (squares - d * x * x)
    # Ranks are made by sorting, so that the slope of equal counts is zero but for rounding.
    return (max(-slope, 0.0), y - slope * x) if np.ptp(log) else (0.0, y)


def _likeliest(frequency: Floats, number: Integers) -> float:
    """Find c at which the expected logarithm of a rank equals the observed one."""
    sums, _ = _log_ranks(number)
    d = int(number.sum())
    observed = float(frequency @ sums) / float(frequency @ number)

    def excess(c: float) -> float:
        plain, logged = power_sums(d, c)
        return logged / plain - observed

    if not np.ptp(frequency) or excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    steepest = _STEEP
    while excess(steepest) > 0:
        steepest *= 2
    return float(brentq(excess, 0.0, steepest, xtol=1e-12))


def _r_squared(
    frequency: Floats, number: Integers, c: float, intercept: float | None
) -> float | None:
    d = float(number.sum())
    sums, squares = _log_ranks(number)
    log = np.log(frequency)
    y, x = float(number @ log) / d, float(sums.sum()) / d
    variance = float(number @ (log - y) ** 2)
    if not np.ptp(log):
        return None
    at = y + c * x if intercept is None else intercept
    # Σ (ln f − at + c·ln x)² over all ranks, run by run.
    left = float(number @ (log - at) ** 2) + 2 * c * float(sums @ (log - at)) + c * c * squares
    return 1 - max(left, 0.0) / variance
