"""One person among n, where the probability of their attributes is known (P11)."""

from __future__ import annotations

from math import exp, expm1, log1p
from numbers import Real
from typing import Any

from anonrisk.core.arguments import whole_number
from anonrisk.errors import ArgumentError


def rocher_unique(p: float, n: int) -> float:
    """Return the chance (1 − p)^(n−1) that nobody else among n people has attributes of chance p.

    Parameters
    ----------
    p : float
        Probability of the person's attributes.
    n : int
        Number of people, the person among them.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.predict.population.rocher_match : chance that a match is right
    anonrisk.predict_population : from class sizes instead

    Notes
    -----
    P11: the n − 1 others each have the attributes with chance p, independently.

    References
    ----------
    L. Rocher, J. M. Hendrickx & Y.-A. de Montjoye, *Estimating the Success of Re-identifications in
    Incomplete Datasets Using Generative Models*, Nature Communications 10:3069, 2019.

    Examples
    --------
    >>> round(rocher_unique(0.02, 50), 6)
    0.371602
    """
    _check(p)
    others = whole_number(n, "n", at_least=1) - 1
    if p == 1:
        return float(others == 0)
    return exp(others * log1p(-p))


def rocher_match(p: float, n: int) -> float:
    """Return the chance (1 − (1 − p)^n)/(np) that a match among n people is the right one.

    Parameters
    ----------
    p : float
        Probability of the person's attributes.
    n : int
        Number of people.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.predict.population.rocher_unique : chance that nobody else fits
    anonrisk.predict.population.dis : from the class sizes of a sample

    Notes
    -----
    P11: whoever looks for a person with attributes of chance p picks at random among those who have
    them.

    References
    ----------
    L. Rocher, J. M. Hendrickx & Y.-A. de Montjoye, *Estimating the Success of Re-identifications in
    Incomplete Datasets Using Generative Models*, Nature Communications 10:3069, 2019.

    Examples
    --------
    >>> round(rocher_match(0.02, 50), 6)
    0.63583
    """
    _check(p)
    people = whole_number(n, "n", at_least=1)
    if p == 1:
        return 1 / people
    return -expm1(people * log1p(-p)) / (people * p)


def _check(p: Any) -> None:
    if isinstance(p, bool) or not isinstance(p, Real) or not 0 < float(p) <= 1:
        raise ArgumentError("p is a probability: above 0, at most 1")
