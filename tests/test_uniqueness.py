"""The share of singletons, against the published one."""

from __future__ import annotations

import oracle
import pytest
from histograms import histograms, rows_with
from hypothesis import given

from anonrisk import ClassSizes


@given(histograms)
def test_uniqueness_equals_the_oracle(histogram):
    sizes = ClassSizes.from_histogram(histogram)
    assert sizes.uniqueness == oracle.uniqueness(rows_with(histogram), ["x"])


def test_published_shares_of_singletons():
    sizes = ClassSizes([1, 2], [2_758_578, 7_949])
    assert sizes.n_records == 2_774_476
    assert sizes.uniqueness == pytest.approx(0.9942699089846154, abs=1e-15)
