"""What help shows: every public function has its sections, and what they name exists."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from pathlib import Path

import every_call
import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import Policy, errors
from anonrisk.accessor import FUNCTIONS, NOT_METHODS, AnonAccessor
from anonrisk.api.assess import MEANINGS
from anonrisk.core import calls, types
from anonrisk.priors import Repository
from anonrisk.reporting.meanings import BEHIND

ROOT = Path(__file__).parents[1]
GX = importlib.util.find_spec("great_expectations") is not None
MODULES = (
    *("anonrisk", "anonrisk.predict", "anonrisk.predict.population", "anonrisk.priors"),
    *("anonrisk.recode", "anonrisk.hipaa", "anonrisk.reporting", "anonrisk.datasets"),
    "anonrisk.spark",
)
# Classes whose methods are doors of their own; other classes are results and plain data.
CLASSES = {"anonrisk.Policy": Policy, "anonrisk.priors.Repository": Repository}
# These compute nothing that somebody published: they have no formula, and need no source.
WITHOUT_FORMULA = {
    "anonrisk": (
        *("anon", "apply", "assess", "at_risk", "classes", "declare", "explain_risk"),
        *("generalize", "permute", "perturb", "profiles", "report", "roles", "sizes"),
        *("scan", "suppress", "table", "was_perturbed"),
    ),
    "anonrisk.predict.population": ("estimate",),
    "anonrisk.recode": ("from_dict",),
    "anonrisk.reporting": ("html", "refused"),
    "anonrisk.datasets": ("hospital", "write_example"),
    "anonrisk.spark": ("foreach_batch",),
    "anonrisk.gx": ("load_suite", "run_gate", "suite_to_json", "to_suite"),
    "anonrisk.priors.Repository": ("publish", "query", "disagreements"),
    "anonrisk.Policy": (
        *("assess", "check", "draft", "from_dict", "from_json", "from_yaml", "lint"),
        *("load", "ready"),
        *(
            "plan_goals",
            "save",
            "to_dict",
            "to_json",
            "to_markdown",
            "to_suite",
            "to_yaml",
            "with_roles",
        ),
    ),
}
ID = re.compile(r"(?<![-\w])(?:U[1-7]|S1?\d|C[123]|I[1-6]|H[1-7]|Q[1-8]|T1?\d|P1?\d|Z[1-5])(?!\w)")


def surface():
    """Every function that a user may call by a public name."""
    names = [
        (module, name) for module in MODULES for name in importlib.import_module(module).__all__
    ]
    if importlib.util.find_spec("great_expectations"):
        names += [("anonrisk.gx", name) for name in importlib.import_module("anonrisk.gx").__all__]
    found = {}
    for module, name in names:
        value = getattr(importlib.import_module(module), name)
        if inspect.isfunction(value):
            found[f"{module}.{name}"] = value
    for path, kind in CLASSES.items():
        for name, value in inspect.getmembers(kind, callable):
            if not name.startswith("_"):
                found[f"{path}.{name}"] = value
    found["anonrisk.predict.zipf.product"] = importlib.import_module(
        "anonrisk.predict.zipf"
    ).product
    return found


def expectations():
    if not importlib.util.find_spec("great_expectations"):
        return []
    from anonrisk.gx.expectations import EXPECTATIONS

    return list(EXPECTATIONS)


def sections(text):
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(text):
    """Names of the parameters, of which several may share a line."""
    heads = re.findall(r"^(\S[^:\n]*)", text, flags=re.MULTILINE)
    return {name.strip(" *") for head in heads for name in head.split(",")}


def resolved(name):
    """Import a dotted name, and what hangs on it."""
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:at]))
        except ModuleNotFoundError:
            continue
        for part in parts[at:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def check_neighbours(own, text):
    listed = re.findall(r"^(\S+) : (\S.*)$", text, flags=re.MULTILINE)
    assert 2 <= len(listed) == len(text.strip().splitlines()) <= 4, own
    for name, _ in listed:
        assert name.startswith("anonrisk."), name
        if GX or not name.startswith("anonrisk.gx."):
            assert resolved(name) is not own, name


SURFACE = surface()


@pytest.mark.parametrize("name", SURFACE)
def test_every_public_function_has_its_sections(name):
    function = SURFACE[name]
    found = sections(function.__doc__)
    signature = inspect.signature(function)
    given = {one for one in signature.parameters if one != "self"}
    assert described(found.get("Parameters", "")) == given
    assert "Returns" in found or signature.return_annotation == "None"
    assert ">>> " in found["Examples"]
    check_neighbours(function, found["See Also"])
    path, _, word = name.rpartition(".")
    formula = word not in WITHOUT_FORMULA.get(path, ())
    assert not formula or {"Notes", "References"} <= {*found}
    assert formula or not ID.search(found.get("Notes", "")), "it has a formula"


@pytest.mark.parametrize("expectation", expectations(), ids=lambda one: one.__name__)
def test_every_expectation_has_its_sections(expectation):
    found = sections(expectation.__doc__)
    assert "Args:\n" in expectation.__doc__
    assert f"gx.{expectation.__name__}(" in found["Examples"]
    check_neighbours(expectation, found["See Also"])


def test_exceptions_are_functions():
    listed = {f"{path}.{word}" for path, words in WITHOUT_FORMULA.items() for word in words}
    absent = listed - {*SURFACE}
    # Without Great Expectations there is nothing to walk.
    assert not absent or {name.rpartition(".")[0] for name in absent} == {"anonrisk.gx"}


@pytest.mark.parametrize("name", SURFACE)
def test_errata_that_are_named_exist(name):
    known = set(
        re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/formulas.md").read_text(), re.MULTILINE)
    )
    source = sections(SURFACE[name].__doc__).get("References", "")
    named = re.findall(r"``([^`]+)``", source)
    assert {*named} <= known
    assert bool(named) == ("formulas.md" in source)


def test_a_report_says_of_a_number_what_its_function_says():
    functions = {function.__name__: function for function in FUNCTIONS}
    for one in BEHIND:
        notes = " ".join(sections(functions[one.word].__doc__)["Notes"].split())
        assert one.misleads in notes, one.number


@pytest.mark.slow
def test_ids_of_formulas_are_explained_and_lead_to_the_code():
    listed = re.findall(
        r"^\| (\w+) \|.*\| `([\w/.]+)` \|$", (ROOT / "docs/formulas.md").read_text(), re.MULTILINE
    )
    package = ROOT / "anonrisk"
    documents = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "formulas.md"]
    texts = {path: path.read_text() for path in (*package.rglob("*.py"), *documents)}
    used = {one for text in texts.values() for one in ID.findall(text)}
    assert len(listed) == len({one for one, _ in listed})
    assert {one for one, _ in listed} == used
    for one, file in listed:
        assert one in ID.findall(texts[package / file]), one


def test_every_measure_has_a_page():
    warned = {
        function.__name__
        for function in FUNCTIONS
        if "When it misleads: " in sections(function.__doc__).get("Notes", "")
    }
    pages = {path.stem: path.read_text() for path in (ROOT / "docs/measures").glob("*.md")}
    assert {*pages} == {*warned, "index"}
    for word in warned:
        assert f".{word}(" in pages[word]
        for heading in ("By hand", "When it misleads", "Formula", "Source"):
            assert pages[word].count(f"\n## {heading}\n") == 1, word
        assert "$$\n" in pages[word]
        reported = word in {*MEANINGS, *(one.word for one in BEHIND)}
        assert ("<!-- short" in pages[word]) == reported, word


def explained(function):
    """What a docstring says of each parameter, by its name."""
    said = sections(function.__doc__).get("Parameters", "")
    blocks = re.split(r"^(?=\S)", said, flags=re.MULTILINE)[1:]
    heads = [(block.partition("\n")[0].partition(" : ")[0], block) for block in blocks]
    return {name: block for names, block in heads for name in names.split(", ")}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_help_stands_on_its_own(function):
    said, parameters = explained(function), inspect.signature(function).parameters
    assert sorted(said) == sorted(parameters)
    assert "As in `" not in function.__doc__
    # The words that may be given are those that the type has.
    for name in {"missing", "missing_sensitive"} & set(parameters):
        words = typing.get_args(getattr(types, parameters[name].annotation))
        assert tuple(re.findall(r'"(\w+)"', said[name].partition("\n")[0])) == words, name
    if function.__name__ in NOT_METHODS:
        return
    # A method has its table in front of the dot.
    method = getattr(AnonAccessor, function.__name__)
    assert list(explained(method)) == [name for name in said if name != "frame"]
    assert set(sections(function.__doc__)) - set(sections(method.__doc__)) <= {"Parameters"}


TABLE = pd.DataFrame(every_call.CELLS)
DECLARED = TABLE.anon.declare(quasi=every_call.QID, sensitive="value", unit="person")
NOT_GIVEN = {"qids": None, "sensitive": None}
CUT = {"zip": {"*": {"a": ["100", "101"], "b": ["102", "103", "104"]}}}
MANY = pd.DataFrame({"zip": "100", "a": range(100_002)}).assign(b=lambda t: t["a"])
# What is wrong with any call: a table, and arguments where the word has them.
WRONG = [
    (3, {}),
    ("table.csv", {}),
    (TABLE[[]], {}),
    (pd.concat([TABLE, TABLE], axis=1), {}),
    (TABLE[:0], {}),
    (TABLE, NOT_GIVEN),
    (DECLARED.rename(columns={"zip": "post", "person": "who"}), NOT_GIVEN),
    (TABLE.assign(**{name: [[1]] * len(TABLE) for name in TABLE}), {"unit": "person"}),
    (TABLE.assign(person=None), {"unit": "person"}),
    (TABLE.assign(zip=None, hour=None), {"missing": "error"}),
    (TABLE.assign(value=None), {"missing_sensitive": "error"}),
]
# What only some can meet.
OF_ONE_WORD = {
    **dict.fromkeys(
        ("assess", "profiles", "tcloseness"),
        (
            lambda ask: ask(TABLE, "zip", "value", hierarchies={"a": 1}),
            lambda ask: ask(MANY, "zip", "a", distance="ordered"),
        ),
    ),
    "apply": [
        lambda ask: ask(TABLE.assign(sex=range(len(TABLE))), every_call.plan_of_cells()),
        lambda ask: ask(
            TABLE.assign(zip="q"), TABLE.anon.plan("zip", k=10, max_suppressed=0, hierarchies=CUT)
        ),
        lambda ask: ask(TABLE, anonrisk.Plan({}), policy=Policy(quasi="zip", k=40)),
        lambda ask: ask(TABLE.assign(person=None), TABLE.anon.plan("zip", k=2, unit="person")),
    ],
    "at_risk": [
        lambda ask: ask(
            TABLE.assign(value=None), "zip", sensitive="value", l=2, missing_sensitive="error"
        ),
        lambda ask: ask(TABLE, "zip", sensitive="value", t=0.1, hierarchies={"a": 1}),
        lambda ask: ask(MANY, "zip", sensitive="a", t=0.1, distance="ordered"),
    ],
    **dict.fromkeys(("box_plot", "summary"), (lambda ask: ask(MANY, "zip", by="a"),)),
    "compare": [lambda ask: ask(TABLE, "zip", previous=TABLE.assign(zip=1))],
    "declare": [lambda ask: ask(TABLE)],
    **dict.fromkeys(
        ("delta_presence", "kmap"), (lambda ask: ask(TABLE, "zip", population=TABLE[:9]),)
    ),
    "explore": [lambda ask: ask(TABLE, "zip", hierarchies={"zip": {"a": 1}})],
    "find_qids": [lambda ask: ask(TABLE.assign(zip=[[1]] * len(TABLE)), "zip", progress=False)],
    "generalize": [lambda ask: ask(TABLE, "zip", hierarchies={"a": 1}, level=1)],
    "linkability": [
        lambda ask: ask(TABLE, "zip", unit="person", time="hour", at=99),
        lambda ask: ask(TABLE.assign(hour=pd.NaT), "zip", unit="person", time="hour"),
    ],
    "microaggregate": [lambda ask: ask(MANY, ["a", "b"], k=3)],
    "permute": [lambda ask: ask(TABLE.assign(zip=[[1]] * len(TABLE)), "value", by="zip", seed=1)],
    "plan": [
        lambda ask: ask(TABLE, "zip", k=2, hierarchies={"zip": {"a": 1}}),
        lambda ask: ask(
            TABLE, "sex", k=40, hierarchies={"sex": [anonrisk.recode.Prefix(1)]}, max_suppressed=0
        ),
        lambda ask: ask(TABLE, "zip", k=2, options=anonrisk.PlanOptions(column_weights={"zip": 0})),
    ],
    **dict.fromkeys(
        ("predict_classes", "predict_singletons"),
        (lambda ask: ask(TABLE, "income", group_size=20, method="kl"),),
    ),
    "predict_population": [
        lambda ask: ask(TABLE, "zip", population_size=9),
        lambda ask: ask(TABLE, "zip", population_size=999, weight="hour"),
        lambda ask: ask(TABLE, "income", population_size=999, model="pitman"),
    ],
    "pseudonymize": [
        lambda ask: ask(TABLE, "person", key=None),
        lambda ask: ask(TABLE, "person", key=KEY, period=2),
    ],
    "state": [lambda ask: ask(TABLE, "zip", key=None)],
    "sketch": [lambda ask: ask(TABLE, "zip", key=None)],
    "trajectory": [
        lambda ask: ask(TABLE, "zip", unit="person", length=2, ordered=True),
        lambda ask: ask(
            TABLE.assign(hour=0), "zip", unit="person", length=2, time="hour", ordered=True
        ),
    ],
    "utility": [
        lambda ask: ask(TABLE, "zip", original=TABLE, hierarchies={"zip": {"a": 1}}),
        lambda ask: ask(TABLE, "zip", original=TABLE[:0]),
        lambda ask: ask(TABLE, original=DECLARED.rename(columns={"zip": "post"})),
    ],
}
OF_ONE_WORD["risk"] = [*OF_ONE_WORD["kmap"], lambda ask: ask(TABLE, "zip", weight="hour")]
# It takes chance, or a table of millions of classes, to meet these.
SELDOM = {"pseudonymize": {"CollisionError"}, "plan": {"TooManyClassesError"}}


def raised(function):
    """Call a word wrongly in every way above; yield the kinds of error that come."""
    signature = inspect.signature(function)
    asked = every_call.ASKED.get(function.__name__, lambda ask, frame: ask(frame, every_call.QID))
    base = asked(lambda *args, **kwargs: signature.bind(*args, **kwargs).arguments, TABLE)
    first, *names = signature.parameters
    calls = [
        lambda _, frame=frame, more=more: function(
            **{**base, first: frame, **{name: more[name] for name in names if name in more}}
        )
        for frame, more in WRONG
    ]
    for call in [*calls, *OF_ONE_WORD.get(function.__name__, ())]:
        try:
            call(function)
        except anonrisk.AnonRiskError as error:
            yield type(error)


def listed(text):
    """Names of the errors of a docstring, in their order."""
    heads = re.findall(r"^(\S.*)", sections(text)["Raises"], flags=re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.filterwarnings("ignore::anonrisk.errors.ApproximationWarning")
def test_what_is_raised_is_what_the_docstring_lists(function):
    names = listed(function.__doc__)
    assert len(names) == len({*names})
    assert all(issubclass(getattr(errors, name), anonrisk.AnonRiskError) for name in names)
    came = {
        next((kind.__name__ for kind in one.__mro__ if kind.__name__ in names), one.__name__)
        for one in raised(function)
    }
    assert came == {*names} - SELDOM.get(function.__name__, set())


def test_docstrings_may_be_left_out():
    def bare(frame):
        pass

    calls.fill(bare, {}.__getitem__)
    assert bare.__doc__ is calls.without_first(None) is None
