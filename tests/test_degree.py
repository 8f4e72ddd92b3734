"""The degree of anonymity, against the published example."""

from __future__ import annotations

import math

import oracle
import pytest
from histograms import histograms, rows_with
from hypothesis import given

from anonrisk import ClassSizes


@given(histograms)
def test_degree_equals_the_oracle(histogram):
    expected = oracle.degree(rows_with(histogram), ["x"])
    found = ClassSizes.from_histogram(histogram).degree
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


# Koot 2012, 2.2.1, and Fischer-Hübner's slides, as recomputed: the printed 0.77 is cut off, the
# printed 0.465 and 0.0615 are slips.
def test_published_degree_of_anonymity():
    sizes = ClassSizes([1, 9], [9, 1])  # nine of 1/18, one of 9/18
    assert sizes.entropy() == pytest.approx(2.584962500721156, abs=1e-12)
    assert sizes.entropy() / math.log2(10) == pytest.approx(0.7781512503836436, abs=1e-12)


def test_degree_of_persons_is_relative_to_their_number():
    # Two persons, each in a class of both and one also in a class of their own.
    sizes = ClassSizes([1, 2], [1, 1], [1, 1], unit="who", n_rows=3)
    assert sizes.degree == pytest.approx((2 / 3) * 1 / 1)
