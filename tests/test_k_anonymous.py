"""The chance of a k-anonymous table: degenerate laws, large k, and sums with few likely values."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import ClassSizes, errors, predict
from anonrisk.predict import Distribution, independent
from anonrisk.predict.independent import Binomial, Poisson


def exactly(p, k, K):
    """k! [z^k] of the product, in fractions: no digit is lost."""
    total = {0: Fraction(1)}
    for share in p:
        grown = {}
        for used, chance in total.items():
            for x in (0, *range(K, k - used + 1)):
                more = chance * share**x / math.factorial(x)
                grown[used + x] = grown.get(used + x, 0) + more
        total = grown
    return math.factorial(k) * total.get(k, Fraction(0))


def close(found, exact, rel):
    return abs(Fraction(float(found)) - exact) <= rel * exact


@pytest.mark.parametrize("K", [2, 3, 5, 25, 49, 50])
def test_one_value_is_k_anonymous_at_once(K):
    """It said .9999999971, after six seconds, and that it was exact."""
    start = time.process_time()
    found = predict.k_anonymous(Distribution.uniform(1), 50, K)
    assert float(found) == pytest.approx(1, abs=1e-12)
    assert time.process_time() - start < 1
    assert float(predict.k_anonymous(Distribution.uniform(1), 50, 51)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("k", [1, 2, 3, 30, 59, 60])
@pytest.mark.parametrize("K", [2, 3, 12, 30])
def test_few_values_are_exact_to_twelve_digits(n, k, K):
    found = predict.k_anonymous(Distribution.uniform(n), k, K)
    assert close(found, exactly([Fraction(1, n)] * n, k, K), 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "k"),
    [
        ([Fraction(2**40 - 1, 2**40), Fraction(1, 2**40)], 90),
        ([Fraction(1, 2)] + [Fraction(1, 64)] * 32, 70),
        ([Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)], 120),
    ],
)
def test_uneven_values_are_exact_to_twelve_digits(p, k):
    known = Distribution.from_probabilities([float(each) for each in p])
    for K in (2, 4, 20, k // 2, k):
        assert close(predict.k_anonymous(known, k, K), exactly(p, k, K), 1e-12)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 40), st.integers(2, 15))
def test_any_counts_are_exact(counts, k, K):
    p = [Fraction(each, sum(counts)) for each in counts]
    found = predict.k_anonymous(Distribution.from_counts(counts), k, K)
    assert close(found, exactly(p, k, K), 1e-11)


@pytest.mark.slow
def test_hundreds_of_people_in_a_thousand_classes_within_seconds():
    start = time.process_time()
    known = Distribution.uniform(1_000)
    found = predict.k_anonymous(known, 10**6, 900)
    assert found.method == "exact"
    drawn = np.random.default_rng(0).multinomial(10**6, np.full(1_000, 1e-3), 3_000)
    assert float(found) == pytest.approx((drawn.min(axis=1) >= 900).mean(), abs=0.03)
    # Where a class below k is rare, the chance of one is the expected number of such classes.
    rare = predict.k_anonymous(known, 10**6, 840)
    from scipy.stats import binom

    assert rare.complement == pytest.approx(1_000 * binom.cdf(839, 10**6, 1e-3), rel=1e-3)
    assert time.process_time() - start < 10


def test_few_people_among_very_many_values_keep_their_digits():
    # Three of a million million in a class of three: all have what the first has.
    found = predict.k_anonymous(Distribution.uniform(10**12), 3, 3)
    assert float(found) == pytest.approx(1e-24, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("k", [10**6, 10**9, 10**12])
def test_huge_groups_of_degenerate_laws(k):
    for known in (Distribution.uniform(1), Distribution.uniform(3), Distribution.zipf(1_000, 1)):
        start = time.process_time()
        assert float(predict.k_anonymous(known, k, 20)) == pytest.approx(1, abs=1e-9)
        assert time.process_time() - start < 2


def test_what_cannot_be_computed_is_refused_or_as_good_as_nothing():
    # 10^6 people in classes of 5,000 and more: the numbers of classes and people leave big gaps.
    assert float(predict.k_anonymous(Distribution.uniform(1_000), 10**6, 5_000)) < 1e-290
    with pytest.raises(errors.ApproximationError, match=r"no class of a group of .* at most"):
        independent._at_most(10**6, independent.EmptyOrAtLeast(4), -3.0)


@pytest.mark.parametrize("sizes", [[5, 5, 5], [4, 4, 4], [2, 3, 9], [7], [1, 1, 12, 3]], ids=str)
def test_sums_that_a_table_can_have(sizes):
    c, w = np.unique(sizes, return_counts=True)
    for K in (2, 3, 4, 5):
        reached = {0}
        for size in sizes:
            reached |= {r + x for r in reached for x in range(K, size + 1)}
        for k in range(K, sum(sizes) + 1):
            assert Binomial(c, w).possible(k, K) == (k in reached), (K, k)
            if k not in reached:
                assert float(predict.k_anonymous(ClassSizes(c, w), k, K)) == 0


def test_tails_too_small_for_a_number_have_their_logarithm():
    from scipy.stats import binom, poisson

    log = independent.log_tail(Poisson(np.array([1.0]), np.array([1]), math.log(2_000)), 5_000)
    near = poisson.logpmf(np.arange(5_000, 5_400), 2_000)
    assert float(log[0]) == pytest.approx(float(np.logaddexp.reduce(near)), rel=1e-9)
    table = Binomial(np.array([6_000]), np.array([1]), math.log(1 / 3))
    near = binom.logpmf(np.arange(5_000, 5_400), 6_000, 0.25)
    assert float(independent.log_tail(table, 5_000)[0]) == pytest.approx(
        float(np.logaddexp.reduce(near)), rel=1e-9
    )


@pytest.mark.parametrize(
    ("numbers", "chance"),
    [
        (Poisson(np.array([1.0]), np.array([1]), math.log(4.0)), "poisson"),
        (Poisson(np.array([1.0]), np.array([1]), math.log(400.0)), "poisson"),
        (Binomial(np.array([12]), np.array([1]), 0.3), "binomial"),
        (Binomial(np.array([900]), np.array([1]), -0.2), "binomial"),
    ],
)
def test_cumulants_are_those_of_the_law(numbers, chance):
    from scipy.stats import binom, poisson

    m = np.arange(2_000, dtype=float)
    law = (
        poisson.pmf(m, numbers.lam[0])
        if chance == "poisson"
        else binom.pmf(m, numbers.c[0], numbers.share)
    )
    for K in (2, 5, 380, 420):
        allowed = np.where((m == 0) | (m >= K), law, 0.0)
        if allowed[1:].sum() < 1e-12:
            continue
        allowed /= allowed.sum()
        mean = allowed @ m
        c2, c3, m4 = (allowed @ (m - mean) ** j for j in (2, 3, 4))
        asked = independent.EmptyOrAtLeast(K)
        assert asked.mean(numbers)[0] == pytest.approx(mean, rel=1e-9)
        found = [float(each[0]) for each in asked.cumulants(numbers)]
        assert found == pytest.approx([c2, c3, m4 - 3 * c2**2], rel=1e-6)


def test_a_size_near_nothing_keeps_its_digits():
    z = np.array([-1 + 1e-12j, -1 + 3e-9 + 0j, 1e-20 + 0j])
    size, _ = independent.log1p(z)
    assert size == pytest.approx([math.log(1e-12), math.log(3e-9), 1e-20], rel=1e-7)
