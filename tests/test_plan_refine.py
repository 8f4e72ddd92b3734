"""Full-domain plans whose classes are cut further by region: what they keep, and when they win."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import people, with_options

import anonrisk
from anonrisk import Plan, errors
from anonrisk.planning.regions import multidimensional
from anonrisk.recode import Keep, Prefix, Star

TREE = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}


@pytest.fixture
def candidates(monkeypatch):
    """Collect the plans of every kind that `auto` compares."""
    found = {}

    def noted(full_domain, by_region, *more):
        found["full"] = full_domain()
        found["refined"] = by_region(found["full"])
        return best(full_domain, by_region, *more)

    best = multidimensional.best
    monkeypatch.setattr("anonrisk.planning.search.best", noted)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", [0.0, 0.3])
@pytest.mark.parametrize("names", [["age", "sex"], ["zip", "sex", "illness"]])
def test_classes_are_cut_and_never_joined(candidates, names, suppressed):
    table = pd.DataFrame(people(300, seed=4))
    trees = {"illness": TREE} if "illness" in names else {}
    offered = {**trees, "zip": [Keep(), Prefix(3, width=4), Star()]} if trees else {}
    asked = {"hierarchies": offered, "max_suppressed": suppressed}
    plan = table.anon.plan(names, 5, **with_options(**asked, method="auto"))
    full, refined = candidates["full"], candidates["refined"]
    assert plan.after.loss <= refined.after.loss + 1e-12
    assert refined.after.loss <= full.after.loss + 1e-12
    assert refined.after.n_below == 0
    done = table.anon.apply(refined)
    counted = done.anon.classes(names)
    assert (counted.k, counted.n_classes) == (refined.after.k, refined.after.n_classes)
    assert counted.k >= 5
    assert Plan.from_json(refined.to_json(), trees) == refined
    if "age" in names:
        return
    # Without edges: whoever would be left out has a star in every column, and nobody else joins.
    whole = table.anon.apply(Plan(**{**vars(full), "k": None}))
    kept = whole.groupby(names, dropna=False)["who"].transform("size") >= 5
    assert (kept.sum() < 300) == (suppressed > 0)
    assert done.loc[~kept, names].isin(["*", "any", "rest of *", "rest of any"]).all(axis=None)
    cells, coarse = (t[names].astype(str).sum(axis=1)[kept] for t in (done, whole))
    assert coarse.groupby(cells).nunique().max() == 1


@pytest.mark.slow
@settings(max_examples=8)
@given(seed=st.integers(0, 99), k=st.integers(2, 5))
def test_the_best_of_three_is_what_it_says(seed, k):
    table = pd.DataFrame(people(150, seed=seed))
    names = ["age", "zip", "born"]
    plan = table.anon.plan(names, k, options=anonrisk.PlanOptions(method="auto"))
    counted = table.anon.apply(plan).anon.classes(names)
    assert (counted.k, counted.n_classes) == (plan.after.k, plan.after.n_classes)
    assert counted.k >= k
    for method in ("full-domain", "multidimensional"):
        assert (
            plan.after.loss
            <= table.anon.plan(names, k, options=anonrisk.PlanOptions(method=method)).after.loss
            + 1e-12
        )
    assert f"{plan.after.loss:.3f}" in plan.note


@pytest.mark.slow
def test_it_is_taken_where_it_wins_and_named():
    table = pd.DataFrame(people(300, seed=1))
    names = ["age", "zip", "sex", "born"]
    asked = {"max_suppressed": 0, "loss": "range"}
    plan = table.anon.plan(names, 5, **with_options(**asked, method="auto"))
    full, by_region = (
        table.anon.plan(names, 5, **with_options(**asked, method=method)).after.loss
        for method in ("full-domain", "multidimensional")
    )
    assert plan.method == "multidimensional"
    assert plan.note == (
        f"refined full-domain: it loses {plan.after.loss:.3f}; full-domain {full:.3f} or less, "
        f"multidimensional {by_region:.3f}"
    )
    assert plan.after.loss < 0.95 * by_region


@pytest.mark.slow
def test_goals_hold_in_what_is_refined(candidates):
    table = pd.DataFrame(people(400, seed=3))
    names = ["age", "zip"]
    asked = {"ldiv": 2, "max_suppressed": 0.2, "loss": "range"}
    table.anon.plan(names, 3, **with_options(sensitive="illness", **asked, method="auto"))
    done = table.anon.apply(candidates["refined"])
    assert done.anon.ldiv(names, "illness") >= 2
    assert done.anon.k(names) >= 3


def test_no_edge_parts_a_few_from_all_others(candidates):
    random = np.random.default_rng(2)
    days = pd.Timestamp("1980-01-01") + pd.to_timedelta(random.integers(0, 400, 300), "D")
    table = pd.DataFrame({"born": [pd.Timestamp("1931-05-05"), *days[1:]], "sex": ["f", "m"] * 150})
    table.anon.plan(["born", "sex"], 5, options=anonrisk.PlanOptions(method="auto"))
    edges = candidates["refined"].recodings["born"].edges
    epoch = (table["born"] - pd.Timestamp("1970-01-01")).dt.days
    assert min((epoch < edge).sum() for edge in edges) >= 5


def test_where_no_kind_of_plan_does_the_reason_is_told():
    table = pd.DataFrame(people(60))
    with pytest.raises(errors.PlanError, match="ldiv of illness"):
        table.anon.plan(
            "age", 5, sensitive="illness", ldiv=9, options=anonrisk.PlanOptions(method="auto")
        )


@pytest.mark.slow
def test_the_best_is_by_what_columns_are_worth():
    table = pd.DataFrame(people(300, seed=2))
    names = ["age", "zip", "born"]
    weights = {"age": 20, "zip": 1, "born": 0.5}

    def lost(plan):
        worth = [weights[step.column] for step in plan.steps]
        return np.average([step.loss for step in plan.steps], weights=worth)

    asked = {"column_weights": weights, "max_suppressed": 0}
    plan = table.anon.plan(names, 5, **with_options(**asked))
    for method in ("full-domain", "multidimensional"):
        assert (
            lost(plan)
            <= lost(table.anon.plan(names, 5, **with_options(**asked, method=method))) + 1e-9
        )
    assert f"{lost(plan):.3f}" in plan.note


@pytest.mark.parametrize("seed", [0, 25, 49])
def test_a_class_of_stars_that_no_region_tells_of_is_not_lost(seed):
    """A value that no other region names has no place to find its region by."""
    random = np.random.default_rng(seed)
    n = 40
    table = pd.DataFrame(
        {
            "size": random.choice(["lo", "mid", "hi"], n),
            "zip": random.integers(10_000, 30_000, n).astype(str),
            "ill": random.choice(["flu", "cold"], n),
        }
    )
    table.loc[random.random(n) < 0.15, "zip"] = None
    goal = {"tcloseness": 0.1, "distance": "equal", "sensitive": "ill"}
    plan = table.anon.plan(
        ["size", "zip"], **with_options(max_suppressed=0.3, **goal, loss="range")
    )
    published = table.anon.apply(plan)
    assert len(published) == plan.after.n_records
    found = published.anon.tcloseness(["size", "zip"], "ill", distance="equal")
    assert found == pytest.approx(plan.after.scores[0])
