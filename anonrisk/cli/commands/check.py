"""Check a table against a policy: may it be published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options, output
from anonrisk.cli.deliver import write_or_refuse
from anonrisk.cli.next_steps import as_text, next_steps
from anonrisk.cli.output import Outcome
from anonrisk.cli.source import wanted_for_plan
from anonrisk.core.render import fitted, shown
from anonrisk.engines.reading.files import STDIN, without_values
from anonrisk.errors import AnonRiskError, ArgumentError, MissingLibraryError
from anonrisk.policy import Policy, Verdict
from anonrisk.policy.against import check_against
from anonrisk.policy.check import check
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.examine import of_storage, with_files
from anonrisk.policy.finding import FAIL, unknown
from anonrisk.policy.terms import UNLISTED, wanted_by
from anonrisk.policy.trial import Gate, Trials, rows_of, seconds_unasked

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source
    from anonrisk.policy.against import AgainstBase
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.trial import PlanTrial


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    group = parser.add_argument_group("gate")
    group.add_argument("--policy", required=True, metavar="FILE", help=options.POLICY)
    group.add_argument(
        "--fail-on",
        choices=("fail", "warn"),
        default="fail",
        help="warn: budgets that only warn decide as well",
    )
    group.add_argument(
        "--population", nargs="+", metavar="PATH", help="the table's population, for the journalist"
    )
    group.add_argument(
        "--n-original", type=int, metavar="ROWS", help="rows before any were removed"
    )
    group.add_argument(
        "--explain", action="store_true", help="measure which columns, dropped, would be enough"
    )
    group.add_argument(
        "--save-plan",
        metavar="PATH",
        help="with --explain: where the plan goes that lets the table pass, for anonrisk apply",
    )
    group.add_argument(
        "--unlisted",
        choices=UNLISTED,
        help="what becomes of columns that no role names: refuse the table, count them as "
        "quasi-identifiers, or say that nobody has looked at them (default: as the policy says)",
    )
    group.add_argument(
        "--against",
        nargs="+",
        metavar="PATH",
        help="the table before a change: say how many more people are unique now",
    )
    group.add_argument("--junit", metavar="PATH", help="write the findings as JUnit XML")
    group.add_argument("--sarif", metavar="PATH", help="write them as SARIF, for code scanning")
    group.add_argument("--markdown", metavar="PATH", help="write them for a pull request")
    # The policy says these; what the command line says instead wins.
    options.of_columns(parser, missing=None, wildcard=True)
    options.of_sample(parser)
    options.of_output(parser)


def run(args: argparse.Namespace, source: Source) -> Outcome:
    """Read the policy, then the table, then compare."""
    policy = policy_of(args)
    _refuse(args)
    try:
        frame = source.read(args, wanted_by(policy))
        population = None
        if args.population is not None:
            population = source.read(args, wanted_by(policy), args.population)
    except (ArgumentError, MissingLibraryError):
        raise
    except AnonRiskError as error:
        # A table that cannot be read gets a verdict like any other.
        findings = (unknown("table", str(error)),)
        verdict = Verdict(findings, policy.digest, policy.name, missing=policy.missing)
        return Outcome.of_verdict(verdict.about(table_of(args)), args.fail_on)
    beside = {"population": population, "n_original": args.n_original}
    if args.against is None:
        verdict, change = policy.check(frame, **beside), None
    else:
        verdict, change = _against(policy, frame, args, source, beside)
    verdict = verdict.about(table_of(args), source.files(args))
    verdict = with_files(verdict, of_storage(source.stored))
    outcome = Outcome.of_verdict(verdict, args.fail_on)
    if change is not None:
        base = " ".join(map(without_values, args.against))
        fields = {"table": base, **change.to_dict(), "sentences": change.sentences}
        text = f"{outcome.text}\n\n{fitted(f'Against {shown(base)}:')}\n{change!r}"
        outcome = replace(outcome, text=text, document={**outcome.document, "against": fields})
    outcome, trials, helps = _tried(
        outcome,
        replace(verdict, fail_on=args.fail_on),
        Gate(policy, frame, population, args.n_original, check),
        args,
        source,
    )
    steps = next_steps(verdict, args, source, trials, helps)
    if steps:
        # A pass stays short where programs read it, and in the comment on a pull request.
        advice = {} if outcome.code == 0 else {"next_steps": steps}
        document = {**outcome.document, **advice}
        outcome = replace(outcome, text=outcome.text + as_text(steps), document=document)
    return outcome


def _refuse(args: argparse.Namespace) -> None:
    """Reject options that do not go together, before any data."""
    if args.n_original is not None and args.n_original < 1:
        raise ArgumentError("--n-original is a number of rows, at least 1")
    if args.save_plan is not None:
        if not args.explain:
            raise ArgumentError("--save-plan goes with --explain, which looks for the plan")
        output.outside_table("--save-plan", args.save_plan, args.table)
    if args.against is not None and STDIN in args.table and STDIN in args.against:
        raise ArgumentError("--against - and the table - are one and the same pipe")


def _against(
    policy: Policy, frame: Any, args: argparse.Namespace, source: Source, beside: dict[str, Any]
) -> tuple[Verdict, AgainstBase | None]:
    """Check a table and compare it with its base; where that cannot be done, nothing passes."""
    change: AgainstBase | Problem | None
    try:
        base = source.read(args, wanted_by(policy), args.against)
    except (ArgumentError, MissingLibraryError):
        raise
    except AnonRiskError as error:
        verdict, change = policy.check(frame, **beside), Problem(str(error))
    else:
        verdict, change = check_against(policy, frame, base, **beside)
    if not isinstance(change, Problem):
        return verdict, change
    doubt = unknown("against", change.message)
    return replace(verdict, findings=(*verdict.findings, doubt)), None


def table_of(args: argparse.Namespace) -> str:
    """Return what the table is called: as on the command line, less the values of partitions."""
    return " ".join(map(without_values, (*args.table, *(getattr(args, "input", None) or ()))))


def policy_of(args: argparse.Namespace) -> Policy:
    """Read the policy, with the roles of the command line in place of its own."""
    policy = Policy.load(args.policy)
    roles = {"quasi": args.qids, "sensitive": args.sensitive, "unit": args.unit}
    roles = {role: value for role, value in roles.items() if value is not None}
    if roles:
        policy = policy.with_roles(**roles)
    said = {"missing": args.missing, "unlisted": getattr(args, "unlisted", None)}
    said = {key: value for key, value in said.items() if value is not None}
    said |= options.sample_of(args)
    return Policy.from_dict({**policy.to_dict(), **said}) if said else policy


def _tried(
    outcome: Outcome, verdict: Verdict, gate: Gate, args: argparse.Namespace, source: Source
) -> tuple[Outcome, Trials | None, PlanTrial | None]:
    """Explain a verdict if asked to; return what tries plans at little cost, and one that helps."""
    typed = for_plans(verdict, gate.frame, gate.policy, args, source)
    known = helps = None
    if args.explain and not (verdict.passed and not verdict.warnings):
        explanation = verdict.explain(typed)
        known = next(iter(explanation.trials), None)
        helps = next((trial for trial in explanation.trials if trial.passed), None)
        document = {**outcome.document, "explanation": explanation.to_dict()}
        outcome = replace(outcome, text=f"{outcome.text}\n\n{explanation!r}", document=document)
    if args.save_plan is not None:
        outcome = _saved(outcome, args.save_plan, helps)
    if typed is None:
        return outcome, None, helps
    seconds = None if args.explain else seconds_unasked(verdict, typed)
    about = (verdict.failures, rows_of(verdict), args.fail_on, seconds, known)
    return outcome, Trials(replace(gate, frame=typed), *about), helps


def _saved(outcome: Outcome, path: str, helps: PlanTrial | None) -> Outcome:
    """Write the plan that helps; an earlier one stays where none does."""
    if helps is None or helps.plan is None:
        return replace(outcome, text=f"{outcome.text}\n\nNo plan was saved: there is none.")
    write_or_refuse(path, f"{helps.plan.to_json()}\n")
    document = {**outcome.document, "plan_saved": path}
    return replace(outcome, text=f"{outcome.text}\n\nWrote {shown(path)}", document=document)


def for_plans(
    verdict: Verdict, frame: Any, policy: Terms, args: argparse.Namespace, source: Source
) -> Any:
    """Read a table that failed as `anonrisk plan` does; None where no plan is tried on it."""
    asked = getattr(args, "explain", False) or seconds_unasked(verdict, frame) is not None
    # A pipe is read once.
    if verdict.status != FAIL or not asked or STDIN in args.table:
        return None
    typed = attempt(lambda: source.read(args, wanted_for_plan(policy), args.table))
    return None if isinstance(typed, Problem) else typed
