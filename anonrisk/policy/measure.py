"""From a policy's rules to counts of a table, in as few passes as possible."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

from anonrisk.api.question import question_of
from anonrisk.api.sensitive import with_distance
from anonrisk.core import column_roles
from anonrisk.core.column_roles import Roles
from anonrisk.core.columns import check_missing, require
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.engines import engine_for
from anonrisk.errors import (
    MissingSensitiveError,
    MissingValuesError,
    RepeatedColumnError,
    RoleConflictError,
    RolesLostError,
    RolesNotGivenError,
    UnsupportedColumnError,
)
from anonrisk.measures.counts.change import LabelsAsColumns
from anonrisk.measures.counts.question import ByGroup, Group, Question, Score, Scored, Sensitive
from anonrisk.measures.scores import MEASURES
from anonrisk.policy import release_rules
from anonrisk.policy.budgets.base import SensitiveBudget
from anonrisk.policy.evidence import Context, Evidence, Problem, apart, attempt
from anonrisk.policy.release_rules import ROW_LABELS, Published, with_labels
from anonrisk.policy.terms import check_subsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.release_rules import TermsT
    from anonrisk.policy.terms import PolicyRoles, Rule, Terms


class CountingEngine:
    """An engine that keeps count of the passes it was asked for."""

    _PASSES = ("count", "score", "match")

    def __init__(self, engine: Engine) -> None:
        """Take an engine whose passes are counted from now on."""
        self._engine, self.passes = engine, 0

    def __getattr__(self, name: str) -> Any:
        """Return what the engine has, and count where that is a pass."""
        self.passes += name in self._PASSES
        return getattr(self._engine, name)


@dataclass(frozen=True)
class CheckedTable:
    """A user's table, what it publishes, and the roles that its columns have under a policy.

    `joined` are the columns without a role that a policy adds to every quasi-identifier.
    """

    frame: Any
    engine: Engine
    published: Published
    roles: PolicyRoles
    joined: Qid = ()

    @classmethod
    def of(cls, policy: Terms, frame: Any, published: Published | None = None) -> CheckedTable:
        """Find the engine, and take from the table what the policy does not say."""
        engine = engine_for(frame)
        engine.schema(frame).check({})
        published = published or published_by(frame)
        policy = with_labels(policy, published.names)
        columns, index, declared = _seen(published)
        roles = policy.roles
        if not roles.quasi and any(rule.columns is None for rule in policy.rules):
            current = column_roles.current(declared, columns, index)
            roles = replace(roles, quasi=current.quasi)
        if not roles.sensitive:
            # One that was dropped is no matter; where something is new it may have been renamed.
            new = column_roles.new_since_declared(declared, columns, index) is not None
            left = tuple(name for name in declared.sensitive if new or name in published.names)
            roles = replace(roles, sensitive=left)
        if roles.unit is None:
            roles = replace(roles, unit=column_roles.unit_of(declared, columns))
        if policy.unlisted != "quasi":
            return cls(frame, engine, published, roles)
        return cls._joining(policy, frame, published, roles)

    @classmethod
    def _joining(
        cls, policy: Terms, frame: Any, published: Published, roles: PolicyRoles
    ) -> CheckedTable:
        """Let the columns that nobody named join every quasi-identifier, labels of rows too."""
        engine = engine_for(frame)
        loose = release_rules.unlisted(policy, published)
        measured = published
        if published.labels == release_rules.UNNAMED or {*loose} - {*published.columns}:
            frame = engine.rewrite(frame, LabelsAsColumns(ROW_LABELS))
            measured = replace(published, columns=engine.schema(frame).columns, index=())
            loose = release_rules.unlisted(policy, measured)
        joined = tuple(name for name in loose if name != roles.unit)
        roles = replace(roles, quasi=(*roles.quasi, *joined))
        return cls(frame, engine, measured, roles, joined)

    @property
    def columns(self) -> Sequence[Name]:
        """The columns of the table, repeated ones as often as they occur."""
        return self.published.columns

    def require_columns(self, names: Sequence[Name], role: str) -> None:
        """Reject columns that are not there, are in the index, or were changed at random."""
        for name in names:
            if name not in self.published.index:
                continue
            if name in self.columns:
                raise RepeatedColumnError(
                    f"{role} {name!r} is a column and in the index too, where it is not measured; "
                    "leave the index out with reset_index(drop=True)"
                )
            raise RolesLostError(
                f"{role} {name!r} is in the index, where it is not measured; "
                "bring it back with reset_index()"
            )
        require(names, role, self.columns)
        # Engines that have random steps remember which columns they have changed.
        changed = self.engine.schema(self.frame).perturbed
        for name in names:
            if name in changed:
                raise UnsupportedColumnError(
                    f"{role} {name!r} was changed at random ({changed[name]}), so that classes of "
                    "equal cells no longer measure the risk"
                )


def published_by(frame: Any) -> Published:
    """Ask a table's engine what it publishes; no cell is looked at."""
    schema = engine_for(frame).schema(frame)
    named = tuple(name for name in schema.index if name is not None)
    return Published(
        columns=schema.columns,
        index=named,
        nested=tuple(schema.nested()),
        labels=schema.row_labels,
        declared=schema.roles or Roles(),
    )


def policy_for(policy: TermsT, frame: Any) -> TermsT:
    """Return the policy in the words of a table; see `with_labels`."""
    return with_labels(policy, published_by(frame).names)


def is_empty(frame: Any) -> bool:
    """Return whether a table has no row at all; one that cannot be asked has other faults."""
    return attempt(lambda: engine_for(frame).schema(frame).has_rows()) is False


def _seen(published: Published) -> tuple[Qid, Qid, Roles]:
    return published.columns, published.index_as_declared, published.declared


def without_roles() -> Problem:
    """Return both ways to name quasi-identifiers."""
    error = RolesNotGivenError(
        "no quasi-identifiers: name them in the policy (roles: {quasi: [zip, age]}), or once for "
        "the table, as in df = df.anon.declare(quasi=['zip', 'age'])"
    )
    return Problem(str(error))


@dataclass(frozen=True)
class Counted:
    """A table, counted for all that a policy asks; what is left is arithmetic."""

    published: Published
    roles: PolicyRoles
    engine: str
    # For each rule of the policy its quasi-identifiers, or why there are none.
    qids: tuple[list[Qid] | Problem, ...]
    measured: dict[Qid, Evidence]
    # The table itself, only for a report, which has more to ask of it: counts that are kept or
    # printed hold no cell.
    table: CheckedTable | None = field(default=None, repr=False, compare=False)

    @property
    def widest(self) -> Qid | None:
        """The quasi-identifier of most columns, of several the first."""
        return max(self.measured, key=len, default=None)

    @property
    def has_rows(self) -> bool:
        """Whether a row was seen while counting; where none was, there may be one all the same."""
        return any(result.n_rows or result.n_dropped for result in self.measured.values())


def count(
    policy: Terms,
    frame: Any,
    population: Any = None,
    published: Published | None = None,
    *,
    every_score: bool = False,
) -> Counted:
    """Count a table once for every rule of a policy.

    With `every_score` the passes over sensitive columns of the widest quasi-identifier take all
    scores, whatever the budgets, and there is one for each such column; the engine then keeps
    count of its passes.
    """
    published = published or published_by(frame)
    policy = with_labels(policy, published.names)
    table = CheckedTable.of(policy, frame, published)
    if every_score:
        table = replace(table, engine=cast("Engine", CountingEngine(table.engine)))
    qids, wanted = asked_by(policy, table)
    scored = max(wanted, key=len, default=None) if every_score else None
    measured = measure(table, policy, wanted, population, every_score_of=scored)
    kept = table if every_score else None
    return Counted(table.published, table.roles, table.engine.name, qids, measured, kept)


def asked_by(
    policy: Terms, table: CheckedTable
) -> tuple[tuple[list[Qid] | Problem, ...], dict[Qid, list[Budget]]]:
    """List the quasi-identifiers of each rule, and every budget of each quasi-identifier."""
    qids = tuple(expanded(table, rule, i) for i, rule in enumerate(policy.rules))
    wanted: dict[Qid, list[Budget]] = {}
    for rule, sets in zip(policy.rules, qids, strict=True):
        for qid in [] if isinstance(sets, Problem) else sets:
            wanted.setdefault(qid, []).extend(rule.budgets)
    return qids, wanted


def context_of(policy: Terms, roles: PolicyRoles, **value: Any) -> Context:
    """Gather what is said beside the counts: by the policy, and in the call of a check."""
    return Context(
        sensitive=roles.sensitive,
        unit=roles.unit,
        weight=roles.weight,
        by=policy.by,
        missing=policy.missing,
        suppressed=policy.suppressed,
        sampling_fraction=policy.sampling_fraction,
        population_size=policy.population_size,
        unsuppressed=policy.unsuppressed,
        dropped_are_removed=policy.dropped_are_removed,
        **value,
    )


def expanded(table: CheckedTable, rule: Rule, i: int) -> list[Qid] | Problem:
    """List the quasi-identifiers of a rule; those that the table declares are known only now."""
    if rule.columns is None and not table.roles.quasi:
        return without_roles()
    whole = table.roles.whole
    if rule.columns is not None and table.joined:
        more = [name for name in table.joined if name not in rule.columns]
        rule = replace(rule, columns=(*rule.columns, *more))
    checked = attempt(lambda: check_subsets(rule, whole, f"rule {i + 1}"))
    return checked if isinstance(checked, Problem) else list(rule.qids(whole))


def measure(
    table: CheckedTable,
    policy: Terms,
    wanted: dict[Qid, list[Budget]],
    population: Any,
    *,
    every_score_of: Qid | None = None,
) -> dict[Qid, Evidence]:
    """Measure each quasi-identifier once, whatever its number of budgets."""
    questions = _questions(table, policy, list(wanted))
    results: dict[Qid, Evidence] = {}
    for qid, budgets in wanted.items():
        question = questions[qid]
        results[qid] = Evidence()
        if isinstance(question, Problem):
            results[qid].groups = question
            continue
        by_value = [budget for budget in budgets if isinstance(budget, SensitiveBudget)]
        every = qid == every_score_of
        if by_value or every:
            _Values(table, policy, question, every_score=every).measure(by_value, results[qid])
    _count(table, policy, questions, results)
    context = context_of(policy, table.roles, population=population)
    for qid, budgets in wanted.items():
        _measure_apart(table, qid, budgets, context, results[qid])
    return results


def _questions(
    table: CheckedTable, policy: Terms, qids: list[Qid]
) -> dict[Qid, Question | Problem]:
    """Check every name and type; one bad quasi-identifier does not spoil the others."""

    def asked(sets: list[Qid]) -> Question:
        columns = tuple(dict.fromkeys(name for qid in sets for name in qid))
        table.require_columns(columns, "quasi-identifier")
        if table.roles.unit is not None:
            table.require_columns([table.roles.unit], "unit")
        _check_by(table, policy.by)
        _, question = question_of(
            table.frame,
            [list(qid) for qid in sets],
            unit=table.roles.unit,
            missing=policy.missing,
            several=True,
            wildcard=True,
        )
        return question

    if not qids:
        return {}
    together = attempt(lambda: asked(qids))
    if not isinstance(together, Problem):
        return {qid: replace(together, qids=(qid,)) for qid in qids}
    if len(qids) == 1:
        return {qids[0]: together}
    return apart(together, {qid: attempt(lambda qid=qid: asked([qid])) for qid in qids})  # type: ignore[misc]


def _check_by(table: CheckedTable, by: Name | None) -> None:
    if by is None:
        return
    table.require_columns([by], "grouping column")
    if by == table.roles.unit:
        raise RoleConflictError(f"column {by!r} cannot be both grouping column and unit")
    table.engine.schema(table.frame).check({by: "grouping column"})


def _count(
    table: CheckedTable,
    policy: Terms,
    questions: dict[Qid, Question | Problem],
    result: dict[Qid, Evidence],
) -> None:
    """Count the classes of all quasi-identifiers that no score has counted, in one pass."""
    open_ = {
        qid: question
        for qid, question in questions.items()
        if isinstance(question, Question) and result[qid].groups is None
    }
    if not open_:
        return
    question = replace(next(iter(open_.values())), qids=tuple(open_))
    counted = attempt(lambda: _groups(table, question, policy.by))
    if not isinstance(counted, Problem):
        for qid, groups in zip(open_, counted, strict=True):
            result[qid].groups = groups
        return
    again: dict[Qid, list[Group] | Problem] = dict.fromkeys(open_, counted)
    # One bad column does not spoil the others; an engine that fails is not asked again and again.
    if len(open_) > 1 and not counted.final:
        for qid, alone in open_.items():
            again[qid] = attempt(lambda alone=alone: _groups(table, alone, policy.by)[0])  # type: ignore[misc]
    for qid, settled in apart(counted, again).items():
        result[qid].groups = settled


def _groups(table: CheckedTable, question: Question, by: Name | None) -> list[list[Group]]:
    if by is not None:
        return table.engine.count(table.frame, ByGroup(question, by))
    counted = table.engine.count(table.frame, question)
    return [[Group(None, sizes, sizes.n_dropped)] for sizes in counted]


def _measure_apart(
    table: CheckedTable, qid: Qid, budgets: list[Budget], context: Context, evidence: Evidence
) -> None:
    """Measure what takes a pass of its own, once for all budgets that need it."""
    if isinstance(evidence.groups, Problem):
        return
    for need in filter(None, (budget.need(context) for budget in budgets)):
        if need.name not in evidence.apart:
            evidence.apart[need.name] = attempt(
                lambda need=need: need.measure(table.frame, table.engine, qid, context)  # type: ignore[misc]
            )


class _Values:
    """The sensitive columns of one quasi-identifier: one pass each scores all their budgets."""

    def __init__(
        self, table: CheckedTable, policy: Terms, question: Question, *, every_score: bool = False
    ) -> None:
        self.table, self.policy, self.every_score = table, policy, every_score
        self.sizes_too = policy.by is None and policy.missing_sensitive != "drop"
        if policy.by is not None and policy.by not in question.qid:
            question = replace(question, qids=((*question.qid, policy.by),))
        self.question = question

    def measure(self, budgets: list[SensitiveBudget], evidence: Evidence) -> None:
        """Score every sensitive column by all of its budgets."""
        columns: dict[Name, list[SensitiveBudget]] = {}
        if self.every_score:
            columns |= {name: [] for name in self.table.roles.sensitive}
        for budget in budgets:
            for name in budget.sensitive or self.table.roles.sensitive:
                columns.setdefault(name, []).append(budget)
        for name, about in columns.items():
            checked = attempt(lambda name=name: self._check(name))  # type: ignore[misc]
            if isinstance(checked, Problem):
                evidence.worst |= {(name, budget.measure): checked for budget in about}
            else:
                self._score(name, about, evidence)

    def _check(self, name: Name) -> None:
        self.table.require_columns([name], "sensitive column")
        check_missing(self.policy.missing)
        self._check_groups()
        if name in self.question.columns or name == self.question.unit:
            raise RoleConflictError(
                f"column {name!r} cannot be both sensitive and quasi-identifier, unit or by"
            )
        self.table.engine.schema(self.table.frame).check({name: "sensitive column"})

    def _check_groups(self) -> None:
        """Reject rows without a group where they would be left out, and counted nowhere."""
        by = self.policy.by
        if by is None or self.policy.missing != "drop":
            return
        alone = replace(self.question, qids=((by,),), unit=None)
        (sizes,) = self.table.engine.count(self.table.frame, alone)
        if sizes.n_dropped:
            raise MissingValuesError(
                f"grouping column {by!r} is missing in {count_of(sizes.n_dropped, 'row')}, which "
                "missing: drop would leave out unseen; use missing: value, or fill it in"
            )

    def _score(self, name: Name, budgets: list[SensitiveBudget], evidence: Evidence) -> None:
        passes: list[tuple[Sensitive, dict[str, Score]]] = []
        for budget in budgets:
            settled = attempt(lambda budget=budget: self._about(name, budget))  # type: ignore[misc]
            if isinstance(settled, Problem):
                evidence.worst[name, budget.measure] = settled
            else:
                _add(passes, budget.measure, *settled)
        for about, score in self._every(name) if self.every_score else ():
            _add(passes, score.name, about, score)
        for about, scores in _merged(passes):
            self._run(about, scores, evidence)

    def _every(self, name: Name) -> Iterator[tuple[Sensitive, Score]]:
        """Yield the scores that need no argument, and the distance that the column's kind has."""
        plain = Sensitive(name, self.policy.missing_sensitive or "error")
        for measure, formula in MEASURES.items():
            if measure != "tcloseness" and not formula.takes_c:
                yield plain, Score(formula.name)
        engine, frame = self.table.engine, self.table.frame
        settled = attempt(
            lambda: with_distance(engine, frame, plain, "auto", order=None, hierarchies=None)
        )
        if not isinstance(settled, Problem):
            yield settled[0], Score(settled[1])

    def _about(self, name: Name, budget: SensitiveBudget) -> tuple[Sensitive, Score]:
        # Unsaid, a missing value is refused: hiv, hiv, hiv and nothing are not two diagnoses.
        plain = Sensitive(name, self.policy.missing_sensitive or "error")
        return budget.score(self.table.engine, self.table.frame, plain)

    def _run(self, about: Sensitive, scores: dict[str, Score], evidence: Evidence) -> None:
        unique = list(dict.fromkeys(scores.values()))
        scored = attempt(lambda: self._scored(about, unique))
        if isinstance(scored, Problem):
            if len(unique) > 1 and not scored.final:
                # What one score refuses, another may well measure.
                for key, score in scores.items():
                    self._run(about, {key: score}, evidence)
                alone = {key: evidence.worst[about.column, key] for key in scores}
                again = apart(scored, alone)
                evidence.worst |= {(about.column, key): item for key, item in again.items()}
                return
            if len(unique) == 1 and about.ordered and unique[0].name != "ordered":
                self._run(replace(about, ordered=False, order=None), scores, evidence)
                return
            evidence.worst |= {(about.column, key): scored for key in scores}
            return
        if self.policy.missing_sensitive == "drop":
            evidence.n_scored[about.column] = scored.sizes.n_rows
        if self.sizes_too and evidence.groups is None:
            evidence.groups = [Group(None, scored.sizes, scored.sizes.n_dropped)]
        evidence.worst |= {(about.column, key): scored.worst[s] for key, s in scores.items()}

    def _scored(self, about: Sensitive, scores: list[Score]) -> Scored:
        try:
            return self.table.engine.score(self.table.frame, self.question, about, scores)
        except MissingSensitiveError as error:
            if self.policy.missing_sensitive is not None:
                raise
            rows = count_of(error.n_missing, "row")
            raise MissingSensitiveError(
                f"sensitive column {about.column!r} is missing in {rows}, and nobody has said what "
                "that means: set missing_sensitive to value (a diagnosis like any other), drop "
                "(with max_dropped_fraction) or error"
            ) from None


def _add(
    passes: list[tuple[Sensitive, dict[str, Score]]], key: str, about: Sensitive, score: Score
) -> None:
    for known, scores in passes:
        if known == about:
            scores[key] = score
            return
    passes.append((about, {key: score}))


def _merged(
    passes: list[tuple[Sensitive, dict[str, Score]]],
) -> list[tuple[Sensitive, dict[str, Score]]]:
    """Let scores that need no order ride along with one that has it: one pass, not two."""
    plain = [p for p in passes if not p[0].ordered and p[0].hierarchy is None]
    ordered = [p for p in passes if p[0].ordered]
    if plain and ordered:
        ordered[0][1].update(plain[0][1])
        return [p for p in passes if p is not plain[0]]
    return passes
