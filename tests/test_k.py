"""k: the size of the smallest class."""

from __future__ import annotations

import oracle
from histograms import histograms, rows_with
from hypothesis import given

from anonrisk import ClassSizes


@given(histograms)
def test_k_equals_the_oracle(histogram):
    sizes = ClassSizes.from_histogram(histogram)
    assert sizes.k == oracle.k(rows_with(histogram), ["x"])
