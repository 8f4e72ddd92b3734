"""Make a key: 32 random bytes in a new file that only its owner may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.cli import options
from anonrisk.cli.output import Outcome
from anonrisk.core.render import shown

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add where it goes."""
    parser.add_argument(
        *("-o", "--output"),
        dest="new_key",
        required=True,
        metavar="FILE",
        help="a new file, apart from the ledger and its backups",
    )
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    """Write the file; what is in it is not printed."""
    from anonrisk.pseudonyms.keys import Key

    Key.generate().save(args.new_key)
    outcome = Outcome.of(written=args.new_key)
    return Outcome(f"Wrote {shown(args.new_key)}", outcome.document)
