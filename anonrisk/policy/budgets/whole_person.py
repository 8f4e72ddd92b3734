"""`whole_person`: the least number of persons who have the same rows, all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.question import Question, WholePersons
from anonrisk.policy.budgets import base
from anonrisk.policy.evidence import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Qid
    from anonrisk.engines.base import Engine
    from anonrisk.policy.evidence import Context


def _counted(frame: Any, engine: Engine, qid: Qid, context: Context) -> ClassSizes:
    question = Question((qid,), context.unit, context.missing)
    return ClassSizes.of(engine.count(frame, WholePersons(question)))


_PERSONS = base.Need("whole_person", _counted)


@dataclass(frozen=True)
class WholePerson(base.SizeBudget):
    """Every person has all their rows in common with enough others."""

    key = "whole_person"
    keys = {"k": base.whole(1)}
    limit_key = "k"
    bare = True
    annotation = base.or_list("int | dict[str, Any]")
    is_whole = True
    what = "The number of persons who are alike as a whole"
    at_least = True
    takes_by = False
    expectation = base.Expectation(
        "ExpectWholePersonKToBeAtLeast",
        "Expect every person to have all their rows in common with enough others.\n\n"
        "It takes a unit, the column that says which person a row belongs to.",
        lambda _: "At least $k persons have the same rows of $qids, all of them together.",
        "whole_person",
        'qids=["zip"], unit="patient", k=5',
    )
    expectation_fields = {
        "k": base.Field("k", "(int): The least number of persons who are alike as a whole.")
    }

    def need(self, context: Context) -> base.Need | None:
        """Count whole persons, where a unit says who they are."""
        return None if context.unit is None else _PERSONS

    def value(self, seen: base.Seen) -> base.Value | Problem:
        """Take the fewest who are alike."""
        result = seen.evidence.apart.get(_PERSONS.name)
        if result is None:
            return Problem(
                "no unit says which person a row belongs to: name it in the policy "
                "(roles: {unit: patient}), or once for the table, as in "
                "df.anon.declare(unit='patient')"
            )
        return result if isinstance(result, Problem) else base.Value(result.k)

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how few are alike."""
        return (
            f"The fewest persons who have the same rows of {subject.columns}, all of them "
            f"together, are {int(value.number):,}; at least {self.limit:,} are required"
        )

    @property
    def likely_meaning(self) -> str:
        """Everybody is like themselves."""
        return "1 is the person alone, and everybody is like themselves; 5 and 11 are usual"

    @classmethod
    def counts(cls, fields: Mapping[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        """Count whole persons, whatever the limit."""
        return {cls.key: {cls.limit_key: 1}}
