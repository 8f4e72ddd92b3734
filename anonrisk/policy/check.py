"""`Policy.check`: a table, measured once, against everything that a policy asks."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import text_or_none, whole_number
from anonrisk.core.render import count_of, kind_name
from anonrisk.engines import engine_for, refuse_path
from anonrisk.engines.one_state import one_state
from anonrisk.errors import ArgumentError
from anonrisk.policy import coverage, judge, release_rules
from anonrisk.policy.coverage import Coverage, RowCoverage
from anonrisk.policy.evidence import Origin, Problem, attempt
from anonrisk.policy.examine import examined, of_storage
from anonrisk.policy.finding import Finding, unknown
from anonrisk.policy.judge import Judge, worst
from anonrisk.policy.measure import Counted, context_of, count, is_empty, published_by
from anonrisk.policy.release_rules import with_labels
from anonrisk.policy.trial import Gate
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.columns import Qid
    from anonrisk.planning.plan import Plan
    from anonrisk.policy.evidence import Evidence
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Rule, Terms


def check(
    policy: Terms,
    frame: Any,
    *,
    name: str | None = None,
    population: Any = None,
    n_original: int | None = None,
    plan: Plan | None = None,
    original: Any = None,
) -> Verdict:
    """Measure a table and compare it with the budgets; see `Policy.check`."""
    beside = {"population": population, "n_original": n_original}
    return checked(policy, frame, name=name, plan=plan, original=original, **beside)[0]


def checked(
    policy: Terms,
    frame: Any,
    *,
    name: str | None = None,
    population: Any = None,
    n_original: int | None = None,
    plan: Plan | None = None,
    original: Any = None,
    every_score: bool = False,
    counted_by: Callable[..., Counted] = count,
) -> tuple[Verdict, Counted | None]:
    """Return the verdict with the counts that it rests on, where there are any; see `count`.

    What is `counted_by` another function is the columns of this table and the counts of a larger
    one.
    """
    # What goes wrong with a table is a finding; a path in place of one is a wrong call.
    refuse_path(frame)
    refuse_path(population)
    if n_original is not None:
        n_original = whole_number(n_original, "n_original", at_least=1)
    text_or_none(name, "name")
    origin = _origin(plan, original, frame)
    made = Verdict(
        findings=(),
        policy_digest=policy.digest,
        policy_name=policy.name,
        table=name,
        missing=policy.missing,
        coverage=Coverage(unit=policy.roles.unit),
        _source=Gate(policy, frame, population, n_original, check, origin),
    )
    with ExitStack() as state:
        opened = attempt(lambda: _opened(policy, frame, state))
        if isinstance(opened, Problem):
            return replace(made, findings=(unknown("table", opened.message),)), None
        policy, published = opened
        counting = partial(counted_by, policy, frame, population, published)
        if every_score:
            counting = partial(counting, every_score=True)
        said = {"n_original": n_original, "origin": origin}
        return _against(policy, frame, counting, published, made, said)


def _origin(plan: Plan | None, original: Any, released: Any) -> Origin | None:
    """Return how a table was made; what is half said is a wrong call."""
    if plan is None and original is None:
        return None
    if plan is None or original is None:
        passed, lacks = ("plan", "original") if original is None else ("original", "plan")
        raise ArgumentError(
            f"check takes {passed}= together with {lacks}=: the plan that the table was made by, "
            "and the table that it was made from"
        )
    from anonrisk.planning.plan import Plan

    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan= takes a plan made by anonrisk.plan, not {kind_name(plan)}")
    refuse_path(original)
    return Origin(plan, original, released)


def _opened(policy: Terms, frame: Any, state: ExitStack) -> tuple[Terms, Published]:
    """See one state of the table from here on, what it publishes, and the policy in its words."""
    state.enter_context(one_state(frame, "check"))
    published = published_by(frame)
    return with_labels(policy, published.names), published


def _against(  # noqa: PLR0917
    policy: Terms,
    frame: Any,
    counting: Callable[[], Counted],
    published: Published,
    made: Verdict,
    said: dict[str, Any],
) -> tuple[Verdict, Counted | None]:
    """Count what a table publishes, and put what follows into a verdict."""
    covered = coverage.of_table(policy, published)
    storage = of_storage(lambda: engine_for(frame).schema(frame).stored())
    made = replace(made, storage=storage, coverage=covered)
    counted = attempt(counting)
    # Last, when the columns are encoded.
    contents = examined(
        policy, frame, published, judged_alone(policy, published), n_rows=_n_rows(counted)
    )
    findings = release_rules.of_columns(policy, published, contents)
    if isinstance(counted, Problem):
        findings.append(unknown("table", counted.message))
    else:
        findings += of_counts(policy, counted, **said)
    if (isinstance(counted, Problem) or not counted.has_rows) and is_empty(frame):
        findings.append(release_rules.no_records())
    if not findings and not policy.rules:
        findings.append(judge.every_column_listed())
    findings += judge.unbroken_limits(policy)
    if release_rules.absent(policy, published.names):
        # The cause comes first: a column that was renamed has no role, because its role is gone.
        findings.sort(key=lambda finding: finding.budget == "unlisted")
    made = replace(made, findings=release_rules.once(findings))
    if isinstance(counted, Problem):
        return made, None
    covered = replace(covered, rows=RowCoverage.of(counted.measured), unit=counted.roles.unit)
    known = {"engine": counted.engine, "coverage": covered, **size_of(counted)}
    return replace(made, **known), counted


def _n_rows(counted: Counted | Problem) -> int | None:
    """Return how many rows there are, left out ones among them, where that is known."""
    size = {} if isinstance(counted, Problem) else size_of(counted)
    return size["n_rows"] + size["n_dropped"] if "n_rows" in size else None


def judged_alone(policy: Terms, published: Published) -> Callable[[Any], list[Finding]]:
    """Return what judges the budgets of a policy about a table that is published like another."""
    return lambda frame: of_counts(policy, count(policy, frame, published=published))


def of_counts(policy: Terms, counted: Counted, **said: Any) -> list[Finding]:
    """Judge what was counted for a policy: its budgets, and the rows that none of them has seen.

    What else is `said` of the table is in its `Context`.
    """
    policy = with_labels(policy, counted.published.names)
    findings: list[Finding] = []
    for rule, qids in zip(policy.rules, counted.qids, strict=True):
        if isinstance(qids, Problem):
            findings.append(unknown("table", qids.message))
        else:
            measured = {qid: counted.measured[qid] for qid in qids}
            findings += _judged(policy, counted, rule, measured, said)
    return [*findings, *release_rules.of_rows(policy, counted.measured)]


def _judged(
    policy: Terms,
    counted: Counted,
    rule: Rule,
    measured: dict[Qid, Evidence],
    said: dict[str, Any],
) -> list[Finding]:
    """Compare each budget of a rule; of every subset, the worst is told."""
    context = context_of(policy, counted.roles, **said)
    judges = [Judge(qid, result, context) for qid, result in measured.items()]
    findings: list[Finding] = []
    for budget in rule.budgets:
        each = [finding for judge in judges for finding in judge.findings(budget)]
        findings += each if rule.every_subset_of is None else _of_subsets(each, len(judges))
    return findings


def _of_subsets(findings: list[Finding], n_subsets: int) -> list[Finding]:
    """Keep the worst subset for each sensitive column and group."""
    kinds: dict[tuple[Any, Any], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.sensitive, finding.group), []).append(finding)
    lines = []
    for kind in kinds.values():
        bad = sum(not finding.passed for finding in kind)
        item = worst(kind)
        every = f" (The worst of {count_of(n_subsets, 'subset')}; {bad:,} of them do not pass.)"
        lines.append(replace(item, sentence=item.sentence + every))
    return lines


def size_of(counted: Counted) -> dict[str, Any]:
    """How large the table is, by the first quasi-identifier that was counted."""
    for result in counted.measured.values():
        if isinstance(result.groups, list):
            sizes = [group.sizes for group in result.groups if group.sizes is not None]
            # A person may be in several groups, so that their sum is of no use.
            known = {"n_records": sizes[0].n_records} if len(sizes) == 1 else {}
            return {**known, "n_rows": result.n_rows, "n_dropped": result.n_dropped}
    return {}
