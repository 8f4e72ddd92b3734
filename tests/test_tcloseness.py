"""t-closeness: by the transport programme, and every kind of order and hierarchy."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal

import oracle
import pandas as pd
import pytest
from sensitive import CELLS, ILL, PARENTS, QIDS, ROWS, TREE, UNITS
from tables import to_rows

import anonrisk
from anonrisk import Policy, errors


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_tcloseness_equals_the_transport_programme(frame, qid, unit):
    table = frame(CELLS)
    equal = table.anon.tcloseness(qid, "ill", unit=unit)
    assert equal.distance == "equal"
    expected = oracle.tcloseness(ROWS, qid, "ill", oracle.equal_cost, unit)
    assert equal == pytest.approx(expected, abs=1e-9)
    ordered = table.anon.tcloseness(qid, "cost", unit=unit)
    assert ordered.distance == "ordered"
    expected = oracle.tcloseness(ROWS, qid, "cost", oracle.ordered_cost(ROWS, "cost"), unit)
    assert ordered == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_hierarchical_closeness_equals_the_transport_programme(frame, unit):
    found = frame(CELLS).anon.tcloseness(
        "zip", "ill", hierarchies=TREE, missing_sensitive="drop", unit=unit
    )
    assert found.distance == "hierarchical"
    expected = oracle.tcloseness(ILL, ["zip"], "ill", oracle.tree_cost(PARENTS), unit)
    assert found == pytest.approx(expected, abs=1e-9)


def test_hierarchies_in_every_form_agree(frame, tmp_path):
    levels = [
        ["flu", "airways", "airways", "any"],
        ["cold", "airways", "airways", "any"],
        ["hiv", "virus", "blood", "any"],
    ]
    path = tmp_path / "tree.csv"
    path.write_text("\n".join(";".join(row) for row in levels))
    table, found = frame(CELLS), set()
    for hierarchy in (TREE, levels, path, {"ill": TREE}, {"ill": path, "cost": levels}):
        found.add(
            float(
                table.anon.tcloseness(
                    "zip", "ill", "hierarchical", hierarchies=hierarchy, missing_sensitive="drop"
                )
            )
        )
    assert len(found) == 1


def test_a_hierarchy_for_each_sensitive_column():
    table = pd.DataFrame({"q": list("aabb"), "s": list("xyxz"), "t": list("xyzz")})
    one, other = {"any": {"v": ["x", "y"], "w": ["z"]}}, {"any": ["x", "y", "z"]}
    apart = [
        table.anon.tcloseness("q", name, hierarchies=tree)
        for name, tree in (("s", one), ("t", other))
    ]
    measured = table.anon.assess("q", ["s", "t"], hierarchies={"s": one, "t": other})
    assert [measured.values["tcloseness", name] for name in ("s", "t")] == apart
    trees = {"distance": "hierarchical", "hierarchies": {"s": one, "t": other}}
    policy = Policy(quasi=["q"], sensitive=["s", "t"], tcloseness={"t": 0.9, **trees})
    assert [finding.value for finding in policy.check(table).findings] == apart
    with pytest.raises(errors.ArgumentError, match="no hierarchy of column 't'"):
        table.anon.tcloseness("q", ["s", "t"], "hierarchical", hierarchies={"s": one})


ZIPS = ["a"] * 4 + ["b"] * 4
# Cells of a column of floats, and what is taken for the distance of its values.
FLOATS = {
    "whole": ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "equal"),
    "whole, one missing": ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, None], "equal"),
    "negative, and minus zero": ([-1.0, -2.0, -0.0, 4.0, 5.0, 6.0, 7.0, None], "equal"),
    "a fraction": ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5], "ordered"),
    "a small fraction": ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -1e-300], "ordered"),
    "without an end": ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, float("inf")], "ordered"),
}


@pytest.mark.parametrize("case", FLOATS)
def test_whole_floats_are_integers(frame, case):
    cells, distance = FLOATS[case]
    found = frame({"zip": ZIPS, "visits": cells}).anon.tcloseness("zip", "visits")
    assert found.distance == distance


def test_one_table_has_one_closeness_however_integers_are_stored():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"zip": ZIPS, "visits": pa.array([1, 2, 3, 4, 5, 6, 7, None], pa.int64())})
    pandas = table.to_pandas()
    assert pandas["visits"].dtype == float
    for form in (table, pandas, pandas.astype({"visits": "Int64"}), pandas.astype(object)):
        assert anonrisk.tcloseness(form, "zip", "visits") == 0.5


def test_whole_floats_that_may_have_been_merged_are_warned_of(frame):
    cells = {"zip": ["a", "a", "b"], "id": [2.0**53, 1.0, None], "small": [2.0**53 - 1, 1.0, None]}
    table = frame(cells)
    if frame.kind in ("pandas_nullable", "pandas_arrow"):
        pytest.skip("pandas makes whole numbers of these, which are all kept apart")
    with pytest.warns(errors.PrecisionWarning, match=r"'id' .* from 2\^53 on"):
        assert table.anon.tcloseness("zip", "id").distance == "equal"
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.PrecisionWarning)
        table.anon.tcloseness("zip", "small")
        table.anon.tcloseness("zip", "id", "equal")


@pytest.mark.contract
def test_integers_are_not_a_scale_unless_said(frame):
    table = frame(CELLS)
    assert table.anon.tcloseness("zip", "stage").distance == "equal"
    found = table.anon.tcloseness("zip", "stage", "ordered")
    expected = oracle.tcloseness(ROWS, ["zip"], "stage", oracle.ordered_cost(ROWS, "stage"))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.contract
def test_dates_are_a_scale(frame):
    days = [dt.date(2020, 1, day) for day in (1, 2, 2, 9)]
    cells = {"q": ["a", "a", "b", "b"], "day": days}
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    found = frame(cells).anon.tcloseness("q", "day")
    assert found.distance == "ordered"
    expected = oracle.tcloseness(rows, ["q"], "day", oracle.ordered_cost(rows, "day"))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.contract
def test_strings_need_an_order(frame):
    table, order = frame(CELLS), ["never", "cold", "flu", "hiv"]
    with pytest.raises(errors.ArgumentError, match=r"'ill' have no order .* order="):
        table.anon.tcloseness("zip", "ill", "ordered")
    found = table.anon.tcloseness("zip", "ill", order=order)
    expected = oracle.tcloseness(ROWS, ["zip"], "ill", oracle.ordered_cost(ROWS, "ill", order))
    assert found == pytest.approx(expected, abs=1e-9)
    with pytest.raises(errors.ArgumentError, match="order lacks 1 value of") as raised:
        table.anon.tcloseness("zip", "ill", order=["cold", "flu"])
    assert "hiv" not in str(raised.value)


@pytest.mark.contract
def test_an_order_of_numbers_dates_and_booleans(frame):
    days = [dt.date(2020, 1, day) for day in (1, 2, 3, 3)]
    cells = {
        "q": list("aabb"),
        "n": [1, 2, 3, 3],
        "x": [0.5, 1.5, 2.5, 2.5],
        "day": days,
        "money": [Decimal("0.1"), Decimal("1.5"), Decimal(2), Decimal(2)],
        "yes": [True, True, False, False],
    }
    table = frame(cells)
    for column, order in {
        "n": [3.0, 1, 2, 2**70, 0.25],
        "x": [2.5, 0.5, Decimal("1.5"), 10**400],
        "day": [days[2], days[0], days[1]],
        "money": [2, Decimal("0.1"), 1.5, 0.1, Decimal("1E+30")],
        "yes": [False, True],
    }.items():
        found = table.anon.tcloseness("q", column, order=order)
        assert found == pytest.approx(0.5 if column == "yes" else 0.375), column
    with pytest.raises(errors.ArgumentError, match="order lacks 1 value of"):
        # The float nearest to a tenth is no tenth.
        table.anon.tcloseness("q", "money", order=[0.1, 1.5, 2])
    with pytest.raises(errors.ArgumentError, match=r"lists timestamps, but .* 'day' holds dates"):
        table.anon.tcloseness("q", "day", order=[dt.datetime(2020, 1, 1)])


def test_a_class_like_the_table_is_close(frame):
    table = frame({"q": list("aabb"), "s": [1.5, 2.5, 1.5, 2.5]})
    assert table.anon.tcloseness("q", "s") == 0
    assert table.anon.tcloseness("q", "s", "equal") == 0
    assert table.anon.delta_disclosure("q", "s") == 0


def test_hierarchies_of_booleans_and_numbers(frame):
    table = frame(
        {"q": list("aab"), "s": [True, False, True], "n": [1, 2, 2], "x": [1.5, 2.5, 2.5]}
    )
    both = table.anon.tcloseness("q", "s", hierarchies={"any": [True, False]})
    assert both == pytest.approx(1 / 3)
    assert table.anon.tcloseness("q", "n", hierarchies={"any": [1, 2]}) == pytest.approx(1 / 3)
    with pytest.raises(errors.ArgumentError, match="numbers with a fraction"):
        table.anon.tcloseness("q", "x", hierarchies={"any": [1.5, 2.5]})


def test_classes_like_the_table_have_no_distance(frame):
    table = frame({"q": [c for c in range(5) for _ in range(13)], "s": [*range(13)] * 5})
    assert table.anon.tcloseness("q", "s", "ordered") == 0
    rows = table.anon.at_risk("q", sensitive="s", t=0, distance="ordered")
    assert to_rows(rows) == []


def test_nothing_is_left_to_order(frame):
    table = frame({"q": [None, None], "x": [0.5, 1.5]})
    with pytest.raises(errors.EmptyTableError, match="2 rows"):
        table.anon.tcloseness("q", "x", missing="drop")


@pytest.mark.contract
def test_a_missing_value_is_told_before_the_hierarchy(frame):
    table = frame({"q": [1, 1], "s": ["a", None]})
    with pytest.raises(errors.MissingValuesError, match="in 1 row"):
        table.anon.tcloseness("q", "s", hierarchies={"all": ["a"]}, missing_sensitive="error")


@pytest.mark.contract
def test_a_column_with_nothing_in_it_takes_any_order(frame):
    table = frame({"zip": ["a", "a", "b"], "ill": [None] * 3})
    order = ["flu", "gout"]
    assert table.anon.tcloseness("zip", "ill", order=order, missing_sensitive="value") == 0


PEOPLE = {
    "sex": list("ffmmffmm") * 3,
    "ill": ["flu", "flu", "hiv", "hep", "flu", "cold", "cold", "hep"] * 3,
    "job": list("abcd") * 6,
}
ILLNESSES = {"any": {"lung": ["flu", "cold"], "blood": ["hiv", "hep"]}}


@pytest.mark.parametrize(
    ("hierarchies", "says"),
    [
        ({"il": ILLNESSES}, "hierarchy of 'il' is not a column; did you mean 'ill'"),
        ({"ill": ILLNESSES, "zz": ILLNESSES}, "hierarchy of 'zz' is not a column"),
        ({"job": ILLNESSES}, "hierarchies= has no hierarchy of column 'ill'"),
        ({"job": ILLNESSES["any"]}, "hierarchies= has no hierarchy of column 'ill'"),
        ({"ill": None}, "hierarchies= has no hierarchy of column 'ill'"),
        ({}, "hierarchy"),
    ],
)
def test_a_hierarchy_of_another_column_is_never_taken_for_a_tree(hierarchies, says):
    """Else a gate would measure by another tree, and pass."""
    table = pd.DataFrame(PEOPLE)
    right = table.anon.tcloseness("sex", "ill", hierarchies={"ill": ILLNESSES})
    assert right == table.anon.tcloseness("sex", "ill", hierarchies=ILLNESSES)
    for ask in (
        lambda: table.anon.tcloseness("sex", "ill", hierarchies=hierarchies),
        lambda: table.anon.at_risk("sex", sensitive="ill", t=0.2, hierarchies=hierarchies),
        lambda: table.anon.generalize("ill", hierarchies=hierarchies, level=1),
    ):
        with pytest.raises(errors.AnonRiskError, match=says):
            ask()
    if all(hierarchies.values()) and hierarchies:
        limit = {"t": 0.9, "distance": "hierarchical", "hierarchies": hierarchies}
        policy = Policy(quasi=["sex"], sensitive=["ill"], tcloseness=limit, insensitive=["job"])
        assert policy.check(table).status == "could_not_assess"


def test_a_policy_takes_levels_by_column_as_the_call_does():
    levels = [["flu", "lung", "any"], ["cold", "lung", "any"]]
    levels += [["hiv", "blood", "any"], ["hep", "blood", "any"]]
    table = pd.DataFrame(PEOPLE)[["sex", "ill"]]
    limit = {"t": 0.9, "distance": "hierarchical", "hierarchies": {"ill": levels}}
    (finding,) = Policy(quasi=["sex"], sensitive=["ill"], tcloseness=limit).check(table).findings
    assert finding.value == table.anon.tcloseness("sex", "ill", hierarchies=ILLNESSES)
