"""A policy that no table can fail is no gate: by every door it could not assess."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy
from anonrisk.cli import main
from anonrisk.errors import PolicyError, ReleaseBlocked
from anonrisk.policy.budgets import BUDGETS
from anonrisk.releases.release.release import Release

UNIQUE = {"zip": list("abcdef"), "ill": list("xyzuvw")}
WARN = {"severity": "warn"}
# The limit of each budget that every table keeps, and the nearest that one can break.
LIMITS = {
    "k": (1, 2),
    "max_unique_fraction": (1, 0.99),
    "max_fraction_below_k": ({"k": 2, "at_most": 1}, {"k": 2, "at_most": 0.99}),
    "ldiv": ({"l": 1}, {"l": 2}),
    "tcloseness": ({"t": 1, "distance": "equal"}, {"t": 0.99, "distance": "equal"}),
    "risk": ({"prosecutor": {"highest": 1}}, {"prosecutor": {"highest": 0.99}}),
    "predicted_singletons": (
        {"group_size": 3, "at_most": 3},
        {"group_size": 3, "at_most": 2.9},
    ),
    "population_unique_fraction": (
        {"population_size": 9, "at_most": 1},
        {"population_size": 9, "at_most": 0.9},
    ),
    "whole_person": (1, 2),
    "linked": (1, 2),
    "max_suppressed": (1, 0.9),
    "credibility": (1, 0.9),
}
# How many rows there are nobody knows before.
NEVER = {
    "max_unique_records": 10**9,
    "max_records_below_k": {"k": 2, "at_most": 10**9},
    "differencing": {"k": 2, "at_most": 10**9},
}
MORE = {
    "entropy": {"ldiv": {"l": 1, "variant": "entropy"}},
    "recursive": {"ldiv": {"l": 1, "variant": "recursive", "c": 1.5}},
    "a share of a group": {"predicted_singletons": {"group_size": 3, "at_most_fraction": 1}},
    "a threshold": {"risk": {"prosecutor": {"share_above": {"threshold": 1, "at_most": 0}}}},
    "a share above": {"risk": {"journalist": {"share_above": {"threshold": 0.2, "at_most": 1}}}},
    "a marketer": {"risk": {"marketer": {"average": 1}}},
    "several": {"k": 1, "max_unique_fraction": 1},
    "one that warns": {"k": [1, {"at_least": 5, **WARN}]},
}


def asking(**budgets):
    return Policy(quasi="zip", sensitive="ill", missing_sensitive="value", **budgets)


def of_limits(verdict):
    return [finding for finding in verdict.findings if finding.budget == "limits"]


def test_every_budget_is_thought_of():
    assert {*LIMITS, *NEVER} == {*BUDGETS}


@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_out_of_reach_is_no_gate_and_the_next_one_is(key):
    loose, real = ({key: limit} for limit in LIMITS[key])
    verdict = asking(**loose).check(pd.DataFrame(UNIQUE))
    (finding,) = of_limits(verdict)
    assert (verdict.status, finding.status) == ("could_not_assess", "could_not_assess")
    assert f"{key}" in finding.sentence
    assert not of_limits(asking(**real).check(pd.DataFrame(UNIQUE)))
    # Beside another it is told, and does not decide.
    beside = asking(**{"max_unique_records": 6, **loose}).check(pd.DataFrame(UNIQUE))
    (told,) = of_limits(beside)
    assert (told.status, told.severity, told.blocks()) == ("fail", "warn", False)


@pytest.mark.parametrize("budgets", MORE.values(), ids=MORE)
def test_other_limits_out_of_reach(budgets):
    assert of_limits(asking(**budgets).check(pd.DataFrame(UNIQUE)))[0].blocks()


@pytest.mark.parametrize("key", NEVER)
def test_a_number_of_people_may_always_be_exceeded(key):
    assert not of_limits(asking(**{key: NEVER[key]}).check(pd.DataFrame(UNIQUE)))


def test_recursive_diversity_of_one_may_fail():
    asked = {"l": 1, "variant": "recursive", "c": 1}
    verdict = asking(ldiv=asked).check(pd.DataFrame(UNIQUE))
    assert verdict.status == "fail"
    assert not of_limits(verdict)


def test_the_likely_meaning_is_told():
    told = str(asking(max_unique_fraction=1).check(pd.DataFrame(UNIQUE)))
    assert "max_unique_fraction: 1 is everybody; 1% is 0.01" in " ".join(told.split())
    assert "1% is 0.01" in " ".join(repr(asking(max_unique_fraction=1)).split())


def test_warnings_are_a_gate_where_they_decide():
    policy, table = asking(k={"at_least": 2, **WARN}), pd.DataFrame(UNIQUE)
    verdict = policy.check(table)
    assert verdict.status == "could_not_assess"
    assert "k: 2 only warns (severity: warn)" in of_limits(verdict)[0].sentence
    assert verdict.status_with_warnings == "fail"
    safe = pd.DataFrame({"zip": ["a", "a"], "ill": ["x", "y"]})
    assert (policy.check(safe).status, policy.check(safe).status_with_warnings) == (
        "could_not_assess",
        "pass",
    )
    again = anonrisk.Verdict.from_json(policy.check(safe).to_json())
    assert again.status == "could_not_assess"
    with pytest.raises(ReleaseBlocked, match="no table can fail"):
        again.raise_for_status()
    again.raise_for_status(fail_on="warn")


def test_the_doors_agree(tmp_path, capsys):
    gx = pytest.importorskip("anonrisk.gx")
    from test_doors import by_command, by_suite, judgement

    table = pd.DataFrame({"zip": ["a", "a"], "ill": ["x", "y"]})
    table.to_parquet(tmp_path / "t.parquet")
    named = {"roles": {"quasi": ["zip"], "sensitive": ["ill"]}}
    for document in (
        {**named, "budgets": {"k": 1}},
        {**named, "budgets": {"k": {"at_least": 2, **WARN}}},
        {**named, "budgets": {"k": 1, "max_unique_fraction": 0}},
        {**named, "budgets": {"k": 1}, "advisory": True},
        {"roles": {"insensitive": ["zip", "ill"]}},
        {"roles": {"insensitive": ["zip"]}},
        {"roles": {"direct": ["ill"], "insensitive": ["zip"]}},
        {"roles": {"direct": ["name"]}, "unlisted": "ignore"},
    ):
        policy = Policy.from_dict({"version": 1, **document})
        expected = policy.check(table)
        assert judgement(by_suite(policy, table)) == judgement(expected), document
        file = str(tmp_path / "t.parquet")
        place = {"version": 1, **document}
        found = by_command(lambda o: main(["check", *o]), tmp_path, place, file)
        assert judgement(found) == judgement(expected), document
        release = Release({"t": table}, policy, name="r").check()
        assert release.status == expected.status
    capsys.readouterr()
    with pytest.raises(ReleaseBlocked, match="k: 1 is somebody alone"):
        gx.run_gate(Policy(quasi="zip", k=1, insensitive="ill").to_suite(), table)


# ---- said to be meant ---------------------------------------------------------------------------


def test_advisory_reports_and_passes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    policy = Policy(quasi="zip", k={"at_least": 2, **WARN}, advisory=True)
    assert Policy.from_dict(policy.to_dict()) == policy
    assert policy.digest != Policy(quasi="zip", k={"at_least": 2, **WARN}).digest
    safe = pd.DataFrame({"zip": ["a", "a"]})
    for verdict in (policy.check(safe), policy.check(pd.DataFrame({"zip": ["a", "b"]}))):
        assert verdict.status == "could_not_assess"
        assert "advisory: true" in of_limits(verdict)[0].sentence
    assert policy.check(safe).status_with_warnings == "could_not_assess"
    policy.save("p.json")
    Policy(quasi="zip", k={"at_least": 2, **WARN}).save("q.json")
    safe.to_csv("t.csv", index=False)
    assert main(["check", "t.csv", "--policy", "p.json"]) == 3
    assert main(["report", "t.csv", "--policy", "p.json", "-o", "r.html"]) == 0
    assert main(["report", "t.csv", "--policy", "q.json", "-o", "r.html"]) == 3
    capsys.readouterr()


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"quasi": "zip", "k": 2}, "k does"),
        ({"quasi": "zip", "k": [1, 5]}, "k does"),
        ({"direct": "name"}, "there is none"),
    ],
)
def test_advisory_beside_what_can_fail_is_refused(asked, word):
    with pytest.raises(PolicyError, match=word):
        Policy(**asked, advisory=True)


# ---- columns alone ------------------------------------------------------------------------------


def test_columns_alone_are_a_gate(frame):
    table = frame({"zip": ["a", "b"], "name": ["x", "y"]})
    listed = Policy(insensitive=["zip", "name"])
    assert listed.check(table).status == "pass"
    assert Policy(insensitive="zip").check(table).status == "could_not_assess"
    direct = Policy(direct="name", insensitive="zip")
    assert direct.check(table).status == "fail"
    assert direct.check(frame({"zip": ["a", "b"]})).passed
    assert direct.check(frame({"zip": []})).status == "could_not_assess"
    assert Policy(direct="name", unlisted="ignore").check(table).status == "fail"
    assert "No budget" in repr(direct)
    assert Policy.from_dict(direct.to_dict()) == direct
    stored = anonrisk.Verdict.from_json(listed.check(table).to_json())
    assert stored.passed


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"quasi": "zip"},
        {"weight": "w"},
        {"insensitive": "zip", "unlisted": "ignore"},
        {"direct": "name", "unlisted": "quasi"},
        {"direct": "name", "by": "zip"},
    ],
    ids=str,
)
def test_without_a_budget_columns_must_be_able_to_fail(asked):
    with pytest.raises(PolicyError, match=r"hold(s)? (no budget|none)"):
        Policy(**asked)


def test_the_schema_agrees_about_policies_without_a_budget():
    jsonschema = pytest.importorskip("jsonschema")
    from test_policy import SCHEMA, accepts

    valid = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).is_valid
    roles = (
        {},
        {"direct": ["name"]},
        {"direct": []},
        {"direct": "name", "quasi": ["zip"]},
        {"insensitive": ["a"]},
        {"unit": "a"},
        {"sensitive": ["a"], "weight": "w"},
        {"direct": None, "sensitive": "a"},
    )
    for named in roles:
        for more in ({}, {"unlisted": "ignore"}, {"unlisted": "quasi"}, {"by": "x"}):
            document = {"version": 1, "roles": named, **more}
            assert accepts(document) == valid(document), document


def test_what_needs_a_budget_says_so():
    policy, table = Policy(direct="name", insensitive="zip"), pd.DataFrame({"zip": ["a"]})
    with pytest.raises(PolicyError, match="one quasi-identifier"):
        policy.assess(table)
    with pytest.raises(anonrisk.AnonRiskError, match="no budget"):
        anonrisk.plan(table, policy=policy)
