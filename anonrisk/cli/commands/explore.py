"""Write a page on which a person chooses how coarse each column must be."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import anonrisk
from anonrisk.cli import STARTED_BY, options, output
from anonrisk.cli.commands import check
from anonrisk.cli.documents import load_policy
from anonrisk.cli.output import Outcome
from anonrisk.cli.page_file import write_page
from anonrisk.cli.source import said_of, wanted
from anonrisk.core.render import shown
from anonrisk.core.types import ColumnLoss
from anonrisk.policy.examine import of_storage
from anonrisk.policy.terms import wanted_by
from anonrisk.reporting import Explorer
from anonrisk.reporting.explore import EXPLORE_SECONDS, with_storage
from anonrisk.reporting.served import KEEP_URL
from anonrisk.reporting.text import FLOOR

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    names = options.of_names(parser)
    names.add_argument(
        "--sensitive",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="columns whose l and t are told too",
    )
    names.add_argument(
        "--unit",
        metavar="COLUMN",
        help="says which person a record belongs to: persons are counted",
    )
    names.add_argument(
        "--policy", metavar="FILE", help=f"{options.POLICY}: says all of the above, k and limits"
    )
    group = parser.add_argument_group("explorer")
    where = group.add_mutually_exclusive_group(required=True)
    where.add_argument(
        *("-o", "--output"),
        dest="page",
        metavar="PATH",
        help="where it goes: a page of HTML, or JSON (.json) by its ending",
    )
    where.add_argument(
        "--serve",
        action="store_true",
        help="show it on this machine until Ctrl-C: it counts what you choose, for large tables; "
        "without --qids it begins with proposed roles",
    )
    group.add_argument("--title", help="its heading")
    group.add_argument("--k", type=int, help="size of every class (default: the policy's, or 5)")
    group.add_argument(
        "--max-suppressed",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="of the people, that may be left out, to begin with (default: 0.02)",
    )
    group.add_argument(
        "--floor",
        type=int,
        default=FLOOR,
        metavar="N",
        help=f"counts of people are rounded up to multiples of this (default: {FLOOR})",
    )
    options.of_hierarchies(group)
    options.of_bins(group)
    group.add_argument(
        "--loss",
        choices=get_args(ColumnLoss),
        default="entropy",
        help="by what the detail of a level is told: bits, or range (default: entropy)",
    )
    options.of_time(
        group,
        f"stop then, with the levels that were measured (default: {EXPLORE_SECONDS:.0f})",
    )
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Count once and write the page; where that fails, one that says so."""
    if args.serve:
        return _serve(args, source)
    path = str(output.outside_table("--output", args.page, args.table))
    made = write_page(Explorer, path, args.title, lambda: _explorer(args, source))
    document = Outcome.of(written=args.page, **made.to_dict()).document
    said = "".join(f"{line}\n" for line in said_of(source.inferred))
    return Outcome(
        f"{made!r}\n{said}{_hint(made, source.inferred.codes)}Wrote {shown(args.page)}", document
    )


def _serve(args: argparse.Namespace, source: Source) -> Outcome:
    """Show the page until Ctrl-C, or until the shell is gone that asked for it."""
    frame, asked = _asked(args, source)
    served = anonrisk.explore(frame, serve=True, **asked)
    # Standard output is for what a program reads, once this has ended.
    said = (*said_of(source.inferred), f"Open {served.url}", f"{KEEP_URL} Ctrl-C ends it.")
    try:
        print("\n".join(said), file=sys.stderr, flush=True)
        served.wait(parent=STARTED_BY)
    except KeyboardInterrupt:
        # Whoever has read the address may end it before it is waited for.
        served.close()
    return replace(Outcome.of(served=check.table_of(args)), text=repr(served))


def _hint(made: Explorer, codes: set[str]) -> str:
    """Return what gives a column levels: of CSV, a number is a text until somebody says so."""
    bare = [item["name"] for item in made.summary["columns"] if len(item["levels"]) < 3]
    if not bare:
        return ""
    example = next((name for name in bare if name not in codes), None)
    dtypes = "" if example is None else f"; of CSV also --dtypes {example}=number (or date)"
    return (
        f"Nothing between all and nothing is offered for {', '.join(bare)}: --hierarchies gives "
        f"levels{dtypes}.\n"
    )


def _explorer(args: argparse.Namespace, source: Source) -> Explorer:
    frame, asked = _asked(args, source)
    if args.policy is None:
        options.require_qids(frame, args.qids)
    made: Explorer = anonrisk.explore(frame, **asked)
    return replace(made, summary=with_storage(made.summary, of_storage(source.stored)))


def _asked(args: argparse.Namespace, source: Source) -> tuple[Any, dict[str, Any]]:
    """Read the table, and what is asked of it."""
    # All columns: the page names those that nobody has looked at.
    policy = None if args.policy is None else load_policy(args.policy)
    # Where roles are proposed, any column may get one.
    inferred = None if args.serve and not args.qids else args.qids or ()
    columns = wanted(
        None,
        numbers=() if policy is None else wanted_by(policy).numbers,
        inferred=inferred if policy is None else map(str, policy.roles.quasi),
        texts=dict(args.hierarchies),
    )
    return source.read(args, columns), {
        "qids": args.qids,
        "k": args.k,
        "policy": policy,
        "unit": args.unit,
        "sensitive": args.sensitive,
        "hierarchies": dict(args.hierarchies) or None,
        "bins": args.bins,
        "loss": args.loss,
        "max_suppressed": args.max_suppressed,
        "floor": args.floor,
        "name": check.table_of(args),
        "title": args.title,
        "time_limit": args.time_limit,
    }
