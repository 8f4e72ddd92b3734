"""What a prediction answers, and how it says so."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cached_property
from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.arguments import positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document, Interval, Probability
from anonrisk.errors import ApproximationError, ApproximationWarning, ArgumentError, ModelError
from anonrisk.predict.independent import AtMostOne, EmptyOrAtLeast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.core.types import Floats, Integers
    from anonrisk.predict.law import Law
    from anonrisk.predict.sources import PredictionSource


# What a picture shows: so much of a law, in so many bars; and so many sizes of a group.
_DRAWN = 0.9998
_BARS = 60
_GROUPS = 24


class PredictionPictures(ABC):
    """The pictures of a `Prediction`, which has all that they show."""

    source: PredictionSource
    group_size: int
    mean: float
    drawn: str

    @abstractmethod
    def __init__(self, source: PredictionSource) -> None: ...

    @property
    @abstractmethod
    def fraction(self) -> float:
        """Expected share of the group that are singletons."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """The chances of 0, 1, 2, … singletons."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> Interval:
        """Between which numbers of singletons the group will have, with this probability."""

    @abstractmethod
    def _interval(self, law: Law, level: float) -> Interval: ...

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how likely each number of singletons is.

        Needs matplotlib (extra ``report``). Many numbers are put together, a bar for as many each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        ax, colours = pictures.start(ax)
        low, high = self.interval(0.95)
        first, last = self.law.quantiles(_DRAWN)
        width = ceil((last - first + 1) / _BARS)
        starts = np.arange(first, last + 1, width)
        chances = np.add.reduceat(
            self.law.chance[first - self.law.first : last - self.law.first + 1],
            starts - first,
        )
        likely = (starts + width > low) & (starts <= high)
        for inside, name in ((True, "within the 95%"), (False, "outside")):
            chosen = likely == inside
            if chosen.any():
                ax.bar(
                    *(starts[chosen], chances[chosen], 0.9 * width),
                    align="edge" if width > 1 else "center",
                    color=colours.blue if inside else colours.quiet,
                    hatch=None if inside else "////",
                    edgecolor=ax.get_facecolor(),
                    linewidth=0,
                    label=name,
                )
        expected = f"{render.expectation(self.mean)} expected"
        ax.axvline(self.mean, linestyle="--", color=colours.bad, label=expected)
        if width == 1:
            ax.set_xlim(max(first - 1.5, -0.6), last + 1.5)
        pictures.whole_numbers(ax.xaxis)
        pictures.in_percent(ax.yaxis)
        ax.set_xlabel("people who are alone")
        ax.set_ylabel("chance" if width == 1 else f"chance of {width:,} numbers")
        pictures.titled(ax, self._headline())
        pictures.explained(ax)
        return ax

    def plot_by_group_size(self, ax: Axes | None = None) -> Axes:
        """Draw the expected share of singletons in groups of other sizes, with its 95% band.

        Needs matplotlib (extra ``report``). The band is exact where that takes a moment, and
        otherwise that of a Normal law of the same mean and variance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        ax, colours = pictures.start(ax)
        groups = list(self._other_groups())
        sizes = [each.group_size for each in groups]
        bands = [each._interval(each.source.quick_law(), 0.95) for each in groups]  # noqa: SLF001
        ends = [[end / k for end in band] for band, k in zip(bands, sizes, strict=True)]
        low, high = zip(*ends, strict=True)
        ax.fill_between(sizes, low, high, color=colours.blue, alpha=0.25, linewidth=0, label="95%")
        shares = [each.fraction for each in groups]
        ax.plot(sizes, shares, marker=".", color=colours.blue, label="expected")
        if self.group_size:
            name = f"a group of {self.group_size:,}: {render.percent(self.fraction)}"
            ax.plot(
                *([self.group_size], [self.fraction]),
                marker="D",
                linestyle="none",
                markersize=8,
                color=colours.bad,
                label=name,
            )
        ax.set_xscale("log")
        ax.set_ylim(-0.02, 1.02)
        pictures.in_percent(ax.yaxis)
        pictures.whole_numbers(ax.xaxis, log=True)
        ax.set_xlabel("people in the group")
        pictures.noted(ax, self.drawn)
        ax.set_ylabel("share who are alone")
        title = "The larger a group, the smaller the share of it that is alone"
        if self.group_size:
            own = f"Of a group of {self.group_size:,}, {render.percent(self.fraction)}"
            title = f"{own} are expected to be alone; the larger the group, the smaller that share"
        pictures.titled(ax, title)
        pictures.explained(ax)
        return ax

    def _other_groups(self) -> Iterator[Self]:
        """Predict groups from one person up to a few times as many, where that can be told."""
        sizes = np.geomspace(1, max(self.source.largest_group(), 1), _GROUPS).round().astype(int)
        with warnings.catch_warnings():
            # The prediction itself has warned.
            warnings.simplefilter("ignore", ApproximationWarning)
            for k in sorted({*sizes.tolist(), max(self.group_size, 1)}):
                with suppress(ApproximationError, ModelError):
                    yield type(self)(self.source.of_size(k))

    def _headline(self) -> str:
        low, high = self.interval(0.95)
        share = f" ({render.percent(self.fraction)})" if self.group_size else ""
        ends = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
        return (
            f"Of a group of {self.group_size:,}, {render.expectation(self.mean)} are expected to "
            f"be alone{share}; {ends} with 95% probability"
        )


# Where so few singletons are expected, two terms of inclusion and exclusion are exact to 1e-9.
_RARE = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(PredictionPictures, render.PrintedLines):
    """How many of a group will be singletons: alone with their value of the quasi-identifier.

    Attributes
    ----------
    group_size : int
        Number of people in the group.
    mean : float
        Expected number of singletons.
    variance : float
        Variance of their number; of another group than the table, that of the estimate included.
    bracket : Interval or None
        Where near probabilities were put together, or only a divergence is known: ends between
        which the exact mean lies.
    drawn : str
        How the group comes about, in words.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, singletons
    >>> birthdays = singletons(Distribution.uniform(365), 23)
    >>> birthdays
    Predicted singletons in a group of 23: 21.7 expected (94.1%), 18 to 23 with 95%
      probability
    chance that nobody is one: <0.1%; that everybody is one: 49.3%
    people drawn one by one from a known distribution; law: exact
    >>> birthdays.interval(0.5)
    Interval(low=21, high=23, level=0.5)
    """

    source: PredictionSource
    group_size: int
    mean: float
    variance: float
    bracket: Interval | None
    drawn: str

    def __init__(self, source: PredictionSource) -> None:
        """Ask for the mean and the variance; the rest is computed when it is asked for."""
        fields = {
            "source": source,
            "group_size": source.k,
            "mean": source.mean(),
            "variance": source.variance(),
            "bracket": source.bracket(),
            "drawn": source.words,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def sd(self) -> float:
        """Standard deviation of the number of singletons."""
        return sqrt(self.variance)

    @property
    def fraction(self) -> float:
        """Expected share of the group that are singletons."""
        return self.mean / self.group_size

    @cached_property
    def law(self) -> Law:
        """The chances of 0, 1, 2, … singletons, and whether they are exact."""
        return self.source.law()

    def pmf(self) -> Floats:
        """Return the chance of 0, 1, … up to everybody, as an array (P13, S14, S15, S17).

        Examples
        --------
        >>> from anonrisk.predict import Distribution, singletons
        >>> singletons(Distribution.from_probabilities([0.1, 0.2, 0.3, 0.4]), 3).pmf().round(12)
        array([0.1, 0.6, 0. , 0.3])
        """
        return self.law.dense(self.group_size)

    def interval(self, level: float = 0.95) -> Interval:
        """Between which numbers of singletons the group will have, with this probability.

        How far the mean may lie from its `bracket` is added on either side. Of another group than
        the table it holds the chance of the table's own records too (P13).

        Parameters
        ----------
        level : float
            Probability that the number lies within, at least.
        """
        return self._interval(self.law, _level(level))

    def _interval(self, law: Law, level: float) -> Interval:
        low, high = (float(end) for end in law.quantiles(level))
        if self.bracket is not None:
            low = max(0.0, floor(low - (self.mean - self.bracket.low)))
            high = min(float(self.group_size), ceil(high + (self.bracket.high - self.mean)))
        return Interval(int(low), int(high), level=level)

    @cached_property
    def p_none(self) -> Probability:
        """Chance that nobody is a singleton (S13; by the approximate law where that is used)."""
        if self.group_size == 1:
            return Probability(-np.inf, "exact")
        return self.source.all_allowed(EmptyOrAtLeast(2))

    @property
    def p_any(self) -> float:
        """Chance that somebody is a singleton; where the law is exact, also where it is tiny."""
        if 0 < self.mean < _RARE and not self.source.estimated:
            pairs = (self.variance + self.mean**2 - self.mean) / 2
            return self.mean - max(0.0, pairs)
        return abs(self.p_none.complement)

    @cached_property
    def p_all_unique(self) -> Probability:
        """Chance that everybody is a singleton (U3; by the approximate law likewise)."""
        return self.source.all_allowed(AtMostOne())

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        low, high = self.interval(level)
        return {
            "group_size": self.group_size,
            "mean": self.mean,
            "variance": self.variance,
            "fraction": self.fraction if self.group_size else None,
            "level": level,
            "low": low,
            "high": high,
            "p_any": self._chance(lambda: self.p_any),
            "p_all_unique": self._chance(lambda: float(self.p_all_unique)),
            "bracket": None if self.bracket is None else list(self.bracket),
            "law": self.law.how,
            "drawn": self.drawn,
        }

    @staticmethod
    def _chance(ask: Callable[[], float]) -> float | None:
        """Return a chance, or nothing where the source does not know it."""
        try:
            return ask()
        except ApproximationError:
            return None

    def _lines(self) -> list[str]:
        low, high = self.interval(0.95)
        share = f" ({render.percent(self.fraction)})" if self.group_size else ""
        group = f"Predicted singletons in a group of {self.group_size:,}"
        likely = f"{low:,.0f} to {high:,.0f} with 95% probability"
        lines = [f"{group}: {render.expectation(self.mean)} expected{share}, {likely}"]
        chances = self._chances()
        if chances:
            lines.append(chances)
        if self.bracket is not None:
            near, far = self.bracket
            lines.append(f"{self.source.between} {near:.6g} to {far:.6g}")
        return [*lines, f"{self.drawn}; law: {self.law.how}"]

    def _chances(self) -> str:
        none = self._chance(lambda: float(self.p_none))
        # What is not printed is not asked for: it might warn.
        everybody = None if none is None else self._chance(lambda: float(self.p_all_unique))
        if none is None or everybody is None:
            return ""
        # An approximate law knows no zero, only what it does not list.
        least = 1e-9 if self.source.estimated and self.group_size > 1 else 0.0
        return (
            f"chance that nobody is one: {render.percent(max(none, least))}; "
            f"that everybody is one: {render.percent(max(everybody, least))}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PredictedClasses(render.PrintedTable):
    """In classes of which size the people of a group will be.

    Attributes
    ----------
    group_size : int
        Number of people in the group.
    sizes : array of int
        Class sizes 1, 2, …
    classes : array of float
        Expected number of classes of each size (S7).
    share : array of float
        Expected share of the group in classes of each size (S8).
    drawn : str
        How the group comes about, in words.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, classes
    >>> classes(Distribution.uniform(10), 10, upto=3)
    Predicted classes of a group of 10
    class size   classes   share
             1       3.9   38.7%
             2       1.9   38.7%
             3       0.6   17.2%
          more              5.3%
    people drawn one by one from a known distribution
    """

    source: PredictionSource
    group_size: int
    sizes: Integers
    classes: Floats
    share: Floats
    drawn: str

    def __init__(self, source: PredictionSource, upto: int) -> None:
        """Ask for each size."""
        words = source.words
        if source.largest is not None and upto > source.largest:
            upto = source.largest
            words += f"; for a larger group no table distinguishes classes of more than {upto}"
        sizes = np.arange(1, upto + 1)
        classes = np.array([source.classes(int(j)) for j in sizes])
        share = sizes * classes / source.k
        for array in (sizes, classes, share):
            array.setflags(write=False)
        values = (source, source.k, sizes, classes, share, words)
        names = ("source", "group_size", "sizes", "classes", "share", "drawn")
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def larger(self) -> float:
        """Expected share of the group in larger classes."""
        rest = 1 - float(self.share.sum())
        # Nobody is left over but for rounding.
        return rest if rest > 1e-12 else 0.0

    def interval(self, size: int, level: float = 0.95) -> Interval:
        """Between which numbers of classes of a size the group will have, with this probability.

        Parameters
        ----------
        size : int
            The class size.
        level : float
            Probability that the number lies within, at least.

        Notes
        -----
        P13, for another group than the table; of other draws only the mean is known.

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> ClassSizes([1, 2, 5], [400, 100, 20]).predict_classes(200).interval(2)
        Interval(low=8, high=21, level=0.95)
        """
        if whole_number(size, "size", at_least=1) not in self.sizes:
            raise ArgumentError(f"size must be one of those distinguished, 1 to {self.sizes[-1]:,}")
        law = self.source.class_law(int(size))
        if law is None:
            raise ApproximationError("the interval is known for another group (draw='auto') only")
        low, high = law.quantiles(_level(level))
        return Interval(low, high, level=float(level))

    @cached_property
    def _intervals(self) -> list[Interval | None]:
        """Return the share of the group between which each size will have, where that is known."""
        if self.source.class_law(1) is None:
            return [None] * len(self.sizes)
        return [self.interval(int(j)) / (self.group_size / j) for j in self.sizes]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            "group_size": self.group_size,
            "sizes": self.sizes.tolist(),
            "classes": self.classes.tolist(),
            "share": self.share.tolist(),
            "share_interval": [None if i is None else list(i) for i in self._intervals],
            "larger": self.larger,
            "drawn": self.drawn,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return it as a pandas table: size, classes, share, and the 95% interval of the share."""
        import pandas as pd

        fields = {"size": self.sizes, "classes": self.classes, "share": self.share}
        ends = [(np.nan, np.nan) if i is None else tuple(i) for i in self._intervals]
        return pd.DataFrame({**fields, "low": [e[0] for e in ends], "high": [e[1] for e in ends]})

    def _lines(self) -> list[str]:
        return [f"Predicted classes of a group of {self.group_size:,}"]

    def _notes(self) -> list[str]:
        return [self.drawn]

    def _header(self) -> list[str]:
        known = self._intervals[0] is not None
        return ["class size", "classes", "share", *(["95% interval"] if known else [])]

    def _rows(self) -> list[list[str]]:
        columns = zip(self.sizes, self.classes, self.share, strict=True)
        rows = [
            [f"{size:,}", render.expectation(n), render.percent(share)]
            for size, n, share in columns
        ]
        rows.append(["more", "", render.percent(self.larger)])
        if self._intervals[0] is not None:
            for row, ends in zip(rows, [*self._intervals, None], strict=True):
                row.append("" if ends is None else " to ".join(map(render.percent, ends)))
        return rows


@dataclass(frozen=True, repr=False)
class PredictedRecords(Document, render.PrintedLines):
    """How many people of a group will be in classes smaller than `k` (S10)."""

    group_size: int
    k: int
    mean: float
    variance: float

    @property
    def sd(self) -> float:
        """Standard deviation of their number."""
        return sqrt(self.variance)

    @property
    def fraction(self) -> float:
        """Expected share of the group."""
        return self.mean / self.group_size if self.group_size else float("nan")

    def _lines(self) -> list[str]:
        share = f" ({render.percent(self.fraction)})" if self.group_size else ""
        mean, give = render.expectation(self.mean), render.expectation(self.sd)
        return [
            (
                f"Of a group of {self.group_size:,}, {mean} are expected in "
                f"classes smaller than {self.k:,}{share}, give or take {give}"
            )
        ]


def _level(level: float) -> float:
    if not 0 < positive(level, "level") < 1:
        raise ArgumentError("level must be a number between 0 and 1, such as 0.95")
    return float(level)
