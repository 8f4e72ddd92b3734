"""What `explain_risk` gives: which column, dropped or coarsened, lowers the singletons most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core import pictures, render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.class_sizes import ClassCounts


@dataclass(frozen=True, repr=False)
class Change(render.PrintedFields):
    """One column dropped or coarsened, and the classes after that, measured.

    Attributes
    ----------
    column : name
        The column.
    change : str
        ``"dropped"``, or what it was coarsened to, in words.
    sizes : ClassCounts or None
        The classes; None where no column is left, and everybody is alike.
    singletons : int
        Records that are alone after the change; with a unit, persons.
    share : float
        Their share of all records.
    """

    column: Name
    change: str
    sizes: ClassCounts | None
    singletons: int
    share: float

    @property
    def dropped(self) -> bool:
        """Whether the column was dropped, not coarsened."""
        return self.change == "dropped"


@dataclass(frozen=True, repr=False)
class RiskExplanation(render.PrintedTable):
    """The singletons of a quasi-identifier, and of it with one column dropped or coarsened.

    Attributes
    ----------
    sizes : ClassCounts
        The classes of the quasi-identifier as it is.
    changes : tuple of Change
        What helps most first.
    """

    sizes: ClassCounts
    changes: tuple[Change, ...]

    @property
    def best(self) -> Change:
        """The change that lowers the singletons most."""
        return self.changes[0]

    @property
    def singletons(self) -> int:
        """Records that are alone with the quasi-identifier as it is; with a unit, persons."""
        return self.sizes.records_at_most(1)

    @property
    def _telling(self) -> tuple[Change, ...]:
        """The changes that are shown: that dropping helps nobody is news, coarsening not."""
        return tuple(c for c in self.changes if c.dropped or c.singletons < self.singletons)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table, a change a row; also those that help nobody."""
        import pandas as pd

        return pd.DataFrame(self._plain(self.changes), columns=self._header())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of the table is among them."""
        return {"sizes": self.sizes.to_dict(), "changes": self._plain(self.changes)}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many would be alone after each change, from how many are now.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        changes = self._telling[: pictures.ROWS]
        ax, colours = pictures.start(ax, len(changes) + 1)
        current, then = [self.sizes.uniqueness] * len(changes), [each.share for each in changes]
        pictures.moves(ax, current, then, ("now", "after the change"), colours)
        names = [pictures.plain(pictures.short(each.column)) for each in changes]
        kinds = [pictures.folded(each.change, lines=1) for each in changes]
        labels = [f"{name}\n{kind}" for name, kind in zip(names, kinds, strict=True)]
        who = "record" if self.sizes.unit is None else "person"
        texts = [
            f"{render.percent(each.share)}, {self.singletons - each.singletons:,} fewer"
            for each in changes
        ]
        for place, (end, text) in enumerate(zip(then, texts, strict=True)):
            pictures.above(ax, place, end, text)
        best = self.best
        what = "dropped" if best.dropped else f"as {best.change}"
        pictures.rows(
            ax,
            labels,
            f"{self.singletons:,} of {render.count_of(self.sizes.n_records, who)} "
            f"({render.percent(self.sizes.uniqueness)}) are alone with their "
            f"{pictures.joined(self.sizes.qid)}; {best.singletons:,} with "
            f"{pictures.short(best.column)} {what}",
        )
        pictures.with_room(ax, labels, [*then, *current], [*texts, *("" for _ in current)])
        ax.set_xlabel(f"share of the {who}s that are alone")
        pictures.noted(ax, pictures.left_out(len(self._telling), "changes"))
        pictures.explained(ax)
        return ax

    def _plain(self, changes: tuple[Change, ...]) -> list[dict[str, Any]]:
        return [
            {
                "column": plain(change.column),
                "change": change.change,
                "singletons": change.singletons,
                "share": change.share,
                "fewer": self.singletons - change.singletons,
            }
            for change in changes
        ]

    def _notes(self) -> list[str]:
        useless = [change.column for change in self.changes if change not in self._telling]
        named = [name for name in self.sizes.qid if name in useless]
        names = ", ".join(map(render.named, named))
        return [f"one step coarser by itself, each of these helps nobody: {names}"] if named else []

    def _lines(self) -> list[str]:
        who = "record" if self.sizes.unit is None else "person"
        columns = render.joined(self.sizes.qid)
        return [
            (
                f"{columns}: {self.singletons:,} of {render.count_of(self.sizes.n_records, who)} "
                f"({render.percent(self.sizes.uniqueness)}) are singletons"
            )
        ]

    def _header(self) -> tuple[str, ...]:
        return "column", "change", "singletons", "share", "fewer"

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.named(row["column"]),
                row["change"],
                f"{row['singletons']:,}",
                render.percent(row["share"]),
                f"{row['fewer']:,}",
            ]
            for row in self._plain(self._telling)
        ]
