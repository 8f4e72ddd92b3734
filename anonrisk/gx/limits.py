"""Whether a batch can fail what a suite asks of it at all, as of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.errors import AnonRiskError
from anonrisk.gx.base import PrivacyExpectation
from anonrisk.gx.columns import ExpectColumnsToBePublishable
from anonrisk.gx.search import ExpectColumnsNotToBeQuasiIdentifiers
from anonrisk.policy import limits
from anonrisk.policy.finding import LIMITS, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.policy import Policy
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.finding import Finding


def limits_of(result: Any, policy: Policy | None) -> list[Finding]:
    """Judge the limits of a policy, or of the expectations of a suite that was made by hand."""
    if policy is not None:
        return limits.of_policy(policy)
    asked = [*_expectations(result)]
    if any(
        isinstance(one, ExpectColumnsNotToBeQuasiIdentifiers) and _decides(one) for one in asked
    ):
        # It takes no share that a table cannot exceed.
        return []
    budgets = [b for one in asked if isinstance(one, PrivacyExpectation) for b in budgets_of(one)]
    about = [one for one in asked if isinstance(one, ExpectColumnsToBePublishable)]
    if budgets or not asked:
        return limits.of_budgets(budgets)
    if not any(one.direct or one.unlisted == "refuse" for one in about):
        return [unknown(LIMITS, "no table can fail what the suite asks: add a limit")]
    return []


def columns_alone(result: Any) -> list[Finding]:
    """Return what is told where nothing is wrong, and nothing but roles of columns was asked."""
    about = [one for one in _expectations(result) if isinstance(one, ExpectColumnsToBePublishable)]
    return [limits.every_column_listed()] if about else []


def _expectations(result: Any) -> Iterator[Any]:
    """List our expectations as they were run, parameters filled in."""
    ours = (PrivacyExpectation, ExpectColumnsToBePublishable, ExpectColumnsNotToBeQuasiIdentifiers)
    for one in result.results:
        try:
            made = one.expectation_config.to_domain_obj()
        # What cannot be made has failed, and is told as a finding of its own.
        except Exception:  # noqa: BLE001, S112
            continue
        if isinstance(made, ours):
            yield made


def budgets_of(expectation: PrivacyExpectation) -> Iterator[Budget]:
    """Return the budgets that an expectation stands for."""
    try:
        rules = expectation.policy_of(expectation.given(), expectation.finding_severity).rules
    except (AnonRiskError, ValueError):
        return
    for rule in rules:
        yield from rule.budgets


def _decides(expectation: ExpectColumnsNotToBeQuasiIdentifiers) -> bool:
    return expectation.finding_severity == "fail"
