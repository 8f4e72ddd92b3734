"""Bounds on a population that need no model of it: a small linear programme (P0).

A population with D_F classes of size F gives, on average, Σ D_F P(j | F) sample classes of size j.
The sample says what those averages can be; the programme asks how many uniques, or how many
correct matches, any population of N people has that agrees with it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.results import Interval
from anonrisk.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from scipy.optimize import OptimizeResult

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.predict.population.sample import Sample

    Gain: TypeAlias = Callable[[Integers], Floats]

LEVEL = 0.95
# Sample classes up to this size have a row each in the programme, larger ones share one.
_ROWS = 8
# Classes with this many expected members in the sample are in the last row but for 1e-16.
_SURE = 60.0
# A table that needs limits wider than this times is not a simple random sample.
_HOPELESS = 2.0
# The sizes that the programme may use, and those at which its answer is checked: all up to a
# number, then steps by a ratio.
_USED = (1_000, 1.002)
_CHECKED = (20_000, 1.0005)


@dataclass(frozen=True)
class Bounds:
    """What any population can be that agrees with the sample, at 95%.

    Attributes
    ----------
    uniques : Interval
        People who are unique in the population.
    singletons_unique : Interval or None
        Share of the table's singletons who are unique in the population; none without singletons.
    matches : Interval
        Correct matches that somebody who links the table's singletons can expect.
    widened : float
        1, or the factor by which the limits were widened because no population agreed with them.
    basis : str
        ``"sample"``, ``"population"`` if the table is all of it, or ``"certain"`` where the bounds
        are those that hold however the table was drawn.
    """

    uniques: Interval
    singletons_unique: Interval | None
    matches: Interval
    widened: float = 1.0
    basis: str = "sample"


def bounds(sample: Sample) -> Bounds:
    """Bound the uniques and the expected matches without a model.

    Examples
    --------
    >>> from anonrisk.predict.population import Sample
    >>> found = bounds(Sample.of({1: 40, 2: 10, 3: 5}, 150))
    >>> found.uniques.low < 30 < found.uniques.high
    True
    """
    if sample.n == sample.N:
        return counted(sample)
    programme = Programme(sample)
    needed = programme.needed()
    if needed > _HOPELESS:
        return replace(certainties(sample), widened=needed)
    # The sample's own uncertainty comes on top of what it takes to agree at all; and what agrees
    # only by the solver's tolerance may not do so for another question.
    for factor in (1.0, 2.0) if needed == 1 else (needed + 1,):
        programme.widened = factor
        with suppress(ModelError):
            all_, matches = (
                programme.between(gain) for gain in (programme.uniques, programme.matches)
            )
            return _with_certainties(sample, all_, matches, programme.alpha, factor)
    return replace(certainties(sample), widened=needed + 1)


def counted(sample: Sample) -> Bounds:
    """Give what is certain of a table that is the whole population."""
    s1 = sample.s(1)
    exact = Interval(s1, s1)
    return Bounds(exact, Interval(1.0, 1.0) if s1 else None, exact, basis="population")


def certainties(sample: Sample) -> Bounds:
    """Give the bounds that hold however the table was drawn.

    Each person who is not in the table can make at most one of its singletons common, and can be
    at most one more unique person.
    """
    s1, rest = sample.s(1), sample.N - sample.n
    low = max(0, s1 - rest)
    share = Interval(low / s1, 1.0) if s1 else None
    return Bounds(Interval(low, s1 + rest), share, Interval(low, s1), basis="certain")


def _with_certainties(
    sample: Sample, all_: Interval, matches: Interval, alpha: float, widened: float
) -> Bounds:
    """Add the luck of the draw, and take away what cannot be."""
    from scipy.special import bdtrik, pdtrik

    sure, s1 = certainties(sample), sample.s(1)
    uniques = Interval(
        min(max(all_.low, sure.uniques.low), sure.uniques.high), min(all_.high, sure.uniques.high)
    )
    if not s1:
        # Nothing of this table to match: what stays is the average of tables drawn like it.
        return Bounds(uniques, None, matches, widened)
    # Uniques come into the table by a draw without replacement, which varies less than this.
    least, most = floor(uniques.low), ceil(uniques.high)
    low = floor(bdtrik(alpha / 2, least, sample.f)) if least else 0
    high = ceil(bdtrik(1 - alpha / 2, most, sample.f)) if most else 0
    known = Interval(min(max(low, sure.matches.low, 0), s1), min(high, s1))
    # A sum of shares of certainty varies less than a Poisson number of the same mean.
    low = floor(pdtrik(alpha / 2, matches.low)) if matches.low >= 1 else 0
    high = ceil(pdtrik(1 - alpha / 2, matches.high)) if matches.high > 0 else 0
    found = Interval(
        min(max(low, sure.matches.low, 0), s1), min(max(high, known.low, sure.matches.low), s1)
    )
    return Bounds(uniques, known / s1, found, widened)


class Programme:
    """The linear programme of one sample.

    Its unknowns are the shares x_F of the people who are in classes of size F, so that the
    matrix of every sample has the same scale. An answer comes from the dual: whatever the solver
    rounds, and whatever sizes between those used would add, is added to the bound.
    """

    def __init__(self, sample: Sample, *, sizes: Integers | None = None) -> None:
        """Set up the rows; `sizes` are the population class sizes to use."""
        self.sample = sample
        self.widened = 1.0
        # One part of the 5% for each row, and one for the luck of the draw.
        self.alpha = (1 - LEVEL) / (_ROWS + 2)
        self.sizes = self._steps(*_USED) if sizes is None else sizes
        self.low, self.high = self._limits()
        self.half = (self.high - self.low) / 2

    def _limits(self) -> tuple[Floats, Floats]:
        """Give what the average number of sample classes of each size can be."""
        from scipy.special import gammainccinv, gammaincinv, ndtri

        seen = [self.sample.s(size) for size in range(1, _ROWS + 1)]
        counts = np.array([*seen, self.sample.u - sum(seen)], dtype=float)
        # Exact limits of a Poisson mean, or s ± z √(s + 1) where that is wider.
        spread = -ndtri((1 - LEVEL) / 2) * np.sqrt(counts + 1)
        low = np.where(counts > 0, gammaincinv(np.maximum(counts, 0.5), self.alpha / 2), 0.0)
        high = gammainccinv(counts + 1, self.alpha / 2)
        return np.maximum(np.minimum(low, counts - spread), 0.0), np.maximum(high, counts + spread)

    def _steps(self, every: int, ratio: float) -> Integers:
        top = min(self.sample.N, ceil(_SURE / self.sample.f))
        small = np.arange(1, min(every, top) + 1)
        n_more = ceil(np.log(top / small[-1]) / np.log(ratio))
        more = np.minimum(np.ceil(small[-1] * ratio ** np.arange(1, n_more + 1)), top)
        # Beyond the top only the number of people matters, which is linear in between.
        return np.unique(np.concatenate((small, more, [self.sample.N]))).astype(np.int64)

    def uniques(self, sizes: Integers) -> Floats:
        """Give the uniques per person in classes of each size."""
        unique: Floats = (sizes == 1).astype(float)
        return unique

    def matches(self, sizes: Integers) -> Floats:
        """Give the expected correct matches per person in classes of each size."""
        matched: Floats = self._chances(sizes)[0] / sizes / sizes
        return matched

    def _rows(self, sizes: Integers) -> Floats:
        return self._chances(sizes) / sizes * (self.sample.N / self.half[:, None])

    def _chances(self, sizes: Integers) -> Floats:
        """Give P(j | F) for j = 1, 2, …, and for all larger j, a column for each F."""
        F, j = sizes[None, :].astype(float), np.arange(_ROWS + 1)[:, None]
        exact = sizes <= ceil(_SURE / self.sample.f)
        table = np.zeros((_ROWS + 1, len(sizes)))
        chances = self._urn if self.sample.finite else self._binomial
        table[:, exact] = chances(F[:, exact], j)
        larger = np.where(exact, np.maximum(1 - table.sum(axis=0), 0.0), 1.0)
        return np.vstack((table[1:], larger))

    def _binomial(self, F: Floats, j: Integers) -> Floats:
        from scipy.special import gammaln

        f = self.sample.f
        with np.errstate(invalid="ignore"):
            logs = gammaln(F + 1) - gammaln(j + 1) - gammaln(np.maximum(F - j, 0) + 1)
        logs = logs + j * np.log(f) + (F - j) * np.log1p(-f)
        return np.where(j <= F, np.exp(logs), 0.0)

    def _urn(self, F: Floats, j: Integers) -> Floats:
        """Give hypergeometric chances, from falling factorials summed term by term."""
        from scipy.special import gammaln

        top = int(F.max(initial=0)) + _ROWS
        drawn, rest = _falling(self.sample.n, top), _falling(self.sample.N - self.sample.n, top)
        all_ = _falling(self.sample.N, top)
        of = F.astype(int)
        ways = gammaln(F + 1) - gammaln(j + 1) - gammaln(np.maximum(F - j, 0) + 1)
        logs = ways + drawn[j] + rest[np.maximum(of - j, 0)] - all_[of]
        return np.where(j <= F, np.exp(logs), 0.0)

    @cached_property
    def _table(self) -> Floats:
        return self._rows(self.sizes)

    @cached_property
    def _checked(self) -> tuple[Integers, Floats]:
        sizes = self._steps(*_CHECKED)
        return sizes, self._rows(sizes)

    def needed(self) -> float:
        """Give the least factor by which the limits must be widened for any population to agree.

        One, unless the table is not a simple random sample: small classes were cut from it, say.
        """
        n_rows, n_sizes = self._table.shape
        column = np.full((2 * n_rows, 1), -1.0)
        matrix = np.hstack((np.vstack((self._table, -self._table)), column))
        cost = np.append(np.zeros(n_sizes), 1.0)
        found = _solve(cost, matrix, self._right(), np.append(np.ones(n_sizes), 0.0))
        extra = max(float(found.fun), 0.0)
        return 1.0 if extra < 1e-6 else 1 + extra

    def _right(self) -> Floats:
        slack = self.widened - 1.0
        return np.concatenate((self.high / self.half + slack, slack - self.low / self.half))

    def between(self, gain: Gain) -> Interval:
        """Give the least and the largest total of a gain per person."""
        low, high = -self._most(gain, -1.0), self._most(gain, 1.0)
        # What was added for rounding must not make less than none of it.
        return Interval(max(low, 0.0), max(high, 0.0))

    def _most(self, gain: Gain, sign: float) -> float:
        matrix, right = np.vstack((self._table, -self._table)), self._right()
        found = _solve(-sign * gain(self.sizes), matrix, right, np.ones(len(self.sizes)))
        dual, level = found.ineqlin.marginals, float(found.eqlin.marginals[0])
        sizes, rows = self._checked
        # The shares sum to one, so that the worst reduced cost is all that any size can add.
        reduced = -sign * gain(sizes) - dual @ np.vstack((rows, -rows)) - level
        bound = float(right @ dual) + level + min(float(reduced.min()), 0.0)
        return -bound * self.sample.N


def _falling(start: int, top: int) -> Floats:
    """Give the logarithms of start (start − 1) …, of 0, 1, 2, … factors."""
    factors = start - np.arange(top, dtype=float)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(factors, 0.0))
    return np.concatenate(([0.0], np.cumsum(logs)))


def _solve(cost: Floats, matrix: Floats, right: Floats, shares: Floats) -> OptimizeResult:
    from scipy.optimize import linprog

    found = linprog(cost, matrix, right, shares[None, :], [1.0], method="highs")
    if not found.success:
        raise ModelError(
            "no bounds: the linear programme over all populations that agree with the table "
            f"could not be solved (status {found.status})"
        )
    return found
