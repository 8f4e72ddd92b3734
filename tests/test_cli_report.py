"""`anonrisk report`: one file, whole, escaped, and without a cell."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import test_cli
import test_report

import anonrisk

run = test_cli.run
write = test_cli.write
ODD = "<b>zip</b> & \x01"


def page(path="r.html"):
    text = Path(path).read_text(encoding="utf-8")
    assert test_cli.SECRET not in text
    assert text.lstrip().startswith("<!DOCTYPE html>")
    return test_report.Page(text)


def people(n=60):
    return pd.DataFrame(
        {
            ODD: [f"{test_cli.SECRET}{i % 9}" for i in range(n)],
            "age": [20 + i % 7 for i in range(n)],
            "illness": ["flu" if i % 3 else test_cli.SECRET for i in range(n)],
        }
    )


def test_a_page_about_a_table(run):
    people().to_csv("t.csv", index=False)
    asked = ("--qids", ODD, "age", "--sensitive", "illness", "--group-size", 20)
    code, out, err = run("report", "t.csv", *asked, "-o", "r.html", "--title", "A < B")
    assert (code, out, err) == (0, "Wrote r.html\n", "")
    text = page().text
    frame = people().astype(str)
    made = anonrisk.report(frame, [ODD, "age"], "illness", group_size=20)
    assert "A < B" in text
    assert r"<b>zip</b> & \x01" in text
    assert "t.csv" in text
    for one in test_report.texts({**made.to_dict(), "masthead": {}}):
        assert " ".join(one.split()) in text
    told = json.loads(run("report", "t.csv", *asked, "-o", "r.html", "--json")[1])
    for part in ("classes", "drivers", "attackers", "sensitive", "groups"):
        assert told[part] == made.to_dict()[part]
    assert 20 in [row["size"] for row in told["groups"]["rows"]]


def test_markdown_and_json_by_the_ending(run):
    people().to_csv("t.csv", index=False)
    for path, begins in (("r.md", "# Who can be"), ("r.json", "{"), ("page", "<!DOCTYPE html>")):
        assert run("report", "t.csv", "--qids", "age", "-o", path)[0] == 0
        assert Path(path).read_text(encoding="utf-8").lstrip().startswith(begins)
    assert run("report", "t.csv", "--qids", "age", "-o", "r.pdf")[0] == 2


@pytest.mark.slow
def test_a_verdict_decides_the_exit_code(run):
    write("t.csv", test_cli.PEOPLE)
    asked = ("report", "t.csv", "-o", "r.html", "--policy")
    assert run(*asked, test_cli.policy(sensitive=["illness"], ldiv={"l": 2}))[0] == 0
    assert "Keeps every limit" in page().text
    code, out, _ = run(*asked, test_cli.policy(k=3))
    assert (code, out) == (1, "fail\nWrote r.html\n")
    assert "Do not publish this table as it is." in page().text
    assert "at least 3 are required" in page().text
    journalist = test_cli.policy(max_suppressed=0.5)
    code, out, _ = run(*asked, journalist, "--json")
    assert (code, json.loads(out)["verdict"]["status"]) == (3, "could_not_assess")
    assert "This is not a pass" in page().text
    assert "No cell of the table is on this page" in page().text
    assert run(*asked, test_cli.policy(by="illness"))[0] == 1
    assert "but the groups of illness, which the policy asks for" in page().text
    # The command line replaces the roles of the policy.
    assert run(*asked, test_cli.policy(k=3), "--qids", "age")[0] == 0
    assert "Quasi-identifier age" in page().text


def test_persons_are_counted(run):
    write("t.csv", "zip,who\na,1\na,1\nb,2\nc,3\nd,4\ne,5\n")
    run("report", "t.csv", "--qids", "zip", "--unit", "who", "-o", "r.html")
    assert "5 of 5 persons (100.0%) are alone" in page().text


def test_no_older_page_is_mistaken_for_this_one(run):
    write("t.csv", test_cli.PEOPLE)
    asked = ("--qids", "zip", "-o", "r.html")
    assert run("report", "t.csv", *asked)[0] == 0
    assert run("report", "no.csv", *asked)[0] == 3
    assert "Could not assess" in page().text
    assert "no.csv" in page().text
    assert run("report", "t.csv", *asked)[0] == 0
    assert run("report", "t.csv", "--policy", "no.json", *asked)[0] == 2
    assert "Could not assess" in page().text
    assert run("report", "t.csv", "-o", "r.html")[0] == 2
    assert "Could not assess" in page().text


def test_what_nobody_foresaw_is_not_quoted(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(test_cli.SECRET)

    write("t.csv", test_cli.PEOPLE)
    monkeypatch.setattr(anonrisk, "report", broken)
    assert run("report", "t.csv", "--qids", "zip", "-o", "r.html")[0] == 3
    assert "failed unexpectedly" in page().text


@pytest.mark.parametrize("wrong", [("-o", "t.csv"), ("-o", "."), ("--group-size", -1)])
def test_wrong_usage(run, wrong):
    write("t.csv", test_cli.PEOPLE)
    assert run("report", "t.csv", "--qids", "zip", "-o", "r.html", *wrong)[0] == 2
    assert run("report", "t.csv", "--qids", "zip")[0] == 2
    assert Path("t.csv").read_text() == test_cli.PEOPLE
    code, _, err = run("report", "t.csv", "--qids", "zip", "-o", "no/r.html")
    assert code == 3
    assert "cannot write" in err
