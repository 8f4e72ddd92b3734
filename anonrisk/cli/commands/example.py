"""Write a table and a policy to try the other commands on, or run a program of the package."""

from __future__ import annotations

import inspect
import pkgutil
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options
from anonrisk.cli.output import Outcome
from anonrisk.core.columns import nearest
from anonrisk.core.render import shown
from anonrisk.datasets import examples
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add the options."""
    parser.add_argument("name", nargs="?", help="a program to run; without one, files to try")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--list", action="store_true", help="list the programs")
    group.add_argument("--code", action="store_true", help="print the program, to change and keep")
    group.add_argument("--folder", help="where the files to try are written (default: here)")
    options.of_output(parser)


def run(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    """Do one of the four."""
    if args.name is None and args.code:
        raise ArgumentError(f"--code prints a program: name one of {', '.join(_names())}")
    if args.name is not None and (args.list or args.folder is not None):
        raise ArgumentError("--list and --folder stand without the name of a program")
    if args.list:
        return _listed()
    if args.name is None:
        return _files_to_try(args.folder or ".")
    program = _program(args.name)
    return _code(program) if args.code else _performed(program, args.name)


def _names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(examples.__path__))


def _program(name: str) -> Any:
    known = _names()
    if name not in known:
        hint = nearest(name, known) or "."
        raise ArgumentError(
            f"no example is called {name!r}{hint} There are {', '.join(known)}. To write the "
            "files to try into a folder: --folder"
        )
    return import_module(f"{examples.__name__}.{name}")


def _listed() -> Outcome:
    fields = {name: _first_line(_program(name)) for name in _names()}
    wide = max(map(len, fields))
    lines = [f"{name:{wide}}  {line}" for name, line in fields.items()]
    made = Outcome.of(examples=fields)
    return Outcome("\n".join(lines), made.document)


def _first_line(program: Any) -> str:
    return str(program.__doc__).partition("\n")[0]


def _code(program: Any) -> Outcome:
    text = inspect.getsource(program)
    return Outcome(text.rstrip("\n"), Outcome.of(program=text).document)


def _performed(program: Any, name: str) -> Outcome:
    # What it prints is the result, which --json must be able to hold.
    with redirect_stdout(StringIO()) as said:
        code = program.main([])
    text = said.getvalue().rstrip("\n")
    return Outcome(text, Outcome.of(example=name, text=text).document, code)


def _files_to_try(folder: str) -> Outcome:
    from anonrisk.datasets import write_example

    table, policy = map(str, write_example(folder))
    made = Outcome.of(table=table, policy=policy)
    table, policy = shown(table), shown(policy)
    text = (
        f"Wrote {table} and {policy}. Now try:\n  anonrisk check {table} --policy {policy}\n"
        f"  anonrisk draft {table}"
    )
    return Outcome(text, made.document)
