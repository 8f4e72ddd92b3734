"""Class sizes group by group, as box-and-whisker plots show them; as numbers, not as a picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.api.question import ask, count_groups
from anonrisk.core import render
from anonrisk.core.arguments import not_negative
from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.measures.box_plot import Box, box

if TYPE_CHECKING:
    import pandas as pd

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.words import Missing


@dataclass(frozen=True, repr=False)
class BoxPlot(render.PrintedTable):
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
        """Give a pandas table, a row a box, the box of all classes last."""
        import pandas as pd

        rows = [{"group": label, **vars(each)} for label, each in self._labelled()]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, and the groups that `by` asked for as the table has them."""
        return {
            "qid": list(self.qid),
            "by": self.by,
            "whisker": self.whisker,
            "overall": asdict(self.overall),
            "groups": [{"group": label, **asdict(each)} for label, each in self.groups],
        }

    def _labelled(self) -> list[tuple[Any, Box]]:
        return [*self.groups, ("overall", self.overall)]

    def _lines(self) -> list[str]:
        within = "" if self.by is None else f" by {render.shown(self.by)}"
        reach = "to the ends" if self.whisker is None else f"at most {self.whisker:g} boxes long"
        return [f"Class sizes of {render.joined(self.qid)}{within}; whiskers {reach}"]

    def _header(self) -> tuple[str, ...]:
        numbers = ("sets", "min", "low", "q1", "median", "q3", "high", "max", "outliers")
        return ("group", *numbers)

    def _rows(self) -> list[list[str]]:
        return [
            [
                str(label),
                f"{each.sets:,}",
                f"{each.min:,}",
                *(f"{n:,.6g}" for n in (each.low, each.q1, each.median, each.q3, each.high)),
                f"{each.max:,}",
                f"{sum(classes for _, classes in each.outliers):,}",
            ]
            for label, each in self._labelled()
        ]


def box_plot(
    frame: Any,
    qids: Names | None = None,
    by: Name | None = None,
    *,
    whisker: float | None = 1.5,
    unit: Name | None = None,
    missing: Missing = "value",
) -> BoxPlot:
    """Give what box-and-whisker plots of class sizes are drawn from, group by group.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.
    by : name, optional
        A box for each group of this column: classes are formed on the quasi-identifier and `by`
        together. Naming it is asking for its values: they appear in the result.
    whisker : float, optional
        Whiskers end at the last size within so many heights of the box; what lies beyond is an
        outlier. None lets them reach the least and the largest size.

    Returns
    -------
    BoxPlot

    Notes
    -----
    Koot (2012), Figures 3.1 and 3.2, whose whiskers reach the ends. Quartiles are over classes,
    with linear interpolation, as in `anonrisk.summary`; whiskers are Tukey's (1977).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> zips = ["a"] * 9 + ["b", "c", "d", "d", "e", "f", "f"]
    >>> df = pd.DataFrame({"zip": zips, "town": ["x"] * 13 + ["y"] * 3})
    >>> df.anon.box_plot("zip", by="town")
    Class sizes of zip by town; whiskers at most 1.5 boxes long
      group   sets   min   low    q1   median     q3   high   max   outliers
          x      4     1     1     1      1.5   3.75   3.75     9          1
          y      2     1     1  1.25      1.5   1.75      2     2          0
    overall      6     1     1     1      1.5      2      2     9          1
    """
    if whisker is not None:
        whisker = not_negative(whisker, "whisker")
    engine, question = ask(frame, qids, unit=unit, missing=missing)
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
