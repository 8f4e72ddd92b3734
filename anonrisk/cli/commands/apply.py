"""Apply a stored plan to a table: recode its columns, leave out records of small classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import anonrisk
from anonrisk.cli import options, output_paths
from anonrisk.cli.commands.check import table_of, wanted_by
from anonrisk.cli.commands.plan import write_table, written
from anonrisk.cli.outcome import Outcome
from anonrisk.cli.source import wanted
from anonrisk.core.columns import require
from anonrisk.core.literals import OnUnseen
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, PlanError, ReleaseBlocked
from anonrisk.policy import Policy, Verdict
from anonrisk.policy.finding import FAIL
from anonrisk.recode import Bins, DatePart, Level
from anonrisk.recode.regions import DateRanges, NumberRanges, Parts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from anonrisk.cli.source import Source
    from anonrisk.planning.plan import Plan
    from anonrisk.recode import Recoding


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    parser.add_argument("plan", help="JSON, or YAML (.yaml), of anonrisk plan or of the explorer")
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
    group.add_argument("--force", action="store_true", help="replace what is there")
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
        "--policy", metavar="FILE", help="YAML, or JSON (.json): write what passes it, or nothing"
    )
    options.of_output(parser, to_file=False)


def run(given: argparse.Namespace, source: Source) -> Outcome:
    """Read the plan, then the table; a table that the plan was not made for fails."""
    to = output_paths.table_path("--output", given.changed, given.table, force=given.force)
    plan = _plan(given)
    dates = _having(plan, lambda step: isinstance(step, (DatePart, DateRanges)))
    numbers = _having(plan, lambda step: isinstance(step, (Bins, NumberRanges)))
    policy = None if given.policy is None else Policy.load(given.policy)
    numbers += [] if policy is None else wanted_by(policy).numbers
    numbers = [name for name in numbers if name not in dates]
    frame = source.read(given, wanted(None, numbers=numbers, dates=dates))
    try:
        changed = anonrisk.apply(frame, plan, on_unseen=given.on_unseen, policy=policy)
    except PlanError as error:
        return Outcome.refused(FAIL, str(error))
    except ReleaseBlocked as error:
        return _blocked(error, given, source)
    write_table(given, changed, *to)
    as_it_is = [name for name in frame.columns if name not in plan.qids]
    n_left_out = len(frame) - len(changed)
    parts: dict[str, Any] = {"written": str(to[0]), "not_in_plan": as_it_is, "left_out": n_left_out}
    text = f"{written(to[0], as_it_is)}\nRecords left out: {n_left_out:,} of {len(frame):,}"
    if policy is not None:
        parts |= {"policy_name": policy.name, "policy_digest": policy.digest}
        text += f"\nIt passes {shown(given.policy)}."
    return Outcome(text, Outcome.of(**parts).document)


def _blocked(error: ReleaseBlocked, given: argparse.Namespace, source: Source) -> Outcome:
    """Show what the policy found; its exit code is that of the gate."""
    assert isinstance(error.verdict, Verdict)  # noqa: S101
    verdict = error.verdict.about(table_of(given), source.files(given))
    told = "nothing was written: the changed table does not pass the policy"
    return replace(Outcome.of_verdict(verdict, "fail"), message=told)


def _having(plan: Plan, fits: Callable[[Recoding], bool]) -> list[Any]:
    """List the columns with a recoding, or a step of one by region, that fits."""
    steps = {
        name: recoding.levels if isinstance(recoding, Parts) else (recoding,)
        for name, recoding in plan.recodings.items()
    }
    return [name for name, taken in steps.items() if any(map(fits, taken))]


def _plan(given: argparse.Namespace) -> Plan:
    """Read the plan and its hierarchies; what is wrong with them is wrong usage."""
    path, hierarchies = Path(given.plan), dict(given.hierarchies)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"cannot read the plan {given.plan!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ArgumentError(f"the plan {given.plan!r} is not text in UTF-8") from None
    reads = anonrisk.Plan.from_yaml if path.suffix in (".yaml", ".yml") else anonrisk.Plan.from_json
    try:
        plan = reads(text, hierarchies, edited=given.edited)
    except PlanError as error:
        raise ArgumentError(f"{given.plan!r}: {error}") from None
    require(hierarchies, "hierarchy of", plan.qids)
    bare = _having(plan, lambda step: isinstance(step, Level) and step.hierarchy is None)
    if bare:
        listed = " ".join(f"{shown(name)}=FILE" for name in bare)
        raise ArgumentError(f"the plan has levels of hierarchies: say --hierarchies {listed}")
    return plan
