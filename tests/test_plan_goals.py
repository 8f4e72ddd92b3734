"""Plans for goals: a policy's budgets, sensitive values, persons, several sets of columns."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import oracle
import oracle_goals
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from planned import people, with_options

import anonrisk
from anonrisk import Policy, errors
from anonrisk.datasets import hospital
from anonrisk.planning.class_rules import SensitiveGoal
from anonrisk.recode import Keep, Prefix, Star

COLUMNS = ("x", "y", "z")
OFFERED = {name: [Keep(), Prefix(1, width=2), Star()] for name in COLUMNS}
CODES = ["a1", "a2", "b1", "b2"]
DIVERSITIES = [
    None,
    {"l": 2, "variant": "distinct"},
    {"l": 1.8, "variant": "entropy"},
    {"l": 2, "variant": "recursive", "c": 3},
]
DISTANCES = [None, {"t": 0.45, "distance": "equal"}, {"t": 0.3, "distance": "ordered"}]
READY = ["cms_k11", "hipaa_style", "open_data", "research_k5"]


@st.composite
def tables(draw):
    """A small table of codes, an illness, a stage of it, and persons of several records."""
    n = draw(st.integers(6, 26))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    skew = np.array([5.0, 2.0, 1.0, 1.0]) / 9
    return pd.DataFrame(
        {
            **{name: random.choice(CODES, n, p=skew) for name in COLUMNS},
            "ill": random.choice(["flu", "cold", "hiv"], n),
            "stage": random.integers(1, 4, n),
            "who": random.integers(0, n, n),
        }
    )


@st.composite
def policies(draw):
    """A policy of one set of columns, or of several that overlap."""
    sets = draw(st.sampled_from([[COLUMNS], [("x", "y"), ("y", "z")], [("x",), COLUMNS]]))
    entries = []
    for columns in sets:
        budgets = {"k": draw(st.integers(1, 3))}
        ldiv, t = draw(st.sampled_from(DIVERSITIES)), draw(st.sampled_from(DISTANCES))
        if ldiv is not None:
            budgets["ldiv"] = {**ldiv, "sensitive": "ill"}
        if t is not None:
            budgets["tcloseness"] = {**t, "sensitive": "stage"}
        entries.append({"columns": list(columns), "budgets": budgets})
    if draw(st.booleans()):
        entries[0]["budgets"]["max_unique_fraction"] = 0.15
    unit = draw(st.sampled_from([None, "who"]))
    roles = {"quasi": list(COLUMNS), "sensitive": ["ill", "stage"], "unit": unit}
    return Policy(qids=entries, unlisted="ignore", missing_sensitive="value", **roles)


def rules_of(policy, *, strict):
    """The rules as the oracle has them."""
    rules = []
    for rule in policy.rules:
        k, goals = 1, []
        for budget in rule.budgets:
            if budget.name == "k":
                k = max(k, budget.limit)
            elif budget.name == "ldiv":
                goals.append(("ill", budget.variant, budget.limit, budget.c))
            elif budget.name == "tcloseness":
                goals.append(("stage", budget.distance, budget.limit, None))
            elif strict:
                k = max(k, 2)
        rules.append((rule.columns, k, goals))
    # Whatever order the rules are in, those of more columns are gone about first.
    return sorted(rules, key=lambda rule: -len(rule[0]))


def check_best(table, policy, share):
    """Compare with every combination of recodings; the table that comes of it passes."""
    rows = table.to_dict("records")
    unit = policy.roles.unit
    limited = [
        rule.columns for rule in policy.rules for b in rule.budgets if b.name.startswith("max_")
    ]
    wholes = [
        lambda kept, qid=qid: oracle.uniqueness(kept, qid, unit) <= 0.15 * (1 + 1e-9)
        for qid in limited
    ]
    variants = [rules_of(policy, strict=False), rules_of(policy, strict=True)]
    allowed = math.floor(share * len(rows) + 1e-9)
    least = oracle_goals.best(rows, COLUMNS, variants, wholes, allowed, unit)
    call = {"hierarchies": OFFERED, "max_suppressed": share, "loss": "range"}
    if least == math.inf:
        with pytest.raises((errors.PlanError, errors.ArgumentError)):
            table.anon.plan(policy, **with_options(**call, method="full-domain"))
        return
    plan = table.anon.plan(policy, **with_options(**call, method="full-domain"))
    assert plan.optimal
    assert plan.after.loss == pytest.approx(least, abs=1e-9)
    published = table.anon.apply(plan)
    assert len(published) == plan.after.n_records
    verdict = policy.check(published, n_original=len(table))
    assert verdict.passed, verdict
    assert {one.status for one in plan.budgets} == {"met"}
    assert plan == anonrisk.Plan.from_json(plan.to_json())


SHARES = st.sampled_from([0.0, 0.1, 0.35])


@pytest.mark.slow
@settings(max_examples=8)
@given(table=tables(), policy=policies(), share=SHARES)
def test_no_recoding_that_keeps_to_a_policy_is_better(table, policy, share):
    # What no table can fail is no gate, and passes none.
    assume(not policy.lint().errors)
    check_best(table, policy, share)


@pytest.mark.nightly
@settings(max_examples=200)
@given(table=tables(), policy=policies(), share=SHARES)
def test_no_recoding_that_keeps_to_any_policy_is_better(table, policy, share):
    # What no table can fail is no gate, and passes none.
    assume(not policy.lint().errors)
    check_best(table, policy, share)


@pytest.mark.slow
@settings(max_examples=12)
@given(table=tables(), policy=policies(), method=st.sampled_from(["multidimensional", "auto"]))
def test_regions_keep_to_a_policy_too(table, policy, method):
    # What no table can fail is no gate, and passes none.
    assume(not policy.lint().errors)
    try:
        plan = table.anon.plan(
            policy, hierarchies=OFFERED, options=anonrisk.PlanOptions(method=method)
        )
    except (errors.PlanError, errors.ArgumentError):
        return
    published = table.anon.apply(plan)
    assert len(published) == plan.after.n_records
    verdict = policy.check(published, n_original=len(table))
    assert verdict.passed, verdict
    assert {one.status for one in plan.budgets} == {"met"}


# ---- from a failed gate to a table that passes --------------------------------------------------


def filled_in(name, **roles):
    """A ready policy with the roles of a table."""
    ready = Policy.ready(name)
    direct = [*ready.roles.direct, *roles.pop("direct", ())]
    return ready.with_roles(direct=direct, **roles)


def admissions(n=600):
    table = hospital(n).rename(columns={"date_of_birth": "born"})
    table["name"] = [f"name {i}" for i in range(n)]
    return table


OF_ADMISSIONS = {
    "quasi": ["pc4", "born", "gender", "admission_date"],
    "sensitive": ["diagnosis"],
    "insensitive": ["cost"],
    "unit": "patient",
    "direct": ["name"],
}
OF_PEOPLE = {"quasi": ["age", "area", "sex", "born"], "sensitive": ["illness"], "direct": ["who"]}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full-domain", "multidimensional"])
@pytest.mark.parametrize("ready", READY)
def test_a_hospital_passes_every_ready_policy_in_two_calls(ready, method):
    roles = dict(OF_ADMISSIONS)
    if ready == "hipaa_style":
        # It has the name among its own.
        roles["direct"] = []
    table, policy = admissions(), filled_in(ready, **roles)
    assert policy.check(table).status == "fail"
    plan = table.anon.plan(policy, options=anonrisk.PlanOptions(method=method))
    published = table.anon.apply(plan)
    verdict = policy.check(published, n_original=len(table))
    assert verdict.passed, verdict
    assert plan.leave_out == ("name",)
    assert list(published.columns) == [name for name in table.columns if name != "name"]
    found = published.anon.classes(list(plan.qids), unit="patient")
    assert (plan.after.k, plan.after.n_persons) == (found.k, found.n_records)
    assert plan.after.average_risk == pytest.approx(found.risk().prosecutor.average)
    assert plan.after.highest_risk == pytest.approx(found.risk().prosecutor.highest)
    assert plan == anonrisk.Plan.from_json(plan.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("ready", READY)
def test_people_pass_every_ready_policy_in_two_calls(frame, ready):
    cells = people(240)
    # Of HIPAA's identifiers a ZIP code is one.
    cells["area"] = cells.pop("zip")
    table, policy = frame(cells), filled_in(ready, **OF_PEOPLE)
    assert policy.check(table).status == "fail"
    plan = anonrisk.plan(table, policy, options=anonrisk.PlanOptions(method="full-domain"))
    published = anonrisk.apply(table, plan)
    assert policy.check(published).passed
    assert {one.severity for one in plan.budgets if one.status != "met"} <= {"warn"}


def test_persons_and_several_sets_on_every_engine(frame):
    cells = people(120)
    cells["who"] = [i // 2 for i in cells["who"]]
    policy = Policy(
        quasi=["age", "zip", "sex"], sensitive="illness", unit="who", unlisted="ignore",
        qids=[
            {"columns": ["age", "sex"], "budgets": {"k": 6, "ldiv": {"l": 2}}},
            {
                "columns": ["zip", "sex"],
                "budgets": {"k": 3, "tcloseness": {"t": 0.5, "distance": "equal"}},
            },
        ],
        missing_sensitive="value",
    )  # fmt: skip
    table = frame(cells)
    plan = anonrisk.plan(
        table, policy, max_suppressed=0.2, options=anonrisk.PlanOptions(method="full-domain")
    )
    assert len(plan.rules) == 2
    published = anonrisk.apply(table, plan)
    assert policy.check(published).passed
    assert anonrisk.classes(published, ["age", "sex"], unit="who").n_rows == plan.after.n_records
    # The same whatever engine counts.
    plain = pd.DataFrame(cells)
    expected = plain.anon.plan(
        policy, max_suppressed=0.2, options=anonrisk.PlanOptions(method="full-domain")
    )
    assert (plan.after.k, plan.after.n_below) == (expected.after.k, expected.after.n_below)


# ---- single goals -------------------------------------------------------------------------------


def two_levels(n=60):
    random = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "x": random.choice(CODES, n),
            "ill": random.choice(["flu", "cold", "hiv"], n, p=[0.7, 0.2, 0.1]),
            "who": random.integers(0, 25, n),
        }
    )


def test_goals_by_keywords():
    table = two_levels()
    assert table.anon.plan("x").k == 5
    assert table.anon.plan("x", options=anonrisk.PlanOptions(risk=0.09)).k == 12
    assert table.anon.plan("x", k=7, options=anonrisk.PlanOptions(risk=0.2)).k == 7
    plan = table.anon.plan(
        "x", ldiv=3, sensitive="ill", options=anonrisk.PlanOptions(method="full-domain")
    )
    assert table.anon.apply(plan).anon.ldiv("x", "ill") >= 3
    assert plan.k == 1
    assert plan.after.scores == (table.anon.apply(plan).anon.ldiv("x", "ill"),)
    plan = table.anon.plan(
        "x",
        k=2,
        tcloseness=0.1,
        sensitive="ill",
        options=anonrisk.PlanOptions(distance="equal", method="full-domain"),
    )
    changed = table.anon.apply(plan)
    assert changed.anon.tcloseness("x", "ill", distance="equal") <= 0.1 * (1 + 1e-9)
    plan = table.anon.plan("x", k=8, unit="who")
    assert table.anon.apply(plan).anon.k("x", unit="who") >= 8
    assert "persons or more in every class" in repr(plan)
    declared = table.anon.declare(quasi="x", unit="who")
    assert declared.anon.plan(k=8) == plan


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda t: t.anon.plan(Policy(quasi="x", k=2), 5),
            "leave out qids, k, unit and",
        ),
        (
            lambda t: t.anon.plan("x", policy=Policy(k=2)),
            "leave out qids, k, unit and",
        ),
        (lambda t: t.anon.plan(policy=5), "a Policy or its file, not an int"),
        (lambda t: t.anon.plan("x", options=anonrisk.PlanOptions(risk=2)), "at most 1"),
        (lambda t: t.anon.plan("x", k=26, unit="who"), "larger than the table, which has 2"),
    ],
)
def test_goals_that_are_refused(call, text):
    with pytest.raises(errors.ArgumentError, match=text):
        call(two_levels())


def test_a_policy_may_be_a_file(tmp_path):
    path = tmp_path / "policy.json"
    policy = Policy(quasi="x", k=4, unlisted="ignore")
    policy.save(path)
    table = two_levels()
    expected = table.anon.plan(policy)
    assert table.anon.plan(path) == table.anon.plan(policy=str(path)) == expected


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"unlisted": "refuse"}, "2 columns have no role"),
        ({"reviewed": False}, "draft that nobody has reviewed"),
        ({"ldiv": {"l": 2}}, "neither the policy nor the table names one"),
        ({"missing": "error"}, "column x is missing in 1 row; the policy refuses that"),
        ({"missing": "drop", "max_dropped_fraction": 0.5}, "leaves these rows out"),
        ({"ldiv": {"l": 2}, "sensitive": "ill"}, "column ill is missing in 1 row; nobody has said"),
        (
            {"ldiv": {"l": 2}, "sensitive": "ill", "missing_sensitive": "error"},
            "column ill is missing in 1 row; the policy refuses that",
        ),
        (
            {"ldiv": {"l": 2}, "sensitive": "ill", "missing": "wildcard"},
            "missing='wildcard' lets classes overlap",
        ),
        ({"unit": "who", "missing": "wildcard"}, "counts records, not the persons of unit 'who'"),
        (
            {
                "tcloseness": {"t": 0.5, "distance": "ordered", "severity": "warn"},
                "sensitive": "ill",
                "missing_sensitive": "value",
            },
            "sensitive column 'ill' have no order of their own",
        ),
    ],
)
def test_what_no_plan_helps_against(keywords, text):
    table = two_levels()
    table.loc[0, ["x", "ill"]] = None
    policy = Policy(**{"quasi": "x", "k": 2, "unlisted": "ignore", **keywords})
    with pytest.raises(errors.NoPlanHelpsError, match=text):
        table.anon.plan(policy)
    # The gate says so too, whatever else it finds.
    assert "could_not_assess" in {one.status for one in policy.check(table).findings}


def test_a_missing_unit_is_an_error_with_its_number():
    table = two_levels()
    table["who"] = table["who"].astype("Int64")
    table.loc[:2, "who"] = pd.NA
    with pytest.raises(errors.MissingUnitError, match="missing in 3 rows"):
        table.anon.plan("x", unit="who")


def test_budgets_that_only_warn_are_told_and_not_paid_for():
    table = two_levels()
    within = {"t": 0.9, "distance": "equal", "severity": "warn"}
    beyond = {"k": {"at_least": 61, "severity": "warn"}}
    budgets = {"budgets": {"k": [4, beyond["k"]], "tcloseness": within}}
    policy = Policy(quasi="x", sensitive="ill", unlisted="ignore", **budgets)
    plan = table.anon.plan(policy, hierarchies={"x": [Keep(), Prefix(1, width=2)]})
    told = {(one.budget, one.limit): one.status for one in plan.budgets}
    assert told == {("k", 4): "met", ("k", 61): "missed", ("tcloseness", 0.9): "met"}
    text = repr(plan)
    assert "meets: k, tcloseness" in text
    assert "misses: k (only warns) is" in " ".join(text.split())
    assert policy.check(table.anon.apply(plan)).passed


def test_budgets_that_no_recoding_reaches_are_told():
    tree = {"any": {"airways": ["flu", "cold"], "blood": ["hiv"]}}
    budgets = {
        "k": 4,
        "tcloseness": {"t": 0.9, "distance": "hierarchical", "hierarchies": tree},
        "predicted_singletons": {"group_size": 20, "at_most": 19},
        "max_suppressed": 0.05,
    }
    policy = Policy(quasi="x", sensitive="ill", unlisted="ignore", budgets=budgets)
    plan = two_levels().anon.plan(policy, max_suppressed=0.5)
    told = {one.budget: one.status for one in plan.budgets}
    assert told.pop("tcloseness") == "not planned"
    assert set(told.values()) == {"met"}
    assert plan.max_suppressed == 0.05
    assert "not planned: tcloseness" in repr(plan)


def test_groups_are_kept_apart():
    table = two_levels(200)
    table["ward"] = np.random.default_rng(1).choice(["a", "b", "c"], 200)
    policy = Policy(quasi="x", by="ward", unlisted="ignore", k=5, max_unique_fraction=0.1)
    plan = table.anon.plan(policy)
    published = table.anon.apply(plan)
    assert policy.check(published).passed
    assert set(published["ward"]) == {"a", "b", "c"}
    assert plan.recodings["ward"] == Keep()


def test_a_plan_about_persons_or_values_is_no_code():
    for plan in (
        two_levels().anon.plan("x", k=3, unit="who"),
        two_levels().anon.plan(
            "x", ldiv=2, sensitive="ill", options=anonrisk.PlanOptions(method="full-domain")
        ),
    ):
        with pytest.raises(errors.PlanError, match="store it with to_json"):
            plan.to_sql()


def test_another_table_that_breaks_the_rules_is_refused():
    table = two_levels()
    plan = table.anon.plan(
        "x",
        ldiv=3,
        sensitive="ill",
        max_suppressed=0,
        options=anonrisk.PlanOptions(method="full-domain"),
    )
    with pytest.raises(errors.PlanError, match="that break distinct ldiv of ill at least 3"):
        table[table["ill"] != "hiv"].anon.apply(plan)


def test_regions_do_not_go_by_groups():
    table = two_levels().assign(ward=["a", "b"] * 30)
    policy = Policy(quasi="x", k=2, by="ward", unlisted="ignore")
    with pytest.raises(errors.PlanError, match=r"'ward' stays as it is.*method='full-domain'"):
        table.anon.plan(policy, options=anonrisk.PlanOptions(method="multidimensional"))
    assert policy.check(table.anon.apply(table.anon.plan(policy))).passed


@pytest.mark.parametrize("method", ["auto", "full-domain"])
def test_a_table_of_which_nothing_is_left_is_no_plan(method):
    table = two_levels(3)
    must = Policy(quasi="x", k=5, unlisted="ignore")
    should = Policy(
        quasi="x", k={"at_least": 5, "severity": "warn"}, max_unique_records=3, unlisted="ignore"
    )
    with pytest.raises(errors.PlanError, match="no record would be left"):
        table.anon.plan(must, max_suppressed=1, options=anonrisk.PlanOptions(method=method))
    plan = table.anon.plan(should, max_suppressed=1, options=anonrisk.PlanOptions(method=method))
    assert [one.status for one in plan.budgets if one.budget == "k"] == ["missed"]
    assert should.check(table.anon.apply(plan)).passed


def test_a_goal_implies_itself_and_what_is_weaker():
    for score, limits in (("distinct", (3, 2)), ("equal", (0.1, 0.2))):
        strict, weak = (SensitiveGoal("ill", score, limit) for limit in limits)
        assert strict.implies(strict)
        assert strict.implies(weak)
        assert not weak.implies(strict)
        assert not strict.implies(dataclasses.replace(strict, column="job"))


def test_a_budget_says_why_only_where_it_is_missed():
    table = pd.DataFrame({"x": list("aabb"), "ill": list("xxyy")})
    policy = anonrisk.Policy(quasi=["x"], sensitive=["ill"], k=2, ldiv={"l": 3, "severity": "warn"})
    met, missed = table.anon.plan(policy).budgets
    assert (met.status, met.why) == ("met", "")
    assert missed.status == "missed"
    assert missed.why.startswith("the plan gives up no detail for it")


def test_a_budget_that_no_size_is_needed_for_asks_for_none():
    table = pd.DataFrame({"x": list("abcd") + ["e"] * 20})
    policy = anonrisk.Policy(quasi=["x"], risk={"marketer": {"average": 0.9}})
    plan = table.anon.plan(policy)
    assert (plan.k, plan.after.n_records, plan.recodings["x"]) == (1, 24, Keep())


def predicted(**more):
    singletons = {"group_size": 40, "at_most": 5}
    return Policy(quasi=["zip", "sex", "age"], k=2, predicted_singletons=singletons, **more)


def town(n=1500):
    random = np.random.default_rng(5)
    columns = {"zip": random.choice(list("abcd"), n), "sex": random.choice(list("fm"), n)}
    return pd.DataFrame({**columns, "age": random.integers(20, 60, n)})


def test_two_alike_in_the_table_may_be_alone_in_another_group():
    table = town().assign(ward=np.arange(1500) % 2)
    plan = table.anon.plan(policy=predicted(by="ward"))
    told = {item.budget: item.status for item in plan.budgets}
    assert told == {"k": "met", "predicted_singletons": "not planned"}
    assert "not planned: predicted_singletons, the limit is 5: no size" in " ".join(
        repr(plan).split()
    )
    none = {"group_size": 40, "at_most": 0}
    policy = Policy(quasi=["zip", "sex", "age"], k=2, predicted_singletons=none)
    assert policy.check(town().anon.apply(town().anon.plan(policy))).passed


@pytest.mark.parametrize(
    "budget",
    [
        {"predicted_singletons": {"group_size": 40, "at_most": 30}},
        {"population_unique_fraction": {"population_size": 100_000, "at_most": 0.01}},
    ],
)
def test_a_plan_that_is_to_tell_of_others_leaves_nobody_out(budget):
    policy = Policy(quasi=["zip", "sex", "age"], k=2, **budget)
    plan = town().anon.plan(
        policy, max_suppressed=0.02, options=anonrisk.PlanOptions(method="full-domain")
    )
    assert {item.status for item in plan.budgets} == {"met"}
    assert town().anon.apply(plan, policy=policy).shape == (1500, 3)


def test_a_budget_that_is_missed_for_no_known_reason_ends_with_its_limit():
    plan = town().anon.plan(predicted())
    missed = dataclasses.replace(plan.budgets[0], status="missed", why="")
    text = repr(dataclasses.replace(plan, budgets=(missed,)))
    assert re.search(r"misses: k is \d+, and the limit is 2\n", text)
