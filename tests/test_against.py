"""`anonrisk check --against`: what a change does to the people in a table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk.cli import main
from anonrisk.policy.against import AgainstBase, UniqueChange, check_against
from anonrisk.policy.evidence import Problem

QID = ["zip", "age"]
SECRET = "Xavier-7741"


def policy(**keywords):
    return anonrisk.Policy(**{"quasi": QID, "k": 2, "unlisted": "ignore", **keywords})


def table(*rows):
    return pd.DataFrame(rows, columns=["zip", "age", "who", "ill"])


def singletons(df, unit=None, qid=QID):
    """Slow and obvious: those who share their cells with nobody else."""
    cells = [tuple(row) for row in df[qid].itertuples(index=False)]
    if unit is None:
        return sum(n == 1 for n in Counter(cells).values())
    people = {cell: set() for cell in cells}
    for cell, who in zip(cells, df[unit], strict=True):
        people[cell].add(who)
    return len({who for alone in people.values() if len(alone) == 1 for who in alone})


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.sampled_from("pqrs"), st.just("flu")),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, derandomize=True)
@given(now=ROWS, before=ROWS, unit=st.sampled_from([None, "who"]))
def test_it_counts_who_is_alone_before_and_after(now, before, unit):
    now, before = table(*now), table(*before)
    rules = policy(unit=unit, qids=[{"columns": ["zip"], "budgets": {"k": 1}}])
    verdict, change = check_against(rules, now, before)
    assert verdict == rules.check(now)
    for one in change.unique:
        old, new = (singletons(df, unit, list(one.qid)) for df in (before, now))
        assert (one.before, one.after, one.more) == (old, new, new - old)
        assert one.who == ("record" if unit is None else "person")
    assert {one.qid for one in change.unique} == {("zip", "age"), ("zip",)}
    assert [one.more for one in change.unique] == sorted(o.more for o in change.unique)[::-1]
    kept = {f.qid: f.passed for f in rules.check(before).findings}
    broken = {f.qid for f in verdict.findings if not f.passed and kept[f.qid]}
    met = {f.qid for f in verdict.findings if f.passed and not kept[f.qid]}
    assert {f.qid for f in change.newly_broken} == broken
    assert {f.qid for f in change.newly_met} == met


@pytest.mark.engine
def test_every_engine_says_the_same(frame):
    now = frame({"zip": ["a", "a", "b", "c"], "age": [1, 1, 2, 3]})
    base = frame({"zip": ["a", "a", "b", "b"], "age": [1, 1, 2, 2]})
    verdict, change = check_against(policy(), now, base)
    assert verdict.status == "fail"
    assert change.unique == (UniqueChange(("zip", "age"), 0, 2),)
    assert [found.budget for found in change.newly_broken] == ["k"]


@pytest.mark.parametrize(
    ("before", "after", "who", "told"),
    [
        (12, 53, "person", "makes 41 more people unique by zip + age: 12 before, 53 now."),
        (0, 1, "person", "makes 1 more person unique by zip + age: 0 before, 1 now."),
        (5, 3, "record", "makes 2 fewer records unique by zip + age: 5 before, 3 now."),
        (3, 3, "record", "makes no more records unique by zip + age: 3 as before."),
    ],
)
def test_it_says_so_in_words(before, after, who, told):
    assert UniqueChange(("zip", "age"), before, after, who).sentence == f"This change {told}"


def test_groups_are_told_one_by_one():
    now = table(("a", 1, "p", "x"), ("a", 1, "q", "x"), ("b", 1, "r", "y"))
    base = table(("a", 1, "p", "x"), ("b", 1, "q", "z"))
    _, change = check_against(policy(by="ill"), now, base)
    assert [(one.group, one.more) for one in change.unique] == [("y", 1), ("x", -1), ("z", -1)]
    assert change.unique[0].sentence.startswith("In y: This change makes 1 more record unique")
    assert {found.group for found in change.newly_broken} == {"y"}
    assert {found.group for found in change.newly_met} == {"x", "z"}


def test_the_worst_of_every_subset_may_be_another_one():
    rule = {"every_subset_of": 1, "budgets": {"k": 2}}
    every = anonrisk.Policy(quasi=QID, qids=[rule], unlisted="ignore")
    base = table(("a", 1, "p", "x"), ("a", 1, "q", "x"), ("b", 1, "r", "x"))
    now = table(("a", 1, "p", "x"), ("a", 1, "q", "x"), ("a", 2, "r", "x"))
    _, change = check_against(every, now, base)
    assert change.newly_broken == ()
    assert change.newly_met == ()
    assert {one.qid: one.more for one in change.unique} == {("zip",): -1, ("age",): 1}


def test_a_direct_identifier_that_comes_is_new():
    base = table(("a", 1, "p", "x"), ("a", 1, "q", "x"))
    rules = policy(direct=["name"])
    _, change = check_against(rules, base.assign(name="n"), base)
    assert [found.budget for found in change.newly_broken] == ["direct"]
    _, change = check_against(rules, base, base.assign(name="n"))
    assert [found.budget for found in change.newly_met] == ["direct"]


def test_many_changes_are_not_all_printed():
    changes = tuple(UniqueChange((f"c{i}",), 0, i) for i in range(9))
    assert "And 4 more quasi-identifiers" in repr(AgainstBase(changes))
    assert len(AgainstBase(changes).to_dict()["unique"]) == 9


@pytest.mark.parametrize(
    ("base", "told"),
    [
        (table(("a", 1, "p", "x")).drop(columns="age"), "'age' in the table alone"),
        (table(), "no records"),
        (table(("a", 1, None, "x")), "unit"),
    ],
)
def test_a_base_that_cannot_be_compared_with_is_a_problem(base, told):
    now = table(("a", 1, "p", "x"), ("a", 1, "q", "x"))
    verdict, problem = check_against(policy(unit="who"), now, base)
    assert verdict.passed
    assert isinstance(problem, Problem)
    assert told in problem.message


# ---- on the command line ------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    policy(unit="who").save(Path("p.json"))
    now = table(("a", 1, "p", SECRET), ("a", 1, "q", "x"), ("b", 2, "r", "x"))
    now.to_csv("t.csv", index=False)
    table(("a", 1, "p", SECRET), ("a", 1, "q", "x")).to_csv("b.csv", index=False)

    def call(*arguments):
        code = main(["check", "t.csv", "--policy", "p.json", *arguments])
        said = capsys.readouterr()
        written = [path.read_text() for path in Path().glob("out.*")]
        assert SECRET not in "".join((said.out, said.err, *written))
        return code, said.out, said.err

    return call


def test_every_rendering_says_it(run):
    sentence = "This change makes 1 more person unique by zip + age: 0 before, 1 now."
    files = ("--sarif", "out.sarif", "--markdown", "out.md", "--output", "out.json")
    code, out, _ = run("--against", "b.csv", *files)
    assert code == 1
    assert sentence in " ".join(out.split())
    assert "No longer kept: k of zip + age." in out
    stored = json.loads(Path("out.json").read_text())["against"]
    assert stored["table"] == "b.csv"
    assert stored["unique"][0]["more"] == 1
    assert stored["newly_broken"][0]["budget"] == "k"
    assert sentence in stored["sentences"]
    assert anonrisk.Verdict.from_json(Path("out.json").read_text()).status == "fail"
    assert sentence.replace("+", r"\+") in Path("out.md").read_text()
    (log,) = json.loads(Path("out.sarif").read_text())["runs"]
    (result,) = [one for one in log["results"] if one["ruleId"] == "against"]
    assert (result["level"], result["message"]["text"]) == ("note", sentence)


def test_it_does_not_decide(run):
    policy(unit="who", k=1, max_unique_records=99).save(Path("p.json"))
    code, out, _ = run("--against", "b.csv")
    assert code == 0
    assert "1 more person" in out


@pytest.mark.slow
def test_without_a_base_there_is_no_pass(run):
    policy(unit="who", k=1, max_unique_records=99).save(Path("p.json"))
    assert run()[0] == 0
    for base, told in (("no.csv", "no file or folder 'no.csv'"), ("t.bin", "t.bin")):
        Path("t.bin").write_bytes(b"\0")
        code, out, _ = run("--against", base, "--sarif", "out.sarif")
        assert code == 3
        assert "The change against the base could not be assessed" in out
        assert told in " ".join(out.split())
    table(("a", 1, "p", "x")).rename(columns={"age": "aeg"}).to_csv("o.csv", index=False)
    code, out, _ = run("--against", "o.csv")
    assert code == 3
    assert "'age' in the table alone" in " ".join(out.split())


def test_wrong_usage_of_a_base(run):
    assert run("--against", "")[0] == 2
    code, _, err = run("--against", "b.csv", "--output", "b.csv")
    assert code == 2
    assert "part of the base" in err
    assert Path("b.csv").read_text().startswith("zip")
    assert main(["check", "-", "--policy", "p.json", "--against", "-"]) == 2
