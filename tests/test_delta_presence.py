"""How sure somebody of the population is to be in the release."""

from __future__ import annotations

from collections import Counter

import oracle
import pytest
from attackers import PEOPLE, POPULATION, RELEASE, ROWS


def test_presence(frame):
    there = Counter(oracle.key(row, ["zip"]) for row in POPULATION)
    here = Counter(oracle.key(row, ["zip"]) for row in ROWS)
    presence = frame(RELEASE).anon.delta_presence("zip", frame(PEOPLE))
    assert presence.lowest == 0, "nobody from z is in the release"
    assert presence.highest == pytest.approx(max(here[g] / there[g] for g in there))
