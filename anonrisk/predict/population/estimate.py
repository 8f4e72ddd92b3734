"""What can be said about the population that a table is a sample of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core import pictures, render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.predict.population.bounds import LEVEL, LIKELY
from anonrisk.predict.population.sample import LINKER, ModelEstimate

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.core.results import Interval

# Where the bounds come from, in words.
BASES = {
    "sample": "95%, without a model, from a simple random sample of persons drawn singly",
    "clusters": "95%, without a model, from a simple random sample of whole clusters",
    "certain": "all that is certain without a model and without equal chances for everybody",
    "population": "the table is the whole population",
}
_FIGURES = (
    *("uniques", "singletons_unique", "matches", "match_correct"),
    *("reidentifications", "highest_risk"),
)


@dataclass(frozen=True, eq=False, repr=False)
class PopulationEstimate(Document, render.PrintedTable):
    """Bounds on a population that need no model, and what models say beside them.

    Attributes
    ----------
    population_size, n_records, singletons : int
        People in the population, records in the table, and its singletons.
    uniques : Interval
        Bounds on the number of people who are unique in the population.
    likely_uniques : Interval
        The same at 80%.
    singletons_unique : Interval or None
        Bounds on the share of the table's singletons who are unique in the population; none where
        the table has no singletons.
    matches : Interval
        Bounds on the correct matches that somebody can expect who links each singleton to a
        register of the population and picks at random among those who match.
    widened : float
        1; more where no population agrees with the table as a simple random sample, so that the
        limits were widened by this factor, or given up. The bounds are then no 95% ones, and a
        gate should not rely on them.
    basis : str
        What the bounds rest on: ``"sample"``; ``"clusters"`` where whole ones were drawn;
        ``"population"`` where the table is all of it; ``"certain"`` where weights differ, or the
        table is no simple random sample.
    estimates : tuple of ModelEstimate
        What each model says; none where clusters were drawn.
    """

    population_size: int
    n_records: int
    singletons: int
    uniques: Interval
    likely_uniques: Interval
    singletons_unique: Interval | None
    matches: Interval
    widened: float
    basis: str
    estimates: tuple[ModelEstimate, ...]
    qid: tuple[Hashable, ...] = ()
    unit: Hashable | None = None
    missing: str = "value"
    n_dropped: int = 0
    level = LEVEL
    _document = (
        *("qid", "unit", "missing", "n_dropped", "population_size", "n_records"),
        *("sampling_fraction", "singletons", "level", "basis", "assumes", "widened", "uniques"),
        *(
            "likely_uniques",
            "unique_fraction",
            "singletons_unique",
            "matches",
            "match_fraction",
            "estimates",
        ),
    )

    @property
    def sampling_fraction(self) -> float:
        """Share of the population that is in the table."""
        return self.n_records / self.population_size

    @property
    def assumes(self) -> str:
        """What the bounds rest on, in words."""
        return BASES[self.basis]

    @property
    def unique_fraction(self) -> Interval:
        """Bounds on the share of the population that is unique; a gate uses the upper end."""
        return self.uniques / self.population_size

    @property
    def match_fraction(self) -> Interval:
        """Bounds on the correct matches as a share of the table's records."""
        return self.matches / self.n_records

    def __getitem__(self, model: str) -> ModelEstimate:
        """Get what one model says, by its name."""
        for estimate in self.estimates:
            if estimate.model == model:
                return estimate
        known = ", ".join(repr(estimate.model) for estimate in self.estimates)
        raise ArgumentError(f"no estimate by that model; there is {known}")

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: the bounds, then a row for each model."""
        import pandas as pd

        rows = [self._bounds_row(), *(self._model_row(estimate) for estimate in self.estimates)]
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bounds on the share that is unique in the population, and what models say.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out. Models that say something else, as how likely
            a match is to be correct, are not in it.
        """
        models = [model for model in self.estimates if self._row(model)[2] != "-"]
        ax, colours = pictures.start(ax, len(models) + 1)
        bounds = self.unique_fraction
        ax.axvspan(bounds.low, bounds.high, color=colours.blue, alpha=0.15, linewidth=0)
        width = bounds.high - bounds.low
        ax.barh(0, width, 0.5, bounds.low, color=colours.blue, edgecolor=colours.blue, linewidth=2)
        labels, ends, texts = ["bounds"], [bounds.high], [_shares(bounds)]
        for place, model in enumerate(models, start=1):
            interval = None if model.match_correct is not None else model.interval
            values = [] if interval is None else [interval.low, interval.high]
            known = [end / self.population_size for end in values]
            if known:
                ax.hlines(place, known[0], known[1], color=colours.quiet, linewidth=3)
            if model.uniques is not None:
                known.append(model.uniques / self.population_size)
                inside = ax.get_facecolor() if model.doubtful else colours.good
                ax.plot(known[-1], place, "D", color=colours.good, markerfacecolor=inside)
            labels.append(model.model)
            ends.append(max(known))
            texts.append(f"{self._row(model)[2]}{', doubtful' if model.doubtful else ''}")
        for place, (end, text) in enumerate(zip(ends, texts, strict=True)):
            pictures.beside(ax, place, end, text)
        pictures.rows(ax, labels, self._headline())
        pictures.with_room(ax, labels, ends, texts)
        ax.set_xlabel("share of the population that is unique")
        pictures.noted(ax, f"bounds: {self.assumes}")
        return ax

    def _headline(self) -> str:
        by = f" by {pictures.joined(self.qid)}" if self.qid else ""
        rely = "" if self.widened == 1 else "Do not rely on this, it is no simple random sample: "
        return f"{rely}Of {self.population_size:,} people, {_between(self.uniques)} are unique{by}"

    def _bounds_row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"model": "bounds", "formula": "P0", "converged": True}
        known = {
            "uniques": self.uniques,
            "singletons_unique": self.singletons_unique,
            "matches": self.matches,
        }
        for name in _FIGURES:
            row[name] = float("nan")
        for name, interval in known.items():
            row[f"{name}_low"] = float("nan") if interval is None else float(interval.low)
            row[f"{name}_high"] = float("nan") if interval is None else float(interval.high)
        return {**row, "attacker": LINKER, "doubtful": self.widened > 1, "note": self.assumes}

    @staticmethod
    def _model_row(model_estimate: ModelEstimate) -> dict[str, Any]:
        row: dict[str, Any] = {
            "model": model_estimate.model,
            "formula": model_estimate.formula,
            "converged": model_estimate.converged,
        }
        for name in _FIGURES:
            value = getattr(model_estimate, name)
            row[name] = float("nan") if value is None else value
        if model_estimate.interval is not None:
            lead = "match_correct" if model_estimate.match_correct is not None else "uniques"
            row |= {
                f"{lead}_low": model_estimate.interval.low,
                f"{lead}_high": model_estimate.interval.high,
            }
        return {
            **row,
            "attacker": model_estimate.attacker,
            "doubtful": model_estimate.doubtful,
            "note": model_estimate.note,
        }

    # ---- printing -------------------------------------------------------------------------

    def _header(self) -> tuple[str, ...]:
        names = ("model", "population uniques", "share", "singletons unique")
        return (*names, "correct matches", "unique match correct")

    def _lines(self) -> list[str]:
        by = f" by {render.joined(self.qid)}" if self.qid else ""
        people = f"{self.population_size:,} people"
        share, likely = self.unique_fraction, ""
        if self.basis in ("sample", "clusters"):
            likely = f"; at {render.percent(LIKELY)} {_between(self.likely_uniques)}"
        lines = [
            (
                f"Of {people}, {_between(self.uniques)} ({_shares(share)}) are unique{by}: "
                f"{self.assumes}{likely}."
            )
        ]
        table = (
            f"The table has {render.count_of(self.n_records, 'record')} of them "
            f"({render.percent(self.sampling_fraction)})"
        )
        if self.singletons_unique is None:
            lines.append(f"{table} and no singleton.")
        else:
            lines.append(
                f"{table}. Of its {render.count_of(self.singletons, 'singleton')} "
                f"{_shares(self.singletons_unique)} are unique among all people; somebody who "
                f"links them to a register can expect {_between(self.matches)} correct matches."
            )
        if self.widened > 1:
            lines.append(
                "Do not rely on this: the class sizes are not those of a simple random sample."
            )
        if self.n_dropped:
            rows = render.count_of(self.n_dropped, "row")
            lines.append(f"{rows} with a missing quasi-identifier left out.")
        return lines

    def _rows(self) -> list[list[str]]:
        share = "-" if self.singletons_unique is None else _shares(self.singletons_unique)
        ends = [_between(self.uniques), _shares(self.unique_fraction), share]
        return [
            ["bounds", *ends, _between(self.matches), "-"],
            *(self._row(estimate) for estimate in self.estimates),
        ]

    def _row(self, model_estimate: ModelEstimate) -> list[str]:
        uniques, share = _number(model_estimate.uniques), "-"
        if model_estimate.uniques is not None:
            share = render.percent(model_estimate.uniques / self.population_size)
        elif model_estimate.interval is not None and model_estimate.match_correct is None:
            uniques = f"at most {_number(model_estimate.interval.high)}"
            share = f"at most {render.percent(model_estimate.interval.high / self.population_size)}"
        correct = (
            "-"
            if model_estimate.match_correct is None
            else render.percent(model_estimate.match_correct)
        )
        if model_estimate.match_correct is not None and model_estimate.interval is not None:
            correct += f" ({_shares(model_estimate.interval)})"
        unique = (
            "-"
            if model_estimate.singletons_unique is None
            else render.percent(model_estimate.singletons_unique)
        )
        return [
            model_estimate.model,
            uniques,
            share,
            unique,
            _number(model_estimate.matches),
            correct,
        ]

    def _notes(self) -> list[str]:
        notes = []
        for estimate in self.estimates:
            lines = [estimate.note] if estimate.note else []
            if estimate.reidentifications is not None and estimate.highest_risk is not None:
                lines.insert(
                    0,
                    f"{_number(estimate.reidentifications)} correct matches over all records, "
                    f"highest risk of a record {render.percent(estimate.highest_risk)}",
                )
            if lines:
                notes.append(f"{estimate.model}: {'; '.join(lines)}")
        attackers: dict[str, list[str]] = {}
        for estimate in self.estimates:
            attackers.setdefault(estimate.attacker, []).append(estimate.model)
        notes += [
            f"attacker of {', '.join(attacker)}: {who}" for who, attacker in attackers.items()
        ]
        return notes


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.001 else render.expectation(value)


def _between(interval: Interval) -> str:
    # Rounded outwards: a bound must not look tighter than it is.
    from math import ceil, floor

    low, high = floor(interval.low), ceil(interval.high)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _shares(interval: Interval) -> str:
    low, high = render.percent(interval.low), render.percent(interval.high)
    return low if low == high else f"{low} to {high}"
