"""`action.yml`: its steps, run as a runner would, with a `gh` that only remembers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import anonrisk

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or BASH is None, reason="runs the shell of a runner"
)
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
PEOPLE = "zip,age\n1,30\n1,30\n2,30\n2,30\n"
# Keeps its comments in a file; of the query it knows the marker and whether a bot is asked for.
GH = """
import json, os, re, sys
words, place = sys.argv[1:], os.environ["COMMENTS"]
comments = json.load(open(place))
if os.environ.get("FORBIDDEN"):
    sys.exit("HTTP 403: Resource not accessible by integration")
assert os.environ["GH_TOKEN"] == "secret"
if "--jq" in words:
    query = words[words.index("--jq") + 1]
    marker = re.search(r'startswith\\("(.*)"\\)', query)[1]
    assert '.user.type == "Bot"' in query
    for one in comments:
        if one["bot"] and one["body"].startswith(marker):
            print(one["id"])
    sys.exit()
body = open(words[words.index("-F") + 1].removeprefix("body=@")).read()
path = words[words.index("--method") + 2]
if "PATCH" in words:
    (one,) = [one for one in comments if path == f"repos/o/r/issues/comments/{one['id']}"]
    one["body"] = body
else:
    assert path == "repos/o/r/issues/7/comments"
    comments.append({"id": len(comments) + 1, "bot": True, "body": body})
json.dump(comments, open(place, "w"))
"""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Runner:
    """Does what GitHub does with a composite action, as far as ours goes."""

    def __init__(self, folder):
        self.work, self.temp = folder / "work", folder / "temp"
        for made in (self.work, self.temp):
            made.mkdir()
        self.files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        self.comments = folder / "comments.json"
        self.comments.write_text("[]")
        run = f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n'
        executable(self.temp / "anonrisk-venv" / "bin" / "python", run)
        (folder / "gh.py").write_text(GH)
        executable(
            folder / "bin" / "gh", f'#!/bin/sh\nexec "{sys.executable}" "{folder}/gh.py" "$@"\n'
        )
        self.path = folder / "bin"
        self.log = ""

    def value(self, text, inputs, outputs):
        known = {"github.token": "secret", "github.repository": "o/r", "github.action_path": ROOT}
        known["github.event.pull_request.number"] = "7"
        known |= {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {f"steps.check.outputs.{name}": value for name, value in outputs.items()}
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda m: str(known.get(m[1], "")), text)

    def run(self, *names, environ=None, **given):
        """Run the steps; give the exit code of the last, and the outputs."""
        inputs = {key: one.get("default", "") for key, one in ACTION["inputs"].items()}
        inputs["token"] = "secret"
        inputs |= {key.replace("_", "-"): value for key, value in given.items()}
        outputs, code, self.log = {}, 0, ""
        for path in self.files.values():
            path.write_text("")
        for name in names or [name for name in STEPS if name != "Install anonrisk"]:
            step = STEPS[name]
            if "uses" in step:
                continue
            env = {key: self.value(text, inputs, outputs) for key, text in step["env"].items()}
            env |= {"RUNNER_TEMP": self.temp, "COMMENTS": self.comments, **self.files}
            env |= {
                "PATH": f"{self.path}:{os.environ['PATH']}",
                "HOME": self.temp,
                **(environ or {}),
            }
            script = self.temp / "step.sh"
            script.write_text(step["run"])
            done = subprocess.run(
                [BASH, "--noprofile", "--norc", "-e", "-o", "pipefail", script],
                cwd=self.work,
                env={key: str(value) for key, value in env.items()},
                capture_output=True,
                text=True,
                check=False,
            )
            self.log += done.stdout + done.stderr
            code = done.returncode
            stored = self.files["GITHUB_OUTPUT"].read_text().splitlines()
            outputs = dict(line.split("=", 1) for line in stored)
        return code, outputs

    def bodies(self):
        return [one["body"] for one in json.loads(self.comments.read_text())]


@pytest.fixture
def runner(tmp_path):
    made = Runner(tmp_path)
    (made.work / "t.csv").write_text(PEOPLE)
    policy(made, 2)
    return made


def policy(runner, k):
    anonrisk.Policy(quasi=["zip", "age"], k=k).save(runner.work / "p.json")


def test_nothing_that_a_caller_gives_is_written_into_a_script():
    assert [name for name, step in STEPS.items() if "${{" in step.get("run", "")] == []
    for name, step in STEPS.items():
        assert ("run" in step) == (step.get("shell") == "bash"), name
    for name, one in ACTION["inputs"].items():
        assert one["description"], name
        assert one.get("required") or isinstance(one["default"], str), name
    used = {m for step in STEPS.values() for m in re.findall(r"inputs\.([\w-]+)", json.dumps(step))}
    assert used == set(ACTION["inputs"])
    assert all("@v" in step["uses"] for step in STEPS.values() if "uses" in step)
    last = ACTION["runs"]["steps"][-1]
    assert (last["if"], last["run"]) == ("always()", 'exit "${CODE:-3}"')


@pytest.mark.slow
def test_it_passes_what_passes_fails_what_fails_and_updates_one_comment(runner):
    code, told = runner.run(policy="p.json", table="t.csv")
    assert (code, told["status"], told["exit-code"]) == (0, "pass", "0")
    policy(runner, 3)
    code, told = runner.run(policy="p.json", table="t.csv")
    assert (code, told["status"]) == (1, "fail")
    (body,) = runner.bodies()
    assert body.startswith("<!-- anonrisk ")
    assert "at least 3 are required" in body
    assert "❌ fail" in runner.files["GITHUB_STEP_SUMMARY"].read_text()
    assert json.loads(Path(told["sarif"]).read_text())["version"] == "2.1.0"
    assert json.loads(Path(told["json"]).read_text())["status"] == "fail"


@pytest.mark.nightly
def test_another_table_has_a_comment_of_its_own_and_only_a_bot_s_is_touched(runner):
    runner.run(policy="p.json", table="t.csv")
    (body,) = runner.bodies()
    stored = json.loads(runner.comments.read_text())
    stored[0]["bot"] = False
    runner.comments.write_text(json.dumps(stored))
    runner.run(policy="p.json", table="./t.csv")
    runner.run(policy="p.json", table="t.csv")
    assert len(runner.bodies()) == 3
    assert runner.bodies()[0] == body


@pytest.mark.nightly
def test_it_says_what_a_change_does(runner):
    (runner.work / "base").mkdir()
    (runner.work / "base" / "t.csv").write_text("zip,age\n1,30\n1,31\n2,30\n2,30\n")
    _, told = runner.run(policy="p.json", table="t.csv", against="base/t.csv")
    assert "makes 2 fewer records unique" in Path(told["markdown"]).read_text()
    code, told = runner.run(policy="p.json", table="t.csv", against="base/new.csv\n")
    assert code == 0
    assert "it is new, or the path is wrong" in runner.bodies()[0]


@pytest.mark.nightly
def test_the_verdict_stands_where_nobody_may_comment(runner):
    policy(runner, 3)
    code, _ = runner.run(policy="p.json", table="t.csv", environ={"FORBIDDEN": "1"})
    assert code == 1
    assert "::warning::anonrisk could not comment" in runner.log
    assert runner.bodies() == []


@pytest.mark.nightly
def test_doubt_does_not_pass(runner):
    for given, code, status in (
        ({"table": "no.csv"}, 3, "could_not_assess"),
        ({"table": ""}, 2, "wrong_usage"),
        ({"table": "t.csv", "options": "--no-such-option"}, 2, "wrong_usage"),
        # Help ends well, and says nothing about a table.
        ({"table": "t.csv", "options": "--help"}, 2, "wrong_usage"),
        # Of a base in two files one is gone.
        ({"table": "t.csv", "against": "no.csv\nt.csv"}, 3, "could_not_assess"),
    ):
        ended, told = runner.run(**{"policy": "p.json", **given})
        assert (ended, told["status"]) == (code, status)
        assert "❔" in runner.bodies()[-1]
    # Where the check itself was never run.
    assert runner.run("Pass only what passed")[0] == 3


@pytest.mark.nightly
def test_nothing_that_is_given_is_run(runner):
    evil = "$(touch evil) `touch evil`; touch evil; \"'\\ --json"
    for given in (
        {"table": f"{evil}\nt.csv"},
        {"against": evil},
        {"policy": evil},
        {"options": f"--na={evil}"},
    ):
        runner.run(**{"policy": "p.json", "table": "t.csv", **given})
        assert not list(runner.work.parent.rglob("evil"))
    # What lies at the top of a checkout is not what the gate imports.
    (runner.work / "json.py").write_text("raise SystemExit(0)")
    (runner.work / "-t x.csv").write_text(PEOPLE)
    code, _ = runner.run(policy="p.json", table="  -t x.csv  \n\n", against="-t x.csv")
    assert code == 0
    assert "no more records unique" in runner.bodies()[-1]


@pytest.mark.nightly
def test_it_installs_itself(runner):
    shutil.rmtree(runner.temp / "anonrisk-venv")
    source = runner.temp / "source"
    shutil.copytree(
        ROOT, source, ignore=shutil.ignore_patterns(".venv*", ".git", ".jre", "build", "docs")
    )
    pip = {key: os.environ[key] for key in os.environ if key.startswith("PIP_")}
    environ = {**pip, "SOURCE": source}
    code, _ = runner.run("Install anonrisk", python=sys.executable, environ=environ)
    assert code == 0, runner.log
    code, told = runner.run(policy="p.json", table="t.csv")
    assert (code, told["status"]) == (0, "pass"), runner.log
