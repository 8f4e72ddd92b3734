"""Entropy of every order, and the bits that address a share of the records."""

from __future__ import annotations

import math
from itertools import pairwise

import oracle
import pandas as pd
import pytest
from histograms import histograms, rows_with
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import ClassSizes, errors


@given(histograms)
def test_entropy_equals_the_oracle(histogram):
    sizes, rows = ClassSizes.from_histogram(histogram), rows_with(histogram)
    for order in (0, 0.5, 1, 2, 7.5, math.inf):
        expected = oracle.entropy(rows, ["x"], order)
        assert sizes.entropy(order) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(histograms, st.floats(0.01, 1))
def test_addressing_bits_count_the_fewest_classes(histogram, share):
    descending = sorted(
        (size for size, classes in histogram.items() for _ in range(classes)), reverse=True
    )
    total, held, needed = sum(descending), 0, 0
    while held < share * total * (1 - 1e-12):
        held += descending[needed]
        needed += 1
    found = ClassSizes.from_histogram(histogram).entropy(quantile=share)
    assert found == pytest.approx(math.log2(needed), abs=1e-12)


def test_addressing_bits_do_not_trip_over_floats():
    ten = ClassSizes([1], [10])
    assert [2 ** ten.entropy(quantile=i / 10) for i in range(1, 11)] == pytest.approx(range(1, 11))
    assert ten.entropy(quantile=1) == ten.entropy(0)


@given(histograms)
def test_entropy_falls_with_its_order(histogram):
    sizes = ClassSizes.from_histogram(histogram)
    values = [sizes.entropy(order) for order in (0, 0.5, 0.9999, 1, 1.0001, 2, 50, math.inf)]
    assert all(a >= b - 1e-12 for a, b in pairwise(values))


@pytest.mark.parametrize("offset", [1e-3, 1e-6, 1e-9, 1e-12, -1e-9])
def test_entropy_is_continuous_at_order_one(offset):
    sizes = ClassSizes([1, 2, 50], [3, 4, 2])
    assert sizes.entropy(1 + offset) == pytest.approx(sizes.entropy(1), rel=abs(offset) * 3 + 1e-14)


def test_orders_that_would_overflow():
    sizes = ClassSizes([1, 10**9], [10**6, 1])
    assert sizes.entropy(5000) == pytest.approx(sizes.entropy(math.inf), rel=1e-3)


def test_orders_outside_are_refused():
    for order in (-1, math.nan):
        with pytest.raises(errors.ArgumentError, match="order"):
            ClassSizes([1], [1]).entropy(order)
    with pytest.raises(errors.ArgumentError, match="leave out alpha"):
        ClassSizes([1], [1]).entropy(2, quantile=0.5)


@pytest.mark.parametrize("order", ["a", None, [1], 1j, True])
def test_orders_that_are_no_numbers(order):
    with pytest.raises(errors.ArgumentError, match="order"):
        ClassSizes([1], [1]).entropy(order)


def test_a_column_that_says_nothing_has_no_bits_and_no_sign():
    table = pd.DataFrame({"a": ["x"] * 3})
    for alpha in (0, 0.5, 1, 1 + 1e-9, 2, float("inf")):
        assert str(table.anon.entropy("a", alpha=alpha)) == "0.0"
