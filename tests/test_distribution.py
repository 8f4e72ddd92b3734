"""What a distribution knows of itself, and products and densities against sums."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from anonrisk import ClassSizes, errors, predict
from anonrisk.predict import Distribution


def test_what_a_distribution_knows():
    known = Distribution.from_counts([5, 5, 10, 0])
    assert known.n_values == 3
    assert known.entropy == pytest.approx(1.5)
    assert known.kl == pytest.approx(math.log(3) - 1.5 * math.log(2))
    assert known.kl_corrected == pytest.approx(known.kl - 2 / 40)
    assert known.s2 == pytest.approx((2 * 5 * 4 + 10 * 9) / (20 * 19))
    assert known.s3 == pytest.approx((2 * 5 * 4 * 3 + 10 * 9 * 8) / (20 * 19 * 18))
    assert Distribution.from_counts([1] * 10).kl_corrected is None
    assert Distribution.from_counts([10, 10]).kl_corrected == 0
    assert Distribution.uniform(8).kl_corrected is None
    assert Distribution.from_probabilities([0.5, 0.5]).s2 == 0.5
    counted = ClassSizes([1, 4], [2, 3])
    same = Distribution.from_class_sizes(counted)
    assert same.p.tolist() == Distribution.from_counts([1, 1, 4, 4, 4]).p.tolist()
    sparse = Distribution.from_counts([1, 10**9])
    assert sparse.n_records == 10**9 + 1


@pytest.mark.slow
def test_a_product_brackets_what_binning_does(monkeypatch):
    random = np.random.default_rng(2)
    columns = [Distribution.from_probabilities(random.dirichlet(np.ones(n))) for n in (20, 30, 25)]
    exact = predict.singletons(Distribution.product(*columns), 500)
    assert exact.bracket is None
    monkeypatch.setattr("anonrisk.predict.distribution.MAX_DIFFERENT", 300)
    binned = Distribution.product(*columns)
    assert binned.binned
    assert binned.n_values == 20 * 30 * 25
    found = predict.singletons(binned, 500)
    assert found.bracket.low <= exact.mean <= found.bracket.high
    assert found.mean == pytest.approx(exact.mean, rel=1e-3)
    assert "independent" in binned.note
    assert "putting near probabilities together" in repr(found)


def test_a_distribution_says_how_different_its_probabilities_are():
    said = [repr(Distribution.from_probabilities(p)) for p in ([0.5, 0.5], [0.3, 0.7])]
    assert "2 values, equally likely" in said[0]
    assert "2 values, 2 of them with different probabilities" in said[1]


def test_zipf_and_densities():
    zipf = Distribution.zipf(50_000, 0.9)
    assert zipf.n_values == 50_000
    assert len(zipf.p) <= 20_000
    assert np.dot(zipf.p, zipf.values) == pytest.approx(1)
    exponential = Distribution.exponential(0.2, 1)
    L = math.exp(-0.2)
    k = 400
    exact = k * sum(L**i * (1 - L) * (1 - L**i * (1 - L)) ** (k - 1) for i in range(400))
    assert predict.singletons(exponential, k).mean == pytest.approx(exact, rel=1e-9)
    two = Distribution.bivariate_normal((1, 2), 0.0, (0.5, 0.7))
    apart = Distribution.product(Distribution.normal(1, 0.5), Distribution.normal(2, 0.7))
    assert predict.singletons(two, 60).mean == pytest.approx(
        predict.singletons(apart, 60).mean, rel=1e-6
    )


@pytest.mark.parametrize(
    "p", [[0.5, -0.1, 0.6], [0.5, float("nan")], [0.5, 0.6], [], ["a"], [[0.5, 0.5]], [0.5, 0.4]]
)
def test_probabilities_that_are_none(p):
    with pytest.raises(errors.ArgumentError, match=r"probabilit|distribution"):
        Distribution.from_probabilities(p)


@pytest.mark.slow
def test_a_product_of_long_columns():
    columns = Distribution.zipf(6_000, 1.0), Distribution.zipf(5_000, 0.7)
    found = predict.singletons(Distribution.product(*columns), 50_000)
    a, b = (np.repeat(column.p, column.values) for column in columns)
    exact = sum(float(50_000 * (x * b * np.exp(49_999 * np.log1p(-x * b))).sum()) for x in a)
    assert found.mean == pytest.approx(exact, rel=1e-3)
    assert found.bracket.low <= exact <= found.bracket.high
    low, high = found.interval()
    assert low <= found.bracket.low
    assert high >= found.bracket.high


@pytest.mark.slow
@pytest.mark.parametrize("c", [0.05, 0.5, 0.9999999, 1.0, 1.7, 40.0])
def test_bins_of_zipfs_law_are_those_of_its_ranks(c):
    n = 60_000
    p = np.arange(n, 0, -1) ** -c
    p /= p.sum()
    found = Distribution.zipf(n, c)
    assert found.n_values == n
    assert np.dot(found.p, found.values) == pytest.approx(1, abs=1e-14)
    # Every bin holds the ranks that its number says, and all of their probability.
    last = np.cumsum(found.values)
    first = np.append(0, last[:-1])
    held = np.add.reduceat(p, first)
    assert found.p * found.values == pytest.approx(held, rel=1e-12, abs=1e-300)
    assert found.low == pytest.approx(p[first], rel=1e-12, abs=1e-300)
    assert found.high == pytest.approx(p[last - 1], rel=1e-12, abs=1e-300)
    assert (found.low <= found.p).all()
    assert (found.p <= found.high).all()


@pytest.mark.slow
def test_zipfs_law_on_ten_million_values_takes_no_longer_than_counting_them():
    def seconds(call):
        start = time.process_time()
        call()
        return time.process_time() - start

    draws = np.random.default_rng(0).integers(0, 10**7, 10**6)
    counted = min(seconds(lambda: np.unique(draws)) for _ in range(2))
    made = min(
        seconds(lambda: predict.singletons(Distribution.zipf(10**7, 1.1), 10**6)) for _ in range(2)
    )
    # Ten times as many draws take more than ten times as long; the promise is three times that.
    assert made < 30 * counted


def test_a_value_that_never_occurs_is_none():
    with pytest.raises(errors.ArgumentError, match="each likelier than 0"):
        Distribution([0.5, 0.5, 0.0], [1, 1, 1])
