"""People in classes smaller than k: their variance against enumeration, pairs and simulation."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from anonrisk import errors, predict
from anonrisk.predict import Distribution, moments


def variance_by_pairs(p, k, K):
    """Every pair of values by itself, and every number of people of the first."""
    x = np.arange(min(K - 1, k - 1))
    mean = k * p * binom.cdf(K - 2, k - 1, p)
    total = (k * (k - 1) * p**2 * binom.cdf(K - 3, k - 2, p) + mean).sum() - mean.sum() ** 2
    for i, first in enumerate(p):
        chance = binom.pmf(x, k - 2, first)
        for j, second in enumerate(p):
            if i != j:
                other = binom.cdf(K - 2, k - 2 - x, min(1.0, second / (1 - first)))
                total += k * (k - 1) * first * second * float(chance @ other)
    return float(total)


def variance_by_fractions(p, k, K):
    """The law of the number, adding value after value without rounding."""
    states = {(0, 0): Fraction(1)}
    left = Fraction(1)
    for share in p:
        part = share / left if left else Fraction(0)
        grown = {}
        for (used, below), chance in states.items():
            n = k - used
            for x in range(n + 1):
                more = math.comb(n, x) * part**x * (1 - part) ** (n - x)
                if more:
                    key = (used + x, below + (x if x < K else 0))
                    grown[key] = grown.get(key, 0) + chance * more
        states, left = grown, left - share
    mean = sum(chance * below for (_, below), chance in states.items())
    return sum(chance * (below - mean) ** 2 for (_, below), chance in states.items())


TENTHS = [[1], [0.5, 0.5], [0.9, 0.1], [0.7, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]]


@pytest.mark.slow
@pytest.mark.parametrize("p", TENTHS, ids=str)
def test_the_variance_is_that_of_all_tables_of_twenty(p):
    shares = [Fraction(round(10 * each), 10) for each in p]
    known = Distribution.from_probabilities(p)
    for K in (2, 5, 13, 17, 20):
        exact = float(variance_by_fractions(shares, 20, K))
        assert predict.records_below(known, 20, K).variance == pytest.approx(exact, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "k"),
    [([0.5, 0.5], 60), ([0.05, 0.05, 0.9], 300), ([0.99] + [0.001] * 10, 800), ([0.05] * 20, 400)],
)
def test_the_variance_is_that_of_all_pairs_of_values(p, k):
    known = Distribution.from_probabilities(p)
    for K in (13, 20, 30, k // 2, k - 1):
        exact = variance_by_pairs(np.array(p), k, K)
        found = predict.records_below(known, k, K).variance
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("K", [13, 16, 20, 24, 30])
def test_the_limit_is_within_a_percent_for_many_values(K):
    random = np.random.default_rng(1)
    p = random.gamma(4, size=60)
    p = np.append(p / p.sum() / 2, [0.1] * 5)
    p = p / p.sum()
    exact = variance_by_pairs(p, 1_200, K)
    assert moments.variance_limit(p, np.ones(len(p), int), 1_200, K) == pytest.approx(
        exact, rel=0.012
    )


def test_groups_of_a_thousand_people_a_value_do_vary():
    """It said 'give or take 0.0': e^-1000 is no number."""
    found = predict.records_below(Distribution.uniform(1_000), 10**6, 920)
    assert found.sd == pytest.approx(1_984.73, rel=1e-3)
    drawn = np.random.default_rng(2).multinomial(10**6, np.full(1_000, 1e-3), 1_000)
    below = (drawn * (drawn < 920)).sum(axis=1)
    assert found.mean == pytest.approx(below.mean(), rel=0.05)
    assert found.sd == pytest.approx(below.std(), rel=0.08)


@pytest.mark.parametrize(
    ("known", "k", "K"),
    [
        (Distribution.uniform(1), 10**12, 10**11),
        (Distribution.uniform(1), 50, 50),
        (Distribution.uniform(1), 50, 51),
        (Distribution.from_probabilities([1 - 1e-12, 1e-12]), 10**6, 14),
        (Distribution.uniform(10**6), 10**6, 10**6),
        (Distribution.uniform(1_000), 10**12, 20),
    ],
    ids=str,
)
def test_what_is_certain_varies_by_nothing(known, k, K):
    start = time.process_time()
    assert predict.records_below(known, k, K).sd == pytest.approx(0, abs=1e-2)
    assert time.process_time() - start < 1


def test_two_values_and_a_huge_group_are_refused_by_name():
    # One of two values has fewer than half: 3e5 give or take, where a limit says 2e11.
    with pytest.raises(errors.ApproximationError, match="so few values of about that size"):
        predict.records_below(Distribution.uniform(2), 10**12, 5 * 10**11)
    found = predict.records_below(Distribution.uniform(2), 10**6, 5 * 10**5)
    half = binom(10**6, 0.5)
    x = np.arange(495_000, 505_001)
    below = np.where(x == 500_000, 0, np.minimum(x, 10**6 - x))
    mean = float(half.pmf(x) @ below)
    assert found.variance == pytest.approx(float(half.pmf(x) @ (below - mean) ** 2), rel=1e-4)
