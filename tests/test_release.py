"""A release needs nothing but a tag, and whoever builds it again gets the same bytes."""

from __future__ import annotations

import os
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
    assert set(publish["needs"]) == {"test", "build"}
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
    build = RELEASE["jobs"]["build"]["steps"]
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


@pytest.mark.parametrize(("tag", "code"), [(f"v{anonrisk.__version__}", 0), ("v9.9.9", 1)])
def test_the_tag_must_be_the_version(tag, code, tmp_path):
    bash = shutil.which("bash") or pytest.skip("there is no bash")
    (tmp_path / "python").symlink_to(sys.executable)
    done = subprocess.run(
        [bash, "-e", "-o", "pipefail", "-c", scripts("release")["The tag is the version"]],
        cwd=ROOT,
        env={"GITHUB_REF_NAME": tag, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("::error::" in done.stdout) == bool(code)


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
