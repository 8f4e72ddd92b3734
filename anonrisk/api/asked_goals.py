"""The goals of a plan as a caller writes them, one keyword each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from anonrisk.api.question import question_of
from anonrisk.api.sensitive import (
    DISTANCES,
    diversity_score,
    question_about,
    refuse_closeness,
    with_distance,
)
from anonrisk.core.arguments import not_negative, one_of, positive, whole_number
from anonrisk.counts.question import Score
from anonrisk.errors import ArgumentError
from anonrisk.planning.goal import PlanGoal, SensitiveGoal
from anonrisk.planning.goals import DEFAULT_K, PlanRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.counts.question import Sensitive
    from anonrisk.engines.base import Engine


@dataclass(frozen=True)
class AskedGoals:
    """What a plan is asked to keep to, whichever the columns are."""

    k: int | None
    risk: float | None
    diversity: tuple[Score, float] | None
    closeness: float | None
    distance: str
    order: Any

    @classmethod
    def read(
        cls,
        *,
        k: int | None,
        ldiv: float | None,
        kind: str,
        c: float | None,
        tcloseness: float | None,
        distance: str,
        order: Any,
        risk: float | None,
    ) -> Self:
        """Check the caller's words."""
        score = diversity_score(kind, c)
        if ldiv is None and score != Score("distinct"):
            raise ArgumentError("kind= and c= have no use without ldiv=")
        if tcloseness is None:
            refuse_closeness(distance, order, None, "tcloseness=")
        elif one_of(distance, "distance", DISTANCES) == "hierarchical":
            raise ArgumentError("a plan knows the distances 'equal' and 'ordered'")
        if risk is not None and positive(risk, "risk") > 1:
            raise ArgumentError("risk must be a share above 0, at most 1")
        return cls(
            None if k is None else whole_number(k, "k", at_least=1),
            risk,
            None if ldiv is None else (score, positive(ldiv, "ldiv")),
            None if tcloseness is None else not_negative(tcloseness, "tcloseness"),
            distance,
            order,
        )

    def __bool__(self) -> bool:
        """Tell whether anything is asked for."""
        return self.k is not None or self.risk is not None or self._of_values

    @property
    def _of_values(self) -> bool:
        return self.diversity is not None or self.closeness is not None

    @property
    def size(self) -> int:
        """The size that every class must have."""
        if not self:
            return DEFAULT_K
        # A hair, so that 1 / 0.2 is five.
        by_risk = 1 if self.risk is None else math.ceil(1 / self.risk * (1 - 1e-9))
        return max(self.k or 1, by_risk)

    def request(
        self,
        frame: Any,
        qids: Any,
        sensitive: Names | None,
        unit: Name | None,
        *,
        private: bool,
    ) -> tuple[Engine, PlanRequest, Qid]:
        """Find the engine, what is asked of which columns, and the column of a private loss."""
        named: list[Sensitive] = []
        if self._of_values or private:
            engine, question, named = question_about(
                frame, qids, sensitive, unit=unit, missing="value", missing_sensitive="value"
            )
        elif sensitive is not None:
            raise ArgumentError(
                "sensitive= has no use without loss='private', ldiv= or tcloseness="
            )
        else:
            engine, question = question_of(frame, qids, unit=unit, missing="value")
        goals = (
            PlanGoal("k", question.qid, self.size, k=self.size),
            *(
                PlanGoal(goal.score, question.qid, goal.limit, about=goal)
                for goal in self._about(engine, frame, named)
            ),
        )
        lost = _one_of(named) if private else ()
        return engine, PlanRequest(question.qid, goals, question.unit), lost

    def about_loss(self, frame: Any, qid: Qid, sensitive: Names | None) -> Qid:
        """Find the column of a private loss, where a policy names the others."""
        named = question_about(
            frame, list(qid), sensitive, unit=None, missing="value", missing_sensitive="value"
        )[2]
        return _one_of(named)

    def _about(
        self, engine: Engine, frame: Any, named: Sequence[Sensitive]
    ) -> Iterator[SensitiveGoal]:
        for column in named:
            if self.diversity is not None:
                score, limit = self.diversity
                yield SensitiveGoal(column.column, score.name, limit, score.c)
            if self.closeness is not None:
                about, distance = with_distance(
                    engine, frame, column, self.distance, order=self.order
                )
                yield SensitiveGoal(about.column, distance, self.closeness, order=about.order)


def _one_of(named: Sequence[Sensitive]) -> Qid:
    if len(named) > 1:
        raise ArgumentError(
            f"{len(named)} sensitive columns are declared: name one of them, sensitive="
        )
    return tuple(about.column for about in named)
