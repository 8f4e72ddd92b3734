"""A score of a class in both of its forms: NumPy on counts, and SQL where the counts stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonrisk.counts.class_profiles import ValueCounts

UP_TO = "rows between unbounded preceding and current row"
ALL = "rows between unbounded preceding and unbounded following"


@dataclass(frozen=True)
class Formula:
    """One number per class, from the counts of its sensitive values.

    The SQL is Spark's dialect, over one row per class and value: `c` how often the class has the
    value, `total` the sum of those, `t` and `t_all` the same of the table, `share` = t / t_all, `r`
    the rank of an ordered value. What stands in braces is filled in by `text`.

    Attributes
    ----------
    numpy : function
        The scores of all kinds of class; of counts, and of the constant c where there is one.
    sql : str
        The score as an aggregate over the rows of a class.
    windows : tuple of str
        Columns that it needs on each row before.
    order : str
        The column by which the windows sort a class.
    compared : bool
        Whether it looks at the table's counts beside those of the class.
    """

    numpy: Callable[..., NDArray[Any]]
    sql: str
    windows: tuple[str, ...] = ()
    order: str = ""
    compared: bool = False

    def of(self, counts: ValueCounts, c: float | None) -> NDArray[Any]:
        """Score every kind of class."""
        return self.numpy(counts) if c is None else self.numpy(counts, c)


@dataclass(frozen=True)
class Words:
    """What the texts of formulas leave open.

    Attributes
    ----------
    of_class : str
        The columns that make a class.
    persons : str
        The column whose sum is the size of a class: without a unit it is `c`.
    n_values : int
        How many ordered values the table has.
    n_levels : int
        How many levels a hierarchy has.
    """

    of_class: str
    persons: str
    n_values: int = 0
    n_levels: int = 1

    def text(self, written: str, c: float | None = None) -> str:
        """Fill in a text; c is the constant of a recursive diversity."""
        return written.format(
            of_class=self.of_class,
            persons=self.persons,
            last=max(self.n_values - 1, 0),
            steps=max(self.n_values - 1, 1),
            n_values=self.n_values,
            n_levels=self.n_levels,
            constant=None if c is None else float(c),
        )
