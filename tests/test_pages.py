"""Every page can be followed line by line in an empty folder, and says what then happens.

Blocks run in the order of the page, in one folder: Python with prompts as doctests, a shell's lines
as they stand, YAML as the file that its first line names, or by what it is part of. A command ends
with 0, unless its remark says ``exit code 1``.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from anonrisk import Policy, Roles
from anonrisk.cli import job, main

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for pattern in ("*.md", "docs/**/*.md", "expectations/*.md")
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CONTRIBUTING.md"
    and re.search(r"(?m)^(>>> |```(sh|yaml|sql)$)", path.read_text(encoding="utf-8"))
]
JOB = "python -m anonrisk.spark_jobs."
# What no test can run, by its beginning, and why.
NOT_RUN = {
    JOB: "needs an object store or a warehouse: its options are read; test_package runs a job",
    "pip install": "changes the environment: test_package installs a wheel",
    "pip wheel": "builds: test_package does",
    "python3 dev.py": "sets up environments, and runs these tests",
    "python -m anonrisk.testing  ": "takes minutes on every engine: test_testing",
    "python -m anonrisk.testing --engine pandas,spark": "takes minutes on Spark: test_testing",
    "spark-submit": "needs a cluster: test_package sends it a wheel",
    "GRANT": "needs PostgreSQL: test_identity_audit",
}
BLOCK = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")


def blocks(path):
    """The blocks of a page, each with its language."""
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def commands(code):
    """The commands of a block; lines that a program of ours does not begin are left to a shell."""
    lines = code.replace("\\\n", " ").splitlines()
    ours = ("anonrisk ", *NOT_RUN)
    for is_ours, group in groupby(lines, key=lambda line: line.startswith(ours)):
        following = list(group)
        yield from following if is_ours else ["\n".join(following)]


def not_run(command):
    return next((begins for begins in NOT_RUN if command.startswith(begins)), None)


def run(command):
    """Run a command in this process, or what is no command of ours in a shell."""
    if command.startswith("anonrisk "):
        said, _, remark = command.partition("#")
        words = shlex.split(said)[1:]
        code = re.search(r"exit code (\d)", remark)
        assert main(words) == int(code[1] if code else 0), command
        written = [path for option, path in pairwise(words) if option == "-o"]
        assert code or all(map(os.path.exists, written)), command
    else:
        bin_of_python = Path(sys.executable).parent
        env = {**os.environ, "PATH": f"{bin_of_python}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run(["bash", "-euc", command], check=True, env=env)


def check_options(command):
    """Hold a job to its options: help is printed where all of them are known."""
    name, *words = shlex.split(command.removeprefix(JOB), comments=True)
    assert job.main(name, [*words, "--help"]) == 0, command


def check_yaml(text):
    """Hold a document to what reads it."""
    yaml = pytest.importorskip("yaml", reason="needs the extra 'policy'")
    document = yaml.safe_load(text)
    if "jobs" in document:
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        (asked,) = [
            step["with"]
            for each in document["jobs"].values()
            for step in each["steps"]
            if "/anonrisk@" in step["uses"]
        ]
        assert asked.keys() <= action["inputs"].keys()
    elif "repos" in document:
        hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
        asked = {hook["id"] for repo in document["repos"] for hook in repo["hooks"]}
        assert asked <= {hook["id"] for hook in hooks}
    elif "models" in document:
        assert Roles.from_dbt(document).quasi
    else:
        # A part of a policy is what it shows.
        whole = {"version": 1, "roles": {"quasi": ["shop"]}, "budgets": {"k": 5}}
        Policy.from_dict(document if "version" in document else {**whole, **document})


def save(text):
    """Write a block where its first line says, if it does."""
    named = re.match(r"# (\S+\.(?:py|ya?ml))\n", text)
    if named:
        Path(named[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(named[1]).write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_can_be_followed(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner, names = doctest.DocTestRunner(optionflags=flags), {"__name__": "__main__"}
    for language, code in blocks(path):
        save(code)
        if language == "python" and ">>> " in code:
            test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            names = test.globs
        elif language == "yaml":
            check_yaml(code)
        elif language == "sql":
            assert not_run(code)
        elif language == "sh":
            for command in filter(None, commands(code)):
                if command.startswith(JOB):
                    check_options(command)
                elif not not_run(command):
                    run(command)


def test_what_is_not_run_is_on_a_page():
    texts = [code for path in PAGES for kind, code in blocks(path) if kind in ("sh", "sql")]
    skipped = {not_run(command) for text in texts for command in commands(text)} - {None}
    assert skipped == NOT_RUN.keys()
