"""`credibility`: how sure somebody may be of a sensitive value who knows how a table was made."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, joined
from anonrisk.measures.counts.question import Score
from anonrisk.policy import fields
from anonrisk.policy.budgets import base
from anonrisk.policy.evidence import OTHER_TABLE, Problem, as_given, percent

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Sensitive
    from anonrisk.planning.attack import PlanAttack
    from anonrisk.planning.plan import Plan
    from anonrisk.policy.evidence import Context, Evidence

_LACKS = (
    "a table does not show how it was made: in Python, give check(df, plan=plan, original=…), the "
    "table that the plan was made for; or apply(original, plan, policy=policy), which checks"
)


@dataclass(frozen=True)
class CredibilityBudget(base.MethodBudget):
    """No sensitive value of a person may be likelier than that, to whoever knows the method."""

    key = "credibility"
    also_called = ("minimality", "minimality_attack")
    keys = {
        "at_most": replace(base.SHARE, read=partial(fields.share, example="0.5")),
        "sensitive": base.COLUMNS,
    }
    bare = True
    annotation = base.or_list("float | dict[str, Any]")
    what = "What the method reveals"
    not_planned = (
        "what a plan tells by its cuts is measured of the plan: apply(df, plan, policy=policy) "
        "judges it"
    )

    def score(self, engine: Engine, frame: Any, about: Sensitive) -> tuple[Sensitive, Score]:
        """Score the largest share of a value, which is what the table says by itself."""
        return about, Score("alpha")

    def value(
        self, column: Name, scored: float, qid: Qid, evidence: Evidence, context: Context
    ) -> base.Value | Problem:
        """Attack the plan that the table was made by."""
        origin = context.origin
        if origin is None:
            return Problem(_LACKS)
        another = _another(origin.plan, column, qid, evidence, context)
        attack = another or origin.attack(column)
        return attack if isinstance(attack, Problem) else self._value_of(attack, scored)

    def _value_of(self, attack: PlanAttack, scored: float) -> base.Value | Problem:
        (known,) = attack.credibility
        # The chances of a class add up to the value's share of it, so that somebody's is as large.
        least = known.by_release
        if not base.within(scored, least, at_least=False) or (
            not attack.n_left_out and not base.within(scored, least, at_least=True)
        ):
            return Problem(OTHER_TABLE)
        alone = f"{percent(least, self.limit)} by the table alone"
        if attack.n_left_out:
            alone += ", with those left out as a class of it"
        if known.exact:
            return base.Value(known.highest, note=f"exact; {alone}")
        if not known.n_unbounded:
            return base.Value(known.highest, estimate=least, note=f"an upper bound; {alone}")
        who = f"{known.n_unbounded:,} of {count_of(attack.n_persons, 'person')}"
        if base.within(least, self.limit, at_least=False):
            return Problem(
                f"{who} are not bounded, as too few others share their quasi-identifiers; {alone}"
            )
        return base.Value(least, note=f"by the table alone; {who} are not bounded")

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how credible a value can be."""
        return (
            f"To whoever knows everybody's {subject.columns} and how the table was made, a value "
            f"of {subject.sensitive} is {percent(value.number, self.limit)} credible of somebody "
            f"({value.note}); at most {as_given(self.limit)} may be"
        )

    @property
    def likely_meaning(self) -> str:
        """Nobody is surer than sure."""
        return "1 is certainty; 1 / l is usual, as 0.5"

    def not_expected(self, context: Context) -> str:
        """Return the sentence that a batch is only what was made."""
        return ": a batch does not show how it was made"


_CHECK_THAT = "check what apply(original, plan) returns"


def _another(
    plan: Plan, column: Name, qid: Qid, evidence: Evidence, context: Context
) -> Problem | None:
    """Reject a table that the plan does not make, or counts otherwise."""
    sizes = evidence.groups[0].sizes if isinstance(evidence.groups, list) else None
    if context.unit is not None:
        why = (
            f"persons are counted by {context.unit!r}, and what a plan tells of persons with "
            "several records is not measured"
        )
    elif {*plan.qids} != {*qid}:
        # Whoever knows fewer columns may be surer: they cannot tell this table from others.
        why = (
            f"the plan is about {joined(plan.qids)}, and the budget about {joined(qid)}: plan for "
            "the same columns"
        )
    elif sizes is None:
        why = "no record is left to measure"
    elif plan.after is None:
        why = "the plan was put together by hand: make one with anonrisk.plan"
    elif (sizes.n_rows, sizes.n_classes) != (plan.after.n_records, plan.after.n_classes):
        classes = count_of(plan.after.n_classes, "class", "classes")
        why = (
            f"the plan makes {count_of(plan.after.n_records, 'row')} in {classes}, and this table "
            f"has {sizes.n_rows:,} in {sizes.n_classes:,}: {_CHECK_THAT}"
        )
    elif evidence.n_scored.get(column, sizes.n_rows) != sizes.n_rows:
        why = (
            "rows without the sensitive value are left out (missing_sensitive: drop), and whoever "
            "knows the method does not leave them out: say missing_sensitive: value"
        )
    else:
        return None
    return Problem(why)
