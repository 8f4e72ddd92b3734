"""α: the share of the commonest sensitive value of a class, against its definition."""

from __future__ import annotations

import oracle
import pytest
from sensitive import CELLS, QIDS, ROWS, UNITS


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_alpha(frame, qid, unit):
    expected = oracle.alpha(ROWS, qid, "ill", unit)
    assert frame(CELLS).anon.alpha(qid, "ill", unit=unit) == pytest.approx(expected, rel=1e-12)
