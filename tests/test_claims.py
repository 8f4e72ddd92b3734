"""Every claim of the threat model, and of the page of pseudonyms, names a test that exists."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
MARK = re.compile(r"<!-- ((?:test_\w+::test_\w+(?:, )?)+) -->")


def bullets(text):
    """The points of lists, with the lines that belong to them."""
    return re.findall(r"(?m)^- .*(?:\n {2,}\S.*)*", text)


def rows(text):
    """The rows of tables, without those that head them."""
    lines = text.splitlines()
    ruled = {number for number, line in enumerate(lines) if re.match(r"\|( -+:? \|)+$", line)}
    heads = ruled | {number - 1 for number in ruled}
    return [line for i, line in enumerate(lines) if line.startswith("|") and i not in heads]


def claims():
    """All of them, with the page that makes each."""
    model, pseudonyms = (
        (DOCS / f"{name}.md").read_text() for name in ("threat_model", "pseudonyms")
    )
    return [
        *(("threat_model", one) for one in (*rows(model), *bullets(model))),
        *(("pseudonyms", one) for one in bullets(pseudonyms)),
    ]


def named():
    """The tests that claims name, as files and functions."""
    marks = (found for _, claim in claims() for found in MARK.findall(claim))
    return {tuple(one.split("::")) for mark in marks for one in mark.split(", ")}


@cache
def functions(file):
    tree = ast.parse((TESTS / f"{file}.py").read_text())
    return {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}


def can_fail(file, name):
    """Whether a function asserts something, or one of its file that it calls does."""
    nodes = list(ast.walk(functions(file)[name]))
    if any(isinstance(one, ast.Assert) or getattr(one, "attr", "") == "raises" for one in nodes):
        return True
    called = {one.id for one in nodes if isinstance(one, ast.Name)} & functions(file).keys()
    return any(can_fail(file, one) for one in called - {name})


def test_no_claim_is_without_a_test():
    found = claims()
    assert min(sum(page == one for page, _ in found) for one in ("threat_model", "pseudonyms")) > 9
    assert [(page, claim) for page, claim in found if not MARK.search(claim)] == []


@pytest.mark.slow
def test_every_test_that_a_claim_names_is_there_and_can_fail():
    for file, name in sorted(named()):
        function = functions(file).get(name)
        assert function is not None, f"{file}::{name}"
        marks = " ".join(ast.unparse(one) for one in function.decorator_list)
        assert not re.search(r"mark\.(skip\b|xfail)", marks), f"{file}::{name}"
        assert can_fail(file, name), f"{file}::{name}"


@pytest.mark.nightly
@pytest.mark.slow
def test_every_test_that_a_claim_names_is_collected():
    files = sorted({str(TESTS / f"{file}.py") for file, _ in named()})
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        capture_output=True,
        text=True,
        check=True,
        cwd=TESTS.parent,
    )
    collected = {
        (Path(file).stem, rest.partition("[")[0])
        for file, _, rest in (line.partition("::") for line in run.stdout.splitlines())
    }
    assert named() - collected == set()
