"""Three attackers and what each of them can do with a table (T13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.counts.matched import Attacker

if TYPE_CHECKING:
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
