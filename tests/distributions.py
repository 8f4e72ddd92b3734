"""Distributions for the tests of predictions: ages, and of many kinds."""

from __future__ import annotations

import numpy as np

from anonrisk.predict import Distribution


def ages(oldest):
    x = np.arange(oldest + 1)
    p = (1 + 0.25 * np.exp(-(((x - 45) / 14) ** 2))) * np.exp(-4e-4 * (np.exp(0.1 * x) - 1))
    return Distribution.from_probabilities(p / p.sum())


KINDS = (
    lambda random, n: random.gamma(random.uniform(0.5, 30), size=n),
    lambda random, n: np.linspace(random.uniform(0.1, 1), 1, n),
    lambda random, n: np.arange(1, n + 1) ** -random.uniform(0.1, 1.0),
    lambda random, n: random.lognormal(0, random.uniform(0.1, 0.9), n),
    lambda random, n: np.where(np.arange(n) < n * random.uniform(0.1, 0.9), 1, 0.2),
    lambda random, n: 1 + random.uniform(0, 1) * np.sin(np.linspace(0, 6, n)),
    lambda random, n: np.exp(-np.linspace(0, random.uniform(0.2, 2), n)),
)


def families(seed, n, largest=400):
    """Distributions of seven kinds, none of which chose a threshold."""
    random = np.random.default_rng(seed)
    for i in range(n):
        weights = KINDS[i % 7](random, int(random.integers(20, largest))) + 1e-9
        yield Distribution.from_probabilities(weights / weights.sum()), random
