"""The records of classes that break a limit."""

from __future__ import annotations

import oracle
import pytest
from people import PEOPLE
from sensitive import CELLS, ROWS, UNITS
from tables import rows_of, to_rows

from anonrisk import errors


@pytest.mark.parametrize("unit", UNITS)
def test_at_risk_by_l_and_t(frame, unit):
    table = frame(CELLS)
    bad = {"l": [], "t": []}
    whole = oracle.shares(oracle.value_counts(ROWS, "ill", unit))
    for inside, size in oracle.classes_of(ROWS, ["zip"], unit):
        counts = oracle.value_counts(inside, "ill", unit)
        if oracle.class_ldiv(counts, size, "distinct", None) < 3:
            bad["l"] += inside
        if oracle.transport(oracle.shares(counts), whole, oracle.equal_cost) > 0.3:
            bad["t"] += inside
    for limits, expected in (
        ({"l": 3}, bad["l"]),
        ({"t": 0.3}, bad["t"]),
        ({"l": 3, "t": 0.3}, [row for row in ROWS if row in bad["l"] or row in bad["t"]]),
    ):
        found = to_rows(table.anon.at_risk("zip", sensitive="ill", unit=unit, **limits))
        assert sorted((r["stage"], str(r["ill"]), r["who"]) for r in found) == sorted(
            (r["stage"], str(r["ill"]), r["who"]) for r in expected
        )


def test_at_risk_with_k_and_l_is_a_union(frame):
    table = frame({"q": list("aabbb"), "s": list("xyxxx")})
    assert len(to_rows(table.anon.at_risk("q", k=3, sensitive="s", l=2))) == 5
    assert len(to_rows(table.anon.at_risk("q", sensitive="s", l=2))) == 3


def test_at_risk_where_every_value_is_dropped(frame):
    table = frame({"q": list("aab"), "s": [None, None, None]})
    found = table.anon.at_risk("q", 2, sensitive="s", l=2, missing_sensitive="drop")
    assert len(to_rows(found)) == 1


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_at_risk(frame, missing, unit):
    found = to_rows(frame(PEOPLE).anon.at_risk(["zip"], k=3, missing=missing, unit=unit))
    rows = rows_of(PEOPLE)
    sizes = oracle.sizes(rows, ["zip"], unit)
    expected = [
        row
        for row, size in zip(rows, sizes, strict=True)
        if size < 3 and not (missing == "drop" and row["zip"] is None)
    ]
    assert sorted(map(shown, found)) == sorted(map(shown, expected))


def shown(row):
    """A row as text that sorts; an integer that pandas made a float is the integer again."""
    cells = row.values()
    return repr([int(cell) if isinstance(cell, float) else cell for cell in cells])


def test_at_risk_without_anyone(frame):
    assert to_rows(frame({"x": ["a", "a"]}).anon.at_risk("x", k=2)) == []


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5"])
def test_at_risk_refuses_other_numbers(frame, k):
    with pytest.raises(errors.ArgumentError, match="k must be a whole number, at least 1"):
        frame(PEOPLE).anon.at_risk("zip", k=k)


@pytest.mark.contract
def test_values_that_an_order_or_a_hierarchy_misses_are_refused(frame):
    table = frame({"zip": ["a", "a", "b", "b"], "ill": ["flu", "gout", "flu", "mumps"]})
    with pytest.raises(errors.ArgumentError, match="1 value"):
        table.anon.at_risk("zip", sensitive="ill", t=0.1, order=["flu", "gout"])
    with pytest.raises(errors.HierarchyError, match="1 value"):
        table.anon.at_risk("zip", sensitive="ill", t=0.1, hierarchies={"all": ["flu", "gout"]})
