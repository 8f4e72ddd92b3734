"""How far the values of a Normal column spread, from how many people were alone with theirs."""

from __future__ import annotations

from math import ceil, exp, inf, isinf, log, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Interval
from anonrisk.errors import ArgumentError
from anonrisk.predict import distribution
from anonrisk.predict.distribution import Distribution
from anonrisk.predict.sources import FromDistribution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.types import Floats

# Where one interval is wider than the deviation, it matters where it begins: so many are tried.
_OFFSETS = np.linspace(0.0, 0.5, 17)
# Below this deviation, in widths, everybody is in one interval or two: the second nearest edge is
# ten deviations off or more.
_LEAST = 0.05
# Neighbouring deviations that are tried differ by this factor; between two of them an end is
# narrowed down. Chosen: a smaller one takes longer, a larger one may step over an end.
_STEP = 1.25
# Intervals narrower than a twentieth of the deviation are taken together, as many alike: by less
# than 1e-4 of what sets the mean apart from the group.
_FINE = 20
# People in all groups together; the exact law of more takes too long.
_MOST = 10_000_000


@dataclass(frozen=True, repr=False)
class SigmaEstimate(render.PrintedLines):
    """A standard deviation that explains how many were alone, and those that may as well.

    Attributes
    ----------
    sigma : float
        The deviation under which as many singletons are expected as were seen; infinite where
        everybody was alone, and 0 where fewer were than under any deviation.
    interval : Interval
        The deviations that what was seen does not contradict; `low` may be 0, `high` infinite.
    singletons : tuple of int
        What was seen, group by group.
    group_size : int
        People in a group.
    width : float
        Width of the intervals to which their values were rounded.
    """

    sigma: float
    interval: Interval
    singletons: tuple[int, ...]
    group_size: int
    width: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; an infinite one is None."""
        numbers = {"sigma": self.sigma, "low": self.interval.low, "high": self.interval.high}
        return {
            **{name: None if isinf(value) else value for name, value in numbers.items()},
            "level": self.interval.level,
            "singletons": list(self.singletons),
            "group_size": self.group_size,
            "width": self.width,
        }

    def _lines(self) -> list[str]:
        low, high = self.interval
        end = "up" if isinf(high) else f"to {high:.3g}"
        sure = f"with {render.percent(self.interval.level or 0)} confidence"
        text = "no finite one" if isinf(self.sigma) else f"{self.sigma:.3g}"
        seen, groups = sum(self.singletons), len(self.singletons)
        about = f"{self.group_size:,} people" + (f" in each of {groups:,} groups" * (groups > 1))
        return [
            f"Standard deviation of the column: {text}; {low:.3g} {end} {sure}",
            (
                f"from {seen:,} alone of {about}, rounded to intervals of {self.width:g}; "
                "a Normal column"
            ),
        ]


def sigma_from_singletons(
    singletons: int | Sequence[int], group_size: int, width: float, *, level: float = 0.95
) -> SigmaEstimate:
    """Find the standard deviation of a Normal column from how many people were alone.

    Parameters
    ----------
    singletons : int or list of int
        How many of a group had a value, rounded, that nobody else of it had; one number a group.
    group_size : int
        Number of people in each group.
    width : float
        Width of the intervals to which the values were rounded.
    level : float
        How sure the interval is.

    Returns
    -------
    SigmaEstimate

    See Also
    --------
    anonrisk.predict.Distribution.normal : the bins of a Normal column
    anonrisk.predict.suggest_width : from a spread to a width

    Notes
    -----
    The inverse of I1: the deviation σ at which k Σ F(1 − F)^(k−1), with F the probabilities of the
    intervals, is the mean that was seen. The interval holds every σ under which neither so many
    singletons nor so few are rarer than (1 − level)/2, by the exact law of their number, wherever
    the intervals begin.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 6.5; corrected
    as in docs/formulas.md, ``koot-6.5``.

    Examples
    --------
    Of ten people, weighed to half a kilogram, eight are alone.

    >>> from anonrisk.predict import sigma_from_singletons
    >>> sigma_from_singletons(8, group_size=10, width=0.5)
    Standard deviation of the column: 5.67; 1.3 to 251 with 95.0% confidence
    from 8 alone of 10 people, rounded to intervals of 0.5; a Normal column
    """
    k = whole_number(group_size, "group_size", at_least=2)
    delta = positive(width, "width")
    seen = _seen(singletons, k)
    if not 0 < positive(level, "level") < 1:
        raise ArgumentError("level lies between 0 and 1, both excluded")
    case = _Seen(sum(seen), len(seen), k, (1 - level) / 2)
    ends = Interval(delta * case.low(), delta * case.high(), level)
    return SigmaEstimate(delta * case.ratio(), ends, seen, k, delta)


def _seen(value: Any, k: int) -> tuple[int, ...]:
    several = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
    seen = tuple(whole_number(each, "singletons", at_least=0) for each in several)
    if not seen:
        raise ArgumentError("singletons is empty: give how many of each group were alone")
    if max(seen) > k:
        raise ArgumentError(f"a group of {k:,} cannot have {max(seen):,} singletons")
    if k - 1 in seen:
        raise ArgumentError(
            f"a group of {k:,} cannot have {k - 1:,} singletons: the last one would be alone too"
        )
    if k * len(seen) > _MOST:
        raise ArgumentError(f"more than {_MOST:,} people are too many to try every deviation")
    return seen


@dataclass(frozen=True)
class _Seen:
    """So many singletons in all, in groups of k; deviations are in widths of an interval."""

    total: int
    groups: int
    k: int
    side: float

    @property
    def everybody(self) -> bool:
        return self.total == self.k * self.groups

    def ratio(self) -> float:
        """Find the deviation at which the mean is what was seen, the largest if there are several.

        The mean may sink a little where a wide interval takes in one that held a single person.
        """
        wanted = self.total / self.groups

        def short(ratio: float) -> float:
            means = [source.mean() for source in self._sources(ratio)]
            return wanted - float(np.mean(means))

        return inf if self.everybody else self._edge(short, self._tried()[::-1])

    def low(self) -> float:
        """Find the least deviation under which so many are not too rare."""
        return self._edge(self._at_least, self._tried()) if self.total else 0.0

    def high(self) -> float:
        """Find the largest deviation under which so few are not too rare."""
        return inf if self.everybody else self._edge(self._at_most, self._tried()[::-1])

    def _tried(self) -> Floats:
        # Beyond the largest, one pair among all the people is rarer than what is called rare.
        pairs = self.groups * self.k * (self.k - 1) / (2 * sqrt(pi))
        largest = max(pairs / self.side, 10.0)
        n = ceil(log(largest / _LEAST) / log(_STEP))
        return np.asarray(_LEAST * _STEP ** np.arange(n + 1))

    def _edge(self, above: Callable[[float], float], tried: Floats) -> float:
        """Find where a function is first above 0, on the way through the deviations."""
        from scipy.optimize import brentq

        before: float | None = None
        for ratio in tried.tolist():
            if above(ratio) > 0:
                if before is None:
                    return 0.0 if ratio == _LEAST else inf
                return exp(brentq(lambda x: above(exp(x)), log(before), log(ratio), xtol=1e-4))
            before = ratio
        return 0.0

    def _at_least(self, ratio: float) -> float:
        return self._rarer(ratio, lambda chance: chance[self.total :], at_most=False)

    def _at_most(self, ratio: float) -> float:
        return self._rarer(ratio, lambda chance: chance[: self.total + 1], at_most=True)

    def _rarer(self, ratio: float, part: Callable[[Floats], Floats], *, at_most: bool) -> float:
        """Return by how much a tail exceeds what is called rare, where intervals suit it best."""
        largest = 0.0
        for source in self._sources(ratio):
            # Cantelli's bound is at hand; the law takes its time.
            mean, variance = self.groups * source.mean(), self.groups * source.variance()
            away = mean - self.total if at_most else self.total - mean
            bound = variance / (variance + away**2) if away > 0 else 1.0
            if bound > max(largest, self.side):
                largest = max(largest, float(part(self._chances(source)).sum()))
            elif not largest:
                largest = min(bound, self.side)
        return largest - self.side

    def _chances(self, source: FromDistribution) -> Floats:
        """Return the chances of 0, 1, 2, … singletons in all groups together."""
        item = source.law().dense(self.k)
        if self.groups == 1:
            return item
        size = self.k * self.groups + 1
        return np.asarray(np.fft.irfft(np.fft.rfft(item, 2 * size) ** self.groups, 2 * size)[:size])

    def _sources(self, ratio: float) -> list[FromDistribution]:
        # From one width on it makes a difference of 1e-8 where the intervals begin.
        offsets = _OFFSETS.tolist() if ratio < 1 else [0.0]
        return [FromDistribution(_cut(ratio, offset), self.k) for offset in offsets]


def _cut(ratio: float, offset: float) -> Distribution:
    """Cut a Normal density of this deviation into intervals of width 1, many alike at a time."""
    from scipy.special import ndtr

    alike = max(1, int(ratio / _FINE))
    n = ceil(distribution.FAR * ratio / alike) + 1
    edges = (alike * np.arange(-n, n + 1) + offset) / ratio
    # On either side of the mean from the outside inwards, so that small chances keep their digits.
    p = np.where(edges[1:] <= 0, np.diff(ndtr(edges)), -np.diff(ndtr(-edges))) / alike
    p = p[p > 0]
    return Distribution(**distribution.joined(p / (p.sum() * alike), np.full(len(p), alike)))
