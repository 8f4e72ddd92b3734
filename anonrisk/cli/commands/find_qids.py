"""Find the sets of columns that single people out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anonrisk
from anonrisk.cli import options
from anonrisk.cli.output import CODES, Outcome
from anonrisk.cli.source import wanted
from anonrisk.errors import ArgumentError
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source
    from anonrisk.measures.find_qids import QidReport

# Seconds that somebody waits who has not said how long.
_SECONDS = 60
_MORE = (
    "\nfor more say --time-limit 600, with or without fewer --qids;\n  "
    "--max-size 2 is searched to the end, however long it takes"
)


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    options.of_columns(parser, qids="those to search (default: all)", sensitive=False)
    group = parser.add_argument_group("search")
    group.add_argument(
        "--alpha",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="a set singles out more than this share of the records (default: 0.2)",
    )
    group.add_argument(
        "--max-size", type=int, metavar="N", help="most columns of a set (default: 4)"
    )
    group.add_argument(
        "--population-size", type=int, metavar="N", help="whom the table is a sample of"
    )
    options.of_time(
        group,
        f"stop then, with what was found so far (default: {_SECONDS}, unless --max-size is given)",
    )
    group.add_argument(
        "--explain", action="store_true", help="only say how many sets and passes it would take"
    )
    group.add_argument(
        "--fail-if-found",
        action="store_true",
        help="exit code 1 if there is a set or a look-alike of a direct identifier, 3 if some "
        "columns could not be searched or the time ran out before it was clear",
    )
    options.of_output(parser)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Search; finding something is a result and no failure, unless that is asked for."""
    if args.explain and args.fail_if_found:
        raise ArgumentError("--explain searches nothing: there is nothing to fail on")
    about: dict[str, Any] = {
        "alpha": args.alpha,
        "qids": args.qids,
        "population_size": args.population_size,
        "unit": args.unit,
        "missing": args.missing,
        **_how_far(args),
    }
    frame = source.read(args, wanted(args.qids, unit=args.unit))
    if args.explain:
        search = anonrisk.find_qids(frame, explain=True, **about)
        return Outcome.of(search, **search.to_dict())
    report = anonrisk.find_qids(frame, **about)
    # A search cut short may have found more sets than it takes time to list for nobody.
    listed = report.to_dict() if args.json or args.output is not None else {}
    more = _MORE if report.partial and not report.stopped else ""
    if not args.fail_if_found:
        made = Outcome.of(report, **listed)
        return Outcome(made.text + more, made.document)
    status = _status(report)
    made = Outcome.of(report, code=CODES[status], status=status, **listed)
    return Outcome(f"{status.replace('_', ' ')}\n{made.text}{more}", made.document, made.code)


def _how_far(args: argparse.Namespace) -> dict[str, Any]:
    """Return how far to search: who says neither size nor time gets what a minute gives."""
    size = {} if args.max_size is None else {"max_size": args.max_size}
    if args.time_limit is None and args.max_size is None:
        return {"time_limit": _SECONDS}
    return {**size, "time_limit": args.time_limit}


def _status(report: QidReport) -> str:
    """Return what a gate says: what was found is certain, that there is no more may not be."""
    if report.sets or report.direct:
        return FAIL
    return COULD_NOT_ASSESS if report.partial or report.unsupported else PASS
