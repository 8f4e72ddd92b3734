"""Bounds on a population that need no model of it: a small programme (P0).

A population with D_F classes of size F gives, on average, Σ D_F P(j | F) sample classes of size j.
The sample says what those averages can be; the programme asks how many uniques, or how many
correct matches, any population of N people has that agrees with it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import ceil, floor, hypot
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import instance_of
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.core.results import Interval
from anonrisk.errors import ModelError
from anonrisk.measures.counts.population import ClusteredClasses
from anonrisk.predict.population.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from anonrisk.core.types import Floats, Integers

    Gain: TypeAlias = Callable[[Integers], Floats]


def of_clusters(
    counted: ClusteredClasses, persons: Sample, most: int
) -> tuple[Sample, Floats, float]:
    """Return the sample of clusters, the rows of the programme (most + 1,), and their spread λ.

    Notes
    -----
    A class of s parts, b of which have one member, counts as b/s of one in row s, or in the last
    row where s > `most`: if x_r people of the population are such a part of a class of r, the
    expected number is Σ x_r P(s | r)/r. With Δ the rows with a part less those without it, v_h the
    sum of Δ over the parts of cluster h, z_h its people and R = Σ v_h / Σ z_h, what clusters add to
    the covariance is, on average (two classes sharing no second cluster more than chance has it),
    C = (1 − f) (Σ_h (v_h − R z_h)(v_h − R z_h)ᵀ − Σ ΔΔᵀ). The rows themselves have variances of a
    Poisson number at most, V, and λ is 1 plus the largest eigenvalue of V^(−½) C V^(−½).
    """
    n_clusters = counted.n_clusters
    homes = Sample.of({1: n_clusters}, max(n_clusters, round(n_clusters / persons.f)))
    singly = counted.members == 1
    parts = np.bincount(counted.class_of)
    single = np.bincount(counted.class_of, singly)
    rows = np.bincount(_row(parts, most), single / parts, most + 1).astype(np.float64)
    parts, single = parts[counted.class_of], single[counted.class_of]
    changes = np.zeros((len(parts), most + 1))
    at = np.arange(len(parts))
    changes[at, _row(parts, most)] = single / parts
    some = at[parts > 1]
    left = (single - singly)[some] / (parts[some] - 1)
    changes[some, _row(parts[some] - 1, most)] -= left
    together = np.zeros((n_clusters, most + 1))
    np.add.at(together, counted.cluster_of, changes)
    people = counted.people
    together -= np.outer(people, together.sum(axis=0) / people.sum())
    common = (1 - homes.f) * (together.T @ together - changes.T @ changes)
    sd = np.sqrt(np.maximum(rows, 1))
    spread = 1 + max(0.0, float(np.linalg.eigvalsh(common / np.outer(sd, sd))[-1]))
    return homes, rows, spread


def _row(parts: Integers, most: int) -> Integers:
    return np.minimum(parts, most + 1) - 1


LEVEL = 0.95
# What is said beside the level, for those who ask what is likely.
LIKELY = 0.8
# The part of the 5% that is left for the luck of the draw, where a figure is of this very table.
OF_DRAW = 0.01
# Sample classes up to this size have a row each in the programme, larger ones share one. Measured:
# bounds are as wide with 5 rows, and wider by a twentieth with 16.
_ROWS = 8
# Classes with this many expected members in the sample are in the last row but for 1e-16.
_SURE = 60.0
# How far the nearest population may be from a simple random sample, in standard deviations: the
# root of what χ² with a degree of freedom per row exceeds in one of twenty; it has fewer, as the
# nearest fits. Up to so many times it bounds are widened, which the result says; then given up.
_FAR, _HOPELESS = 4.1, 2.0
# The sizes that the programme starts with, and all those that it may use: every one up to a number,
# then steps by a ratio. What it starts with changes hardly more than the time.
_START = (60, 1.08)
EVERY_SIZE = 4_000
_ALL = (EVERY_SIZE, 1.001)
# Sizes that are added at a time, and how often.
_ADDED, _ROUNDS = 40, 80
# How near, as a share, a bound comes to the best one before it is taken; and of what at least.
_NEAR, _OF_LEAST = 5e-3, 1e-3
# Where a table has none of some clusters, at most so many of them, 3.69, were expected in it: the
# limit of a Poisson number of 0 at 97.5%.
_UNSEEN = 4
# What the sum of all shares weighs beside the rows, where the nearest population is sought.
_HEAVY = 1e4


@dataclass(frozen=True, repr=False)
class Bounds(PrintedFields):
    """What any population can be that agrees with the sample, each figure at 95%.

    Attributes
    ----------
    uniques : Interval
        People who are unique in the population.
    likely_uniques : Interval
        The same at 80%: what is likely, beside what a gate may rely on.
    singletons_unique : Interval or None
        Share of the table's singletons who are unique in the population; none without singletons.
    matches : Interval
        Correct matches that somebody who links the table's singletons can expect.
    widened : float
        1, or the factor by which the table is further from any population than a simple random
        sample is.
    basis : str
        ``"sample"``, ``"clusters"`` if whole ones were drawn, ``"population"`` if the table is all
        of it, or ``"certain"`` where the bounds are those that hold however the table was drawn.
    """

    uniques: Interval
    likely_uniques: Interval
    singletons_unique: Interval | None
    matches: Interval
    widened: float = 1.0
    basis: str = "sample"


def bounds(sample: Sample, clustered: ClusteredClasses | None = None) -> Bounds:
    """Bound the uniques and the expected matches without a model.

    Parameters
    ----------
    sample : Sample
        The table's class sizes and the size of the population.
    clustered : ClusteredClasses, optional
        The clusters that the records come from, where whole clusters were drawn.

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
    the table's, all rows together: Σ (mⱼ − sⱼ)²/σⱼ² ≤ z² + d², where σⱼ is the way from sⱼ to the
    exact limit of a Poisson mean, divided by z, and d is how far the nearest population is. It
    assumes that everybody had the same chance to be in the table.

    Where whole clusters were drawn, F and j count parts (P14), D_F the parts of one member in
    classes of F parts, each divided by F, so that unique people are D₁ again; who has no such part
    is in no row. A match with one of F parts is right with a chance of 1/F at most. Limits are λ
    times those of a Poisson number of sⱼ/λ, where λ is the largest by which clusters make any sum
    of the rows vary more; and those from above are never below the mean size of the four largest
    clusters times the limit of a Poisson number of 0, for so many may hold everybody and not have
    been drawn.

    References
    ----------
    - B. W. Rust & W. R. Burrus, *Mathematical Programming and the Numerical Solution of Linear
      Equations*, 1972: bounds on one figure of what no data determine.
    - G. Y. Zou, W. Huang & X. Zhang, *A note on confidence interval estimation for a linear
      function of binomial proportions*, CSDA 53, 2009: limits to both sides, put together.
    - docs/measures/predict_population.md says how they were tested.

    Examples
    --------
    >>> from anonrisk.predict.population import Sample
    >>> found = bounds(Sample.of({1: 40, 2: 10, 3: 5}, 150))
    >>> found.uniques.low < 30 < found.uniques.high
    True
    """
    instance_of(sample, Sample, "sample")
    if clustered is not None:
        instance_of(clustered, ClusteredClasses, "clustered")
    if sample.n == sample.N:
        return counted(sample)
    programme = Programme(sample, clustered)
    needed = programme.needed
    if needed > _HOPELESS:
        return replace(certainties(sample), widened=needed)
    try:
        return _with_certainties(sample, programme)
    except ModelError:
        return replace(certainties(sample), widened=needed + 1)


def counted(sample: Sample) -> Bounds:
    """Return what is certain of a table that is the whole population."""
    s1 = sample.s(1)
    exact = Interval(s1, s1)
    share = Interval(1.0, 1.0) if s1 else None
    return Bounds(exact, exact, share, exact, basis="population")


def certainties(sample: Sample) -> Bounds:
    """Return the bounds that hold however the table was drawn.

    Each person who is not in the table can make at most one of its singletons common, and can be
    at most one more unique person.
    """
    s1, rest = sample.s(1), sample.N - sample.n
    low = max(0, s1 - rest)
    share = Interval(low / s1, 1.0) if s1 else None
    uniques = Interval(low, s1 + rest)
    return Bounds(uniques, uniques, share, Interval(low, s1), basis="certain")


def _with_certainties(sample: Sample, programme: Programme) -> Bounds:
    """Add the luck of the draw, and take away what cannot be."""
    from scipy.special import pdtrik

    sure, s1, widened = certainties(sample), sample.s(1), programme.needed
    basis, spread = programme.basis, programme.spread

    def people(alpha: float) -> Interval:
        asked = programme.between(programme.uniques, alpha)
        low, high = sure.uniques
        return Interval(min(max(asked.low, low), high), min(asked.high, high))

    uniques, likely = people(1 - LEVEL), people(1 - LIKELY)
    of_table = 1 - LEVEL - OF_DRAW
    matches = programme.between(programme.matches, of_table)
    if basis == "clusters":
        low, high = programme.between(programme.uniques, of_table)
        matches = Interval(low * sample.f, max(matches.high, high * sample.f))
    if not s1:
        # Nothing of this table to match: what stays is the average of tables drawn like it.
        return Bounds(uniques, likely, None, matches, widened, basis)
    result = drawn(people(of_table), sample.f, spread)
    known = Interval(min(max(result.low, sure.matches.low), s1), min(result.high, s1))
    # A sum of shares of certainty varies less than a Poisson number of the same mean.
    least, most = matches / spread
    low = floor(spread * pdtrik(OF_DRAW / 2, least)) if least >= 1 else 0
    high = ceil(spread * pdtrik(1 - OF_DRAW / 2, most)) if most > 0 else 0
    result = Interval(
        min(max(low, sure.matches.low, 0), s1), min(max(high, known.low, sure.matches.low), s1)
    )
    return Bounds(uniques, likely, known / s1, result, widened, basis)


def drawn(people: Interval, fraction: float, spread: float = 1.0) -> Interval:
    """Return how many of some people come into a table: a draw of each with the same chance.

    Without replacement it varies less, and so does a sum of shares of certainty. `spread` is by
    how much its variance is larger where people are drawn together.
    """
    from scipy.special import bdtrik

    least, most = floor(people.low / spread), ceil(people.high / spread)
    low = floor(spread * bdtrik(OF_DRAW / 2, least, fraction)) if least else 0
    high = ceil(spread * bdtrik(1 - OF_DRAW / 2, most, fraction)) if most else 0
    return Interval(max(low, 0), high)


class Programme:
    """The programme of one sample, of persons or of whole clusters.

    Its unknowns are the shares x_F of the people who are in classes of size F, so that the
    matrix of every sample has the same scale. The answer comes from the dual: the least of
    c·s + l + r‖c‖ with Σ cⱼ mⱼ(F) + l ≥ g(F) for every size F, where s are the sample's classes,
    mⱼ(F) the expected ones, g what is gained, and ‖c‖ weighs each cⱼ by the limit on its side. Any
    c and l prove a bound, and whatever the solver rounds is added to it. The norm is approached by
    planes, and the sizes by those that would change the answer.
    """

    def __init__(self, sample: Sample, clustered: ClusteredClasses | None = None) -> None:
        """Set up the rows."""
        self.people, self.basis = sample.N, "sample" if clustered is None else "clusters"
        if clustered is None:
            seen = [sample.s(size) for size in range(1, _ROWS + 1)]
            self.counts = np.array([*seen, sample.u - sum(seen)], dtype=float)
            self.spread, self.largest = 1.0, 0.0
        else:
            sample, self.counts, self.spread = of_clusters(clustered, sample, _ROWS)
            self.largest = float(np.sort(clustered.people)[-_UNSEEN:].mean())
        self.sample = sample
        self.sizes = self._steps(*_ALL)
        # Which of the sizes are in use.
        self.used = np.flatnonzero(np.isin(self.sizes, self._steps(*_START)))
        # Directions of the planes, (n_planes, 2 (rows + 1)).
        self.planes = np.eye(2 * len(self.counts))

    def _deviations(self, alpha: float) -> tuple[float, Floats]:
        """Return z, and the exact limits of a Poisson mean by it: those above, then those below.

        They are the ways from each count, (2 (rows + 1),), by which z standard deviations are.
        """
        from scipy.special import gammainccinv, gammaincinv, ndtri

        z = -float(ndtri(alpha / 2))
        counts = self.counts / self.spread
        some = np.maximum(counts, 0.5 / self.spread)
        low = np.where(counts > 0, gammaincinv(some, alpha / 2), 0.0)
        above = self.spread * (gammainccinv(counts + 1, alpha / 2) - counts)
        # Nobody knows who lives in clusters that were not drawn.
        above = np.maximum(above, self.largest * gammainccinv(1, alpha / 2))
        return z, np.concatenate((above, self.spread * (counts - low))) / z

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
    def _expected(self) -> Floats:
        """The sample classes of each row if all people were in classes of one size."""
        expected = np.asarray(self._chances(self.sizes) / self.sizes * self.people)
        if self.basis == "clusters":
            # For all who share a class with somebody of their own cluster.
            expected[:, -1] = 0.0
        return expected

    @cached_property
    def _missed(self) -> Floats:
        """By how much the nearest population misses each row; its sizes come into use."""
        from scipy.optimize import nnls

        deviation = np.sqrt(self.counts + 1)
        rows = np.vstack((self._expected / deviation[:, None], np.full(len(self.sizes), _HEAVY)))
        try:
            shares, _ = nnls(rows, np.append(self.counts / deviation, _HEAVY), maxiter=20_000)
        except RuntimeError:
            # Not found: as far as can be, so that nothing relies on it.
            return np.full_like(self.counts, self.people)
        self.used = np.union1d(self.used, np.flatnonzero(shares))
        return np.asarray(self._expected @ (shares / shares.sum()) - self.counts)

    def _misses(self, deviations: Floats) -> Floats:
        """Return the misses above and below, in standard deviations, (2 (rows + 1),)."""
        both = np.maximum(np.concatenate((self._missed, -self._missed)), 0.0)
        return np.divide(both, deviations, out=np.zeros_like(both), where=both > 0)

    @cached_property
    def needed(self) -> float:
        """How many times further any population is from the table than from a random sample.

        One, unless the table is not a simple random sample: small classes were cut from it, say.
        """
        _, deviations = self._deviations(1 - LEVEL)
        return max(1.0, float(np.linalg.norm(self._misses(deviations))) / _FAR)

    def between(self, gain: Gain, alpha: float) -> Interval:
        """Return the least and the largest total of a gain per person; wrong with chance alpha."""
        gains = gain(self.sizes)
        low, high = -self._most(-gains, alpha), self._most(gains, alpha)
        # What was added for rounding must not make less than none of it.
        return Interval(max(0.0, low) * self.people, max(0.0, high) * self.people)

    def _most(self, gains: Floats, alpha: float) -> float:
        """Bound Σ gains x from above."""
        z, deviations = self._deviations(alpha)
        misses = self._misses(deviations)
        distance = float(np.linalg.norm(misses))
        # Where no population agrees, what it takes to agree at all comes on top.
        radius = hypot(z, distance) if self.needed == 1 else z + distance
        if distance:
            # Without a plane in this direction the nearest population is not inside.
            self.planes = np.vstack((self.planes, misses / distance))
        # A limit of 0 below has no price, and nothing is gained by it.
        open_ = deviations > 0
        scale = deviations[open_]
        matrix = np.vstack((self._expected, -self._expected))[open_] / scale[:, None]
        counts = np.concatenate((self.counts, -self.counts))[open_] / scale
        best = np.inf
        for _ in range(_ROUNDS):
            result = _solve(
                counts, radius, matrix[:, self.used], gains[self.used], self.planes[:, open_]
            )
            if result is None:
                break
            weights, level, least = result
            missing = gains - weights @ matrix - level
            norm = float(np.linalg.norm(weights))
            value = float(weights @ counts) + level + max(float(missing.max()), 0.0) + radius * norm
            best = min(best, value)
            if best - least <= _NEAR * max(abs(best), _OF_LEAST):
                break
            new = np.flatnonzero(missing > 1e-9)
            new = new[~np.isin(new, self.used)]
            if len(new):
                self.used = np.union1d(self.used, self._lowest(-missing, new))
            if norm:
                plane = np.zeros(len(deviations))
                plane[open_] = weights / norm
                self.planes = np.vstack((self.planes, plane))
        if not np.isfinite(best):
            raise ModelError("no bounds: the programme over all populations could not be solved")
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


def _solve(
    counts: Floats, radius: float, matrix: Floats, gains: Floats, planes: Floats
) -> tuple[Floats, float, float] | None:
    """Solve for some sizes and planes; give weights, level and value of the dual, None if it fails.

    `counts` is (n_weights,), `matrix` (n_weights, n_sizes), `gains` (n_sizes,), `planes`
    (n_planes, n_weights).
    """
    from scipy.optimize import linprog

    n_sizes, n_planes = len(gains), len(planes)
    shares = np.concatenate((np.ones(n_sizes), np.zeros(n_planes)))
    result = linprog(
        np.concatenate((-gains, np.zeros(n_planes))),
        np.vstack((np.hstack((matrix, -planes.T)), 1 - shares)),
        np.append(counts, radius),
        shares[None, :],
        [1.0],
        method="highs",
    )
    if not result.success or result.fun is None:
        return None
    weights = np.maximum(-result.ineqlin.marginals[:-1], 0.0)
    return weights, -float(result.eqlin.marginals[0]), -float(result.fun)
