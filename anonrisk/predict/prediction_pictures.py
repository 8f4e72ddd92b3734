"""How a prediction draws itself."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Self

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.errors import ApproximationError, ApproximationWarning, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from anonrisk.core.results import Interval
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
