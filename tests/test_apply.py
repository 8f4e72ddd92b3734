"""Plans applied: the same table on every engine, and what a plan does not fit."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
import tables
from planned import QIDS, people

from anonrisk import Plan, errors
from anonrisk.recode import Bins


def test_same_plan_and_same_table_on_every_engine(frame):
    cells = people()
    table = frame(cells)
    plan = table.anon.plan(QIDS, 4, hierarchies={}, max_suppression=0.05)
    expected = pd.DataFrame(cells).anon.plan(QIDS, 4, max_suppression=0.05)
    assert plan.to_json() == expected.to_json()
    done = sorted(tables.to_rows(table.anon.apply(plan)), key=lambda row: row["who"])
    assert done == sorted(
        tables.to_rows(pd.DataFrame(cells).anon.apply(expected)), key=lambda row: row["who"]
    )
    assert len(done) == plan.after.n_records
    assert table.anon.apply(plan).anon.k(QIDS) == plan.after.k >= 4
    with pytest.raises(errors.ColumnNotFoundError, match="the plan's column 'zip' is not a column"):
        frame({"age": [1], "sex": ["f"], "born": [dt.date(2000, 1, 1)]}).anon.apply(plan)
    few = {name: column[:40] for name, column in cells.items()}
    with pytest.raises(errors.PlanError, match="made for another table"):
        frame(few).anon.apply(plan)
    wrong = {**few, "age": few["zip"]}
    with pytest.raises(errors.UnsupportedColumnError, match="column 'age' holds"):
        frame(wrong).anon.apply(plan)


@pytest.mark.spark("spark")
def test_too_many_classes_are_put_together_before_they_are_counted(spark, monkeypatch):
    from anonrisk.counts import bounds

    random = np.random.default_rng(4)
    cells = {
        "income": [None, *np.exp(random.normal(10, 1, 399)).tolist()],
        "sex": random.choice(["f", "m"], 400).tolist(),
    }
    table = tables.spark_table(spark, cells)
    monkeypatch.setattr(bounds, "MAX_CLASSES", 300)
    plan = table.anon.plan(["income", "sex"], 5, max_suppression=0.05)
    assert isinstance(plan.recodings["income"], Bins)
    done = table.anon.apply(plan)
    counted = done.anon.classes(["income", "sex"])
    assert counted.k >= 5
    assert counted.n_records == plan.after.n_records, "what was planned is what is true"
    monkeypatch.setattr(bounds, "MAX_CLASSES", 2)
    with pytest.raises(errors.TooManyClassesError, match="more than 2 different combinations"):
        table.anon.plan(["income", "sex"], 5)


def test_a_hierarchy_must_be_given_again():
    tree = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}
    table = pd.DataFrame({"ill": ["flu", "cough", "stroke", "angina"] * 2})
    plan = table.anon.plan("ill", 4, hierarchies={"ill": tree}, max_suppression=0)
    assert str(plan.recodings["ill"]) == "level 1: cold, heart"
    without = Plan.from_json(plan.to_json())
    with pytest.raises(errors.PlanError, match="does not hold the values of its hierarchies"):
        table.anon.apply(without)
    other = {"any": {"cold": ["flu"], "heart": ["stroke", "angina", "cough"]}}
    with pytest.raises(errors.PlanError, match="not the one that the plan was made with"):
        Plan.from_json(plan.to_json(), hierarchies={"ill": other})
    more = pd.concat([table, pd.DataFrame({"ill": ["gout"]})])
    with pytest.raises(errors.HierarchyError, match="misses 1 of the column's values"):
        more.anon.apply(plan)
