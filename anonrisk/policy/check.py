"""`Policy.check`: a table, measured once, against everything that a policy asks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk import column_roles
from anonrisk.arguments import whole_number
from anonrisk.columns import nearest
from anonrisk.policy.judge import Judge, unknown, within, worst
from anonrisk.policy.measure import Measured, Problem, Table, attempt, measure, without_roles
from anonrisk.policy.rules import check_subsets
from anonrisk.policy.verdict import COULD_NOT_ASSESS, FAIL, PASS, Finding, Verdict
from anonrisk.policy.words import percent
from anonrisk.render import count_of, joined, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.columns import Name, Qid
    from anonrisk.engines.base import Group
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.rules import Rule

# Findings for which nothing is measured.
_OF_COLUMNS = ("direct", "strict", "max_dropped_fraction", "missing_sensitive")
UNNAMED = (
    "The index has labels, which are published too, and no name: drop it with "
    "reset_index(drop=True), or name it and give it a role."
)


def check(
    policy: Policy, frame: Any, *, population: Any = None, n_original: int | None = None
) -> Verdict:
    """Measure a table and compare it with the budgets; see `Policy.check`."""
    if n_original is not None:
        n_original = whole_number(n_original, "n_original", at_least=1)
    made = Verdict(
        findings=(),
        policy_digest=policy.digest,
        policy_name=policy.name,
        missing=policy.missing,
        unit=policy.roles.unit,
        _source=(policy, frame, population),
    )
    table = attempt(lambda: Table.of(policy, frame))
    if isinstance(table, Problem):
        return replace(made, findings=(unknown("table", table),))
    made = replace(made, engine=table.engine.name, unit=table.roles.unit)
    findings = [*_direct(policy, table), *_strict(policy, table)]
    rules, refused = _expanded(policy, table)
    wanted: dict[Qid, list[Budget]] = {}
    for rule, qids in rules:
        for qid in qids:
            wanted.setdefault(qid, []).extend(rule.budgets)
    measured = measure(table, policy, wanted, population)
    findings += [unknown("table", problem) for problem in refused]
    for rule, qids in rules:
        findings += _judged(policy, table, rule, {q: measured[q] for q in qids}, n_original)
    findings += _dropped(policy, measured)
    findings += _left_out(policy, measured)
    findings += _unassessed(findings)
    return replace(made, findings=tuple(findings), **_size(measured))


def _expanded(policy: Policy, table: Table) -> tuple[list[tuple[Rule, list[Qid]]], list[Problem]]:
    """List the quasi-identifiers of each rule; those that the table declares are known only now."""
    rules: list[tuple[Rule, list[Qid]]] = []
    refused: list[Problem] = []
    whole = table.roles.whole
    for i, rule in enumerate(policy.rules):
        if rule.columns is None and not table.roles.quasi:
            refused.append(without_roles())
            continue
        checked = attempt(lambda rule=rule, i=i: check_subsets(rule, whole, f"rule {i + 1}"))  # type: ignore[misc]
        if isinstance(checked, Problem):
            refused.append(checked)
        else:
            rules.append((rule, list(rule.qids(whole))))
    return rules, refused


def _direct(policy: Policy, table: Table) -> list[Finding]:
    """Fail for every direct identifier that is still in the table, in its index, or renamed."""
    named = dict.fromkeys((*table.roles.direct, *table.declared.direct))
    there = [name for name in named if table.published(name)]
    if not named:
        return []
    if there:
        columns = ", ".join(map(repr, there))
        return [
            Finding(
                "direct",
                FAIL,
                "fail",
                f"The table still has direct identifiers: {columns}. Remove them.",
                value=len(there),
                limit=0,
                margin=-len(there),
            )
        ]
    known = _known(policy, table)
    renamed = column_roles.renamed_direct(table.declared, table.columns, table.index, known)
    doubt = renamed or _behind_white_space(table, named)
    if doubt:
        return [unknown("direct", Problem(doubt))]
    told = "No direct identifier is left in the table."
    return [Finding("direct", PASS, "fail", told, value=0, limit=0, margin=0)]


def _behind_white_space(table: Table, direct: Iterable[Name]) -> str | None:
    """Find a direct identifier whose name in the table has white space around it."""
    stripped = {str(name).strip(): name for name in (*table.columns, *table.index)}
    for name in direct:
        if name in stripped:
            return (
                f"direct identifier {name!r} is not a column, but {stripped[name]!r} is: it "
                "differs by white space alone; write the name as the table does, or remove the "
                "column"
            )
    return None


def _strict(policy: Policy, table: Table) -> list[Finding]:
    """Fail for every column or index without a role, where the policy is strict."""
    if not policy.strict:
        return []
    known = _known(policy, table)
    names = [*table.columns, *(name for name in table.index if name is not None)]
    without = [name for name in names if name not in known]
    told = "Every column has a role."
    if without:
        gone = [name for name in known if not table.published(name)]
        more = f" (nor have {len(without) - 1} more)" if len(without) > 1 else ""
        told = f"Column {without[0]!r} has no role{more}{nearest(without[0], gone) or '.'}"
    n = len(without)
    if table.engine.unnamed_labels(table.frame):
        n += 1
        told = f"{told} {UNNAMED}" if without else UNNAMED
    status = FAIL if n else PASS
    return [Finding("strict", status, "fail", told, value=n, limit=0, margin=-n)]


def _known(policy: Policy, table: Table) -> set[Name]:
    """List the columns that have a role, in the policy or in the table."""
    listed = {column for rule in policy.rules for column in rule.columns or ()}
    by = set() if policy.by is None else {policy.by}
    return {*table.roles.classified, *listed, *table.declared.classified, *by}


def _judged(
    policy: Policy,
    table: Table,
    rule: Rule,
    measured: dict[Qid, Measured],
    n_original: int | None,
) -> list[Finding]:
    """Compare each budget of a rule; of every subset, the worst is told."""
    judges = [
        Judge(
            qid,
            found,
            sensitive=table.roles.sensitive,
            sampling_fraction=policy.sampling_fraction,
            n_original=n_original,
            dropped_are_removed=policy.dropped_are_removed,
            has_marker=policy.suppressed is not None,
            grouped=policy.by is not None,
        )
        for qid, found in measured.items()
    ]
    findings: list[Finding] = []
    for budget in rule.budgets:
        each = [finding for judge in judges for finding in judge.findings(budget)]
        findings += each if rule.every_subset_of is None else _of_subsets(each, len(judges))
    # Budgets that only warn must not hide that nothing could be measured.
    for judge in judges:
        groups = judge.measured.groups
        if isinstance(groups, Problem) and all(b.severity == "warn" for b in rule.budgets):
            findings.append(unknown("table", groups, qid=judge.qid))
    lost = {
        column: found
        for budget in rule.budgets
        if budget.about_values and budget.severity == "warn"
        for column in budget.sensitive or table.roles.sensitive
        if isinstance(found := _there(table, column), Problem)
    }
    return [*findings, *(unknown("table", why, sensitive=name) for name, why in lost.items())]


def _there(table: Table, column: Name) -> Problem | None:
    return attempt(lambda: table.require_columns([column], "sensitive column"))


def _unassessed(findings: list[Finding]) -> list[Finding]:
    """Block a table of which no budget told anything: warnings alone would let it through."""
    told = [finding for finding in findings if finding.budget not in _OF_COLUMNS]
    if any(finding.status != COULD_NOT_ASSESS for finding in told):
        return []
    if any(finding.severity == "fail" for finding in told):
        return []
    return [unknown("table", Problem("no budget could be assessed"))]


def _of_subsets(findings: list[Finding], n_subsets: int) -> list[Finding]:
    """Keep the worst subset for each sensitive column and group."""
    kinds: dict[tuple[Any, Any], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.sensitive, finding.group), []).append(finding)
    told = []
    for kind in kinds.values():
        bad = sum(not finding.passed for finding in kind)
        one = worst(kind)
        every = f" (The worst of {count_of(n_subsets, 'subset')}; {bad:,} of them do not pass.)"
        told.append(replace(one, sentence=one.sentence + every))
    return told


def _dropped(policy: Policy, measured: dict[Qid, Measured]) -> list[Finding]:
    """Judge the rows that were left out for a missing quasi-identifier."""
    limit = policy.max_dropped_fraction
    if limit is None or policy.missing != "drop":
        return []
    findings = []
    for qid, found in measured.items():
        if not isinstance(found.groups, list):
            continue
        n_dropped, n_rows = _rows(found.groups)
        share = n_dropped / max(n_dropped + n_rows, 1)
        of = joined(qid)
        told = (
            f"{count_of(n_dropped, 'row')} ({percent(share)}) left out for a missing value of "
            f"{of}; at most {percent(limit)} may be."
        )
        status = PASS if within(share, limit, at_least=False) else FAIL
        if n_dropped and status == PASS and not policy.dropped_are_removed:
            status = COULD_NOT_ASSESS
            told += (
                " They would be published unmeasured: remove them and say so with "
                "dropped_are_removed: true, or count them with missing: value."
            )
        findings.append(_of_share("max_dropped_fraction", status, told, share, limit, qid=qid))
    return findings


def _left_out(policy: Policy, measured: dict[Qid, Measured]) -> list[Finding]:
    """Judge the rows that no budget on a sensitive column has seen."""
    limit = policy.max_dropped_fraction
    findings = []
    for qid, found in measured.items():
        if not isinstance(found.groups, list):
            continue
        _, n_rows = _rows(found.groups)
        for column, n_scored in found.n_scored.items():
            if n_rows <= n_scored:
                continue
            share = (n_rows - n_scored) / n_rows
            name = shown(column)
            why = name if policy.by is None else f"{name} or {shown(policy.by)}"
            told = (
                f"{count_of(n_rows - n_scored, 'row')} ({percent(share)}) left out of the measures "
                f"of {name} for a missing value of {why} (missing_sensitive: drop)"
            )
            about: dict[str, Any] = {"qid": qid, "sensitive": column}
            if limit is None:
                problem = Problem(f"{told}; say with max_dropped_fraction how many may be")
                findings.append(unknown("missing_sensitive", problem, **about))
                continue
            status = PASS if within(share, limit, at_least=False) else FAIL
            told += f"; at most {percent(limit)} may be."
            findings.append(_of_share("missing_sensitive", status, told, share, limit, **about))
    return findings


def _of_share(
    budget: str, status: str, told: str, share: float, limit: float, **about: Any
) -> Finding:
    """Make a finding about a share of the rows that must not exceed a limit."""
    margin = limit - share
    return Finding(budget, status, "fail", told, value=share, limit=limit, margin=margin, **about)


def _rows(groups: list[Group]) -> tuple[int, int]:
    n_rows = sum(group.sizes.n_rows for group in groups if group.sizes is not None)
    return sum(group.n_dropped for group in groups), n_rows


def _size(measured: dict[Qid, Measured]) -> dict[str, Any]:
    """How large the table is, by the first quasi-identifier that was counted."""
    for found in measured.values():
        if isinstance(found.groups, list):
            n_dropped, n_rows = _rows(found.groups)
            sizes = [group.sizes for group in found.groups if group.sizes is not None]
            # A person may be in several groups, so that their sum is of no use.
            known = {"n_records": sizes[0].n_records} if len(sizes) == 1 else {}
            return {**known, "n_rows": n_rows, "n_dropped": n_dropped}
    return {}
