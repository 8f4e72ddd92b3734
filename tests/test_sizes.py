"""The size of everybody's class."""

from __future__ import annotations

import oracle
import pytest
from people import PEOPLE, size_column
from tables import rows_of


@pytest.mark.parametrize("unit", [None, "who"])
def test_sizes(frame, unit):
    expected = oracle.sizes(rows_of(PEOPLE), ["zip", "age"], unit)
    assert sorted(size_column(frame(PEOPLE), ["zip", "age"], unit=unit)) == sorted(expected)


@pytest.mark.contract
def test_sizes_of_dropped_records_are_missing(frame):
    sizes = size_column(frame(PEOPLE), "zip", missing="drop")
    assert sizes.count(None) == 2
    assert sorted(size for size in sizes if size is not None) == [1, 2, 2, 3, 3, 3]
