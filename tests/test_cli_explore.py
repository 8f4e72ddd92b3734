"""`anonrisk explore`: the page of the library, whole, and never an older one."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import test_cli
import test_cli_plan

import anonrisk

run = test_cli.run
write = test_cli.write
ASKED = test_cli_plan.ASKED


def test_it_writes_what_the_library_says(run):
    write("t.csv", test_cli_plan.PEOPLE)
    asked = ("explore", "t.csv", *ASKED, "--sensitive", "illness", "--floor", 6, "--title", "A < B")
    code, out, err = run(*asked, "-o", "e.html")
    assert (code, err) == (0, "")
    frame = pd.read_csv("t.csv", dtype={"zip": str})
    made = anonrisk.explore(frame, ["zip", "age"], sensitive="illness", floor=6, title="A < B")
    assert out == f"{made!r}\nWrote e.html\n"
    page = Path("e.html").read_text(encoding="utf-8")
    assert "A &lt; B" in page
    assert test_cli.SECRET not in page
    code, out, _ = run(*asked, "--output", "e.json", "--json")
    assert code == 0
    told = json.loads(Path("e.json").read_text())
    for part in ("counts", "columns", "plan", "best", "sensitive"):
        assert told[part] == made.to_dict()[part]
    assert json.loads(out)["counts"] == told["counts"]


def test_it_says_how_a_column_of_text_gets_levels(run):
    write("t.csv", "age\n" + "".join(f"{i}\n" for i in range(1, 60)))
    inferred = run("explore", "t.csv", "--qids", "age", "-o", "e.html")[1]
    assert "Read as numbers: age (changed by --dtypes age=text)" in inferred
    assert "is offered for age" not in inferred
    asked = ("--qids", "age", "--dtypes", "age=text", "-o", "e.html")
    out = run("explore", "t.csv", *asked)[1]
    assert "is offered for age" in out
    assert "--dtypes age=number" in out
    asked = ("--qids", "age", "--dtypes", "age=number", "-o", "e.html")
    assert "--dtypes" not in run("explore", "t.csv", *asked)[1]


def test_a_code_is_never_offered_as_a_number(run):
    rows = "".join(f"0{i % 3},{i % 4}.50,0{i % 5}\n" for i in range(40))
    write("t.csv", f"code,price,room\n{rows}")
    out = " ".join(run("plan", "t.csv", "--qids", "code", "price", "room", "--k", 2)[1].split())
    assert "code, price, room (changed by --dtypes price=number)" in out
    out = " ".join(run("plan", "t.csv", "--qids", "code", "room", "--k", 2)[1].split())
    assert "would be written otherwise: code, room" in out
    assert "--dtypes" not in out
    out = run("explore", "t.csv", "--qids", "code", "room", "-o", "e.html")[1]
    assert "is offered for" in out
    assert "--dtypes" not in out


def test_what_is_refused_leaves_no_older_page(run):
    write("t.csv", test_cli_plan.PEOPLE)
    write("e.html", "an older page")
    assert run("explore", "t.csv", "--qids", "zip", "--k", 1, "-o", "e.html")[0] == 2
    assert "an older page" not in Path("e.html").read_text()
    assert run("explore", "no.csv", "--qids", "zip", "-o", "e.html")[0] == 3
    assert "This is not a pass" in Path("e.html").read_text()
    assert run("explore", "t.csv", "--qids", "zip", "-o", "t.csv")[0] == 2
    assert run("explore", "t.csv", "-o", "e.html")[0] == 2
    assert run("explore", "t.csv", "--qids", "zip")[0] == 2
    assert Path("t.csv").read_text() == test_cli_plan.PEOPLE


@pytest.mark.parametrize("name", ["notes.md", "notes.pdf"])
def test_a_name_that_no_page_ends_in_is_refused_before_its_file_is_touched(run, name):
    write("t.csv", test_cli_plan.PEOPLE)
    write(name, "my notes")
    code, _, err = run("explore", "t.csv", "--qids", "zip", "-o", name)
    assert code == 2
    assert "an explorer ends in .html or .json" in " ".join(err.split())
    assert Path(name).read_text() == "my notes"
