"""`anonrisk` on the command line; docs/command_line.md is its manual.

A command is a module of `anonrisk.cli.commands` and is found by being there: its name is the
command's, its docstring the help, and it has two functions.

- ``arguments(parser, source)`` adds its options; `anonrisk.cli.options` has those that are shared.
- ``run(args, source)`` returns an `Outcome`. What it cannot do it raises: an `ArgumentError` is
  wrong usage (exit code 2), any other error could not be assessed (3).

`source` is where tables come from: files read by pandas, or whatever Spark reads in a job of
``spark_jobs/`` (`anonrisk.cli.job`), so that a command need not know.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.cli import commands
from anonrisk.cli.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.cli.source import Source

# Who started this, asked before anything that takes long: a shell may be gone by then.
STARTED_BY = os.getppid()
EPILOG = "Exit codes: 0 pass, 1 the gate failed, 2 wrong usage, 3 could not assess."


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    if arguments is None:
        # Of a process of our own: what it imports stays, and is no garbage to look for.
        gc.set_threshold(100_000, 50, 50)
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = words[0].replace("-", "_") if words else ""
    if name not in _names():
        # Help, the version, or a mistake: nobody waits for what reads tables.
        return _exit_code(parser_of(None, only="")[0], words)
    from anonrisk.cli.source import Files

    source = Files()
    return parse_and_perform(parser_of(source, only=name)[0], source, words)


def parser_of(source: Source | None, only: str | None = None) -> tuple[Parser, dict[str, Parser]]:
    """Make the parser of the command line, and return those of its commands by their names.

    With `only`, of that command alone: the options of each bring its part of the library along. If
    it is empty, of all, without their options.
    """
    parser = Parser(
        prog="anonrisk",
        description="How many people in a table can be singled out.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"anonrisk {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for result in [only] if only else _names():
        said = help_of(result)
        name = result.replace("_", "-")
        item = subparsers.add_parser(name, description=said, help=said, epilog=EPILOG)
        if only != "":
            command = load(result)
            command.arguments(item, source)
            item.set_defaults(run=getattr(command, "run", None))
    return parser, subparsers.choices


def _names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def load(name: str) -> Any:
    """Import the module of a command."""
    return importlib.import_module(f"anonrisk.cli.commands.{name}")


def parse_and_perform(parser: Parser, source: Source, arguments: Sequence[str] | None) -> int:
    """Read the arguments, and perform the command that they name."""
    from anonrisk.cli.deliver import perform

    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        args = parser.parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    # What was said after the command, to be said again with a word more.
    args.words = words[1:] if parser.has_commands else words
    return perform(args.run, args, source)


def _exit_code(parser: Parser, words: Sequence[str]) -> int:
    """Let argparse say what is wrong, or give the help that was asked for."""
    try:
        parser.parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    raise AssertionError("a command was named")


def help_of(name: str) -> str:
    """Return the first line of a command's docstring, without importing the command."""
    text = resources.files(commands).joinpath(f"{name}.py").read_text(encoding="utf-8")
    return text.partition('"""')[2].partition("\n")[0].removesuffix('"""').rstrip(".")
