"""Write what follows from the code.

What the package offers, the methods of `.anon` and the budgets of a policy for type checkers, the
formulas as each database is sent them, and on the page of each measure what its docstring says.

Run by ``python3 dev.py stubs``; a test compares what is there with what would be written.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import sys
import textwrap
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from anonrisk.accessor import FUNCTIONS, METHODS
from anonrisk.api.assess import MEANINGS
from anonrisk.measures.counts.question import Question, Score, Sensitive
from anonrisk.measures.formula import Placeholders
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy.budgets import BUDGETS
from anonrisk.policy.terms import SETTINGS
from anonrisk.reporting.meanings import BEHIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


PACKAGE = Path(__file__).parent / "anonrisk"
MEASURES = Path(__file__).parent / "docs" / "measures"
FORMULAS_SQL = Path(__file__).parent / "tests" / "data" / "formulas_sql.json"
HEADER = "Written by python3 dev.py stubs; what is changed here is lost."
# Of every stub: where a name comes from.
OWN = {
    "Any": "typing",
    "Callable": "collections.abc",
    "Collection": "collections.abc",
    "Generic": "typing",
    "FrameT": "anonrisk.core.columns",
}
WIDTH = 100
FRAME = """\
FUNCTIONS: tuple[Callable[..., Any], ...]
WORDS: dict[str, str]
METHODS: tuple[str, ...]
ON_CLASSES: tuple[str, ...]

def function_of(word: str) -> Callable[..., Any]: ...
def instead_of(word: str, words: Collection[str]) -> str: ...
def register() -> None: ...
def anon(frame: FrameT) -> AnonAccessor[FrameT]: ...

class AnonAccessor(Generic[FrameT]):
    def __init__(self, frame: FrameT) -> None: ...
"""


def written() -> dict[Path, str]:
    """Return what belongs into each file that is written."""
    files = {
        PACKAGE / "__init__.py": package((PACKAGE / "__init__.py").read_text(encoding="utf-8")),
        PACKAGE / "api" / "__init__.py": words_of_api(),
        PACKAGE / "accessor.pyi": accessor(),
        PACKAGE / "policy" / "budget_arguments.py": budget_arguments(),
        MEASURES / "index.md": index(),
        **{path: page(path) for path in pages()},
    }
    # Without what translates them there is nothing to compare.
    if find_spec("sqlalchemy") and find_spec("sqlglot"):
        files[FORMULAS_SQL] = formulas_sql()
    return files


# ---- the package --------------------------------------------------------------------------------


def words_of_api() -> str:
    """Return the file of `api`, which names the functions: files there with one of their name."""
    words = []
    for path in sorted((PACKAGE / "api").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == path.stem for node in tree.body):
            words.append(path.stem)
    text = (PACKAGE / "api" / "__init__.py").read_text(encoding="utf-8")
    listed = "".join(f'    "{word}",\n' for word in words)
    return re.sub(
        r"^WORDS = \(.*?\n\)\n", f"WORDS = (\n{listed})\n", text, flags=re.DOTALL | re.MULTILINE
    )


def package(text: str) -> str:
    """Return the file of the package, which imports every function for checkers, and names it.

    A checker follows no import that is made by a loop.
    """
    own = re.compile(r"^    from anonrisk\.api\.(\w+) import \1\n", re.MULTILINE)
    homes = {function.__name__: function.__module__ for function in FUNCTIONS}
    offered = re.search(r"^__all__ = (\[.*?\])\n", text, re.DOTALL | re.MULTILINE)
    lines = re.search(r"^(    from anonrisk\.api\.\w+ import \w+\n)+", text, re.MULTILINE)
    if offered is None or lines is None:
        raise SystemExit("anonrisk/__init__.py imports no function, or has no __all__")
    exported = {*ast.literal_eval(offered[1])} - {*own.findall(text)} | {*homes}
    imports = own.sub("", lines[0]).splitlines(keepends=True)
    imports += [
        f"    from {home} import {name}\n"
        for name, home in homes.items()
        if home.startswith("anonrisk.api.")
    ]
    listed = "".join(f'    "{name}",\n' for name in sorted(exported))
    text = text.replace(offered[0], f"__all__ = [\n{listed}]\n")
    return text.replace(lines[0], "".join(sorted(imports)))


# ---- the accessor -------------------------------------------------------------------------------


def accessor() -> str:
    """Return the stub of the accessor: each function, without its table, as a method."""
    sources = dict(OWN)
    offered = [function for function in FUNCTIONS if function.__name__ in METHODS]
    methods = [text for function in offered for text in _methods(function, sources)]
    if any("@overload" in text for text in methods):
        sources["overload"] = "typing"
    return f"# {HEADER}\n{_imports(sources)}\n{FRAME}{''.join(methods)}"


def _methods(function: Callable[..., Any], sources: dict[str, str]) -> Iterator[str]:
    module = sys.modules[function.__module__]
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__
    ]
    known = _origins(tree)
    for node in found[:-1] or found:
        for name in _names(node):
            sources[name] = known.get(name, module.__name__)
        said = f'        """{str(function.__doc__).splitlines()[0]}"""\n'
        # Each parameter on its own line: the formatter leaves that as it is.
        parameters = "".join(f"        {one},\n" for one in _parameters(node.args))
        above = "    @overload\n" if len(found) > 1 else ""
        gives = ast.unparse(node.returns) if node.returns else "None"
        yield f"{above}    def {node.name}(\n{parameters}    ) -> {gives}:\n{said}"


def _parameters(given: ast.arguments) -> Iterator[str]:
    yield "self"
    missing = [None] * (len(given.args) - len(given.defaults))
    for one, default in list(zip(given.args, [*missing, *given.defaults], strict=True))[1:]:
        yield _parameter(one, default)
    if given.kwonlyargs:
        yield "*"
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _parameter(one, default)


def _parameter(given: ast.arg, default: ast.expr | None) -> str:
    preset = "" if default is None else f" = {ast.unparse(default)}"
    return f"{ast.unparse(given)}{preset}".replace("'", '"')


def _names(node: ast.FunctionDef) -> set[str]:
    """Names in the types of a function, but for that of its table."""
    _, *rest = node.args.args
    types = [one.annotation for one in (*rest, *node.args.kwonlyargs)]
    found = (inner for one in (*types, node.returns) if one for inner in ast.walk(one))
    names = {inner.id for inner in found if isinstance(inner, ast.Name)}
    return {name for name in names if not hasattr(builtins, name)}


def _origins(tree: ast.Module) -> dict[str, str]:
    """Where a file has its names from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } | {
        alias.asname: f"{alias.name} as {alias.asname}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname
    }


def _imports(sources: dict[str, str]) -> str:
    """Write the imports in the order that the linter asks for."""
    of_module: dict[str, list[str]] = defaultdict(list)
    for name, module in sources.items():
        of_module[module].append(name)
    groups: list[list[str]] = [[], [], []]
    for module in sorted(of_module, key=lambda module: (" as " not in module, module)):
        names = sorted(of_module[module], key=lambda name: (not name.isupper(), name))
        line = f"from {module} import {', '.join(names)}"
        if " as " in module:
            line = f"import {module}"
        elif len(line) > WIDTH:
            line = (
                "\n    ".join((f"from {module} import (", *(f"{name}," for name in names))) + "\n)"
            )
        top = module.partition(".")[0].partition(" ")[0]
        place = 0 if top in sys.stdlib_module_names else 2 if top == "anonrisk" else 1
        groups[place].append(line + "\n")
    return "\n".join("".join(group) for group in groups if group)


# ---- the budgets of a policy --------------------------------------------------------------------


def budget_arguments() -> str:
    """Return the keywords of `anonrisk.Policy` that are settings and budgets, with their types."""
    settings = {one.name: one.type for one in SETTINGS}
    settings["acknowledged"] = "Sequence[Mapping[str, Any]]"
    return (
        f'"""The keywords of a policy that are settings and budgets.\n\n{HEADER}\n"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import TYPE_CHECKING, Any, TypedDict\n\n"
        "if TYPE_CHECKING:\n    from collections.abc import Mapping, Sequence\n\n"
        "    from anonrisk.core.columns import Name\n"
        "    from anonrisk.core.types import Missing, MissingOrWildcard, Unlisted\n\n\n"
        "class SettingArguments(TypedDict, total=False):\n"
        '    """What each setting of a policy may be given as."""\n\n'
        f"{_typed(settings)}\n\n"
        "class BudgetArguments(TypedDict, total=False):\n"
        '    """What each budget of a policy may be given as."""\n\n'
        f"{_typed(_budgets())}"
    )


def _typed(keywords: dict[str, Any]) -> str:
    return "".join(f"    {key}: {type_}\n" for key, type_ in keywords.items())


def _budgets() -> dict[str, str]:
    """Return the type of each budget, as Python writes it."""
    return {key: kind.annotation for key, kind in BUDGETS.items()}


# ---- the formulas as databases are sent them ----------------------------------------------------


def formulas_sql() -> str:
    """Return every query that is sent to a database, as each is written there.

    Who changes one reads the difference: the tests cannot run every dialect everywhere.
    """
    from anonrisk.engines.sql.dialects import DIALECTS
    from anonrisk.engines.sql.text import written as in_dialect

    words = Placeholders("q0, q1", "persons", n_levels=3)
    found = {}
    for name, formula in FORMULAS.items():
        c = 1.5 if formula.takes_c else None
        texts = {**formula.windows, "score": formula.sql}
        spark = ", ".join(f"{words.text(text, c)} as {made}" for made, text in texts.items())
        found[name] = {"spark": spark} | {
            dialect: in_dialect(f"select {spark}", DIALECTS[dialect]).removeprefix("SELECT ")
            for dialect in DIALECTS
        }
    by_value = [
        Score(name, 1.5 if formula.takes_c else None)
        for name, formula in FORMULAS.items()
        if name not in {"ordered", "hierarchical"}
    ]
    for dialect in DIALECTS:
        for name, scores in {"all other scores": by_value, "ordered": [Score("ordered")]}.items():
            found.setdefault(f"steps of {name}", {})[dialect] = scores_sql(scores, dialect)
        found.setdefault("whole persons", {})[dialect] = whole_persons_sql(dialect)
    return json.dumps(found, indent=1) + "\n"


def scores_sql(scores: list[Score], dialect: str) -> str:
    """Return the statement of some scores, of a table whose cells have names of ours."""
    from anonrisk.engines.pushed.count import CountedRecords
    from anonrisk.engines.pushed.rows import Named
    from anonrisk.engines.pushed.score import ClassValues, split_by_sorting, worst_of_sizes
    from anonrisk.engines.sql.dialects import dialect_of
    from anonrisk.engines.sql.rows import text

    table: Any = SimpleNamespace(
        typed_by_cell=dialect == "sqlite", sorts_by_hash=False, split_shares=split_by_sorting
    )
    sensitive = Sensitive("cost", ordered=scores[0].name == "ordered")
    question = Question((("zip", "age"),), missing="drop")
    rows = Named(("q0", "q1", "s"), "r")
    records = CountedRecords(table, question, sensitive=sensitive, source=rows)
    return text(worst_of_sizes(ClassValues(records, sensitive), scores), dialect_of(dialect))


def whole_persons_sql(dialect: str) -> str:
    """Return the statement of `whole_person`, of a table whose cells have names of ours."""
    from anonrisk.engines.pushed.count import CountedRecords, kinds_of_persons
    from anonrisk.engines.pushed.rows import Named
    from anonrisk.engines.sql.dialects import dialect_of
    from anonrisk.engines.sql.rows import text

    question = Question((("zip", "age"),), unit="who", missing="drop")
    table: Any = SimpleNamespace(typed_by_cell=dialect == "sqlite")
    rows = Named(("q0", "q1", "u"), "r")
    plan = kinds_of_persons(CountedRecords(table, question, source=rows))
    return text(plan, dialect_of(dialect))


# ---- the pages of measures ----------------------------------------------------------------------

_LINE = 120
# What stands between two such lines on a page is written here; the rest of it is edited there.
_BLOCK = re.compile(r"(<!-- (short|more)\b[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
_MISLEADS = "When it misleads: "
_ID = re.compile(r"\b[CHIPQSTUZ][1-9]?\d\b")


def pages() -> list[Path]:
    """Return the pages of measures; each has the name of its function."""
    return sorted(path for path in MEASURES.glob("*.md") if path.stem != "index")


def page(path: Path) -> str:
    """Return a page, with what the docstring of its function says now."""
    word = path.stem
    blocks = {"short": short, "more": more}
    text = path.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda found: f"{found[1]}\n{blocks[found[2]](word)}{found[3]}", text)


def index() -> str:
    """Return the list of all pages, by their titles."""
    titles = {path.name: path.read_text(encoding="utf-8").partition("\n")[0] for path in pages()}
    lines = "".join(f"- [{title.removeprefix('# ')}]({name})\n" for name, title in titles.items())
    return (
        f"<!-- {HEADER} -->\n\n# Measures\n\n"
        "A class is the records with the same values in the columns you name: f is its size in\n"
        "the table, F in the population, n the number of all records. With `unit=` persons are\n"
        "counted in place of records. Ids such as T1 are those of [formulas](../formulas.md);\n"
        "`help(anonrisk.k)` explains the parameters.\n\n"
        f"{lines}"
    )


def short(word: str) -> str:
    """Return what a measure means, as a report or an assessment does; other pages do not."""
    reported = [one for one in BEHIND if one.word == word]
    said = "; ".join(f"{one.number}: {one.meaning}" for one in reported)
    if len(reported) < 2:
        said = reported[0].meaning if reported else MEANINGS[word]
    return _wrapped(f"**{said[0].upper()}{said[1:]}.**") + "\n"


def more(word: str) -> str:
    """Return what stands below the example: when it misleads, formula, source."""
    sections = _sections(word)
    formula, _, misleads = sections["Notes"].partition(_MISLEADS)
    parts = {
        "When it misleads": _markdown(misleads[0].upper() + misleads[1:]),
        "Formula": _markdown(_ID.sub(r"[\g<0>](../formulas.md)", formula, count=1)),
        "Source": _markdown(sections["References"]),
    }
    return "".join(f"## {title}\n\n{text.rstrip()}\n\n" for title, text in parts.items())


def _docstring(word: str) -> str:
    (function,) = [function for function in FUNCTIONS if function.__name__ == word]
    return inspect.cleandoc(str(function.__doc__))


def _sections(word: str) -> dict[str, str]:
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", _docstring(word), flags=re.MULTILINE)
    return {title: text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def _markdown(text: str) -> str:
    """Write as Markdown what stands in a docstring."""
    text = re.sub(r"\.\. math::\s+((?:.+\n?)+)", _displayed, text)
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    text = re.sub(r"`*docs/(\w+)\.md`*", r"[\1](../\1.md)", text).replace("``", "`")
    return "\n\n".join(_paragraph(one) for one in text.strip().split("\n\n")) + "\n\n"


def _displayed(found: re.Match[str]) -> str:
    return f"$$\n{textwrap.dedent(found[1]).strip()}\n$$\n"


def _paragraph(text: str) -> str:
    if text.startswith("$$"):
        return re.sub(r"^ +", "", text, flags=re.MULTILINE).strip()
    if text.startswith("- "):
        items = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
        return "\n".join(_wrapped(f"- {item}", "  ").strip() for item in items)
    return _wrapped(text).strip()


def _wrapped(text: str, indent: str = "") -> str:
    joined = " ".join(text.split())
    return (
        textwrap.fill(
            joined,
            _LINE,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )


if __name__ == "__main__":
    for path, content in written().items():
        path.write_text(content, encoding="utf-8")
