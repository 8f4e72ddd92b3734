"""Three attackers and what each of them can do with a table (T13)."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor, log10, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.population import Attacker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.core.results import Interval
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.population import Matched


# Where the sizes of population classes came from, in words.
BASES = {
    "release": "no population given: its classes are taken to be those of the table",
    "population": "class sizes counted in the population",
}


@dataclass(frozen=True, eq=False, repr=False)
class Risk(render.PrintedTable):
    """Re-identification risk by attacker.

    Attributes
    ----------
    prosecutor : Attacker
        Knows that their victim is in the table: 1 / f, f the size of the victim's class.
    journalist : Attacker
        Knows nobody in particular: 1 / F, F the size of the class in the population.
    marketer : Attacker
        Wants as many as possible: the expected share of correct matches, an average only.
    household : Attacker or None
        Somebody who re-identifies a whole household by any of its members.
    basis : str
        Where F comes from: ``"release"``, ``"population"``; of a sample ``"weights"`` or
        ``"sampling_fraction"``.
    unique_match : Interval or None
        Of a sample from which nothing was removed: the share of correct ones among matches with
        exactly one record (P9).
    """

    prosecutor: Attacker
    journalist: Attacker
    marketer: Attacker
    household: Attacker | None = None
    basis: str = "release"
    unique_match: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            "basis": self.basis,
            **{attacker.name: attacker.to_dict() for attacker in self._attackers()},
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the average and the highest risk of each attacker, as one in so many.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        attackers = self._attackers()
        ax, colours = pictures.start(ax, 2 * len(attackers))
        averages = [each.average for each in attackers]
        highest = [nan if each.highest is None else each.highest for each in attackers]
        pictures.moves(ax, highest, averages, ("highest", "average"), colours)
        labels: list[str] = []
        spans: list[tuple[int, Interval]] = []
        for place, each in enumerate(attackers):
            mean, most = each.average_interval, each.highest_interval
            bound = self._at_most(each)
            labels.append(f"{each.name}\naverage {bound}{_between(mean)}")
            labels[place] += "" if most is None else f"\nhighest {bound}{_between(most)}"
            known = [end for end in (mean, most) if end is not None]
            spans += [(place, end) for end in known if end.low < end.high]
        pictures.rows(ax, labels, self._headline())
        ax.set_xscale("log")
        ends = [each.average_interval.low or each.average for each in attackers]
        least = min((risk for risk in ends if risk > 0), default=1.0)
        decades = 10.0 ** -np.arange(ceil(-log10(min(least, 0.2))) + 1)
        ax.set_xlim(decades[-1] / 1.5, 1.5)
        ax.set_xticks(decades, [_one_in(risk) for risk in decades])
        if spans:
            ax.hlines(
                [place for place, _ in spans],
                # On this scale zero is nowhere: from the edge on.
                [max(end.low, decades[-1] / 1.5) for _, end in spans],
                [end.high for _, end in spans],
                color=colours.blue,
                alpha=0.25,
                linewidth=9,
                label="where it may lie, the marks at the upper end",
            )
        ax.minorticks_off()
        ax.set_xlabel("chance that a record is re-identified")
        pictures.noted(ax, "; ".join(self.notes))
        pictures.explained(ax)
        return ax

    def _headline(self) -> str:
        average, highest = self.prosecutor.average, self.prosecutor.highest
        worst = "" if highest is None else f", {_one_in(highest)} at worst"
        return (
            "Somebody who is known to be in the table is found with a chance of "
            f"{_one_in(average)} on average{worst}"
        )

    def _attackers(self) -> list[Attacker]:
        all_ = (self.prosecutor, self.journalist, self.marketer, self.household)
        return [attacker for attacker in all_ if attacker is not None]

    def _rows(self) -> list[list[str]]:
        return [
            [
                attacker.name,
                "-"
                if attacker.highest_interval is None
                else _ends(attacker.highest_interval, most),
                _ends(attacker.average_interval, most),
            ]
            for attacker, most in ((each, self._at_most(each)) for each in self._attackers())
        ]

    def _at_most(self, attacker: Attacker) -> str:
        """Return what a risk begins with that only the size of an unknown population can lower."""
        others = attacker is self.journalist or attacker is self.marketer
        return "at most " if others and self.basis == "release" else ""

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on, in words."""
        return [BASES[self.basis]]

    def _lines(self) -> list[str]:
        return []

    def _header(self) -> tuple[str, ...]:
        return "attacker", "highest", "average"

    def _notes(self) -> list[str]:
        return [f"({note})" for note in self.notes]


def _one_in(risk: float) -> str:
    """Write a risk as one in so many."""
    if risk <= 0:
        return "none"
    return f"1 in {1 / risk:,.0f}" if risk < 0.1 else f"1 in {1 / risk:.3g}"


def _between(interval: Interval) -> str:
    low, high = _one_in(interval.low), _one_in(interval.high)
    if low == high:
        return high
    return f"{low} to {high}" if interval.low > 0 else f"at most {high}"


def _ends(interval: Interval, most: str) -> str:
    low, high = interval
    if low == high:
        return f"{most}{render.percent(high)}"
    # Outwards, so that a bound never looks tighter than it is; a hair, so that one stays one.
    outer = (floor(1000 * low + 1e-6) / 1000, ceil(1000 * high - 1e-6) / 1000)
    return " to ".join(map(render.percent, outer))


def of_release(sizes: ClassCounts) -> Risk:
    """Return the risks where every class of the population is as large as the table's."""
    risks = 1 / sizes.sizes
    records = sizes.records.astype(float)
    average = float((records * risks).sum() / records.sum())
    prosecutor = Attacker("prosecutor", average, float(risks[0]), risks, records)
    return Risk(prosecutor, replace(prosecutor, name="journalist"), Attacker("marketer", average))


def of_population(matched: Matched) -> Risk:
    """Return the risks where the population's classes are known.

    The journalist's average is the larger of classes over their population and the marketer's
    average, as in ARX and El Emam.
    """
    marketer = matched.matches / matched.sizes.n_records
    spread = matched.sizes.n_classes / matched.total
    journalist = Attacker(
        "journalist",
        max(spread, marketer),
        1 / matched.smallest,
        matched.risks,
        matched.records,
    )
    prosecutor = of_release(matched.sizes).prosecutor
    return Risk(prosecutor, journalist, Attacker("marketer", marketer), basis="population")
