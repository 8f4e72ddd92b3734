"""Advice is what the gate says of a table after it: tried, with the plan to save, or not given."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import Policy, datasets
from anonrisk.cli import main
from anonrisk.policy import trial as trying

ADMISSIONS = ["pc4", "date_of_birth", "gender"]


def by_hand(policy, table, plan):
    """Judge a plan as anybody would: apply it, check the result."""
    return policy.check(anonrisk.apply(table, plan), n_original=len(table))


def value_of(verdict, finding):
    about = (finding.budget, finding.qid, finding.sensitive)
    (found,) = (f for f in verdict.findings if (f.budget, f.qid, f.sensitive) == about)
    return found.value


TABLES = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from("ab"), st.sampled_from("xyz")),
    min_size=1,
    max_size=12,
).map(lambda rows: pd.DataFrame(rows, columns=["age", "sex", "ill"]))


@pytest.mark.slow
@settings(max_examples=12)
@given(TABLES, st.integers(1, 4), st.sampled_from([1, 2]))
def test_what_is_said_of_a_plan_is_what_the_gate_says_of_it(table, k, distinct):
    policy = Policy(
        quasi=["age", "sex"], sensitive="ill", missing_sensitive="value", k=k, ldiv={"l": distinct}
    )
    verdict = policy.check(table)
    explained = verdict.explain()
    assert bool(explained.trials) == (verdict.status == "fail")
    for trial in explained.trials:
        if trial.plan is None or trial.status is None:
            assert trial.sentence not in (t.sentence for t in explained.trials if t.passed)
            continue
        after = by_hand(policy, table, trial.plan)
        assert trial.status == after.status
        assert {finding.budget for finding, _ in trial.changes} == {
            finding.budget for finding in verdict.failures
        }
        for finding, then in trial.changes:
            assert then.value == value_of(after, finding)
    if explained.plan is not None:
        assert by_hand(policy, table, explained.plan).passed
        assert all("the result passes" in step for step in explained.steps)
    elif verdict.status == "fail":
        assert not any("the result passes" in step for step in explained.advice())


@pytest.mark.slow
def test_a_step_that_does_not_reach_the_limit_is_no_advice():
    table = datasets.hospital(2_000).drop_duplicates("patient")[ADMISSIONS]
    policy = Policy(quasi=ADMISSIONS, max_unique_fraction=0.01)
    made = table.anon.report(policy=policy)
    drivers = made.to_dict()["drivers"]
    # The column that does most leaves more alone than the limit.
    assert drivers["rows"][0]["share"] > 0.1
    steps = made.to_dict()["verdict"]["next"]
    assert not any(drivers["rows"][0]["share_text"] in step for step in steps)
    plan = made.explanation.plan
    share = table.anon.apply(plan).anon.uniqueness(ADMISSIONS)
    assert share <= 0.01
    assert f"from {drivers['now_text']} to {share:.1%} (limit 1%)" in steps[0]
    restored = anonrisk.Plan.from_json(plan.to_json())
    assert by_hand(policy, table, restored).passed


def test_where_only_names_are_too_many_leaving_them_out_is_enough():
    table = pd.DataFrame({"zip": ["a", "a"], "sex": ["f", "f"], "name": ["x", "y"]})
    policy = Policy(quasi=["zip", "sex"], direct="name", k=2)
    explained = policy.check(table).explain()
    assert explained.steps == (
        "Leaving out name is enough, the result passes: direct from 1 to 0 (limit 0).",
    )
    assert list(table.anon.apply(explained.plan).columns) == ["zip", "sex"]


def test_several_budgets_are_helped_together():
    # Without `a` classes have two records, without `b` two illnesses: both are needed.
    table = pd.DataFrame(
        {"a": [1, 2, 1, 2], "b": [1, 1, 2, 2], "c": [0, 0, 0, 0], "ill": ["x", "x", "y", "y"]}
    )
    policy = Policy(
        quasi=["a", "b", "c"], sensitive="ill", missing_sensitive="error", k=2, ldiv={"l": 2}
    )
    explained = policy.check(table).explain()
    assert [trial.status for trial in explained.trials] == ["pass"] * len(explained.trials)
    dropped = explained.trials[-1]
    assert by_hand(policy, table, dropped.plan).passed
    assert json.loads(json.dumps(explained.to_dict()))["trials"][0]["status"] == "pass"


def test_where_nothing_helps_it_is_said_and_nothing_is_offered(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"zip": ["a", "b"], "sex": ["f", "m"]})
    policy = Policy(quasi=["zip", "sex"], k=3)
    explained = policy.check(table).explain()
    assert explained.plan is None
    assert explained.steps[0].startswith("No plan was found: ")
    nothing, *why = table.anon.report(policy=policy).to_dict()["verdict"]["next"]
    assert nothing == "Nothing that was tried lets this table pass."
    assert why == list(explained.steps)
    table.to_csv("t.csv", index=False)
    policy.save("p.json")
    assert main(["check", "t.csv", "--policy", "p.json"]) == 1
    assert "anonrisk plan" not in capsys.readouterr().out


@pytest.mark.parametrize("asked", [False, True])
def test_what_nobody_asked_for_is_not_tried_on_large_tables(tmp_path, capsys, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trying, "_MOST_ROWS", 3)
    table = pd.DataFrame({"zip": ["a", "b", "a", "b"], "sex": ["f", "m", "f", "f"]})
    policy = Policy(quasi=["zip", "sex"], k=2)
    made = table.anon.report(policy=policy)
    assert made.explanation is None
    (step,) = made.to_dict()["verdict"]["next"]
    assert step.startswith("Nothing was tried on this table.")
    table.to_csv("t.csv", index=False)
    policy.save("p.json")
    words = ["check", "t.csv", "--policy", "p.json"]
    assert main([*words, *(["--explain"] if asked else [])]) == 1
    out = capsys.readouterr().out
    assert ("# not tried: --explain tries it" in out) != asked
    assert ("# passes: k from 1 to 2 (limit 2)" in out) == asked


def test_the_plan_of_a_csv_is_that_of_the_command_it_offers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # As texts the ages would lose their last digit, as numbers they have edges anywhere.
    ages = [19, 20, 21, 38, 39, 40, 41, 62]
    pd.DataFrame({"age": ages, "sex": list("ffffmmmm")}).to_csv("t.csv", index=False)
    Policy(quasi=["age", "sex"], k=4).save("p.json")
    assert main(["check", "t.csv", "--policy", "p.json", "--json"]) == 1
    command, _, remark = json.loads(capsys.readouterr().out)["next_steps"][0].partition("  # ")
    assert main([*command.split()[1:], "--apply", "o.csv"]) == 0
    k = pd.read_csv("o.csv", dtype=str).anon.k(["age", "sex"])
    assert remark == f"passes: k from 1 to {k} (limit 4)"
    assert main(["report", "t.csv", "--policy", "p.json", "-o", "r.json"]) == 1
    page = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert f"k from 1 to {k} (limit 4)" in page["verdict"]["next"][0]


def test_what_leaves_another_doubt_is_no_advice():
    # Without `id` k is kept, and still nobody has said what `note` is.
    table = pd.DataFrame({"zip": list("aabb"), "id": [1, 2, 3, 4], "note": list("wxyz")})
    policy = Policy(quasi=["zip", "id"], k=2)
    explained = policy.check(table).explain()
    assert explained.plan is None
    assert by_hand(policy, table, explained.trials[-1].plan).status == "could_not_assess"
    doubt = "Leaving out id is not enough: the result does not pass (could_not_assess)."
    assert explained.steps[-1] == doubt
    nothing, *_ = table.anon.report(policy=policy).to_dict()["verdict"]["next"]
    assert nothing == "Nothing that was tried lets this table pass."


def test_columns_are_left_out_in_turn_until_the_time_is_over():
    table = pd.DataFrame(
        {"a": list("1234"), "b": list("xxyy"), "s": list("uvuv"), "t": list("uuvv")}
    )
    policy = Policy(quasi=["a", "b"], sensitive=["s", "t"], k=2, ldiv=2)
    verdict = policy.check(table)
    whole, some = verdict.explain(time_limit=60), verdict.explain(time_limit=1e-9)
    assert whole.columns == verdict.explain().columns
    assert len(whole.columns) > 0
    assert (some.columns, some.together) == ((), ())
    # What was measured beyond the limit is what is needed to say whether a plan is enough.
    assert some.trials
