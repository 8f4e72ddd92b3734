"""Plan how coarse each column must become to keep to a policy, or to k, and do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import anonrisk
from anonrisk.cli import options, output
from anonrisk.cli.commands.check import table_of
from anonrisk.cli.documents import load_policy, read_plan, require_hierarchies, scales_of
from anonrisk.cli.next_steps import after_plan, as_text
from anonrisk.cli.output import Outcome
from anonrisk.cli.source import said_of, text_format, wanted, wanted_for_plan
from anonrisk.core.render import shown, visible
from anonrisk.core.types import Loss, PlanMethod
from anonrisk.errors import (
    ArgumentError,
    NoPlanHelpsError,
    PlanError,
    ReleaseBlocked,
    WeightError,
)
from anonrisk.measures.recode import Keep
from anonrisk.policy import Verdict
from anonrisk.policy.budgets.base import ReleaseBudget
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from anonrisk.cli.source import Source
    from anonrisk.engines.reading.files import Inferred
    from anonrisk.planning.plan import Plan
    from anonrisk.policy import Policy


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    options.of_names(parser)
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--policy", metavar="FILE", help=f"what the table must satisfy: {options.POLICY}"
    )
    group.add_argument("--k", type=int, help="size of every class (default: 5)")
    group.add_argument("--unit", metavar="COLUMN", help="whose row it is: count persons, not rows")
    group.add_argument(
        "--max-suppressed",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="of the records, that may be left out (default: 0.02, or less by the policy)",
    )
    group.add_argument("--max-loss", type=float, metavar="LOSS", help="from 0 to 1")
    group.add_argument(
        "--method",
        choices=get_args(PlanMethod),
        default="auto",
        help="a column is equally coarse for all records, or by region, or what loses less "
        "(default: auto)",
    )
    options.of_hierarchies(group)
    group.add_argument(
        "--column-weights",
        nargs="+",
        action="extend",
        type=options.number("weight"),
        default=[],
        metavar="COLUMN=WEIGHT",
        help="how much detail is worth, relative to other columns (default: 1)",
    )
    group.add_argument("--population-size", type=int, metavar="N", help="for the budget of values")
    options.of_bins(group)
    group.add_argument(
        "--loss",
        choices=get_args(Loss),
        default="entropy",
        help="what is kept: bits of the cells, range, small classes, a target that can be "
        "predicted, or what cells tell of a sensitive column (default: entropy)",
    )
    group.add_argument("--target", metavar="COLUMN", help="for --loss target")
    group.add_argument("--sensitive", metavar="COLUMN", help="for --loss private")
    group.add_argument(
        "--previous",
        metavar="PLAN",
        help="the plan of the release before: no column becomes finer than there",
    )
    options.of_time(
        group, "stop then, with the best plan so far (default: after a fixed amount of work)"
    )
    group = parser.add_argument_group("changed table")
    group.add_argument(
        "--apply", metavar="PATH", help="write the changed table: .csv, .tsv or .parquet"
    )
    group.add_argument("--force", action="store_true", help="replace what is there")
    options.of_output(parser)
    # A plan is kept for the next release: a failure is told, and takes no earlier one away.
    parser.set_defaults(kept="output")
    parser.add_argument("--yaml", action="store_true", help="print the plan as YAML")


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Plan, and write the changed table if asked to; where no plan will do, the gate failed."""
    to = _output_path(args)
    policy = _policy(args)
    # Which column is sensitive may be declared in the file.
    every = to or (args.loss == "private" and args.sensitive is None)
    more = [name for name in (args.sensitive, args.target, args.unit) if name is not None]
    previous, numbers, dates, texts = _previous(args)
    texts += dict(args.hierarchies)
    if policy is None:
        about: dict[str, Any] = {"inferred": args.qids or (), "texts": texts}
        about |= {"numbers": numbers, "dates": dates}
        frame = source.read(args, wanted(None if every else args.qids, more, **about))
        options.require_qids(frame, args.qids)
    else:
        types = {"numbers": numbers, "dates": dates, "texts": texts}
        frame = source.read(args, wanted_for_plan(policy, **types))
    if args.loss == "private" and not (args.sensitive or anonrisk.roles(frame).sensitive):
        raise ArgumentError("--loss private is about a sensitive column: say --sensitive COLUMN")
    if (args.loss == "target") != (args.target is not None):
        raise ArgumentError("say both: --loss target --target COLUMN, the column to predict")
    try:
        plan = anonrisk.plan(
            frame,
            args.qids,
            args.k,
            policy=policy,
            unit=args.unit,
            hierarchies=dict(args.hierarchies) or None,
            sensitive=args.sensitive,
            max_suppressed=args.max_suppressed,
            previous=previous,
            options=anonrisk.PlanOptions(
                column_weights=dict(args.column_weights) or None,
                population_size=args.population_size,
                bins=args.bins,
                loss=args.loss,
                target=args.target,
                max_loss=args.max_loss,
                method=args.method,
                time_limit=args.time_limit,
            ),
        )
    except WeightError as error:
        raise ArgumentError(str(error)) from None
    except NoPlanHelpsError as error:
        return Outcome.refused(COULD_NOT_ASSESS, str(error))
    except PlanError as error:
        return Outcome.refused(FAIL, str(error))
    parts: dict[str, Any] = plan.to_dict()
    parts |= {"dtypes": source.inferred.kinds} if source.inferred.kinds else {}
    text = _yaml(plan) if args.yaml else "\n".join([repr(plan), *said_of(source.inferred)])
    # Whoever stops a search may not want what it has found so far; whoever sets a limit does.
    if to is not None and plan.partial and args.time_limit is None:
        text += "" if args.yaml else "\nNothing was written: the plan is not finished."
    elif to is not None:
        try:
            changed = anonrisk.apply(frame, plan)
            _judge(policy, plan, frame, changed)
        except ReleaseBlocked as error:
            return blocked(error, args, source)
        as_it_is = [n for n in plan.columns if n not in (*plan.qids, *plan.leave_out)]
        write_table(args, changed, to, source.inferred, as_it_is)
        parts |= {"written": str(to[0]), "not_in_plan": as_it_is}
        text += "" if args.yaml else f"\n{written(to[0], as_it_is)}"
    n_original = len(frame) if policy is not None and policy.about_removed else None
    text += "" if args.yaml else as_text(after_plan(args, plan, n_original))
    return Outcome(text, Outcome.of(**parts).document)


def _policy(args: argparse.Namespace) -> Policy | None:
    """Read the policy, which says what the options for single goals would."""
    if args.policy is None:
        return None
    said = [name for name in ("qids", "k", "unit") if getattr(args, name) is not None]
    if said or args.population_size is not None:
        option = (said or ["population_size"])[0].replace("_", "-")
        raise ArgumentError(f"--{option} and --policy exclude each other: the policy says it")
    return load_policy(args.policy)


def _previous(
    args: argparse.Namespace,
) -> tuple[Plan | None, list[Any], list[Any], list[Any]]:
    """Read the plan of the release before, and which columns are numbers, dates, texts to it."""
    if args.previous is None:
        return None, [], [], []
    plan = read_plan(args.previous, dict(args.hierarchies))
    require_hierarchies(plan)
    numbers, dates = scales_of(plan)
    kept = [name for name, step in plan.recodings.items() if isinstance(step, Keep)]
    texts = [name for name in plan.qids if name not in (*numbers, *dates, *kept)]
    return plan, numbers, dates, texts


def _output_path(args: argparse.Namespace) -> tuple[Path, str] | None:
    """Read where the changed table goes; before any data, as all usage."""
    if args.yaml and args.json:
        raise ArgumentError("--json and --yaml exclude each other")
    if args.apply is None:
        if args.force:
            raise ArgumentError("--force goes with --apply")
        return None
    return output.table_path("--apply", args.apply, args.table, force=args.force)


def write_table(
    args: argparse.Namespace,
    changed: Any,
    to: tuple[Path, str],
    inferred: Inferred,
    as_it_is: Sequence[Any],
) -> None:
    """Write a changed table as its name says, text as the table that was read."""
    from anonrisk.engines.pandas.files import write

    (path, kind), text = to, text_format(args)
    sep = "\t" if path.suffix.casefold() == ".tsv" else text.sep or ","
    encoding = text.encoding or "utf-8"
    if kind == "csv":
        # A policy may take for a number what nobody has asked to write as one.
        changed = changed.assign(
            **{n: inferred.written[n] for n in as_it_is if n in inferred.written}
        )
    write(changed, path, kind, sep=sep, encoding=encoding, short=inferred.short)


def written(path: Path, as_it_is: list[Any]) -> str:
    """Return what was written, and what the plan did not look at."""
    rest = ", ".join(map(visible, as_it_is))
    text = f"Wrote {shown(path)}."
    return text + (
        f" Columns that are not part of the plan stay as they are: {rest}" if rest else ""
    )


def _yaml(plan: Plan) -> str:
    try:
        return plan.to_yaml().rstrip("\n")
    except ImportError:
        raise ArgumentError(
            "--yaml needs PyYAML, as in pip install 'anonrisk[policy]'; --json works without"
        ) from None


def _judge(policy: Policy | None, plan: Plan, frame: Any, changed: Any) -> None:
    """Raise unless the changed table passes, but for what one table cannot be judged by.

    Where there is nothing else, nobody can tell, and that is what it says.
    """
    if policy is None:
        return
    later = {
        budget.name
        for rule in policy.rules
        for budget in rule.budgets
        if isinstance(budget, ReleaseBudget)
    }
    verdict = policy.check(changed, n_original=len(frame), plan=plan, original=frame)
    findings = tuple(item for item in verdict.findings if item.budget not in later)
    replace(verdict, findings=findings or verdict.findings).raise_for_status()


def blocked(error: ReleaseBlocked, args: argparse.Namespace, source: Source) -> Outcome:
    """Show what the policy found; its exit code is that of the gate."""
    assert isinstance(error.verdict, Verdict)  # noqa: S101
    verdict = error.verdict.about(table_of(args), source.files(args))
    text = "nothing was written: the changed table does not pass the policy"
    return replace(Outcome.of_verdict(verdict, "fail"), message=text)
