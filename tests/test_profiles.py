"""Profiles: value counts by kind of class."""

from __future__ import annotations

import pytest
from sensitive import CELLS, UNITS

import anonrisk


@pytest.mark.parametrize("unit", UNITS)
def test_profiles_answer_like_the_table(frame, unit):
    table = frame(CELLS)
    profiles = anonrisk.profiles(table, "zip", "cost", unit=unit)
    assert profiles.ldiv("entropy") == pytest.approx(
        table.anon.ldiv("zip", "cost", "entropy", unit=unit), rel=1e-12
    )
    assert profiles.tcloseness("ordered") == pytest.approx(
        table.anon.tcloseness("zip", "cost", unit=unit), rel=1e-12
    )
    assert profiles.alpha() == pytest.approx(table.anon.alpha("zip", "cost", unit=unit))
    assert int(profiles.classes.sum()) == 4


def test_profiles_collapse_equal_classes(frame):
    table = frame({"q": list("aabbcc"), "s": list("xyyxzz")})
    profiles = anonrisk.profiles(table, "q", "s")
    assert sorted(profiles.classes.tolist()) == [1, 2]
    assert profiles.classification_metric() == pytest.approx(2 / 6)
    assert profiles.class_sizes().k == 2
    assert "3 classes of q: 2 kinds of class, 3 values" in repr(profiles)


def test_profiles_are_frozen(frame):
    profiles = anonrisk.profiles(frame(CELLS), "zip", "cost")
    with pytest.raises(AttributeError):
        profiles.class_count = 3
