"""What a user meets: the accessor, the documents, what an import brings along."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import accessor, errors, releases, reporting
from anonrisk.accessor import FUNCTIONS, METHODS, NOT_METHODS, AnonAccessor
from anonrisk.api.question import RENAMED

ROOT = Path(__file__).parents[1]
CELLS = {"zip": ["a", "a", "b"], "age": [1, 2, 2], "who": [1, 2, 3]}
CALLS = {
    "k": {},
    "uniqueness": {},
    "classes": {"unit": "who"},
    "summary": {"by": "age"},
    "entropy": {"alpha": 2},
    "predict_classes": {"group_size": 2},
    "predict_singletons": {"group_size": 2},
}


@pytest.mark.parametrize("name", CALLS)
def test_accessor_and_function_agree(frame, name):
    table = frame(CELLS)
    method, function = getattr(table.anon, name), getattr(anonrisk, name)
    found, expected = method("zip", **CALLS[name]), function(table, "zip", **CALLS[name])
    if isinstance(found, pd.DataFrame):
        assert found.equals(expected)
    else:
        assert found == expected or repr(found) == repr(expected)


def test_every_function_is_bound_and_public():
    names = {function.__name__ for function in FUNCTIONS}
    files = {path.stem: path for path in (ROOT / "anonrisk" / "api").glob("*.py")}
    own = {name for name in files if f"\ndef {name}(" in files[name].read_text()}
    assert names == own | {*reporting.WORDS, *releases.WORDS}
    assert set(CALLS) <= names
    for function in FUNCTIONS:
        assert getattr(anonrisk, function.__name__) is function
        assert function.__name__ in anonrisk.__all__
        if function.__name__ in NOT_METHODS:
            continue
        method = getattr(AnonAccessor, function.__name__)
        # Less what is said of the table itself.
        assert method.__doc__.splitlines()[0] == function.__doc__.splitlines()[0]
        own, free = inspect.signature(method), inspect.signature(function)
        assert list(own.parameters)[1:] == list(free.parameters)[1:]
    assert set(dir(pd.DataFrame().anon)) == {*METHODS} == names - {*NOT_METHODS}
    assert len(METHODS) <= 40


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("sketch", "; write anonrisk.sketch(df, …)"),
        ("rr", "; write df.anon.classes(…).rr"),
        ("ldivv", "; did you mean 'ldiv'?"),
        ("xyzzy", ""),
    ],
)
def test_a_word_that_is_no_method_leads_to_where_it_is(word, said):
    with pytest.raises(
        AttributeError, match=f"^{re.escape(f'.anon has no method {word!r}{said}')}$"
    ):
        getattr(pd.DataFrame(CELLS).anon, word)
    assert not hasattr(pd.DataFrame(CELLS).anon, word)


def test_a_plan_has_few_arguments():
    assert len(inspect.signature(anonrisk.plan).parameters) <= 1 + 12


def test_every_function_is_tested_in_the_file_of_its_name():
    for function in FUNCTIONS:
        word = function.__name__
        assert f".{word}" in (ROOT / "tests" / f"test_{word}.py").read_text(), word


def test_all_is_what_there_is():
    assert sorted(anonrisk.__all__) == anonrisk.__all__
    assert all(hasattr(anonrisk, name) for name in anonrisk.__all__)


def test_every_public_function_shows_an_example_and_its_parameters():
    for function in FUNCTIONS:
        assert ">>> " in function.__doc__, function.__name__
        assert "Examples\n" in function.__doc__, function.__name__


def test_registering_again_does_not_warn_and_leaves_one_finder():
    finders = list(sys.meta_path)
    accessor.register()
    assert sys.meta_path == finders
    assert pd.DataFrame({"x": [1]}).anon.k("x") == 1


def test_links_between_documents_lead_somewhere():
    import re

    for document in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("expectations/*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            known = target.startswith("https://") or (document.parent / target).exists()
            assert known, f"{document.name}: {target}"


def loaded_by(code):
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


@pytest.mark.slow
def test_import_brings_nothing_heavy():
    modules = loaded_by("import anonrisk")
    for heavy in (
        "scipy",
        "matplotlib",
        "great_expectations",
        "pyspark.pandas",
        "sqlalchemy",
        "yaml",
    ):
        assert heavy not in modules


HIDE = """
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.slow
def test_without_pyspark_and_pyarrow_everything_for_pandas_works():
    modules = loaded_by(
        HIDE + "import pandas as pd, anonrisk\n"
        "df = pd.DataFrame({'x': ['a', 'a', None], 'y': [1.0, 1.0, 2.0]})\n"
        "assert df.anon.k(['x', 'y']) == 1\n"
        "assert df.anon.declare(quasi='x').anon.summary(by='y')['sets'].tolist() == [1, 1]"
    )
    assert "pyspark" not in modules


@pytest.mark.slow
def test_the_example_runs():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "hospital.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "are singletons" in run.stdout
    assert run.stderr == ""


@pytest.mark.slow
def test_the_example_of_a_plan_runs():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "plan.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "After: k = 5" in run.stdout
    assert run.stderr == ""


@pytest.mark.nightly
def test_the_railway_card_runs(tmp_path):
    pytest.importorskip("matplotlib")
    run = subprocess.run(
        [
            sys.executable,
            str(ROOT / "examples" / "railway_card.py"),
            "--picture",
            tmp_path / "p.png",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert "a pseudonym may link 2 taps" in run.stdout
    assert (tmp_path / "p.png").stat().st_size > 10_000


@pytest.mark.parametrize("missing", ["pyspark.pandas", "pyspark.pandas.extensions"])
def test_pandas_on_spark_says_what_it_needs(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "anonrisk.pandas_on_spark", raising=False)
    with pytest.raises(errors.MissingLibraryError) as raised:
        importlib.import_module("anonrisk.pandas_on_spark")
    assert isinstance(raised.value, ImportError)
    said = str(raised.value)
    assert "pip install 'anonrisk[pandas-on-spark]', or pyspark, pyarrow and 'pandas<3'" in said
    assert f"pandas {pd.__version__}" in said
    assert raised.value.__cause__ is not None


def test_pandas_on_spark_is_there_or_says_why(monkeypatch):
    monkeypatch.delitem(sys.modules, "anonrisk.pandas_on_spark", raising=False)
    with warnings.catch_warnings(), contextlib.suppress(errors.MissingLibraryError):
        warnings.simplefilter("ignore")
        importlib.import_module("anonrisk.pandas_on_spark")


# Words whose default still depends on the function, and what they are: none may come.
SEVERAL_DEFAULTS = {
    "alpha": {0.2, 1},  # a share, and the order of an entropy: both are called so
    "bins": {"auto", None},
    "k": {None, 2},
    "length": {4, None},
    "name": {None, "class_size"},
    "sensitive": {(), None},
    "variant": {"basic", "distinct"},
}


def test_a_parameter_has_one_default():
    defaults = {}
    for function in FUNCTIONS:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                defaults.setdefault(name, set()).add(parameter.default)
    several = {name: values for name, values in defaults.items() if len(values) > 1}
    assert several == SEVERAL_DEFAULTS


def test_columns_come_first_and_options_by_name():
    """The quasi-identifier is the first argument; what is no column or limit has its name said."""
    later = {"by", "k", "length", "population", "population_size", "sensitive", "sizes", "steps"}
    later |= {"alpha", "beta", "distance", "domain_sizes", "group_size", "max_size", "measures"}
    later |= {"upto", "variant"}
    for function in FUNCTIONS:
        _, *parameters = inspect.signature(function).parameters.values()
        positional = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        if "qids" in [one.name for one in parameters]:
            assert positional[0] == "qids", function.__name__
            assert {*positional[1:]} <= later, function.__name__


@pytest.mark.parametrize(
    ("word", "old", "new"),
    [
        *((word, *pair) for word, renamed in RENAMED.items() for pair in renamed.items()),
        ("plan", "max_suppression", "max_suppressed="),
        ("plan", "weights", "options=anonrisk.PlanOptions(column_weights=…)"),
        ("plan", "time_budget", "options=anonrisk.PlanOptions(time_limit=…)"),
        *(
            ("plan", field.name, f"options=anonrisk.PlanOptions({field.name}=…)")
            for field in fields(anonrisk.PlanOptions)
        ),
    ],
)
def test_an_old_name_is_answered_with_the_new_one(word, old, new):
    with pytest.raises(
        errors.ArgumentError, match=f"^{old}= is no longer an argument: write {re.escape(new)}$"
    ):
        getattr(anonrisk, word)(pd.DataFrame(CELLS), **{old: 1})


def test_an_old_name_of_a_draft_is_answered_too():
    with pytest.raises(errors.ArgumentError, match=r"write time_limit=$"):
        anonrisk.Policy.draft(pd.DataFrame(CELLS), time_budget=1)
