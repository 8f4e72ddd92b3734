"""Check a table against a policy: may it be published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options
from anonrisk.cli.next_steps import next_steps, shown
from anonrisk.cli.outcome import CODES, Outcome
from anonrisk.cli.source import wanted
from anonrisk.errors import AnonRiskError, ArgumentError
from anonrisk.policy import Policy, Verdict
from anonrisk.policy.judge import unknown
from anonrisk.policy.measure import Problem
from anonrisk.policy.verdict import FAIL

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source
    from anonrisk.files import Wanted


def arguments(parser: argparse.ArgumentParser, source: Source) -> None:
    """Add the options."""
    source.arguments(parser)
    group = parser.add_argument_group("gate")
    group.add_argument("--policy", required=True, metavar="FILE", help="YAML, or JSON (.json)")
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
    group.add_argument("--junit", metavar="PATH", help="write the findings as JUnit XML")
    # The policy says these; what the command line says instead wins.
    options.of_columns(parser, missing=None)
    options.of_output(parser)


def run(given: argparse.Namespace, source: Source) -> Outcome:
    """Read the policy, then the table, then compare."""
    policy = policy_of(given)
    if given.n_original is not None and given.n_original < 1:
        raise ArgumentError("--n-original is a number of rows, at least 1")
    try:
        frame = source.read(given, wanted_by(policy))
        population = None
        if given.population is not None:
            population = source.read(given, wanted_by(policy), given.population)
    except ArgumentError:
        raise
    except AnonRiskError as error:
        # A table that cannot be read gets a verdict like any other.
        findings = (unknown("table", Problem(str(error))),)
        verdict = Verdict(findings, policy.digest, policy.name, missing=policy.missing)
        return Outcome.of_verdict(verdict, given.fail_on)
    verdict = policy.check(frame, population=population, n_original=given.n_original)
    outcome = Outcome.of_verdict(verdict, given.fail_on)
    if given.explain and not (verdict.passed and not verdict.warnings):
        outcome = _explained(outcome, verdict)
    if outcome.code == CODES[FAIL]:
        steps = next_steps(verdict, given, source)
        document = {**outcome.document, "next_steps": steps}
        outcome = replace(outcome, text=outcome.text + shown(steps), document=document)
    return outcome


def policy_of(given: argparse.Namespace) -> Policy:
    """Read the policy, with the roles of the command line in place of its own."""
    policy = Policy.load(given.policy)
    roles = {"quasi": given.qids, "sensitive": given.sensitive, "unit": given.unit}
    roles = {role: value for role, value in roles.items() if value is not None}
    if roles:
        policy = policy.with_roles(**roles)
    if given.missing is not None:
        policy = Policy.from_dict({**policy.to_dict(), "missing": given.missing})
    return policy


def wanted_by(policy: Policy) -> Wanted:
    """List the columns that a policy needs; those that it orders are numbers."""
    roles = policy.roles
    budgets = [budget for rule in policy.rules for budget in rule.budgets]
    ordered = [b for b in budgets if b.distance == "ordered" and b.order is None]
    scales = {name for b in ordered for name in b.sensitive or roles.sensitive}
    single = [name for name in (roles.unit, roles.weight, policy.by) if name is not None]
    whole_rules = any(rule.columns is None for rule in policy.rules)
    if whole_rules and not roles.quasi:
        # Only the table knows its quasi-identifier.
        return wanted(None, numbers=_numbers(policy, scales))
    listed = [name for rule in policy.rules for name in rule.columns or ()]
    about = [name for budget in budgets for name in budget.sensitive or ()]
    return wanted(
        [*roles.quasi, *listed],
        roles.sensitive,
        about,
        single,
        numbers=_numbers(policy, scales),
    )


def _numbers(policy: Policy, scales: set[Any]) -> set[Any]:
    weight = policy.roles.weight
    return scales if weight is None else {*scales, weight}


def _explained(outcome: Outcome, verdict: Verdict) -> Outcome:
    explanation = verdict.explain()
    document = {**outcome.document, "explanation": explanation.to_dict()}
    return replace(outcome, text=f"{outcome.text}\n\n{explanation!r}", document=document)
