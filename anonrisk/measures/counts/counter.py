"""What a search asks of an engine: the classes of many sets of the same columns."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.coarser import Coarsening
    from anonrisk.measures.counts.shapes import Numerals, Shape

    Positions = tuple[int, ...]


# Where a set of columns is the bits of a number, it has at most so many.
BITS = 62
# What is counted of sets where Ctrl-C came before all of them were looked at.
DECIDED = "sets decided"


def number_of_sets(n_columns: int, max_size: int) -> list[int]:
    """Count the sets of each size.

    Examples
    --------
    >>> number_of_sets(10, 4), sum(number_of_sets(10, 4))
    ([10, 45, 120, 210], 385)
    """
    return [comb(n_columns, size) for size in range(1, min(max_size, n_columns) + 1)]


class Counter(Protocol):
    """Counts the classes of sets of columns; sets are given by the positions of their columns.

    Every set is counted over the same records: with ``missing="drop"`` those that miss none of
    the columns. Only so is a set never less telling than its subsets.
    """

    # How many sets share a pass over the table; 0 where sets are counted one by one.
    batch: int

    @property
    def columns(self) -> Qid:
        """The columns that can be counted."""

    @property
    def unsupported(self) -> Mapping[Name, str]:
        """The columns that cannot, and why."""

    def count(self, sets: Sequence[Positions]) -> Iterator[ClassCounts]:
        """Count the classes of each set, in the given order."""

    def coarsen(self, n_values: Sequence[int]) -> Mapping[int, tuple[int, Coarsening]]:
        """Take up a coarser version of each column that has one.

        Given the number of different values of each column, gives for its position the position of
        the coarser one, and how that came about.
        """

    def shapes(self) -> list[Shape]:
        """Look at the cells of each column."""

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates of each column."""
