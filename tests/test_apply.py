"""Plans applied: the same table on every engine, and what a plan does not fit."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tables
from planned import QIDS, people

import anonrisk
from anonrisk import Plan, Policy, errors
from anonrisk.hierarchy import Hierarchy
from anonrisk.planning.class_rules import SensitiveGoal
from anonrisk.recode import Bins, Level


@pytest.mark.slow
def test_same_plan_and_same_table_on_every_engine(frame):
    cells = people()
    table = frame(cells)
    plan = table.anon.plan(QIDS, 4, hierarchies={}, max_suppressed=0.05)
    expected = pd.DataFrame(cells).anon.plan(QIDS, 4, max_suppressed=0.05)
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


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_too_many_classes_are_put_together_before_they_are_counted(spark, monkeypatch):
    from anonrisk.measures.counts import question

    random = np.random.default_rng(4)
    cells = {
        "income": [None, *np.exp(random.normal(10, 1, 399)).tolist()],
        "sex": random.choice(["f", "m"], 400).tolist(),
    }
    table = tables.spark_table(spark, cells)
    monkeypatch.setattr(question, "MAX_CLASSES", 300)
    plan = table.anon.plan(
        ["income", "sex"],
        5,
        max_suppressed=0.05,
        options=anonrisk.PlanOptions(method="full-domain"),
    )
    assert isinstance(plan.recodings["income"], Bins)
    done = table.anon.apply(plan)
    counted = done.anon.classes(["income", "sex"])
    assert counted.k >= 5
    assert counted.n_records == plan.after.n_records, "what was planned is what is true"
    monkeypatch.setattr(question, "MAX_CLASSES", 2)
    with pytest.raises(errors.TooManyClassesError, match="more than 2 different combinations"):
        table.anon.plan(["income", "sex"], 5, options=anonrisk.PlanOptions(method="full-domain"))


def test_a_hierarchy_must_be_given_again():
    tree = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}
    table = pd.DataFrame({"ill": ["flu", "cough", "stroke", "angina"] * 2})
    plan = table.anon.plan("ill", 4, hierarchies={"ill": tree}, max_suppressed=0)
    assert str(plan.recodings["ill"]) == "level 1: cold, heart"
    without = Plan.from_json(plan.to_json())
    with pytest.raises(errors.PlanError, match="does not hold the values of its hierarchies"):
        table.anon.apply(without)
    other = {"any": {"cold": ["flu"], "heart": ["stroke", "angina", "cough"]}}
    with pytest.raises(errors.PlanError, match="not the one that the plan was made with"):
        Plan.from_json(plan.to_json(), hierarchies={"ill": other})
    more = pd.concat([table, pd.DataFrame({"ill": ["gout"]})])
    with pytest.raises(errors.HierarchyError, match=r"lacks values of column 'ill' \(1 record\)"):
        more.anon.apply(plan)


TREES = {
    "ill": {"any ill": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}},
    "job": {"any job": {"field": ["farmer"], "desk": ["clerk", "lawyer"]}},
}
# Each pair of a cold and a desk three times; then two records with new values, of which one is
# missing elsewhere, and one in which both are new.
KNOWN = {"ill": ["flu", "cough", "flu", None] * 6, "job": ["clerk", "lawyer", "clerk", None] * 6}
NEW = {"ill": ["Xavier", "flu", "Xavier"], "job": [None, "Yvonne", "Yvonne"]}


def next_month(max_suppressed, k=3):
    levels = {name: Level.of(Hierarchy.of(tree), 1) for name, tree in TREES.items()}
    return Plan(levels, k=k, max_suppressed=max_suppressed, columns=tuple(levels))


def rows_of(table):
    return sorted(tables.to_rows(table), key=str)


def by_hand(cells, on_unseen, k):
    """Recode record by record, then leave out the records of small classes."""
    told = []
    for record in zip(*cells.values(), strict=True):
        made = {}
        for name, cell in zip(cells, record, strict=True):
            (root, nodes), *_ = TREES[name].items()
            of = {leaf: node for node, leaves in nodes.items() for leaf in leaves}
            made[name] = None if cell is None else of.get(cell, root)
        known = not {"any ill", "any job"} & set(made.values())
        if on_unseen == "top" or known:
            told.append(made)
    return sorted((one for one in told if told.count(one) >= (k or 1)), key=str)


@pytest.mark.parametrize("k", [3, None])
@pytest.mark.parametrize("times", [1, 3])
def test_values_that_the_plan_does_not_know(frame, k, times):
    cells = {name: [*KNOWN[name], *NEW[name] * times] for name in KNOWN}
    plan = next_month(0.5, k)
    with pytest.raises(errors.UnseenValuesError) as raised:
        frame(cells).anon.apply(plan)
    told = f"values of column 'ill' ({2 * times} records), column 'job' ({2 * times} records)"
    assert told in str(raised.value)
    assert "Xavier" not in str(raised.value)
    for on_unseen in ("suppress", "top"):
        done = frame(cells).anon.apply(plan, on_unseen=on_unseen)
        assert rows_of(done) == by_hand(cells, on_unseen, k)
    with pytest.raises(errors.PlanError, match=f"{100 * times / (8 + times):.1f}% .* not know and"):
        frame(cells).anon.apply(next_month(0.05, k), on_unseen="suppress")
    known = frame(KNOWN)
    for on_unseen in ("refuse", "suppress", "top"):
        done = known.anon.apply(next_month(0.0, k), on_unseen=on_unseen)
        assert rows_of(done) == by_hand(KNOWN, on_unseen, k)


def test_small_classes_and_unknown_values_count_together(frame):
    cells = {name: [*KNOWN[name], *NEW[name]] for name in KNOWN}
    cells = {"ill": [*cells["ill"], "stroke"], "job": [*cells["job"], "farmer"]}
    # 28 records, of which 3 are unknown and 1 is alone.
    done = frame(cells).anon.apply(next_month(4 / 28), on_unseen="suppress")
    assert rows_of(done) == by_hand(cells, "suppress", 3)
    with pytest.raises(errors.PlanError, match=r"3.6% .* smaller than 3 and 10.7% .* not know"):
        frame(cells).anon.apply(next_month(3.9 / 28), on_unseen="suppress")


def test_a_category_of_a_record_that_was_left_out_is_forgotten():
    table = pd.DataFrame({**KNOWN, "sex": pd.Categorical(["f"] * 24)})
    one = pd.DataFrame({"ill": ["Xavier"], "job": ["clerk"], "sex": ["rare"]})
    more = pd.concat([table, one]).astype({"sex": "category"})
    plan = next_month(0.1)
    plan = Plan({**plan.recodings, "sex": table.anon.plan("sex", 2).recodings["sex"]}, k=3,
                max_suppressed=0.1)  # fmt: skip
    done = more.anon.apply(plan, on_unseen="suppress")
    assert done["sex"].cat.categories.tolist() == ["f"]


@pytest.mark.slow
def test_a_policy_decides_about_the_result(frame):
    cells = {**people(120), "illness": (["flu", "cough"] * 60)}
    table = frame(cells)
    plan = table.anon.plan(["age", "sex"], 4, max_suppressed=0.05)
    rest = {"insensitive": ["zip", "born", "illness"], "unit": "who"}
    passing = Policy(quasi=["age", "sex"], **rest, k=4, max_suppressed=0.05)
    expected = rows_of(table.anon.apply(plan))
    assert rows_of(table.anon.apply(plan, policy=passing)) == expected
    for policy, status in (
        (Policy(quasi=["age", "sex"], **rest, k=200), "fail"),
        (Policy(quasi=["age", "sex", "gone"], **rest, k=2), "could_not_assess"),
    ):
        with pytest.raises(errors.ReleaseBlocked) as raised:
            table.anon.apply(plan, policy=policy)
        assert raised.value.verdict.status == status
    with pytest.raises(errors.ArgumentError, match=r"policy= takes an anonrisk.Policy, not a dict"):
        table.anon.apply(plan, policy={})


@pytest.mark.parametrize("unit", [None, "who"])
def test_unknown_values_count_beside_other_goals(frame, unit):
    cells = {name: [*KNOWN[name], *NEW[name]] for name in KNOWN}
    cells |= {"sex": ["f"] * 12 + ["m"] * 15, "who": list(range(27))}
    goals = (SensitiveGoal("sex", "distinct", 2.0),)
    plan = replace(next_month(3 / 27), goals=goals, unit=unit)
    done = frame(cells).anon.apply(plan, on_unseen="suppress")
    assert sorted(row["who"] for row in tables.to_rows(done)) == list(range(24))
    with pytest.raises(errors.UnseenValuesError, match="lacks values of column 'ill'"):
        frame(cells).anon.apply(plan)
    with pytest.raises(errors.PlanError, match=r"11.1% of the records have values"):
        frame(cells).anon.apply(replace(plan, max_suppressed=0.1), on_unseen="suppress")
