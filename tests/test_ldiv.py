"""l-diversity: what a class leaves in doubt."""

from __future__ import annotations

import oracle
import pytest
from sensitive import CELLS, QIDS, ROWS, UNITS
from tables import to_rows


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_ldiv(frame, qid, unit):
    table = frame(CELLS)
    for kind, c in (("distinct", None), ("entropy", None), ("recursive", 1), ("recursive", 2.5)):
        expected = oracle.ldiv(ROWS, qid, "ill", kind, c, unit)
        found = table.anon.ldiv(qid, "ill", kind, c=c, unit=unit)
        assert found == pytest.approx(expected, rel=1e-12)
        assert isinstance(found, float if kind == "entropy" else int)


def test_two_equal_values_are_two(frame):
    table = frame({"q": list("aaaa"), "s": list("xxyy")})
    assert table.anon.ldiv("q", "s", "entropy") == pytest.approx(2, rel=1e-12)
    assert len(to_rows(table.anon.at_risk("q", sensitive="s", l=2, variant="entropy"))) == 0


def test_recursive_is_machanavajjhalas_not_the_weaker_test(frame):
    cells = {"q": ["a"] * 17, "s": ["x"] * 10 + ["y"] * 4 + ["z"] * 3}
    assert frame(cells).anon.ldiv("q", "s", "recursive", c=2) == 2
    skewed = frame({"q": ["a"] * 10, "s": list("xxxxxxxxyz")})
    assert skewed.anon.ldiv("q", "s", "recursive", c=8) == 2
    assert skewed.anon.ldiv("q", "s", "recursive", c=8.1) == 3
    alike = frame({"q": ["a"] * 2, "s": list("xx")})
    assert alike.anon.ldiv("q", "s", "recursive", c=1) == 0
