"""A score of a class: NumPy on counts, the same as SQL where the counts stay, and what it says."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.question import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_profiles import ValueCounts

# By rows, not by ranges: DataFusion has none of bytes, and ranks are the same.
UP_TO = "rows between unbounded preceding and current row"
ALL = "rows between unbounded preceding and unbounded following"


@dataclass(frozen=True)
class Formula:
    """One number per class, from the counts of its sensitive values, and all that is known of it.

    The SQL is Spark's dialect, over one row per class and value: `c` how often the class has the
    value, `total` the sum of those, `t` and `t_all` the same of the table, `share` = t / t_all, `r`
    the rank of an ordered value, `last_r` that of the last. What stands in braces is filled in by
    `Placeholders`. There is no `least` and no `greatest`: SQLGlot before 30 writes ``a`` for
    ``least(a, b)`` in SQLite.

    Attributes
    ----------
    name : str
        What a question calls it.
    numpy : function
        The scores of all kinds of class; of counts, and of the constant c where there is one.
    sql : str
        The score as an aggregate over the rows of a class.
    measure : str
        What `assess` calls it; empty if it is not among those.
    meaning : str
        What the measure says of a table, for somebody who reads a report and knows no formula.
    least : bool
        Whether the smallest is the worst, as for diversity, or the largest, as for distance.
    whole : bool
        Whether it is a whole number.
    windows : mapping of str to str
        Columns that it needs on each row before.
    order : str
        The column by which the windows sort a class.
    compared : bool
        Whether it looks at the table's counts beside those of the class.
    """

    name: str
    numpy: Callable[..., NDArray[Any]]
    sql: str
    measure: str = ""
    meaning: str = ""
    least: bool = False
    whole: bool = False
    windows: Mapping[str, str] = field(default_factory=dict, hash=False)
    order: str = ""
    compared: bool = False

    @property
    def takes_c(self) -> bool:
        """Whether it has a constant that the caller gives."""
        return "{constant}" in self.sql

    @property
    def worst_in_sql(self) -> str:
        """The aggregate that gives the worst of many classes."""
        return "min" if self.least else "max"

    def of(self, counts: ValueCounts, c: float | None) -> NDArray[Any]:
        """Score every kind of class."""
        return self.numpy(counts) if c is None else self.numpy(counts, c)

    def worst(self, counts: ValueCounts, c: float | None = None) -> float:
        """Score the worst class."""
        scores = self.of(counts, c)
        worst: float = (scores.min() if self.least else scores.max()).item()
        return worst

    def worst_of(self, scores: Iterable[float]) -> float:
        """Return the worst of a few scores that were aggregated elsewhere."""
        return min(scores) if self.least else max(scores)

    def breaks(self, scores: Any, limit: float) -> Any:
        """Return which scores are beyond a limit, by more than a hair in the class's favour.

        The scores are numbers of NumPy or a column of Spark.
        """
        if self.least:
            return scores < limit * (1 - TOLERANCE)
        return scores > limit * (1 + TOLERANCE)


@dataclass(frozen=True)
class Placeholders:
    """What the texts of formulas leave open.

    Attributes
    ----------
    of_class : str
        The columns that make a class.
    persons : str
        The column whose sum is the size of a class: without a unit it is `c`.
    n_levels : int
        How many levels a hierarchy has.
    """

    of_class: str
    persons: str
    n_levels: int = 1

    def text(self, written: str, c: float | None = None) -> str:
        """Fill in a text; c is the constant of a recursive diversity."""
        return written.format(
            of_class=self.of_class,
            persons=self.persons,
            n_levels=self.n_levels,
            constant=None if c is None else float(c),
        )
