"""`anonrisk find-qids`: what it finds, says, and answers as a gate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import test_cli

import anonrisk

run = test_cli.run
write = test_cli.write
# Nobody is alone with one column; everybody with zip and age, and with zip and sex.
PEOPLE = f"zip,age,sex\n{test_cli.SECRET},1,f\n{test_cli.SECRET},2,m\nb,1,f\nb,2,m\n"


def test_it_says_what_the_library_says(run):
    write("t.csv", PEOPLE)
    code, out, err = run("find-qids", "t.csv", "--alpha", 0.5)
    assert (code, err) == (0, "")
    frame = pd.read_csv("t.csv", dtype=str)
    assert out.rstrip("\n") == repr(anonrisk.find_qids(frame, alpha=0.5))
    asked = ("--max-size", 3, "--population-size", 100, "--output", "f.json", "--json")
    code, out, _ = run("find-qids", "t.csv", *asked)
    found = json.loads(out)
    expected = anonrisk.find_qids(frame, alpha=0.2, max_size=3, population_size=100).to_dict()
    assert code == 0
    assert expected.items() <= found.items()
    assert [one["columns"] for one in found["sets"]] == [["zip", "age"], ["zip", "sex"]]
    assert Path("f.json").read_text(encoding="utf-8") == out


def test_columns_and_persons(run):
    write("t.csv", PEOPLE + "b,2,m\n")
    found = json.loads(run("find-qids", "t.csv", "--qids", "age", "sex", "--json")[1])
    assert (found["sets"], found["n_sets"], found["n_records"]) == ([], 3, 5)
    found = json.loads(run("find-qids", "t.csv", "--unit", "zip", "--alpha", 0.4, "--json")[1])
    assert found["not_searched"] == ["zip"]
    assert found["n_records"] == 2
    code, _, err = run("find-qids", "t.csv", "--qids", "aeg")
    assert code == 3
    assert "did you mean 'age'?" in err


def test_explain_counts_nothing(run, monkeypatch):
    write("t.csv", PEOPLE)
    monkeypatch.setattr("anonrisk.api.find_qids.search", None)
    code, out, _ = run("find-qids", "t.csv", "--explain", "--json")
    assert code == 0
    assert json.loads(out)["sets"] == [3, 3, 1]
    assert "7 sets of 3 columns" in run("find-qids", "t.csv", "--explain")[1]
    assert run("find-qids", "t.csv", "--explain", "--fail-if-found")[0] == 2


def test_a_gate_fails_on_what_it_finds(run):
    write("t.csv", PEOPLE)
    code, out, _ = run("find-qids", "t.csv", "--fail-if-found")
    assert code == 1
    assert out.startswith("fail\n2 minimal sets")
    code, out, _ = run("find-qids", "t.csv", "--fail-if-found", "--max-size", 1, "--json")
    assert (code, json.loads(out)["status"]) == (0, "pass")
    # A look-alike alone is enough: it stands in no set.
    write("mail.csv", "mail\n" + "".join(f"p{i % 50}@example.org\n" for i in range(100)))
    code, out, _ = run("find-qids", "mail.csv", "--fail-if-found", "--json")
    found = json.loads(out)
    assert (code, found["sets"], len(found["direct"])) == (1, [], 1)


def test_a_gate_that_cannot_tell_does_not_pass(run, monkeypatch):
    write("t.jsonl", '{"a": "x", "b": [1]}\n{"a": "x", "b": [1]}\n')
    assert run("find-qids", "t.jsonl")[0] == 0
    code, out, _ = run("find-qids", "t.jsonl", "--fail-if-found")
    assert code == 3
    assert out.startswith("could not assess\n")
    assert run("find-qids", "t.jsonl", "--fail-if-found", "--qids", "a")[0] == 0
    assert run("find-qids", "no.csv")[0] == 3
    write("empty.csv", "a,b\n")
    assert run("find-qids", "empty.csv")[0] == 3
    found = anonrisk.find_qids
    write("t.csv", "a\nx\nx\n")

    def out_of_time(*given, **more):
        return replace(found(*given, **more), n_settled=0)

    monkeypatch.setattr(anonrisk, "find_qids", out_of_time)
    code, out, _ = run("find-qids", "t.csv", "--time-limit", 5, "--fail-if-found", "--json")
    assert (code, json.loads(out)["partial"]) == (3, True)
    assert run("find-qids", "t.csv", "--time-limit", 5)[0] == 0


@pytest.mark.slow
def test_who_says_neither_size_nor_time_gets_what_a_minute_gives(run, monkeypatch):
    write("t.csv", PEOPLE)
    asked = []
    found = anonrisk.find_qids

    def noted(*given, **more):
        asked.append((more.get("time_limit"), more.get("max_size", 4)))
        return found(*given, **more)

    monkeypatch.setattr(anonrisk, "find_qids", noted)
    for arguments in ((), ("--max-size", 3), ("--time-limit", 7), ("--explain",)):
        assert run("find-qids", "t.csv", *arguments)[0] == 0
    assert asked == [(60, 4), (None, 3), (7, 4), (60, 4)]


@pytest.mark.slow
def test_a_search_cut_short_says_what_it_covers_and_how_to_get_more(run, monkeypatch):
    random = np.random.default_rng(0)
    columns = {f"c{i}": random.integers(0, 3, 1_000) for i in range(24)}
    pd.DataFrame(columns).to_csv("t.csv", index=False)
    monkeypatch.setattr("anonrisk.cli.commands.find_qids._SECONDS", 0.01)
    code, out, _ = run("find-qids", "t.csv")
    assert max(map(len, out.splitlines())) <= 80
    out = " ".join(out.split())
    assert code == 0
    assert "PARTIAL: time ran out with" in out
    assert "searched: all sets of 1 column" in out
    assert "no set of 4 columns" in out
    assert out.rstrip().endswith("to the end, however long it takes")
    code, out, _ = run("find-qids", "t.csv", "--fail-if-found", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["sets"]) == (3, "could_not_assess", [])
    assert [one["size"] for one in found["coverage"]] == [1, 2, 3, 4]
    assert found["coverage"][0] == {"size": 1, "sets": 24, "decided": 24}
    assert found["coverage"][3]["decided"] == 0
    # What was found is certain, however little was searched.
    pd.DataFrame({**columns, "id": [f"x{i}" for i in range(1_000)]}).to_csv("t.csv", index=False)
    assert run("find-qids", "t.csv", "--fail-if-found")[0] == 1
    code, out, _ = run("find-qids", "t.csv", "--max-size", 1)
    assert "PARTIAL" not in out


@pytest.mark.parametrize(
    "wrong",
    [
        ("--alpha", 0),
        ("--alpha", 1),
        ("--alpha", "nan"),
        ("--max-size", 0),
        ("--population-size", 2),
        ("--time-limit", -1),
        ("--qids", "zip", "--unit", "zip"),
    ],
)
def test_wrong_usage(run, wrong):
    write("t.csv", PEOPLE)
    code, out, err = run("find-qids", "t.csv", *wrong)
    assert (code, out) == (2, "")
    assert "wrong usage" in err
