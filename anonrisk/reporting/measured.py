"""All that a report rests on, counted in as few passes as possible."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell
from anonrisk.measures.counts.question import Question
from anonrisk.measures.risk import Risk, of_release
from anonrisk.measures.scores import FORMULAS, MEASURES
from anonrisk.policy import release_rules
from anonrisk.policy.budgets.max_suppressed import no_prediction
from anonrisk.policy.budgets.risk import against_others, sampling_said, with_weight
from anonrisk.policy.check import checked
from anonrisk.policy.coverage import ColumnCoverage, Coverage
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.examine import with_files
from anonrisk.policy.finding import FAIL
from anonrisk.policy.measure import context_of
from anonrisk.policy.release_rules import with_labels
from anonrisk.policy.trial import seconds_unasked
from anonrisk.policy.verdict import Verdict
from anonrisk.predict.population import PopulationEstimate
from anonrisk.predict.prediction import Prediction
from anonrisk.predict.sample_risk import of_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anonrisk.api.assess import Assessment
    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.evidence import Context, Evidence
    from anonrisk.policy.explain import Explanation
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.measure import CheckedTable, CountingEngine
    from anonrisk.policy.terms import Terms

# A page shows no more columns than somebody reads, and no more are counted for it.
MOST_COLUMNS = 40
# Groups that a prediction is shown for; larger ones take longer than measuring does.
_GROUPS = (10, 30, 100, 300, 1_000, 3_000, 10_000)


@dataclass(frozen=True)
class Measured:
    """What was measured of a table for a report; no cell is among it.

    Attributes
    ----------
    verdict : Verdict
        What the policy says, and what is known of the table.
    judged : bool
        Whether there is a policy; if not, only what the verdict knows of the table counts.
    sizes : ClassSizes or None
        The classes of the widest quasi-identifier; None where they could not be counted.
    without : mapping of name to ClassSizes
        The same with each of its columns left out.
    scores : mapping of (column, score) to number or Problem
        Every score of every sensitive column.
    risk : Risk or None
        By attacker.
    population : PopulationEstimate, Problem or None
        What can be said of the population; None where nobody has said how large it is.
    groups : tuple of Prediction
        What to expect of groups of several sizes.
    by : name or None
        The column whose groups the policy checks one by one; `sizes` is of all together.
    n_qids : int
        How many quasi-identifiers the policy has budgets for.
    passes : int
        How often the table was asked to be counted for all this.
    explanation : Explanation or None
        What was tried after a failure; None where nothing was.
    absent : tuple of names
        Columns that the policy counts, and the table does not have.
    explain_command : str or None
        The command that explains this verdict, where somebody sits at a command line.
    """

    verdict: Verdict
    judged: bool
    sizes: ClassSizes | None = None
    without: dict[Name, ClassSizes] = field(default_factory=dict)
    scores: dict[tuple[Name, str], float | Problem] = field(default_factory=dict)
    risk: Risk | None = None
    population: PopulationEstimate | Problem | None = None
    groups: tuple[Prediction, ...] = ()
    by: Name | None = None
    n_qids: int = 1
    passes: int = 0
    explanation: Explanation | None = None
    explain_command: str | None = None
    absent: Qid = ()


def measured(
    policy: Terms,
    frame: Any,
    *,
    judged: bool = True,
    name: str | None = None,
    files: Iterable[str] = (),
    storage: Iterable[Finding] | None = None,
    population: Any = None,
    population_size: int | None = None,
    group_size: int | None = None,
    n_original: int | None = None,
    typed: Callable[[Verdict], Any] | None = None,
) -> Measured:
    """Check a table, and ask of it what the check has not counted already.

    `typed` reads the table with the types that a plan is made for, where these are others.
    """
    tell("counting the classes and checking")
    verdict, counted = checked(
        policy,
        frame,
        name=name,
        population=population,
        n_original=n_original,
        every_score=True,
    )
    verdict = verdict.about(name, files)
    if storage is not None:
        verdict = with_files(verdict, storage)
    tried = _tried(verdict, frame, typed) if judged else None
    absent = release_rules.absent(policy, tuple(verdict.columns)) if verdict.columns else ()
    if counted is None or counted.table is None or counted.widest is None:
        return Measured(verdict, judged, explanation=tried, absent=absent)
    policy = with_labels(policy, counted.published.names)
    qid, table = counted.widest, counted.table
    engine = cast("CountingEngine", table.engine)
    evidence = counted.measured[qid]
    tell("counting the classes without each column")
    sizes, without = _sizes(policy, table, qid, evidence)
    document: dict[str, Any] = {
        "scores": {key: value for key, value in evidence.worst.items() if key[1] in FORMULAS},
        "by": policy.by,
        "n_qids": len(counted.measured),
        "explanation": tried,
        "absent": absent,
    }
    if sizes is None:
        return Measured(verdict, judged, passes=engine.passes, **document)
    context = context_of(policy, table.roles, population=population, n_original=n_original)
    # Where rare people are known to be gone, the page tells of nobody outside the table either.
    gone = no_prediction(evidence, context)
    tell("predicting groups and the population")
    risk = _risk(context, table, evidence, sizes, gone=gone is not None)
    return Measured(
        verdict,
        judged,
        sizes,
        without,
        risk=risk,
        population=gone or _population(policy, sizes, population_size),
        groups=() if gone else predictions(sizes, group_size),
        # Measuring against others asks an engine of its own, once.
        passes=engine.passes + (risk.basis in {"population", "weights"}),
        **document,
    )


def _tried(
    verdict: Verdict, frame: Any, typed: Callable[[Verdict], Any] | None
) -> Explanation | None:
    """Try what would help a table that failed, unless that takes long."""
    if verdict.status != FAIL:
        return None
    seconds = seconds_unasked(verdict, frame)
    table = frame if typed is None else typed(verdict)
    if seconds is None or table is None:
        return None
    tell("trying what would help")
    return verdict.explain(table, time_limit=seconds)


def _sizes(
    policy: Terms, table: CheckedTable, qid: Qid, evidence: Evidence
) -> tuple[ClassSizes | None, dict[Name, ClassSizes]]:
    """Return the classes of the whole table, and of each column left out: one pass."""
    groups = evidence.groups
    if not isinstance(groups, list) or not groups:
        return None, {}
    known = groups[0].sizes if policy.by is None else None
    if policy.by is None and known is None:
        return None, {}
    dropped = qid[:MOST_COLUMNS] if len(qid) > 1 else ()
    sets = [tuple(other for other in qid if other != name) for name in dropped]
    asked = [*([qid] if known is None else []), *sets]
    results: list[Any] | Problem = []
    if asked:
        question = Question(tuple(asked), unit=table.roles.unit, missing=policy.missing)
        results = attempt(lambda: table.engine.count(table.frame, question))
    if isinstance(results, Problem):
        return None if known is None else ClassSizes.of(known), {}
    whole = results.pop(0) if known is None else known
    without = {name: ClassSizes.of(item) for name, item in zip(dropped, results, strict=True)}
    return ClassSizes.of(whole), without


def _risk(
    context: Context, table: CheckedTable, evidence: Evidence, sizes: ClassSizes, *, gone: bool
) -> Risk:
    """Take what a budget has measured against a population, or measure it if there is one."""
    result = evidence.apart.get("risk")
    if result is None and (context.population is not None or context.weight is not None):
        result = attempt(lambda: against_others(table.frame, table.engine, sizes.qid, context))
    if isinstance(result, Risk):
        return with_weight(result, sizes)
    sampling = sampling_said(context)
    if sampling.known and not (gone and sampling.unsuppressed):
        result = attempt(lambda: of_sample(sizes, sampling))
    return result if isinstance(result, Risk) else of_release(sizes)


def _population(
    policy: Terms, sizes: ClassSizes, population_size: int | None
) -> PopulationEstimate | Problem | None:
    """Estimate the population of the size that the caller, a budget or the fraction says."""
    limits = [budget for rule in policy.rules for budget in rule.budgets]
    stated = [budget.parameters().get("population_size") for budget in limits]
    size = population_size or policy.population_size or next(filter(None, stated), None)
    if size is None and policy.sampling_fraction is not None:
        size = round(sizes.n_records / policy.sampling_fraction)
    if size is None:
        return None
    with warnings.catch_warnings():
        # What would be warned of is said on the page.
        warnings.simplefilter("ignore")
        return attempt(lambda: sizes.predict_population(size))


def predictions(sizes: ClassSizes, group_size: int | None = None) -> tuple[Prediction, ...]:
    """Predict groups of several sizes, up to the table itself; the one asked for must do."""
    usual = {size for size in _GROUPS if size < sizes.n_memberships} | {sizes.n_memberships}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = [] if group_size is None else [sizes.predict_singletons(group_size)]
        results = [attempt(lambda n=n: sizes.predict_singletons(n)) for n in usual - {group_size}]  # type: ignore[misc]
    known = [*asked, *(item for item in results if not isinstance(item, Problem))]
    return tuple(sorted(known, key=lambda item: item.group_size))


def of_results(
    assessment: Assessment, more: tuple[Any, ...], verdict: Verdict | None
) -> tuple[Measured, tuple[Any, ...]]:
    """Take what was measured elsewhere; results that have no place of their own are given back."""
    sizes = assessment.sizes
    scores: dict[tuple[Name, str], float | Problem] = {}
    for (measure, column), value in assessment.values.items():
        if column is not None:
            scores[column, getattr(value, "distance", MEASURES[measure].name)] = float(value)
    groups = [item for item in more if isinstance(item, Prediction)]
    populations = [item for item in more if isinstance(item, PopulationEstimate)]
    rest = tuple(item for item in more if item not in groups and item not in populations)
    known = _of_sizes(sizes, scores) if verdict is None else verdict
    by = verdict is not None and any(finding.group is not None for finding in verdict.findings)
    names = [name for name, role in known.columns.items() if role == "by"]
    made = Measured(
        known,
        verdict is not None,
        sizes,
        scores=scores,
        risk=sizes.risk(),
        population=populations[0] if populations else None,
        groups=tuple(groups) or predictions(sizes),
        by=(names or ["by"])[0] if by else None,
    )
    return made, (*rest, *populations[1:])


def _of_sizes(sizes: ClassSizes, scores: Iterable[tuple[Name, str]]) -> Verdict:
    """Return what is known of a table by its counts alone; nothing is decided."""
    roles: dict[Name, str] = {
        **dict.fromkeys(sizes.qid, "quasi"),
        **{column: "sensitive" for column, _ in scores},
        **({} if sizes.unit is None else {sizes.unit: "unit"}),
    }
    return Verdict(
        (),
        None,
        coverage=Coverage(
            columns=tuple(ColumnCoverage(name, role) for name, role in roles.items()),
            unit=sizes.unit,
        ),
        missing=sizes.missing,
        n_records=sizes.n_records,
        n_rows=sizes.n_rows,
        n_dropped=sizes.n_dropped,
    )
