"""Write a report about a table, for people who decide: one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anonrisk
from anonrisk.cli import options, output
from anonrisk.cli.commands import check
from anonrisk.cli.next_steps import explain_command
from anonrisk.cli.output import CODES, Outcome
from anonrisk.cli.page_file import write_page
from anonrisk.cli.source import wanted
from anonrisk.core import progress
from anonrisk.core.render import shown
from anonrisk.policy.examine import of_storage
from anonrisk.policy.terms import wanted_by
from anonrisk.reporting import Report
from anonrisk.reporting.report import report_of

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source
    from anonrisk.policy import Verdict


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    group = parser.add_argument_group("report")
    group.add_argument(
        *("-o", "--output"),
        dest="page",
        required=True,
        metavar="PATH",
        help="where it goes: a page of HTML, or Markdown (.md) or JSON (.json) by its ending",
    )
    group.add_argument("--title", help="its heading")
    group.add_argument(
        "--policy",
        metavar="FILE",
        help="show its verdict; the exit code is that of check, or 0 if it is advisory",
    )
    group.add_argument(
        "--group-size", type=int, metavar="N", help="predict the singletons of such a group too"
    )
    group.add_argument(
        "--population-size", type=int, metavar="N", help="people that the table is a sample of"
    )
    options.of_columns(parser, missing=None, wildcard=True)
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Measure once and write the report; where that fails, one that says so."""
    path = str(output.outside_table("--output", args.page, args.table))
    made = write_page(Report, path, args.title, lambda: _report(args, source))
    # A policy that only advises is no gate: that its page was written is all that is asked for.
    advised = args.policy is not None and check.policy_of(args).advisory
    code = 0 if made.verdict is None or advised else CODES[made.verdict.status]
    verdict = made.verdict
    words = () if verdict is None else (verdict.status.replace("_", " "), *verdict.caveats)
    document = Outcome.of(code=code, written=args.page, **made.to_dict()).document
    return Outcome(
        "\n".join((*([shown(", ".join(words))] if words else ()), f"Wrote {shown(args.page)}")),
        document,
        code,
    )


def _report(args: argparse.Namespace, source: Source) -> Report:
    about: dict[str, Any] = {
        "name": check.table_of(args),
        "title": args.title,
        "population_size": args.population_size,
        "group_size": args.group_size,
    }
    if args.policy is not None:
        policy = check.policy_of(args)
        frame = source.read(args, wanted_by(policy))
        about |= {"files": source.files(args), "storage": of_storage(source.stored)}

        def typed(verdict: Verdict) -> Any:
            return check.for_plans(verdict, frame, policy, args, source)

        command = explain_command(args, source)
        with progress.shown():
            return report_of(policy, frame, typed=typed, explain_command=command, **about)[0]
    about_rows = {"unit": args.unit, "missing": args.missing}
    frame = source.read(args, wanted(args.qids, args.sensitive, **about_rows))
    options.require_qids(frame, args.qids)
    return anonrisk.report(
        frame,
        args.qids,
        args.sensitive,
        unit=args.unit,
        missing=args.missing or "value",
        files=source.files(args),
        **about,
    )
