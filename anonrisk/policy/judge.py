"""Counts against budgets: pure arithmetic, and the sentences that say what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core.render import count_of
from anonrisk.policy import messages as words
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding, unknown, within
from anonrisk.policy.table import Problem, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.question import Group
    from anonrisk.measures.risk import Risk
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.measure import Measured

# The interval of a prediction whose upper end is compared.
LEVEL = 0.95


@dataclass(frozen=True)
class Value:
    """A measured number; of a prediction, the upper end of its interval beside the estimate."""

    number: float
    estimate: float | None = None


@dataclass(frozen=True)
class Judge:
    """Compares what was measured of one quasi-identifier with its budgets."""

    qid: Qid
    measured: Measured
    sensitive: Qid
    sampling_fraction: float | None = None
    n_original: int | None = None
    dropped_are_removed: bool = False
    has_marker: bool = False
    grouped: bool = False

    def findings(self, budget: Budget) -> Iterator[Finding]:
        """Give the findings of a budget: one per sensitive column, or per group."""
        if budget.about_values:
            yield from self._of_values(budget)
        elif isinstance(self.measured.groups, Problem):
            yield self._unknown(budget, self.measured.groups)
        elif budget.name == "max_suppressed":
            yield self._told(budget, attempt(self._suppressed))
        else:
            for group in self.measured.groups or ():
                yield self._of_group(budget, group)

    def _of_values(self, budget: Budget) -> Iterator[Finding]:
        columns = budget.sensitive or self.sensitive
        if not columns:
            yield self._unknown(
                budget,
                Problem(
                    "no sensitive column: name it in the policy (roles: {sensitive: [diagnosis]}), "
                    "or once for the table, as in df.anon.declare(sensitive='diagnosis')"
                ),
            )
        for column in columns:
            found = self.measured.worst.get((column, budget.measure))
            if found is None:
                reason = self.measured.groups
                found = reason if isinstance(reason, Problem) else Problem("it was not measured")
            value = found if isinstance(found, Problem) else Value(found)
            yield self._told(budget, value, sensitive=column)

    def _of_group(self, budget: Budget, group: Group) -> Finding:
        label = words.label(group.label) if self.grouped else None
        if group.sizes is None:
            rows = count_of(group.n_dropped, "row")
            problem = Problem(f"no record is left to measure: {rows} dropped for a missing value")
            return self._unknown(budget, problem, group=label)
        sizes = ClassSizes.of(group.sizes)
        return self._told(
            budget, attempt(lambda: self._value(budget, sizes)), sizes=sizes, group=label
        )

    def _value(self, budget: Budget, sizes: ClassSizes) -> Value | Problem:
        if budget.name.startswith("risk."):
            return self._of_risk(budget, sizes)
        return _OF_SIZES[budget.name](budget, sizes)

    def _of_risk(self, budget: Budget, sizes: ClassSizes) -> Value | Problem:
        from anonrisk.measures import risk as attackers

        _, attacker, measure = budget.name.split(".")
        risk: Risk | Problem = attackers.of_release(sizes, 1 / (self.sampling_fraction or 1.0))
        if attacker != "prosecutor" and self.measured.risk is not None:
            risk = self.measured.risk
        if isinstance(risk, Problem):
            return risk
        who = getattr(risk, attacker)
        if measure == "share_above":
            return Value(who.share_above(budget.threshold))
        return Value(getattr(who, measure))

    def _suppressed(self) -> Value | Problem:
        groups = self.measured.groups
        marked = self.measured.n_marked
        if isinstance(marked, Problem):
            return marked
        if self.n_original is None and not self.has_marker:
            return Problem(
                "nothing says what was suppressed: give check(df, n_original=…), the rows before "
                "removal, or suppressed, the text in a suppressed cell"
            )
        listed = groups if isinstance(groups, list) else []
        n_dropped = sum(group.n_dropped for group in listed)
        n_rows = n_dropped + sum(g.sizes.n_rows for g in listed if g.sizes is not None)
        before = n_rows if self.n_original is None else self.n_original
        if before < n_rows:
            return Problem(f"n_original is {before:,}, but the table has {count_of(n_rows, 'row')}")
        lost = before - n_rows + (marked or 0) + (n_dropped if self.dropped_are_removed else 0)
        return Value(min(lost / before, 1.0))

    def _told(
        self,
        budget: Budget,
        value: Value | Problem,
        *,
        sizes: ClassSizes | None = None,
        sensitive: Name | None = None,
        group: str | None = None,
    ) -> Finding:
        if isinstance(value, Problem):
            return self._unknown(budget, value, sensitive=sensitive, group=group)
        status = _status(budget, value)
        number = value.number
        room = number - budget.limit if budget.at_least else budget.limit - number
        return Finding(
            budget=budget.name,
            status=status,
            severity=budget.severity,
            value=number,
            limit=budget.limit,
            margin=room,
            estimate=value.estimate,
            qid=self.qid,
            sensitive=sensitive,
            group=group,
            parameters=budget.parameters(),
            sentence=words.sentence(
                budget,
                doubtful=status == COULD_NOT_ASSESS,
                value=number,
                estimate=value.estimate,
                qid=self.qid,
                who="record" if sizes is None or sizes.unit is None else "person",
                sensitive=sensitive,
                group=group,
            ),
        )

    def _unknown(
        self,
        budget: Budget,
        problem: Problem,
        *,
        sensitive: Name | None = None,
        group: str | None = None,
    ) -> Finding:
        return unknown(
            budget.name,
            problem.message,
            severity=budget.severity,
            limit=budget.limit,
            qid=self.qid,
            sensitive=sensitive,
            group=group,
            parameters=budget.parameters(),
        )


def worst(findings: list[Finding]) -> Finding:
    """Pick the finding that decides: a failure, else an unknown, else the least room."""
    order = {FAIL: 0, COULD_NOT_ASSESS: 1, PASS: 2}

    def rank(finding: Finding) -> tuple[int, float]:
        margin = math.inf if finding.margin is None else finding.margin
        return order[finding.status], margin

    return min(findings, key=rank)


def _status(budget: Budget, value: Value) -> str:
    if math.isnan(value.number) or (value.estimate is not None and math.isnan(value.estimate)):
        return COULD_NOT_ASSESS
    if within(value.number, budget.limit, at_least=budget.at_least):
        return PASS
    estimate = value.estimate
    # Within by the estimate and outside by its interval: nobody can tell.
    if estimate is not None and within(estimate, budget.limit, at_least=budget.at_least):
        return COULD_NOT_ASSESS
    return FAIL


def _predicted(budget: Budget, sizes: ClassSizes) -> Value:
    group_size = budget.group_size or 1
    prediction = sizes.predict_singletons(group_size)
    _, high = prediction.interval(LEVEL)
    unit = group_size if budget.as_fraction else 1
    return Value(float(high) / unit, float(prediction.mean) / unit)


def _in_population(budget: Budget, sizes: ClassSizes) -> Value | Problem:
    """Take the bounds that need no model: the lower one is the least that can be true."""
    import warnings

    with warnings.catch_warnings():
        # What would be warned of is a finding here.
        warnings.simplefilter("ignore")
        estimated = sizes.predict_population(budget.population_size or 1)
    if estimated.widened > 1:
        return Problem(
            "the class sizes are not those of a simple random sample of the population, so that "
            "its bounds do not hold"
        )
    bounds = estimated.unique_fraction
    return Value(float(bounds.high), float(bounds.low))


_OF_SIZES: dict[str, Callable[[Budget, ClassSizes], Value | Problem]] = {
    "k": lambda _, sizes: Value(sizes.k),
    "max_unique_fraction": lambda _, sizes: Value(sizes.uniqueness),
    "max_unique_records": lambda _, sizes: Value(sizes.records_at_most(1)),
    "max_fraction_below_k": lambda budget, sizes: Value(
        sizes.records_below(budget.k or 0) / sizes.n_records
    ),
    "predicted_singletons": _predicted,
    "population_unique_fraction": _in_population,
}
