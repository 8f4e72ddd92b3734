"""Apply a stored plan to a table: recode its columns, leave out records of small classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import anonrisk
from anonrisk.cli import options, output
from anonrisk.cli.commands.plan import blocked, write_table, written
from anonrisk.cli.documents import read_plan, require_hierarchies, scales_of
from anonrisk.cli.next_steps import applied
from anonrisk.cli.output import Outcome
from anonrisk.cli.source import wanted
from anonrisk.core import columns
from anonrisk.core.render import shown
from anonrisk.core.types import OnUnseen
from anonrisk.errors import ArgumentError, PlanError, ReleaseBlocked
from anonrisk.policy import Policy
from anonrisk.policy.finding import FAIL
from anonrisk.policy.terms import wanted_by
from anonrisk.pseudonyms.private_files import replace_file

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from anonrisk.cli.source import Source


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    parser.add_argument("plan", help="JSON, or YAML (.yaml), of anonrisk plan or of the explorer")
    parser.add_argument("--plan", help="the same, in place of the first argument")
    parser.set_defaults(first_option="--plan")
    source.arguments(parser)
    group = parser.add_argument_group("changed table")
    group.add_argument(
        "-o",
        "--output",
        dest="changed",
        required=True,
        metavar="PATH",
        help="where it goes: .csv, .tsv or .parquet",
    )
    group.add_argument("--force", action="store_true", help="replace the table that is there")
    options.of_hierarchies(group)
    parser.add_argument(
        "--edited", action="store_true", help="take a plan that was changed after it was written"
    )
    group = parser.add_argument_group("next month")
    group.add_argument(
        "--on-unseen",
        choices=get_args(OnUnseen),
        default="refuse",
        help="what becomes of records with values that the plan does not know: no table is "
        "written, or they are left out, or made as coarse as can be (default: refuse)",
    )
    group.add_argument(
        "--policy", metavar="FILE", help=f"{options.POLICY}: write what passes it, or nothing"
    )
    group.add_argument(
        "--resolved",
        metavar="PATH",
        help="where the plan goes that names the values in place of rules, as the explorer gives "
        "them away: keep it confidential, and apply it from then on",
    )
    options.of_output(parser, to_file=False)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Read the plan, then the table; a table that the plan was not made for fails."""
    hierarchies = dict(args.hierarchies)
    plan = read_plan(args.plan, hierarchies, edited=args.edited)
    # Before the table's own path: whoever is told to use --force there must have been told first.
    resolved = _resolved_path(args) if plan.has_rules else None
    to = output.table_path("--output", args.changed, args.table, force=args.force)
    columns.require_hierarchies(hierarchies, plan.qids)
    require_hierarchies(plan)
    numbers, dates = scales_of(plan)
    policy = None if args.policy is None else Policy.load(args.policy)
    numbers += [] if policy is None else wanted_by(policy).numbers
    numbers = [name for name in numbers if name not in dates]
    frame = source.read(args, wanted(None, numbers=numbers, dates=dates))
    if plan.has_rules:
        plan = plan.resolve(frame)
    elif args.resolved is not None:
        raise ArgumentError("--resolved has no effect: the plan has no rule")
    try:
        changed = anonrisk.apply(frame, plan, on_unseen=args.on_unseen, policy=policy)
    except PlanError as error:
        return Outcome.refused(FAIL, str(error))
    except ReleaseBlocked as error:
        return blocked(error, args, source)
    # First, because a table whose plan is lost cannot be made again next month.
    if resolved is not None:
        replace_file(resolved, f"{plan.to_json()}\n".encode())
    as_it_is = [n for n in frame.columns if n not in (*plan.qids, *plan.leave_out)]
    write_table(args, changed, to, source.inferred, as_it_is)
    n_left_out = len(frame) - len(changed)
    parts: dict[str, Any] = {"written": str(to[0]), "not_in_plan": as_it_is, "left_out": n_left_out}
    text = f"{written(to[0], as_it_is)}\nRecords left out: {n_left_out:,} of {len(frame):,}"
    if resolved is not None:
        parts["resolved"] = str(resolved)
        text += (
            f"\nWrote {shown(resolved)}, which names values: keep it confidential, and apply it "
            "from next month on"
        )
    if policy is not None:
        parts |= {"policy_name": policy.name, "policy_digest": policy.digest}
        text += f"\nIt passes {shown(args.policy)}."
    return Outcome(text, Outcome.of(**parts).document)


def _resolved_path(args: argparse.Namespace) -> Path:
    """Find where the plan goes that names values; --force is about the table alone.

    Without the plan that is there, this month is recoded otherwise than the last.
    """
    if args.resolved is None:
        raise ArgumentError(
            "the plan has a rule, values of at least so many people stay: say --resolved "
            "confidential.json, where the plan goes that names them, and apply that one from next "
            "month on"
        )
    path = output.outside_table("--resolved", args.resolved, args.table)
    if path.exists():
        said = f"--resolved {args.resolved!r} is there already, and is never replaced"
        instead = [
            f"apply that plan: {words}" for words in applied(args, args.resolved, args.changed)
        ]
        raise ArgumentError(f"{said}: {', or '.join([*instead, 'name another file'])}")
    return path
