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

from anonrisk.core.arguments import instance_of
from anonrisk.core.render import PrintedFields
from anonrisk.core.results import Interval
from anonrisk.errors import ModelError
from anonrisk.predict.population.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from scipy.optimize import OptimizeResult

    from anonrisk.core.arrays import Floats, Integers

    Gain: TypeAlias = Callable[[Integers], Floats]

LEVEL = 0.95
# Sample classes up to this size have a row each in the programme, larger ones share one. Chosen:
# more rows say more, but share the 5% among more limits, which widens each.
_ROWS = 8
# Classes with this many expected members in the sample are in the last row but for 1e-16.
_SURE = 60.0
# A table that needs limits wider than this times is not a simple random sample. Chosen: up to here
# they are widened, and the result says so.
_HOPELESS = 2.0
# The sizes that the programme starts with, and all those that it may use: every one up to a number,
# then steps by a ratio. What it starts with changes hardly more than the time.
_START = (60, 1.08)
EVERY_SIZE = 4_000
_ALL = (EVERY_SIZE, 1.001)
# Sizes that are added at a time, and how often.
_ADDED, _ROUNDS = 40, 40
# How near, as a share, a bound comes to the best one before it is taken.
_NEAR = 1e-4


@dataclass(frozen=True, repr=False)
class Bounds(PrintedFields):
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

    Parameters
    ----------
    sample : Sample
        The table's class sizes and the size of the population.

    Returns
    -------
    Bounds
        With `uniques` and `matches`, each an `Interval` of 95%.

    See Also
    --------
    anonrisk.predict_population : of a table
    anonrisk.predict.population.estimate : with the models beside them

    Notes
    -----
    P0: the least and the largest D₁, and Σ D_F P(1 | F)/F, over all numbers D_F ≥ 0 of population
    classes of size F with Σ F D_F = N whose expected numbers of classes in the sample agree with
    the table's. A linear programme; it assumes that everybody had the same chance to be in the
    table.

    References
    ----------
    Bounds of this library; docs/measures/predict_population.md says how they were tested.

    Examples
    --------
    >>> from anonrisk.predict.population import Sample
    >>> found = bounds(Sample.of({1: 40, 2: 10, 3: 5}, 150))
    >>> found.uniques.low < 30 < found.uniques.high
    True
    """
    instance_of(sample, Sample, "sample")
    if sample.n == sample.N:
        return counted(sample)
    programme = Programme(sample)
    needed = programme.needed
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
    """Return what is certain of a table that is the whole population."""
    s1 = sample.s(1)
    exact = Interval(s1, s1)
    return Bounds(exact, Interval(1.0, 1.0) if s1 else None, exact, basis="population")


def certainties(sample: Sample) -> Bounds:
    """Return the bounds that hold however the table was drawn.

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
    from scipy.special import pdtrik

    sure, s1 = certainties(sample), sample.s(1)
    uniques = Interval(
        min(max(all_.low, sure.uniques.low), sure.uniques.high), min(all_.high, sure.uniques.high)
    )
    if not s1:
        # Nothing of this table to match: what stays is the average of tables drawn like it.
        return Bounds(uniques, None, matches, widened)
    result = drawn(uniques, sample.f, alpha)
    known = Interval(min(max(result.low, sure.matches.low), s1), min(result.high, s1))
    # A sum of shares of certainty varies less than a Poisson number of the same mean.
    low = floor(pdtrik(alpha / 2, matches.low)) if matches.low >= 1 else 0
    high = ceil(pdtrik(1 - alpha / 2, matches.high)) if matches.high > 0 else 0
    result = Interval(
        min(max(low, sure.matches.low, 0), s1), min(max(high, known.low, sure.matches.low), s1)
    )
    return Bounds(uniques, known / s1, result, widened)


def drawn(people: Interval, fraction: float, alpha: float) -> Interval:
    """Return how many of some people come into a table: a draw of each with the same chance.

    Without replacement it varies less, and so does a sum of shares of certainty.
    """
    from scipy.special import bdtrik

    least, most = floor(people.low), ceil(people.high)
    low = floor(bdtrik(alpha / 2, least, fraction)) if least else 0
    high = ceil(bdtrik(1 - alpha / 2, most, fraction)) if most else 0
    return Interval(max(low, 0), high)


class Programme:
    """The linear programme of one sample.

    Its unknowns are the shares x_F of the people who are in classes of size F, so that the
    matrix of every sample has the same scale. It starts with few sizes, and takes in those that
    would change the answer until none would. The answer comes from the dual: whatever the solver
    rounds is added to the bound.
    """

    def __init__(self, sample: Sample) -> None:
        """Set up the rows."""
        self.sample = sample
        self.widened = 1.0
        # One part of the 5% for each row, and one for the luck of the draw.
        self.alpha = (1 - LEVEL) / (_ROWS + 2)
        self.low, self.high = self._limits()
        self.half = (self.high - self.low) / 2
        self.sizes = self._steps(*_ALL)
        # Which of the sizes are in use.
        self.used = np.flatnonzero(np.isin(self.sizes, self._steps(*_START)))

    def _limits(self) -> tuple[Floats, Floats]:
        """Return what the average number of sample classes of each size can be: (rows + 1,)."""
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
        """Return the uniques per person in classes of each size."""
        unique: Floats = (sizes == 1).astype(float)
        return unique

    def matches(self, sizes: Integers) -> Floats:
        """Return the expected correct matches per person in classes of each size."""
        matched: Floats = self._chances(sizes)[0] / sizes / sizes
        return matched

    def classes(self, sizes: Integers) -> Floats:
        """Return the classes per person in classes of each size."""
        return 1 / sizes

    def above(self, risk: float) -> Gain:
        """Return the people per person in classes of each size whose risk 1/F exceeds a number."""

        def gain(sizes: Integers) -> Floats:
            exposed: Floats = (sizes * risk < 1).astype(float)
            return exposed

        return gain

    def _chances(self, sizes: Integers) -> Floats:
        """Return P(j | F) for j = 1, 2, …, and for all larger j: (rows + 1, n_sizes)."""
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
        """Return hypergeometric chances, from falling factorials summed term by term."""
        from scipy.special import gammaln

        top = int(F.max(initial=0)) + _ROWS
        drawn, rest = _falling(self.sample.n, top), _falling(self.sample.N - self.sample.n, top)
        all_ = _falling(self.sample.N, top)
        source = F.astype(int)
        ways = gammaln(F + 1) - gammaln(j + 1) - gammaln(np.maximum(F - j, 0) + 1)
        logs = ways + drawn[j] + rest[np.maximum(source - j, 0)] - all_[source]
        return np.where(j <= F, np.exp(logs), 0.0)

    @cached_property
    def _table(self) -> Floats:
        """The upper limits of the programme, then the lower ones: (2 (rows + 1), n_sizes)."""
        rows = self._chances(self.sizes) / self.sizes * (self.sample.N / self.half[:, None])
        return np.vstack((rows, -rows))

    @cached_property
    def needed(self) -> float:
        """The least factor by which the limits must be widened for any population to agree.

        One, unless the table is not a simple random sample: small classes were cut from it, say.
        """
        right = np.concatenate((self.high / self.half, -self.low / self.half))
        extra = max(self._least(np.zeros(len(self.sizes)), right, widen=True), 0.0)
        return 1.0 if extra < 1e-6 else 1 + extra

    def between(self, gain: Gain) -> Interval:
        """Return the least and the largest total of a gain per person."""
        slack = self.widened - 1.0
        if self.needed > self.widened:
            raise ModelError("no bounds: no population agrees with the table")
        right = np.concatenate((self.high / self.half + slack, slack - self.low / self.half))
        gains = gain(self.sizes)
        low, high = self._least(gains, right), -self._least(-gains, right)
        # What was added for rounding must not make less than none of it.
        return Interval(max(low, 0.0) * self.sample.N, max(high, 0.0) * self.sample.N)

    def _least(self, cost: Floats, right: Floats, *, widen: bool = False) -> float:
        """Bound Σ cost x from below, or the amount by which all limits must be widened."""
        best = -np.inf
        for _ in range(_ROUNDS):
            result = _solve(cost[self.used], self._table[:, self.used], right, widen=widen)
            dual, level = result.ineqlin.marginals, float(result.eqlin.marginals[0])
            # The shares sum to one, so that the worst reduced cost is all that any size can add.
            reduced = cost - dual @ self._table - level
            best = max(best, float(right @ dual) + level + min(float(reduced.min()), 0.0))
            new = np.flatnonzero(reduced < -1e-9)
            new = new[~np.isin(new, self.used)]
            if not len(new) or best >= result.fun - max(_NEAR * abs(result.fun), 1e-9):
                break
            self.used = np.union1d(self.used, self._lowest(reduced, new))
        return best

    @staticmethod
    def _lowest(reduced: Floats, among: Integers) -> Integers:
        """Pick sizes that would change the answer most, not all of them neighbours."""
        beside = np.concatenate(([np.inf], reduced, [np.inf]))
        dips = among[(beside[among] >= reduced[among]) & (beside[among + 2] >= reduced[among])]
        chosen = dips if len(dips) else among
        return chosen[np.argsort(reduced[chosen])[:_ADDED]]


def _falling(start: int, top: int) -> Floats:
    """Return the logarithms of start (start − 1) …, of 0, 1, 2, … factors."""
    factors = start - np.arange(top, dtype=float)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(factors, 0.0))
    return np.concatenate(([0.0], np.cumsum(logs)))


def _solve(cost: Floats, matrix: Floats, right: Floats, *, widen: bool) -> OptimizeResult:
    from scipy.optimize import linprog

    shares = np.ones(len(cost))
    if widen:
        cost, shares = np.append(np.zeros(len(cost)), 1.0), np.append(shares, 0.0)
        matrix = np.hstack((matrix, np.full((len(matrix), 1), -1.0)))
    result = linprog(cost, matrix, right, shares[None, :], [1.0], method="highs")
    if not result.success:
        raise ModelError(
            "no bounds: the linear programme over all populations that agree with the table "
            f"could not be solved (status {result.status})"
        )
    return result
