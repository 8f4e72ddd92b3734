"""Several quasi-identifiers side by side, and group by group."""

from __future__ import annotations

import oracle
import pandas as pd
import pytest
from people import PEOPLE
from tables import rows_of

from anonrisk import errors


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_summary_of_several_equals_one_at_a_time(frame, missing, unit):
    table = frame(PEOPLE)
    qids = [["zip"], ["zip", "age"], ["age"]]
    together = table.anon.summary(qids, sizes=(1, 2), missing=missing, unit=unit)
    for qid in qids:
        sizes = table.anon.classes(qid, missing=missing, unit=unit)
        row = together.loc[" + ".join(qid)]
        assert row["records"] == sizes.n_records
        assert row["sets"] == sizes.n_classes
        assert row["min"] == sizes.k
        assert row["at_most_2"] == sizes.records_at_most(2)


def test_summary_of_several_with_missing_error(frame):
    with pytest.raises(errors.MissingValuesError, match="'zip' in 2 rows, 'age' in 1 row"):
        frame(PEOPLE).anon.summary([["who"], ["zip"], ["zip", "age"]], missing="error")


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_summary_by_group(frame, missing, unit):
    found = frame(PEOPLE).anon.summary(
        [["zip"], ["zip", "age"]], by="age", sizes=(1,), missing=missing, unit=unit
    )
    rows = rows_of(PEOPLE)
    for label, qid in (("zip", ["zip"]), ("zip + age", ["zip", "age"])):
        for group in (34, 35, 51, None):
            inside = [row for row in rows if row["age"] == group]
            row = next(r for g, r in found.loc[label].iterrows() if same_label(g, group))
            kept = oracle.kept(inside, qid, missing)
            assert row.get("dropped", 0) == len(inside) - len(kept)
            if not kept:
                assert (row["sets"], row["records"]) == (0, 0)
                continue
            classes, records = oracle.class_sizes(inside, qid, unit, missing)
            assert (row["sets"], row["records"]) == (sum(classes.values()), sum(records.values()))
            assert row["at_most_1"] == records[1]


def same_label(label, group):
    return pd.isna(label) if group is None else label == group


def test_summary_by_groups_come_in_order(frame):
    cells = {"x": ["a"] * 5, "g": [3, 1, None, 2, 10]}
    labels = [label for _, label in frame(cells).anon.summary("x", by="g").index]
    assert labels[:4] == [1, 2, 3, 10]
    assert same_label(labels[4], None)


def test_summary_refuses_too_many_groups(frame, monkeypatch):
    monkeypatch.setattr("anonrisk.measures.counts.question.MAX_GROUPS", 3)
    cells = {"x": ["a"] * 5, "g": [1, 2, 3, 4, 5]}
    with pytest.raises(errors.TooManyGroupsError, match="'g' has more than 3"):
        frame(cells).anon.summary("x", by="g")
    assert len(frame({"x": ["a"] * 3, "g": [1, 2, 3]}).anon.summary("x", by="g")) == 3


def test_ten_thousand_groups_are_the_most():
    from anonrisk.engines import refusals

    refusals.check_groups("g", 10_000)
    with pytest.raises(errors.TooManyGroupsError):
        refusals.check_groups("g", 10_001)
