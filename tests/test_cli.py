"""`anonrisk` on the command line: what it reads, says and answers, and how it refuses."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

import anonrisk
from anonrisk.cli import commands, main
from anonrisk.cli.output import plain
from anonrisk.errors import UnsupportedColumnError

ROOT = Path(__file__).parents[1]
SECRET = "Xavier-7741"
PEOPLE = "zip,age,illness\n01234,30,flu\n01234,30,cold\n1234,30,flu\n1234,30,cold\n"


def unfolded(out):
    """Take what was printed as one line."""
    return " ".join(out.split())


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in a folder of its own; give its exit code and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert SECRET not in said.out + said.err
        return code, said.out, said.err

    return call


def write(name, text, encoding="utf-8"):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(text.encode(encoding))
    return name


def policy(name="p.json", **keywords):
    # Most tables here have a column more than their test is about.
    given = {"quasi": ["zip", "age"], "k": 2, "unlisted": "ignore", **keywords}
    return write(name, anonrisk.Policy(**given).to_json())


def sizes(run, *arguments):
    code, out, err = run("measure", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)["sizes"]


# ---- answers and exit codes -----------------------------------------------------------------


def test_a_gate_passes_fails_and_cannot_tell(run):
    write("t.csv", PEOPLE)
    assert run("check", "t.csv", "--policy", policy())[0] == 0
    code, out, err = run("check", "t.csv", "--policy", policy(k=3))
    assert code == 1
    assert out.startswith("FAIL for t.csv: 0 of 1 check passed")
    assert "at least 3 are required" in out
    assert err == ""
    code, out, err = run("check", "t.csv", "--policy", policy(quasi=["zip", "agee"]))
    assert code == 3
    assert "did you mean 'age'?" in out
    code, out, err = run(
        "check", "t.csv", "--policy", policy(quasi=["zip", "agee"], unlisted="refuse")
    )
    # The column that is gone comes first: that the other has no role follows from it.
    told = " ".join(out.split())
    assert told.index("'agee' is not a column") < told.index("no role in the policy")


def test_json_is_a_verdict_and_alone_on_standard_output(run):
    write("t.csv", PEOPLE)
    code, out, _ = run("check", "t.csv", "--policy", policy(k=3), "--json", "--output", "v.json")
    verdict = anonrisk.Verdict.from_json(out)
    assert code == 1
    assert verdict.status == "fail"
    assert verdict.engine == "pandas"
    assert verdict.n_rows == 4
    assert Path("v.json").read_text() == out
    # A table that is not there gets a verdict too, where an older one may be lying about.
    code, out, _ = run("check", "no.csv", "--policy", policy(), "--json", "--output", "v.json")
    assert code == 3
    assert anonrisk.Verdict.from_json(out).status == "could_not_assess"
    assert Path("v.json").read_text() == out
    code, out, err = run("check", "t.csv", "--policy", "no.json", "--json", "--output", "v.json")
    assert code == 2
    assert json.loads(out)["status"] == json.loads(Path("v.json").read_text())["status"]
    assert json.loads(out)["status"] == "wrong_usage"
    assert "no.json" in err


def test_warnings_decide_only_if_asked_to(run):
    write("t.csv", PEOPLE)
    warns = policy(k=[{"at_least": 2}, {"at_least": 5, "severity": "warn"}])
    code, out, _ = run("check", "t.csv", "--policy", warns, "--junit", "j.xml")
    assert code == 0
    assert "1 warning" in out
    assert ET.parse("j.xml").getroot().get("skipped") == "1"
    asked = ("check", "t.csv", "--policy", warns, "--fail-on", "warn")
    code, out, err = run(*asked, "--junit", "j.xml", "--json")
    assert (code, json.loads(out)["exit_code"]) == (1, 1)
    assert "a warning decides" in err
    assert ET.parse("j.xml").getroot().get("failures") == "1"


def test_junit_has_a_case_for_each_finding(run):
    write("t.csv", PEOPLE)
    strict = policy(k=3, sensitive=["illness"], ldiv={"l": 2}, max_unique_fraction=0.5)
    assert run("check", "t.csv", "--policy", strict, "--junit", "j.xml")[0] == 1
    suite = ET.parse("j.xml").getroot()
    assert suite.tag == "testsuite"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    names = [case.get("name") for case in suite.iter("testcase")]
    assert "ldiv of zip + age in illness" in names
    (failure,) = suite.iter("failure")
    assert "at least 3 are required" in failure.get("message")
    # Nothing is left of it when the next run cannot read the table, or the policy.
    assert run("check", "no.csv", "--policy", strict, "--junit", "j.xml")[0] == 3
    assert ET.parse("j.xml").getroot().get("errors") == "1"
    assert run("check", "t.csv", "--policy", "no.json", "--junit", "j.xml")[0] == 2
    assert ET.parse("j.xml").getroot().get("errors") == "1"


def test_junit_holds_any_name(run):
    write("t.csv", "a\x01<&,b\n1,2\n1,2\n")
    odd = policy(quasi=["a\x01<&", "b"])
    assert run("check", "t.csv", "--policy", odd, "--junit", "j.xml")[0] == 0
    assert ET.parse("j.xml").getroot().find("testcase").get("name") == r"k of a\x01<& + b"


def test_the_command_line_fills_in_a_template(run):
    write("t.csv", PEOPLE)
    write("t.json", '{"version": 1, "budgets": {"k": 2, "ldiv": {"l": 2}}}')
    code, out, _ = run("check", "t.csv", "--policy", "t.json")
    assert code == 3
    assert "quasi" in out
    asked = ("--qids", "zip", "age", "--sensitive", "illness")
    assert run("check", "t.csv", "--policy", "t.json", *asked)[0] == 0
    code, out, _ = run("check", "t.csv", "--policy", "t.json", *asked, "--missing", "error")
    assert code == 0
    assert run("check", "t.csv", "--policy", "t.json", *asked, "--missing", "drop")[0] == 2


def test_explain_says_which_column_helps(run):
    write("t.csv", "zip,age\n1,30\n2,30\n")
    code, out, _ = run("check", "t.csv", "--policy", policy(), "--explain")
    assert code == 1
    assert "would be" in out
    out = run("check", "t.csv", "--policy", policy(), "--explain", "--json")[1]
    assert json.loads(out)["explanation"]


def test_a_population_and_removed_rows(run):
    write("t.csv", "zip,age\n1,30\n2,30\n")
    write("all.csv", "zip,age\n" + "1,30\n2,30\n" * 5)
    asked = policy(k=1, risk={"journalist": {"highest": 0.2}}, max_suppressed=0.5)
    arguments = ("check", "t.csv", "--policy", asked, "--population", "all.csv")
    assert run(*arguments, "--n-original", 4)[0] == 0
    assert run(*arguments, "--n-original", 40)[0] == 1
    assert run(*arguments)[0] == 3
    assert run(*arguments, "--n-original", 0)[0] == 2


def test_measure_tells_classes_and_values(run):
    write("t.csv", PEOPLE)
    code, out, err = run("measure", "t.csv", "--qids", "zip", "age", "--sensitive", "illness")
    assert (code, err) == (0, "")
    assert "4 records in 2 classes, k = 2" in out
    assert "tcloseness" in out
    out = run("measure", "t.csv", "--qids", "zip", "--json", "--measures", "k")[1]
    found = json.loads(out)
    assert found["measures"] == [{"measure": "k", "sensitive": None, "value": 2}]
    assert found["library_version"] == anonrisk.__version__
    out = run(
        "measure", "t.csv", "--policy", policy(sensitive=["illness"], ldiv={"l": 2}), "--json"
    )
    assert "ldiv" in {one["measure"] for one in json.loads(out[1])["measures"]}
    assert run("measure", "t.csv", "--policy", "p.json", "--qids", "zip")[0] == 2
    code, _, err = run("measure", "t.csv", "--qids", "zip", "--measures", "kk")
    assert code == 2
    assert "measure='kk' is not one of" in err


def test_measure_gives_what_the_library_gives(run):
    path = Path(run("example", "--json")[1] and "admissions.csv")
    table = pd.read_csv(path, dtype=str)
    qids = ["pc4", "year_of_birth", "gender"]
    expected = anonrisk.classes(table, qids, unit="patient").to_dict()
    assert sizes(run, path, "--qids", *qids, "--unit", "patient") == expected


@pytest.mark.slow
def test_predict(run):
    write("t.csv", "zip,age\n" + "".join(f"{i % 9},{20 + i % 7}\n" for i in range(200)))
    code, out, _ = run("predict", "t.csv", "--qids", "zip", "age", "--group-size", 20)
    assert code == 0
    assert "Predicted singletons in a group of 20" in out
    asked = ("predict", "t.csv", "--qids", "zip", "age", "--json")
    found = json.loads(run(*asked, "--group-size", 20, "--population-size", 400)[1])
    frame = pd.read_csv("t.csv")
    assert found["group"]["mean"] == frame.anon.predict_singletons(["zip", "age"], 20).mean
    assert found["population"]
    wide = json.loads(run(*asked, "--group-size", 20, "--widths", "age=10")[1])
    expected = frame.anon.predict_singletons(["zip", "age"], 20, widths={"age": 10})
    assert wide["group"]["mean"] == pytest.approx(expected.mean)
    write("homes.csv", "zip,home\n" + "".join(f"{i // 3 % 9},{i // 3}\n" for i in range(200)))
    homes = ("predict", "homes.csv", "--qids", "zip", "--json", "--cluster", "home")
    found = json.loads(run(*homes, "--group-size", 20)[1])["group"]
    told = pd.read_csv("homes.csv").anon.predict_singletons("zip", 20, cluster="home")
    assert (found["mean"], found["drawn"]) == (told.mean, told.drawn)
    found = json.loads(run(*homes, "--population-size", 400)[1])["population"]
    assert "whole clusters" in found["assumes"]
    assert run(*homes, "--population-size", 400, "--model", "dis")[0] == 2
    for wrong in ((), ("--group-size", -1), ("--population-size", 9, "--widths", "age=2")):
        assert run(*asked, *wrong)[0] == 2
    # A warning of the library is a note, and not part of the result.
    code, out, err = run(*asked, "--group-size", 20, "--draw", "replacement")
    assert code == 0
    assert "anonrisk: note: " in err
    json.loads(out)


def test_priors_from_publishing_to_a_decision(run):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    write("t.csv", "age\n" + "".join(f"{i % 50}\n" for i in range(5_000)))
    about = ("--qids", "age", "--population", "Club 2021")
    code, _, err = run("priors", "query")
    assert code == 3
    assert "publish makes one" in err
    assert run("priors", "publish", "t.csv", *about, "--by", "The Club")[0] == 0
    assert "1 submission" in run("priors", "query")[1]
    assert "no disagreement" in run("priors", "disagreements")[1]
    asked = ("priors", "predict", *about, "--group-size", 40)
    found = json.loads(run(*asked, "--json")[1])
    assert found["forecast"]["group_size"] == 40
    assert run(*asked, "--max-fraction", 0.9)[0] == 0
    code, out, _ = run(*asked, "--max-fraction", 0.01)
    assert code == 1
    assert out.startswith("fail\n")
    assert run(*asked, "--max-fraction", 0.5)[0] == 3
    assert run("priors", "predict", "--qids", "zip", *about[2:], "--group-size", 40)[0] == 3
    assert run("priors", "publish", "t.csv", *about, "--by", "X", "--when", "soon")[0] == 2


# ---- what a cell is -------------------------------------------------------------------------


def test_cells_of_csv_are_text(run):
    write("t.csv", "zip,country\n01234,NA\n1234,\n01234,nan\n1234,NA\n")
    assert sizes(run, "t.csv", "--qids", "zip")["n_classes"] == 2
    assert sizes(run, "t.csv", "--qids", "zip", "--dtypes", "zip=number")["n_classes"] == 1
    # NA is a country, and nothing is missing but the empty cell ...
    assert sizes(run, "t.csv", "--qids", "country", "--missing", "drop")["n_dropped"] == 1
    # ... unless the caller says so.
    asked = ("t.csv", "--qids", "country", "--missing", "drop", "--na", "NA", "nan")
    assert run("measure", *asked)[0] == 3
    assert sizes(run, *asked[:-1])["n_dropped"] == 3


@pytest.mark.slow
def test_numbers_and_dates_if_asked_for(run):
    write("t.csv", "zip,cost,day\na,1,2021-01-01\na,2.5,2021-01-02\na,,\nb,3,2021-01-03\nb,4,\n")
    about = ("measure", "t.csv", "--qids", "zip", "--measures", "tcloseness", "--json")

    def distance(*arguments):
        code, out, err = run(*about, *arguments)
        assert code == 0, err
        return json.loads(out)["measures"][0]["distance"]

    assert distance("--sensitive", "cost") == "equal"
    assert distance("--sensitive", "cost", "--dtypes", "cost=number") == "ordered"
    assert distance("--sensitive", "cost", "--distance", "ordered") == "ordered"
    assert distance("--sensitive", "day", "--dtypes", "day=date") == "ordered"
    ordered = policy(
        quasi=["zip"],
        k=1,
        sensitive=["cost"],
        missing_sensitive="value",
        tcloseness={"t": 0.9, "distance": "ordered"},
    )
    assert run("check", "t.csv", "--policy", ordered)[0] == 0
    write("t.csv", f"zip,cost\na,1\na,{SECRET}\n")
    code, out, _ = run("check", "t.csv", "--policy", ordered)
    assert code == 3
    assert "column 'cost' does not hold numbers alone, but 1 other cell" in unfolded(out)
    assert run(*about, "--sensitive", "cost", "--dtypes", "cost=date")[0] == 3
    assert run(*about, "--sensitive", "cost", "--dtypes", "cosst=date")[0] == 2
    assert run(*about, "--sensitive", "cost", "--dtypes", "cost=float")[0] == 2


def test_huge_numbers_stay_apart(run):
    write("t.csv", "n\n123456789012345678901\n123456789012345678902\n")
    write("t.jsonl", '{"n": 9007199254740993}\n{"n": 9007199254740992}\n{"n": null}\n')
    assert sizes(run, "t.csv", "--qids", "n")["n_classes"] == 2
    assert sizes(run, "t.jsonl", "--qids", "n")["n_classes"] == 3


@pytest.mark.slow
def test_numbers_that_are_no_floats_are_refused(run):
    asked = ("t.csv", "--qids", "n", "--dtypes", "n=number")
    refused = (
        ("12345678901234567890", "12345678901234567891"),
        ("9007199254740993", "0.5"),
        ("0.1", "0.1000000000000000055"),
        ("1e400", "1e401"),
        ("0", "1e-400"),
        ("1.2345678e-320", "1"),
    )
    for cells in refused:
        write("t.csv", "\n".join(["n", *cells, ""]))
        code, out, err = run("measure", *asked)
        assert (code, out) == (3, ""), cells
        assert "column 'n' has" in err
        assert "--dtypes n=text" in err
        assert not any(cell in err for cell in cells if len(cell) > 3)
    kept = {
        ("1", "1.0", "+1e0", "100e-2", "01"): 1,
        ("0.30000000000000004", "0.3", "-0", "0.0"): 3,
        ("999999999999999999", "999999999999999998", ""): 3,
        ("1e300", "1.5e-300", "10000000000000000000000", "1e22"): 3,
    }
    for cells, n_classes in kept.items():
        write("t.csv", "\n".join(["n,x", *(f"{cell},1" for cell in cells)]))
        assert sizes(run, *asked)["n_classes"] == n_classes, cells
    # A weight is a size, not a name: its last digits tell nobody apart.
    write("t.csv", "zip,w\n" + "a,1.33333333333333333333333\n" * 2)
    weighted = policy(quasi=["zip"], weight="w", risk={"journalist": {"highest": 1.0}})
    assert run("check", "t.csv", "--policy", weighted)[0] == 0


def test_weights_are_numbers(run):
    write("t.csv", "zip,w\na,2\na,2\nb,3\nb,3\n")
    weighted = policy(quasi=["zip"], weight="w", risk={"journalist": {"highest": 0.5}})
    assert run("check", "t.csv", "--policy", weighted)[0] == 0


@pytest.mark.slow
def test_a_sample_is_measured_and_checked_as_one(run):
    write("t.csv", "zip\n" + "".join(f"{i // 10}\n" for i in range(3000)))
    draw = ("--sampling-fraction", "0.05", "--population-size", "60000")
    code, out, _ = run("measure", "t.csv", "--qids", "zip", *draw, "--json")
    assert code == 0
    assert json.loads(out)["risk"]["journalist"]["highest"] == 1 / 43
    told = unfolded(run("measure", "t.csv", "--qids", "zip", *draw)[1])
    assert "whatever was removed since" in told
    assert "risk" not in json.loads(run("measure", "t.csv", "--qids", "zip", "--json")[1])
    limited = policy(quasi=["zip"], k=1, risk={"journalist": {"highest": 0.03}})
    assert run("check", "t.csv", "--policy", limited)[0] == 1
    assert run("check", "t.csv", "--policy", limited, *draw[:2])[0] == 3
    assert run("check", "t.csv", "--policy", limited, *draw)[0] == 0
    assert run("check", "t.csv", "--policy", limited, "--unsuppressed")[0] == 2
    assert run("measure", "t.csv", "--policy", limited, *draw)[0] == 2


def test_columns_that_are_not_read_are_published_all_the_same(run):
    write("t.csv", "name,zip,age\nA,1,2\nB,1,2\n")
    assert run("check", "t.csv", "--policy", policy(direct=["name"]))[0] == 1
    code, out, _ = run("check", "t.csv", "--policy", policy(unlisted="refuse"))
    assert code == 3
    assert "direct: [name]" in out
    named = policy(unlisted="refuse", insensitive=["name"])
    assert run("check", "t.csv", "--policy", named)[0] == 0
    assert run("check", "t.csv", "--policy", policy(unlisted="quasi"))[0] == 1
    code, out, _ = run("check", "t.csv", "--policy", policy(unlisted="ignore"))
    assert code == 0
    assert "- name: not looked at" in out


@pytest.mark.slow
def test_a_direct_identifier_does_not_hide_behind_white_space(run):
    one = policy(quasi=["zip"], direct=["name"])
    for header in ("zip, name", "zip,name ", "zip,\tname"):
        write("t.csv", f"{header}\n1,{SECRET}\n1,{SECRET}\n")
        code, out, _ = run("check", "t.csv", "--policy", one)
        assert code == 3
        assert "direct identifier 'name' is not a column, but" in out
        assert run("report", "t.csv", "--policy", one, "-o", "r.html")[0] == 3
    write("t.csv", "zip, age\n1,2\n1,2\n")
    assert run("check", "t.csv", "--policy", one)[0] == 0
    write("t.csv", "zip, name,name\n1,2,3\n1,2,3\n")
    assert run("check", "t.csv", "--policy", one)[0] == 1


def test_a_column_that_was_not_read_cannot_be_measured():
    from anonrisk.engines.pandas.files import _unread

    with pytest.raises(UnsupportedColumnError, match="NotRead"):
        pd.DataFrame({"x": _unread(3)}).anon.k("x")


# ---- where a table is -----------------------------------------------------------------------


@pytest.mark.slow
def test_packed_files(run):
    raw = PEOPLE.encode()
    packed = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    for suffix, compress in packed.items():
        Path(f"t.csv.{suffix}").write_bytes(compress(raw))
    with zipfile.ZipFile("t.csv.zip", "w") as archive:
        archive.writestr("inside.csv", raw)
    for suffix in (*packed, "zip"):
        assert sizes(run, f"t.csv.{suffix}", "--qids", "zip")["k"] == 2
    with zipfile.ZipFile("t.csv.zip", "a") as archive:
        archive.writestr("another.csv", raw)
    assert run("measure", "t.csv.zip", "--qids", "zip")[0] == 3
    more = b"".join(b"%d,30,flu\n" % i for i in range(50_000))
    for suffix, compress in packed.items():
        whole = compress(raw * 1000)
        damaged = (whole[:-30], whole[: len(whole) // 2], whole + b"garbage", whole + whole[:20])
        for content in (*damaged, b"garbage", whole + b"\1" * 100_000):
            Path(f"t.csv.{suffix}").write_bytes(content)
            code, _, err = run("measure", f"t.csv.{suffix}", "--qids", "zip")
            assert code == 3
            assert "damaged" in err
        # Packed in pieces, and larger than what is read at once.
        Path(f"t.csv.{suffix}").write_bytes(compress(raw) + compress(more) + compress(b""))
        assert sizes(run, f"t.csv.{suffix}", "--qids", "zip")["n_records"] == 50_004
    Path("t.csv.xz").write_bytes(lzma.compress(raw) + b"\0" * 8 + lzma.compress(b"1,2,3\n"))
    assert sizes(run, "t.csv.xz", "--qids", "zip")["n_records"] == 5


def test_folders_patterns_and_several_files(run):
    write("d/a.csv", "zip,age\n1,30\n")
    write("d/deep/b.csv", "age,zip\n30,1\n")
    write("d/_SUCCESS", "")
    write("d/.a.csv.crc", "x")
    for paths in (["d"], ["d/**/*.csv"], ["d/a.csv", "d/deep/b.csv"], ["d/*"]):
        assert sizes(run, *paths, "--qids", "zip", "age")["k"] == 2, paths
    for paths in (["e"], ["e/*.csv"], ["d/*.tsv"]):
        assert run("measure", *paths, "--qids", "zip")[0] == 3
    # A file that is counted twice would give everybody in it a twin.
    os.link("d/a.csv", "hard.csv")
    Path("soft.csv").symlink_to("d/a.csv")
    doubles = ["d", "d/a.csv"], ["d/a.csv", "d/../d/a.csv"], ["d", "hard.csv"], ["d", "soft.csv"]
    for twice in doubles:
        code, _, err = run("measure", *twice, "--qids", "zip")
        assert code == 2
        assert "named twice" in err
    Path("empty").mkdir()
    assert run("measure", "empty", "--qids", "zip")[0] == 3


@pytest.mark.slow
@pytest.mark.parametrize("empty", ["", " ", "\t\n"])
def test_an_empty_path_names_nothing(run, empty):
    write("yesterday.csv", "zip,age\n1,2\n1,2\n")
    gate = ("--policy", policy())
    for arguments in (
        ("check", empty, *gate),
        ("check", "yesterday.csv", empty, *gate),
        ("check", "yesterday.csv", *gate, "--population", empty),
        ("measure", empty, "--qids", "zip"),
        ("predict", empty, "--qids", "zip", "--group-size", 2),
        ("find-qids", empty),
        ("plan", empty, "--qids", "zip"),
        ("plan", empty, "--qids", "zip", "--apply", "coarse.csv"),
        ("report", empty, "--qids", "zip", "-o", "page.html"),
        ("priors", "publish", empty, "--qids", "zip", "--population", "all", "--by", "us"),
    ):
        code, _, err = run(*arguments)
        assert code == 2, arguments
        assert "a path is empty" in err
    assert run("check", ".", "--format", "csv", *gate)[0] == 3
    write("only/yesterday.csv", "zip,age\n1,2\n1,2\n")
    assert run("check", "only", *gate)[0] == 0


def test_a_folder_that_stands_for_a_column(run):
    for zip_code, cell in (("01234", "a"), ("1234", "b"), (SECRET, "c")):
        write(f"d/zip={zip_code}/p.csv", f"x\n{cell}\n{cell}\n")
    write("d/zip=__HIVE_DEFAULT_PARTITION__/p.csv", "x\nd\nd\n")
    found = sizes(run, "d", "--qids", "zip", "--missing", "drop")
    assert (found["n_classes"], found["n_dropped"]) == (3, 2)
    assert sizes(run, "d/zip=*", "--qids", "zip")["n_classes"] == 4
    write(f"d/zip={SECRET}/p.csv", "x\nc,c\n")
    Path(f"e/zip={SECRET}").mkdir(parents=True)
    for table in ("d", "e/*"):
        code, _, err = run("measure", table, "--qids", "x")
        assert code == 3
        assert "zip=…" in err


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a.csv", "x,y\n1,2\n"), ("b.csv", "x,z\n1,2\n")),
        (("a.csv", "x\n1\n"), ("b.csv", "x,y\n1,2\n")),
        (("a.csv", "x\n1\n"), ("b.jsonl", '{"x": 1}\n')),
        (("y=1/a.csv", "x\n1\n"), ("b.csv", "x\n1\n")),
    ],
)
def test_a_folder_of_mixed_tables(run, first, second):
    for name, text in (first, second):
        write(f"d/{name}", text)
    code, _, err = run("measure", "d", "--qids", "x")
    assert code == 3
    assert "differ" in err or "more than one format" in err or "not partitioned" in err


def test_json_lines(run):
    write("t.jsonl", '{"zip": "01", "n": 1}\n\n{"n": 1.0, "zip": "01"}\n{"zip": null}\n')
    found = sizes(run, "t.jsonl", "--qids", "zip", "n")
    assert (found["n_records"], found["n_classes"]) == (3, 2)
    bad = (
        f'{{"zip": "{SECRET}",,}}',
        f'["{SECRET}"]',
        f'[{{"zip": "{SECRET}"}}]',
        f'"{SECRET}"',
        f'{{"zip": "{SECRET}", "zip": 2}}',
    )
    for line in bad:
        write("t.jsonl", line)
        code, _, err = run("measure", "t.jsonl", "--qids", "zip")
        assert code == 3
        assert "line 1 of 't.jsonl'" in err
    write("t.jsonl", f'{{"zip": ["{SECRET}"]}}\n{{"zip": 1}}\n{{"zip": "{SECRET}"}}\n')
    assert run("measure", "t.jsonl", "--qids", "zip")[0] == 3
    assert run("measure", "t.jsonl", "--qids", "zip", "--dtypes", "zip=text")[0] == 2


def test_infinity_in_json_lines_is_a_value(run):
    write("t.jsonl", '{"n": Infinity}\n{"n": -Infinity}\n{"n": NaN}\n{"n": null}\n{"n": 1}\n')
    found = sizes(run, "t.jsonl", "--qids", "n", "--missing", "drop")
    assert (found["n_classes"], found["n_dropped"]) == (3, 2)
    assert sizes(run, "t.jsonl", "--qids", "n")["n_classes"] == 4


def test_parquet(run):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"zip": ["1", "1"], "n": pd.array([2**60 + 1, None], dtype="Int64")})
    Path("d").mkdir()
    frame.to_parquet("d/a.parquet")
    frame.assign(n=pd.array([2**60, None], dtype="Int64")).to_parquet("d/b.parquet")
    assert sizes(run, "d/*.parquet", "--qids", "zip", "n")["n_classes"] == 3
    frame.anon.declare(quasi="zip", sensitive="n").to_parquet("declared.parquet")
    assert sizes(run, "declared.parquet")["qid"] == ["zip"]
    # Roles that the file carries need their columns, also when the command names others.
    out = run("measure", "declared.parquet", "--qids", "zip", "--json")[1]
    values = {one["measure"]: one["value"] for one in json.loads(out)["measures"]}
    assert values["ldiv"] == 2
    frame.assign(n="x").to_parquet("d/b.parquet")
    code, _, err = run("measure", "d", "--qids", "zip")
    assert code == 3
    assert "column 'n' has a different type" in err
    for damaged in (
        b"",
        b"PAR1" + SECRET.encode() + b"PAR1",
        Path("d/a.parquet").read_bytes()[:-9],
    ):
        Path("t.parquet").write_bytes(damaged)
        assert run("measure", "t.parquet", "--qids", "zip")[0] == 3
    Path("d/b.parquet").unlink()
    (Path("d") / "zip=01").mkdir()
    frame[["n"]].to_parquet("d/zip=01/a.parquet")
    Path("d/a.parquet").unlink()
    assert sizes(run, "d", "--qids", "zip", "n")["n_classes"] == 2


def test_parquet_files_that_say_different_things_of_their_columns(run):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"zip": ["1", "1"], "age": ["2", "2"], "name": [SECRET, "B"]})
    Path("d").mkdir()
    declared = frame.anon.declare(quasi="zip", direct="name")
    marked = frame.anon.permute("zip", seed=1)
    others = (
        declared,
        marked,
        frame.anon.declare(quasi=["zip", "age"]),
        frame.anon.declare(quasi="zip", unit="name"),
    )
    k = policy(quasi=["zip"])
    declared.to_parquet("d/b.parquet")
    assert run("check", "d/b.parquet", "--policy", k)[0] == 1
    marked.to_parquet("d/b.parquet")
    assert run("check", "d/b.parquet", "--policy", k)[0] == 3
    for first, second in (
        (frame, declared),
        (declared, frame),
        (declared, others[2]),
        *((frame, one) for one in others),
    ):
        first.to_parquet("d/a.parquet")
        second.to_parquet("d/b.parquet")
        code, out, _ = run("check", "d", "--policy", k)
        assert code == 3
        assert "the 2 files of this table declare different roles" in unfolded(out)
    # What they agree on holds for the whole table, however it is written down.
    frame.anon.declare(quasi=["zip", "age"]).to_parquet("d/a.parquet")
    frame[["name", "age", "zip"]].anon.declare(quasi=["age", "zip"]).to_parquet("d/b.parquet")
    assert sorted(sizes(run, "d")["qid"]) == ["age", "zip"]
    declared.to_parquet("d/a.parquet")
    declared.to_parquet("d/b.parquet")
    assert run("check", "d", "--policy", k)[0] == 1


def test_roles_in_parquet_that_spark_wrote(run):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    table = pa.table({"zip": ["1", "1"], "name": [SECRET, "B"]})
    declared = table.to_pandas().anon.declare(quasi="zip", direct="name")
    roles = json.dumps(declared.attrs["anonrisk"])
    told = (
        ({"anonrisk": roles}, {"anonrisk": roles}, 1),
        ({"anonrisk_perturbed": "permute"}, {}, 3),
        ({"anonrisk_perturbed": ""}, {}, 3),
        # Words that nobody knows, in a file to be published.
        ({}, {"other": "words"}, 1),
        ({"anonrisk": roles}, {"anonrisk": "{}"}, 3),
        ({"anonrisk": "{"}, {}, 3),
    )
    for of_zip, of_name, code in told:
        fields = [{"name": "zip", "metadata": of_zip}, {"name": "name", "metadata": of_name}]
        row = json.dumps({"type": "struct", "fields": fields})
        marked = table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": row})
        parquet.write_table(marked, "t.parquet")
        assert run("check", "t.parquet", "--policy", policy(quasi=["zip"]))[0] == code
    for damaged in ("[]", "7", "{"):
        marked = table.replace_schema_metadata({"PANDAS_ATTRS": damaged})
        parquet.write_table(marked, "t.parquet")
        code, out, _ = run("check", "t.parquet", "--policy", policy(quasi=["zip"]))
        assert code == 3
        assert "roles that the file carries are damaged" in out


def test_a_column_of_parquet_that_is_in_the_folders_too(run):
    pytest.importorskip("pyarrow")
    Path("d/zip=1011").mkdir(parents=True)
    pd.DataFrame({"zip": ["1", "2"], "n": [1, 1]}).to_parquet("d/zip=1011/a.parquet")
    for column in ("zip", "n"):
        code, out, _ = run("check", "d", "--policy", policy(quasi=[column]))
        assert code == 3
        assert "column 'zip' is in the files and in their folders" in unfolded(out)


def test_an_index_and_odd_names_in_parquet(run):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a.b": ["x", "x"], "a": ["y", "z"], "zip": ["1", "1"]})
    frame.index = pd.Index(["A", "B"], name="name")
    frame.to_parquet("t.parquet")
    assert sizes(run, "t.parquet", "--qids", "a.b")["k"] == 2
    # What pandas calls an index is published like any other column.
    assert sizes(run, "t.parquet", "--qids", "name")["k"] == 1
    one = policy(quasi=["zip"], direct=["name"])
    assert run("check", "t.parquet", "--policy", one)[0] == 1
    frame.rename_axis(None).to_parquet("t.parquet")
    assert run("check", "t.parquet", "--policy", one)[0] == 0
    named = policy(quasi=["zip"], insensitive=["a", "a.b"], unlisted="refuse")
    code, out, _ = run("check", "t.parquet", "--policy", named)
    assert code == 3
    assert "quasi: [__index_level_0__]" in out


@pytest.mark.slow
def test_separators_encodings_and_marks(run):
    text = "straße;Ort\nä;x\nä;x\n"
    write("t.csv", text)
    code, _, err = run("measure", "t.csv", "--qids", "Ort")
    assert code == 2
    assert "--sep ';'" in err
    for encoding in ("utf-8", "utf-8-sig"):
        write("t.csv", text, encoding)
        assert sizes(run, "t.csv", "--qids", "straße", "Ort", "--sep", ";")["k"] == 2
    write("t.csv", text, "latin-1")
    code, _, err = run("measure", "t.csv", "--qids", "straße", "--sep", ";")
    assert code == 3
    assert "--encoding" in err
    latin = ("t.csv", "--qids", "straße", "--sep", ";", "--encoding", "latin-1")
    assert sizes(run, *latin)["k"] == 2
    assert run("measure", *latin[:-1], "klingon")[0] == 2
    assert run("measure", *latin[:4], "--sep", ";;")[0] == 2
    write("t.tsv", "a\tb\n1\t2\n")
    assert sizes(run, "t.tsv", "--qids", "a", "b")["k"] == 1
    write("t.dat", "a\tb\n1\t2\n")
    assert run("measure", "t.dat", "--qids", "a")[0] == 3
    assert sizes(run, "t.dat", "--format", "csv", "--sep", r"\t", "--qids", "a")["k"] == 1
    write("t.csv", 'a,b\n"x,\ny","say ""hi"""\n')
    assert sizes(run, "t.csv", "--qids", "a", "b")["k"] == 1


def test_an_encoding_is_suggested_and_must_be_one_of_text(run):
    write("t.csv", "zip\nM\xfcller\n", "latin-1")
    code, _, err = run("measure", "t.csv", "--qids", "zip")
    assert code == 3
    assert "as --encoding latin-1 or --encoding cp1252" in err
    code, _, err = run("measure", "t.csv", "--qids", "zip", "--encoding", "ascii")
    assert code == 3
    assert "is not text in ascii" in err
    for wrong in ("hex", "rot13", "klingon", "x\0"):
        assert run("measure", "t.csv", "--qids", "zip", "--encoding", wrong)[0] == 2
    write("t.csv", "zip\n1\n", "utf-8-sig")
    for encoding in ("utf-8", "UTF8", "utf-8-sig"):
        assert sizes(run, "t.csv", "--qids", "zip", "--encoding", encoding)["k"] == 1
    code, _, err = run("measure", "t.csv", "--qids", "zip", "--encoding", "latin-1")
    assert code == 3
    assert "byte-order mark of an encoding other than" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("zip,age\n", "no record"),
        (f"zip,age\n1,2\n{SECRET}\n", "row 2 has 1 cell, not 2"),
        (f"zip,age\n1,2\n{SECRET},2,3\n", "row 2 has 3 cells, not 2"),
        (f'zip,age\n1,2\n"{SECRET},3\n', "not closed"),
        (f'zip,age\n1,2\n"{SECRET}"x,3\n', "near line 3"),
        ("zip,age,zip\n1,2,3\n", "'zip' is the name of 2 columns"),
        ("Zip,age\n1,2\n", "did you mean 'Zip'?"),
        ("zip\n1\n\n1\n", "line 3 of 't.csv' is blank"),
        ("\nzip\n1\n1\n\n", "line 5 of 't.csv' is blank"),
    ],
)
def test_damaged_csv(run, text, said):
    write("t.csv", text)
    code, out, err = run("measure", "t.csv", "--qids", "zip", "age")
    assert (code, out) == (3, "")
    assert said in err
    code, out, _ = run("check", "t.csv", "--policy", policy())
    assert code == 3
    assert said in unfolded(out)


def test_a_missing_value_in_a_table_of_one_column(run):
    write("t.csv", '\n\nzip\n1\n1\n""\n')
    found = sizes(run, "t.csv", "--qids", "zip", "--missing", "drop")
    assert (found["n_records"], found["n_dropped"]) == (2, 1)
    write("t.csv", "zip,age\n1,2\n\n1,2\n\n")
    assert sizes(run, "t.csv", "--qids", "zip")["n_records"] == 2


def test_other_columns_may_share_a_name(run):
    write("t.csv", ",x,,x\n1,2,3,4\n".replace("x", "y", 1))
    assert sizes(run, "t.csv", "--qids", "y")["k"] == 1


def test_bytes_that_are_no_table(run):
    Path("t.csv").write_bytes(bytes(range(256)) * 10)
    assert run("measure", "t.csv", "--qids", "zip")[0] == 3
    Path("t.csv.gz").write_bytes(b"no gzip")
    assert run("measure", "t.csv.gz", "--qids", "zip")[0] == 3


# ---- wrong usage ----------------------------------------------------------------------------


def test_a_wrong_policy_is_refused_before_any_table_is_read(run):
    write("p.json", '{"version": 1, "budgets": {"max_uniq_fraction": 0.1}}')
    # The table does not exist, and that is not what is said.
    code, out, err = run("check", "no.csv", "--policy", "p.json")
    assert (code, out) == (2, "")
    assert "did you mean 'max_unique_fraction'?" in err
    pytest.importorskip("yaml", reason="needs the extra 'policy'")
    write("p.yaml", "version: 1\nbudgets: {k: five}\n")
    assert run("check", "no.csv", "--policy", "p.yaml")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("mesure", "t.csv"),
        ("measure",),
        ("check", "t.csv"),
        ("measure", "t.csv", "--qid", "zip"),
        ("measure", "t.csv", "--qids"),
        ("measure", "t.csv", "--qids", "zip", "--missing", "wild"),
        ("predict", "t.csv", "--qids", "zip", "--group-size", "x"),
        ("predict", "t.csv", "--qids", "zip", "--group-size", "2", "--widths", "age"),
        ("predict", "t.csv", "--qids", "zip", "--group-size", "2", "--widths", "age=x"),
        ("priors",),
    ],
)
def test_wrong_usage(run, arguments):
    write("t.csv", PEOPLE)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "usage:" in err


@pytest.mark.slow
def test_help_and_version(run):
    for module in sorted(path.stem for path in Path(commands.__path__[0]).glob("[!_]*.py")):
        command = module.replace("_", "-")
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "Exit codes: 0 pass" in out
        assert command in run("--help")[1]
    assert run("--version")[1] == f"anonrisk {anonrisk.__version__}\n"


def test_columns_named_like_options_and_names_with_commas(run):
    write("t.csv", '--json,"a,b",zip\n1,2,3\n1,2,3\n')
    assert sizes(run, "t.csv", "--qids=--json", "--qids", "a,b", "zip")["k"] == 2
    code, _, err = run("measure", "t.csv", "--qids", "zip,zip")
    assert code == 2
    assert "separate names by spaces" in err


def test_a_result_that_cannot_be_written(run):
    write("t.csv", PEOPLE)
    for option in ("--output", "--junit"):
        code, out, err = run("check", "t.csv", "--policy", policy(), option, "no/v")
        assert (code, out) == (3, "")
        assert "cannot be written" in err


def test_what_nobody_foresaw_is_not_a_pass_and_quotes_nothing(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError(SECRET)

    write("t.csv", PEOPLE)
    monkeypatch.setattr(anonrisk.Policy, "check", broken)
    code, out, err = run("check", "t.csv", "--policy", policy())
    assert (code, out) == (3, "")
    assert "RuntimeError" in err
    with pytest.raises(RuntimeError):
        main(["check", "t.csv", "--policy", "p.json", "--traceback"])

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(anonrisk.Policy, "check", interrupted)
    code, out, err = run("check", "t.csv", "--policy", "p.json")
    assert (code, out) == (3, "")
    assert "interrupted" in err


def test_plain_values():
    import datetime as dt

    import numpy as np

    given = {"a": (1, np.float64(0.5), float("inf"), None, dt.date(2021, 1, 2), np.int64(3))}
    assert plain(given) == {"a": [1, 0.5, "inf", None, "2021-01-02", 3]}


# ---- the example, terminals and pipes -------------------------------------------------------


@pytest.mark.slow
def test_the_example_is_what_the_readme_says(run):
    assert run("example")[0] == 0
    code, out, _ = run("check", "admissions.csv", "--policy", "release.json")
    assert code == 1
    assert "FAIL for admissions.csv (release of admissions)" in out
    assert "could not be assessed" not in out
    assert run("example")[0] == 0
    Path("release.json").write_text("mine")
    assert run("example")[0] == 2
    assert Path("release.json").read_text() == "mine"
    told = (ROOT / "README.md").read_text()
    assert "anonrisk check admissions.csv --policy release.json" in told


def test_a_terminal_sees_colours_and_the_same_words(run, monkeypatch, capsys):
    pytest.importorskip("rich", reason="needs the extra 'cli'")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    write("t.csv", PEOPLE)
    plain_text = run("check", "t.csv", "--policy", policy(k=3))[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main(["check", "t.csv", "--policy", "p.json"])
    shown = capsys.readouterr().out
    import re

    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == plain_text
    monkeypatch.setitem(sys.modules, "rich.console", None)
    main(["check", "t.csv", "--policy", "p.json"])
    assert capsys.readouterr().out == plain_text


def start(*arguments, **keywords):
    command = [sys.executable, "-m", "anonrisk", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE}
    return subprocess.Popen(command, cwd=keywords.pop("cwd", None), **{**pipes, **keywords})


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="standard input has no name here")
def test_pipes(tmp_path):
    whole = start("measure", "-", "--qids", "zip", "--json")
    out, err = whole.communicate(PEOPLE.encode())
    assert whole.returncode == 0, err
    assert json.loads(out)["sizes"]["k"] == 2
    # A pipe has more than one name.
    twice = start("measure", "-", "/dev/stdin", "--format", "csv", "--qids", "zip")
    out, err = twice.communicate(PEOPLE.encode())
    assert twice.returncode == 2
    assert b"named twice" in err
    # Whoever reads the output has gone before there is any.
    closed = start("measure", "-", "--qids", "zip")
    closed.stdout.close()
    closed.stdin.write(PEOPLE.encode())
    closed.stdin.close()
    err = closed.stderr.read().decode()
    assert closed.wait() == 3
    assert err == "anonrisk: could not assess: whoever reads the output has closed it\n"
    closed.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_outputs_that_take_nothing(tmp_path):
    (tmp_path / "t.csv").write_text(PEOPLE)
    program = f"{sys.executable} -m anonrisk measure t.csv --qids zip"
    for closed, said in ((">/dev/full", "cannot be written"), (">&-", "closed"), (">&- 2>&-", "")):
        done = subprocess.run(
            ["sh", "-c", f"{program} {closed}"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 3
        assert said in done.stderr.decode()
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_control_c(tmp_path):
    waiting = start("measure", "-", "--qids", "zip", start_new_session=True)
    # It is reading once it has taken more than a pipe holds.
    waiting.stdin.write(b"zip\n" + b"1011\n" * 100_000)
    waiting.stdin.flush()
    time.sleep(0.3)
    os.kill(waiting.pid, signal.SIGINT)
    _, err = waiting.communicate()
    assert waiting.returncode == 3
    assert err.decode() == "anonrisk: interrupted\n"


@pytest.mark.slow
def test_letters_that_the_terminal_lacks(tmp_path):
    (tmp_path / "t.csv").write_text("straße\n1\n", encoding="utf-8")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
    for option in ((), ("--json",)):
        done = start("measure", "t.csv", "--qids", "straße", *option, cwd=tmp_path, env=ascii_only)
        out, err = done.communicate()
        assert done.returncode == 0, err
    assert json.loads(out)["sizes"]["qid"] == ["straße"]


@pytest.mark.slow
def test_every_option_of_the_manual_is_one(run):
    """Of some command or job."""
    import re

    manual = (ROOT / "docs" / "command_line.md").read_text()
    names = (
        "check",
        "draft",
        "measure",
        "predict",
        "find-qids",
        "plan",
        "report",
        "explore",
        "apply",
        "example",
        "dbt",
    )
    helps = "".join(run(name, "--help")[1] for name in names)
    helps += run("priors", "predict", "--help")[1] + run("release", "check", "--help")[1]
    spark = (ROOT / "anonrisk" / "cli" / "source.py").read_text()
    for option in set(re.findall(r"(?<![\w=])--[a-z][a-z-]+", manual)) - {"--help", "--name"}:
        assert option in helps or f'"{option}"' in spark, option


@pytest.mark.slow
def test_what_a_policy_can_ask_of_text_is_the_same_as_in_the_library(run):
    text = "zip,ward,pain\n1,a,low\n1,a,high\n*,a,mid\n*,a,low\n2,b,low\n2,b,mid\n2,,low\n"
    write("t.csv", text)
    pain = {"any": {"none": ["low"], "some": ["mid", "high"]}}
    asked = {
        "ordered": {
            "tcloseness": {"t": 0.1, "distance": "ordered", "order": ["low", "mid", "high"]}
        },
        "hierarchical": {"tcloseness": {"t": 0.1, "distance": "hierarchical", "hierarchies": pain}},
        "suppressed": {"suppressed": "*", "max_suppressed": 0.5},
        "by": {"by": "ward"},
        "diversity": {"ldiv": {"l": 2, "variant": "entropy"}},
        "subsets": {
            "quasi": ["zip", "ward"],
            "qids": [{"every_subset_of": 1, "budgets": {"k": 2}}],
        },
    }
    table = pd.read_csv("t.csv", dtype=str)
    for name, keys in asked.items():
        given = {"quasi": ["zip"], "sensitive": ["pain"], "k": 2, "unlisted": "ignore", **keys}
        one = anonrisk.Policy(**given)
        write("p.json", one.to_json())
        out = run("check", "t.csv", "--policy", "p.json", "--json")[1]
        expected = one.check(table)
        assert expected.status != "could_not_assess", name
        found = anonrisk.Verdict.from_json(out)
        assert [f.to_dict() for f in found.findings] == [f.to_dict() for f in expected.findings]
