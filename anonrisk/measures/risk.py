"""Three attackers and what each of them can do with a table (T13)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log10, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.counts.matched import Attacker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.counts.class_sizes import ClassCounts
    from anonrisk.counts.matched import Matched


# Where the sizes of population classes came from, in words.
BASES = {
    "release": "no population given: its classes are taken to be those of the table",
    "population": "class sizes counted in the population",
    "weights": "class sizes of the population are sums of sampling weights",
    "sampling_fraction": "class sizes of the population are the table's over the sampling fraction",
}


@dataclass(frozen=True, eq=False, repr=False)
class Risk:
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
        Where F comes from: ``"release"``, ``"population"``, ``"weights"``,
        ``"sampling_fraction"``.
    """

    prosecutor: Attacker
    journalist: Attacker
    marketer: Attacker
    household: Attacker | None = None
    basis: str = "release"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON."""
        return {
            "basis": self.basis,
            **{
                attacker.name: {"highest": attacker.highest, "average": attacker.average}
                for attacker in self._attackers()
            },
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
        ax, colours = pictures.start(ax, len(attackers))
        averages = [each.average for each in attackers]
        highest = [nan if each.highest is None else each.highest for each in attackers]
        pictures.moves(ax, highest, averages, ("highest", "average"), colours)
        labels = [f"{each.name}\naverage {_one_in(each.average)}" for each in attackers]
        for place, each in enumerate(attackers):
            if each.highest is not None:
                labels[place] += f", highest {_one_in(each.highest)}"
        pictures.rows(ax, labels, self._headline())
        ax.set_xscale("log")
        least = min((risk for risk in averages if risk > 0), default=1.0)
        decades = 10.0 ** -np.arange(ceil(-log10(min(least, 0.2))) + 1)
        ax.set_xlim(decades[-1] / 1.5, 1.5)
        ax.set_xticks(decades, [_one_in(risk) for risk in decades])
        ax.minorticks_off()
        ax.set_xlabel("chance that a record is re-identified")
        pictures.noted(ax, BASES[self.basis])
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
                "-" if attacker.highest is None else f"{attacker.highest:.4g}",
                f"{attacker.average:.4g}",
            ]
            for attacker in self._attackers()
        ]

    def __repr__(self) -> str:
        """Print as text."""
        header = ("attacker", "highest", "average")
        return f"{render.text_table(header, self._rows())}\n({BASES[self.basis]})"

    def _repr_html_(self) -> str:
        header = ("attacker", "highest", "average")
        return render.html_table(BASES[self.basis], header, self._rows())


def _one_in(risk: float) -> str:
    """Write a risk as one in so many."""
    if risk <= 0:
        return "none"
    return f"1 in {1 / risk:,.0f}" if risk < 0.1 else f"1 in {1 / risk:.3g}"


def of_release(sizes: ClassCounts, factor: float = 1.0) -> Risk:
    """Give the risks where every population class is `factor` times as large as the table's."""
    risks = 1 / sizes.sizes
    records = sizes.records.astype(float)
    average = float((records * risks).sum() / records.sum())
    prosecutor = Attacker("prosecutor", average, float(risks[0]), risks, records)
    journalist = Attacker(
        "journalist", average / factor, float(risks[0] / factor), risks / factor, records
    )
    marketer = Attacker("marketer", average / factor)
    basis = "release" if factor == 1 else "sampling_fraction"
    return Risk(prosecutor, journalist, marketer, basis=basis)


def of_population(matched: Matched, basis: str) -> Risk:
    """Give the risks where the population's classes are known.

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
    return Risk(prosecutor, journalist, Attacker("marketer", marketer), basis=basis)
