"""How far a plan by region is from the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document

if TYPE_CHECKING:
    from anonrisk.core.columns import Qid
    from anonrisk.core.results import Interval

# What rounding may leave between equal losses.
_HAIR = 1e-9


@dataclass(frozen=True, repr=False)
class PlanGap(Document, render.PrintedLines):
    """What a plan by region loses, beside the least that any recoding by region could lose.

    Attributes
    ----------
    loss : float
        What the plan loses, its columns worth what `column_weights` says.
    least : float
        What the best recoding loses; or what no recoding loses less than, proven or estimated.
    kind : {"exact", "bound", "estimate"}
        Which of the three it is. A bound may be lower than the best recoding.
    qid : tuple of names
        The quasi-identifiers.
    k : int
        The fewest records of a part, or persons where the plan counts these.
    n_combinations : int
        The combinations of values, no finer than the labels, that the table has.
    n_records, n_looked_at : int
        The records of the table, and those that the bound was computed for.
    interval : Interval or None
        Of an estimate, where the bound of the whole table is, with 95%.
    """

    loss: float
    least: float
    kind: Literal["exact", "bound", "estimate"]
    qid: Qid
    k: int
    n_combinations: int
    n_records: int
    n_looked_at: int
    interval: Interval | None = None
    _document = (
        *("loss", "least", "ratio", "kind", "family", "qid", "k", "n_combinations", "n_records"),
        *("n_looked_at", "interval"),
    )
    _where_some = ("interval",)

    @property
    def ratio(self) -> float | None:
        """How many times as much the plan loses, at most where `least` is no exact figure.

        None where the least is nothing, but for a plan that loses nothing.
        """
        if self.least > 0:
            return self.loss / self.least
        return 1.0 if self.loss <= 0 else None

    @property
    def family(self) -> str:
        """The recodings that the plan is compared with."""
        limits = f"{self.k:,} or more in each part"
        if self.kind == "exact":
            limits += ", all goals kept"
        return (
            f"any way to put the combinations of {render.joined(self.qid)} together, {limits}; "
            "cells get the narrowest label of their column that fits their part"
        )

    def _lines(self) -> list[str]:
        least, ratio = render.percent(self.least), self.ratio
        about = "about " * (self.kind == "estimate")
        times = "" if ratio is None else f": {about}{ratio:.3f} times the best"
        if ratio is not None and self.kind != "estimate" and ratio < 1 + _HAIR:
            says = "no recoding by region loses less"
        elif self.kind == "exact":
            says = f"the best recoding by region loses {least}{times}"
        else:
            says = f"no recoding by region loses less than {about}{least}{times}, or less"
        lines = [f"The plan loses {render.percent(self.loss)}; {says}", self._how()]
        return [*lines, f"compared with: {self.family}"]

    def _how(self) -> str:
        if self.kind == "exact":
            return f"exact: all ways to part {self.n_combinations:,} combinations were compared"
        every = "each record's cheapest region with k records, whatever becomes of the others"
        if self.interval is None:
            return f"bound: {every}, proven for all {render.count_of(self.n_records, 'record')}"
        low, high = map(render.percent, self.interval)
        return (
            f"estimate: {every}, for {self.n_looked_at:,} of "
            f"{render.count_of(self.n_records, 'record')} drawn at random; for all of them it is "
            f"{low} to {high} (95%)"
        )
