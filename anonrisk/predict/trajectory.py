"""How many people a few of their linked records single out: measured, and modelled beside it."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from anonrisk.core import pictures, render
from anonrisk.core.arguments import whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import stopped_after
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.question import MEASURED
from anonrisk.predict.distribution import share_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.predict.zipf import Fit, Zipf, ZipfStep

# The quantile of the Normal law for 95%.
Z = 1.959963984540054


def wilson(hits: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval for a share of `hits` in `n` independent trials.

    Notes
    -----
    E. B. Wilson (1927). Unlike p ± 1.96·√(p(1−p)/n) it stays within [0, 1] and is not a point
    where all or none hit.

    Examples
    --------
    >>> low, high = wilson(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.2775)
    """
    p, z2 = hits / n, Z * Z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if hits <= 0 else max(centre - half, 0.0)
    return low, 1.0 if hits >= n else min(centre + half, 1.0)


def clustered(total: float, squares: float, n: int, draws: int) -> tuple[float, float]:
    """Return the 95% interval of a mean of `n` shares, each of them one person's in `draws` draws.

    Draws of one person resemble each other. Wilson's interval is taken for as many independent
    draws as would scatter as much as the persons do: at most all draws, which is a design effect
    of at least 1.

    Parameters
    ----------
    total, squares : float
        Sum of the persons' shares, and of their squares.
    n, draws : int
        Number of persons, and of draws of each.

    Notes
    -----
    E. L. Korn and B. I. Graubard (1998): n·p(1 − p)/v, where v is the variance between persons,
    times (1.96/t)² for the degrees of freedom of v. Where shares are small and persons are few,
    most samples miss the person who makes the variance, so that the same is calculated with one
    person more whom all draws single out and one whom none does, and the smaller number is taken.

    Examples
    --------
    >>> low, high = clustered(total=5.0, squares=3.5, n=10, draws=20)
    >>> round(low, 3), round(high, 3)
    (0.285, 0.715)
    """
    if n < 2:
        return wilson(total, n)
    from scipy.special import stdtrit

    few = (Z / float(stdtrit(n - 1, 0.975))) ** 2
    as_seen = n * few * _scatter(total, squares, n)
    careful = n * _scatter(total + 1, squares + 1, n + 2)
    effective = min(as_seen, careful, float(n * draws))
    return wilson(total / n * effective, effective)


def _scatter(total: float, squares: float, n: int) -> float:
    """Divide the variance of single draws by that between persons; 1 where they are all alike."""
    mean = total / n
    between = (squares / n - mean * mean) * n / (n - 1)
    return mean * (1 - mean) / between if between > 1e-15 else 1.0


@dataclass(frozen=True, repr=False)
class TrajectoryStep(render.PrintedFields):
    """What was measured for one number of linked records.

    Attributes
    ----------
    length : int
        Number of linked records that an attacker knows.
    n_users, n_short : int
        Users who have so many, over whom the share is; and users who have not.
    singled_out : float or None
        A mean over those users: of each the share of their sets of points that fewer than k users
        have. With ``points="any"`` these are the sets that were drawn, one a user unless `draws`
        says more, so that it is the share of users who are singled out. With ``"consecutive"`` they
        are all runs of a user: it is the chance that a run of somebody, taken at random, singles
        that person out, and a user of many runs counts as much as one of few. None if nobody has
        so many.
    interval : (float, float) or None
        Its 95% interval; None where every set was counted and there is nothing to estimate.
    suppressed : float or None
        The anonymity ratio: share of the records in sets that fewer than k users have; with
        ``"consecutive"`` of all runs, so that a user of many runs counts more.
    """

    length: int
    n_users: int
    n_short: int
    singled_out: float | None
    interval: tuple[float, float] | None
    suppressed: float | None


@dataclass(frozen=True, repr=False)
class Trajectory(Document, render.PrintedTable):
    """How many users a few of their linked records single out; see `anonrisk.trajectory`.

    Attributes
    ----------
    length, k : int
        What was asked.
    points : str
        Which records an attacker knows: ``"any"`` or ``"consecutive"`` ones.
    ordered : bool
        Whether the attacker knows their order.
    n_records, n_dropped, n_users, n_items : int
        Size of what was measured.
    measured : tuple of TrajectoryStep
        One for each length from 1 on.
    modelled : tuple or None
        The Zipf model for the same lengths; None with fewer than two items.
    fit, fit_ml : Fit or None
        The Zipf law of the items, by least squares as in the paper, and by maximum likelihood.
    mean_gap : timedelta, float or None
        Mean time between two records of a user; a number where times are numbers, None without.
    seed : int or None
        What the drawing of sets can be repeated with; None where nothing was drawn.
    n_steps, n_done : int
        How often sets of some length were asked to be measured (each length once a draw), and how
        often they were.
    """

    user: Hashable
    item: tuple[Hashable, ...]
    length: int
    k: int
    points: str
    ordered: bool
    n_records: int
    n_dropped: int
    n_users: int
    n_items: int
    measured: tuple[TrajectoryStep, ...]
    modelled: tuple[ZipfStep, ...] | None
    fit: Fit | None
    fit_ml: Fit | None
    model: Zipf | None
    mean_gap: dt.timedelta | float | None
    seed: int | None
    missing: str = "value"
    n_steps: int = 0
    n_done: int = 0
    _document = (
        *("user", "item", "length", "k", "points", "ordered", "missing", "seed", "n_records"),
        *("n_dropped", "n_users", "n_items", "partial", "complete", "n_steps", "n_done"),
        *("measured", "modelled", "fit", "fit_ml"),
    )

    @property
    def partial(self) -> bool:
        """Whether Ctrl-C stopped it: longer sets, or some of the draws, are not in it."""
        return self.n_done < self.n_steps

    @property
    def complete(self) -> bool:
        """Whether all that was asked for was measured; the opposite of `partial`."""
        return not self.partial

    def at(self, length: int) -> TrajectoryStep:
        """Return what was measured for one length.

        Parameters
        ----------
        length : int
            From 1 to the longest that was asked for.
        """
        number = whole_number(length, "length", at_least=1)
        if number > len(self.measured):
            more = f"give max_length={number} to trajectory"
            raise ArgumentError(
                f"length {number} was not measured; {self._stopped() if self.partial else more}"
            )
        return self.measured[number - 1]

    @property
    def singled_out(self) -> float:
        """Mean over the users of how often `length` of their records single them out.

        See `TrajectoryStep` for which records those are.
        """
        share = self.at(self.length).singled_out
        if share is None:
            raise ArgumentError(
                f"no user has {self.length} points; the longest that is known: "
                f"{self._longest_known()}"
            )
        return share

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of `singled_out`; None where it was counted."""
        return self.at(self.length).interval

    @property
    def suppressed(self) -> float | None:
        """The anonymity ratio at `length`."""
        return self.at(self.length).suppressed

    @property
    def records_needed(self) -> float | None:
        """Number of records that single everybody out, by the model; see `Zipf.records_for_all`."""
        return None if self.model is None else self.model.records_for_all()

    def change_after(self, share: float = 0.05) -> int | None:
        """Return after how many records a pseudonym must change, by what was measured.

        The most linked records at which the upper end of the interval is at most `share`; 0 if a
        single record is too many; None if even the longest that was measured is not, so that one
        must ask for a larger `max_length`.
        """
        limit = share_of(share)
        for step in self.measured:
            if step.singled_out is None:
                return None
            worst = step.singled_out if step.interval is None else step.interval[1]
            if worst > limit:
                return step.length - 1
        return None

    def lifetime(self, length: int | None = None) -> dt.timedelta | float | None:
        """Return how long a pseudonym may live before `length` records are linked, on average.

        From a user's first record to the one that makes them `length`: (length − 1) mean gaps.
        None without times.
        """
        number = self.length if length is None else whole_number(length, "length", at_least=1)
        return None if self.mean_gap is None else (number - 1) * self.mean_gap

    def _longest_known(self) -> int:
        return max((m.length for m in self.measured if m.n_users), default=0)

    # ---- leaving --------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per length, measured and modelled side by side."""
        import pandas as pd

        rows = []
        for number, step in enumerate(self.measured):
            low, high = step.interval or (None, None)
            row = {
                "length": step.length,
                "users": step.n_users,
                "short": step.n_short,
                "singled_out": step.singled_out,
                "low": low,
                "high": high,
                "suppressed": step.suppressed,
                "lifetime": self.lifetime(step.length),
            }
            if self.modelled is not None:
                model = self.modelled[number]
                row |= {
                    "model_unique": model.unique,
                    "model_suppressed": model.suppressed,
                    "model_rank": model.rank,
                    "model_mean_rank": model.mean_rank,
                }
            rows.append(row)
        return pd.DataFrame(rows).set_index("length")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share that each number of records singles out, measured and modelled.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        ax, colours = pictures.start(ax)
        known = [step for step in self.measured if step.singled_out is not None]
        ax.plot(
            [step.length for step in known],
            [step.singled_out or 0.0 for step in known],
            marker="o",
            color=colours.blue,
            label=f"measured: {self._measured_of()}",
        )
        drawn = [(step.length, *step.interval) for step in known if step.interval is not None]
        if drawn:
            places, low, high = zip(*drawn, strict=True)
            ax.fill_between(
                *(places, low, high), color=colours.blue, alpha=0.25, linewidth=0, label="95%"
            )
        if self.modelled is not None:
            ax.plot(
                [step.length for step in self.modelled],
                [step.unique for step in self.modelled],
                marker="s",
                linestyle="--",
                color=colours.bad,
                label="Zipf model: exactly that many records each, in order",
            )
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlim(0.5, len(self.measured) + 0.5)
        pictures.whole_numbers(ax.xaxis)
        pictures.in_percent(ax.yaxis)
        ax.set_xlabel("linked records known of a user")
        share = "share of users singled out"
        if self.points == "consecutive":
            share = "share of a user's runs singled out,\nmean over users"
        ax.set_ylabel(f"{share} (k = {self.k})")
        partial = f". PARTIAL: {self._stopped()}" if self.partial else ""
        pictures.titled(ax, self._headline(known) + partial)
        pictures.explained(ax)
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; a mean gap in seconds, or as a number."""
        written, gap = super().to_dict(), self.mean_gap
        seconds = gap.total_seconds() if isinstance(gap, dt.timedelta) else None
        number = None if isinstance(gap, dt.timedelta) else gap
        # No number at all is needed where infinitely many records would be.
        modelled = self.modelled and [_finite(step) for step in self.modelled]
        gaps = {"mean_gap_seconds": seconds, "mean_gap_number": number}
        return written | {"modelled": modelled} | gaps

    def _headline(self, known: list[TrajectoryStep]) -> str:
        items = pictures.joined(self.item)
        if not known:
            return f"No user has a record of {items}"
        last = known[min(self.length, len(known)) - 1]
        records = render.count_of(last.length, "linked record")
        share = _share(last.singled_out)
        if self.points == "consecutive":
            return f"A run of {records} of {items} singles out its user with a chance of {share}"
        return f"{records} of {items} single{'s' * (last.length == 1)} out {share} of the users"

    def _lines(self) -> list[str]:
        known = f"{self.points} {'ordered ' if self.ordered else ''}records".removeprefix("any ")
        if self.points == "any":
            known = "records in order" if self.ordered else "records, as a set"
        size = ", ".join(
            (
                f"{render.count_of(self.n_records, 'record')} of "
                + render.count_of(self.n_users, "user"),
                render.count_of(self.n_items, "item"),
            )
        )
        about = f"Traces of {render.named(self.user)} over {render.joined(self.item)}"
        lines = [f"{about}: {size}; {known}, k = {self.k}"]
        if self.partial:
            lines.append(f"PARTIAL: {self._stopped()}")
        if self.fit is not None:
            lines.append(f"Zipf: {self.fit}")
        if self.modelled is not None:
            # The model answers another question than what was measured.
            lines.append(
                "model: users with exactly that many records, in order; measured: "
                f"{self._measured_of()}"
            )
        if self.points == "consecutive":
            lines.append(
                f"singled out: mean over users of the share of their runs that fewer than {self.k} "
                "users have; suppressed: such runs of all runs"
            )
        if self.mean_gap is not None:
            gap = self.mean_gap if isinstance(self.mean_gap, dt.timedelta) else f"{self.mean_gap:g}"
            lines.append(f"mean time between two records of a user: {gap}")
        if self.n_dropped:
            rows = render.count_of(self.n_dropped, "record")
            lines.append(f"{rows} with a missing item left out")
        return lines

    def _stopped(self) -> str:
        return stopped_after(self.n_done, self.n_steps, MEASURED)

    def _measured_of(self) -> str:
        which = "runs" if self.points == "consecutive" else "points"
        return f"{which} of whole traces{'' if self.ordered else ', in any order'}"

    def _header(self) -> tuple[str, ...]:
        return (
            *("length", "users", "singled out", "95% interval"),
            *("model: singled out", "suppressed", "model: suppressed"),
        )

    def _rows(self) -> list[list[str]]:
        rows = []
        for number, step in enumerate(self.measured):
            model = None if self.modelled is None else self.modelled[number]
            low_high = "counted" if step.n_users else "-"
            if step.interval is not None:
                low_high = " to ".join(render.percent(end) for end in step.interval)
            rows.append(
                [
                    str(step.length),
                    f"{step.n_users:,}",
                    _share(step.singled_out),
                    low_high,
                    _share(None if model is None else model.unique),
                    _share(step.suppressed),
                    _share(None if model is None else model.suppressed),
                ]
            )
        return rows


def _share(share: float | None) -> str:
    return "-" if share is None else render.percent(share)


def _finite(step: ZipfStep) -> dict[str, Any]:
    """Return what JSON can hold: it knows no infinity."""
    return {name: value if value < float("inf") else None for name, value in asdict(step).items()}
