"""δ-disclosure, plain and strict, against its definition."""

from __future__ import annotations

import math

import oracle
import pytest
from sensitive import CELLS, QIDS, ROWS, UNITS


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_delta(frame, qid, unit):
    expected = oracle.delta(ROWS, qid, "ill", unit)
    found = frame(CELLS).anon.delta_disclosure(qid, "ill", unit=unit)
    assert found == pytest.approx(expected, rel=1e-12)


def test_strict_delta(frame):
    table = frame({"q": list("aaaabbbb"), "s": list("xxxyxyyy")})
    assert table.anon.delta_disclosure("q", "s", strict=True) == pytest.approx(math.log(2))
    apart = frame({"q": list("aabb"), "s": list("xxyy")})
    assert apart.anon.delta_disclosure("q", "s", strict=True) == math.inf
    assert apart.anon.delta_disclosure("q", "s") == pytest.approx(math.log(2))
