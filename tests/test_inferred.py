"""Types of CSV cells that nobody has said: inferred for plans and drafts, said, and changeable."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anonrisk import Policy
from anonrisk.cli import main
from anonrisk.engines.pandas.files import read, write
from anonrisk.engines.reading.files import Inferred, TextFormat, Wanted

NUMBERS = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(-9, 9, allow_nan=False).map(repr),
    st.decimals(-9, 9, places=2).map(str),
    st.sampled_from(["0123", "1e5", "1e-07", "-0", "-0.0", "+5", "1.", ".5", "NA", "inf", "1_0"]),
)
CELLS = st.one_of(
    st.lists(st.integers(-99, 99).map(str), min_size=1, max_size=8),
    st.lists(st.floats(-9, 9, allow_nan=False).map(repr), min_size=1, max_size=8),
    st.lists(st.sampled_from(["2", "2.5", "0", "-3", "180", "182.5"]), min_size=1, max_size=8),
    st.lists(st.dates(date(1900, 1, 1), date(2100, 1, 1)).map(str), min_size=1, max_size=8),
    st.lists(NUMBERS, min_size=1, max_size=8),
    st.lists(st.sampled_from(["2020-01-05", "2020-02-30", "x", "7"]), min_size=1, max_size=8),
)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert code == 0, said.err
        return said.out

    return call


@given(CELLS, st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_inferred_is_written_back_and_keeps_values_apart(tmp_path, cells, missing):
    every = [*cells, *([""] if missing else [])]
    Path(tmp_path, "t.csv").write_text("x,y\n" + "".join(f"{cell},1\n" for cell in every))
    found = Inferred()
    table = read([str(tmp_path / "t.csv")], Wanted(inferred=None), TextFormat(), inferred=found)
    write(table, tmp_path / "out.csv", "csv", sep=",", encoding="utf-8", short=found.short)
    back = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)["x"].tolist()
    assert back == every
    assert table["x"].nunique() == len(set(cells))
    # By hand: whole numbers and days are never left as text.
    if all(cell == str(int(cell)) for cell in cells if cell.lstrip("-").isdigit()) and all(
        cell.lstrip("-").isdigit() for cell in cells
    ):
        assert table["x"].dtype.kind == "i"
    if table["x"].dtype.kind not in "ifM":
        assert found.kinds.get("x") in (None, "text")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_ends_of_lines_in_cells_are_written_so_that_they_are_read(name, tmp_path):
    table = pd.DataFrame({"a\r": ["x\ry", "\r", "x\r\ny", 'x"\n', " x, "], "b": [*"12345"]})
    write(table, tmp_path / name, "csv", sep=",", encoding="utf-8")
    again = read([str(tmp_path / name)], Wanted(), TextFormat())
    assert again.astype(object).equals(table.astype(object))
    plain = table.iloc[3:].set_axis(["a", "b"], axis=1)
    write(plain, tmp_path / "plain.csv", "csv", sep=",", encoding="utf-16")
    assert (tmp_path / "plain.csv").read_bytes() == plain.to_csv(index=False).encode("utf-16")


PEOPLE = pd.DataFrame(
    {
        "age": [str(20 + i * 7 % 60) for i in range(200)],
        "height": [f"{(1500 + i * 13 % 400) / 10:g}" for i in range(200)],
        "bmi": [repr(18 + (i * 37 % 150) / 10) for i in range(200)],
        "born": [str(np.datetime64("1950-01-01") + i * 97) for i in range(200)],
        "zip": [f"{i * 11 % 40:04}" for i in range(200)],
        "sex": ["f", "m"] * 100,
        "ill": [str(i % 3) for i in range(200)],
    }
)
KINDS = {"age": "number", "height": "number", "bmi": "number", "born": "date", "zip": "text"}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full-domain", "multidimensional"])
@pytest.mark.parametrize(
    "columns", [["age", "sex"], ["height", "bmi"], ["born", "age"], ["zip", "born", "height"]]
)
def test_a_plan_applied_later_to_the_same_texts_gives_the_same_cells(run, columns, method):
    PEOPLE.to_csv("t.csv", index=False)
    out = run(
        *("plan", "t.csv", "--qids", *columns, "--k", "3", "--method", method),
        *("-o", "p.json", "--apply", "now.csv"),
    )
    run("apply", "p.json", "t.csv", "-o", "later.csv")
    assert Path("now.csv").read_text() == Path("later.csv").read_text()
    kept = [name for name in PEOPLE if name not in columns]
    now = pd.read_csv("now.csv", dtype=str)
    if len(now) == len(PEOPLE):
        pd.testing.assert_frame_equal(now[kept], PEOPLE[kept])
    assert json.loads(Path("p.json").read_text())["dtypes"] == {
        name: KINDS[name] for name in PEOPLE if name in columns and name in KINDS
    }
    for name in columns:
        said = {"number": "Read as numbers", "date": "Read as dates", "text": "stay text"}
        assert name == "sex" or any(
            said[KINDS[name]] in line and name in line for line in out.splitlines()
        )


def test_a_type_that_is_said_is_taken(run):
    PEOPLE.to_csv("t.csv", index=False)
    said = ("--dtypes", "age=text", "--json")
    found = json.loads(run("plan", "t.csv", "--qids", "age", "bmi", "--k", "3", *said))
    assert found["dtypes"] == {"bmi": "number"}


def test_gates_read_text_and_a_plan_for_a_policy_leaves_other_roles_alone(run):
    PEOPLE.drop(columns=["height", "bmi", "born", "zip"]).to_csv("t.csv", index=False)
    roles = {"quasi": ["age", "sex"], "sensitive": ["ill"]}
    Path("p.json").write_text(
        json.dumps({"version": 1, "roles": roles, "budgets": {"k": 3, "ldiv": 2}})
    )
    out = run("plan", "t.csv", "--policy", "p.json", "--apply", "now.csv", "--json")
    assert json.loads(out)["dtypes"] == {"age": "number"}
    assert "pass" in run("check", "now.csv", "--policy", "p.json")
    found = json.loads(run("measure", "t.csv", "--qids", "age", "--json"))
    assert found["sizes"]["n_classes"] == PEOPLE["age"].nunique()


def test_a_draft_is_the_same_of_texts_and_of_what_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("t.csv", index=False)
    texts, typed = (
        Policy.draft(read(["t.csv"], Wanted(inferred=inferred), TextFormat()))
        for inferred in (frozenset(), None)
    )
    assert texts.drafted == typed.drafted
    assert texts == typed
