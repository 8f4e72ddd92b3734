"""A command as a Spark job: the same options, any source of Spark, the same exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.cli import EPILOG, help_of, load, parse_and_perform
from anonrisk.cli.parser import Parser
from anonrisk.cli.source import SparkSource

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(name: str, arguments: Sequence[str] | None = None) -> int:
    """Run one command on Spark; give the exit code."""
    command = load(name)
    source = SparkSource(name)
    parser = Parser(prog=f"{name}.py", description=help_of(name), epilog=EPILOG)
    command.arguments(parser, source)
    parser.set_defaults(run=command.run)
    return parse_and_perform(parser, source, arguments)
