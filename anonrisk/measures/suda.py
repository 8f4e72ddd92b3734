"""SUDA: how few columns it takes to single out a record, and which."""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Any

from anonrisk.core import pictures, render
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import stopped_after
from anonrisk.core.results import plain
from anonrisk.measures.counts.counter import BITS, DECIDED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.core.columns import Qid

# Beyond this many columns (m - 1)! says nothing to anybody.
MAX_COLUMNS = BITS


def weights(n_columns: int, max_size: int) -> list[float]:
    """Return the score of a minimal unique of one column, of two, …: (m − size)!.

    Examples
    --------
    >>> weights(4, 3)
    [6.0, 2.0, 1.0]
    """
    return [float(factorial(n_columns - size)) for size in range(1, min(max_size, n_columns) + 1)]


def exponent(n_columns: int) -> float:
    """Return the power to which DIS-SUDA takes a score, 1 + (8 − m)/20 of m columns.

    As in sdcMicro (src/Suda2.h), which does not say where 8 and 20 come from. With another power
    the scores of a table differ more or less from each other; the mean of their inverses stays.

    Examples
    --------
    >>> exponent(4)
    1.2
    """
    return 1 + (8 - n_columns) / 20


def dis(n_unique: int, n_pairs: int, sampling_fraction: float) -> float | None:
    """Estimate the probability that a unique match is correct (Skinner & Elliot 2002).

    Notes
    -----
    P9: f·s₁ / (f·s₁ + 2(1 − f)·s₂), s₁ and s₂ the classes of one and of two.

    Examples
    --------
    >>> dis(10, 5, 0.1)
    0.1
    >>> dis(0, 5, 0.1)
    """
    if not n_unique:
        return None
    hits = sampling_fraction * n_unique
    return hits / (hits + 2 * (1 - sampling_fraction) * n_pairs)


@dataclass(frozen=True, repr=False, eq=False)
class Suda(render.PrintedTable):
    """Minimal sample uniques: their scores by record, and what they add up to.

    Attributes
    ----------
    scores : Series or DataFrame
        Each record's score: a Series on pandas, the table with a column `suda_score` more on Spark.
    records : DataFrame
        More of each record: score, number of minimal uniques, DIS-SUDA score if a sampling fraction
        was given, and the share of the score that goes to minimal uniques with each column (in
        columns `suda_…`). On Spark the table with these columns more, lazily.
    qid : tuple of names
        The columns.
    max_size : int
        The most columns of a minimal unique that were looked for.
    n_records, n_dropped, n_unique : int
        Records; rows left out for a missing value; records that are alone with all columns.
    n_scored : int
        Records with a minimal unique of at most `max_size` columns.
    total, largest : float
        Sum of the scores, and the largest.
    n_minimal : tuple of int
        Number of minimal uniques of one column, of two, ….
    contributions : dict of column to float
        Share of the total score that goes to minimal uniques with the column; they overlap, and
        add up to more than 1.
    dis : float or None
        Probability that a unique match is correct, if a sampling fraction was given.
    n_sets, n_decided : int
        How many sets of columns there are up to `max_size`, and how many of them were looked at.
    """

    scores: Any
    records: Any
    qid: Qid
    max_size: int
    n_records: int
    n_dropped: int
    n_unique: int
    n_scored: int
    total: float
    largest: float
    n_minimal: tuple[int, ...]
    contributions: dict[Any, float]
    sampling_fraction: float | None
    dis: float | None
    n_sets: int
    n_decided: int

    @property
    def partial(self) -> bool:
        """Whether it was stopped: scores may be higher, and records without one may have one."""
        return self.n_decided < self.n_sets

    @property
    def complete(self) -> bool:
        """Whether every set was looked at; the opposite of `partial`."""
        return not self.partial

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: the contribution of each column, the largest first."""
        import pandas as pd

        ordered = sorted(self.contributions.items(), key=lambda item: -item[1])
        return pd.DataFrame(ordered, columns=["column", "contribution"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of the table is among them."""
        left_out = ("scores", "records", "qid", "contributions")
        figures = {name: value for name, value in vars(self).items() if name not in left_out}
        ended = {"partial": self.partial, "complete": self.complete}
        shares = tuple(self.contributions.items())
        return plain({"qid": self.qid, **figures, **ended, "contributions": shares})  # type: ignore[no-any-return]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how much of the score goes to minimal uniques with each column.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        columns = sorted(self.contributions.items(), key=lambda item: -item[1])[: pictures.ROWS]
        ax, colours = pictures.start(ax, len(columns))
        labels = [pictures.plain(pictures.short(name)) for name, _ in columns]
        shares = [share for _, share in columns]
        texts = [render.percent(share) for share in shares]
        pictures.bars(ax, labels, shares, texts, colours=colours)
        pictures.rows(ax, labels, ". ".join(self._lines()[: 2 if self.partial else 1]))
        ax.set_xlabel("share of the score in which the column has a part; they overlap")
        pictures.noted(ax, pictures.left_out(len(self.contributions), "columns"))
        return ax

    def _lines(self) -> list[str]:
        sizes = ", ".join(f"{n:,} of {size}" for size, n in enumerate(self.n_minimal, start=1))
        scored = render.count_of(self.n_scored, "record")
        have = "has" if self.n_scored == 1 else "have"
        upto = render.count_of(self.max_size, "column")
        lines = [
            f"{scored} of {self.n_records:,} {have} a minimal unique of {upto} at most",
            f"minimal uniques by number of columns: {sizes}",
            f"scores: {self.total:,.6g} in all, {self.largest:,.6g} at most",
        ]
        if self.partial:
            stopped = stopped_after(self.n_decided, self.n_sets, DECIDED)
            lines.insert(1, f"PARTIAL: {stopped}; others may raise scores, and score more records")
        if self.dis is not None:
            lines.append(f"a unique match is correct with probability {render.percent(self.dis)}")
        return lines

    def _rows(self) -> list[list[str]]:
        ordered = sorted(self.contributions.items(), key=lambda item: -item[1])
        return [[render.named(name), render.percent(share)] for name, share in ordered]

    def _header(self) -> tuple[str, ...]:
        return "column", "contribution"
