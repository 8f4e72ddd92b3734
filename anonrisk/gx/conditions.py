"""Rows outside a row condition: whether expectations of one budget see all rows between them.

Nobody can count what several conditions see together from their results alone, unless no row is
in two of them: then their rows add up. So conditions count together only if it is certain from
their texts that they exclude each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any

from anonrisk.core.documents import canonical
from anonrisk.core.render import count_of
from anonrisk.gx.base import PrivacyExpectation
from anonrisk.gx.limits import budgets_of
from anonrisk.gx.result import OURS
from anonrisk.policy.coverage import RowCoverage
from anonrisk.policy.finding import Finding, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
        what = f"nobody can tell which rows are outside the row_condition of {name}"
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
        any(_apart(a, b) or _apart(b, a) for a in one for b in other)
        for one in _alternatives(first)
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


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a comparison excludes another; the same is asked the other way round."""
    if one.get("column") != other.get("column"):
        return False
    if "nullity" in (one.get("type"), other.get("type")):
        return bool(one.get("is_null")) and (
            other.get("is_null") is False or _sign(other) in _OF_VALUES
        )
    sign, values = _sign(one), _values(one)
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
