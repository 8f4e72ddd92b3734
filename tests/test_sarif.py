"""`anonrisk check --sarif`: what a code forge shows beside the lines of a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import anonrisk
from anonrisk.cli import main
from anonrisk.policy.budgets import BUDGETS

PEOPLE = "zip,age,illness\n01234,30,Xavier-7741\n01234,30,cold\n1234,30,flu\n1234,30,cold\n"
POLICY = """version: 1
roles:
  quasi: [zip, age]
  sensitive: [illness]
missing_sensitive: error
budgets:
  k: 3
  ldiv: {l: 2}
  risk: {prosecutor: {highest: {at_most: 0.1, severity: warn}}}
"""
# What the schema of OASIS requires of each object that is written, and what else it may hold here.
REQUIRED = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": (
        {"tool"},
        {"automationDetails", "originalUriBaseIds", "invocations", "results", "columnKind"}
        | {"properties"},
    ),
    "rule": ({"id"}, {"shortDescription", "help", "defaultConfiguration"}),
    "invocation": ({"executionSuccessful"}, {"exitCode"}),
    "result": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "locations", "relatedLocations", "partialFingerprints"},
    ),
}


def holds(kind, thing):
    required, more = REQUIRED[kind]
    assert required <= set(thing) <= required | more, kind
    return thing


def text_in(message):
    assert set(message) <= {"text", "markdown"}
    assert isinstance(message["text"], str)
    assert message["text"]


def at(location):
    assert set(location) <= {"id", "message", "physicalLocation"}
    place = location["physicalLocation"]
    assert set(place) <= {"artifactLocation", "region"}
    if "region" in place:
        assert place["region"]["startLine"] >= 1
    assert set(place["artifactLocation"]) <= {"uri", "uriBaseId"}
    uri = place["artifactLocation"]["uri"]
    assert uri.isascii()
    assert not set(uri) & set(' <>"{}|\\^`')
    return uri


def valid(path="s.sarif"):
    """Read a log and hold it to the format; give its one run."""
    log = holds("log", json.loads(Path(path).read_text(encoding="utf-8")))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    holds("run", run)
    driver = run["tool"]["driver"]
    assert set(driver) == {"name", "version", "rules"}
    assert driver["name"]
    ids = [holds("rule", rule)["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        text_in(rule["shortDescription"])
        text_in(rule["help"])
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note", "none")
    for one in run["invocations"]:
        assert isinstance(holds("invocation", one)["executionSuccessful"], bool)
    for result in run["results"]:
        holds("result", result)
        text_in(result["message"])
        assert result["level"] in ("error", "warning", "note")
        assert ids[result["ruleIndex"]] == result["ruleId"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            at(location)
    marks = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    assert len(marks) == len(set(marks))
    return run


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/a table.csv").write_text(PEOPLE)
    Path("release.yaml").write_text(POLICY)

    def run(*arguments, table="data/a table.csv", policy="release.yaml"):
        code = main(["check", table, "--policy", policy, "--sarif", "s.sarif", *arguments])
        assert "Xavier" not in Path("s.sarif").read_text()
        return code, capsys.readouterr()

    return run


def test_a_rule_for_each_budget_and_a_result_for_each_that_is_broken(check):
    pytest.importorskip("yaml")
    assert check()[0] == 1
    run = valid()
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["k", "ldiv", "risk.prosecutor.highest"]
    told = {one["ruleId"]: one for one in run["results"]}
    assert {name: one["level"] for name, one in told.items()} == {
        "k": "error",
        "risk.prosecutor.highest": "warning",
    }
    assert "at least 3 are required" in told["k"]["message"]["text"]
    (place,) = told["k"]["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {
        "uri": "release.yaml",
        "uriBaseId": "%SRCROOT%",
    }
    lines = {
        name: one["locations"][0]["physicalLocation"]["region"]["startLine"]
        for name, one in told.items()
    }
    assert lines == {"k": 7, "risk.prosecutor.highest": 9}
    assert [at(one) for one in told["k"]["relatedLocations"]] == ["data/a%20table.csv"]
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    assert run["properties"]["status"] == "fail"


def test_what_passes_has_no_result_but_a_rule(check):
    anonrisk.Policy(quasi=["zip", "age"], k=2, unlisted="ignore").save("p.json")
    assert check(policy="p.json")[0] == 0
    run = valid()
    assert run["results"] == []
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["k"]


def test_an_alert_is_known_again_whatever_was_measured(check):
    anonrisk.Policy(quasi=["zip", "age"], k=3, unlisted="ignore").save("p.json")
    marks = []
    for rows in (PEOPLE, PEOPLE + "5,6,flu\n"):
        Path("data/a table.csv").write_text(rows)
        assert check(policy="p.json")[0] == 1
        (result,) = valid()["results"]
        marks.append((result["partialFingerprints"], result["message"]["text"]))
    assert marks[0][0] == marks[1][0]
    assert marks[0][1] != marks[1][1]


def test_doubt_is_an_error_and_no_success(check):
    anonrisk.Policy(quasi=["zip", "age"], k=3).save("p.json")
    for arguments, code in (
        ({"table": "no.csv", "policy": "p.json"}, 3),
        ({"policy": "p.json"}, 1),
        ({"policy": "no.json"}, 2),
    ):
        assert check(**arguments)[0] == code
        run = valid()
        assert {one["level"] for one in run["results"]} == {"error"}
        (told,) = run["invocations"]
        assert told == {"executionSuccessful": code == 1, "exitCode": code}


def test_a_file_elsewhere_has_its_whole_path(check, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name} of others.csv"
    outside.write_text(PEOPLE)
    anonrisk.Policy(quasi=["zip", "age"], k=3, unlisted="ignore").save("p.json")
    assert check(policy="p.json", table=str(outside))[0] == 1
    (result,) = valid()["results"]
    (table,) = result["relatedLocations"]
    assert table["physicalLocation"]["artifactLocation"] == {"uri": outside.as_uri()}


@pytest.mark.parametrize("name", ["[x](http://y)", "{0}", "\u202e\x1b[31m", "##vso[task]"])
def test_names_stay_names(check, name):
    Path("t.jsonl").write_text(json.dumps({name: 1}) + "\n")
    anonrisk.Policy(quasi=[name], k=2).save("p.json")
    assert check(policy="p.json", table="t.jsonl")[0] == 1
    (result,) = valid()["results"]
    written = Path("s.sarif").read_text(encoding="utf-8")
    assert "](http" not in result["message"]["text"].replace("\\](http", "")
    assert "{0}" not in result["message"]["text"].replace("{{0}}", "")
    assert not any(sign in written for sign in ("\u202e", "\x1b", "##vso["))


def test_every_budget_says_in_a_sentence_what_it_is():
    from anonrisk.cli.formats import _rule

    for key in ("risk.prosecutor.highest", *(key for key in BUDGETS if key != "risk")):
        assert len(_rule(key)["shortDescription"]["text"]) > len(key)


def test_everything_else_that_a_finding_may_be_about_has_a_rule_too():
    from anonrisk.cli.formats import _BESIDE
    from anonrisk.policy.finding import _OTHERS

    assert set(_BESIDE) == set(_OTHERS)
