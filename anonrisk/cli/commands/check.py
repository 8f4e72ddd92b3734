"""Check a table against a policy: may it be published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.cli import options
from anonrisk.cli.next_steps import as_text, next_steps
from anonrisk.cli.outcome import CODES, Outcome
from anonrisk.cli.source import wanted
from anonrisk.engines.reading.files import without_values
from anonrisk.errors import AnonRiskError, ArgumentError
from anonrisk.policy import Policy, Verdict
from anonrisk.policy.finding import FAIL, unknown
from anonrisk.policy.terms import UNLISTED

if TYPE_CHECKING:
    import argparse

    from anonrisk.cli.source import Source
    from anonrisk.engines.reading.files import Wanted


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
        "--unlisted",
        choices=UNLISTED,
        help="what becomes of columns that no role names: refuse the table, count them as "
        "quasi-identifiers, or say that nobody has looked at them (default: as the policy says)",
    )
    group.add_argument("--junit", metavar="PATH", help="write the findings as JUnit XML")
    # The policy says these; what the command line says instead wins.
    options.of_columns(parser, missing=None, wildcard=True)
    options.of_sample(parser)
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
        findings = (unknown("table", str(error)),)
        verdict = Verdict(findings, policy.digest, policy.name, missing=policy.missing)
        return Outcome.of_verdict(verdict.about(table_of(given)), given.fail_on)
    verdict = policy.check(frame, population=population, n_original=given.n_original)
    verdict = verdict.about(table_of(given), source.files(given))
    outcome = Outcome.of_verdict(verdict, given.fail_on)
    if given.explain and not (verdict.passed and not verdict.warnings):
        outcome = _explained(outcome, verdict)
    if outcome.code == CODES[FAIL]:
        steps = next_steps(verdict, given, source)
        document = {**outcome.document, "next_steps": steps}
        outcome = replace(outcome, text=outcome.text + as_text(steps), document=document)
    return outcome


def table_of(given: argparse.Namespace) -> str:
    """Say what the table is called: as on the command line, less the values of partitions."""
    return " ".join(map(without_values, (*given.table, *(getattr(given, "input", None) or ()))))


def policy_of(given: argparse.Namespace) -> Policy:
    """Read the policy, with the roles of the command line in place of its own."""
    policy = Policy.load(given.policy)
    roles = {"quasi": given.qids, "sensitive": given.sensitive, "unit": given.unit}
    roles = {role: value for role, value in roles.items() if value is not None}
    if roles:
        policy = policy.with_roles(**roles)
    said = {"missing": given.missing, "unlisted": getattr(given, "unlisted", None)}
    said = {key: value for key, value in said.items() if value is not None}
    said |= options.sample_of(given)
    return Policy.from_dict({**policy.to_dict(), **said}) if said else policy


def wanted_by(policy: Policy) -> Wanted:
    """List the columns that a policy needs; those that it orders are numbers."""
    roles = policy.roles
    budgets = [budget for rule in policy.rules for budget in rule.budgets]
    ordered = [budget for budget in budgets if budget.needs_numbers]
    scales = {name for b in ordered for name in b.sensitive or roles.sensitive}
    single = [name for name in (roles.unit, roles.weight, policy.by) if name is not None]
    whole_rules = any(rule.columns is None for rule in policy.rules)
    if policy.unlisted == "quasi" or (whole_rules and not roles.quasi):
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
