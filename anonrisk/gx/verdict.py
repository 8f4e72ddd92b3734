"""From the results of a validation to a `Verdict`: the findings of every expectation, once each."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any

from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import AnonRiskError
from anonrisk.gx.base import OURS, PrivacyExpectation
from anonrisk.gx.expectations import (
    EXPECTATIONS,
    ExpectColumnsNotToBeQuasiIdentifiers,
    ExpectColumnsToBePublishable,
)
from anonrisk.gx.suite import is_open, policy_of
from anonrisk.policy import Policy, Verdict, coverage, judge, release_rules
from anonrisk.policy.budgets import named as named_budget
from anonrisk.policy.coverage import Coverage, RowCoverage
from anonrisk.policy.finding import FAIL, LIMITS, Finding, unknown
from anonrisk.policy.release_rules import Published

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from great_expectations import ExpectationSuite

    from anonrisk.core.types import Unlisted
    from anonrisk.policy.budgets import Budget


def limits_of(result: Any, policy: Policy | None) -> list[Finding]:
    """Judge the limits of a policy, or of the expectations of a suite that was made by hand."""
    if policy is not None:
        return judge.unbroken_limits(policy)
    asked = [*_expectations(result)]
    if any(
        isinstance(expectation, ExpectColumnsNotToBeQuasiIdentifiers) and _decides(expectation)
        for expectation in asked
    ):
        # It takes no share that a table cannot exceed.
        return []
    budgets = [
        b
        for expectation in asked
        if isinstance(expectation, PrivacyExpectation)
        for b in budgets_of(expectation)
    ]
    about = [
        expectation
        for expectation in asked
        if isinstance(expectation, ExpectColumnsToBePublishable)
    ]
    if budgets or not asked:
        return judge.unbroken_budgets(budgets)
    if not any(expectation.direct or expectation.unlisted == "refuse" for expectation in about):
        return [unknown(LIMITS, "no table can fail what the suite asks: add a limit")]
    return []


def columns_alone(result: Any) -> list[Finding]:
    """Return what is told where nothing is wrong, and nothing but roles of columns was asked."""
    about = [
        expectation
        for expectation in _expectations(result)
        if isinstance(expectation, ExpectColumnsToBePublishable)
    ]
    return [judge.every_column_listed()] if about else []


def _expectations(result: Any) -> Iterator[Any]:
    """List our expectations as they were run, parameters filled in."""
    ours = (PrivacyExpectation, ExpectColumnsToBePublishable, ExpectColumnsNotToBeQuasiIdentifiers)
    for evaluation in result.results:
        try:
            made = evaluation.expectation_config.to_domain_obj()
        # What cannot be made has failed, and is told as a finding of its own.
        except Exception:  # noqa: BLE001, S112
            continue
        if isinstance(made, ours):
            yield made


def budgets_of(expectation: PrivacyExpectation) -> Iterator[Budget]:
    """Yield the budgets that an expectation stands for."""
    try:
        rules = expectation.policy_of(
            expectation.field_values(), expectation.finding_severity
        ).rules
    except (AnonRiskError, ValueError):
        return
    for rule in rules:
        yield from rule.budgets


def _decides(expectation: ExpectColumnsNotToBeQuasiIdentifiers) -> bool:
    return expectation.finding_severity == "fail"


# Nobody can count what several conditions see together from their results alone, unless no row is
# in two of them: then their rows add up. So conditions count together only if it is certain from
# their texts that they exclude each other.

_OUTSIDE = "outside every row_condition of {}"
# Comparisons that no missing value satisfies, on any engine.
_OF_VALUES = frozenset(("==", "<", "<=", ">", ">=", "IN"))


@dataclass(frozen=True)
class _Look:
    """One expectation about one budget: which rows it saw."""

    condition: Any
    severity: str
    rows: RowCoverage
    n_batch: int | None
    vacuous: bool = False


def rows_of(results: Iterable[Any], types: Iterable[str]) -> tuple[RowCoverage, list[Finding]]:
    """Return the rows that expectations judged, and a finding for rows that no condition keeps."""
    rows, findings = RowCoverage(), []
    for (name, *_), looks in _budgets(results, {*types}).items():
        # Where one expectation decides, others that only warn do not stand in for it.
        some = looks
        if any(look.condition is not None for look in looks):
            # Nor does a limit that no row can break.
            some = [look for look in looks if not look.vacuous] or looks
        deciding = [look for look in some if look.severity == "fail"] or some
        whole = [look for look in deciding if look.condition is None]
        if whole:
            for look in whole:
                rows = rows.merged(look.rows)
            continue
        seen = _added(deciding)
        n_batch = max((look.n_batch or 0 for look in deciding), default=0)
        n_outside = n_batch - (seen.n_rows or 0)
        apart = all(disjoint(a.condition, b.condition) for a, b in combinations(deciding, 2))
        rows = rows.merged(seen.outside(n_batch, _OUTSIDE.format(name)))
        if n_outside or not n_batch or not apart:
            findings.append(unknown("coverage", _why(name, n_outside, n_batch, apart=apart)))
    return rows, findings


def _why(name: str, n_outside: int, n_batch: int, *, apart: bool) -> str:
    if n_batch and n_outside > 0:
        n_rows = f"{n_outside:,} of {count_of(n_batch, 'row')}"
        what = f"{n_rows} are outside the row_condition of {name}, and no other sees them"
    elif n_batch and not apart:
        what = f"the row conditions of {name} may overlap, so that rows may be outside all of them"
    else:
        what = f"it cannot be decided which rows are outside the row_condition of {name}"
    return (
        f"{what}: add the same expectation without a row_condition, or others whose conditions "
        "exclude each other and keep every row between them"
    )


def _budgets(results: Iterable[Any], types: set[str]) -> dict[tuple[Any, ...], list[_Look]]:
    """Gather the expectations that ask the same of a batch, but for the limit and the rows."""
    asked: dict[tuple[Any, ...], list[_Look]] = {}
    for result in results:
        config = result.expectation_config
        if config is None or str(config.type) not in types:
            continue
        stored = (result.meta or {}).get(OURS) or {}
        kwargs = config.kwargs
        rows = RowCoverage.from_dict(stored["rows"]) if "rows" in stored else RowCoverage()
        vacuous = _vacuous(config) if "rows" in stored else set()
        about = [kwargs.get(key) for key in ("qids", "every_subset_of", "sensitive", "unit")]
        for finding in stored.get("findings") or [{}]:
            what = [finding.get("budget"), finding.get("parameters"), about]
            # What is said of columns and of rows left out is no budget that is asked for.
            if finding.get("budget") in _BESIDE:
                continue
            look = _Look(
                kwargs.get("row_condition"),
                finding.get("severity", "fail"),
                rows,
                stored.get("batch_rows"),
                finding.get("budget") in vacuous,
            )
            # Expectations about columns say nothing of rows; one is as good as another.
            key = canonical(_plain(what)) if rows.n_rows is not None else ""
            asked.setdefault((str(config.type), key), []).append(look)
    return asked


def _vacuous(config: Any) -> set[str]:
    """List the budgets of an expectation whose limits no table can break."""
    made = config.to_domain_obj()
    if not isinstance(made, PrivacyExpectation):
        return set()
    return {budget.name for budget in budgets_of(made) if budget.vacuous}


_BESIDE = frozenset(("max_dropped_fraction", "missing_sensitive"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def _added(looks: Sequence[_Look]) -> RowCoverage:
    """Add up the rows of conditions that exclude each other."""
    seen = [look.rows for look in looks if look.rows.n_rows is not None]
    apart = [part for rows in seen for part in rows.set_aside]
    n_rows = sum(rows.n_rows or 0 for rows in seen)
    return RowCoverage(n_rows, sum(rows.n_judged or 0 for rows in seen), tuple(apart))


# ---- which conditions exclude each other --------------------------------------------------------


def disjoint(first: Any, second: Any) -> bool:
    """Return whether it is certain that no row satisfies both of two conditions.

    Examples
    --------
    >>> from great_expectations.expectations.row_conditions import Column
    >>> disjoint(Column("age") < 40, Column("age") >= 40), disjoint(
    ...     Column("age") < 50, Column("age") >= 40
    ... )
    (True, False)
    """
    return all(
        any(_apart(a, b) or _apart(b, a) for a in branch for b in other)
        for branch in _alternatives(first)
        for other in _alternatives(second)
    )


def _alternatives(condition: Any) -> list[list[Mapping[str, Any]]]:
    """Write a condition as alternatives of comparisons that hold together."""
    stated = condition.dict() if hasattr(condition, "dict") else condition
    if not isinstance(stated, dict):
        # A text that another library reads: nobody here knows what it keeps.
        return [[]]
    parts = [_alternatives(part) for part in stated.get("conditions") or ()]
    if stated.get("type") == "or":
        return [branch for part in parts for branch in part]
    if stated.get("type") == "and":
        whole: list[list[Mapping[str, Any]]] = [[]]
        for part in parts:
            whole = [[*branch, *more] for branch in whole for more in part]
        return whole
    return [[stated]]


def _apart(comparison: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a comparison excludes another; the same is asked the other way round."""
    if comparison.get("column") != other.get("column"):
        return False
    if "nullity" in (comparison.get("type"), other.get("type")):
        return bool(comparison.get("is_null")) and (
            other.get("is_null") is False or _sign(other) in _OF_VALUES
        )
    sign, values = _sign(comparison), _values(comparison)
    against, limits = _sign(other), _values(other)
    if sign in ("==", "IN"):
        return all(_excluded(value, against, limits) for value in values)
    if sign not in ("<", "<=") or against not in (">", ">=") or not _numbers(*values, *limits):
        return False
    strict = sign == "<" or against == ">"
    return bool(values[0] <= limits[0] if strict else values[0] < limits[0])


def _excluded(value: Any, sign: str, limits: list[Any]) -> bool:
    """Return whether it is certain that a value does not satisfy a comparison."""
    if sign in ("==", "IN"):
        return all(_differ(value, limit) for limit in limits)
    if sign in ("!=", "NOT_IN"):
        return any(_same(value, limit) for limit in limits)
    # Texts have other orders elsewhere.
    return _numbers(value, *limits) and not {
        "<": value < limits[0],
        "<=": value <= limits[0],
        ">": value > limits[0],
        ">=": value >= limits[0],
    }.get(sign, True)


def _sign(condition: Mapping[str, Any]) -> str:
    sign = condition.get("operator")
    return str(getattr(sign, "value", sign))


def _values(condition: Mapping[str, Any]) -> list[Any]:
    value = condition.get("parameter")
    return list(value) if isinstance(value, (list, tuple, set)) else [value]


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, Real) and not isinstance(value, bool) for value in values)


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _differ(value: Any, other: Any) -> bool:
    """Return whether two values differ on every engine; some compare text without case."""
    if _numbers(value, other):
        return bool(value != other)
    texts = isinstance(value, str) and isinstance(other, str)
    return texts and value.casefold().strip() != other.casefold().strip()


_TYPES = {expectation.expectation_type for expectation in EXPECTATIONS}
_LEVELS = ("info", "warning", "critical")


def verdict_of(
    result: Any, suite: ExpectationSuite | None, reasons: Iterable[str], block_on: str
) -> Verdict:
    """Gather the verdict of one validated suite, and leave it in the meta of the result.

    `reasons` are what keeps it from passing beside the findings, as batches that were left out.
    """
    rows, outside = rows_of(result.results, _TYPES)
    findings = [*(unknown("table", reason) for reason in reasons), *outside]
    findings += [f for evaluation in result.results for f in findings_of(evaluation, block_on)]
    policy = _policy(suite)
    findings = [*(findings or columns_alone(result)), *limits_of(result, policy)]
    if not findings:
        findings = [unknown("table", "no expectation of the suite measures anything")]
    # What a condition keeps is not the table that is published: its row labels are others.
    first = sorted(result.results, key=_has_condition)
    lines = [(evaluation.meta or {}).get(OURS) or {} for evaluation in first]
    about: dict[str, Any] = {"policy_digest": None}
    if policy is not None:
        about |= {"policy_digest": policy.digest, "policy_name": policy.name}
    seen = next((line["published"] for line in lines if "published" in line), None)
    if seen is not None:
        named, looks = policy, None
        if named is None or is_open(named):
            named = _named(result, "ignore" if policy is None else policy.unlisted)
            looks = _looks(result)
        covered = coverage.of_table(named, Published.from_dict(seen), looks)
        about["coverage"] = replace(covered, rows=rows)
    counted = next((line for line in lines if line.get("size")), {})
    if "missing" in counted:
        about["missing"] = counted["missing"]
        # An open policy leaves it to the table who is a person.
        about["coverage"] = replace(about.get("coverage", Coverage()), unit=counted["unit"])
    about |= counted.get("size", {})
    about["engine"] = next((line["engine"] for line in lines if line.get("engine")), None)
    verdict = Verdict(release_rules.once(findings), fail_on=fail_on(block_on), **about)
    result.meta = {**(result.meta or {}), OURS: verdict.to_dict()}
    return verdict


def together(
    verdicts: Sequence[Verdict],
    reasons: Iterable[str],
    more: Iterable[Finding],
    block_on: str,
) -> Verdict:
    """Return the verdict over all suites of a run: that of the only one, or the findings of all."""
    added = tuple(more)
    if len(verdicts) == 1 and not added:
        return verdicts[0]
    findings = [*added, *(unknown("table", reason) for reason in reasons)]
    findings += [finding for verdict in verdicts for finding in verdict.findings]
    first = verdicts[0] if verdicts else Verdict((), None)
    return replace(first, findings=release_rules.once(findings), fail_on=fail_on(block_on))


def fail_on(block_on: str) -> str:
    """Return which severity of a finding decides, where a gate blocks on a level."""
    return "fail" if block_on == "critical" else "warn"


def findings_of(evaluation: Any, block_on: str) -> Iterator[Finding]:
    """Yield the findings of one result, also where Great Expectations could not evaluate it.

    Results below the level that blocks are left out, but for what could not be assessed.
    """
    config = evaluation.expectation_config
    name = "an expectation" if config is None else str(config.type)
    level = _level(config)
    stored = ((evaluation.meta or {}).get(OURS) or {}).get("findings")
    raised = _raised(evaluation.exception_info or {})
    if stored is not None:
        results = [Finding.from_dict(finding) for finding in stored]
    elif raised is not None:
        # The words of other expectations may quote a cell.
        why = raised if name in _TYPES else "it could not be evaluated"
        results = [unknown("table", f"{name}: {why}")]
    elif evaluation.success is not True:
        severity = "fail" if level == "critical" else "warn"
        results = [Finding(name, FAIL, severity, f"{name} failed.")]
    else:
        results = []
    below = _LEVELS.index(level) < _LEVELS.index(block_on) and block_on != "critical"
    yield from (f for f in results if not (below and f.status == FAIL and f.severity == "warn"))


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


def _has_condition(evaluation: Any) -> bool:
    config = evaluation.expectation_config
    return config is not None and config.kwargs.get("row_condition") is not None


def _looks(result: Any) -> Iterator[tuple[str, list[str]]]:
    """List the budgets of the expectations of a result, with the columns that each names."""
    for evaluation in result.results:
        fields = (
            {} if evaluation.expectation_config is None else evaluation.expectation_config.kwargs
        )
        columns = [*(fields.get("qids") or ()), *filter(None, [fields.get("sensitive")])]
        for finding in ((evaluation.meta or {}).get(OURS) or {}).get("findings") or ():
            if columns and named_budget(finding["budget"]) is not None:
                yield finding["budget"], columns


def _named(result: Any, unlisted: Unlisted) -> Policy:
    """Make a policy of the columns that the expectations of a result name, each in its role."""
    roles: dict[str, dict[str, None]] = {}
    for evaluation in result.results:
        fields = (
            {} if evaluation.expectation_config is None else evaluation.expectation_config.kwargs
        )
        for field, role in _ROLES.items():
            value = fields.get(field)
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
