"""Limits of many values: mean and variance for densities against the exact ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anonrisk.errors import ArgumentError
from anonrisk.predict import Distribution, density_limit, density_variance_limit, singletons

DENSITIES = {"even": lambda x: 1.0, "2x": lambda x: 2 * x, "curve": lambda x: 0.5 + 1.5 * x**2}


@pytest.mark.parametrize("a", [0.1, 0.8, 2.0, 6.0])
@pytest.mark.parametrize("phi", DENSITIES.values(), ids=DENSITIES)
def test_limits_are_those_of_many_values(phi, a):
    n = 4_000
    p = np.array([phi((i + 0.5) / n) for i in range(n)])
    found = singletons(Distribution.from_probabilities(p / p.sum()), round(a * n))
    assert density_limit(phi, a) == pytest.approx(found.mean / n, rel=2e-3)
    assert density_variance_limit(phi, a) == pytest.approx(found.variance / n, rel=2e-3)


@pytest.mark.parametrize("a", [0.3, 1.0, 4.0])
def test_an_even_density_has_a_closed_form(a):
    closed = a * math.exp(-a) - a * math.exp(-2 * a) * (1 - a + a**2)
    assert density_limit(DENSITIES["even"], a) == pytest.approx(a * math.exp(-a), rel=1e-12)
    assert density_variance_limit(DENSITIES["even"], a) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("limit", [density_limit, density_variance_limit])
@pytest.mark.parametrize(
    ("phi", "a", "says"),
    [
        (lambda x: 2.0, 1, "integral 1"),
        (lambda x: 3 * x - 0.5, 1, "never below 0"),
        (lambda x: math.nan, 1, "never below 0"),
        (lambda x: "secret", 1, "^phi must give a number for every number of .0, 1.$"),
        (None, 1, "function"),
        (DENSITIES["2x"], 0, "per_value"),
    ],
)
def test_what_is_no_density_is_refused(limit, phi, a, says):
    with pytest.raises(ArgumentError, match=says):
        limit(phi, a)
