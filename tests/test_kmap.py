"""The smallest class of the population that anybody of the release is in."""

from __future__ import annotations

from collections import Counter

import numpy as np
import oracle
import pandas as pd
import pytest
from attackers import PEOPLE, POPULATION, RELEASE, ROWS

from anonrisk import errors


def test_kmap(frame):
    table, people = frame(RELEASE), frame(PEOPLE)
    there = Counter(oracle.key(row, ["zip"]) for row in POPULATION)
    here = Counter(oracle.key(row, ["zip"]) for row in ROWS)
    assert table.anon.kmap("zip", people) == min(there[g] for g in here)
    assert table.anon.kmap("zip", people, missing="drop") == 3


def test_instants_of_another_width_beside_a_population():
    release = pd.DataFrame({"q": np.array(["9999-01-01"], dtype="datetime64[s]")})
    people = pd.DataFrame({"q": np.array(["2020-01-01"], dtype="datetime64[ns]")})
    with pytest.raises(errors.PopulationError) as raised:
        release.anon.kmap("q", people)
    assert "9999" not in str(raised.value)
