"""Bethlehem, Keller & Pannekoek 1990: cells with gamma rates, filled at random (P8)."""

from __future__ import annotations

from math import exp, expm1, log, log1p
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import positive, whole_number
from anonrisk.errors import ModelError
from anonrisk.predict.population.sample import LINKER, ModelEstimate, Sample, singletons_of

if TYPE_CHECKING:
    from anonrisk.predict.population.sample import Histogram

# The values of ln α over which the likelihood is searched, and at how many, evenly, before its peak
# is narrowed down. A peak at an end is refused: the classes are then more unequal, or more even.
_LOWEST, _HIGHEST, _LOOKS = -9.0, 14.0, 47


def bethlehem(n_cells: int, alpha: float, population_size: int) -> float:
    """Return the expected uniques of a population in cells whose rates are gamma distributed.

    Parameters
    ----------
    n_cells : int
        Number K of cells.
    alpha : float
        Shape of the gamma distribution; its scale is β = 1/(αK).
    population_size : int
        Number N of people.

    Returns
    -------
    float
        Expected number of people alone in their cell.

    See Also
    --------
    anonrisk.predict.population.poisson_gamma : the same from a sample
    anonrisk.predict.population.pitman : another model

    Notes
    -----
    P8: N (1 + Nβ)^(−1−α).

    References
    ----------
    J. G. Bethlehem, W. J. Keller & J. Pannekoek, *Disclosure Control of Microdata*, JASA 85(409),
    1990, 38-45.

    Examples
    --------
    >>> round(bethlehem(5000, 0.3, 20_000), 3)
    627.738
    """
    K = whole_number(n_cells, "n_cells", at_least=1)
    a = positive(alpha, "alpha")
    N = whole_number(population_size, "population_size", at_least=1)
    return N * exp(-(1 + a) * log1p(N / (a * K)))


def poisson_gamma(histogram: Histogram | Sample, population_size: int = 0) -> ModelEstimate:
    """Estimate the people who are unique in the population by the Poisson-gamma model.

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
    anonrisk.predict.population.bethlehem : where the number of cells is known
    anonrisk.predict.population.bounds : what holds whatever the model
    anonrisk.predict.population.pitman : another model

    Notes
    -----
    P8 with an unknown number of cells: class sizes are negative binomial without the zeros,
    fitted by maximum likelihood; the figures are those given the sample.

    References
    ----------
    J. G. Bethlehem, W. J. Keller & J. Pannekoek, *Disclosure Control of Microdata*, JASA 85(409),
    1990, 38-45.

    Examples
    --------
    >>> round(poisson_gamma({1: 400, 2: 150, 3: 60, 4: 30, 5: 10}, 10_500).uniques)
    118
    """
    sample = Sample.of(histogram, population_size)
    n, N, s1 = sample.n, sample.N, singletons_of(sample, "the Poisson-gamma model")
    alpha, scale = _fit(sample)
    # Given the sample, a cell with f people has rate Gamma(α + f), and the rest is drawn from it.
    q = (1 + scale) / (1 + scale * N / n)
    empty = sample.u / expm1(alpha * log1p(scale))
    stay = q ** (alpha + 1)
    new = empty * alpha * (1 - q) * q**alpha
    match = -q * expm1(alpha * log(q)) / ((1 - q) * alpha) if q < 1 else 1.0
    return ModelEstimate(
        "poisson_gamma",
        "P8",
        LINKER,
        uniques=s1 * stay + new,
        singletons_unique=stay,
        matches=s1 * match,
        parameters={"alpha": alpha, "beta": scale / n, "cells": sample.u + empty},
        note="far too low where cells are not gamma distributed",
    )


def _fit(sample: Sample) -> tuple[float, float]:
    """Find the shape α and the mean nβ of a cell that make the class sizes most likely."""
    from scipy.optimize import minimize_scalar

    if sample.u == sample.n:
        raise ModelError(
            "the Poisson-gamma model cannot be fitted: every record is a singleton, so that the "
            "number of cells has no bound"
        )

    def loss(log_alpha: float) -> float:
        return -_log_likelihood(sample, exp(log_alpha))

    grid = np.linspace(_LOWEST, _HIGHEST, _LOOKS)
    best = int(np.argmin([loss(a) for a in grid]))
    if best == 0:
        raise ModelError(
            "the Poisson-gamma model cannot be fitted: classes are more unequal than it allows"
        )
    if best == len(grid) - 1:
        raise ModelError(
            "the Poisson-gamma model cannot be fitted: classes are more even than it allows"
        )
    around = (float(grid[best - 1]), float(grid[best + 1]))
    result = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-10})
    if not result.success:
        raise ModelError("the Poisson-gamma model cannot be fitted: its likelihood has no maximum")
    return exp(result.x), _scale(sample, exp(result.x))


def _scale(sample: Sample, alpha: float) -> float:
    """Find the nβ for which a class has the table's mean size; the best one for α."""
    from scipy.optimize import brentq

    mean = sample.n / sample.u

    def gap(log_scale: float) -> float:
        scale = exp(log_scale)
        return alpha * scale / -expm1(-alpha * log1p(scale)) - mean

    return exp(float(brentq(gap, -40.0, log(mean / alpha) + 40, xtol=1e-13)))


def _log_likelihood(sample: Sample, alpha: float) -> float:
    from scipy.special import gammaln

    scale = _scale(sample, alpha)
    none = alpha * log1p(scale)
    each = gammaln(alpha + sample.sizes) - gammaln(alpha) - gammaln(sample.sizes + 1)
    likely = each - none + sample.sizes * (log(scale) - log1p(scale))
    return float((sample.classes * likely).sum()) - sample.u * log(-expm1(-none))
