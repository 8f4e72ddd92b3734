"""Where results of the command line are written: never over what is read, and into pipes."""

from __future__ import annotations

import json
import os
import threading

import pandas as pd
import pytest

from anonrisk import Verdict
from anonrisk.cli import main
from anonrisk.cli.deliver import write

POLICY = {"version": 1, "roles": {"quasi": ["zip"]}, "budgets": {"k": 2}}


@pytest.fixture
def check(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(POLICY))
    pd.DataFrame({"zip": ["a", "a"]}).to_csv(tmp_path / "t.csv", index=False)

    def run(*more):
        given = [str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json"), *map(str, more)]
        return main(["check", *given])

    return run


@pytest.mark.parametrize("option", ["--output", "--junit", "--sarif", "--markdown"])
def test_the_policy_is_not_written_over(check, tmp_path, capsys, option):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "p.json")
    for path in (tmp_path / "p.json", link):
        assert check(option, path) == 2
        assert "is the policy" in capsys.readouterr().err
    assert json.loads((tmp_path / "p.json").read_text()) == POLICY
    population = tmp_path / "all.csv"
    population.write_text("zip\na\na\n")
    assert check("--population", population, option, population) == 2
    assert population.read_text().startswith("zip")


@pytest.mark.parametrize("option", ["--output", "--junit", "--sarif", "--markdown"])
@pytest.mark.parametrize("beside", ["--population", "--against"])
def test_no_part_of_another_table_is_written_over(check, tmp_path, capsys, option, beside):
    part = tmp_path / "other" / "a.csv"
    part.parent.mkdir()
    part.write_text("zip\na\na\n")
    for named in (part.parent, part.parent / "*.csv"):
        assert check(beside, named, option, part) == 2
        assert "that is read: write it somewhere else" in capsys.readouterr().err
    assert part.read_text().startswith("zip")


def test_a_repository_is_not_written_over(tmp_path, capsys, monkeypatch):
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"zip": ["a", "b"] * 500}).to_csv("t.csv", index=False)
    publish = ["priors", "publish", "t.csv", "--qids", "zip", "--population", "N L", "--by", "us"]
    # One letter of what a population is called is a good name for a file.
    assert main([*publish, "--output", "N"]) == 0
    kept = (tmp_path / "anonrisk_priors.sqlite").read_bytes()
    for more in ([], ["--repository", "sqlite:///anonrisk_priors.sqlite"]):
        assert main(["priors", "query", *more, "--output", "anonrisk_priors.sqlite"]) == 2
        assert "is the repository" in capsys.readouterr().err
    assert (tmp_path / "anonrisk_priors.sqlite").read_bytes() == kept


def test_what_a_link_points_at_is_written(check, tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    assert check("--output", link) == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["status"] == "pass"
    dangling = tmp_path / "dangling.json"
    dangling.symlink_to(tmp_path / "new.json")
    assert check("--output", dangling) == 0
    assert dangling.is_symlink()
    assert json.loads((tmp_path / "new.json").read_text())["status"] == "pass"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_written_to_and_stays(check, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert check("--output", pipe) == 0
    reader.join(10)
    assert pipe.is_fifo()
    assert json.loads(read[0])["status"] == "pass"


def test_a_device_is_written_to(tmp_path):
    # A descriptor of a file under the name that the system gives it, as /dev/stdout is.
    if not os.path.isdir("/dev/fd"):  # noqa: PTH112
        pytest.skip("the system has no names for descriptors")
    with (tmp_path / "out").open("w") as stream:
        stream.write("before ")
        stream.flush()
        write(f"/dev/fd/{stream.fileno()}", "after")
    assert (tmp_path / "out").read_text() == "before after"


def test_half_a_character_in_a_name_is_written_as_json_writes_it(check, tmp_path, capsys):
    # What Python makes of a byte of another encoding on the command line.
    verdict, junit = tmp_path / "v.json", tmp_path / "j.xml"
    verdict.write_text('{"status": "pass"}')
    assert check("--qids", "z\udce9", "--output", verdict, "--junit", junit) == 3
    found = json.loads(verdict.read_text(encoding="utf-8"))
    assert found["status"] == "could_not_assess"
    assert ["z\udce9"] in [finding["qid"] for finding in found["budgets"]]
    assert 'errors="2"' in junit.read_text(encoding="utf-8")
    assert "\\udce9" in capsys.readouterr().out
    table, page = tmp_path / "t.jsonl", tmp_path / "p.html"
    table.write_text('{"a\\ud800": 1}\n{"a\\ud800": 1}\n')
    about = [str(table), "--qids", "a\ud800", "--output", str(verdict), "--json"]
    assert main(["measure", *about]) == 0
    for written in (capsys.readouterr().out, verdict.read_text(encoding="utf-8")):
        assert json.loads(written)["sizes"]["qid"] == ["a\ud800"]
    assert main(["report", *about, "-o", str(page)]) == 0
    assert r"a\ud800" in page.read_text(encoding="utf-8")


@pytest.fixture
def earlier(tmp_path):
    """Results of an earlier run, which passed."""
    paths = tmp_path / "v.json", tmp_path / "j.xml"
    for path in paths:
        path.write_text('{"status": "pass"}')
    return paths


def not_finished(path):
    stored = Verdict.from_json(path.read_text())
    return stored.status == "could_not_assess" and "not finished" in stored.findings[0].sentence


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt, 3), (RuntimeError("secret"), 3), (OSError(28, "full"), 3)],
)
def test_no_earlier_result_outlives_a_run_that_has_none(
    check, earlier, monkeypatch, capsys, error, code
):
    def broken(*_, **__):
        raise error

    verdict, junit = earlier
    monkeypatch.setattr("anonrisk.cli.formats.junit_document", broken)
    assert check("--output", verdict, "--junit", junit) == code
    assert not_finished(verdict)
    # What cannot be written is not there at all.
    assert not junit.exists()
    said = capsys.readouterr()
    assert said.out == ""
    assert "secret" not in said.err


def test_nor_one_that_ends_in_a_traceback(check, earlier, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError

    verdict, junit = earlier
    monkeypatch.setattr("anonrisk.Policy.check", broken)
    with pytest.raises(RuntimeError):
        check("--output", verdict, "--junit", junit, "--traceback")
    assert not_finished(verdict)
    assert 'errors="1"' in junit.read_text()


@pytest.mark.parametrize(("option", "told"), [("--sarif", '"exitCode": 3'), ("--markdown", "❔")])
def test_nor_one_for_a_code_forge(check, earlier, monkeypatch, option, told):
    def broken(*_, **__):
        raise KeyboardInterrupt

    written, _ = earlier
    monkeypatch.setattr("anonrisk.Policy.check", broken)
    assert check(option, written) == 3
    assert "not finished" in written.read_text()
    assert told in written.read_text()


def test_nor_one_beside_a_file_that_cannot_be_written(check, earlier, tmp_path):
    verdict, _ = earlier
    assert check("--output", verdict, "--junit", tmp_path / "no" / "j.xml") == 3
    assert not_finished(verdict)
    # What is no file is left alone.
    assert check("--output", tmp_path, "--junit", tmp_path / "no" / "j.xml") == 2
    assert tmp_path.is_dir()


@pytest.mark.parametrize("empty", ["", "  "])
def test_nor_one_of_a_path_that_is_empty(earlier, tmp_path, capsys, empty):
    policy = tmp_path / "p.json"
    policy.write_text(json.dumps(POLICY))
    verdict, junit = earlier
    asked = ["check", empty, "--policy", policy, "--output", verdict, "--junit", junit]
    assert main(list(map(str, asked))) == 2
    assert "a path is empty" in capsys.readouterr().err
    assert json.loads(verdict.read_text())["status"] == "wrong_usage"
    assert 'errors="1"' in junit.read_text()


def test_the_table_is_not_removed_either(check, tmp_path):
    assert check("--output", tmp_path / "t.csv") == 2
    assert (tmp_path / "t.csv").read_text().startswith("zip")


def test_a_path_that_no_system_takes_is_wrong_usage(check, capsys):
    assert check("--output", "v" * 5_000) == 2
    assert "a path cannot be used" in capsys.readouterr().err
