"""A log-linear Poisson model of the columns, main effects only (Skinner & Shlomo 2008)."""

from __future__ import annotations

from math import erfc, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.errors import ModelError
from anonrisk.predict.population.model_estimate import LINKER, ModelEstimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.arrays import Floats
    from anonrisk.counts.weighted import Independence
    from anonrisk.predict.population.sample import Sample

# Up to this many products of margins are looked at one by one; beyond, ln μ is on a grid.
_PRODUCTS = 200_000
_STEP = 0.001
# The model fits badly where its bias is both beyond chance and this share of the estimate.
_BIAS = 0.1


def loglinear(sample: Sample, found: Independence) -> ModelEstimate:
    """Estimate what an attacker can do if the columns are independent, and whether they are.

    Notes
    -----
    A singleton's class has 1 + Poisson(m) people in the population, with m = (1 − f)Λ and Λ the
    product of the margins' shares times N. Of s₁ singletons Σ exp(−m) are expected to be unique
    there, and Σ (1 − exp(−m))/m to be matched. B estimates the bias of the first sum from
    (f_k − μ_k) and (f_k − μ_k)² − f_k over all cells, to second order, after Skinner & Shlomo
    (2008); its variance is that of a Poisson table.
    """
    s1 = sample.s(1)
    if not s1:
        raise ModelError("the log-linear model needs singletons, and the table has none")
    bias, z = fit_of(sample, found)
    note = "columns taken to be independent"
    # Beyond chance, and large enough to matter.
    doubtful = abs(z) > 1.96 and abs(bias) > _BIAS * found.unique
    if doubtful:
        way = "many" if bias > 0 else "few"
        note = (
            "fits badly: the columns are not independent, and about "
            f"{abs(bias):,.0f} singletons too {way} count as unique (z = {z:.1f})"
        )
    return ModelEstimate(
        "loglinear",
        "Skinner & Shlomo",
        LINKER,
        uniques=found.unique / sample.f,
        singletons_unique=found.unique / s1,
        matches=found.match,
        parameters={"bias": bias, "z": z, "p_value": erfc(abs(z) / sqrt(2))},
        doubtful=doubtful,
        note=note,
    )


def fit_of(sample: Sample, found: Independence) -> tuple[float, float]:
    """Give the estimated bias B of the number of uniques, and B over its standard deviation."""
    n, c = sample.n, (1 - sample.f) / sample.f
    mean = _mean_of(n, found.margins)

    def weights(mu: Floats) -> tuple[Floats, Floats]:
        kept = np.exp(-mu / sample.f)
        return c * mu * kept, c * kept * (1 - mu - c * mu / 2)

    def expected(mu: Floats) -> Floats:
        a, b = weights(mu)
        return -a + b * mu

    def spread(mu: Floats) -> Floats:
        a, b = weights(mu)
        return a * a + 2 * b * b * mu

    # Sums over all cells of a function of μ are n times means over people of it divided by μ.
    bias = found.observed + n * mean(expected)
    sd = sqrt(n * mean(spread))
    return bias, bias / sd if sd else 0.0


def _mean_of(
    n: int, margins: Sequence[tuple[Floats, Floats]]
) -> Callable[[Callable[[Floats], Floats]], float]:
    """Give a function that averages over people whose columns are drawn independently."""
    mu, shares = _law(n, margins)
    return lambda function: float((shares * function(mu)).sum())


def _law(n: int, margins: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Give the cell means that occur, and the share of people in cells of each."""
    if prod(len(counts) for counts, _ in margins) <= _PRODUCTS:
        mu, shares = np.array([float(n)]), np.array([1.0])
        for counts, values in margins:
            mu = np.outer(mu, counts / n).ravel()
            shares = np.outer(shares, counts * values / n).ravel()
        return mu, shares
    shares = np.array([1.0])
    for counts, values in margins:
        # Each count goes to the two steps next to it, so that the mean of ln μ is kept.
        place = np.log(n / counts) / _STEP
        below = np.floor(place).astype(int)
        part = place - below
        weight = counts * values / n
        column = np.bincount(below, weight * (1 - part), int(below.max()) + 2)
        column += np.bincount(below + 1, weight * part, len(column))
        length = len(shares) + len(column) - 1
        both = np.fft.rfft(shares, length) * np.fft.rfft(column, length)
        shares = np.maximum(np.fft.irfft(both, length), 0.0)
    return n * np.exp(-_STEP * np.arange(len(shares))), shares
