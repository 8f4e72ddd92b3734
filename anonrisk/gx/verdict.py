"""From the results of a validation to a `Verdict`: the findings of every expectation, once each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.errors import AnonRiskError
from anonrisk.gx.conditions import rows_of
from anonrisk.gx.expectations import EXPECTATIONS
from anonrisk.gx.limits import columns_alone, limits_of
from anonrisk.gx.result import OURS
from anonrisk.gx.suite import is_open, policy_of
from anonrisk.policy import Policy, Verdict, coverage, release_rules
from anonrisk.policy.budgets import named as named_budget
from anonrisk.policy.coverage import Coverage
from anonrisk.policy.finding import FAIL, Finding, unknown
from anonrisk.policy.release_rules import Published

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from great_expectations import ExpectationSuite

    from anonrisk.core.literals import Unlisted

_TYPES = {one.expectation_type for one in EXPECTATIONS}
_LEVELS = ("info", "warning", "critical")


def verdict_of(
    result: Any, suite: ExpectationSuite | None, reasons: Iterable[str], block_on: str
) -> Verdict:
    """Gather the verdict of one validated suite, and leave it in the meta of the result.

    `reasons` are what keeps it from passing beside the findings, as batches that were left out.
    """
    rows, outside = rows_of(result.results, _TYPES)
    findings = [*(unknown("table", reason) for reason in reasons), *outside]
    findings += [f for one in result.results for f in findings_of(one, block_on)]
    policy = _policy(suite)
    findings = [*(findings or columns_alone(result)), *limits_of(result, policy)]
    if not findings:
        findings = [unknown("table", "no expectation of the suite measures anything")]
    # What a condition keeps is not the table that is published: its row labels are others.
    first = sorted(result.results, key=_has_condition)
    told = [(one.meta or {}).get(OURS) or {} for one in first]
    about: dict[str, Any] = {"policy_digest": None}
    if policy is not None:
        about |= {"policy_digest": policy.digest, "policy_name": policy.name}
    seen = next((one["published"] for one in told if "published" in one), None)
    if seen is not None:
        named, looks = policy, None
        if named is None or is_open(named):
            named = _named(result, "ignore" if policy is None else policy.unlisted)
            looks = _looks(result)
        covered = coverage.of_table(named, Published.from_dict(seen), looks)
        about["coverage"] = replace(covered, rows=rows)
    counted = next((one for one in told if one.get("size")), {})
    if "missing" in counted:
        about["missing"] = counted["missing"]
        # An open policy leaves it to the table who is a person.
        about["coverage"] = replace(about.get("coverage", Coverage()), unit=counted["unit"])
    about |= counted.get("size", {})
    about["engine"] = next((one["engine"] for one in told if one.get("engine")), None)
    verdict = Verdict(release_rules.once(findings), fail_on=fail_on(block_on), **about)
    result.meta = {**(result.meta or {}), OURS: verdict.to_dict()}
    return verdict


def together(
    verdicts: Sequence[Verdict],
    reasons: Iterable[str],
    more: Iterable[Finding],
    block_on: str,
) -> Verdict:
    """Give the verdict over all suites of a run: that of the only one, or the findings of all."""
    added = tuple(more)
    if len(verdicts) == 1 and not added:
        return verdicts[0]
    findings = [*added, *(unknown("table", reason) for reason in reasons)]
    findings += [finding for verdict in verdicts for finding in verdict.findings]
    first = verdicts[0] if verdicts else Verdict((), None)
    return replace(first, findings=release_rules.once(findings), fail_on=fail_on(block_on))


def fail_on(block_on: str) -> str:
    """Say which severity of a finding decides, where a gate blocks on a level."""
    return "fail" if block_on == "critical" else "warn"


def findings_of(one: Any, block_on: str) -> Iterator[Finding]:
    """Give the findings of one result, also where Great Expectations itself could not evaluate it.

    Results below the level that blocks are left out, but for what could not be assessed.
    """
    config = one.expectation_config
    name = "an expectation" if config is None else str(config.type)
    level = _level(config)
    stored = ((one.meta or {}).get(OURS) or {}).get("findings")
    raised = _raised(one.exception_info or {})
    if stored is not None:
        found = [Finding.from_dict(finding) for finding in stored]
    elif raised is not None:
        # The words of other expectations may quote a cell.
        why = raised if name in _TYPES else "it could not be evaluated"
        found = [unknown("table", f"{name}: {why}")]
    elif one.success is not True:
        severity = "fail" if level == "critical" else "warn"
        found = [Finding(name, FAIL, severity, f"{name} failed.")]
    else:
        found = []
    below = _LEVELS.index(level) < _LEVELS.index(block_on) and block_on != "critical"
    yield from (f for f in found if not (below and f.status == FAIL and f.severity == "warn"))


def _level(config: Any) -> str:
    severity = "critical" if config is None else str(getattr(config, "severity", "critical"))
    level = severity.rpartition(".")[2].casefold()
    return level if level in _LEVELS else "critical"


def _raised(info: Mapping[str, Any]) -> str | None:
    """Find what was raised: the information is flat, or has an entry for each metric."""
    entries = [info] if "raised_exception" in info else list(info.values())
    for entry in entries:
        if entry.get("raised_exception", True):
            return str(entry.get("exception_message") or "something was raised")
    return None


def _policy(suite: ExpectationSuite | None) -> Policy | None:
    try:
        return None if suite is None else policy_of(suite)
    except (AnonRiskError, ValueError, TypeError):
        return None


def _has_condition(one: Any) -> bool:
    config = one.expectation_config
    return config is not None and config.kwargs.get("row_condition") is not None


def _looks(result: Any) -> Iterator[tuple[str, list[str]]]:
    """List the budgets of the expectations of a result, with the columns that each names."""
    for one in result.results:
        given = {} if one.expectation_config is None else one.expectation_config.kwargs
        columns = [*(given.get("qids") or ()), *filter(None, [given.get("sensitive")])]
        for finding in ((one.meta or {}).get(OURS) or {}).get("findings") or ():
            if columns and named_budget(finding["budget"]) is not None:
                yield finding["budget"], columns


def _named(result: Any, unlisted: Unlisted) -> Policy:
    """Make a policy of the columns that the expectations of a result name, each in its role."""
    roles: dict[str, dict[str, None]] = {}
    for one in result.results:
        given = {} if one.expectation_config is None else one.expectation_config.kwargs
        for field, role in _ROLES.items():
            value = given.get(field)
            names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
            roles.setdefault(role, {}).update(dict.fromkeys(map(str, names)))
    kept: dict[str, list[str]] = {}
    for role in ("direct", "quasi", "sensitive", "unit", "insensitive"):
        taken = {name for names in kept.values() for name in names}
        kept[role] = [name for name in roles.get(role, {}) if name not in taken]
    # Expectations may count by different units; a policy has one.
    units = kept.pop("unit")
    kept["insensitive"] += units[1:]
    return Policy(
        roles={
            **{role: names for role, names in kept.items() if names},
            "unit": next(iter(units), None),
        },
        unlisted=unlisted,
        k=1,
    )


_ROLES = {
    "direct": "direct",
    "qids": "quasi",
    "sensitive": "sensitive",
    "unit": "unit",
    "classified": "insensitive",
    "columns": "insensitive",
    "declared": "insensitive",
}
