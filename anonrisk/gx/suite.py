"""From a policy to a suite: every budget becomes an expectation, or an error says which cannot."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from great_expectations import ExpectationSuite

from anonrisk.core.documents import canonical
from anonrisk.errors import PolicyError
from anonrisk.gx.base import OURS
from anonrisk.gx.expectations import OF_BUDGET, ExpectColumnsToBePublishable
from anonrisk.policy.measure import context_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.evidence import Context
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.terms import Rule

_VERSION = "great_expectations_version"
_SEVERITY = {"fail": "critical", "warn": "warning"}


def to_suite(policy: Policy, name: str | None = None) -> ExpectationSuite:
    """Make the suite that asks of a batch what a policy asks of a table.

    Parameters
    ----------
    policy : Policy
        What a table must satisfy. Where it leaves the quasi-identifiers or the sensitive columns
        to the table's own declaration, which a batch need not have, the suite takes the suite
        parameters ``qids`` (a list of names), ``sensitive`` (a name) and ``classified``, a list of
        all columns that may be published.
    name : str, optional
        Name of the suite; left out, that of the policy.

    Returns
    -------
    ExpectationSuite

    Raises
    ------
    PolicyError
        If a part of the policy cannot become an expectation; it says which.

    See Also
    --------
    anonrisk.gx.run_gate : runs it
    anonrisk.gx.suite_to_json : stores it
    anonrisk.Policy.to_suite : the same as a method

    Examples
    --------
    >>> import anonrisk
    >>> policy = anonrisk.Policy(name="release", quasi=["zip", "age"], k=5, max_unique_fraction=0)
    >>> suite = policy.to_suite()
    >>> [one.expectation_type for one in suite.expectations]
    ['expect_columns_to_be_publishable', 'expect_k_anonymity_to_be_at_least',
     'expect_qid_uniqueness_to_be_at_most']
    """
    context = context_of(policy, policy.roles)
    refused = list(_refused(policy, context))
    if refused:
        raise PolicyError(f"not everything can become an expectation: {'; '.join(refused)}")
    made = [_columns(policy)]
    for rule in policy.rules:
        for budget in rule.budgets:
            made += _expectations(policy, context, rule, budget)
    about = {"policy": policy.to_dict(), "digest": policy.digest}
    return ExpectationSuite(
        name=name or policy.name or "anonrisk", expectations=made, meta={OURS: about}
    )


def policy_of(suite: ExpectationSuite) -> Policy | None:
    """Read the policy that a suite was made from; None for one that was made by hand."""
    from anonrisk.policy import Policy

    about = (suite.meta or {}).get(OURS)
    if not isinstance(about, dict) or "policy" not in about:
        return None
    return Policy.from_dict(about["policy"])


def written(expectation: Any) -> dict[str, Any]:
    """Write an expectation down: its type, what it asks, and how bad it is to fail."""
    stored = expectation.configuration.to_json_dict()
    kept = {key: value for key, value in stored.get("kwargs", {}).items() if value is not None}
    severity = stored.get("severity") or "critical"
    return {"type": stored["type"], "kwargs": kept, "severity": severity}


def changed(suite: ExpectationSuite, policy: Policy) -> list[str]:
    """List the expectations of a policy that its suite no longer holds as they were."""
    left = Counter(canonical(written(expectation)) for expectation in suite.expectations)
    lost = []
    for expectation in to_suite(policy, suite.name).expectations:
        text = canonical(written(expectation))
        if not left[text]:
            lost.append(str(expectation.expectation_type))
        left[text] -= 1
    return lost


def suite_to_json(suite: ExpectationSuite) -> str:
    """Write a suite as JSON, as a project of Great Expectations stores it.

    Parameters
    ----------
    suite : ExpectationSuite
        Of our expectations, or of others.

    Returns
    -------
    str

    See Also
    --------
    anonrisk.gx.load_suite : reads it
    anonrisk.gx.to_suite : makes one

    Examples
    --------
    >>> import anonrisk
    >>> from anonrisk.gx import load_suite, suite_to_json
    >>> text = suite_to_json(anonrisk.Policy(quasi="zip", k=5).to_suite())
    >>> import json
    >>> load_suite(json.loads(text)).expectations[-1].k
    5
    """
    stored = []
    for expectation in suite.expectations:
        written = expectation.configuration.to_json_dict()
        stored.append({key: value for key, value in written.items() if value not in (None, {})})
    # Great Expectations adds its version, on which the suite does not depend.
    meta = {key: value for key, value in suite.meta.items() if key != _VERSION}
    whole = {"name": suite.name, "expectations": stored, "meta": meta}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _refused(policy: Policy, context: Context) -> Iterator[str]:
    """List what has no expectation."""
    if policy.by is not None:
        yield f"by ({policy.by!r}): make a batch of each group instead"
    reasons: dict[str, set[str]] = {}
    for budget in (budget for rule in policy.rules for budget in rule.budgets):
        reason = budget.not_expected(context)
        if reason is not None:
            reasons.setdefault(reason, set()).add(budget.name)
    for reason, names in reasons.items():
        yield f"{', '.join(sorted(names))}{reason}"
    sets = {rule.every_subset_of or rule.columns for rule in policy.rules}
    if policy.missing == "drop" and policy.dropped_are_removed and sets != {None}:
        yield "missing: drop for several quasi-identifiers: an expectation sees the rows of its own"
    numbered = sorted(str(name) for name in policy.listed if not isinstance(name, str))
    if numbered:
        yield f"columns without a text for a name ({', '.join(numbered)}): rename them"


def _columns(policy: Policy) -> Any:
    """Make the expectation about columns that must be gone, or have no role."""
    direct = [str(name) for name in policy.roles.direct]
    classified: Any = sorted(str(name) for name in policy.listed if name not in policy.roles.direct)
    if is_open(policy):
        classified = {"$PARAMETER": "classified"}
    return ExpectColumnsToBePublishable(
        direct=direct,
        classified=classified,
        unlisted=cast("Any", policy.unlisted),
        reviewed=policy.reviewed,
        policy=policy.to_dict(),
        meta={OURS: {"budget": "direct"}},
    )


def is_open(policy: Policy) -> bool:
    """Return whether the policy leaves it to the table which columns have a role."""
    about_values = any(
        budget.about_values and not budget.sensitive
        for rule in policy.rules
        for budget in rule.budgets
    )
    return _without_quasi(policy) or (about_values and not policy.roles.sensitive)


def _without_quasi(policy: Policy) -> bool:
    return not policy.roles.quasi and any(rule.columns is None for rule in policy.rules)


def _expectations(policy: Policy, context: Context, rule: Rule, budget: Budget) -> Iterator[Any]:
    columns = policy.roles.whole if rule.columns is None else rule.columns
    open_ = rule.columns is None and not policy.roles.quasi
    common: dict[str, Any] = {
        "qids": {"$PARAMETER": "qids"} if open_ else [str(name) for name in columns],
        "every_subset_of": rule.every_subset_of,
        "unit": None if policy.roles.unit is None else str(policy.roles.unit),
        "missing": policy.missing,
        "max_dropped_fraction": policy.max_dropped_fraction if policy.missing == "drop" else None,
        "dropped_are_removed": policy.dropped_are_removed,
        "severity": _SEVERITY[budget.severity],
        "meta": {OURS: {"budget": budget.name}},
        **_joined(policy),
    }
    kind = OF_BUDGET[budget.key]
    own = budget.expected(context)
    if not budget.about_values:
        yield kind(**common, **own)
        return
    about = {
        "missing_sensitive": policy.missing_sensitive,
        "max_dropped_fraction": policy.max_dropped_fraction,
    }
    sensitive: list[Any] = [str(name) for name in budget.sensitive or policy.roles.sensitive]
    for column in sensitive or [{"$PARAMETER": "sensitive"}]:
        yield kind(**{**common, **about, "sensitive": column, **own})


def _joined(policy: Policy) -> dict[str, Any]:
    """Let the columns of a batch that the policy does not name join every quasi-identifier."""
    if policy.unlisted != "quasi":
        return {}
    listed: Any = sorted(map(str, policy.listed))
    return {
        "unlisted": "quasi",
        "classified": {"$PARAMETER": "classified"} if is_open(policy) else listed,
    }
