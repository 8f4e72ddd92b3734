"""Plans by region of tables with more combinations than are brought at once: coarse cuts first."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import spark_costs
import tables
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import people
from staged import StagedEngine

import anonrisk
from anonrisk import errors
from anonrisk.engines.spark import region
from anonrisk.measures.counts import question
from anonrisk.measures.counts.change import RecodeByRegion
from anonrisk.planning.class_rules import SensitiveGoal
from anonrisk.planning.losses import ENTROPY
from anonrisk.planning.regions.large import MAX_JOBS, WHY_IN_STAGES, divide_in_stages, margins_of

TREE = {"any": {"cold": ["flu", "cough"], "heart": ["stroke", "angina"]}}
NAMES = ("age", "zip", "sex", "born")


def in_stages(table, names, k, room, goals=(), by_column=None, **more):
    """Cut a table with room for so many classes a count; give regions, outcome and the counts."""
    engine = StagedEngine(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(question, "MAX_CLASSES", room)
        patch.setattr(question, "MAX_PLACED", room)
        columns = (*names, *(goal.column for goal in goals))
        margins, _ = margins_of(engine, table, columns, names, ())
        regions, after = divide_in_stages(
            engine, table, margins, names, k,
            loss=ENTROPY, by_column=by_column or {}, weights=None, goals=goals, **more,
        )  # fmt: skip
    done = engine.below.rewrite(table, RecodeByRegion(names, regions))
    return regions, after, done, engine.asked


@pytest.mark.parametrize("median", [False, True])
def test_where_there_is_room_the_regions_are_those_of_one_count(median):
    table = pd.DataFrame(people(300))
    plan = table.anon.plan(
        list(NAMES),
        4,
        options=anonrisk.PlanOptions(
            method="multidimensional", split="median" if median else "gain"
        ),
    )
    regions, after, _, asked = in_stages(table, NAMES, 4, 300, median=median)
    assert regions == plan.regions
    assert after == plan.after
    assert len(asked) == 1


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 999), room=st.integers(40, 150), k=st.integers(2, 6))
def test_what_is_promised_holds_whatever_the_room(seed, room, k):
    table = pd.DataFrame(people(200, seed=seed))
    table.loc[::9, "age"] = None
    table = table.astype({"age": "Int64"})
    _, after, done, asked = in_stages(table, NAMES, k, room, by_column={"sex": {"any": ["f", "m"]}})
    counted = done.anon.classes(list(NAMES))
    assert (counted.k, counted.n_classes, counted.n_records) == (after.k, after.n_classes, 200)
    assert after.k >= k
    assert len(asked) <= MAX_JOBS
    found = done.anon.utility(list(NAMES), original=table, hierarchies={"sex": {"any": ["f", "m"]}})
    if found.loss is not None:
        assert found.loss == pytest.approx(after.loss, abs=1e-12)


@pytest.mark.slow
def test_little_is_lost_by_cutting_in_stages():
    table = pd.DataFrame(people(3_000, seed=5))
    plan = table.anon.plan(list(NAMES), 5, options=anonrisk.PlanOptions(method="multidimensional"))
    _, after, _, asked = in_stages(table, NAMES, 5, 600)
    assert after.loss <= 1.1 * plan.after.loss
    assert 3 <= len(asked) <= MAX_JOBS
    # Beyond what the jobs bring in full, regions stay coarse, and valid.
    _, few, _, asked = in_stages(table, NAMES, 5, 100)
    assert plan.after.loss < few.loss < 1
    assert few.k >= 5
    assert len(asked) <= MAX_JOBS


@pytest.mark.slow
def test_goals_are_kept_in_stages():
    table = pd.DataFrame(people(600, seed=2))
    names = ("age", "zip", "born")
    goal = SensitiveGoal("illness", "distinct", 2)
    _, after, done, asked = in_stages(table, names, 3, 150, goals=(goal,))
    assert len(asked) > 2
    assert after.n_classes > 20
    assert done.anon.ldiv(list(names), "illness") >= 2
    assert done.anon.k(list(names)) == after.k >= 3


def test_goals_are_told_where_no_score_was_counted():
    table = pd.DataFrame(people(200))
    plan = table.anon.plan(
        "zip",
        3,
        sensitive="illness",
        ldiv=2,
        options=anonrisk.PlanOptions(method="multidimensional"),
    )
    staged = replace(plan, after=replace(plan.after, scores=()))
    assert "every class of zip; distinct ldiv of illness at least 2; risk" in flat(repr(staged))
    assert "at least 2; risk" not in flat(repr(plan))


def flat(text):
    return " ".join(text.split())


def test_a_table_that_changes_meanwhile_is_refused():
    table = pd.DataFrame(people(300))

    class Changing(StagedEngine):
        def classes(self, asked):
            self.table = self.table.iloc[1:]
            return super().classes(asked)

    engine = Changing(table)
    margins, _ = margins_of(engine, table, NAMES, NAMES, ())
    with pytest.raises(errors.PlanError, match="the table changed while it was counted"):
        divide_in_stages(engine, table, margins, NAMES, 3, loss=ENTROPY, by_column={}, weights=None)


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_a_large_table_of_spark_is_read_three_times_and_cut_as_on_pandas(spark, monkeypatch):
    cells = people(400)
    columns = ["age", "zip", "sex"]
    monkeypatch.setattr(question, "MAX_CLASSES", 200)
    table, plain = tables.spark_table(spark, cells), pd.DataFrame(cells)
    made = []
    found = spark_costs.cost(spark, lambda: made.append(table.anon.plan(columns, k=4)))
    by_region = anonrisk.PlanOptions(method="multidimensional")
    alike = plain.anon.plan(columns, k=4, options=by_region)
    assert len(plain[columns].drop_duplicates()) > 200
    assert found.scans <= 3
    assert made[0].regions == alike.regions
    assert made[0].after == alike.after
    assert made[0].before.bits == pytest.approx(alike.before.bits)
    for name in ("n_records", "n_classes", "k", "n_below", "discernibility", "values"):
        assert getattr(made[0].before, name) == getattr(alike.before, name)
    # More columns than go into one whole number, and cells that have no place.
    monkeypatch.setattr(region, "_BITS", 8)
    assert table.anon.plan(columns, k=4) == made[0]


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_stages_on_spark_count_as_the_oracle_does(spark, monkeypatch):
    random = np.random.default_rng(4)
    days = [dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 9_000, 400)]
    cells = {
        "income": [None] * 6 + np.exp(random.normal(10, 1, 394)).round(2).tolist(),
        "born": days,
        "ill": random.choice(["flu", "cough", "stroke", "angina"], 400).tolist(),
        "sex": random.choice(["f", "m"], 400).tolist(),
    }
    jobs = []
    brought = region.brought
    monkeypatch.setattr(
        region, "brought", lambda *given: jobs.append(found := brought(*given)) or found
    )
    table, plain = tables.spark_table(spark, cells), pd.DataFrame(cells)
    names = ("income", "born", "ill")
    goal = SensitiveGoal("sex", "distinct", 2)
    with monkeypatch.context() as patch:
        # The columns come one by one; together they are too many.
        patch.setattr(question, "MAX_CLASSES", 399)
        plan = table.anon.plan(names, 5, hierarchies={"ill": TREE}, sensitive="sex", ldiv=2)
    regions, after, done, asked = in_stages(plain, names, 5, 399, (goal,), {"ill": TREE})
    assert plan.regions == regions
    assert plan.after == after
    assert "; distinct ldiv of sex at least 2; risk" in flat(repr(plan))
    assert plan.note == WHY_IN_STAGES
    assert [len(rows) for found in jobs if found is not None for rows in found[:1]] == [
        n for n in asked if n <= 399
    ]
    assert plan.before.n_classes == 400
    assert (plan.before.k, plan.before.n_below) == (1, 400)
    made = sorted(map(str, tables.to_rows(table.anon.apply(plan))))
    assert made == sorted(map(str, tables.to_rows(done)))


def test_a_column_that_is_too_much_alone_is_named():
    class Refusing(StagedEngine):
        def tally(self, frame, asked):
            raise errors.TooManyClassesError("too many")

    with pytest.raises(
        errors.TooManyClassesError, match="column 'zip' alone has more than 500,000"
    ):
        margins_of(Refusing(pd.DataFrame(people(9))), None, ("zip",), ("zip",), ())
