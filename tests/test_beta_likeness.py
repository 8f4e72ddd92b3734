"""β-likeness, and α and δ beside it, against their definitions."""

from __future__ import annotations

import math

import oracle
import pytest
from sensitive import CELLS, QIDS, ROWS, UNITS


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_alpha_beta_delta(frame, qid, unit):
    table = frame(CELLS)
    how = {"unit": unit}
    assert table.anon.alpha(qid, "ill", **how) == pytest.approx(
        oracle.alpha(ROWS, qid, "ill", unit), rel=1e-12
    )
    assert table.anon.beta_likeness(qid, "ill", **how) == pytest.approx(
        oracle.beta(ROWS, qid, "ill", unit), rel=1e-12
    )
    assert table.anon.delta_disclosure(qid, "ill", **how) == pytest.approx(
        oracle.delta(ROWS, qid, "ill", unit), rel=1e-12
    )


def test_enhanced_beta_and_strict_delta(frame):
    # In class a, x goes from 1/2 to 3/4: a gain of 1/2, below -ln(1/2).
    table = frame({"q": list("aaaabbbb"), "s": list("xxxyxyyy")})
    assert table.anon.beta_likeness("q", "s", "enhanced") == pytest.approx(0.5)
    assert table.anon.delta_disclosure("q", "s", strict=True) == pytest.approx(math.log(2))
    apart = frame({"q": list("aabb"), "s": list("xxyy")})
    assert apart.anon.beta_likeness("q", "s", "enhanced") == math.inf
    assert apart.anon.beta_likeness("q", "s") == pytest.approx(1)
    assert apart.anon.delta_disclosure("q", "s", strict=True) == math.inf
    assert apart.anon.delta_disclosure("q", "s") == pytest.approx(math.log(2))
