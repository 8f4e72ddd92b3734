"""Every wrong call is its own clear error, before any work, and without a cell in it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.recode import Prefix

CELLS = {"zip": ["secret1", "secret2"], "age": [34, 51], "who": [1, 2]}
PEOPLE = pd.DataFrame(CELLS)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda t: t.anon.k("zp"),
            errors.ColumnNotFoundError,
            r"^quasi-identifier 'zp' is not a column; did you mean 'zip'\? The table has 3",
        ),
        (
            lambda t: t.anon.k(["zip", "nothing like it"]),
            errors.ColumnNotFoundError,
            r"'nothing like it' is not a column\. The table",
        ),
        (
            lambda t: t.anon.k("zip", unit="whom"),
            errors.ColumnNotFoundError,
            r"unit 'whom' is not a column; did you mean 'who'",
        ),
        (
            lambda t: t.anon.summary("zip", by="aeg"),
            errors.ColumnNotFoundError,
            r"grouping column 'aeg' .* 'age'",
        ),
        (lambda t: t.anon.summary([["zip"], ["aeg"]]), errors.ColumnNotFoundError, "'age'"),
        (lambda t: t.anon.k([]), errors.NoColumnsError, "the list is empty"),
        (lambda t: t.anon.summary([]), errors.NoColumnsError, "the list is empty"),
        (lambda t: t.anon.summary([["zip"], []]), errors.NoColumnsError, "the list is empty"),
        (lambda t: t.anon.k(["zip", "zip"]), errors.RepeatedColumnError, "'zip' is named twice"),
        (lambda t: t.anon.k("zip", unit="zip"), errors.RoleConflictError, "both quasi-identifier"),
        (lambda t: t.anon.summary("zip", by="who", unit="who"), errors.RoleConflictError, "both"),
        (lambda t: t.anon.k([["zip"]]), errors.ArgumentError, "name of a column, not by a list"),
        (lambda t: t.anon.k({"zip": 1}, missing="valu"), errors.ArgumentError, "mean 'value'"),
        (lambda t: t.anon.k("zip", missing=None), errors.ArgumentError, "missing=None is not"),
        (lambda t: t.anon.summary("zip", sizes=(0,)), errors.ArgumentError, "at least 1"),
        (lambda t: t.anon.summary("zip", sizes=("a",)), errors.ArgumentError, "whole number"),
        (lambda t: t.anon.entropy("zip", alpha=-1), errors.ArgumentError, "order"),
        (lambda t: t.anon.k([None]), errors.ArgumentError, "not by None"),
        (lambda t: t.anon.k(3), errors.ColumnNotFoundError, "3 is not a column"),
    ],
)
def test_wrong_calls(frame, call, error, text, capsys):
    with pytest.raises(error, match=text) as raised:
        call(frame(CELLS))
    assert isinstance(raised.value, anonrisk.AnonRiskError)
    assert "secret" not in str(raised.value)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("given", [None, 3, [1], {"a": 1}, pd.Series([1], name="x")])
def test_a_table_of_an_unknown_library_names_the_known_ones(given):
    with pytest.raises(
        errors.UnsupportedFrameError, match=r"takes pandas, Spark .* pandas-on-Spark"
    ):
        anonrisk.k(given, "x")


def test_a_table_that_converts_says_how():
    class Polars:
        def to_pandas(self):
            raise AssertionError

    with pytest.raises(errors.UnsupportedFrameError, match=r"converts with its to_pandas\(\)"):
        anonrisk.k(Polars(), "x")


def test_every_error_has_one_base():
    own = (kind for kind in vars(errors).values() if isinstance(kind, type))
    kinds = [kind for kind in own if issubclass(kind, BaseException)]
    assert len(kinds) > 10
    assert all(issubclass(kind, (errors.AnonRiskError, Warning)) for kind in kinds)


def test_errors_catch_as_what_python_would_raise():
    assert issubclass(errors.ColumnNotFoundError, KeyError)
    assert issubclass(errors.EmptyTableError, ValueError)
    assert issubclass(errors.UnsupportedFrameError, TypeError)
    assert str(errors.ColumnNotFoundError("plain")) == "plain"


@pytest.mark.parametrize("path", ["people.csv", Path("people.csv"), b"people.csv"])
@pytest.mark.parametrize(
    "call",
    [
        lambda path: anonrisk.Policy(quasi="zip", k=2).check(path),
        lambda path: anonrisk.Policy(quasi="zip", k=2).check(PEOPLE, population=path),
        lambda path: anonrisk.Policy(quasi="zip", k=2).assess(path),
        anonrisk.Policy.draft,
        lambda path: anonrisk.k(path, "zip"),
        lambda path: anonrisk.report(path, "zip"),
        lambda path: anonrisk.report(path, policy=anonrisk.Policy(quasi="zip", k=2)),
        anonrisk.table,
        lambda path: anonrisk.kmap(PEOPLE, "zip", population=path),
    ],
)
def test_a_path_is_no_table(call, path):
    with pytest.raises(errors.ArgumentError, match=r"pandas\.read_csv, or give anonrisk\.scan"):
        call(path)


PLANNED = anonrisk.Plan({"zip": Prefix(1)}).to_json()


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda t: t.anon.plan("zip", k=2, hierarchies="x.csv"),
            "hierarchies= must be a dict keyed by",
        ),
        (
            lambda t: t.anon.explore("zip", hierarchies="x.csv"),
            "hierarchies= must be a dict keyed by",
        ),
        (
            lambda t: anonrisk.Plan.from_json(PLANNED, "x.csv"),
            "hierarchies= must be a dict keyed by",
        ),
        (lambda t: t.anon.report(policy="p.yaml"), "policy is a Policy, not a str: Policy.load"),
        (
            lambda t: t.anon.utility("zip", original=t, hierarchies="x"),
            "hierarchies= must be a dict",
        ),
        (
            lambda t: t.anon.plan("zip", k=2, options=anonrisk.PlanOptions(column_weights=[])),
            "column_weights= must be a dict keyed by",
        ),
        (
            lambda t: t.anon.probabilistic_k("zip", 9, domain_sizes=3),
            "domain_sizes= must be a dict",
        ),
        (lambda t: t.anon.plan("zip", k=2, previous=t), "previous= is a Plan, not a DataFrame"),
        (lambda t: t.anon.report("zip", group_size=0), "group_size must be a whole number, at"),
        (lambda t: t.anon.microaggregate("age"), "k is needed"),
        (lambda t: t.anon.suppress("zip"), "k is needed"),
    ],
)
def test_what_is_no_mapping_no_plan_and_no_number(ask, says):
    table = pd.DataFrame({"zip": list("aabb"), "age": [1, 2, 3, 4]})
    with pytest.raises(errors.ArgumentError, match=says):
        ask(table)
