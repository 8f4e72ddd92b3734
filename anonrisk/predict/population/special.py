"""Differences of log-gammas and digammas that keep their digits when the arguments are huge."""

from __future__ import annotations

from math import log, log1p

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
