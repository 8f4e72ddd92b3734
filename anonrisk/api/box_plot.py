"""Class sizes group by group, as box-and-whisker plots show them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from anonrisk.api.question import count_groups, in_one_state, question_of
from anonrisk.core import pictures, render
from anonrisk.core.arguments import not_negative
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document, plain
from anonrisk.measures.box_plot import Box, box
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import Missing

# Outliers of a box that a picture shows, about.
_OUTLIERS = 40


@dataclass(frozen=True, repr=False)
class BoxPlot(Document, render.PrintedTable):
    """Boxes of class sizes: one of all classes, and one of each group.

    Attributes
    ----------
    qid : tuple of names
        The quasi-identifier.
    by : name, optional
        The column whose groups have a box each.
    whisker : float, optional
        How far whiskers reach, in heights of the box; None where they reach the ends.
    overall : Box
        The box of all classes.
    groups : tuple of (value, Box)
        The value of `by` and the box of its group, in order; a group whose records were all
        dropped has none.
    """

    qid: Qid
    by: Name | None
    whisker: float | None
    overall: Box
    groups: tuple[tuple[Any, Box], ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per box; the box of all classes comes last."""
        import pandas as pd

        rows = [{"group": label, **vars(each)} for label, each in self._labelled()]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, and the groups that `by` asked for as JSON has them."""
        groups = [{"group": _label(label), **plain(each)} for label, each in self.groups]
        return super().to_dict() | {"groups": groups}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a box for each group, and one of all classes.

        Needs matplotlib (extra ``report``). Of many groups those with the smallest medians are
        drawn, of many outliers some, the farthest among them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        groups = list(self.groups)
        if len(groups) > pictures.ROWS:
            groups = sorted(groups, key=lambda group: group[1].median)[: pictures.ROWS]
        drawn = [*groups, ("overall", self.overall)]
        ax, colours = pictures.start(ax, len(drawn))
        places = range(len(drawn))
        boxes = [each for _, each in drawn]
        low, high = [each.low for each in boxes], [each.high for each in boxes]
        ax.hlines(places, low, high, color=colours.quiet, linewidth=1.5, zorder=1)
        ax.barh(
            *(places, [each.q3 - each.q1 for each in boxes]),
            left=[each.q1 for each in boxes],
            height=0.6,
            color=colours.blue,
            edgecolor=colours.blue,
            label="the middle half of the classes",
        )
        ax.plot(
            *([each.median for each in boxes], places),
            linestyle="none",
            marker="|",
            markersize=14,
            markeredgewidth=3,
            color=colours.bad,
            label="median",
        )
        beyond = [(size, i) for i, each in enumerate(boxes) for size in _some(each.outliers)]
        if beyond:
            ax.plot(
                *zip(*beyond, strict=True),
                linestyle="none",
                marker=".",
                markersize=3,
                color=colours.quiet,
                label="outliers",
            )
        ax.set_xscale("log")
        ax.set_xlim(0.8, max(each.max for each in boxes) * 1.3)
        pictures.whole_numbers(ax.xaxis, log=True)
        labels = [pictures.plain(pictures.short(label)) for label, _ in drawn]
        pictures.rows(ax, labels, self._headline())
        ax.set_xlabel("size of the class")
        some = f"; the {len(groups)} groups of {len(self.groups):,} with the smallest medians"
        few = len(groups) < len(self.groups)
        pictures.noted(ax, f"whiskers {self._reach()}{some if few else ''}")
        pictures.explained(ax)
        return ax

    def _headline(self) -> str:
        about = f"Half of the classes of {pictures.joined(self.qid)}"
        text = f"{about} are of size {self.overall.median:,.6g} at most"
        if not self.groups:
            return text
        medians = [each.median for _, each in self.groups]
        ends = f"from {min(medians):,.6g} to {max(medians):,.6g}"
        return f"{text}; by {pictures.short(self.by)} this goes {ends}"

    def _reach(self) -> str:
        return "to the ends" if self.whisker is None else f"at most {self.whisker:g} boxes long"

    def _labelled(self) -> list[tuple[Any, Box]]:
        return [*self.groups, ("overall", self.overall)]

    def _lines(self) -> list[str]:
        within = "" if self.by is None else f" by {render.named(self.by)}"
        return [f"Class sizes of {render.joined(self.qid)}{within}; whiskers {self._reach()}"]

    def _header(self) -> tuple[str, ...]:
        numbers = ("sets", "min", "low", "q1", "median", "q3", "high", "max", "outliers")
        return ("group", *numbers)

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.named(label),
                f"{each.sets:,}",
                f"{each.min:,}",
                *(f"{n:,.6g}" for n in (each.low, each.q1, each.median, each.q3, each.high)),
                f"{each.max:,}",
                f"{sum(classes for _, classes in each.outliers):,}",
            ]
            for label, each in self._labelled()
        ]


def _some(outliers: tuple[tuple[int, int], ...]) -> list[int]:
    """Return the sizes of outliers that a picture shows, the first and the last among them."""
    step = max(1, len(outliers) // _OUTLIERS)
    return [size for size, _ in (*outliers[::step], *outliers[-1:])]


@in_one_state
def box_plot(
    frame: Any,
    qids: Names | None = None,
    by: Name | None = None,
    *,
    whisker: float | None = 1.5,
    unit: Name | None = None,
    missing: Missing = "value",
) -> BoxPlot:
    """Return what box-and-whisker plots of class sizes are drawn from, group by group.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    by : name, optional
        A box for each group of this column: classes are formed on the quasi-identifier and `by`
        together. Naming it is asking for its values: they appear in the result.
    whisker : float, optional
        Whiskers end at the last size within so many heights of the box; what lies beyond is an
        outlier. None lets them reach the least and the largest size.

    Returns
    -------
    BoxPlot

    Raises
    ------
    As in `anonrisk.classes`.
    TooManyGroupsError
        If `by` has too many different values.

    See Also
    --------
    anonrisk.summary : the same numbers as a table
    anonrisk.classes : the whole histogram

    Notes
    -----
    Quartiles are over classes, with linear interpolation, as in `anonrisk.summary`. Tukey's
    whiskers end within 1.5 heights of the box; those of Koot's figures reach the ends.

    References
    ----------
    - M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Figures 3.1
      and 3.2.
    - J. W. Tukey, *Exploratory Data Analysis*, Addison-Wesley 1977.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> zips = ["a"] * 9 + ["b", "c", "d", "d", "e", "f", "f"]
    >>> df = pd.DataFrame({"zip": zips, "town": ["x"] * 13 + ["y"] * 3})
    >>> anonrisk.box_plot(df, "zip", by="town")
    Class sizes of zip by town; whiskers at most 1.5 boxes long
    group     sets   min   low     q1   median     q3   high   max   outliers
    x            4     1     1      1      1.5   3.75   3.75     9          1
    y            2     1     1   1.25      1.5   1.75      2     2          0
    overall      6     1     1      1      1.5      2      2     9          1
    """
    if whisker is not None:
        whisker = not_negative(whisker, "whisker")
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    if by is None:
        (counted,) = engine.count(frame, question)
        return BoxPlot(question.qid, by, whisker, box(counted, whisker), ())
    (groups,) = count_groups(engine, frame, question, by)
    counts = [(group.label, group.sizes) for group in groups if group.sizes is not None]
    # A class lies within one group, so that the histograms of groups add up.
    histogram: Counter[int] = Counter()
    for _, sizes in counts:
        histogram.update(dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True)))
    overall = box(ClassCounts.from_histogram(histogram), whisker)
    boxes = tuple((label, box(sizes, whisker)) for label, sizes in counts)
    return BoxPlot(question.qid, by, whisker, overall, boxes)


def _label(group: Any) -> Any:
    """Return the value of a group as JSON has it, whatever a table writes for a missing one."""
    missing = not isinstance(group, str) and str(group) in {"None", "nan", "<NA>", "NaT"}
    return None if missing else plain(group)
