"""Zayatz 1991: the population's classes are spread over sizes as the sample's are (P3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.predict.population.sample import (
    LINKER,
    ModelEstimate,
    Sample,
    require_tenth,
    singletons_of,
)

if TYPE_CHECKING:
    from anonrisk.core.types import Floats
    from anonrisk.predict.population.sample import Histogram

# Beyond this many expected members in the sample, exactly one has no chance that a float can hold.
_NO_CHANCE = 750.0


def zayatz(histogram: Histogram | Sample, population_size: int = 0) -> ModelEstimate:
    """Estimate the people who are unique in the population, after Zayatz.

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
    anonrisk.predict.population.snb : the other model for large samples
    anonrisk.predict.population.dankar : the rule that chooses between them
    anonrisk.predict.population.bounds : what holds whatever the model

    Notes
    -----
    P3: (N/n) s₁ · s₁h₁ / Σ sⱼhⱼ with hⱼ the chance that exactly one of j people is among n of N.
    Refused below a sampling fraction of 0.1, where it is up to seven times too high.

    References
    ----------
    L. V. Zayatz, *Estimation of the Percent of Unique Population Elements on a Microdata File Using
    the Sample*, US Bureau of the Census, RR-91/08, 1991.

    Examples
    --------
    >>> round(zayatz({1: 40, 2: 10, 3: 5}, 750).uniques, 3)
    227.905
    """
    sample = Sample.of(histogram, population_size)
    require_tenth(sample, "Zayatz")
    s1 = singletons_of(sample, "Zayatz")
    weights = sample.classes * _one_of(sample)
    share = s1 / float(weights.sum())
    return ModelEstimate(
        "zayatz",
        "P3",
        LINKER,
        uniques=s1 * share * sample.N / sample.n,
        singletons_unique=share,
        matches=s1 * float((weights / sample.sizes).sum() / weights.sum()),
        note="too high where the sample is small; exact as it nears the population",
    )


def _one_of(sample: Sample) -> Floats:
    """Return the chance h_j that exactly one of j people is in the table, over h_1."""
    top = int(min(sample.sizes.max(), sample.N - sample.n + 1, _NO_CHANCE / sample.f + 1))
    i = np.arange(1, top)
    logs = np.log(sample.N - sample.n + 1 - i) - np.log(sample.N - i)
    chance = np.zeros(len(sample.sizes))
    inside = sample.sizes <= top
    sizes = sample.sizes[inside].astype(int)
    chance[inside] = sizes * np.exp(np.concatenate(([0.0], np.cumsum(logs))))[sizes - 1]
    return chance
