"""A release needs nothing but a tag, and whoever builds it again gets the same bytes."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import anonrisk

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
RELEASE = WORKFLOWS["release"]
BUILD = {"uses": "./.github/workflows/build.yml"}
COMMITTED = 1_700_000_000


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", ())]


def scripts(name):
    return {step.get("name"): step["run"] for step in steps(WORKFLOWS[name]) if "run" in step}


def test_a_tag_starts_it_and_nothing_else():
    # YAML takes the word for true.
    assert RELEASE[True] == {"push": {"tags": ["v*"]}}


def test_what_is_tested_and_built_is_published_without_a_password():
    publish = RELEASE["jobs"]["publish"]
    assert set(publish["needs"]) == {"test", "build", "night"}
    assert RELEASE["jobs"]["announce"]["needs"] == "publish"
    assert RELEASE["jobs"]["test"] == {"uses": "./.github/workflows/tests.yml"}
    assert RELEASE["jobs"]["build"] == BUILD
    assert publish["permissions"] == {"id-token": "write"}
    assert RELEASE["permissions"] == {"contents": "read"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()
    (used,) = [step["uses"] for step in publish["steps"] if "pypi-publish" in step["uses"]]
    assert used.startswith("pypa/gh-action-pypi-publish@v")
    assert "bash .ci/run" in scripts("tests").values()


def test_a_machine_without_java_is_tested_whatever_its_processor():
    job = WORKFLOWS["tests"]["jobs"]["test"]
    assert job["runs-on"] == "${{ matrix.machine }}"
    assert job["env"] == {"ANONRISK_JRE": "${{ matrix.jre }}"}
    machines = [(one["machine"], one["jre"]) for one in job["strategy"]["matrix"]["include"]]
    assert machines[0] == ("ubuntu-latest", "machine")
    assert {("ubuntu-latest", "package"), ("ubuntu-24.04-arm", "package")} == {*machines[1:]}


def test_what_is_built_is_kept_before_other_programs_run_beside_it():
    build = WORKFLOWS["build"]["jobs"]["build"]["steps"]
    kept = [step.get("with", {}).get("name") for step in build].index("dist")
    names = [step.get("name") for step in build]
    assert (
        names.index("Build twice, the same") + 1 == kept < names.index("What comes with the wheel")
    )


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_have_a_version_and_scripts_hold_no_expression(name):
    for step in steps(WORKFLOWS[name]):
        assert "@v" in step.get("uses", "@v")
        assert "${{" not in step.get("run", "")
    assert "permissions" in WORKFLOWS[name]


def test_nights_happen_and_do_what_a_release_does_up_to_publishing():
    night = WORKFLOWS["nightly"]
    ((kind, when),) = night[True]["schedule"][0].items()
    assert kind == "cron"
    # At a minute of an hour of every day.
    assert re.fullmatch(r"[1-5]?\d ([01]?\d|2[0-3]) \* \* \*", when)
    assert "workflow_dispatch" in night[True]
    assert "bash .ci/run nightly" in scripts("nightly").values()
    assert "python3 dev.py mutants --minutes 320" in scripts("nightly").values()
    assert 'python3 dev.py "${1:-test}"' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert night["jobs"]["build"] == BUILD
    assert "workflow_call" in WORKFLOWS["build"][True]
    assert not [step for step in steps(night) if "pypi-publish" in step.get("uses", "")]


def ran(script, programs, folder, **env):
    """Run a step as the workflow does, beside programs that say what they are to say."""
    bash = shutil.which("bash") or pytest.skip("there is no bash")
    for name, text in programs.items():
        (folder / name).write_text(f"#!{bash}\n{text}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [bash, "-e", "-o", "pipefail", "-c", script],
        cwd=ROOT,
        env={"PATH": f"{folder}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder), **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("tag", "code"), [(f"v{anonrisk.__version__}", 0), ("v9.9.9", 1)])
def test_the_tag_must_be_the_version(tag, code, tmp_path):
    python = {"python": f'exec {sys.executable} "$@"'}
    script = scripts("build")["The tag is the version"]
    done = ran(script, python, tmp_path, GITHUB_REF_NAME=tag)
    assert done.returncode == code, done.stderr
    assert ("::error::" in done.stdout) == bool(code)
    (step,) = [one for one in steps(WORKFLOWS["build"]) if one.get("run") == script]
    assert step["if"] == "github.ref_type == 'tag'"


@pytest.mark.parametrize(
    ("nights", "code"),
    [("echo 1", 0), ("echo 12", 0), ("echo 0", 1), ("echo", 1), ("echo null", 1), ("exit 4", 4)],
)
def test_a_release_needs_a_green_night_of_its_commit(nights, code, tmp_path):
    # What is answered of any other commit, workflow or end of it is no night of this one.
    gh = f"""case "$2" in
        repos/o/r/commits/v1.2.3) echo cafe ;;
        "repos/o/r/actions/workflows/nightly.yml/runs?head_sha=cafe&status=success") {nights} ;;
        *) echo 7 ;;
    esac"""
    script = scripts("release")["A night of this commit was green"]
    done = ran(script, {"gh": gh}, tmp_path, GITHUB_REF_NAME="v1.2.3", GH_REPO="o/r")
    assert done.returncode == code, done.stderr
    assert ("::error::no night of cafe was green" in done.stdout) == (code == 1)
    assert (ROOT / ".github" / "workflows" / "nightly.yml").exists()


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"aud": "pypi", "repository": "o/r"}, 0),
        ({"aud": "other", "repository": "o/r"}, 1),
        ({"aud": "pypi", "repository": "o/fork"}, 1),
        ({}, 1),
        (None, 22),
    ],
)
def test_by_night_the_identity_is_asked_for_and_not_used(claims, code, tmp_path):
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    curl = "exit 22" if claims is None else f"""echo '{{"value": "a.{body}.c"}}'"""
    said = {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t", "ACTIONS_ID_TOKEN_REQUEST_URL": "https://x/?y"}
    script = scripts("nightly")["The index can be told who publishes"]
    done = ran(script, {"curl": curl}, tmp_path, GITHUB_REPOSITORY="o/r", **said)
    assert done.returncode == code, done.stderr


def built(place, umask, touched):
    """Build a copy as the workflow does, made at another time by somebody else."""
    ignored = shutil.ignore_patterns(
        *(
            ".venv*",
            ".git",
            ".jre",
            ".axe",
            "build",
            "dist",
            "*.egg-info",
            "__pycache__",
            ".*_cache",
        )
    )
    checkout = place / "a checkout"
    shutil.copytree(ROOT, checkout, ignore=ignored)
    for path in checkout.rglob("*"):
        program = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod((0o777 if program else 0o666) & ~umask)
        os.utime(path, (touched, touched))
    who = {
        f"GIT_{one}_{key}": "a@b" for one in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    env = {
        **os.environ,
        **who,
        "GIT_COMMITTER_DATE": f"{COMMITTED} +0000",
        "PYTHON": sys.executable,
    }
    env.pop("SOURCE_DATE_EPOCH", None)
    for words in (
        ["git", "init", "-q"],
        ["git", "add", "-A"],
        ["git", "commit", "-qm", "x"],
        [".ci/package", str(place / "dist"), "--no-isolation"],
    ):
        done = subprocess.run(
            words, cwd=checkout, env=env, umask=umask, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {path.name: path for path in (place / "dist").iterdir()}


@pytest.mark.nightly
def test_two_builds_are_identical(tmp_path):
    if sys.platform != "linux" or shutil.which("git") is None:
        pytest.skip("runs the build of the release")
    pytest.importorskip("build")
    one, other = (
        built(tmp_path / name, umask, touched)
        for name, umask, touched in (("one", 0o022, 1_500_000_000), ("other", 0o077, 1_600_000_000))
    )
    assert sorted(name.rpartition("-")[2] for name in one if name.endswith(".whl")) == ["any.whl"]
    assert {name: path.read_bytes() for name, path in one.items()} == {
        name: path.read_bytes() for name, path in other.items()
    }
    (wheel,) = [path for name, path in one.items() if name.endswith(".whl")]
    years = {entry.date_time[0] for entry in zipfile.ZipFile(wheel).infolist()}
    assert years == {2023}
    (source,) = [path for name, path in one.items() if name.endswith(".tar.gz")]
    with tarfile.open(source) as archive:
        entries = archive.getmembers()
    assert {entry.mtime for entry in entries} == {COMMITTED}
    assert {(entry.uid, entry.gid, entry.uname) for entry in entries} == {(0, 0, "")}
    names = {entry.name.partition("/")[2] for entry in entries}
    # Its own tests look at these.
    assert {"action.yml", ".pre-commit-hooks.yaml", ".github/workflows/release.yml"} <= names
