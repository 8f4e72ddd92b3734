"""Searches with a clock: what they give when the time is up, and that more time changes nothing."""

from __future__ import annotations

import itertools
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import PlanOptions, Policy, errors
from anonrisk.core.progress import limited, time_is_up
from anonrisk.engines.numpy.tally import tally
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.measures.recode import Star
from anonrisk.planning.lattice import full_domain
from anonrisk.planning.lattice.lattice import Lattice
from anonrisk.planning.lattice.offer import offer
from tests.test_interrupt import PEOPLE, scores_after

# Over before anything has begun; and never.
NOW, NEVER = 1e-9, 1e9
WHOLE, REGIONS = "full-domain", "multidimensional"


def people(n=300):
    random = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "age": random.integers(18, 90, n),
            "area": [f"{a:04}" for a in random.integers(1000, 1060, n)],
            "job": random.choice(list("abcdefgh"), n),
            "ill": random.choice(["flu", "cold", "hiv"], n, p=[0.7, 0.2, 0.1]),
        }
    )


QIDS = ["age", "area", "job"]


@pytest.mark.parametrize("method", ["auto", WHOLE, REGIONS])
def test_a_plan_of_no_time_keeps_to_k_and_says_that_it_is_partial(method):
    table = people()
    every = table.anon.plan(QIDS, 5, options=PlanOptions(method=method))
    plan = table.anon.plan(QIDS, 5, options=PlanOptions(method=method, time_limit=NOW))
    assert plan.partial
    assert not every.partial
    assert plan.after.loss > every.after.loss
    assert json.loads(plan.to_json())["partial"] is True
    for text in (repr(plan), plan._repr_html_(), anonrisk.Plan.from_json(plan.to_json()).note):
        assert "time_limit= ended" in " ".join(text.split())
    assert "PARTIAL: stopped" in " ".join(repr(plan).split())
    assert table.anon.apply(plan).anon.k(QIDS) >= 5


@pytest.mark.parametrize("method", ["auto", WHOLE, REGIONS])
def test_a_limit_that_is_not_reached_changes_nothing(method):
    table = people()
    plans = [
        table.anon.plan(QIDS, 5, options=PlanOptions(method=method, time_limit=limit))
        for limit in (None, NEVER)
    ]
    assert plans[0] == plans[1]
    assert plans[0].to_json() == plans[1].to_json()


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=4, max_size=30),
    st.integers(2, 4),
    st.sampled_from([NOW, NEVER]),
)
def test_the_gap_holds_the_best_of_all_combinations(rows, k, limit):
    table = pd.DataFrame(rows, columns=["x", "y"])
    lattice, whole = lattices(table, k)
    nodes = itertools.product(*map(range, whole.shape))
    allowed = len(table) // 5
    measured = [whole.measure(node) for node in nodes]
    fit = [one.loss for one in measured if one.holds and one.n_below <= allowed]
    with limited(limit):
        found = full_domain.search(lattice, allowed)
    if found.best is None:
        assert not fit or limit == NOW
        return
    assert found.best.loss - found.gap <= min(fit) + 1e-9 <= found.best.loss + 2e-9
    assert limit == NOW or found.gap == 0


def test_the_gap_of_a_lattice_too_large_to_be_searched_holds_too(monkeypatch):
    table = people(120)
    best = table.anon.plan(QIDS, 4, options=PlanOptions(method=WHOLE))
    assert best.optimal
    monkeypatch.setattr(full_domain, "MAX_NODES", 10)
    plan = table.anon.plan(QIDS, 4, options=PlanOptions(method=WHOLE))
    assert plan.after.loss - plan.proven_gap <= best.after.loss <= plan.after.loss
    assert 0 < plan.proven_gap < plan.after.loss


def lattices(table, k):
    """Make the same lattice twice."""
    counted = tally(PandasTable(table), dict.fromkeys(table, "q"))
    offered = {
        name: offer(
            counted.domains[name], counted.margin(name), k=k, share=3, recodings=None, column=name
        )
        for name in table
    }
    return Lattice.of(counted, offered, k), Lattice.of(counted, offered, k)


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=3, max_size=60), st.integers(2, 5))
def test_small_classes_are_counted_as_nodes_are_measured(rows, k):
    table = pd.DataFrame(rows, columns=["x", "y", "z"])
    lattice, _ = lattices(table, k)
    for node in itertools.product(*map(range, lattice.shape)):
        assert lattice.n_surely_below(node) == lattice.measure(node).n_below


def test_a_first_plan_that_is_the_best_is_not_partial():
    plan = pd.DataFrame({"x": [1] * 9}).anon.plan(
        "x", 5, options=PlanOptions(method=WHOLE, time_limit=NOW)
    )
    assert (plan.partial, plan.optimal, plan.proven_gap) == (False, True, 0)


@pytest.mark.parametrize("value", [0, -1, math.nan, "1", True])
def test_a_limit_is_a_number_above_zero(value):
    table = people(20)
    for call in (
        lambda: PlanOptions(time_limit=value),
        lambda: table.anon.find_qids(time_limit=value),
        lambda: table.anon.suda(QIDS, time_limit=value),
        lambda: table.anon.explore(QIDS, time_limit=value),
        lambda: table.anon.plan(QIDS).prices(table, time_limit=value),
    ):
        with pytest.raises(
            errors.ArgumentError, match="time_limit must be a finite number above 0"
        ):
            call()


def test_an_outer_limit_holds_inside():
    with limited(NOW), limited(NEVER) as inner:
        assert time_is_up("work")
    assert list(inner.cut_short) == ["work"]
    with limited(NEVER), limited(None) as inner:
        assert not time_is_up("work")
    assert not inner.cut_short
    assert not time_is_up()


# ---- other searches ------------------------------------------------------------------------------


def test_sets_decided_in_no_time_and_in_any():
    every = anonrisk.find_qids(PEOPLE, alpha=0.3)
    assert anonrisk.find_qids(PEOPLE, alpha=0.3, time_limit=NEVER).to_dict() == every.to_dict()
    first = anonrisk.find_qids(PEOPLE, alpha=0.3, time_limit=NOW)
    assert first.partial
    assert first.n_settled < first.n_sets
    with pytest.raises(errors.ArgumentError, match="write time_limit="):
        anonrisk.find_qids(PEOPLE, time_budget=3)


def test_scores_of_the_sets_that_there_was_time_for():
    first = anonrisk.suda(PEOPLE, list(PEOPLE), 3, time_limit=NOW)
    scores, numbers = scores_after(PEOPLE, 3, 1)
    assert first.scores.tolist() == scores
    assert first.records["minimal_uniques"].tolist() == numbers
    assert (first.partial, first.n_decided, first.n_sets) == (True, 1, 14)
    assert first.to_dict()["partial"] is True
    assert "PARTIAL: stopped: 1 of 14 sets decided" in repr(first)
    every = anonrisk.suda(PEOPLE, list(PEOPLE), 3)
    assert anonrisk.suda(PEOPLE, list(PEOPLE), 3, time_limit=NEVER).to_dict() == every.to_dict()
    assert not every.partial


def test_a_query_that_no_clock_ends_takes_no_limit(tmp_path):
    sa = pytest.importorskip("sqlalchemy")
    engine = sa.create_engine(f"sqlite:///{tmp_path / 't.db'}")
    PEOPLE.to_sql("t", engine, index=False)
    table = anonrisk.sql.table(engine, "t")
    with pytest.raises(errors.ArgumentError, match="which scores all sets at once"):
        table.anon.suda(list(PEOPLE), time_limit=5)


def combination(summary, levels):
    shape = [len(column["levels"]) for column in summary["columns"]]
    place = int(np.ravel_multi_index(levels, shape))
    counts = {key: summary["counts"][key][place] for key in ("alone", "below", "smallest")}
    about = [
        {key: one[key][place] for key in ("l", "t") if key in one} for one in summary["sensitive"]
    ]
    return counts, about


def test_an_explorer_has_all_combinations_of_the_levels_that_there_was_time_for():
    table = people()
    every = table.anon.explore(QIDS, sensitive="ill").to_dict()
    short = table.anon.explore(QIDS, sensitive="ill", time_limit=NOW)
    first = short.to_dict()
    assert (every["partial"], first["partial"]) == (False, True)
    gone = [one for one in first["left_out"] if "time_limit=" in one["why"]]
    names = {c["name"]: [level["label"] for level in c["levels"]] for c in every["columns"]}
    kept = {c["name"]: [level["label"] for level in c["levels"]] for c in first["columns"]}
    assert sum(map(len, names.values())) == sum(map(len, kept.values())) + len(gone)
    assert all(labels == [names[c][0], names[c][-1]] for c, labels in kept.items())
    for levels in itertools.product(*(range(len(labels)) for labels in kept.values())):
        same = [0 if i == 0 else len(names[c]) - 1 for i, c in zip(levels, kept, strict=True)]
        assert combination(first, levels) == combination(every, same)
    for text in (repr(short), short._repr_html_(), short.to_html()):
        assert "PARTIAL" in text
        assert "time_limit=" in text


def test_an_explorer_has_a_time_limit_unless_told_otherwise(monkeypatch):
    table = people()
    # As if the minute were over as soon as it began.
    monkeypatch.setattr(anonrisk.core.progress, "monotonic", iter(range(0, 10**6, 61)).__next__)
    short = table.anon.explore(QIDS)
    assert short.summary["partial"]
    every = table.anon.explore(QIDS, time_limit=NEVER)
    assert not every.summary["partial"]
    missing = len(every.summary["counts"]["below"]) - len(short.summary["counts"]["below"])
    assert f"{missing:,} combinations of levels that are listed" in " ".join(repr(short).split())


# ---- what only warns, and prices -----------------------------------------------------------------


def policy(severity, *, k=5, **more):
    asked = {"t": 0.2, "distance": "equal", "severity": severity}
    return Policy(
        quasi=QIDS, sensitive="ill", missing_sensitive="value", k=k, tcloseness=asked, **more
    )


def test_no_detail_is_given_up_for_what_only_warns():
    table = people()
    options = PlanOptions(method=WHOLE)
    plan = table.anon.plan(policy("warn"), options=options)
    without = table.anon.plan(QIDS, 5, options=options)
    assert (plan.recodings, plan.after.loss) == (without.recodings, without.after.loss)
    k, t = plan.budgets
    assert (k.status, t.status, t.severity) == ("met", "missed", "warn")
    published = table.anon.apply(plan)
    assert t.value == pytest.approx(published.anon.tcloseness(QIDS, "ill", distance="equal"))
    assert "plan.prices(frame)" in t.why
    assert policy("warn").check(published).passed
    assert not policy("fail").check(published).passed


def test_the_limit_of_suppression_that_only_warns_limits_nothing():
    table = people()
    budgets = {"k": 5, "max_suppressed": {"at_most": 0, "severity": "warn"}}
    warned = Policy(quasi=QIDS, unlisted="ignore", budgets=budgets)
    plan = table.anon.plan(warned, options=PlanOptions(method=WHOLE), max_suppressed=0.1)
    assert plan.max_suppressed == 0.1
    assert plan.after.n_below
    (gone,) = (one for one in plan.budgets if one.budget == "max_suppressed")
    assert (gone.status, gone.value) == ("missed", plan.after.n_below / len(table))


def test_a_policy_that_only_warns_needs_no_plan():
    asked = Policy(quasi=QIDS, unlisted="ignore", k={"at_least": 5, "severity": "warn"})
    with pytest.raises(errors.NoPlanHelpsError, match="every budget of the policy only warns"):
        people().anon.plan(asked)


@pytest.mark.slow
@pytest.mark.parametrize("method", [WHOLE, "auto"])
def test_a_price_is_the_loss_of_the_plan_that_would_be_made(method):
    table, options = people(), PlanOptions(method=method)
    plan = table.anon.plan(policy("warn"), options=options)
    prices = plan.prices(table)
    by_hand = {
        "tcloseness of ill within 0.2": table.anon.plan(policy("fail"), options=options),
        "k = 10": table.anon.plan(policy("warn", k=10), options=options),
        **{
            f"{name} left out": table.anon.plan(
                policy("warn"), options=options, hierarchies={name: [Star()]}
            )
            for name in QIDS
        },
    }
    assert [price.what for price in prices.prices] == list(by_hand)
    for price, made in zip(prices.prices, by_hand.values(), strict=True):
        assert price.loss == made.after.loss
        assert dict(price.by_column) == {step.column: step.loss for step in made.steps}
        assert (price.n_suppressed, price.partial, price.why) == (made.after.n_below, False, "")
    assert prices.planned.loss == plan.after.loss
    assert not prices.partial
    shown = prices.to_frame()
    assert shown["what"].tolist() == ["as planned", *by_hand]
    assert json.loads(json.dumps(prices.to_dict()))["prices"][1]["what"] == "k = 10"


def test_prices_of_no_time_say_what_was_not_searched():
    table = people()
    prices = table.anon.plan(policy("warn")).prices(table, time_limit=NOW)
    first, *others = prices.prices
    assert (first.loss is not None, first.partial) == (True, True)
    assert {(one.loss, one.partial) for one in others} == {(None, True)}
    text = " ".join(repr(prices).split())
    assert "PARTIAL: the time was over; 1 of 5 lines were searched" in text
    assert text.count("not searched: the time was over") == 4
    assert prices.to_dict()["partial"] is True


def test_what_cannot_be_had_has_no_price():
    table = people(12)
    (larger, *_) = table.anon.plan(QIDS, 8).prices(table).prices
    assert (larger.what, larger.loss) == ("k = 16", None)
    assert larger.why


def test_prices_are_of_plans_that_were_searched():
    table = people()
    options = PlanOptions(loss=lambda sizes, _: float((sizes**2).sum()) / len(table) ** 2)
    plan = table.anon.plan(QIDS, options=options)
    for read in (anonrisk.Plan.from_json(plan.to_json()), pickle.loads(pickle.dumps(plan))):
        assert read == plan
        with pytest.raises(errors.PlanError, match="make it again"):
            read.prices(table)


# ---- command line --------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    from anonrisk.cli import main

    monkeypatch.chdir(tmp_path)
    people().to_csv("t.csv", index=False)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, capsys.readouterr().out

    return run


def test_the_command_line_has_limits_too(command, tmp_path):
    asked = ("t.csv", "--qids", *QIDS, "--time-limit", NOW)
    code, out = command("plan", *asked, "--apply", "out.csv", "--json")
    assert (code, json.loads(out)["partial"]) == (0, True)
    published = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert published.anon.k(QIDS) >= 5, "whoever sets a limit wants what it gives"
    code, out = command("explore", *asked, "-o", "e.json")
    assert (code, "PARTIAL" in out) == (0, True)
    code, out = command("find-qids", *asked, "--alpha", 0.9, "--fail-if-found")
    assert (code, out.startswith("could not assess")) == (3, True)
