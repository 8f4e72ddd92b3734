"""What else a plan could keep to, and how much detail that would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document

if TYPE_CHECKING:
    import pandas as pd

    from anonrisk.core.columns import Name

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
