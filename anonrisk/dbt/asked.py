"""What a policy asks, as far as SQL alone can tell; the rest is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import joined
from anonrisk.counts.question import Sensitive
from anonrisk.dbt.common import refuse_no_gate
from anonrisk.engines.sql import compiled
from anonrisk.errors import PolicyError
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy.budgets.base import SensitiveBudget, SizeBudget, edge_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.counts.question import Score
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.rules import Rule
    from anonrisk.policy.terms import Terms

# Each is a query of its own in the text of one test.
MOST_SETS = 100


@dataclass(frozen=True)
class Asked:
    """One budget of one rule, about one sensitive column or none: one test."""

    budget: Budget
    qids: tuple[Qid, ...]
    sensitive: Name | None = None
    score: Score | None = None
    measure: str = ""

    @property
    def edge(self) -> float:
        """The least or the most that may be measured."""
        whole = isinstance(self.budget, SizeBudget) and self.budget.is_whole
        if self.score is not None:
            whole = FORMULAS[self.score.name].whole
        return edge_of(self.budget.limit, at_least=self.budget.at_least, whole=whole)

    def query(self, n_columns: int, dialect: str, *, persons: bool) -> str:
        """Ask for what is measured; the records are to be named before."""
        if self.score is not None:
            return compiled.of_scores(n_columns, self.score, dialect, persons=persons)
        return compiled.of_sizes(n_columns, self.measure, dialect, persons=persons)


def asked_of(policy: Terms) -> list[Asked]:
    """List the tests that a policy takes; refuse one that they would not tell all of."""
    refused = [*_settings(policy)]
    found: list[Asked] = []
    for rule in policy.rules:
        qids = tuple(rule.qids(policy.roles.whole))
        if len(qids) > MOST_SETS:
            refused.append(f"every_subset_of with {len(qids):,} sets (at most {MOST_SETS})")
        for budget in rule.budgets:
            told = [*_of_budget(budget, qids, policy)]
            if not told:
                refused.append(_said(budget, rule))
            found += told
    if refused:
        raise PolicyError(
            f"tests in SQL cannot tell: {'; '.join(dict.fromkeys(refused))}. A model in Python "
            "asks Policy.check itself, which can: anonrisk dbt --python"
        )
    return found


def _settings(policy: Terms) -> Iterator[str]:
    """Say which settings need more than a test knows."""
    refuse_no_gate(policy)
    if not policy.roles.whole:
        raise PolicyError(
            "the policy names no quasi-identifier: add roles, or read them with --manifest"
        )
    odd = [name for name in policy.listed if not isinstance(name, str)]
    if odd:
        raise PolicyError(f"column {odd[0]!r} is not a text, as columns of a database are")
    if policy.missing not in {"value", "error"}:
        yield f"missing: {policy.missing}"
    if policy.missing_sensitive == "drop":
        yield "missing_sensitive: drop"
    if policy.by is not None:
        yield "by"
    if policy.unlisted != "refuse":
        yield f"unlisted: {policy.unlisted}"


def _of_budget(budget: Budget, qids: tuple[Qid, ...], policy: Terms) -> Iterator[Asked]:
    if isinstance(budget, SizeBudget):
        measure = budget.in_sql()
        if measure is not None:
            yield Asked(budget, qids, measure=measure)
    elif isinstance(budget, SensitiveBudget):
        columns = budget.sensitive or policy.roles.sensitive
        if not columns:
            raise PolicyError(f"{budget.name} needs a sensitive column, and the policy names none")
        nobody: Any = None
        for column in columns:
            plain = Sensitive(column)
            needs, score = budget.score(nobody, nobody, plain)
            # An order or a tree holds values, which no file of a project should.
            if needs == plain and score.name in {"distinct", "entropy", "recursive", "equal"}:
                yield Asked(budget, qids, column, score)


def _said(budget: Budget, rule: Rule) -> str:
    how = "".join(f" ({value})" for value in budget.parameters().values() if isinstance(value, str))
    return f"{budget.name}{how}" + (f" of {joined(rule.columns)}" if rule.columns else "")
