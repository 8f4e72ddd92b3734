"""What a plan says of each column: against groups counted one by one, printed, stored and drawn."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import QIDS, people, with_options

import anonrisk
from anonrisk import Plan, errors
from anonrisk.measures.recode.regions import NumberRanges, Regions
from anonrisk.planning import outcome
from anonrisk.recode import Prefix

METHODS = ["full-domain", "multidimensional"]


def below(columns, k):
    """Count the records in classes below k, one by one."""
    keys = list(zip(*columns, strict=True))
    sizes = Counter(keys)
    return sum(sizes[key] < k for key in keys)


def cells(table, name):
    return table[name].astype(object).where(table[name].notna(), None).tolist()


def by_hand(table, plan):
    """Recode all columns but one, and then one after another."""
    names = list(plan.recodings)
    recoded = (
        {name: table.anon.generalize({name: r})[name] for name, r in plan.recodings.items()}
        if plan.regions is None
        else table.anon.apply(plan)
    )
    now = {name: cells(table, name) for name in names}
    then = {name: cells(pd.DataFrame({name: recoded[name]}), name) for name in names}
    least = below(then.values(), plan.k)
    helped = {}
    for name in names:
        mixed = [(now if other == name else then)[other] for other in names]
        helped[name] = below(mixed, plan.k) - least
    path, done = [], set()
    for step in plan.steps:
        done.add(step.column)
        path.append(below([(then if n in done else now)[n] for n in names], plan.k))
    return helped, path


@st.composite
def small_tables(draw):
    n = draw(st.integers(6, 50))

    def column(*values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    return pd.DataFrame(
        {
            "age": column(18, 19, 25, 31, 32, 52, 90),
            "code": column("101", "102", "111", "201", None),
            "sex": column("f", "m"),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(table=small_tables(), k=st.integers(1, 4))
def test_helped_and_the_way_are_as_counted_by_hand(method, table, k):
    plan = table.anon.plan(
        ["age", "code", "sex"], k, max_suppressed=1, options=anonrisk.PlanOptions(method=method)
    )
    helped, path = by_hand(table, plan)
    assert {step.column: step.helped for step in plan.steps} == helped
    assert [step.n_below for step in plan.steps] == path
    assert plan.steps[-1].n_below == plan.after.n_below
    falling = [plan.before.n_below, *path]
    assert falling == sorted(falling, reverse=True)
    shown = [step.helped for step in plan.steps]
    assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize("method", METHODS)
def test_whoever_counts_persons_or_asks_for_more_is_helped_by_that(method):
    table = pd.DataFrame(people(200))
    table["person"] = table["who"] % 120
    for goal in ({"ldiv": 3, "sensitive": "illness"}, {"unit": "person"}):
        plan = table.anon.plan(["age", "sex"], 3, **with_options(**goal, method=method))
        start, *_ = falling = [plan.before.n_below, *(step.n_below for step in plan.steps)]
        assert falling[-1] == plan.after.n_below < start
        (age,) = (step for step in plan.steps if step.column == "age")
        pytest.importorskip("matplotlib")
        says = "keeps to all goals, where" if "ldiv" in goal else "gets 3 persons or more, where"
        assert f"Every class {says} {start} records" in plan.plot().get_title(loc="left")
        # All that stays is age: with it as it was, what is broken now is broken still.
        assert age.helped == start - plan.after.n_below


@pytest.mark.parametrize("method", METHODS)
def test_the_same_on_every_engine(frame, method):
    plan = frame(people()).anon.plan(QIDS, 5, options=anonrisk.PlanOptions(method=method))
    here = pd.DataFrame(people()).anon.plan(QIDS, 5, options=anonrisk.PlanOptions(method=method))
    assert plan.steps == here.steps
    assert {step.column: step.values for step in plan.steps} == {
        "age": "whole numbers",
        "zip": "texts",
        "sex": "texts",
        "born": "dates",
    }


@pytest.mark.parametrize("more", [{}, {"loss": "private", "sensitive": "illness"}])
def test_the_losses_of_columns_add_up_to_that_of_the_plan(more):
    table = pd.DataFrame(people())
    plan = table.anon.plan(QIDS, 5, **with_options(max_suppressed=0, **more, method="full-domain"))
    assert plan.steps[-1].path_loss == pytest.approx(plan.after.loss)
    mean = sum(step.loss for step in plan.steps) / len(QIDS)
    assert mean == pytest.approx(plan.after.loss)
    rising = [plan.before.loss, *(step.path_loss for step in plan.steps)]
    assert rising == pytest.approx(sorted(rising))
    by_region = table.anon.plan(QIDS, 5, options=anonrisk.PlanOptions(method="multidimensional"))
    assert by_region.steps[-1].path_loss == pytest.approx(by_region.after.loss)


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_stored_and_old_plans_have_none(method):
    plan = pd.DataFrame(people()).anon.plan(QIDS, 5, options=anonrisk.PlanOptions(method=method))
    assert Plan.from_json(plan.to_json()).steps == plan.steps
    old = {key: value for key, value in json.loads(plan.to_json()).items() if key != "steps"}
    read = Plan.from_dict(old)
    assert read.steps == ()
    assert "helped:" not in repr(read)


def test_a_plan_says_from_what_to_what_and_whom_it_helps():
    table = pd.DataFrame(people(600))
    plan = table.anon.plan(["age", "sex"], 5, options=anonrisk.PlanOptions(method="full-domain"))
    step = {step.column: step for step in plan.steps}["age"]
    header, age = repr(plan).splitlines()[1:3]
    assert header.split() == ["column", "from", "to", "left", "loss", "helped"]
    words = age.split()
    assert words[:5] == ["age", "79", "whole", "numbers", str(plan.recodings["age"]).split()[0]]
    assert words[-1] == str(step.helped)
    assert words[-2] == f"{step.loss:.1%}"
    assert "helped: records in classes below 5 with this column" in repr(plan)
    assert "helped: records in classes below 5 with this column" in plan._repr_html_()


def test_by_region_it_says_where_a_column_is_told():
    table = pd.DataFrame({"age": [30, 30, 31, 31, 40, 40], "sex": list("ffmmfm")})
    plan = table.anon.plan(
        ["age", "sex"], 2, options=anonrisk.PlanOptions(method="multidimensional")
    )
    assert "ranges by region: &gt;=31, shown in 1 region<" in plan._repr_html_()


def test_by_region_missing_values_may_be_all_that_is_told():
    table = pd.DataFrame({"age": [None, 1, 2, None]})
    plan = table.anon.plan("age", 2, options=anonrisk.PlanOptions(method="multidimensional"))
    assert "all &#x27;*&#x27;, missing ones shown in 1 region<" in plan._repr_html_()
    done = table.anon.apply(plan)["age"]
    assert (done.isna().sum(), set(done.dropna())) == (2, {"rest of *"})


def test_by_region_numbers_together_with_missing_ones_are_a_star():
    ranges = NumberRanges((10.0, 20.0), whole=True)
    kinds = np.array([[[0, 3]], [[1, 3]], [[0, 2]]])
    plan = pd.DataFrame({"age": [None, 1, 2, None]}).anon.plan(
        "age", 2, options=anonrisk.PlanOptions(method="multidimensional")
    )
    starred = Regions({"age": ranges}, np.array([[0, 1, ~0, 1], [0, 2, ~1, ~2]]), kinds)
    made = dataclasses.replace(plan, recodings={"age": ranges}, regions=starred)
    assert ">all &#x27;*&#x27;<" in made._repr_html_()
    some = Regions({"age": ranges}, starred.cuts, np.array([[[0, 0]], [[1, 3]], [[0, 2]]]))
    told = dataclasses.replace(made, regions=some)._repr_html_()
    assert "ranges by region: &lt;10, shown in 1 region<" in told


def test_a_count_too_large_leaves_out_who_is_helped(monkeypatch):
    pytest.importorskip("matplotlib")
    table = pd.DataFrame(people())
    known = table.anon.plan(QIDS, 5, options=anonrisk.PlanOptions(method="full-domain"))
    monkeypatch.setattr(outcome, "MAX_WORK", 100)
    plan = table.anon.plan(QIDS, 5, options=anonrisk.PlanOptions(method="full-domain"))
    assert [(s.helped, s.n_below) for s in plan.steps] == [(None, None)] * len(QIDS)
    assert {s.column: s.loss for s in plan.steps} == {s.column: s.loss for s in known.steps}
    assert plan == dataclasses.replace(known, steps=plan.steps)
    assert "values now" in [text.get_text() for text in plan.plot().get_legend().get_texts()]
    with pytest.raises(errors.PlanError, match="draw kind='values'"):
        plan.plot(kind="path")


def test_the_picture_is_of_the_way_there():
    pytest.importorskip("matplotlib")
    plan = pd.DataFrame(people()).anon.plan(
        QIDS, 5, options=anonrisk.PlanOptions(method="full-domain")
    )
    ax = plan.plot()
    falling, rising = ax.get_lines()
    assert falling.get_xdata()[0] == pytest.approx(plan.before.n_below / 300)
    assert falling.get_xdata()[-1] == 0
    # What rises has its own axis on top, on which both end at the same place.
    assert rising.get_xdata()[-1] == max(falling.get_xdata())
    (top,) = ax.child_axes
    ax.figure.canvas.draw()
    scale = top.get_xlim()[1] / ax.get_xlim()[1]
    assert rising.get_xdata()[-1] * scale == pytest.approx(plan.after.loss)
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows[0] == "the table as it is"
    assert rows[-1] == f"{plan.after.n_below} records left out"
    changed = [s.column for s in plan.steps if s.loss]
    assert [row.split("\n")[0] for row in rows[1:-1]] == changed
    with pytest.raises(errors.ArgumentError, match="kind"):
        plan.plot(kind="way")


def test_a_plan_by_rule_has_no_steps_and_prints_what_becomes():
    assert "first character" in repr(Plan({"zip": Prefix(1)}))
