"""What every measure of sensitive values has in common: columns, missing values, wrong calls."""

from __future__ import annotations

import oracle
import pytest
from sensitive import CELLS, ILL, ROWS, TREE, UNITS

from anonrisk import errors


def test_one_sensitive_value(frame):
    table = frame({"q": list("aab"), "s": [7.5, 7.5, 7.5]})
    assert table.anon.ldiv("q", "s") == 1
    assert table.anon.ldiv("q", "s", "entropy") == 1
    assert table.anon.tcloseness("q", "s") == 0
    assert table.anon.alpha("q", "s") == 1


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


@pytest.mark.contract
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


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.anon.ldiv("zip"), errors.RolesNotGivenError, "no sensitive column"),
        (lambda t: t.anon.ldiv("zip", "il"), errors.ColumnNotFoundError, "mean 'ill'"),
        (lambda t: t.anon.ldiv("zip", "zip"), errors.RoleConflictError, "sensitive and quasi"),
        (lambda t: t.anon.ldiv("zip", "who", unit="who"), errors.RoleConflictError, "and unit"),
        (lambda t: t.anon.ldiv("zip", "ill", "entrpy"), errors.ArgumentError, "mean 'entropy'"),
        (lambda t: t.anon.ldiv("zip", "ill", "recursive"), errors.ArgumentError, "needs c="),
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
            "has no effect with distance",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", order=["flu", "flu"]),
            errors.ArgumentError,
            "twice",
        ),
        (
            lambda t: t.anon.tcloseness("zip", "ill", hierarchies=TREE),
            errors.HierarchyError,
            "lacks 1 value of",
        ),
        (
            lambda t: t.anon.tcloseness(
                "zip", "ill", hierarchies={"any": ["flu"]}, missing_sensitive="drop"
            ),
            errors.HierarchyError,
            "lacks 2 values of",
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
            lambda t: t.anon.at_risk("zip", sensitive="ill", t=0.2, variant="recursive", c=2),
            errors.ArgumentError,
            "variant= and c= have no effect without l=",
        ),
        (
            lambda t: t.anon.at_risk("zip", sensitive="ill", t=0.2, c=2),
            errors.ArgumentError,
            "c= belongs",
        ),
        (
            lambda t: t.anon.at_risk("zip", sensitive="ill", l=2, distance="equal"),
            errors.ArgumentError,
            "distance= has no effect without t=",
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
            "order lacks 1 value of",
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


@pytest.mark.contract
def test_dropped_records_are_not_asked_for_a_value(frame):
    table = frame({"q": ["a", None, "b"], "s": ["x", None, "x"]})
    assert table.anon.ldiv("q", "s", missing="drop", missing_sensitive="error") == 1
    again = frame({"q": ["a", "a", None], "s": ["x", None, "y"]})
    assert again.anon.tcloseness("q", "s", order=["x"], missing="drop") == 0
    assert (
        again.anon.tcloseness(
            "q", "s", hierarchies={"any": ["x"]}, missing="drop", missing_sensitive="drop"
        )
        == 0
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.anon.assess("zip", "ill", 5),
        lambda t: t.anon.ldiv("zip", "ill", [1]),
        lambda t: t.anon.ldiv("zip", "ill", "recursive", c=10**400),
        lambda t: t.anon.tcloseness("zip", "ill", order=[["x"], "y"]),
        lambda t: t.anon.tcloseness("zip", "ill", order={"x", "y"}),
        lambda t: t.anon.tcloseness("zip", "ill", hierarchies=[[]]),
        lambda t: t.anon.tcloseness("zip", "ill", hierarchies=[5, 6]),
        lambda t: t.anon.tcloseness("zip", "ill", hierarchies=b"x"),
        lambda t: t.anon.risk("zip").prosecutor.share_above(10**400),
    ],
)
def test_arguments_of_a_wrong_kind(frame, call):
    with pytest.raises(errors.AnonRiskError):
        call(frame(CELLS))
