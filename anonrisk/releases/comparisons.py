"""What `Release.compare` gives: each table beside every earlier release of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.releases.comparison import SHOWN_K

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.releases.comparison import Comparison


@dataclass(frozen=True, repr=False)
class EarlierComparison:
    """A table of a release beside an earlier release of it.

    Attributes
    ----------
    table : str
        The table.
    since : str
        The earlier release, with the name that the table had there if it was another one; or all of
        them together.
    comparison : Comparison
        What both tell that neither tells alone.
    """

    table: str
    since: str
    comparison: Comparison

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON."""
        return {"table": self.table, "since": self.since, **self.comparison.to_dict()}

    def __repr__(self) -> str:
        """Print the comparison below what it is of."""
        return f"{render.fitted(self._title)}\n{self.comparison!r}"

    def _repr_html_(self) -> str:
        return render.html_lines([self._title]) + self.comparison._repr_html_()

    @property
    def _title(self) -> str:
        return f"{render.named(self.table)}, since {render.named(self.since)}"


@dataclass(frozen=True, repr=False)
class Comparisons(render.PrintedTable):
    """Every table of a release beside every earlier release of it, a line each.

    Attributes
    ----------
    items : tuple of EarlierComparison
        Table by table, the earliest release first.
    """

    items: tuple[EarlierComparison, ...]

    def of(self, table: str) -> tuple[EarlierComparison, ...]:
        """Give those of one table; none if it was not published before."""
        return tuple(one for one in self.items if one.table == table)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON; no cell and no hash of one is among them."""
        return {"compared": [one.to_dict() for one in self.items]}

    def __iter__(self) -> Iterator[EarlierComparison]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> EarlierComparison:
        return self.items[place]

    def _lines(self) -> list[str]:
        if not self.items:
            return ["No table of the release was published before."]
        return [f"{render.count_of(len(self.items), 'comparison')} with earlier releases"]

    def _header(self) -> tuple[str, ...]:
        return "table", "since", "before", "now", f"in groups below {SHOWN_K}", "value learned of"

    def _rows(self) -> list[list[str]]:
        return [
            [
                *map(render.named, (one.table, one.since)),
                *(f"{number:,}" for number in _numbers(one.comparison)),
            ]
            for one in self.items
        ]


def _numbers(found: Comparison) -> tuple[int, ...]:
    return found.n_before, found.n_now, found.exposed(SHOWN_K), found.learned_values()
