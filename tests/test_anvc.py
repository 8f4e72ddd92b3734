"""The average number of value combinations, against the published examples."""

from __future__ import annotations

import oracle
import pytest
from histograms import histograms, rows_with
from hypothesis import given

from anonrisk import ClassSizes


@given(histograms)
def test_anvc_equals_the_oracle(histogram):
    expected = 2 ** oracle.entropy(rows_with(histogram), ["x"])
    assert ClassSizes.from_histogram(histogram).anvc == pytest.approx(expected, rel=1e-12)


def test_published_average_numbers_of_combinations():
    assert ClassSizes([469, 531], [1, 1]).entropy() == pytest.approx(0.9972253609153698, abs=5e-4)
    assert ClassSizes([10, 90], [1, 1]).entropy() == pytest.approx(0.4689955935892812, abs=1e-12)
    assert ClassSizes([10, 90], [1, 1]).anvc == pytest.approx(1.384145488461686, abs=1e-12)
