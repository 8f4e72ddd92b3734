"""Suppressed records and cells: what is left is k-anonymous."""

from __future__ import annotations

import datetime as dt
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from steps import CELLS, cells_of, refused

from anonrisk import errors
from anonrisk.measures.counts import question


def test_suppress_records_and_cells(frame):
    cells = {
        "who": list(range(7)),
        "zip": ["a", "a", "a", "b", "b", "c", None],
        "age": [1, 1, 2, 3, 3, 4, 5],
    }
    table = frame(cells)
    left = table.anon.suppress(["zip", "age"], k=2)
    assert cells_of(left, "who") == [0, 1, 3, 4]
    marked = table.anon.suppress(["zip", "age"], k=2, cells=True)
    assert marked.anon.k(["zip", "age"]) == 2
    assert cells_of(marked, "zip", "age") == [
        *[("a", "1")] * 2,
        ("*", "*"),
        *[("b", "3")] * 2,
        *[("*", "*")] * 2,
    ]
    missing = table.anon.suppress(["zip", "age"], k=2, cells=True, suppressed=None)
    assert cells_of(missing, "zip", "age")[2] == (None, None)
    assert missing.anon.k(["zip", "age"]) == 2


def test_a_suppressed_category_is_forgotten():
    kinds = pd.Categorical(["a", "a", "rare", "b", "b"], categories=["z", "rare", "b", "a"])
    table = pd.DataFrame({"x": kinds, "other": kinds})
    left = table.anon.suppress("x", 2)
    assert left["x"].tolist() == ["a", "a", "b", "b"]
    assert left["x"].cat.categories.tolist() == ["b", "a"]
    assert list(left.index) == [0, 1, 3, 4]
    cells = table.anon.suppress("x", 2, cells=True, suppressed=None)["x"]
    assert "rare" not in getattr(cells.dtype, "categories", cells.unique())


def test_too_few_marked_cells_are_joined_by_the_smallest_class(frame):
    cells = {"who": list(range(6)), "zip": ["a", "a", "a", "b", "b", "c"]}
    found = frame(cells).anon.suppress("zip", k=2, cells=True)
    assert cells_of(found, "zip") == ["a", "a", "a", "*", "*", "*"]


def test_persons_are_counted_when_suppressing(frame):
    cells = {"who": [1, 1, 2, 3], "zip": ["a", "a", "b", "b"]}
    assert cells_of(frame(cells).anon.suppress("zip", 2, unit="who"), "who") == [2, 3]
    found = frame(cells).anon.suppress("zip", 2, unit="who", cells=True)
    assert set(cells_of(found, "zip")) == {"*"}


rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 3, None]), st.sampled_from("xyz*")),
    min_size=1,
    max_size=25,
)


@given(rows=rows, k=st.integers(1, 5), marker=st.sampled_from(["*", None]))
def test_after_suppression_a_table_is_k_anonymous(rows, k, marker):
    table = pd.DataFrame(rows, columns=["a", "b", "c"])
    table["b"] = table["b"].astype("Int64")
    left = table.anon.suppress(["a", "b", "c"], k)
    assert not len(left) or left.anon.k(["a", "b", "c"]) >= k
    if k > len(table):
        with pytest.raises(errors.ArgumentError, match="larger than the table"):
            table.anon.suppress(["a", "b", "c"], k, cells=True, suppressed=marker)
        return
    marked = table.anon.suppress(["a", "b", "c"], k, cells=True, suppressed=marker)
    assert len(marked) == len(table)
    assert marked.anon.k(["a", "b", "c"]) >= k
    untouched = table[table.anon.sizes(["a", "b", "c"]) >= k]
    if len(marked.query("a != '*'" if marker else "a == a")) == len(marked):
        changed = marked.loc[untouched.index, "a"].tolist()
        assert changed == untouched["a"].tolist(), "large classes keep their cells"


PEOPLE = {
    "who": list(range(8)),
    "zip": ["a", "a", "a", "b", "b", "b", "c", None],
    "born": [dt.date(1980, 1, 1)] * 3 + [dt.date(1990, 1, 1)] * 2 + [dt.date(1985, 5, 5)] * 3,
    "age": [1, 1, 2, 3, 3, 3, 3, 3],
    "paid": [0.5, 0.5, 0.5, -0.0, 0.0, 2.0, 2.0, 2.0],
}
QID = ["zip", "born", "age", "paid"]


def lost(before, after):
    """Which of the people lose which cells."""
    return {
        who: [name for name, old, new in zip(QID, was, now, strict=True) if old is not new is None]
        for who, (was, now) in enumerate(
            zip(cells_of(before, *QID), cells_of(after, *QID), strict=True)
        )
        if was != now
    }


def test_chosen_cells_are_the_fewest_that_each_record_needs(frame):
    table = frame(PEOPLE)
    found = table.anon.suppress(QID, 2, cells=True, missing="wildcard")
    assert lost(table, found) == {2: ["age"]}
    assert table.anon.k(QID, missing="wildcard") == 1
    assert found.anon.k(QID, missing="wildcard") == 2
    found = table.anon.suppress(QID, 3, cells=True, missing="wildcard")
    rare = ["born", "paid"]
    expected = {2: ["age"], 0: ["age"], 1: ["age"], 3: rare, 4: rare, 5: ["zip"], 6: ["zip"]}
    assert lost(table, found) == expected
    assert found.anon.k(QID, missing="wildcard") >= 3
    weighed = table.anon.suppress(
        QID, 3, cells=True, missing="wildcard", column_weights={"zip": 10}
    )
    assert lost(table, weighed) == {**expected, 5: rare}


def test_shared_cells_are_fewer(frame):
    cells = {"who": [0, 1, 2], "zip": ["a", "a", "a"], "age": [1, 2, 3]}
    table = frame(cells)
    found = table.anon.suppress(["zip", "age"], 2, cells=True, missing="wildcard", shared=True)
    assert cells_of(found, "age") == [None, 2, 3]
    assert found.anon.k(["zip", "age"], missing="wildcard") == 2
    found = table.anon.suppress(["zip", "age"], 2, cells=True, missing="wildcard")
    assert cells_of(found, "age") == [None, None, None]
    same = table.anon.suppress("zip", 3, cells=True, missing="wildcard")
    assert cells_of(same, "zip", "age") == [("a", 1), ("a", 2), ("a", 3)]


def test_utility_tells_which_columns_lost_cells(frame):
    table, qid = frame(PEOPLE), ["zip", "age"]
    found = table.anon.suppress(qid, 5, cells=True, missing="wildcard")
    told = found.anon.utility(qid, original=table)
    # One zip was missing before, which is no cell that was lost.
    gone = {name: sum(name in names for names in lost(table, found).values()) for name in qid}
    assert gone == {"zip": 7, "age": 3}
    assert {m.column: m.suppressed for m in told.moved} == {"zip": 7 / 8, "age": 3 / 8}
    assert told.loss_metric == pytest.approx(10 / 16)


def test_order_of_rows_and_a_category_change_nothing():
    table = pd.DataFrame(PEOPLE).astype({"zip": "category"})
    how = {"cells": True, "missing": "wildcard", "shared": True}
    found = table.anon.suppress(QID, 3, **how)
    turned = table.iloc[::-1].anon.suppress(QID, 3, **how)
    pd.testing.assert_frame_equal(found, turned.iloc[::-1])
    alone = table.anon.suppress(["zip", "who"], 8, cells=True, missing="wildcard")
    assert list(alone["zip"].cat.categories) == []
    assert table.iloc[:0].anon.suppress(QID, 3, **how).empty


# Two values each, as Spark writes them; as floats the decimals would be one.
TYPES = {
    "decimal": ("0.12345678901234567890BD", "0.12345678901234567891BD"),
    "timestamp": (
        "timestamp'2021-10-31T02:30:00+02:00'",
        "timestamp'2021-10-31T02:30:00+01:00'",
    ),
    "clock": ("timestamp_ntz'2021-03-28 02:30:00'", "timestamp_ntz'2021-03-28 03:30:00'"),
    "binary": ("X'00'", "X'01'"),
    "boolean": ("true", "false"),
    "interval": ("interval '1' day", "interval '2' day"),
    "float": ("1.5D", "-0.0D"),
}


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_chosen_cells_of_every_type_of_spark(spark, monkeypatch):
    columns = [f"if(id < 3, {x}, {y}) as {name}" for name, (x, y) in TYPES.items()]
    table = spark.range(5).selectExpr("id as who", "'a' as zip", *columns)
    for name in TYPES:
        found = table.anon.suppress(["zip", name], 3, cells=True, missing="wildcard")
        assert found.schema[name].dataType == table.schema[name].dataType
        missing = {row.who for row in found.where(f"{name} is null").collect()}
        assert missing == {3, 4}, name
        assert found.where("zip is null").count() == 0
    monkeypatch.setattr(question, "MAX_CLASSES", 1)
    with pytest.raises(errors.TooManyClassesError, match="more than 1 different"):
        table.anon.suppress("boolean", 3, cells=True, missing="wildcard")


WRONG = [
    (lambda t: t.anon.suppress("age", 0), errors.ArgumentError, "at least 1"),
    (lambda t: t.anon.suppress("income", 2, cells=True), errors.ArgumentError, "fraction"),
    (lambda t: t.anon.suppress("zip", 2, cells=True, suppressed=1), errors.ArgumentError, "text"),
    (lambda t: t.anon.suppress("age", 2, cells=True, suppressed=[]), errors.ArgumentError, "text"),
    (lambda t: t.anon.suppress("age", 9, cells=True), errors.ArgumentError, "larger than"),
    (lambda t: chosen(t, 9), errors.ArgumentError, "larger than"),
    (lambda t: chosen(t, 2, cells=False), errors.ArgumentError, "match fewer"),
    (lambda t: chosen(t, 2, suppressed="?"), errors.ArgumentError, "become missing"),
    (lambda t: chosen(t, 2, unit="who"), errors.ArgumentError, "one row per person"),
    (
        lambda t: chosen(t, 2, column_weights={"agee": 1}),
        errors.ColumnNotFoundError,
        "did you mean",
    ),
    (
        lambda t: chosen(t, 2, column_weights={"age": -1}),
        errors.ArgumentError,
        "weight of column 'age'",
    ),
    (
        lambda t: chosen(t, 3, column_weights={"age": math.inf}),
        errors.ArgumentError,
        "finite weight",
    ),
    (lambda t: chosen(t, 2, missing="drop"), errors.ArgumentError, "not one of"),
    (lambda t: chosen(t, 2, missing="value", shared=True), errors.ArgumentError, "wildcard"),
]


def chosen(table, k, **more):
    return table.anon.suppress("age", k, **{"cells": True, "missing": "wildcard", **more})


def test_wrong_calls(frame):
    refused(frame(CELLS), WRONG)
