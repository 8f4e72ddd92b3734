"""Build the documentation site: python3 dev.py docs.

Pages stand where they are read on a code forge: docs/, the guides beside what they are about, the
notebooks. They are laid out for Sphinx in a folder that git ignores, with their links led to where
each page is on the site. What follows from the code (one page per function, the commands) is
written there, so that nothing lists it twice.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path
from posixpath import normpath, relpath
from typing import TYPE_CHECKING

import anonrisk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build" / "docs"

# Folders of pages, and where they are on the site.
FOLDERS = {
    "docs": "",
    "docs/howto": "howto",
    "docs/measures": "measures",
    "docs/site": "",
    "examples/notebooks": "tutorials",
}
# One file with the lists of pages; each of its sections is a page of the site.
SECTIONS = "docs/site/sections.md"
# Pages that stand elsewhere, because there they are looked for.
ELSEWHERE = {
    "README.md": "index.md",  # its own page: docs/site/index.md
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/orchestration/README.md": "howto/pipelines.md",
    "expectations/README.md": "howto/checkpoint.md",
}
LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)|\]\((?P<image>[^()\s]+)\)")
# A doctest needs an empty line before the fence that closes it; its reader does not.
DOCTEST_END = re.compile(r"(?<=\n)\n```$", re.MULTILINE)

# Modules whose names users import, in the order of the reference.
MODULES = (
    "policy",
    "spark",
    "reporting",
    "predict",
    "predict.population",
    "predict.zipf",
    "priors",
    "measures.probabilistic",
    "recode",
    "hierarchy",
    "hipaa",
    "identity",
    "keys",
    "datasets",
    "gx",
    "testing",
)


def pages() -> dict[str, str]:
    """Return every page, by its path in the repository the one on the site."""
    found = {
        f"{folder}/{path.name}": f"{there}/{path.name}".lstrip("/")
        for folder, there in FOLDERS.items()
        for ending in ("md", "ipynb")
        for path in sorted((ROOT / folder).glob(f"*.{ending}"))
    }
    return found | ELSEWHERE


def led(text: str, source: str, known: dict[str, str], folder: Path) -> str:
    """Lead the links of a page to where their targets are on the site.

    A file that is no page is offered as it is; a folder cannot be, and remains as words.
    """
    here = Path(known[source]).parent

    def one(match: re.Match[str]) -> str:
        target = match["target"] or match["image"]
        path, hash_, anchor = target.partition("#")
        if not path or "://" in target or target.startswith("mailto:"):
            return match[0]
        meant = normpath(f"{Path(source).parent}/{path}")
        if meant == SECTIONS:
            return match[0].removesuffix(f"{target})") + f"{relpath(f'/{anchor}', f'/{here}')}.md)"
        if meant in known:
            to = relpath(f"/{known[meant]}", f"/{here}")
        elif (ROOT / meant).is_file():
            to = os.path.relpath(ROOT / meant, folder / here)
        elif (ROOT / meant).is_dir():
            return match["text"]
        else:
            return match[0]  # Sphinx says that it leads nowhere
        return match[0].removesuffix(f"{target})") + f"{to}{hash_}{anchor})"

    return DOCTEST_END.sub("```", LINK.sub(one, text))


def lay_out(folder: Path) -> None:
    """Put every page where Sphinx reads it."""
    shutil.copytree(ROOT / "docs" / "site", folder, ignore=shutil.ignore_patterns("__pycache__"))
    known = pages()
    for source, there in known.items():
        if source in ("README.md", SECTIONS):
            continue
        to = folder / there
        to.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / source).read_text(encoding="utf-8")
        if to.suffix == ".ipynb":
            notebook = json.loads(text)
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = led("".join(cell["source"]), source, known, folder)
            text = json.dumps(notebook)
        else:
            text = led(text, source, known, folder)
        to.write_text(text, encoding="utf-8")
    (folder / known[SECTIONS]).unlink()
    for name, text in sections().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def sections() -> dict[str, str]:
    """Return the lists of pages, named by the anchors of their titles."""
    text = (ROOT / SECTIONS).read_text(encoding="utf-8")
    parts = re.split(r"(?m)^# (.+)\n", text)[1:]
    titles = zip(parts[::2], parts[1::2], strict=True)
    return {title.lower().replace(" ", "-"): f"# {title}\n{rest}" for title, rest in titles}


def drop_absent(folder: Path) -> None:
    """Leave out of the lists of pages what stands for none here: Sphinx would warn of it."""

    def kept(match: re.Match[str]) -> str:
        return match[0] if any(folder.glob(f"{match[1]}.*")) else ""

    for name in sections():
        path = folder / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(?m)^(api/\S+|\S+\*)\n", kept, text), encoding="utf-8")


def write_reference(folder: Path) -> None:
    """Write a page for each list of names that the code has."""
    from anonrisk.accessor import FUNCTIONS

    (folder / "modules").mkdir(parents=True)
    known = _classes()
    for word in MODULES:
        module = import_module(f"anonrisk.{word}")
        paths = _paths(module)
        known |= {path.rpartition(".")[2]: path for path in paths}
        says = (module.__doc__ or "").partition("\n\n")[0]
        _write(
            folder / "modules" / module.__name__,
            module.__name__,
            f"{_module(module.__name__)}{says}",
            _table(paths, ".."),
        )
    functions = [f"anonrisk.{function.__name__}" for function in FUNCTIONS]
    says = f"{_module('anonrisk')}{_FUNCTIONS}"
    _write(folder / "functions", "Functions of a table", says, _table(functions))
    returned = " ".join(function.__annotations__["return"] for function in FUNCTIONS)
    results = [known[name] for name in sorted({*re.findall(r"\w+", returned)} & {*known})]
    _write(folder / "results", "Results", _RESULTS, _table(results))
    _write(folder / "errors", "Errors", "", ".. automodule:: anonrisk.errors\n   :members:\n")
    _write(folder / "expectations", "Expectations", _EXPECTATIONS, _expectations())
    _write(folder / "commands", "Commands", _COMMANDS, _commands())


_FUNCTIONS = """\
Each takes a table as its first argument, and is a method of ``.anon`` without it:
``anonrisk.k(df, "zip")`` is ``df.anon.k("zip")``. A type checker follows ``anonrisk.anon(df)``.
"""
_RESULTS = "What the functions give back: frozen objects, which print themselves."
_EXPECTATIONS = """\
For suites of Great Expectations; ``from anonrisk import gx`` registers them. Each takes what every
expectation takes as well: ``meta``, ``notes``, ``severity``.
"""
_COMMANDS = "Every command with its options, as ``anonrisk COMMAND --help`` prints them."


def _paths(module: ModuleType) -> list[str]:
    """Return the names that a module offers (those it lists, or its own) as users import them.

    Expectations have a page of their own, because they are written for Great Expectations.
    """
    own = [name for name, made in vars(module).items() if _is_from(module, made) and name[0] != "_"]
    found = []
    for name in getattr(module, "__all__", own):
        made = getattr(module, name)
        shorter = getattr(anonrisk, name, None) is made
        if not inspect.ismodule(made) and not name.startswith("Expect"):
            found.append(f"{'anonrisk' if shorter else module.__name__}.{name}")
    return found


def _is_from(module: ModuleType, made: object) -> bool:
    return callable(made) and made.__module__ == module.__name__


def _classes() -> dict[str, str]:
    """Find where every class of the package is; none has the name of another."""
    found = {}
    for path in (ROOT / "anonrisk").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                short = node.name in anonrisk.__all__
                found[node.name] = f"{'anonrisk' if short else module}.{node.name}"
    return found


def _write(path: Path, title: str, says: str, rest: str) -> None:
    line = "=" * len(title)
    text = f"{title}\n{line}\n\n{says.strip()}\n\n{rest}"
    path.with_name(f"{path.name}.rst").write_text(text, encoding="utf-8")


def _module(name: str) -> str:
    """Make a page the one of a module, and name what follows by its whole path all the same."""
    return f".. py:module:: {name}\n.. py:currentmodule:: None\n\n"


def _table(names: Iterable[str], pages_in: str = ".") -> str:
    head = f".. autosummary::\n   :toctree: {pages_in}\n   :nosignatures:\n\n"
    return head + "".join(f"   {name}\n" for name in names)


def _block(title: str, text: str) -> str:
    lines = "".join(f"   {line}".rstrip() + "\n" for line in text.strip().splitlines())
    return f"{title}\n{'-' * len(title)}\n\n.. code-block:: text\n   :class: folded\n\n{lines}\n"


def _expectations() -> str:
    """Return what each expectation says of itself: Great Expectations has its own way of it."""
    from anonrisk import gx

    names = sorted(name for name in gx.__all__ if name.startswith("Expect"))
    return "".join(_block(name, inspect.getdoc(getattr(gx, name)) or "") for name in names)


def _commands() -> str:
    from anonrisk.cli import parser_of
    from anonrisk.cli.source import Files

    os.environ["COLUMNS"] = "80"
    _, commands = parser_of(Files())
    return "".join(_block(name, one.format_help()) for name, one in commands.items())


def build(output: Path, *, quick: bool = False) -> int:
    """Build the site from nothing; a warning is a failure.

    Quick, it has the written pages alone, and notebooks are not run.
    """
    from sphinx.cmd.build import main as sphinx

    shutil.rmtree(output, ignore_errors=True)
    source = output / "source"
    lay_out(source)
    if not quick:
        write_reference(source / "api")
    drop_absent(source)
    options = ["-d", str(output / "cache"), *(("-D", "nb_execution_mode=off") if quick else ())]
    # A notebook shows its pictures itself, unless told to draw for nobody.
    os.environ.pop("MPLBACKEND", None)
    return sphinx(["-W", "--keep-going", "-n", "-q", *options, str(source), str(output / "html")])


def main() -> int:
    """Build what the arguments say, and tell where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--quick", action="store_true", help="no reference, no notebook is run")
    given = parser.parse_args()
    failed = build(given.output, quick=given.quick)
    if not failed:
        print(f"Open {given.output / 'html' / 'index.html'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
