"""Draft a policy for a table: a role for every column, for a person to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anonrisk
from anonrisk.cli import options, output
from anonrisk.cli.deliver import write
from anonrisk.cli.next_steps import as_text, to_check
from anonrisk.cli.output import Outcome
from anonrisk.cli.source import wanted
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError
from anonrisk.policy import fields
from anonrisk.policy.ready import names, read

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from anonrisk.cli.source import Source
    from anonrisk.policy import Policy


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    group = parser.add_argument_group("draft")
    # No result that a failed run takes away: somebody may have edited it.
    group.add_argument(
        "-o",
        "--output",
        dest="draft",
        metavar="PATH",
        help="where the draft goes: YAML with the reasons, or JSON if it ends in .json "
        "(default: printed)",
    )
    group.add_argument("--force", action="store_true", help="replace what is there")
    group.add_argument(
        "--ready",
        default="research_k5",
        metavar="NAME",
        help=f"whose budgets: {', '.join(names())} (default: research_k5)",
    )
    group.add_argument("--name", help="of the policy (default: that of the ready one)")
    options.of_time(
        group, "for the search of columns that single people out (default: 30)", default=30
    )
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Draft, and write it; a draft is no verdict, and done is a 0."""
    to = _output_path(args)
    read(args.ready)
    frame = source.read(args, wanted(None))
    policy = anonrisk.Policy.draft(
        frame, ready=args.ready, name=args.name, time_limit=args.time_limit
    )
    assert policy.drafted is not None  # noqa: S101
    columns = [
        {"column": column, "role": proposal.role, "reason": proposal.reason}
        for column, proposal in policy.drafted.proposals.items()
    ]
    parts: dict[str, Any] = {
        "policy": policy.to_dict(),
        "columns": columns,
        "notes": policy.drafted.notes,
        **({} if to is None else {"written": str(to)}),
    }
    made = Outcome.of(**parts)
    if to is not None:
        write(str(to), policy.to_json() + "\n" if fields.is_json(to) else policy.to_yaml())
        return Outcome(_summary(policy, to, args), made.document)
    kept = "".join(f"# Then: {command}" for command in to_check(args, "POLICY"))
    return Outcome("" if args.json else f"{policy.to_yaml()}{kept}".rstrip("\n"), made.document)


def _output_path(args: argparse.Namespace) -> Path | None:
    """Read where the draft goes; before any data, as all usage."""
    if args.draft is not None:
        return output.policy_path("--output", args.draft, args.table, force=args.force)
    if args.force:
        raise ArgumentError("--force goes with --output")
    return None


def _summary(policy: Policy, to: Path, args: argparse.Namespace) -> str:
    return (
        f"{policy!r}\nWrote {shown(to)}. Read it, decide, remove reviewed: false."
        f"{as_text(to_check(args, str(to)))}"
    )
