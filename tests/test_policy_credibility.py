"""`credibility`: a gate that knows the plan and the table that it was made for."""

from __future__ import annotations

import dataclasses
import math

import pandas as pd
import pytest
from test_doors import by_command, by_suite
from test_plan_attack import SMALL, by_trying

import anonrisk
from anonrisk import Plan, PlanOptions, Policy, recode
from anonrisk.cli import main
from anonrisk.errors import ArgumentError, PolicyError, ReleaseBlocked
from anonrisk.planning import knows_method

HIV = pd.DataFrame({"q": list("aabbbbb"), "s": ["HIV", "HIV", "d1", "d2", "d3", "d4", "d5"]})
BY_REGION = PlanOptions(method="multidimensional")


def asking(limit=0.5, **more):
    return Policy(**{"quasi": "q", "sensitive": "s", "credibility": limit, **more})


def planned(table=HIV, qids="q", **goals):
    goals = goals or {"k": 2, "ldiv": 2, "sensitive": "s"}
    return table.anon.plan(qids, options=BY_REGION, **goals)


def cells_of(table):
    return table.astype(object).where(table.notna(), None).to_dict("list")


def about(verdict, sensitive="s"):
    (finding,) = (
        item
        for item in verdict.findings
        if (item.budget, item.sensitive) == ("credibility", sensitive)
    )
    return finding


def judged(limit=0.5, table=HIV, plan=None, release=None, policy=None):
    """The finding about a release of a table."""
    plan = plan or planned(table)
    release = table.anon.apply(plan) if release is None else release
    return about((policy or asking(limit)).check(release, plan=plan, original=table))


# ---- what is known ---------------------------------------------------------------------------


def test_the_release_that_names_who_has_hiv_fails_though_its_classes_are_diverse():
    assert Policy(quasi="q", sensitive="s", k=7, ldiv=6).check(HIV.anon.apply(planned())).passed
    finding = judged()
    assert (finding.status, finding.value, finding.limit) == ("fail", 1, 0.5)
    assert "100.0% credible of somebody (exact; 28.6% by the table alone)" in finding.sentence
    assert not {"HIV", "d1"} & {*finding.sentence.split()}


def test_a_plan_that_does_not_look_tells_what_the_table_tells():
    finding = judged(plan=planned(k=4))
    assert (finding.status, finding.value) == ("pass", pytest.approx(2 / 7))


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["one column", "a class that parts", "numbers", "two columns"])
def test_the_number_is_that_of_trying_every_table(cells):
    table = pd.DataFrame(SMALL[cells])
    qids = [name for name in table if name != "s"]

    def make(frame):
        return planned(frame, qids, k=2, ldiv=2, sensitive="s")

    expected = max(by_trying(table, make))
    for limit in (expected - 0.01, expected):
        policy = asking(limit, quasi=qids)
        finding = judged(table=table, plan=make(table), policy=policy)
        assert finding.value == pytest.approx(expected)
        assert finding.passed == (limit == expected)


@pytest.mark.parametrize("kept", [True, False])
def test_apply_gives_back_only_what_the_policy_passes(frame, kept):
    table = frame(cells_of(HIV))
    plan = anonrisk.plan(
        table, "q", **({"k": 4} if kept else {"k": 2, "ldiv": 2, "sensitive": "s"})
    )
    if kept:
        assert anonrisk.k(anonrisk.apply(table, plan, policy=asking()), "q") == 7
        return
    with pytest.raises(ReleaseBlocked) as blocked:
        anonrisk.apply(table, plan, policy=asking())
    finding = about(blocked.value.verdict)
    assert (finding.status, finding.value) == ("fail", 1)


@pytest.mark.slow
def test_every_sensitive_column_is_judged_or_those_that_are_named():
    table = HIV.assign(drug=["yes", "yes", *["no"] * 5])
    plan, policy = planned(table), asking(0.9, sensitive=["s", "drug"])
    verdict = policy.check(table.anon.apply(plan), plan=plan, original=table)
    # Who is known to have HIV is known to take the drug; the others are known not to.
    assert {name: about(verdict, name).value for name in ("s", "drug")} == {"s": 1, "drug": 1}
    one = asking({"at_most": 0.9, "sensitive": ["drug"]}, sensitive=["s", "drug"])
    verdict = one.check(table.anon.apply(plan), plan=plan, original=table)
    assert [item.sensitive for item in verdict.findings] == ["drug"]


def test_a_table_is_attacked_once_for_all_limits(monkeypatch):
    seen, attack = [], Plan.attack
    monkeypatch.setattr(Plan, "attack", lambda *a, **k: seen.append(1) or attack(*a, **k))
    plan = planned(k=4)
    policy = asking([{"at_most": 0.5}, {"at_most": 0.2, "severity": "warn"}])
    verdict = policy.check(HIV.anon.apply(plan), plan=plan, original=HIV)
    assert (verdict.status, len(verdict.warnings), len(seen)) == ("pass", 1, 1)


# ---- bounds ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bound_decides_only_where_it_can():
    # 40 of each age, and 12 of them all have x: 15% by the table, at most 30% by any method.
    others = list("abcdefghijklmnopq" * 4)
    table = pd.DataFrame({"q": [1, 2] * 40, "s": ["x"] * 12 + others}).sort_values("q")
    plan = planned(table, k=60, ldiv=3, sensitive="s")
    found = {limit: judged(limit, table, plan).status for limit in (0.3, 0.29, 0.15, 0.14)}
    expected = {0.3: "pass", 0.29: "could_not_assess", 0.15: "could_not_assess", 0.14: "fail"}
    assert found == expected
    finding = judged(0.2, table, plan)
    assert (finding.value, finding.estimate) == (pytest.approx(0.3), pytest.approx(0.15))
    assert "30.0% credible of somebody (an upper bound; 15.0% by the table" in finding.sentence


@pytest.mark.parametrize("limit", [0.3, 0.9, 0.999_999])
def test_what_is_not_bounded_never_passes(limit, monkeypatch):
    monkeypatch.setattr(knows_method, "_MOST_CELLS", 0)
    finding = judged(limit)
    assert (finding.status, finding.value) == ("could_not_assess", None)
    assert "2 of 7 persons are not bounded" in finding.sentence
    finding = judged(0.2)
    assert (finding.status, finding.value) == ("fail", pytest.approx(2 / 7))


@pytest.mark.parametrize("number", ["highest", "by_release"])
def test_a_number_that_is_none_never_passes(number, monkeypatch):
    plan = planned(k=4)
    attack = plan.attack(HIV, sensitive="s")
    (known,) = attack.credibility
    known = dataclasses.replace(known, **{number: math.nan})
    broken = dataclasses.replace(attack, credibility=(known,))
    monkeypatch.setattr(Plan, "attack", lambda *_, **__: broken)
    assert judged(0.999, plan=plan).status == "could_not_assess"


def test_certainty_is_no_limit():
    (remark,) = (item for item in asking(1).lint().remarks if item.what == "vacuous")
    assert "credibility" in remark.sentence
    assert not judged_alone(1).passed


@pytest.mark.parametrize("wrong", [True, None, "half"])
def test_what_is_no_number_is_answered_with_a_usual_one(wrong):
    with pytest.raises(PolicyError, match=r"write credibility: 0\.5"):
        asking(wrong)


def judged_alone(limit):
    plan = planned()
    return asking(limit).check(HIV.anon.apply(plan), plan=plan, original=HIV)


# ---- where nobody can tell -------------------------------------------------------------------


def test_a_table_alone_does_not_tell():
    finding = about(asking().check(HIV.anon.apply(planned())))
    assert (finding.status, finding.value) == ("could_not_assess", None)
    assert "in Python, give check(df, plan=plan, original=…)" in finding.sentence


OTHERS = {
    "the original": (HIV, "7 rows in 1 class, and this table has 7 in 2"),
    "fewer rows": (HIV.assign(q="*").iloc[1:], "and this table has 6 in 1"),
    "other values": (HIV.assign(q="*", s="HIV"), "other sensitive values"),
    "more diverse": (HIV.assign(q="*", s=range(7)), "other sensitive values"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_table_than_the_plan_makes_never_passes(what):
    release, why = OTHERS[what]
    finding = judged(plan=planned(k=4), release=release)
    assert finding.status == "could_not_assess"
    assert why in finding.sentence


# As many rows, classes and values of them as the plan makes, and yet another table.
CUTS = pd.DataFrame({
    "q": [1] * 4 + [2] * 2 + [3] * 4 + [4] * 4,
    "s": ["x", "y", "z", "u", "HIV", "HIV", *"abcdeefg"],
})  # fmt: skip


def cut(*sets, **goals):
    offered = [recode.Bins(edges, whole=True) for edges in sets]
    return CUTS.anon.plan("q", k=2, max_suppressed=0, hierarchies={"q": offered}, **goals)


@pytest.mark.parametrize("what", ["another plan", "other labels", "other values"])
def test_a_table_of_the_same_counts_never_passes(what, frame):
    plan, looking = cut((2, 4)), cut((2, 3, 4), (3, 4), ldiv=2, sensitive="s")
    made = CUTS.anon.apply(plan)
    releases = {
        "another plan": CUTS.anon.apply(looking),
        "other labels": made.assign(q=made["q"] + "!"),
        "other values": made.assign(s=made["s"].replace("HIV", "gout")),
    }
    policy = asking(k=4)
    shuffled = made.sample(frac=1, random_state=1, ignore_index=True)
    assert policy.check(shuffled, plan=plan, original=CUTS).passed
    finding = about(policy.check(frame(cells_of(releases[what])), plan=plan, original=CUTS))
    assert finding.status == "could_not_assess"
    assert "check what apply(original, plan) returns" in finding.sentence


def test_a_release_is_compared_across_engines(frame):
    table = pd.DataFrame({"q": [1, 1, 2, 2, None], "s": [1.5, 2, 3, None, 5]})
    plan = table.anon.plan("q", k=1)
    policy = asking(1, k=1, missing_sensitive="value")
    verdict = policy.check(frame(cells_of(table.anon.apply(plan))), plan=plan, original=table)
    assert about(verdict).status == "pass"


def test_values_that_have_no_order_are_not_compared():
    table = HIV.assign(s=[text.encode() for text in HIV["s"]])
    finding = judged(table=table, plan=planned(table, k=4))
    assert finding.status == "could_not_assess"
    assert (
        "'s' cannot be compared with those that the plan makes: write them as" in finding.sentence
    )


def test_another_original_never_passes():
    plan = planned()
    other = HIV.assign(s=HIV["s"].to_numpy()[::-1])
    verdict = asking(0.9).check(HIV.anon.apply(plan), plan=plan, original=other)
    assert about(verdict).status == "could_not_assess"
    assert "made for another table" in about(verdict).sentence


def test_another_original_never_passes_by_a_bound(monkeypatch):
    # Both had HIV in a group of two: who knows the table of the plan is certain, and 2 of 40 is
    # what persons of the other one have.
    table = pd.DataFrame({"q": list("aa") + ["b"] * 78, "s": ["HIV"] * 2 + [*range(39)] * 2})
    table["s"] = table["s"].astype(str)
    plan, other = planned(table), table.assign(q=["a"] * 40 + ["b"] * 40)
    finding = judged(0.2, other, plan)
    assert finding.status == "could_not_assess"
    assert "made for another table" in finding.sentence
    monkeypatch.setattr(knows_method, "_MOST_CELLS", 0)
    assert judged(0.2, other, planned(other)).status == "pass"


def test_an_original_without_the_sensitive_column_is_told_of():
    plan = planned(k=4)
    verdict = asking().check(HIV.anon.apply(plan), plan=plan, original=HIV[["q"]])
    assert about(verdict).status == "could_not_assess"
    assert "the original's 's' is not a column" in about(verdict).sentence


def test_whoever_is_left_out_is_judged_too():
    table = pd.DataFrame({"q": list("abbbccc"), "s": list("xxyzxyz")})
    whole = PlanOptions(method="full-domain")
    plan = table.anon.plan("q", k=3, max_suppressed=0.4, options=whole)
    finding = judged(0.5, table, plan)
    assert (finding.status, finding.value) == ("fail", 1)
    assert "100.0% by the table alone, with those left out as a class of it" in finding.sentence


@pytest.mark.parametrize(
    ("more", "table", "why"),
    [
        ({"quasi": ["q", "r"]}, HIV.assign(r=1), "the plan is about q, and the budget about q + r"),
        ({"unit": "who"}, HIV.assign(who=range(7)), "persons are counted by 'who'"),
        ({}, HIV.assign(s=[*HIV["s"][:6], None]), "nobody has said what that means"),
        (
            {"missing_sensitive": "drop", "max_dropped_fraction": 0.5},
            HIV.assign(s=[*HIV["s"][:6], None]),
            "say missing_sensitive: value",
        ),
        ({"missing": "wildcard"}, HIV, "wildcard"),
        ({"sensitive": "t"}, HIV, "'t'"),
    ],
)
def test_what_the_policy_counts_otherwise_is_not_assessed(more, table, why):
    plan = planned(table, k=4)
    release = table.anon.apply(plan)
    verdict = asking(0.9, unlisted="ignore", **more).check(release, plan=plan, original=table)
    assert verdict.status == "could_not_assess"
    assert any(why in finding.sentence for finding in verdict.findings)


def test_a_missing_value_may_be_a_value():
    table = HIV.assign(s=[None, None, *HIV["s"][2:]])
    policy = asking(0.9, missing_sensitive="value")
    assert judged(table=table, policy=policy).value == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda plan: Plan.from_json(plan.to_json()), "make it again with anonrisk.plan"),
        (lambda plan: dataclasses.replace(plan, after=None), "put together by hand"),
        (lambda plan: dataclasses.replace(plan, partial=True), "stopped"),
    ],
)
def test_a_plan_that_nobody_can_make_again(change, why):
    plan = planned(k=4)
    finding = judged(plan=change(plan), release=HIV.anon.apply(plan))
    assert finding.status == "could_not_assess"
    assert why in finding.sentence


def test_a_plan_that_was_changed_is_judged_as_it_was_made():
    plan = planned()
    finding = judged(plan=dataclasses.replace(plan, goals=()))
    assert (finding.status, finding.value) == ("fail", 1)
    # Regions that looked at sensitive values, in a plan that does not.
    changed = dataclasses.replace(planned(k=2), regions=plan.regions, after=plan.after)
    finding = judged(plan=changed, release=HIV.anon.apply(changed))
    assert finding.status == "could_not_assess"
    assert "or was changed" in finding.sentence


def test_wrong_calls():
    plan, policy = planned(k=4), asking()
    with pytest.raises(ArgumentError, match="plan= together with original="):
        policy.check(HIV, plan=plan)
    with pytest.raises(ArgumentError, match="original= together with plan="):
        policy.check(HIV, original=HIV)
    with pytest.raises(ArgumentError, match=r"plan= takes a plan made by .*, not an int"):
        policy.check(HIV, plan=4, original=HIV)
    with pytest.raises(ArgumentError, match="not its location"):
        policy.check(HIV, plan=plan, original="people.csv")
    with pytest.raises(PolicyError, match="credibility applies to a whole table and takes no by"):
        asking(by="r")
    with pytest.raises(PolicyError, match="credibility applies to all columns"):
        Policy(
            quasi=["q", "r"],
            sensitive="s",
            qids=[{"every_subset_of": 1, "budgets": {"credibility": 0.5}}],
            k=2,
        )
    with pytest.raises(PolicyError, match=r"no key 'minimality'.*credibility"):
        Policy(quasi="q", minimality=0.5)


# ---- plans, explanations, doors --------------------------------------------------------------


def test_a_plan_for_a_policy_does_not_promise_it():
    plan = HIV.anon.plan(policy=asking(k=2))
    (budget,) = (item for item in plan.budgets if item.budget == "credibility")
    assert (budget.status, budget.value) == ("not planned", None)
    text = " ".join(repr(plan).split())
    assert "meets: k not planned: credibility, the limit is 0.5" in text
    assert "not covered:" in text


@pytest.mark.slow
def test_what_is_tried_is_judged_by_it_too():
    table = pd.DataFrame({"q": list("aaaabbbc"), "s": list("xyzwxyzw")})
    verdict = asking(0.5, k=3).check(table)
    (trial, *_) = verdict.explain(table).trials
    assert trial.passed
    strict = asking(0.2, k=3).check(table)
    assert strict.explain(table).trials[0].status == "fail"
    # What was made of another table already is not what the next plan was made for.
    plan = planned(table, k=2)
    release = table.anon.apply(plan)
    again = asking(0.5, k=5).check(release, plan=plan, original=table)
    assert again.explain(release).trials[0].status == "could_not_assess"


@pytest.mark.slow
def test_other_doors_say_that_they_cannot_tell(tmp_path):
    policy, release = asking(k=2), HIV.anon.apply(planned())
    with pytest.raises(PolicyError, match=r"credibility.*does not show how it was made"):
        by_suite(policy, release)
    release.to_csv(tmp_path / "t.csv", index=False)
    verdict = by_command(main, tmp_path, policy.to_dict(), "check", str(tmp_path / "t.csv"))
    assert about(verdict).status == about(policy.check(release)).status == "could_not_assess"
    release_verdict = anonrisk.Release({"t": release}, policy, name="r").check()
    assert release_verdict.status == "could_not_assess"
