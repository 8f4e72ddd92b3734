"""Zipf's law for linked records: how many records of a person single them out.

The model of Kikuchi and Takahashi (2016), with its errata: `n` people make `s` records each, and
every record is one of `d` items, drawn independently with probability p(x) = g·x^(−c) for the
item of rank x. Everything follows from (d, c, n); no table is needed.
"""

from __future__ import annotations

import math
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.predict.distribution import share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from anonrisk.core.types import Floats, Integers

__all__ = ["Fit", "Product", "Zipf", "ZipfStep", "fit", "product"]


# Sums over ranks are term by term up to here, and by the Euler-Maclaurin formula beyond.
# What the formula leaves out is about its next term, c/12 of that of this rank over the rank.
_TERMS = 100_000
# Nodes of Gauss's quadrature over the logarithms of ranks beyond, a smooth function.
_RANK_NODES = 80
# Where the search for an exponent ends at first; it goes on at twice that while it must.
_STEEP = 50.0


@dataclass(frozen=True)
class Fit:
    """A Zipf law fitted to the popularity of items.

    Attributes
    ----------
    c : float
        The exponent.
    n_items : int
        Number of items.
    r_squared : float or None
        Share of the variance of the logarithms that the law explains; None where all items are
        equally popular, since there is then no variance to explain.
    method : str
        ``"least squares"`` or ``"maximum likelihood"``.
    """

    c: float
    n_items: int
    r_squared: float | None
    method: str

    def __repr__(self) -> str:
        """Print as a line."""
        explained = "-" if self.r_squared is None else f"{self.r_squared:.3f}"
        return (
            f"exponent {self.c:.3f} by {self.method} over {self.n_items:,} items, R² = {explained}"
        )


def fit(
    counts: ArrayLike | ClassCounts,
    items: ArrayLike | None = None,
    method: str = "least squares",
) -> Fit:
    """Fit a Zipf law to how often each item occurs.

    Parameters
    ----------
    counts : array of int, or ClassSizes
        How often an item occurs; in any order. Classes are items, and their sizes the counts.
    items : array of int, optional
        How many items occur so often; one for each count if left out.
    method : {"least squares", "maximum likelihood"}
        A straight line through the logarithms of rank and frequency, as in the paper, which gives
        every item the same weight; or the exponent under which these frequencies are likeliest,
        which weighs items by their records. R² is of the straight line in both cases.

    Returns
    -------
    ZipfFit
        The exponent, the number of items and R².

    See Also
    --------
    anonrisk.trajectory : fits the items of linked records
    anonrisk.predict.Distribution.zipf : the law itself
    anonrisk.predict.zipf.Zipf : what it says of linked records

    Notes
    -----
    The likelihood takes the observed ranks for the true ones, which flatters a small sample. Only
    items that occur are counted: ``Distribution.zipf(found.n_items, found.c)`` is the law of those.
    Z1 is the law that is fitted, p = g·x^(−c) at rank x.

    References
    ----------
    H. Kikuchi & K. Takahashi, *Zipf Distribution Model for Quantifying Risk of Re-identification
    from Trajectory Data*, 2016, 3.2; corrected as in docs/formulas.md, ``kikuchi-3.2``.

    Examples
    --------
    >>> fit([1200, 600, 400, 300, 240])
    exponent 1.000 by least squares over 5 items, R² = 1.000

    Of a table, and what a group of its people would show:

    >>> import pandas as pd
    >>> import anonrisk
    >>> from anonrisk.predict import Distribution, fit_zipf, singletons
    >>> trips = pd.DataFrame({"station": [x for x in range(1, 41) for _ in range(240 // x)]})
    >>> found = fit_zipf(trips.anon.classes("station"))
    >>> found
    exponent 1.022 by least squares over 40 items, R² = 0.999
    >>> round(singletons(Distribution.zipf(found.n_items, found.c), 30).mean, 1)
    9.3
    """
    frequency, number = _histogram(counts, items)
    d = int(number.sum())
    if d < 2:
        raise ArgumentError("a law of ranks needs at least two different items")
    if method == "least squares":
        c, intercept = _least_squares(frequency, number)
    elif method == "maximum likelihood":
        c = _likeliest(frequency, number)
        intercept = None
    else:
        raise ArgumentError("method must be 'least squares' or 'maximum likelihood'")
    return Fit(c, d, _r_squared(frequency, number, c, intercept), method)


def power_sums(d: int, c: float) -> tuple[float, float]:
    """Return Σ x^(−c) and Σ x^(−c)·ln x over the ranks 1 to d.

    Examples
    --------
    >>> power_sums(3, 1)
    (1.8333333333333333, 0.7127776865...)
    """
    ranks = np.arange(1, min(d, _TERMS) + 1, dtype=float)
    log = np.log(ranks)
    terms = np.exp(-c * log)
    plain, logged = float(terms.sum()), float((terms * log).sum())
    if d > _TERMS:
        more = _tail(_TERMS, d, c)
        plain, logged = plain + more[0], logged + more[1]
    return plain, logged


def _tail(a: int, d: int, c: float) -> tuple[float, float]:
    """Sum from a + 1 to d: the integral, and half of the terms at its ends."""
    low, high = math.log(a), math.log(d)
    nodes, weights = np.polynomial.legendre.leggauss(_RANK_NODES)
    t = (high - low) / 2 * nodes + (high + low) / 2
    density = np.exp((1 - c) * t) * weights * (high - low) / 2
    ends = (a**-c, d**-c)
    plain = float(density.sum()) + (ends[1] - ends[0]) / 2
    logged = float((density * t).sum()) + (ends[1] * high - ends[0] * low) / 2
    return plain, logged


def _histogram(counts: ArrayLike | ClassCounts, items: ArrayLike | None) -> tuple[Floats, Integers]:
    if isinstance(counts, ClassCounts):
        if items is not None:
            raise ArgumentError("items come with the class sizes: give one of them")
        counts.refuse_overlap()
        items, counts = counts.classes, counts.sizes
    try:
        frequency = np.asarray(counts, dtype=float)
        ones = np.ones(frequency.shape, np.int64)
        number = ones if items is None else np.asarray(items)
        with np.errstate(invalid="ignore"):
            whole = number.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        # Their messages quote what was given.
        raise ArgumentError("counts and items must be lists of numbers") from None
    if frequency.ndim != 1 or frequency.shape != number.shape:
        raise ArgumentError("counts and items must be lists of the same length")
    if not (np.isfinite(frequency) & (frequency > 0) & (number > 0)).all():
        raise ArgumentError("counts and items must be above 0")
    if (whole != number).any():
        raise ArgumentError("items must be whole numbers: how many occur so often")
    order = np.argsort(-frequency, kind="stable")
    return frequency[order], whole[order]


def _log_ranks(number: Integers) -> tuple[Floats, float]:
    """Sum the logarithms of the ranks of each run of equal counts, and all their squares."""
    from scipy.special import gammaln

    last = np.cumsum(number)
    sums = gammaln(last + 1.0) - gammaln(last - number + 1.0)
    squares, d = 0.0, int(last[-1])
    for start in range(1, d + 1, 10 * _TERMS):
        part = np.log(np.arange(start, min(start + 10 * _TERMS, d + 1), dtype=float))
        squares += float(part @ part)
    return sums, squares


def _least_squares(frequency: Floats, number: Integers) -> tuple[float, float]:
    d = float(number.sum())
    sums, squares = _log_ranks(number)
    log = np.log(frequency)
    x, y = float(sums.sum()) / d, float(number @ log) / d
    slope = (float(sums @ log) - d * x * y) / (squares - d * x * x)
    # Ranks are made by sorting, so that the slope of equal counts is zero but for rounding.
    return (max(-slope, 0.0), y - slope * x) if np.ptp(log) else (0.0, y)


def _likeliest(frequency: Floats, number: Integers) -> float:
    """Find c at which the expected logarithm of a rank equals the observed one."""
    sums, _ = _log_ranks(number)
    d = int(number.sum())
    observed = float(frequency @ sums) / float(frequency @ number)

    def excess(c: float) -> float:
        plain, logged = power_sums(d, c)
        return logged / plain - observed

    if not np.ptp(frequency) or excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    steepest = _STEEP
    while excess(steepest) > 0:
        steepest *= 2
    return float(brentq(excess, 0.0, steepest, xtol=1e-12))


def _r_squared(
    frequency: Floats, number: Integers, c: float, intercept: float | None
) -> float | None:
    d = float(number.sum())
    sums, squares = _log_ranks(number)
    log = np.log(frequency)
    y, x = float(number @ log) / d, float(sums.sum()) / d
    variance = float(number @ (log - y) ** 2)
    if not np.ptp(log):
        return None
    at = y + c * x if intercept is None else intercept
    # Σ (ln f − at + c·ln x)² over all ranks, run by run.
    left = float(number @ (log - at) ** 2) + 2 * c * float(sums @ (log - at)) + c * c * squares
    return 1 - max(left, 0.0) / variance


# Steps of the grid: the error of a smooth expectation falls with their square.
_STEPS = 2**17
# Ranks beyond this are taken in groups, at most so many, whose probabilities hardly differ.
_SINGLE_RANKS, _MOST_GROUPS = 1_000_000, 200_000
# Ranks that are listed one by one for an exact sum.
_MOST_RANKS = 1_000_000


def of_products(
    laws: Sequence[tuple[int, float, float]], s: int, *, discrete: bool
) -> tuple[Floats, Floats]:
    """Return −ln p of s records, each with an item of each law (d, c, g), and its probabilities."""
    span = s * sum(c * math.log(d) for d, c, _ in laws)
    step = span / _STEPS or 1.0
    size = 2 * _STEPS
    transform = np.ones(size // 2 + 1, dtype=complex)
    start = 0.0
    for d, c, g in laws:
        at, mass = _ranks(d, c) if discrete else _continuous(d, c, g, step)
        start -= s * (math.log(mass[0]) if discrete else math.log(g))
        transform *= np.fft.rfft(_spread(at / step, mass, size)) ** s
    mass = np.clip(np.fft.irfft(transform, size), 0, None)
    used = mass[: _STEPS + 2 * s * len(laws) + 1]
    grid: Floats = start + step * np.arange(len(used), dtype=float)
    return grid, np.asarray(used / used.sum(), dtype=float)


def exactly(d: int, c: float, s: int) -> tuple[Floats, Floats] | None:
    """Return −ln p of every multiset of s whole ranks, and its probability; None if too many."""
    n = math.comb(d + s - 1, s)
    if n * s > _MOST_RANKS:
        return None
    _, single = _ranks(d, c)
    from scipy.special import gammaln

    every = chain.from_iterable(combinations_with_replacement(range(d), s))
    # (n, s): one row per multiset, its ranks ascending.
    ranks = np.fromiter(every, np.int64, n * s).reshape(n, s)
    at = -np.log(single)[ranks].sum(axis=1)
    # How often the rank of a column has come so far: their product is that of the factorials.
    times = np.ones((n, s))
    for column in range(1, s):
        again = ranks[:, column] == ranks[:, column - 1]
        times[again, column] = times[again, column - 1] + 1
    mass = np.exp(gammaln(s + 1) - np.log(times).sum(axis=1) - at)
    order = np.argsort(at, kind="stable")
    return at[order], mass[order]


def tail(grid: Floats, mass: Floats, limit: float) -> float:
    """Return the probability beyond a limit, taking the mass of a point as spread to its halves."""
    if limit <= grid[0]:
        return 1.0 if limit < grid[0] else float(1 - mass[0])
    edges = np.append(grid, 2 * grid[-1] - grid[-2]) - (grid[1] - grid[0]) / 2
    beyond = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    return float(np.interp(limit, edges, beyond))


def _ranks(d: int, c: float) -> tuple[Floats, Floats]:
    """Return c·ln x and the probability of each whole rank x."""
    ranks = np.arange(1, min(d, _SINGLE_RANKS) + 1, dtype=float)
    weight = np.ones_like(ranks)
    if d > _SINGLE_RANKS:
        edges = np.unique(np.geomspace(_SINGLE_RANKS + 1, d + 1, _MOST_GROUPS).astype(np.int64))
        ranks = np.append(ranks, (edges[:-1] + edges[1:] - 1) / 2)
        weight = np.append(weight, np.diff(edges))
    at = c * np.log(ranks)
    mass = weight * np.exp(-at)
    return at, mass / mass.sum()


def _continuous(d: int, c: float, g: float, step: float) -> tuple[Floats, Floats]:
    """Return c·ln x in the middle of each step of the grid, and the probability of the step."""
    if c == 0:
        return np.zeros(1), np.ones(1)
    width = math.log(d)
    edges = np.append(np.arange(0, c * width, step), c * width) / c
    b = 1 - c
    below = edges if abs(b * width) < _NOTHING else np.expm1(b * edges) / b
    return c * (edges[1:] + edges[:-1]) / 2, g * np.diff(below)


def _spread(at: Floats, mass: Floats, size: int) -> Floats:
    """Put each mass on its two neighbours of the grid, so that its mean stays."""
    left = np.floor(at).astype(np.int64)
    right = at - left
    spread: Floats = np.bincount(left, mass * (1 - right), minlength=size).astype(float)
    return spread + np.bincount(left + 1, mass * right, minlength=size)


# The longest traces that the model is asked about. Chosen; time and memory grow with it.
_MOST_RECORDS = 100
# Nodes of Gauss's quadrature of each piece, and as many more as there are records, since a piece is
# a polynomial of one degree less.
_NODES = 40
# (1 − c) ln d below this is nothing: the integral is off by half that share.
_NOTHING = 1e-12
# e^709 is the largest whole power that a number can hold.
_LARGEST_LOG = 709


@dataclass(frozen=True, repr=False)
class ZipfStep(render.PrintedFields):
    """What the model says of people whose records are linked `length` at a time.

    `unique` is the share of people whose records fewer than k people have; see `unique_share`.
    """

    length: int
    rank: float
    mean_rank: float
    domain: float
    suppressed: float
    unique: float


@dataclass(frozen=True)
class Zipf:
    """`n` people, each of whose records is one of `d` items under Zipf's law with exponent `c`.

    Parameters
    ----------
    d : int
        Number of items, at least 2.
    c : float
        Exponent; 0 is the uniform law.
    n : float
        Number of people.
    g : float, optional
        The constant of p(x) = g·x^(−c). Left out, it makes the probabilities add up to one over
        the ranks from 1 to d (Z1).

    Notes
    -----
    Z1: g = (1 − c)/(d^(1−c) − 1), or 1/ln d where c = 1.

    Examples
    --------
    The railway card of the paper: 2,497 stations, 42.6 million passengers.

    >>> card = Zipf(d=2_497, c=0.632, n=42_598_300)
    >>> card.table(4)
    Zipf model: 2,497 items, exponent 0.632, 42,598,300 people, k = 2
    length          rank     mean rank   suppressed   unique
         1   933,393,403   933,393,403         0.0%     0.0%
         2     2,211,157         1,487         6.4%     2.3%
         3       5,238.1          17.4        98.6%    93.3%
         4          12.4           1.9       >99.9%   >99.9%
    """

    d: int
    c: float
    n: float
    g: float | None = None

    def __post_init__(self) -> None:
        """Reject what is not a law."""
        whole_number(self.d, "d, the number of items,", at_least=2)
        not_negative(self.c, "c, the exponent,")
        positive(self.n, "n, the number of people,")
        if self.g is not None:
            positive(self.g, "g")

    @property
    def constant(self) -> float:
        """The constant g, given or normalised (Z1)."""
        if self.g is not None:
            return float(self.g)
        return 1 / _integral(math.log(self.d), 1 - self.c)

    def least_rank(self, length: int, k: float = 2) -> float:
        """Return the rank at which `length` linked records are expected of `k` people (Z2).

        x* = (g^s·n/K)^(1/c), a rank of products x₁·…·x_s. Under the uniform law all ranks are
        alike: it is then infinite where the expected number is at least `k`, and 0 elsewhere.

        Examples
        --------
        >>> round(Zipf(2_497, 0.6325302, 42_598_300, g=0.021881).least_rank(3))
        5164
        """
        return _exp(self._log_rank(_length(length), _threshold(k)))

    def mean_rank(self, length: int, k: float = 2) -> float:
        """Return the mean rank of the items of such a trajectory, x*^(1/s) (Z3)."""
        return _exp(self._log_rank(_length(length), _threshold(k)) / length)

    def suppressed_share(self, length: int, k: float = 2, *, discrete: bool = False) -> float:
        """Return the share of records to suppress for `k`: the anonymity ratio (Z4).

        The probability that the product of the ranks of `length` records exceeds `least_rank`.
        By quadrature; `discrete` sums over whole ranks instead: exactly where there are few, else
        on a grid, to about three digits.

        Examples
        --------
        >>> card = Zipf(2_497, 0.632, 42_598_300)
        >>> round(card.suppressed_share(2), 4), round(card.suppressed_share(3), 4)
        (0.0636, 0.9864)
        """
        s, K = _length(length), _threshold(k)
        if discrete:
            return self._alone().suppressed_share(s, K, discrete=True)
        return self._beyond(self._log_rank(s, K), s)

    def share_beyond(self, rank: float, length: int, *, discrete: bool = False) -> float:
        """Return the probability that a product of `length` ranks exceeds `rank`.

        `suppressed_share` is this at `least_rank`.

        Examples
        --------
        >>> round(Zipf(2_497, 0.6325302, 42_598_300).share_beyond(2_173_909, 2), 5)
        0.06531
        """
        s, log = _length(length), math.log(positive(rank, "rank"))
        if not discrete:
            return self._beyond(log, s)
        return self._alone()._beyond(s, self.c * log, discrete=True)  # noqa: SLF001

    def _beyond(self, log_rank: float, s: int) -> float:
        if log_rank >= s * math.log(self.d):
            return 0.0
        if log_rank <= 0:
            return 1.0
        return min(self._expected(s, np.ones_like, log_rank), 1.0)

    def unique_share(self, length: int, k: float = 2, *, discrete: bool = False) -> float:
        """Return the share of people whose `length` records fewer than `k` people have in all.

        With k = 2 those whose records nobody else has: Σ p·e^(−n·p) over all trajectories, in its
        continuous form. In general Σ p·P(J ≤ k − 2), where the number J of others is Poisson with
        mean n·p. `discrete` sums over whole ranks: exactly where there are few, else on a grid. A
        better target than `suppressed_share`, which counts whom one expects to be rare, not who is.

        Examples
        --------
        >>> card = Zipf(2_497, 0.632, 42_598_300)
        >>> round(card.unique_share(2), 3), round(card.unique_share(2, discrete=True), 3)
        (0.023, 0.024)
        >>> round(card.unique_share(2, k=5), 3)
        0.189
        """
        s, K = _length(length), _threshold(k)
        if discrete:
            return self._alone().unique_share(s, K, discrete=True)
        log_p = s * math.log(self.constant)

        def alone(t: Floats) -> Floats:
            return _few(self.n * np.exp(log_p - self.c * t), K)

        return min(self._expected(s, alone, 0.0), 1.0)

    @property
    def records_necessary(self) -> float:
        """Number of records below which not everybody can be unique: log_d n (Z5).

        Necessary, not sufficient: with d^s = n under the uniform law, 36.8% are unique.
        """
        return math.log(self.n) / math.log(self.d)

    def records_for_all(self, pairs: float = 1) -> float:
        """Return the number of records at which fewer than `pairs` pairs of people are alike.

        ln(n²/(2·pairs)) / −ln Σp², which is log_d(n²/2) under the uniform law (Z5).

        Examples
        --------
        >>> round(Zipf(2_497, 0, 42_598_300).records_for_all(), 2)
        4.4
        """
        most = self.n**2 / (2 * positive(pairs, "pairs"))
        total, _ = power_sums(self.d, self.c)
        squares, _ = power_sums(self.d, 2 * self.c)
        return max(math.log(most), 0.0) / -math.log(squares / total**2)

    def longest(self, share: float, *, up_to: int = _MOST_RECORDS) -> int:
        """Return the most records that may be linked before more than `share` of people are unique.

        0 if a single record does it. This is after how many records a pseudonym must change.

        Examples
        --------
        >>> Zipf(2_497, 0.632, 42_598_300).longest(0.05)
        2
        """
        limit = share_of(share)
        for s in range(1, whole_number(up_to, "up_to", at_least=1) + 1):
            if self.unique_share(s) > limit:
                return s - 1
        return up_to

    def step(self, length: int, k: float = 2, *, discrete: bool = False) -> ZipfStep:
        """Return everything about one length; `discrete` makes the shares sums over whole ranks."""
        return ZipfStep(
            length,
            self.least_rank(length, k),
            self.mean_rank(length, k),
            _exp(length * math.log(self.d)),
            self.suppressed_share(length, k, discrete=discrete),
            self.unique_share(length, k, discrete=discrete),
        )

    def table(self, max_length: int = 5, k: float = 2) -> ZipfTable:
        """Return everything for 1, 2, …, `max_length` linked records: the paper's Table 2."""
        lengths = range(1, whole_number(max_length, "max_length", at_least=1) + 1)
        return ZipfTable(self, float(k), tuple(self.step(s, k) for s in lengths))

    def _alone(self) -> Product:
        if self.g is not None:
            raise ArgumentError("discrete=True makes the probabilities add up to one; leave out g=")
        return Product((self,))

    def _log_rank(self, s: int, K: float) -> float:
        expected = s * math.log(self.constant) + math.log(self.n) - math.log(K)
        if self.c == 0:
            return math.inf if expected >= 0 else -math.inf
        return expected / self.c

    def _expected(self, s: int, value: Callable[[Floats], Floats], low: float) -> float:
        """Integrate `value` of the log of a product of s ranks, from `low` on.

        The logs of ranks have the density g·e^((1−c)·t) on [0, ln d]; their sum has it times a
        B-spline. Gauss-Legendre on each of its s pieces, split where `value` is steep.
        """
        width = math.log(self.d)
        edges = {max(low, 0.0), s * width, *(j * width for j in range(s + 1) if j * width > low)}
        edges |= {t for t in self._steep(s) if max(low, 0.0) < t < s * width}
        cuts = np.array(sorted(edges))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES + s)
        half = np.diff(cuts)[:, None] / 2
        t = (cuts[:-1, None] + half + half * nodes).ravel()
        scale = s * math.log(self.constant) + (s - 1) * math.log(width)
        density = np.exp(scale + (1 - self.c) * t) * _spline(t / width, s)
        return float((density * value(t) * (half * weights).ravel()).sum())

    def _steep(self, s: int) -> list[float]:
        """Where n·p falls from 1000 to 1/1000, in which uniqueness goes from none to all."""
        if self.c == 0:
            return []
        centre = self._log_rank(s, 1.0)
        return [centre - math.log(at) / self.c for at in (1e3, 1e2, 10, 1, 0.1, 1e-2, 1e-3)]


@dataclass(frozen=True, repr=False)
class ZipfTable(render.PrintedTable):
    """The model for several lengths, as a table that prints itself."""

    model: Zipf
    k: float
    steps: tuple[ZipfStep, ...]

    def _rows(self) -> list[list[str]]:
        return [
            [
                str(step.length),
                render_rank(step.rank),
                render_rank(step.mean_rank),
                render.percent(step.suppressed),
                render.percent(step.unique),
            ]
            for step in self.steps
        ]

    def _lines(self) -> list[str]:
        model = self.model
        return [
            (
                f"Zipf model: {model.d:,} items, exponent {model.c:.3g}, {model.n:,.0f} people, "
                f"k = {self.k:g}"
            )
        ]

    def _header(self) -> tuple[str, ...]:
        few = "unique" if self.k == 2 else "fewer than k"
        return "length", "rank", "mean rank", "suppressed", few


@dataclass(frozen=True)
class Product:
    """Several independent attributes of a record, each under a Zipf law of its own; see `product`.

    The paper's Theorem 3.4 puts one Zipf law with the exponent c₁₂ in the place of the product and
    calls it a bound. It is right at the commonest and at the rarest record only, and neither a
    lower nor an upper bound in between, so that the laws are multiplied here.
    """

    laws: tuple[Zipf, ...]

    @property
    def n(self) -> float:
        """Number of people."""
        return self.laws[0].n

    @property
    def exponent(self) -> float:
        """The paper's c₁₂ = Σ cᵢ·ln dᵢ / Σ ln dᵢ; to compare with, not to calculate with."""
        logs = [math.log(law.d) for law in self.laws]
        return sum(law.c * size for law, size in zip(self.laws, logs, strict=True)) / sum(logs)

    def suppressed_share(self, length: int, k: float = 2, *, discrete: bool = False) -> float:
        """Return the share of records that fewer than `k` people are expected to have (Z4)."""
        s, K = _length(length), _threshold(k)
        return self._beyond(s, math.log(self.n) - math.log(K), discrete=discrete, whole=True)

    def unique_share(self, length: int, k: float = 2, *, discrete: bool = False) -> float:
        """Return the share of people whose `length` records fewer than `k` people have in all."""
        s, K = _length(length), _threshold(k)
        grid, mass = self._exact(s, discrete=discrete) or self._grid(s, discrete=discrete)
        return float(min((mass * _few(self.n * np.exp(-grid), K)).sum(), 1.0))

    def _beyond(self, s: int, limit: float, *, discrete: bool, whole: bool = False) -> float:
        """Return the probability that −ln p exceeds a limit; not `whole`: less its least value."""
        exact = self._exact(s, discrete=discrete)
        grid, mass = exact or self._grid(s, discrete=discrete)
        at = grid if whole else grid - grid[0]
        if exact is None:
            return tail(at, mass, limit)
        # Sums of logarithms in another order differ by rounding, at most a hundred of them by less
        # than 1e-9, and equal is not beyond.
        beyond = at > limit + 1e-9
        return 1.0 if beyond.all() else float(mass[beyond].sum())

    def _exact(self, s: int, *, discrete: bool) -> tuple[Floats, Floats] | None:
        if not discrete or len(self.laws) > 1:
            return None
        return exactly(self.laws[0].d, self.laws[0].c, s)

    def _grid(self, s: int, *, discrete: bool) -> tuple[Floats, Floats]:
        laws = [(law.d, law.c, law.constant) for law in self.laws]
        return of_products(laws, s, discrete=discrete)


def product(*laws: Zipf) -> Product:
    """Multiply the Zipf laws of several attributes that are independent of each other.

    Parameters
    ----------
    *laws : Zipf
        One for each attribute, all with the same `n` and no `g` of their own.

    Returns
    -------
    Product

    See Also
    --------
    anonrisk.predict.zipf.Zipf : one attribute
    anonrisk.trajectory : measured, and modelled by one law

    Notes
    -----
    The law of −ln(p₁·p₂·…) is found by adding up independent logarithms on a grid.

    References
    ----------
    Kikuchi & Takahashi 2016, 3.6; corrected as in docs/formulas.md, ``kikuchi-theorem-3.4``.

    Examples
    --------
    >>> station, hour = Zipf(2_497, 0.632, 42_598_300), Zipf(24, 0.3, 42_598_300)
    >>> both = product(station, hour)
    >>> round(station.unique_share(2), 2), round(both.unique_share(2), 2)
    (0.02, 0.89)
    """
    if not laws or not all(isinstance(law, Zipf) for law in laws):
        raise ArgumentError("product takes the Zipf laws of the attributes, at least one")
    if len({law.n for law in laws}) > 1:
        raise ArgumentError("the laws of one record's attributes must have the same n")
    if any(law.g is not None for law in laws):
        raise ArgumentError("the laws of a product are normalised; leave out g=")
    return Product(tuple(laws))


def _few(expected: Floats, k: float) -> Floats:
    """Return the probability that fewer than k people have something, one of whom is known to."""
    others = math.ceil(k) - 2
    if others <= 0:
        return np.exp(-expected) if others == 0 else np.zeros_like(expected)
    from scipy.special import pdtr

    share: Floats = pdtr(others, expected)
    return share


def render_rank(rank: float) -> str:
    """Write a rank: whole where it is large, with a digit where it is not."""
    if not math.isfinite(rank):
        return "all"
    return f"{rank:,.0f}" if rank >= 10_000 or rank == 0 else f"{rank:,.1f}".removesuffix(".0")


def _spline(x: Floats, s: int) -> Floats:
    """Return the density of a sum of s uniform variables on [0, 1], by its stable recursion."""
    # (s, len(x)), one row less for every variable that is added.
    pieces = np.array([(x >= j) & (x < j + 1) for j in range(s)], dtype=float)
    for m in range(2, s + 1):
        at = x - np.arange(s - m + 1)[:, None]
        pieces = (at * pieces[: s - m + 1] + (m - at) * pieces[1 : s - m + 2]) / (m - 1)
    result: Floats = pieces[0]
    return result


def _integral(width: float, b: float) -> float:
    """Return ∫ e^(b·t) dt from 0 to `width`, also where b is next to nothing."""
    return width if abs(b * width) < _NOTHING else math.expm1(b * width) / b


def _exp(log: float) -> float:
    return math.inf if log > _LARGEST_LOG else math.exp(log)


def _length(value: Any) -> int:
    s = whole_number(value, "length", at_least=1)
    if s > _MOST_RECORDS:
        raise ArgumentError(f"length is at most {_MOST_RECORDS} in this model")
    return s


def _threshold(k: Any) -> float:
    return positive(k, "k")
