"""Write a table and a policy to try the other commands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.cli import options
from anonrisk.cli.outcome import Outcome
from anonrisk.core.render import shown

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add the options."""
    parser.add_argument("folder", nargs="?", default=".", help="where to (default: here)")
    options.of_output(parser)


def run(given: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    """Write the two files and say what to do with them."""
    from anonrisk.datasets import write_example

    table, policy = map(str, write_example(given.folder))
    made = Outcome.of(table=table, policy=policy)
    table, policy = shown(table), shown(policy)
    text = (
        f"Wrote {table} and {policy}. Now try:\n  anonrisk check {table} --policy {policy}\n"
        f"  anonrisk draft {table}"
    )
    return Outcome(text, made.document)
