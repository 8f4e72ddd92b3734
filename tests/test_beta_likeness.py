"""β-likeness, basic and enhanced, against its definition."""

from __future__ import annotations

import math

import oracle
import pytest
from sensitive import CELLS, QIDS, ROWS, UNITS


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_beta(frame, qid, unit):
    expected = oracle.beta(ROWS, qid, "ill", unit)
    found = frame(CELLS).anon.beta_likeness(qid, "ill", unit=unit)
    assert found == pytest.approx(expected, rel=1e-12)


def test_enhanced_beta(frame):
    # In class a, x goes from 1/2 to 3/4: a gain of 1/2, below -ln(1/2).
    table = frame({"q": list("aaaabbbb"), "s": list("xxxyxyyy")})
    assert table.anon.beta_likeness("q", "s", "enhanced") == pytest.approx(0.5)
    apart = frame({"q": list("aabb"), "s": list("xxyy")})
    assert apart.anon.beta_likeness("q", "s", "enhanced") == math.inf
    assert apart.anon.beta_likeness("q", "s") == pytest.approx(1)
