"""δ-disclosure, plain and strict, against its definition."""

from __future__ import annotations

import math

import oracle
import pytest
from sensitive import CELLS, QIDS, ROWS, UNITS

import anonrisk
from anonrisk import errors


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_delta(frame, qid, unit):
    expected = oracle.delta(ROWS, qid, "ill", unit)
    found = frame(CELLS).anon.delta_disclosure(qid, "ill", unit=unit)
    assert found == pytest.approx(expected, rel=1e-12)


def test_delta_in_bits(frame):
    # y is a quarter of a and half of the table: one bit, or ln 2.
    table = frame({"q": list("aaaabbbb"), "s": list("xxxyxyyy")})
    assert table.anon.delta_disclosure("q", "s", base=2) == pytest.approx(1)
    assert table.anon.delta_disclosure("q", "s", base=4, strict=True) == pytest.approx(0.5)
    assert anonrisk.profiles(table, "q", "s").delta_disclosure(base=2) == pytest.approx(1)
    apart = frame({"q": list("aabb"), "s": list("xxyy")})
    assert apart.anon.delta_disclosure("q", "s", base=2, strict=True) == math.inf
    for wrong in (1, 0, -2, 0.5, True, "2", math.inf, math.nan):
        with pytest.raises(errors.ArgumentError, match="base must be a finite number above 1"):
            table.anon.delta_disclosure("q", "s", base=wrong)


def test_strict_delta(frame):
    table = frame({"q": list("aaaabbbb"), "s": list("xxxyxyyy")})
    assert table.anon.delta_disclosure("q", "s", strict=True) == pytest.approx(math.log(2))
    apart = frame({"q": list("aabb"), "s": list("xxyy")})
    assert apart.anon.delta_disclosure("q", "s", strict=True) == math.inf
    assert apart.anon.delta_disclosure("q", "s") == pytest.approx(math.log(2))
