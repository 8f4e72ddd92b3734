"""What a join of tables gives: sizes of combinations, and how much of each table was joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core import render
from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of what could be joined; keys that are written alike match more than this. Chosen: it makes a
# warning, and no number.
_HARDLY = 0.1


@dataclass(frozen=True, repr=False)
class MatchedTable(render.PrintedFields):
    """How much of a table has something to be joined with.

    Attributes
    ----------
    table : str
        The table.
    n : int
        Its persons; along shared columns, its rows.
    matched : int
        Those in another table of the link, too; along shared columns, those that match a row of
        every other.
    who : {"person", "row"}
        Which of the two are counted.
    """

    table: str
    n: int
    matched: int
    who: str = "person"

    def __str__(self) -> str:
        """Write both numbers."""
        about = render.count_of(self.n, self.who)
        return f"{self.matched:,} of {about} of {render.named(self.table)}"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinkedSizes(ClassSizes):
    """How many combinations of classes there are of each size, where tables are joined.

    Made by `anonrisk.releases.links.links.linked`. Parameters and attributes are those of
    `anonrisk.measures.counts.class_sizes.ClassCounts`, and one more.

    Parameters
    ----------
    matched : sequence of MatchedTable
        Of each table, how much of it was joined. Who is in one table only is in no join, and cannot
        be found by it; but who is missed because keys are written differently can be.

    Examples
    --------
    >>> matched = [MatchedTable("patients", 900, 3), MatchedTable("visits", 40, 3)]
    >>> found = LinkedSizes([3], [1], matched=matched)
    >>> found.match_text
    'matched: 3 of 900 persons of patients, 3 of 40 persons of visits'
    >>> [one.table for one in found.hardly_matched]
    ['patients', 'visits']
    """

    matched: tuple[MatchedTable, ...]

    def __init__(self, *counted: Any, matched: Sequence[MatchedTable] = (), **about: Any) -> None:
        """Check the histogram, and keep what matched."""
        super().__init__(*counted, **about)
        object.__setattr__(self, "matched", tuple(matched))

    @property
    def match_text(self) -> str:
        """How much of each table was joined, in words."""
        return f"matched: {', '.join(map(str, self.matched))}"

    @property
    def hardly_matched(self) -> tuple[MatchedTable, ...]:
        """The tables of which less than a tenth was joined of what the others have room for."""
        total = sum(item.n for item in self.matched)
        return tuple(
            item for item in self.matched if item.matched < _HARDLY * min(item.n, total - item.n)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of a table is among them."""
        return {**super().to_dict(), "matched": [vars(item) for item in self.matched]}

    def _lines(self) -> list[str]:
        summary = self.match_text
        return [*super()._lines(), summary[0].upper() + summary[1:]]
