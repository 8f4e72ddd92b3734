"""`anonrisk example`: files to try, and the programs of the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anonrisk.cli import main

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted(
    path.stem for path in (ROOT / "anonrisk" / "datasets" / "examples").glob("[!_]*.py")
)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main(["example", *arguments])
        return code, *capsys.readouterr()

    return call


def test_programs_are_listed_with_what_they_do(run):
    code, out, _ = run("--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == PROGRAMS
    assert "hospital         A hospital wants to publish its admissions." in out
    assert sorted(json.loads(run("--list", "--json")[1])["examples"]) == PROGRAMS


@pytest.mark.slow
def test_a_program_runs_from_any_folder(run, tmp_path):
    code, out, _ = run("hospital")
    assert code == 0
    assert "k = 1" in out
    assert json.loads(run("hospital", "--json")[1])["text"] + "\n" == out
    assert list(tmp_path.iterdir()) == []
    # One that misses its table says so.
    code, _, err = run("lodha_thomas")
    assert code == 2
    assert "adult.csv is not there" in err


def test_a_program_can_be_taken_along(run, tmp_path):
    code, out, _ = run("plan", "--code")
    assert (code, out) == (0, (ROOT / "anonrisk" / "datasets" / "examples" / "plan.py").read_text())


def test_files_to_try_go_where_they_are_wanted(run, tmp_path):
    assert run("--folder", "deep/er")[0] == 0
    assert sorted(path.name for path in (tmp_path / "deep" / "er").iterdir()) == [
        "admissions.csv",
        "release.json",
    ]


def test_wrong_words_are_answered(run):
    code, _, err = run("hospitl")
    assert code == 2
    assert "no example is called 'hospitl'; did you mean 'hospital'? There are citizens, " in err
    assert run("--code")[0] == 2
    assert run("hospital", "--folder", ".")[0] == 2
    assert run("hospital", "--list")[0] == 2


@pytest.mark.parametrize(
    ("folder", "package"), [("examples", "datasets.examples"), ("spark_jobs", "spark_jobs")]
)
def test_the_checkout_has_a_door_to_each(folder, package):
    inside = {
        path.name for path in (ROOT / "anonrisk").joinpath(*package.split(".")).glob("[!_]*.py")
    }
    doors = {path.name for path in (ROOT / folder).glob("*.py")} - {"startup.py"}
    assert doors == inside
    for name in inside:
        text = (ROOT / folder / name).read_text()
        assert f"from anonrisk.{package}.{name.removesuffix('.py')} import main\n" in text
        assert len(text.splitlines()) < 10
