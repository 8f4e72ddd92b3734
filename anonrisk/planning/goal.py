"""What the classes of a planned table must keep to beside k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from anonrisk.core.columns import Name


@dataclass(frozen=True)
class SensitiveGoal:
    """What the sensitive values of every class must keep to.

    Attributes
    ----------
    column : name
        The sensitive column.
    score : str
        The score of a class: a kind of `anonrisk.ldiv`, or a distance of `anonrisk.tcloseness`.
    limit : float
        The least diversity, or the largest distance.
    c : float or None
        The constant of ``"recursive"``.
    order : tuple or None
        The values from the smallest to the largest, as the caller gave them.
    """

    column: Name
    score: str
    limit: float
    c: float | None = None
    order: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        """Say what is asked for."""
        sign = "at least" if FORMULAS[self.score].least else "at most"
        name = f"{self.score} {FORMULAS[self.score].measure.rpartition('_')[2]}"
        constant = "" if self.c is None else f" (c = {self.c:g})"
        return f"{name}{constant} of {render.shown(self.column)} {sign} {self.limit:g}"
