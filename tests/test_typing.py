"""What type checkers see: the stubs are current, right uses are accepted and wrong ones found."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import Policy
from anonrisk.accessor import FUNCTIONS, METHODS, AnonAccessor
from anonrisk.core import types
from anonrisk.policy.policy import PolicyArguments

ROOT = Path(__file__).parents[1]
CONSUMER = ROOT / "tests" / "consumer"
RIGHT, WRONG = CONSUMER / "right_uses.py", CONSUMER / "wrong_uses.py"


def stubs():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.written()


def test_what_is_written_is_current():
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, f"python3 dev.py stubs writes {path.name}"


def test_the_stub_has_every_method():
    (kind,) = (
        node
        for node in ast.parse((ROOT / "anonrisk" / "accessor.pyi").read_text()).body
        if isinstance(node, ast.ClassDef)
    )
    methods = {node.name: node for node in kind.body if not node.name.startswith("_")}
    assert set(methods) == {*METHODS}
    for name, node in methods.items():
        given = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
        assert given == list(inspect.signature(getattr(AnonAccessor, name)).parameters)


def refused(call, *args, **kwargs):
    """Return what is said of something wrong: it lists what would be right."""
    with pytest.raises(anonrisk.AnonRiskError) as raised:
        call(*args, **kwargs)
    return str(raised.value)


def test_a_policy_takes_what_a_checker_lets_through():
    said = (
        refused(Policy.from_dict, {"?": 1}),
        refused(Policy, roles={"?": 1}),
        refused(Policy, budgets={"?": 1}),
    )
    known = {key for one in said for key in one.partition("There are ")[2].split(", ")}
    assert PolicyArguments.__optional_keys__ == known
    assert not PolicyArguments.__required_keys__


WORDS = {
    "Missing": lambda df, word: anonrisk.ldiv(df, "zip", "ill", missing=word),
    "MissingOrWildcard": lambda df, word: anonrisk.k(df, "zip", missing=word),
    "SuppressedAs": lambda df, word: anonrisk.suppress(df, "zip", 2, cells=True, missing=word),
    "Distance": lambda df, word: anonrisk.tcloseness(df, "zip", "ill", word),
    "Diversity": lambda df, word: anonrisk.ldiv(df, "zip", "ill", word),
    "Likeness": lambda df, word: anonrisk.beta_likeness(df, "zip", "ill", word),
    "Draw": lambda df, word: anonrisk.predict_singletons(df, "zip", 2, draw=word),
    "Method": lambda df, word: anonrisk.predict_singletons(df, "zip", 2, method=word),
    "Model": lambda df, word: anonrisk.predict_population(df, "zip", 9, model=word),
    "Law": lambda df, word: anonrisk.perturb(df, "zip", 1, seed=1, law=word),
    "Part": lambda df, word: anonrisk.generalize(df, "zip", part=word),
    "Cuts": lambda df, word: anonrisk.plan(df, "zip", 2, options=anonrisk.PlanOptions(bins=word)),
    "PlanMethod": lambda df, word: anonrisk.plan(
        df, "zip", 2, options=anonrisk.PlanOptions(method=word)
    ),
    "Split": lambda df, word: anonrisk.plan(df, "zip", 2, options=anonrisk.PlanOptions(split=word)),
    "Loss": lambda df, word: anonrisk.plan(df, "zip", 2, options=anonrisk.PlanOptions(loss=word)),
    "ColumnLoss": lambda df, word: anonrisk.explore(df, "zip", 2, loss=word),
    "PlanPicture": lambda df, word: anonrisk.plan(df, "zip", 2).plot(kind=word),
    "OnUnseen": lambda df, word: anonrisk.apply(df, anonrisk.Plan({}), on_unseen=word),
    "Points": lambda df, word: anonrisk.trajectory(df, "ill", unit="zip", points=word),
    "Alphabet": lambda df, word: anonrisk.pseudonymize(df, "zip", key=KEY, format=word),
    "Unlisted": lambda _, word: Policy(k=5, unlisted=word),
    "ScannedFormat": lambda _, word: anonrisk.scan("t.csv", format=word),
    "Spill": lambda _, word: anonrisk.scan("t.csv", spill=word),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_for_checkers_are_those_that_are_taken(name):
    said = refused(WORDS[name], pd.DataFrame({"zip": ["a", "a"], "ill": ["x", "y"]}), "?")
    listed = said.partition(" one of ")[2].partition(", not ")[0]
    assert get_args(getattr(types, name)) == tuple(re.findall("'(.+?)'", listed))


def test_all_words_are_compared():
    assert {name for name, value in vars(types).items() if get_args(value)} == set(WORDS)


def test_a_table_has_its_accessor_by_name(frame):
    table = frame({"zip": ["a", "a", "b"], "age": [1, 1, 2]})
    assert isinstance(anonrisk.anon(table), AnonAccessor)
    assert anonrisk.anon(table).k(["zip", "age"]) == table.anon.k(["zip", "age"]) == 1
    assert anonrisk.anon(table).uniqueness("zip") == anonrisk.uniqueness(table, "zip")


def test_the_accessor_by_name_is_that_of_the_table():
    table = pd.DataFrame({"zip": ["a", "a", "b"]})
    assert type(anonrisk.anon(table)) is type(table.anon)
    assert dir(anonrisk.anon(table)) == dir(table.anon)


def test_every_function_is_used_by_the_consumer():
    text = RIGHT.read_text()
    used = set(re.findall(r"anonrisk\.(\w+)\(", text))
    assert {function.__name__ for function in FUNCTIONS} <= used


# ---- the checkers -------------------------------------------------------------------------------


def documents():
    """Return every call that documents and docstrings show, as one function each.

    A checker cannot know of `df.anon`, so that this stands as `anonrisk.anon(df)`.
    """
    texts = {function.__name__: function.__doc__ for function in FUNCTIONS}
    texts |= {
        path.stem: path.read_text(encoding="utf-8")
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    }
    code = ["import anonrisk, pandas as pd"]
    for name, text in texts.items():
        examples = doctest.DocTestParser().get_examples(text)
        lines = "".join(one.source for one in examples if one.exc_msg is None)
        shown = re.sub(r"\b(\w+)\.anon\.", r"anonrisk.anon(\1).", lines)
        body = "".join(f"    {line}\n" for line in shown.splitlines() if "__future__" not in line)
        code.append(f"def of_{name}() -> None:\n{body}    pass\n")
    return "\n".join(code)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    path = tmp_path_factory.mktemp("shown") / "shown.py"
    path.write_text(documents(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mypy(shown):
    pytest.importorskip("mypy")
    # With the settings and the cache of `dev.py check`, so that the package is not read again.
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--hide-error-context", "--no-pretty", RIGHT, WRONG, shown],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    lines = re.findall(r"^(.+?):(\d+): error: (.+)$", run.stdout, re.MULTILINE)
    assert lines, run.stdout + run.stderr
    return [(Path(path).name, int(line), text) for path, line, text in lines]


@pytest.fixture(scope="module")
def pyright():
    pytest.importorskip("pyright")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pyright", "--outputjson"),
            *("--pythonpath", sys.executable, "--project", CONSUMER),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(run.stdout)["generalDiagnostics"]
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]) for one in found
    ]


def expected():
    lines = enumerate(WRONG.read_text().splitlines(), start=1)
    return {number: line.partition("# wrong: ")[2] for number, line in lines if "# wrong: " in line}


CHECKERS = pytest.mark.parametrize(
    "checker", ["mypy", pytest.param("pyright", marks=pytest.mark.nightly)]
)


@pytest.mark.slow
@CHECKERS
def test_right_uses_are_accepted(checker, request):
    found = request.getfixturevalue(checker)
    assert [error for error in found if error[0] == RIGHT.name] == []


@pytest.mark.slow
@CHECKERS
def test_wrong_uses_are_found_and_named(checker, request):
    found = request.getfixturevalue(checker)
    said = {line: text for name, line, text in found if name == WRONG.name}
    assert set(said) == set(expected())
    for line, what in expected().items():
        assert what in said[line], (line, said[line])


@pytest.mark.slow
def test_calls_in_the_documents_are_accepted(mypy, shown):
    lines = shown.read_text().splitlines()
    found = [(lines[line - 1], text) for name, line, text in mypy if name == shown.name]
    # Some results are None where there is nothing to tell, and a document knows that there is.
    assert [(line, text) for line, text in found if "None" not in text] == []
