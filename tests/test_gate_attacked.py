"""Ways past the gate that were found by attacking it, each closed by every door that it was in."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pandas as pd
import pytest
from tables import spark_table

import anonrisk
from anonrisk import Policy, Verdict
from anonrisk.cli import main
from anonrisk.errors import ArgumentError

DOCUMENT = {
    "version": 1,
    "roles": {"quasi": ["zip"], "insensitive": ["x"]},
    "budgets": {"k": 2},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table in which everybody has a twin, and a policy beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.csv").write_text("zip,x\na,1\na,2\n")
    return tmp_path


def lone(path):
    path.write_text("zip,x\nLONE,1\n")


def check(*paths, policy="p.json"):
    return main(["check", *map(str, paths), "--policy", policy])


def test_the_folder_by_itself_passes(folder):
    assert check("d") == 0


def test_a_link_to_a_folder_is_not_passed_over(folder):
    (folder / "other").mkdir()
    lone(folder / "other" / "b.csv")
    (folder / "d" / "sub").symlink_to(folder / "other")
    assert check("d") == 3


@pytest.mark.parametrize("path", ["d", "d/*.csv"])
def test_a_link_that_leads_nowhere_is_not_passed_over(folder, path):
    (folder / "d" / "b.csv").symlink_to(folder / "nowhere.csv")
    assert check(path) == 3


@pytest.mark.parametrize("path", ["d", "d/*.csv"])
def test_nor_is_a_table_that_looks_like_a_marker(folder, path):
    lone(folder / "d" / "_b.csv")
    assert check(path) == 3
    assert check("d/a.csv", "d/_b.csv") == 1
    (folder / "d" / "_b.csv").rename(folder / "d" / "_SUCCESS")
    assert check("d") == 0


def test_a_delta_table_is_not_its_files(folder):
    (folder / "d" / "_delta_log").mkdir()
    (folder / "d" / "_delta_log" / "0.json").write_text("{}")
    assert check("d") == 3


def test_a_file_has_no_packed_twin(folder):
    import gzip

    (folder / "d" / "a.csv").write_text("zip,x\na,1\n")
    with gzip.open(folder / "d" / "a.csv.gz", "wt") as file:
        file.write("zip,x\na,1\n")
    assert check("d") == 2


def test_folders_that_stand_for_columns_do_so_where_they_are_named(folder):
    for country, ages in (("NL", "30\n30\n"), ("XX", "30\n")):
        place = folder / "out" / f"country={country}"
        place.mkdir(parents=True)
        (place / "a.csv").write_text(f"age\n{ages}")
    document = {**DOCUMENT, "roles": {"quasi": ["age"]}, "unlisted": "quasi"}
    (folder / "q.json").write_text(json.dumps(document))
    named = sorted((folder / "out").iterdir())
    assert check("out", policy="q.json") == 1
    assert check(*named, policy="q.json") == 1
    assert check(*(place / "a.csv" for place in named), policy="q.json") == 1


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_the_same_on_spark(spark, folder):
    from anonrisk.cli.job import main as job

    def check_on_spark(*paths, policy="p.json"):
        given = [str(folder / path) for path in paths]
        return job("check", [*given, "--format", "csv", "--policy", policy])

    assert check_on_spark("d") == 0
    lone(folder / "d" / "_b.csv")
    assert check_on_spark("d/a.csv", "d/_b.csv") == 3
    assert check_on_spark("d") == 3
    (folder / "d" / "_b.csv").unlink()
    (folder / "d" / "b.csv").symlink_to(folder / "nowhere.csv")
    assert check_on_spark("d") == 3
    test_folders_that_stand_for_columns_do_so_where_they_are_named(folder)
    named = [f"out/country={name}" for name in ("NL", "XX")]
    assert check_on_spark("out", policy="q.json") == 1
    assert check_on_spark(*named, policy="q.json") == 1


def test_a_verdict_names_the_files_that_were_read(folder, monkeypatch):
    from anonrisk.engines.pandas import files

    reading = files.read

    def late(*args, **kwargs):
        lone(folder / "d" / "late.csv")
        return reading(*args, **kwargs)

    monkeypatch.setattr(files, "read", late)
    assert main(["check", "d", "--policy", "p.json", "--output", "v.json"]) == 0
    stored = json.loads((folder / "v.json").read_text())
    assert stored["files"] == [str(Path("d", "a.csv"))]
    assert stored["n_rows"] == 2


@pytest.mark.contract
def test_what_the_table_declares_and_no_budget_covers_is_not_covered(frame):
    table = frame({"zip": ["a"] * 3, "age": [1, 2, 3]}).anon.declare(quasi=["zip", "age"])
    verdict = Policy(quasi="zip", k=2).check(table)
    assert verdict.status == "could_not_assess"
    assert verdict.columns == {"zip": "quasi", "age": None}
    assert Policy(quasi="zip", k=2, unlisted="quasi").check(table).status == "fail"
    assert Policy(k=2).check(table).status == "fail"


@pytest.mark.contract
def test_a_note_on_the_table_excuses_no_direct_identifier(frame):
    table = frame({"zip": ["a"] * 2, "NAME": ["Ann", "Bob"]})
    table = table.anon.declare(quasi="zip", insensitive="NAME")
    assert Policy(quasi="zip", direct="name", k=2).check(table).status == "could_not_assess"
    assert Policy(quasi="zip", direct="name", insensitive="NAME", k=2).check(table).passed


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_names_inside_of_cells_are_seen_in_files(folder, kind):
    people = pd.DataFrame({"zip": ["a", "a"], "person": [{"name": "Ann"}, {"name": "Bob"}]})
    if kind == "jsonl":
        people.to_json(folder / "n.jsonl", orient="records", lines=True)
    else:
        people.to_parquet(folder / "n.parquet")
    roles = {"quasi": ["zip"], "direct": ["name"], "insensitive": ["person"]}
    (folder / "n.json").write_text(json.dumps({**DOCUMENT, "roles": roles}))
    assert check(f"n.{kind}", policy="n.json") == 3
    assert Policy(**roles, k=2).check(people).status == "could_not_assess"


@pytest.mark.contract
def test_rows_that_are_removed_are_removed_for_every_quasi_identifier(frame):
    policy = Policy(
        quasi=["zip", "born"],
        k=2,
        qids=[{"columns": ["zip"], "budgets": {"k": 3}}],
        missing="drop",
        max_dropped_fraction=0.5,
        dropped_are_removed=True,
    )
    assert policy.check(frame({"zip": list("aaa"), "born": [1, 1, None]})).status != "pass"
    assert policy.check(frame({"zip": list("aa"), "born": [1, 1]})).status == "fail"
    assert policy.check(frame({"zip": list("aaa"), "born": [1, 1, 1]})).passed


def test_an_index_with_the_name_of_a_column_is_seen():
    index = pd.Index(["Ann", "Bob"], name="ward")
    table = pd.DataFrame({"zip": ["a"] * 2, "ward": ["w"] * 2}, index=index)
    assert Policy(quasi="zip", insensitive="ward", k=2).check(table).status == "could_not_assess"


def test_marks_are_counted_in_dictionaries(folder):
    table = pd.DataFrame({"zip": pd.Categorical(["*", "*", "*", "a", "a"])})
    table.to_parquet("s.parquet")
    document = {"version": 1, "roles": {"quasi": ["zip"]}, "suppressed": "*"}
    document["budgets"] = {"k": 2, "max_suppressed": 0.1}
    (folder / "s.json").write_text(json.dumps(document))
    assert Policy.from_dict(document).check(table).status == "fail"
    assert check("s.parquet", policy="s.json") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.update(n_rows=1),
        lambda v: v.update(n_rows=-4),
        lambda v: v.update(n_dropped=10),
        lambda v: v["budgets"][0].update(budget="K", value=1, limit=5, margin=4),
        lambda v: v["budgets"][0].update(limit=-3, margin=5),
        lambda v: v["coverage"]["columns"][0].update(role="direct"),
        lambda v: v["coverage"]["columns"].append(
            {"name": "email", "role": None, "budgets": [], "reason": ""}
        ),
        lambda v: v["budgets"][0].update(qid=["elsewhere"]),
        lambda v: v.update(checked_at="2999-01-01T00:00:00+00:00"),
    ],
)
def test_a_forged_pass_is_refused(change):
    table = pd.DataFrame({"zip": ["a", "a"]})
    stored = json.loads(Policy(quasi="zip", k=2).check(table).to_json())
    assert Verdict.from_json(json.dumps(stored)).passed
    change(stored)
    with pytest.raises(ArgumentError):
        Verdict.from_json(json.dumps(stored))


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_roles_that_pandas_wrote_hold_in_a_spark_job(spark, folder):
    from anonrisk.cli.job import main as job

    table = pd.DataFrame({"zip": ["a", "a"], "name": ["x", "y"]})
    (folder / "pq").mkdir()
    table.anon.declare(quasi="zip", direct="name").to_parquet(folder / "pq" / "1.parquet")
    document = {**DOCUMENT, "roles": {"quasi": ["zip"], "insensitive": ["name"]}}
    (folder / "r.json").write_text(json.dumps(document))

    def both():
        given = [str(folder / "pq"), "--policy", "r.json"]
        return main(["check", *given]), job("check", given)

    assert both() == (1, 1)
    table.to_parquet(folder / "pq" / "2.parquet")
    assert both() == (3, 3)


def test_no_line_is_offered_that_lets_a_direct_identifier_through():
    table = pd.DataFrame({"zip": ["a"] * 2, "NAME": ["Ann", "Bob"], "ward": ["w"] * 2})
    told = " ".join(
        f.sentence for f in Policy(quasi="zip", direct="name", k=2).check(table).failures
    )
    assert "quasi: [ward]" in told


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_the_text_of_an_error_is_asked_for_in_silence(spark, caplog):
    caplog.set_level(logging.DEBUG)
    base = spark_table(spark, {"zip": ["a", "a"], "d": ["CANARYX1", "CANARYX1"]})
    parsed = "java_method('java.lang.Integer', 'parseInt', d) as d"
    table = base.selectExpr("zip", parsed)
    caplog.clear()
    policy = Policy(quasi="zip", sensitive="d", k=2, ldiv={"l": 2})
    assert policy.check(table).status == "could_not_assess"
    assert not [r for r in caplog.records if "CANARYX1" in r.getMessage()]
    assert anonrisk.k(base, ["zip"]) == 2
