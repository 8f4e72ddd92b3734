"""Logarithms of factorials and gammas that keep their digits where numbers are huge.

The logarithm of 10^8! is 1.7e9, whose last digit is 2e-7: a difference of two of them is worthless
for a chance near 1. Here the large parts cancel on paper.
"""

from __future__ import annotations

from math import lgamma, log, log1p, pi
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anonrisk.core.types import Floats

# From here on the five terms of Stirling's series in `remainder` (Abramowitz & Stegun 1964, 6.1.41)
# are within the next one, 691 / (360,360 n¹¹): 1.1e-16.
_SMALL = 16
# Up to this gap so many terms of the series in `_deviance` are within 2e-17 of all of them, since
# the next one is that share of the first; above it, nothing cancels that matters.
_NEAR, _TERMS = 0.1, 8
_TABLE = np.array(
    [0.0] + [lgamma(n + 1) - ((n + 0.5) * log(n) - n + 0.5 * log(2 * pi)) for n in range(1, _SMALL)]
)


def remainder(n: Any) -> Floats:
    """Log n! less Stirling's formula (n + ½) log n − n + ½ log 2π, for n ≥ 1.

    Below 16 for whole numbers only.
    """
    x = np.asarray(n, dtype=float)
    small = x < _SMALL
    y = np.where(small, _SMALL, x)
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * y**2)) / y**2) / y**2) / y**2
    ) / y
    return np.asarray(np.where(small, _TABLE[np.where(small, x, 0).astype(int)], series))


def log_falling(m: float, a: Any) -> Floats:
    """Log of m (m − 1) … (m − a + 1) / m^a, for whole numbers 0 ≤ a ≤ m; −inf beyond."""
    a = np.asarray(a, dtype=float)
    left = m - a
    if m == 0:
        return np.where(a == 0, 0.0, -np.inf)
    inside = left > 0
    rest = np.where(inside, left, 1.0)
    value = -(rest + 0.5) * _log_left(np.where(inside, a, 0.0), m) - a
    value = value + remainder(m) - remainder(rest)
    whole = float(remainder(m)) + 0.5 * log(2 * pi * m) - m
    # One factor is m itself.
    value = np.where(a <= 1, 0.0, value)
    return np.where(inside, value, np.where(left == 0, whole, -np.inf))


def log_apart(m: float, a: Any, b: Any) -> Floats:
    """Log of (m)_{a+b} / ((m)_a (m)_b), falling powers: how much a draw of a hinders one of b."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    left = m - a - b
    if m == 0:
        return np.where(left == 0, 0.0, -np.inf)
    t = np.where(left > 0, left, 1.0)
    value = (t + 0.5) * np.log1p(a * b / (m * t)) + b * _log_left(a, m) + a * _log_left(b, m)
    value = value + remainder(np.maximum(m - a, 1)) + remainder(np.maximum(m - b, 1))
    value = value - remainder(m) - remainder(t)
    if (left > 0).all():
        return np.asarray(value)
    ends = log_falling(m, np.minimum(a + b, m)) - log_falling(m, a) - log_falling(m, b)
    return np.where(left > 0, value, np.where(left == 0, ends, -np.inf))


def _log_left(a: Floats, m: float) -> Floats:
    return np.log1p(-np.minimum(a, m - 1) / m) if m > 1 else np.zeros_like(a)


def log_poisson(k: Any, r: Any) -> Floats:
    """Log of the chance that a Poisson number of mean `r` is `k`."""
    k, r = np.asarray(k, dtype=float), np.asarray(r, dtype=float)
    some = np.maximum(k, 1.0)
    value = -remainder(some) - _deviance(some, r) - 0.5 * np.log(2 * pi * some)
    return np.asarray(np.where(k == 0, -r, value))


def log_binomial(k: Any, n: Any, odds: Any) -> Floats:
    """Log of the chance of `k` successes in `n` trials whose odds are `odds` to 1."""
    k, n, odds = (np.asarray(each, dtype=float) for each in (k, n, odds))
    inside = (k > 0) & (k < n)
    some, trials = np.where(inside, k, 1.0), np.where(inside, n, 2.0)
    others = trials - some
    with np.errstate(divide="ignore"):
        spread = 0.5 * np.log(trials / (2 * pi * some) / others)
        parts = remainder(trials) - remainder(some) - remainder(others)
        away = _deviance(some, trials / (1 + 1 / odds)) + _deviance(others, trials / (1 + odds))
        # All or none of the trials succeed; more than all cannot.
        ends = np.where(k == 0, -n * np.log1p(odds), np.where(n == 0, 0.0, -n * np.log1p(1 / odds)))
    return np.where(inside, parts - away + spread, np.where((k == 0) | (k == n), ends, -np.inf))


def _deviance(x: Floats, expected: Floats) -> Floats:
    """X log(x / expected) + expected − x for x > 0, also where the two are nearly equal."""
    gap = (x - expected) / (x + expected)
    near = np.abs(gap) <= _NEAR
    small = np.where(near, gap, 0.0)
    # log((1 + g)/(1 − g)) = 2 (g + g³/3 + g⁵/5 + …), and the term in g cancels by hand.
    square, series = small * small, np.zeros_like(small)
    for j in range(_TERMS, 0, -1):
        series = square * (1 / (2 * j + 1) + series)
    with np.errstate(divide="ignore"):
        far = x * np.log(x / expected) + expected - x
    return np.where(near, (x - expected) * small + 2 * x * small * series, far)


# From here on the series below (Abramowitz & Stegun 1964, 6.1.41 and 6.3.18) are exact to the last
# bit: they leave out less than their next terms, 1/(1,188 z⁹) = 4e-19 and 1/(132 z¹⁰) = 8e-20.
_LARGE = 50.0


def log_rising(z: float, m: float) -> float:
    """Return ln Γ(z + m) − ln Γ(z), for z above 0 and m from 0 up.

    Examples
    --------
    >>> round(log_rising(1, 4), 12) == round(log(24), 12)
    True
    >>> log_rising(1e15, 1) - log(1e15)
    0.0
    """
    if z < _LARGE:
        from scipy.special import gammaln

        return float(gammaln(z + m) - gammaln(z))
    return (z + m - 0.5) * log1p(m / z) - m + m * log(z) + _stirling(z + m) - _stirling(z)


def digamma_rise(z: float, m: float) -> float:
    """Return ψ(z + m) − ψ(z) = Σ 1/(z + i) over i < m, for z above 0 and m from 0 up.

    Examples
    --------
    >>> round(digamma_rise(1, 3), 12)
    1.833333333333
    """
    if z < _LARGE:
        from scipy.special import digamma

        return float(digamma(z + m) - digamma(z))
    return log1p(m / z) + _slope(z + m) - _slope(z)


def _stirling(z: float) -> float:
    w = 1 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / z


def _slope(z: float) -> float:
    w = 1 / (z * z)
    return -0.5 / z - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w / 240)))
