"""Write a file of a table anew: the same rows, and nothing besides them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.cli import options, output
from anonrisk.cli.output import Outcome
from anonrisk.core.progress import shown as progress
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of, shown
from anonrisk.engines.reading import files
from anonrisk.engines.reading.clean import clean
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:  # noqa: ARG001
    """Add the options."""
    parser.add_argument("table", metavar="IN", nargs=1, help="a file of Parquet, Feather or ORC")
    parser.add_argument("cleaned", metavar="OUT", help="where it goes, in the same format")
    parser.add_argument(
        "--format", choices=files.TYPED, help="of both, if the names do not tell it"
    )
    parser.add_argument("--force", action="store_true", help="replace what is there")
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:  # noqa: ARG001
    """Find the file, write it anew, and say what is gone: how much, never what."""
    path = output.rewritten_path(args.cleaned, args.table, force=args.force)
    parts = files.find(args.table)
    if len(parts) != 1 or str(parts[0].path) == files.STDIN:
        raise ArgumentError("IN is one file: clean the files of a table one by one")
    kind = files.format_of(parts, args.format)
    if args.format is None and files.format_of([files.Part(path)], None) != kind:
        raise ArgumentError(f"OUT {args.cleaned!r} is called as another format than IN is of")
    with progress():
        tell("writing the file anew")
        made = clean(parts[0], path, kind)
    document: dict[str, Any] = {"written": str(path), "n_rows": made.n_rows}
    text = f"Wrote {shown(path)}, {count_of(made.n_rows, 'row')}."
    if made.gone is not None:
        n_values, keys = sum(made.gone.unused.values()), made.gone.metadata
        document |= {"values_removed": dict(made.gone.unused), "metadata_removed": list(keys)}
        text += (
            f"\nRemoved: {count_of(n_values, 'value')} that no row has, "
            f"{count_of(len(keys), 'entry', 'entries')} of metadata."
        )
    return Outcome(text, Outcome.of(**document).document)
