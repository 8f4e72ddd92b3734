"""`Policy.lint` and `anonrisk lint`: what a policy says and can hardly mean."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import Policy, datasets
from anonrisk.cli import main
from anonrisk.policy.budgets import named
from anonrisk.policy.ready import names

ROOT = Path(__file__).parents[1]
SECRET = "Xavier-7741"


def found(result):
    return [(one.severity, one.what, one.where) for one in result.remarks]


def test_limits_that_no_table_can_break():
    both = Policy(quasi="zip", max_unique_fraction=1, k=5).lint()
    assert found(both) == [("warn", "vacuous", "budgets.max_unique_fraction")]
    assert both
    alone = Policy(quasi=["zip", "age"], qids=[{"columns": "zip", "budgets": {"k": 1}}], k=1).lint()
    assert found(alone) == [
        ("error", "nothing_decides", "budgets"),
        ("warn", "vacuous", "budgets.k"),
        ("warn", "vacuous", "qids[0].budgets.k"),
    ]
    assert not alone
    assert not Policy(quasi="zip", k=1, advisory=True).lint().remarks


def test_a_sensitive_column_that_no_budget_judges():
    (remark,) = Policy(quasi="zip", sensitive=["ill", "my pay"], k=5).lint().remarks
    assert (remark.what, remark.where) == ("attribute_disclosure", "roles.sensitive")
    assert 'ldiv: {l: 2, sensitive: [ill, "my pay"]}' in remark.sentence
    asked = {"quasi": "zip", "sensitive": ["ill", "pay"], "k": 5}
    (one,) = Policy(**asked, ldiv={"l": 2, "sensitive": "ill"}).lint().remarks
    assert "sensitive: [pay]" in one.sentence
    assert not Policy(**asked, ldiv={"l": 2}).lint().remarks
    assert "attribute_disclosure" in str(found(Policy(**asked, ldiv={"l": 1}).lint()))


def test_names_that_are_no_texts_or_look_alike():
    numbered = Policy(quasi="zip", direct=[2020], k=5).lint()
    if numbered.remarks:
        assert found(numbered) == [("warn", "name", "roles.direct")]
        assert "write '2020', in quotes" in numbered.remarks[0].sentence
    (alike,) = Policy(quasi="zip", direct=["name", "n\u0430me"], k=5).lint().remarks
    assert "'n\\u0430me'" in alike.sentence
    assert found(Policy(quasi="zip", k=5, unlisted="ignore").lint()) == [
        ("warn", "no_direct", "roles.direct")
    ]
    with pytest.raises(anonrisk.AnonRiskError, match="need quotes in YAML"):
        Policy.from_yaml("{version: 1, roles: {direct: [no]}, budgets: {k: 5}}")


def test_columns_of_a_table(frame):
    table = frame({"zip": [SECRET, "b"], "Ill": ["x", "y"], "name_x": ["p", "q"]})
    asked = {"quasi": ["zip", "aeg"], "sensitive": "ill", "direct": "name", "unlisted": "ignore"}
    result = Policy(**asked, k=5, ldiv={"l": 2}).lint(table)
    assert found(result) == [
        ("error", "direct", "roles.direct"),
        ("error", "column", "roles.quasi"),
        ("error", "column", "roles.sensitive"),
    ]
    told = " ".join(one.sentence for one in result.remarks)
    assert "'name_x' is, which may be the same" in told
    assert "Sensitive column 'ill' is not in the table; did you mean 'Ill'?" in told
    for text in (repr(result), result._repr_html_(), json.dumps(result.to_dict())):
        assert SECRET not in text
    assert Policy(quasi="zip", sensitive="Ill", insensitive="name_x", k=5).lint(table)


def test_what_check_says_of_columns_lint_says():
    table = pd.DataFrame({"zip": ["a", "a"], "name": ["x", "y"], "note": ["u", "v"]})
    policy = Policy(quasi="zip", direct="name", k=2)
    told = {one.sentence for one in policy.lint(table).errors}
    assert told == {one.sentence for one in policy.check(table).failures}


WEAKER = {
    "k": ({"k": 4}, "budgets.k"),
    "a warning": ({"k": {"at_least": 5, "severity": "warn"}}, "budgets.k"),
    "one budget less": ({"ldiv": None}, "budgets"),
    "a column less": ({"quasi": ["zip"]}, "roles.quasi"),
    "a direct identifier": ({"direct": ["ssn"]}, "roles.direct"),
    "unlisted": ({"unlisted": "ignore"}, "unlisted"),
    "missing": ({"missing": "drop", "max_dropped_fraction": 0.1}, "missing"),
    "wildcard": ({"missing": "wildcard"}, "missing"),
    "acknowledged": (
        {"acknowledged": [{"column": "zip", "doubt": "hash", "reason": "a code"}]},
        "acknowledged",
    ),
    "missing_sensitive": ({"missing_sensitive": "value"}, "missing_sensitive"),
    "unit": ({"unit": None}, "roles.unit"),
}
BASE = {
    "quasi": ["zip", "age"],
    "sensitive": "ill",
    "direct": ["name", "ssn"],
    "unit": "who",
    "k": 5,
    "ldiv": {"l": 2},
    "max_unique_fraction": 0.1,
}


def without(asked):
    return Policy(**{key: value for key, value in asked.items() if value is not None})


@pytest.mark.parametrize("what", WEAKER)
def test_weaker_than_another(what, tmp_path):
    change, where = WEAKER[what]
    policy = without({**BASE, **change})
    other = Policy(**BASE)
    result = policy.lint(against=other)
    assert where in {one.where for one in result.errors}, result
    assert {one.what for one in result.errors} <= {"weaker", "nothing_decides"}
    other.save(tmp_path / "p.json")
    assert policy.lint(against=tmp_path / "p.json") == result


def test_as_strict_or_stricter_is_no_remark():
    other = Policy(**BASE)
    stricter = {**BASE, "quasi": ["zip", "age", "sex"], "k": [5, 11], "ldiv": {"l": 3}}
    for policy in (other, Policy(**stricter), Policy(**BASE, max_unique_records=0)):
        assert not policy.lint(against=other).remarks
    for ldiv in ({"l": 2, "variant": "entropy"}, {"l": 2, "variant": "recursive", "c": 3}):
        assert not Policy(**{**BASE, "ldiv": ldiv}).lint(against=other).remarks
        assert other.lint(against=Policy(**{**BASE, "ldiv": ldiv})).errors
    recursive = [
        Policy(**{**BASE, "ldiv": {"l": 2, "variant": "recursive", "c": c}}) for c in (2, 3)
    ]
    assert not recursive[0].lint(against=recursive[1]).remarks
    assert recursive[1].lint(against=recursive[0]).errors
    with pytest.raises(anonrisk.AnonRiskError, match="against is a Policy"):
        other.lint(against=3)


def test_weaker_than_the_last_release():
    table = pd.DataFrame({"zip": ["a"] * 6, "ill": list("xyxyxy")})
    base = {"quasi": "zip", "sensitive": "ill", "ldiv": {"l": 2}}
    verdict = Policy(**base, k=5).check(table)
    assert verdict.passed
    assert not Policy(**base, k=5).lint(against=verdict).remarks
    (remark,) = Policy(**base, k=3).lint(against=verdict).errors
    assert remark.sentence == "There was k of zip at least 5; now it is k of zip at least 3."


def test_half_of_a_group_is_more_than_half_a_person():
    person, share = (
        Policy(quasi="zip", predicted_singletons={"group_size": 100, key: 0.5})
        for key in ("at_most", "at_most_fraction")
    )
    verdict = person.check(pd.DataFrame({"zip": ["a"] * 200}))
    assert share.lint(against=person).errors
    assert share.lint(against=verdict).errors
    assert not share.lint(against=share).errors
    assert "50%" in repr(share.check(pd.DataFrame({"zip": ["a"] * 200})))


# ---- what is made here passes -------------------------------------------------------------------


def test_ready_policies_and_drafts_pass():
    for name in names():
        assert not Policy.ready(name).lint().errors
    table = datasets.hospital(500)
    for name in names():
        draft = Policy.draft(table, ready=name, time_limit=5)
        # No table passes before somebody has read it.
        assert found(draft.lint())[0] == ("error", "reviewed", "reviewed")
        read = Policy.from_dict({**draft.to_dict(), "reviewed": True})
        assert read.lint(), name
        # What must be gone before it is published is an error as long as it is there.
        assert not read.lint(
            table.drop(columns=list(draft.roles.direct), errors="ignore")
        ).errors, name


def test_policies_of_examples_pass():
    pytest.importorskip("yaml")
    places = [*ROOT.glob("examples/**/*policy*.yaml"), *ROOT.glob("expectations/*.yaml")]
    places += ROOT.glob("examples/**/*policy*.json")
    assert places
    for place in places:
        assert Policy.load(place).lint(), place


# ---- on the command line ------------------------------------------------------------------------


@pytest.mark.slow
def test_exit_codes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Policy(quasi="zip", k=5).save("good.json")
    Policy(quasi="zip", k=5, max_unique_fraction=1).save("warns.json")
    Policy(quasi="zip", k=1).save("bad.json")
    pd.DataFrame({"zip": ["a"], "note": [SECRET]}).to_csv("t.csv", index=False)
    for words, code in (
        (["good.json"], 0),
        (["warns.json"], 0),
        (["warns.json", "--fail-on", "warn"], 1),
        (["bad.json"], 1),
        (["good.json", "t.csv"], 1),
        (["bad.json", "--against", "good.json"], 1),
        (["good.json", "--against", "bad.json"], 0),
        (["good.json", "no.csv"], 3),
        (["no.json"], 2),
        ([], 2),
    ):
        assert main(["lint", *words]) == code, words
    capsys.readouterr()
    assert main(["lint", "bad.json", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["what"] for one in told["remarks"]] == ["nothing_decides", "vacuous"]
    assert main(["lint", "good.json", "t.csv"]) == 1
    assert SECRET not in capsys.readouterr().out


def test_the_manifest_of_the_last_release(tmp_path, monkeypatch, capsys):
    from anonrisk.keys import Key
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.release import Release

    monkeypatch.chdir(tmp_path)
    policy = Policy(quasi="zip", k=5, differencing={"k": 5, "net": True})
    ledger = Ledger(tmp_path / "ledger.db", key=Key.generate(), new=True)
    table = pd.DataFrame({"zip": ["a"] * 6})
    Release({"t": table}, policy, name="1").publish(ledger, by="x").save("manifest.json")
    policy.save("p.json")
    Policy(quasi="zip", k=4, differencing={"k": 5, "net": True}).save("q.json")
    assert main(["lint", "p.json", "--against", "manifest.json"]) == 0
    assert main(["lint", "q.json", "--against", "manifest.json"]) == 1
    assert "There was k of zip at least 5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "now", "is_weaker"),
    [("error", "value", True), ("drop", "wildcard", True), ("wildcard", "value", False)],
)
def test_what_becomes_of_missing_cells_is_compared(before, now, is_weaker):
    more = {"drop": {"max_dropped_fraction": 0.5}}
    old, new = (
        anonrisk.Policy(quasi="zip", k=5, missing=word, **more.get(word, {}))
        for word in (before, now)
    )
    remarks = [one.where for one in new.lint(against=old).remarks]
    assert ("missing" in remarks) is is_weaker


def test_a_limit_of_recursive_diversity_covers_the_same_one():
    implies = named("ldiv").implies
    two, three = ({"variant": "recursive", "c": c} for c in ("2", "3"))
    assert implies(two, two)
    assert implies(two, three)
    assert not implies(three, two)
