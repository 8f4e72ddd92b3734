"""The hook of pre-commit: tables that changed, each against the policy beside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import anonrisk
from anonrisk.cli.pre_commit import check_each, policy_beside
from anonrisk.engines.reading.files import find
from anonrisk.engines.reading.raw_files import SUFFIXES

ROOT = Path(__file__).parents[1]
PEOPLE = "zip,age\n1,30\n1,30\n2,30\n2,30\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name in ("a.csv", "b.csv"):
        Path("data", name).write_text(PEOPLE)
    return tmp_path


def policy(path, k=2):
    anonrisk.Policy(quasi=["zip", "age"], k=k).save(path)


def test_each_table_has_its_own_policy_else_that_of_the_folder(folder, capsys):
    assert policy_beside(Path("data/a.csv.gz")) is None
    policy("data/policy.json")
    policy("data/b.policy.json", k=3)
    assert policy_beside(Path("data/a.csv.gz")) == Path("data/policy.json")
    assert policy_beside(Path("data/b.csv")) == Path("data/b.policy.json")
    assert check_each(["data/a.csv"]) == 0
    assert check_each(["data/a.csv", "data/b.csv"]) == 1
    out = capsys.readouterr().out
    assert "pass for data/a.csv" in out
    assert "FAIL for data/b.csv" in out
    assert check_each(["--policy", "data/policy.json", "data/b.csv"]) == 0


def test_a_table_without_a_policy_does_not_pass(folder, capsys):
    assert check_each(["data/a.csv"]) == 3
    assert "write a.policy.yaml or policy.yaml" in capsys.readouterr().err
    policy("data/b.policy.json", k=3)
    # That one failed is known, whatever is not.
    assert check_each(["data/a.csv", "data/b.csv"]) == 1
    assert check_each(["data/b.csv", "--policy", "no.json"]) == 2


@pytest.mark.slow
def test_warnings_block_where_they_are_asked_to(folder):
    rules = {"at_least": 5, "severity": "warn"}
    anonrisk.Policy(quasi=["zip", "age"], k=[2, rules]).save("data/policy.json")
    assert check_each(["data/a.csv"]) == 0
    assert check_each(["--fail-on", "warn", "data/a.csv"]) == 1
    assert check_each(["--fail-on", "never", "data/a.csv"]) == 2


def test_policies_are_linted(folder, capsys):
    policy("data/policy.json")
    anonrisk.Policy(quasi=["zip"], max_unique_fraction=1).save("data/b.policy.json")
    pattern = re.compile(hook("anonrisk-lint")["files"])
    for place in ("data/policy.json", "data/b.policy.json", "policy.yaml", "a/b.policy.yml"):
        assert pattern.search(place)
    assert not any(map(pattern.search, ("policy.py", "my_policy.yaml", "policy.csv")))
    words = hook("anonrisk-lint")["entry"].split()[4:]
    assert check_each([*words, "data/policy.json"]) == 0
    assert check_each([*words, "data/policy.json", "data/b.policy.json"]) == 1
    assert "1 is everybody; 1% is 0.01" in " ".join(capsys.readouterr().out.split())
    # The hook for tables warns of the same.
    assert check_each(["data/b.csv"]) == 3
    assert "data/b.policy.json: No table can break" in capsys.readouterr().err


def test_nothing_changed_is_nothing_wrong():
    assert check_each([]) == 0


def hook(name="anonrisk-check"):
    yaml = pytest.importorskip("yaml")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return next(one for one in hooks if one["id"] == name)


def test_the_hook_takes_what_the_command_line_reads(folder):
    pattern = re.compile(hook()["files"])
    names = ["t.csv", "t.CSV", "t.tsv", "t.tab", "t.parquet", "t.pq", "t.jsonl", "t.ndjson"]
    for name in (*names, *(f"t.csv{packed}" for packed in SUFFIXES)):
        assert pattern.search(f"data/{name}")
        Path(name).write_text("")
        assert find([name])
    # What is text or a document of another kind is none of its business.
    assert not any(map(pattern.search, ("t.py", "t.txt", "t.json", "csv", "t.csv.py")))


def test_what_the_guide_says_leaves_policies_alone():
    """A pattern of the caller takes the place of the hook's own."""
    guide = (ROOT / "docs" / "howto" / "pull_requests.md").read_text(encoding="utf-8")
    yaml = pytest.importorskip("yaml")
    written = guide.partition("# .pre-commit-config.yaml\n")[2].partition("```")[0]
    (asked,) = yaml.safe_load(written)["repos"][0]["hooks"]
    assert asked["id"] == hook()["id"]
    pattern = re.compile(asked["files"])
    assert pattern.search("data/admissions.csv")
    assert not any(map(pattern.search, ("data/policy.yaml", "data/a.policy.json", "t.csv")))


@pytest.mark.slow
def test_the_entry_is_a_program(folder):
    policy("data/policy.json", k=3)
    words = hook()["entry"].split()
    assert words[0] == "python"
    # What a repository keeps at its top is not what the gate imports.
    Path("json.py").write_text("raise SystemExit(0)")
    done = subprocess.run(
        [sys.executable, *words[1:], "data/a.csv"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "at least 3 are required" in done.stdout


@pytest.mark.nightly
def test_pre_commit_runs_it(folder):
    """Installs pre-commit, which installs the hook, in environments of their own."""
    git = shutil.which("git") or pytest.skip("there is no git")

    def do(*words, cwd=folder, **environ):
        who = {
            f"GIT_{one}_{key}": "a@b"
            for one in ("AUTHOR", "COMMITTER")
            for key in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env={**os.environ, **who, "PRE_COMMIT_HOME": str(folder / "home"), **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    hooks = folder / "hooks"
    kept = ("anonrisk", "pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in")
    hooks.mkdir()
    for name in (*kept, ".pre-commit-hooks.yaml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, hooks / name)
    mine = folder / "mine"
    shutil.copytree(folder / "data", mine / "data")
    policy(mine / "data" / "policy.json", k=3)
    for place in (hooks, mine):
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
            assert do(git, *words, cwd=place)[0] == 0
    env = folder / "venv"
    assert do(sys.executable, "-m", "venv", env)[0] == 0
    code, said = do(env / "bin" / "pip", "install", "-q", "pre-commit")
    if code:
        pytest.skip("pre-commit cannot be installed here")
    asked = (
        env / "bin" / "pre-commit",
        "try-repo",
        hooks,
        "anonrisk-check",
        "--files",
        "data/a.csv",
    )
    code, said = do(*asked, cwd=mine)
    assert code == 1, said
    assert "at least 3 are required" in said, said
    policy(mine / "data" / "policy.json", k=2)
    code, said = do(*asked, cwd=mine)
    assert code == 0, said
    assert "Passed" in said
