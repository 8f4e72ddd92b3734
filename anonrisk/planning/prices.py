"""What a plan costs: how far it is from the best, and what else it could keep to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document

if TYPE_CHECKING:
    import pandas as pd

    from anonrisk.core.columns import Name, Qid
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


NOT_SEARCHED = "not searched: the time was over"


@dataclass(frozen=True)
class PlanPrice(Document):
    """What a plan would lose that keeps to something else.

    Attributes
    ----------
    what : str
        What is different.
    loss : float or None
        What it loses; None where no plan was found.
    by_column : tuple of (column, loss)
        What each column loses, without suppressed records.
    n_suppressed : int
        The records that are left out.
    partial : bool
        Whether a time limit ended the search: another plan may lose less.
    why : str
        Why there is no loss.
    """

    what: str
    loss: float | None = None
    by_column: tuple[tuple[Name, float], ...] = ()
    n_suppressed: int = 0
    partial: bool = False
    why: str = ""


@dataclass(frozen=True, repr=False)
class PlanPrices(Document, render.PrintedTable):
    """The price list of a plan: what it would lose to keep to more, or with a column fewer.

    Attributes
    ----------
    planned : PlanPrice
        The plan itself.
    prices : tuple of PlanPrice
        One for each budget that only warns, a larger k, and each column that could be left out.
    """

    planned: PlanPrice
    prices: tuple[PlanPrice, ...]
    _document = ("planned", "prices", "partial")

    @property
    def partial(self) -> bool:
        """Whether a time limit left out lines, or ended the search of one."""
        return any(price.partial for price in self.prices)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: the loss of each line, in all and by column."""
        import pandas as pd

        every = (self.planned, *self.prices)
        rows = [{"what": p.what, "loss": p.loss, **dict(p.by_column)} for p in every]
        return pd.DataFrame(rows)

    def _lines(self) -> list[str]:
        begun = sum(price.why != NOT_SEARCHED for price in self.prices)
        lines = [f"Prices of a plan that loses {render.percent(self.planned.loss or 0.0)}"]
        if self.partial:
            lines.append(
                f"PARTIAL: the time was over; {begun:,} of {len(self.prices):,} lines were "
                "searched, those marked <= not to the end"
            )
        return lines

    def _header(self) -> tuple[str, ...]:
        return ("with", "loss", "more", "by column")

    def _rows(self) -> list[tuple[str, ...]]:
        planned = dict(self.planned.by_column)
        rows: list[tuple[str, ...]] = []
        for price in self.prices:
            if price.loss is None:
                rows.append((price.what, "-", "-", price.why))
                continue
            more = [(name, loss - planned[name]) for name, loss in price.by_column]
            columns = [f"{render.named(name)} {_more(by)}" for name, by in more if _more(by)]
            at_most = "<= " if price.partial else ""
            rows.append(
                (
                    price.what,
                    f"{at_most}{render.percent(price.loss)}",
                    f"{at_most}{_more(price.loss - (self.planned.loss or 0.0)) or 'nothing'}",
                    ", ".join(columns) or "as planned",
                )
            )
        return rows


def _more(by: float) -> str:
    """Write a difference; nothing where it would be read as 0."""
    return f"{by * 100:+.1f}%" if abs(by) >= 0.0005 else ""
