"""Diversity, closeness and their relatives, against oracles that follow the definitions."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import oracle
import pytest
from tables import to_rows

from anonrisk import errors

NAN = float("nan")
CELLS = {
    "zip": ["a", "a", "a", "a", "b", "b", "b", None, None, "c", "c", "c"],
    "age": [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
    "who": [1, 1, 2, 3, 4, 5, 6, 7, 8, 1, 9, 9],
    "ill": ["flu", "flu", "cold", "hiv", "flu", "cold", "cold", None, "flu", "flu", "hiv", None],
    "cost": [1.5, 2.5, 2.5, 5.5, 1.5, 1.5, NAN, 2.5, 5.5, 9.5, 9.5, -3.5],
    "stage": [1, 2, 3, 4, 1, 1, 2, 4, 4, 3, 3, 1],
}
ROWS = [dict(zip(CELLS, row, strict=True)) for row in zip(*CELLS.values(), strict=True)]
QIDS = [["zip"], ["zip", "age"], ["age"]]
UNITS = [None, "who"]
TREE = {"any": {"airways": ["flu", "cold"], "blood": {"virus": ["hiv"]}}}
PARENTS = {
    "flu": "airways",
    "cold": "airways",
    "hiv": "virus",
    "virus": "blood",
    "airways": "any",
    "blood": "any",
}
ILL = [row for row in ROWS if row["ill"] is not None]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("qid", QIDS)
def test_ldiv(frame, qid, unit):
    table = frame(CELLS)
    for kind, c in (("distinct", None), ("entropy", None), ("recursive", 1), ("recursive", 2.5)):
        expected = oracle.ldiv(ROWS, qid, "ill", kind, c, unit)
        found = table.anon.ldiv(qid, "ill", kind, c=c, unit=unit)
        assert found == pytest.approx(expected, rel=1e-12)
        assert isinstance(found, float if kind == "entropy" else int)


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
        "zip", "ill", hierarchy=TREE, missing_sensitive="drop", unit=unit
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
    for hierarchy in (TREE, levels, path):
        found.add(
            float(
                table.anon.tcloseness(
                    "zip", "ill", "hierarchical", hierarchy=hierarchy, missing_sensitive="drop"
                )
            )
        )
    assert len(found) == 1


def test_integers_are_not_a_scale_unless_said(frame):
    table = frame(CELLS)
    assert table.anon.tcloseness("zip", "stage").distance == "equal"
    found = table.anon.tcloseness("zip", "stage", "ordered")
    expected = oracle.tcloseness(ROWS, ["zip"], "stage", oracle.ordered_cost(ROWS, "stage"))
    assert found == pytest.approx(expected, abs=1e-9)


def test_dates_are_a_scale(frame):
    days = [dt.date(2020, 1, day) for day in (1, 2, 2, 9)]
    cells = {"q": ["a", "a", "b", "b"], "day": days}
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    found = frame(cells).anon.tcloseness("q", "day")
    assert found.distance == "ordered"
    expected = oracle.tcloseness(rows, ["q"], "day", oracle.ordered_cost(rows, "day"))
    assert found == pytest.approx(expected, abs=1e-9)


def test_strings_need_an_order(frame):
    table, order = frame(CELLS), ["never", "cold", "flu", "hiv"]
    with pytest.raises(errors.ArgumentError, match=r"'ill' have no order .* order="):
        table.anon.tcloseness("zip", "ill", "ordered")
    found = table.anon.tcloseness("zip", "ill", order=order)
    expected = oracle.tcloseness(ROWS, ["zip"], "ill", oracle.ordered_cost(ROWS, "ill", order))
    assert found == pytest.approx(expected, abs=1e-9)
    with pytest.raises(errors.ArgumentError, match="order misses 1 value of") as raised:
        table.anon.tcloseness("zip", "ill", order=["cold", "flu"])
    assert "hiv" not in str(raised.value)


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
    with pytest.raises(errors.ArgumentError, match="order misses 1 value of"):
        # The float nearest to a tenth is no tenth.
        table.anon.tcloseness("q", "money", order=[0.1, 1.5, 2])
    with pytest.raises(errors.ArgumentError, match=r"lists timestamps, but .* 'day' holds dates"):
        table.anon.tcloseness("q", "day", order=[dt.datetime(2020, 1, 1)])


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


def test_a_class_like_the_table_is_close(frame):
    table = frame({"q": list("aabb"), "s": [1.5, 2.5, 1.5, 2.5]})
    assert table.anon.tcloseness("q", "s") == 0
    assert table.anon.tcloseness("q", "s", "equal") == 0
    assert table.anon.delta_disclosure("q", "s") == 0


def test_one_sensitive_value(frame):
    table = frame({"q": list("aab"), "s": [7.5, 7.5, 7.5]})
    assert table.anon.ldiv("q", "s") == 1
    assert table.anon.ldiv("q", "s", "entropy") == 1
    assert table.anon.tcloseness("q", "s") == 0
    assert table.anon.alpha("q", "s") == 1


def test_two_equal_values_are_two(frame):
    table = frame({"q": list("aaaa"), "s": list("xxyy")})
    assert table.anon.ldiv("q", "s", "entropy") == pytest.approx(2, rel=1e-12)
    assert len(to_rows(table.anon.at_risk("q", sensitive="s", l=2, kind="entropy"))) == 0


def test_recursive_is_machanavajjhalas_not_the_weaker_test(frame):
    cells = {"q": ["a"] * 17, "s": ["x"] * 10 + ["y"] * 4 + ["z"] * 3}
    assert frame(cells).anon.ldiv("q", "s", "recursive", c=2) == 2
    skewed = frame({"q": ["a"] * 10, "s": list("xxxxxxxxyz")})
    assert skewed.anon.ldiv("q", "s", "recursive", c=8) == 2
    assert skewed.anon.ldiv("q", "s", "recursive", c=8.1) == 3
    alike = frame({"q": ["a"] * 2, "s": list("xx")})
    assert alike.anon.ldiv("q", "s", "recursive", c=1) == 0


def test_several_sensitive_columns_give_the_worst(frame):
    table = frame(CELLS)
    both = table.anon.ldiv("age", ["ill", "stage"], "entropy")
    each = [table.anon.ldiv("age", column, "entropy") for column in ("ill", "stage")]
    assert both == min(each)
    far = table.anon.tcloseness("age", ["ill", "stage"])
    assert far == max(table.anon.tcloseness("age", column) for column in ("ill", "stage"))


def test_joint_takes_the_others_into_the_quasi_identifier(frame):
    table = frame(CELLS)
    joint = table.anon.ldiv("age", ["ill", "stage"], joint=True)
    assert joint == min(
        oracle.ldiv(ROWS, ["age", "stage"], "ill"), oracle.ldiv(ROWS, ["age", "ill"], "stage")
    )


@pytest.mark.parametrize("unit", UNITS)
def test_missing_sensitive_values(frame, unit):
    table = frame(CELLS)
    how = {"unit": unit}
    dropped = table.anon.ldiv("age", "ill", "entropy", missing_sensitive="drop", **how)
    assert dropped == pytest.approx(oracle.ldiv(ILL, ["age"], "ill", "entropy", None, unit))
    with pytest.raises(errors.MissingValuesError, match="'ill' is missing in 2 rows"):
        table.anon.ldiv("age", "ill", missing_sensitive="error", **how)
    known = [row for row in ILL if row["zip"] is not None]
    both = table.anon.tcloseness("zip", "ill", missing="drop", missing_sensitive="drop", **how)
    assert both == pytest.approx(
        oracle.tcloseness(known, ["zip"], "ill", oracle.equal_cost, unit), abs=1e-9
    )


def test_declared_roles_are_used(frame):
    table = frame(CELLS).anon.declare(quasi=["zip"], sensitive=["ill"], unit="who")
    assert table.anon.ldiv() == oracle.ldiv(ROWS, ["zip"], "ill", unit="who")
    assert table.anon.tcloseness() > 0


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


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.anon.ldiv("zip"), errors.RolesNotGivenError, "no sensitive column"),
        (lambda t: t.anon.ldiv("zip", "il"), errors.ColumnNotFoundError, "mean 'ill'"),
        (lambda t: t.anon.ldiv("zip", "zip"), errors.RoleConflictError, "sensitive and quasi"),
        (lambda t: t.anon.ldiv("zip", "who", unit="who"), errors.RoleConflictError, "and unit"),
        (lambda t: t.anon.ldiv("zip", "ill", "entrpy"), errors.ArgumentError, "mean 'entropy'"),
        (lambda t: t.anon.ldiv("zip", "ill", "recursive"), errors.ArgumentError, "c must be"),
        (lambda t: t.anon.ldiv("zip", "ill", "recursive", c=0), errors.ArgumentError, "above 0"),
        (lambda t: t.anon.ldiv("zip", "ill", c=2), errors.ArgumentError, "c= belongs to"),
        (lambda t: t.anon.tcloseness("zip", "ill", "equl"), errors.ArgumentError, "mean 'equal'"),
        (
            lambda t: t.anon.tcloseness("zip", "ill", "hierarchical"),
            errors.ArgumentError,
            "belong together",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", "equal", order=["a"]),
            errors.ArgumentError,
            "no use",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", order=["flu", "flu"]),
            errors.ArgumentError,
            "twice",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", hierarchy=TREE),
            errors.HierarchyError,
            "misses 1 value of",
        ),
        (
            lambda t: t.anon.tcloseness(
                "zip", "ill", hierarchy={"any": ["flu"]}, missing_sensitive="drop"
            ),
            errors.HierarchyError,
            "misses 2 values of",
        ),
        (
            lambda t: t.anon.ldiv("zip", "ill", missing_sensitive="dorp"),
            errors.ArgumentError,
            "mean 'drop'",
        ),
        (lambda t: t.anon.beta_likeness("zip", "ill", "basics"), errors.ArgumentError, "'basic'"),
        (lambda t: t.anon.at_risk("zip", l=2), errors.RolesNotGivenError, "no sensitive column"),
        (lambda t: t.anon.at_risk("zip", sensitive="ill", l=0), errors.ArgumentError, "l must be"),
        (lambda t: t.anon.at_risk("zip", sensitive="ill", t=-1), errors.ArgumentError, "t must be"),
        (lambda t: t.anon.at_risk("zip", sensitive="nope"), errors.ArgumentError, "without l= or"),
        (
            lambda t: t.anon.at_risk("zip", missing_sensitive="drop"),
            errors.ArgumentError,
            "without l= or t=",
        ),
        (
            lambda t: t.anon.at_risk("zip", sensitive="ill", t=0.2, kind="recursive", c=2),
            errors.ArgumentError,
            "kind= and c= have no use without l=",
        ),
        (
            lambda t: t.anon.at_risk("zip", sensitive="ill", t=0.2, c=2),
            errors.ArgumentError,
            "c= belongs",
        ),
        (
            lambda t: t.anon.at_risk("zip", sensitive="ill", l=2, distance="equal"),
            errors.ArgumentError,
            "distance= has no use without t=",
        ),
        (
            lambda t: t.anon.at_risk("zip", sensitive="nope", l=2),
            errors.ColumnNotFoundError,
            "sensitive column 'nope'",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", order=["flu", 1]),
            errors.ArgumentError,
            "order= mixes numbers and text",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", order=["flu", None]),
            errors.ArgumentError,
            "a missing one comes after the largest",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", order=[1, 2]),
            errors.ArgumentError,
            "order= lists numbers, but sensitive column 'ill' holds text",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "stage", order=["1", "2"]),
            errors.ArgumentError,
            "order= lists text, but sensitive column 'stage' holds numbers",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "stage", order=[False, True, 2, 3, 4]),
            errors.ArgumentError,
            "order= mixes booleans and numbers",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "stage", order=[1, 2, 3.5, 4, 2**70]),
            errors.ArgumentError,
            "order misses 1 value of",
        ),
    ],
)
def test_wrong_calls(frame, call, error, text):
    with pytest.raises(error, match=text) as raised:
        call(frame(CELLS))
    assert not any(word in str(raised.value) for word in ("hiv", "cold"))


def test_nothing_to_measure(frame):
    table = frame({"q": ["a", None], "s": [None, "x"]})
    with pytest.raises(errors.EmptyTableError, match="2 rows"):
        table.anon.ldiv("q", "s", missing="drop", missing_sensitive="drop")


@pytest.mark.parametrize("unit", UNITS)
def test_profiles_answer_like_the_table(frame, unit):
    table = frame(CELLS)
    profiles = table.anon.profiles("zip", "cost", unit=unit)
    assert profiles.ldiv("entropy") == pytest.approx(
        table.anon.ldiv("zip", "cost", "entropy", unit=unit), rel=1e-12
    )
    assert profiles.tcloseness("ordered") == pytest.approx(
        table.anon.tcloseness("zip", "cost", unit=unit), rel=1e-12
    )
    assert profiles.alpha() == pytest.approx(table.anon.alpha("zip", "cost", unit=unit))
    assert int(profiles.classes.sum()) == 4


def test_profiles_collapse_equal_classes(frame):
    table = frame({"q": list("aabbcc"), "s": list("xyyxzz")})
    profiles = table.anon.profiles("q", "s")
    assert sorted(profiles.classes.tolist()) == [1, 2]
    assert profiles.classification_metric() == pytest.approx(2 / 6)
    assert profiles.class_sizes().k == 2
    assert "3 classes of q: 2 kinds of class, 3 values" in repr(profiles)


def test_dropped_records_are_not_asked_for_a_value(frame):
    table = frame({"q": ["a", None, "b"], "s": ["x", None, "x"]})
    assert table.anon.ldiv("q", "s", missing="drop", missing_sensitive="error") == 1
    again = frame({"q": ["a", "a", None], "s": ["x", None, "y"]})
    assert again.anon.tcloseness("q", "s", order=["x"], missing="drop") == 0
    assert (
        again.anon.tcloseness(
            "q", "s", hierarchy={"any": ["x"]}, missing="drop", missing_sensitive="drop"
        )
        == 0
    )


def test_at_risk_where_every_value_is_dropped(frame):
    table = frame({"q": list("aab"), "s": [None, None, None]})
    found = table.anon.at_risk("q", 2, sensitive="s", l=2, missing_sensitive="drop")
    assert len(to_rows(found)) == 1


def test_hierarchies_of_booleans_and_numbers(frame):
    table = frame(
        {"q": list("aab"), "s": [True, False, True], "n": [1, 2, 2], "x": [1.5, 2.5, 2.5]}
    )
    both = table.anon.tcloseness("q", "s", hierarchy={"any": [True, False]})
    assert both == pytest.approx(1 / 3)
    assert table.anon.tcloseness("q", "n", hierarchy={"any": [1, 2]}) == pytest.approx(1 / 3)
    with pytest.raises(errors.ArgumentError, match="numbers with a fraction"):
        table.anon.tcloseness("q", "x", hierarchy={"any": [1.5, 2.5]})


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.anon.assess("zip", "ill", 5),
        lambda t: t.anon.ldiv("zip", "ill", [1]),
        lambda t: t.anon.ldiv("zip", "ill", "recursive", c=10**400),
        lambda t: t.anon.tcloseness("zip", "ill", order=[["x"], "y"]),
        lambda t: t.anon.tcloseness("zip", "ill", order={"x", "y"}),
        lambda t: t.anon.tcloseness("zip", "ill", hierarchy=[[]]),
        lambda t: t.anon.tcloseness("zip", "ill", hierarchy=[5, 6]),
        lambda t: t.anon.tcloseness("zip", "ill", hierarchy=b"x"),
        lambda t: t.anon.risk("zip").prosecutor.share_above(10**400),
    ],
)
def test_arguments_of_a_wrong_kind(frame, call):
    with pytest.raises(errors.AnonRiskError):
        call(frame(CELLS))


def test_classes_like_the_table_have_no_distance(frame):
    table = frame({"q": [c for c in range(5) for _ in range(13)], "s": [*range(13)] * 5})
    assert table.anon.tcloseness("q", "s", "ordered") == 0
    rows = table.anon.at_risk("q", sensitive="s", t=0, distance="ordered")
    assert (rows.count() if hasattr(rows, "sparkSession") else len(rows)) == 0


def test_nothing_is_left_to_order(frame):
    table = frame({"q": [None, None], "x": [0.5, 1.5]})
    with pytest.raises(errors.EmptyTableError, match="2 rows"):
        table.anon.tcloseness("q", "x", missing="drop")


def test_a_missing_value_is_told_before_the_hierarchy(frame):
    table = frame({"q": [1, 1], "s": ["a", None]})
    with pytest.raises(errors.MissingValuesError, match="in 1 row"):
        table.anon.tcloseness("q", "s", hierarchy={"all": ["a"]}, missing_sensitive="error")
