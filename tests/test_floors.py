"""The floors of the house: an import goes down, or sideways within its folder, and never round.

Every import counts: at load, inside a function, and for a type checker alone.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import anonrisk
from anonrisk import datasets

# Every file of the library is read.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
# From the ground up. On the twelfth floor are the front doors: folders that nothing stands on, as
# `gx` and `cli`, and modules at the top of the package but for the two on the ground.
FLOORS = (
    {"errors", "_version"},
    {"core"},
    {"pseudonyms"},
    {"measures"},
    {"predict"},
    {"engines"},
    {"planning"},
    {"api"},
    {"policy", "priors"},
    {"reporting"},
    {"releases"},
)
FRONT = len(FLOORS)
# Doors that a method opens upstairs, by name and not by an import: file, module.
DOORS = {("policy/policy.py", "anonrisk.gx.suite"), ("api/plan.py", "anonrisk.policy")}
# Files that import by name at all.
OPENING = {
    "anonrisk",
    "anonrisk.accessor",
    "anonrisk.api.plan",
    "anonrisk.cli",
    "anonrisk.cli.commands.example",
    "anonrisk.policy.budgets",
    "anonrisk.policy.examine",  # a function of the user
    "anonrisk.policy.policy",
    "anonrisk.testing.__main__",
}
# What `engines/numpy/` counts for, and therefore must not know.
LIBRARIES = {"pandas", "pyarrow", "polars", "duckdb", "pyspark", "sqlalchemy"}
# Words that say how a thing came about, and not what it is: a name is the noun of the thing.
NO_NOUNS = {"found", "told", "one", "given", "of", "now"}
# Functions may have these: a constructor or a look-up, as `ClassSizes.of`, and the time of a clock.
CALLED = {"of", "now"}
# What users import: these paths stay.
PUBLIC = {
    "anonrisk": (
        "ClassSizes",
        "Ledger",
        "Manifest",
        "Plan",
        "Policy",
        "ReleaseBlocked",
        "Roles",
        "State",
        "Verdict",
        "k",
    ),
    "anonrisk.cli.job": ("main",),
    "anonrisk.datasets": ("figures",),
    "anonrisk.errors": ("AnonRiskError", "ReleaseBlocked"),
    "anonrisk.hierarchy": ("Hierarchy",),
    "anonrisk.hipaa": ("safe_harbor",),
    "anonrisk.identity": ("AuditTrail", "Event", "IdentityProtector", "Right", "Rights"),
    "anonrisk.keys": ("Key", "PublicKey", "SigningKey"),
    "anonrisk.planning.plan": ("Plan",),
    "anonrisk.policy": ("Policy", "Verdict"),
    "anonrisk.predict": ("Answer", "Distribution", "questionnaire", "singletons", "uniqueness"),
    "anonrisk.predict.kl": ("mean",),
    "anonrisk.predict.zipf": ("Zipf", "product"),
    "anonrisk.priors": ("Forecast", "Repository"),
    "anonrisk.recode": ("Bins", "DatePart", "TopBottom", "ZipArea"),
    "anonrisk.reporting": ("Report", "html"),
    "anonrisk.spark_jobs.check": ("main",),
    "anonrisk.spark_jobs.measure": ("main",),
    "anonrisk.spark_jobs.predict": ("main",),
    "anonrisk.measures.probabilistic": ("domain_size", "max_singleton_share"),
    "anonrisk.spark": ("foreach_batch",),
    "anonrisk.sql": ("table",),
    "anonrisk.testing": ("Case", "ConformanceReport", "cases", "engine", "pycanon", "run"),
}


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sorted((ROOT / "anonrisk").rglob("*.py"))}


# Every lane imports this file, few run it: what takes a second is done when a test asks.
@cache
def sources():
    return {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


@cache
def trees():
    return {name: ast.parse(source) for name, source in sources().items()}


def statements(tree):
    """Every statement of a file, however deep: imports stand nowhere else."""
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        yield node
        for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
            ahead.extend(getattr(node, inside, ()))


def absolute(module, node, modules):
    """Name the module that an import is from, also where it is told by dots."""
    if not node.level:
        return node.module
    parts = module.split(".")
    is_package = module in modules and modules[module].name == "__init__.py"
    above = parts[: len(parts) - node.level + is_package]
    return ".".join([*above, *filter(None, [node.module])])


def imported(module, tree, modules):
    """Modules of the package that a file imports, wherever it does so."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node, modules)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in modules else base for name in inner]
        else:
            continue
        yield from (name for name in names if name in modules and name != module)


@cache
def graph():
    return {name: sorted(set(imported(name, tree, MODULES))) for name, tree in trees().items()}


def folder(module):
    return module.partition(".")[2].partition(".")[0]


def floor(module):
    room = folder(module)
    return next((number for number, rooms in enumerate(FLOORS) if room in rooms), FRONT)


def upward(module, other):
    """Whether an import leaves its folder for one that does not stand below it."""
    if floor(module) == FRONT:
        return False  # a front door uses whatever the package offers
    return folder(module) != folder(other) and floor(other) >= floor(module)


def reached(imports, start):
    found, ahead = set(), list(imports[start])
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead.extend(imports.get(name, ()))
    return found


def rounds(imports):
    """Files from which imports lead back to themselves."""
    return sorted(name for name in imports if name in reached(imports, name))


def test_no_import_runs_up():
    assert [(a, b) for a, others in graph().items() for b in others if upward(a, b)] == []


def test_no_import_runs_round():
    # The package's own file stands for everything that it offers.
    inner = {a: [b for b in others if b != "anonrisk"] for a, others in graph().items()}
    assert rounds(inner) == []


def of_a_library(tree):
    """What a file imports of a library of tables, or of the engine of one."""
    for node in ast.walk(tree):
        names = [alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            first, *rest = name.removeprefix("anonrisk.engines.").split(".")
            if first in {*LIBRARIES, "arrow", "spark", "sql", "pandas_on_spark"}:
                yield ".".join([first, *rest])


def test_numbers_in_process_know_no_library_of_tables():
    core = [name for name in trees() if name.startswith("anonrisk.engines.numpy")]
    assert len(core) > 1
    assert [(name, found) for name in core for found in of_a_library(trees()[name])] == []


def named(tree):
    """Modules that a file names in a text, by which it may open them without an import."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "getLogger":
            told.update(map(id, node.args))  # the name of a logger opens nothing
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            name = node.value.partition(":")[0].rstrip(".")
            if name.startswith("anonrisk.") or node.value == "anonrisk.":
                yield name


def doors(trees):
    """Files with the names of modules upstairs that they hold as texts."""
    return {
        (module, name)
        for module, tree in trees.items()
        for name in named(tree)
        if upward(module, name)
    }


def test_doors_upstairs_are_listed():
    found = {
        (MODULES[module].relative_to(ROOT / "anonrisk").as_posix(), name)
        for module, name in doors(of_sources(r"[\"']anonrisk\."))
    }
    assert found == DOORS
    # What is opened by a name that is put together is opened below, or in a folder's own files.
    opening = {name for name, tree in of_sources("|".join(IMPORTERS)).items() if opens(tree)}
    assert opening == OPENING


def of_sources(pattern):
    """Only the trees of files in which a text occurs at all: to walk every one takes seconds."""
    return {name: tree for name, tree in trees().items() if re.search(pattern, sources()[name])}


IMPORTERS = {"import_module", "__import__", "resolve_name"}


def opens(tree):
    """Whether a file can import what a text names."""
    return any(
        getattr(node, "id", None) in IMPORTERS
        or getattr(node, "attr", None) in IMPORTERS
        or (isinstance(node, ast.alias) and node.name in IMPORTERS)
        for node in ast.walk(tree)
    )


def test_no_class_name_stands_twice():
    classes = Counter(
        node.name
        for tree in trees().values()
        for node in statements(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in classes.items() if times > 1] == []


def test_rooms_are_few():
    """Modules and folders by which users import, and nothing else, are not counted."""
    top = ROOT / "anonrisk"
    loose = {path.stem for path in top.glob("*.py")} - {"__init__", "__main__", "_version"}
    # The last one cannot be imported beside a pandas that pyspark does not know.
    paths = {name.partition(".")[2] for name in PUBLIC} | {"pandas_on_spark"}
    paths -= {name for name in loose if len(sources()[f"anonrisk.{name}"].splitlines()) > 30}
    folders = {path.parent.name for path in top.glob("*/*.py")}
    jobs = {module_of(path) for path in (top / "spark_jobs").glob("*.py")}
    assert jobs - {"anonrisk.spark_jobs"} <= {*PUBLIC}
    assert loose - paths == {"accessor", "errors", "scanned", "sql", "tables"}
    assert len(folders - {"spark_jobs"}) <= 16


@pytest.mark.parametrize("path", PUBLIC)
def test_public_paths_stay(path):
    module = importlib.import_module(path)
    assert [name for name in PUBLIC[path] if not hasattr(module, name)] == []


def no_nouns(tree):
    """Names that say nothing of the thing, and their lines: what is bound, and functions."""
    for node in ast.walk(tree):
        bound = None
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            bound = node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            bound = node.arg
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler | ast.FunctionDef):
            bound = node.name
        if isinstance(node, ast.FunctionDef) and bound in CALLED:
            continue
        if bound and bound.strip("_") in NO_NOUNS:
            yield bound, node.lineno


def test_a_name_is_the_noun_of_the_thing():
    named = [(module, *place) for module, tree in trees().items() for place in no_nouns(tree)]
    assert named == []


BINDINGS = (
    *("one = 1", "a, *one = b", "one: int = 1", "one += 1", "x.one = 1", "(one := 1)"),
    *("for one in b: pass", "{a: 1 for a, one in b}", "with a as one: pass", "lambda one: 1"),
    *("def f(one): pass", "def f(*one): pass", "def f(*, one=1): pass", "class A:\n one: int"),
    *("def one(): pass", "def _one(self): pass", "class A:\n def one(self): pass"),
    *("try: pass\nexcept A as one: pass", "match a:\n case [1, *one]: pass"),
)


@pytest.mark.parametrize("word", sorted(NO_NOUNS))
def test_a_word_that_is_no_noun_is_seen_wherever_it_is_bound(word):
    for source in (binding.replace("one", word) for binding in BINDINGS):
        may_be = word in CALLED and f"def {word}(" in source
        assert len([*no_nouns(ast.parse(source))]) == (not may_be), source


def test_the_rules_see_what_they_should():
    source = "def f():\n    try:\n        from anonrisk.gx import suite\n"
    source += "    except OSError:\n        import anonrisk.core.render\n"
    found = set(imported("anonrisk.policy.x", ast.parse(source), MODULES))
    assert found == {"anonrisk.gx.suite", "anonrisk.core.render"}
    assert upward("anonrisk.policy.x", "anonrisk.gx.suite")
    assert upward("anonrisk.policy.x", "anonrisk.priors")
    assert not upward("anonrisk.integrations.x", "anonrisk.cli")
    assert not upward("anonrisk.policy.x", "anonrisk.core.render")
    for source in ("from ..gx import suite", "from ..gx.suite import x", "from .. import gx"):
        found = list(imported("anonrisk.policy.x", ast.parse(source), MODULES))
        assert [folder(name) for name in found] == ["gx"], source
    source = "from . import terms"
    for module in ("anonrisk.policy", "anonrisk.policy.judge"):
        assert list(imported(module, ast.parse(source), MODULES)) == ["anonrisk.policy.terms"]
    for call in ("im('anonrisk.gx')", "x(name='anonrisk.gx:suite')", "x(f'anonrisk.{y}')"):
        assert doors({"anonrisk.policy.x": ast.parse(call)}), call
    assert not doors({"anonrisk.policy.x": ast.parse("'anonrisk.gx'\nx('anonrisk.core.text')")})
    assert opens(ast.parse("from importlib import import_module as im"))
    assert opens(ast.parse("__import__(name)"))
    source = "import numpy, pandas as pd\nif x:\n    from anonrisk.engines.arrow import cells\n"
    assert set(of_a_library(ast.parse(source))) == {"pandas", "arrow.cells"}
    assert rounds({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}) == ["b", "c"]
    assert rounds({"a": ["b"], "b": []}) == []


def test_no_store_leaves_a_statement_open():
    """Rows are fetched whole: who keeps an error that is raised in between keeps SQLite's lock."""
    for folder in ("releases", "pseudonyms", "priors"):
        for path in sorted((ROOT / "anonrisk" / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            done = {
                id(node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute | ast.Expr)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "execute":
                    assert id(node) in done, f"{path.name}:{node.lineno}"


def climbs(call):
    """Calls from a lower floor to a higher one, as pairs of functions; what decorates passes on."""
    made, modules = set(), {str(path): name for name, path in MODULES.items()}

    def module(frame):
        return modules.get(frame.f_code.co_filename)

    def watch(frame, event, _):
        callee = module(frame)
        caller = frame.f_back if event == "call" and callee else None
        while caller is not None and (module(caller) is None or decorates(caller)):
            caller = caller.f_back
        if caller is not None and floor(module(caller)) < floor(callee):
            made.add((caller.f_code.co_qualname, frame.f_code.co_qualname))

    call()  # what is imported and remembered by the first call is no step of the walk
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return made


def decorates(frame):
    return frame.f_code.co_qualname.endswith(".checked")


def test_a_walk_climbs_twice_at_most():
    frame = datasets.hospital()[["pc4", "gender", "diagnosis"]].head(300)
    roles = {"quasi": ["pc4", "gender"], "sensitive": ["diagnosis"]}
    policy = anonrisk.Policy(k=3, ldiv=2, roles=roles)
    assert climbs(lambda: policy.check(frame)) == set()
    assert climbs(lambda: frame.anon.plan(["pc4", "gender"], k=3)) == set()
    assert len(climbs(lambda: frame.anon.plan(policy=policy))) <= 2
