"""Class sizes as independent numbers, given their sum, and exact chances of all of them.

A group drawn person by person from a distribution has class sizes like independent Poisson numbers
that happen to add up to k; a group drawn from the records of a table, without replacement, like
independent binomial ones. Everything else in this folder is the same for both.

For independent numbers X whose distribution given their sum is that of the classes (above),
and any set A of allowed class sizes,

    P(all classes in A) = ∏ P(X in A) · P(ΣX = k | all X in A) / P(ΣX = k).

The middle factor is a coefficient of a product of characteristic functions: a mean over points of
a circle, exact but for rounding once there are more points than the sum has likely values. With
the numbers tilted so that their conditional sum is k on average, no term is larger than the result
by more than the number of points: *relative* accuracy near 1e-13. Formulas U3, S13, S16 and S17;
Koot (2012, 5.4.3) calls the exact law hard.
"""

from __future__ import annotations

from math import comb, exp, log, pi
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.errors import ApproximationError
from anonrisk.predict import stirling

if TYPE_CHECKING:
    from anonrisk.core.types import Complex, Floats, Integers


# Numbers of smaller means are gathered at so many: 2 n powers of four times that are 2e-17.
RARE, NODES = 0.01, 6


@dataclass(frozen=True)
class Poisson:
    """Numbers of mean ρ p, for each of the different probabilities; `w` values have each."""

    p: Floats
    w: Integers | Floats
    log_tilt: float = 0.0

    def tilted(self, log_tilt: float) -> Poisson:
        """Return the same numbers at another ρ; given their sum, nothing changes."""
        return Poisson(self.p, self.w, log_tilt)

    def start(self, k: int) -> float:
        """Return log ρ at which the numbers add up to k on average."""
        return float(np.log(k / np.dot(self.w, self.p)))

    def gathered(self, k: int) -> Poisson:
        """Return fewer numbers, of whose sum and ones the law is the same to 1e-13 if the sum is k.

        What a rare number adds to the logarithm of their generating function is a power series of
        its mean. A few nodes of Gauss's quadrature have the same sums of the first powers.
        """
        rare = k * self.p < RARE
        if np.count_nonzero(rare) <= NODES:
            return self
        at, mass = _gauss(self.p[rare], self.w[rare] * self.p[rare])
        p = np.concatenate([at, self.p[~rare]])
        return Poisson(p, np.concatenate([mass / at, self.w[~rare]]), self.log_tilt)

    @property
    def lam(self) -> Floats:
        """The means."""
        return self.p * exp(self.log_tilt)

    def part(self, rows: Any) -> Poisson:
        """Return some of the numbers."""
        return Poisson(self.p[rows], self.w[rows], self.log_tilt)

    @property
    def mean(self) -> Floats:
        """E X."""
        return self.lam

    @property
    def variance(self) -> Floats:
        """Var X."""
        return self.lam

    @property
    def fewer(self) -> Poisson:
        """The numbers with one trial fewer: of a Poisson number there is no end of them."""
        return self

    def log_at(self, m: Any) -> Floats:
        """Return log P(X = m)."""
        none = isinstance(m, int) and m == 0
        return -self.lam if none else stirling.log_poisson(m, self.lam)

    def ratio(self, m: int) -> Floats:
        """Return P(X = m) / P(X = m − 1)."""
        return self.lam / m

    def tail(self, m: int) -> Floats:
        """Return P(X ≥ m)."""
        from scipy.special import gammainc

        return gammainc(m, self.lam) if m > 0 else np.ones_like(self.p)

    def turned(self, angle: Floats) -> Complex:
        """Return the characteristic function less 1, one row per probability."""
        away = turned_by(angle)
        return _expm1(
            np.multiply.outer(self.lam, away.real), np.multiply.outer(self.lam, away.imag)
        )

    def log_sum(self, k: int) -> float:
        """Return log P(ΣX = k)."""
        return float(stirling.log_poisson(k, float(np.dot(self.w, self.lam))))

    def log_ways(self, k: int) -> float:
        """Return log P(ΣX = k) / P(all X = 0)."""
        mean = float(np.dot(self.w, self.lam))
        return k * float(np.log(mean / k)) - float(stirling.log_falling(k, k))

    def possible(self, k: int, K: int) -> bool:
        """Return whether numbers that are 0 or at least K can add up to k."""
        return k >= K

    def sum_cumulants(self, k: int) -> tuple[float, float, float]:
        """Second to fourth cumulant of ΣX where its mean is k."""
        return float(k), float(k), float(k)

    def most(self, K: int) -> float:
        """Return the largest sum if every X is 0 or at least K; at most 1 each for K = 1."""
        return float(self.w.sum()) if K == 1 else np.inf

    def log_most(self, K: int) -> float:  # noqa: ARG002
        """Return the chance of that sum: one person on every value."""
        k = int(self.w.sum())
        return float(np.dot(self.w, np.log(k * self.p)) + stirling.log_falling(k, k))


@dataclass(frozen=True)
class Binomial:
    """Records drawn from classes of `c` with odds ρ to 1; `w` classes have each size."""

    c: Integers
    w: Integers
    log_tilt: float = 0.0

    def tilted(self, log_tilt: float) -> Binomial:
        """Return the same numbers at another ρ; given their sum, nothing changes."""
        return Binomial(self.c, self.w, log_tilt)

    def start(self, k: int) -> float:
        """Return log ρ at which the numbers add up to k on average."""
        return float(np.log(k / (float(np.dot(self.w, self.c)) - k)))

    def gathered(self, k: int) -> Binomial:  # noqa: ARG002
        """Return the same: a table has few different class sizes."""
        return self

    @property
    def odds(self) -> float:
        """The odds ρ."""
        return exp(self.log_tilt)

    @property
    def share(self) -> float:
        """The chance that a record is drawn."""
        return self.odds / (1 + self.odds)

    def part(self, rows: Any) -> Binomial:
        """Return some of the numbers."""
        return Binomial(self.c[rows], self.w[rows], self.log_tilt)

    @property
    def mean(self) -> Floats:
        """E X."""
        return np.asarray(self.c * self.share)

    @property
    def variance(self) -> Floats:
        """Var X."""
        return np.asarray(self.c * self.share / (1 + self.odds))

    @property
    def fewer(self) -> Binomial:
        """The numbers with one trial fewer."""
        return Binomial(np.maximum(self.c - 1, 0), self.w, self.log_tilt)

    def log_at(self, m: Any) -> Floats:
        """Return log P(X = m)."""
        return stirling.log_binomial(m, self.c, self.odds)

    def ratio(self, m: int) -> Floats:
        """Return P(X = m) / P(X = m − 1)."""
        return np.asarray(np.maximum(self.c - m + 1, 0) / m * self.odds)

    def tail(self, m: int) -> Floats:
        """Return P(X ≥ m)."""
        return _binomial_tail(self.c, m, self.share)

    def turned(self, angle: Floats) -> Complex:
        """Return the characteristic function less 1, one row per size."""
        size, turn = log1p(self.share * turned_by(angle))
        return _expm1(np.multiply.outer(self.c, size), np.multiply.outer(self.c, turn))

    def log_sum(self, k: int) -> float:
        """Return log P(ΣX = k)."""
        return float(stirling.log_binomial(k, int(np.dot(self.w, self.c)), self.odds))

    def log_ways(self, k: int) -> float:
        """Return log P(ΣX = k) / P(all X = 0)."""
        return k * self.log_tilt + self._log_choices(k)

    def _log_choices(self, k: int) -> float:
        """Log of the number of ways to draw k of the records."""
        n = int(np.dot(self.w, self.c))
        falling = stirling.log_falling(n, k) - stirling.log_falling(k, k)
        return k * float(np.log(n / k)) + float(falling)

    def possible(self, k: int, K: int) -> bool:
        """Return whether numbers that are 0 or at least K can add up to k.

        Any j of them reach every sum from j K to their own; the more there are, the larger.
        """
        large = self.c >= K
        order = np.argsort(-self.c[large])
        sizes, classes = self.c[large][order], self.w[large][order]
        before = np.cumsum(classes) - classes
        taken = np.clip(k // K - before, 0, classes)
        return k <= int(np.dot(taken, sizes))

    def sum_cumulants(self, k: int) -> tuple[float, float, float]:
        """Second to fourth cumulant of ΣX where its mean is k."""
        q = k / float(np.dot(self.w, self.c))
        c2 = k * (1 - q)
        return c2, c2 * (1 - 2 * q), c2 * (1 - 6 * q * (1 - q))

    def most(self, K: int) -> float:
        """Return the largest sum if every X is 0 or at least K; at most 1 each for K = 1."""
        return float(self.w.sum() if K == 1 else np.dot(self.w, self.c * (self.c >= K)))

    def log_most(self, K: int) -> float:
        """Return the chance of that sum: one record of every class, or all of the large ones."""
        ways = np.dot(self.w, np.log(self.c)) if K == 1 else 0.0
        return float(ways - self._log_choices(int(self.most(K))))


Numbers = Poisson | Binomial


def _gauss(at: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Points and masses that have the first 2 n moments of many (Golub and Welsch, Lanczos)."""
    total, scale = float(mass.sum()), float(at.max())
    basis = [np.sqrt(mass / total)]
    matrix = np.zeros((NODES, NODES))
    for i in range(NODES):
        rest = at / scale * basis[i]
        matrix[i, i] = rest @ basis[i]
        # All former ones once more: else rounding leads back to them.
        for _ in range(2):
            for former in basis:
                rest = rest - (rest @ former) * former
        if i + 1 < NODES:
            matrix[i, i + 1] = matrix[i + 1, i] = np.linalg.norm(rest)
            basis.append(rest / matrix[i, i + 1])
    points, vectors = np.linalg.eigh(matrix)
    return points * scale, total * vectors[0] ** 2


def log_tail(x: Numbers, m: int) -> Floats:
    """Log P(X ≥ m), also where the chance is too small for a number."""
    chance = x.tail(m)
    with np.errstate(divide="ignore"):
        log = np.log(chance)
    deep = chance < 1e-280
    if deep.any():
        # So far out each chance is well below the one before it.
        rows, at = x.part(deep), m
        total = term = np.ones(len(rows.w))
        while np.max(term) > 1e-18:
            at += 1
            term = term * rows.ratio(at)
            total = total + term
        log[deep] = rows.log_at(m) + np.log(total)
    return np.asarray(log)


def turned_by(angle: Floats) -> Complex:
    """e^{iθ} − 1 without loss near 0."""
    return np.asarray(-2 * np.sin(angle / 2) ** 2 + 1j * np.sin(angle))


def log1p(z: Complex) -> tuple[Floats, Floats]:
    """Real and imaginary part of log(1 + z), without the loss near 0 that numpy's own has."""
    a, b = z.real, z.imag
    square = a * (2 + a) + b * b
    size = 0.5 * np.log1p(np.maximum(square, -1 + 1e-5))
    small = square < -1 + 1e-5
    if small.any():
        # Half of the digits of a size near 0 would be lost with its square.
        with np.errstate(divide="ignore"):
            size[small] = np.log(np.hypot(1 + a[small], b[small]))
    return size, np.arctan2(b, 1 + a)


def _expm1(a: Floats, b: Floats) -> Complex:
    """e^(a + ib) − 1 without loss near 0; a may be −inf."""
    grown = np.expm1(a)
    real = grown * np.cos(b) - 2 * np.sin(b / 2) ** 2
    return np.asarray(real + 1j * (grown + 1) * np.sin(b))


def _binomial_tail(c: Integers, m: int, share: float) -> Floats:
    from scipy.special import betainc

    if m <= 0:
        return np.ones(len(c))
    rest = np.maximum(c - m + 1, 1)
    return np.where(c >= m, betainc(m, rest, share), 0.0)


# More terms than this take seconds; the saddlepoint takes their place.
MAX_TERMS = 4_000_000
# The same for adding the numbers one after the other.
MAX_PRODUCTS = 2e9
# A sum has a likely value as its mean, with a chance of .4 over its deviation; far below that,
# rounding is felt: from here on in the last digits that are promised, which matters where adding
# the numbers one after the other takes milliseconds ...
LUMPY, FEW_PRODUCTS = 0.1, 1e7
# ... and from here on in all of them.
TOO_LUMPY = 1e-4
# Terms that are held at once; only memory and speed depend on it.
_CHUNK = 500_000
# What is as many points off as there are is added to the mean over a circle: twelve deviations of a
# sum, where a Normal law has 2e-33, and for one with few likely values some classes more.
_POINTS_PER_SD, _POINTS_PER_CLASS, _MORE_POINTS = 12, 20, 40
# Means from which on cumulants are taken about them, not about 0: below, a fourth power takes no
# more than six of sixteen digits (30⁴ is 8e5).
_LARGE_MEAN = 30
# Where less than this share of a number is K or more, what is left of the whole has lost two
# digits; its terms are added one by one instead, until one is less than rounding.
_RARE, _LAST_TERM = 1e-2, 1e-19
# Two numbers of points that agree to this share, or to what rounding leaves of 1, are exact.
_AGREE, _ROUNDING = 1e-12, 1e-15
# Below e^(−690) = 2e-300 a chance is as good as 0.
_LEAST_LOG = -690
# Above this share a correction of second order is none: the next ones are no smaller. Chosen; where
# it is exceeded, the outer factors bound the chance, or nothing is said.
_MOST_CORRECTED = 0.5


class Allowed(Protocol):
    """Class sizes that are allowed."""

    K: int

    def log_allowed(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A)."""

    def log_odds(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A) / P(X = 0)."""

    def mean(self, x: Numbers) -> Floats:
        """E[X | A]."""

    def cumulants(self, x: Numbers) -> tuple[Floats, Floats, Floats]:
        """Second to fourth cumulant of X given A."""

    def steps(self, x: Numbers) -> int:
        """Return how many terms the next function adds for each of its numbers."""

    def turned(self, x: Numbers, angle: Floats) -> Complex:
        """Characteristic function of X given A, less 1."""

    def logs(self, x: Numbers, upto: int) -> Floats:
        """Log P(X = m) for m from 0 to `upto` in A, of a single number."""


class AtMostOne:
    """Class sizes 0 and 1: everybody differs (U2 to U4)."""

    K = 1

    def log_allowed(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A)."""
        return x.log_at(0) + self.log_odds(x)

    def log_odds(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A) / P(X = 0)."""
        return np.log1p(x.ratio(1))

    def mean(self, x: Numbers) -> Floats:
        """E[X | A]."""
        return np.asarray(x.ratio(1) / (1 + x.ratio(1)))

    def cumulants(self, x: Numbers) -> tuple[Floats, Floats, Floats]:
        """Second to fourth cumulant of X given A."""
        t = self.mean(x)
        v = t * (1 - t)
        return v, v * (1 - 2 * t), v * (1 - 6 * v)

    def steps(self, x: Numbers) -> int:  # noqa: ARG002
        """Return how many terms the next function adds for each of its numbers."""
        return 1

    def turned(self, x: Numbers, angle: Floats) -> Complex:
        """Characteristic function of X given A, less 1."""
        return np.multiply.outer(self.mean(x), turned_by(angle))

    def logs(self, x: Numbers, upto: int) -> Floats:
        """Log P(X = m) for m from 0 to `upto` in A, of a single number."""
        m = np.arange(upto + 1)
        return np.where(m <= 1, x.log_at(m), -np.inf)


class EmptyOrAtLeast:
    """Class size 0, or K and more: the table is K-anonymous (S13 for K = 2, S16)."""

    def __init__(self, K: int) -> None:
        """Keep K."""
        self.K = K

    def log_odds(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A) / P(X = 0)."""
        return np.logaddexp(0.0, log_tail(x, self.K) - x.log_at(0))

    def log_allowed(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A)."""
        return np.logaddexp(x.log_at(0), log_tail(x, self.K))

    def mean(self, x: Numbers) -> Floats:
        """E[X | A]."""
        # E[X; X ≥ K] is the mean times the chance of one less among one fewer.
        return np.asarray(x.mean * np.exp(log_tail(x.fewer, self.K - 1) - self.log_allowed(x)))

    def cumulants(self, x: Numbers) -> tuple[Floats, Floats, Floats]:
        """Second to fourth cumulant of X given A."""
        allowed = self.log_allowed(x)
        none = np.exp(x.log_at(0) - allowed)
        # Powers of a large number leave no digits to a cumulant unless taken about its mean.
        about = np.where(x.mean > _LARGE_MEAN, x.mean, 0.0)
        beyond = self._moments(x, 4, about, allowed)
        m1, m2, m3, m4 = (beyond[j] + none * (-about) ** j for j in range(1, 5))
        return (
            m2 - m1**2,
            m3 - 3 * m2 * m1 + 2 * m1**3,
            m4 - 4 * m3 * m1 - 3 * m2**2 + 12 * m2 * m1**2 - 6 * m1**4,
        )

    def _moments(self, x: Numbers, upto: int, about: Floats, allowed: Floats) -> list[Floats]:
        """E[(X − a)^j; X ≥ K] / P(A) for j from 0, each from lower ones by Stein's identity.

        E[(X − E X) f(X)] = Var X · E[f(X' + 1) − f(X')] with X' one trial fewer, or a Poisson
        number itself.
        """
        results = [np.exp(log_tail(x, self.K) - allowed)]
        if upto == 0:
            return results
        lower = results if x.fewer is x else self._moments(x.fewer, upto - 1, about, allowed)
        edge = np.exp(x.fewer.log_at(self.K - 1) - allowed)
        for j in range(upto):
            step = edge * (self.K - about) ** j
            for i in range(j):
                step = step + comb(j, i) * lower[i]
            results.append(x.variance * step + (x.mean - about) * results[j])
        return results

    def steps(self, x: Numbers) -> int:
        """Return how many terms the next function adds for each of its numbers."""
        return self.K - self._first(x) + 1

    def _first(self, x: Numbers) -> int:
        """Return the least class size that is not allowed and that somebody may have."""
        # As far below its mean a Poisson number has a chance of less than 1e-30.
        least = np.maximum(x.mean - 12 * np.sqrt(x.mean) - 60, 1.0)
        return int(np.minimum(least, self.K).min())

    def turned(self, x: Numbers, angle: Floats) -> Complex:
        """Characteristic function of X given A, less 1."""
        rare = x.tail(self.K) < _RARE
        # (n_numbers, n_angles), as of every function here that takes angles.
        whole = np.empty((len(x.w), len(angle)), dtype=complex)
        # What is left of the whole function loses digits where little is left: there the terms
        # are added one by one instead.
        if rare.any():
            whole[rare] = self._added(x.part(rare), angle)
        if not rare.all():
            whole[~rare] = self._left(x.part(~rare), angle)
        return whole

    def _left(self, x: Numbers, angle: Floats) -> Complex:
        """E[e^{iθX} − 1] less what the sizes that are not allowed have of it."""
        first = self._first(x)
        left, log, once = x.turned(angle), x.log_at(first), turned_by(angle)
        # Logarithms, since the chance of the first of many sizes may be too small for a number.
        turned = turned_by(first * angle)
        for m in range(first, self.K):
            left -= np.multiply.outer(np.exp(log), turned)
            with np.errstate(divide="ignore"):
                log = log + np.log(x.ratio(m + 1))
            turned = turned + once + turned * once
        return left / np.exp(self.log_allowed(x))[:, None]

    def _added(self, x: Numbers, angle: Floats) -> Complex:
        """Σ P(X = m | A)(e^{imθ} − 1) over m ≥ K."""
        chance = np.exp(x.log_at(self.K) - self.log_allowed(x))
        once, turned, m = turned_by(angle), turned_by(self.K * angle), self.K
        total = np.multiply.outer(chance, turned)
        while chance.max() > _LAST_TERM:
            m += 1
            chance = chance * x.ratio(m)
            turned = turned + once + turned * once
            total += np.multiply.outer(chance, turned)
        return total

    def logs(self, x: Numbers, upto: int) -> Floats:
        """Log P(X = m) for m from 0 to `upto` in A, of a single number."""
        m = np.arange(upto + 1)
        return np.where((m == 0) | (m >= self.K), x.log_at(m), -np.inf)


def log_probability(numbers: Numbers, k: int, allowed: Allowed) -> tuple[float, str]:
    """Logarithm of the chance that all class sizes of a group of `k` are allowed, and how."""
    if k >= numbers.most(allowed.K):
        # The tilt would have to be infinite.
        return (numbers.log_most(allowed.K) if k == numbers.most(allowed.K) else -np.inf), "exact"
    if not numbers.possible(k, allowed.K):
        return -np.inf, "exact"
    x, outside, sd = tilted(numbers, k, allowed)
    points = int(_POINTS_PER_SD * sd + _POINTS_PER_CLASS * allowed.K + _MORE_POINTS)
    room = min(MAX_TERMS, 10 * MAX_TERMS // allowed.steps(x)) // len(x.w)
    if points > room:
        return _second_order(x, k, allowed, outside)
    coefficient = _coefficient(x, k, allowed, points)
    least = LUMPY if _products(x, k) <= FEW_PRODUCTS else TOO_LUMPY
    while coefficient * max(sd, 1.0) > least and points <= room:
        points *= 2
        better = _coefficient(x, k, allowed, points)
        if abs(better - coefficient) <= max(_AGREE * better, _ROUNDING):
            return outside + log(better), "exact"
        coefficient = better
    return _convolved(x, k, allowed, outside)


def _convolved(x: Numbers, k: int, allowed: Allowed, outside: float) -> tuple[float, str]:
    """Return the same by adding the numbers one after the other.

    Nothing is subtracted, so that every digit holds where only few sums are likely and k is none of
    them: 59 people in classes of 30 and more are all in one.
    """
    if _products(x, k) > MAX_PRODUCTS:
        return _at_most(k, allowed, outside)
    total, scale = np.ones(1), 0.0
    for row, w in enumerate(x.w):
        item, left = x.part(slice(row, row + 1)), int(w)
        logs = allowed.logs(item, k) - item.log_at(0)
        scale += left * float(logs.max())
        power = np.exp(logs - logs.max())
        while left:
            if left % 2:
                total = np.convolve(total, power)[: k + 1]
            left //= 2
            if left:
                power = np.convolve(power, power)[: k + 1]
    if not 0 < total[k] < np.inf:
        return _at_most(k, allowed, outside)
    return log(total[k]) + scale - x.log_ways(k), "exact"


def _products(x: Numbers, k: int) -> float:
    """Return how many products it takes to add the numbers one after the other."""
    return float(np.sum(1 + 2 * np.log2(x.w))) * k**2


def _at_most(k: int, allowed: Allowed, outside: float) -> tuple[float, str]:
    """Return the outer factors, which bound the chance, where that is as good as 0."""
    if outside < _LEAST_LOG:
        return outside, "at most"
    raise ApproximationError(
        f"the chance that no class of a group of {k:,} is smaller than {allowed.K:,} cannot be "
        f"computed; it is at most {exp(min(0.0, outside)):.2g}"
    )


def saddlepoint(numbers: Numbers, k: int, allowed: Allowed) -> float:
    """Return the same to second order only, in one pass (U4): within 5e-4 where it is no rarity."""
    if k >= numbers.most(allowed.K):
        return log_probability(numbers, k, allowed)[0]
    x, outside, _ = tilted(numbers, k, allowed)
    return _second_order(x, k, allowed, outside)[0]


def tilted(numbers: Numbers, k: int, allowed: Allowed) -> tuple[Numbers, float, float]:
    """Tilt so that the conditional sum has mean k; give the outer factors and its deviation."""
    from scipy.optimize import brentq

    def surplus(log_tilt: float) -> float:
        return float(np.dot(numbers.w, allowed.mean(numbers.tilted(log_tilt)))) - k

    low = high = numbers.start(k)
    while surplus(low) > 0:
        low -= 1
    while surplus(high) < 0:
        high += 1
    x = numbers.tilted(low if low == high else float(brentq(surplus, low, high, xtol=1e-13)))
    if float(np.dot(x.w, x.mean)) > 2 * k:
        # Most of what is likely is not allowed: its two large parts cancel on paper.
        outside = float(np.dot(x.w, allowed.log_odds(x))) - x.log_ways(k)
    else:
        outside = float(np.dot(x.w, allowed.log_allowed(x))) - x.log_sum(k)
    return x, outside, float(np.sqrt(np.dot(x.w, allowed.cumulants(x)[0])))


def _coefficient(x: Numbers, k: int, allowed: Allowed, points: int) -> float:
    """P(ΣX = k | all X in A): the mean of the characteristic function times e^{−ikθ}."""
    # The other half of the circle is the conjugate of this one.
    half = points // 2
    weight = np.full(half + 1, 2.0)
    weight[0] = 1.0
    weight[half] = 1.0 if points % 2 == 0 else 2.0
    total = 0.0
    step = max(1, _CHUNK // len(x.w))
    for start in range(0, half + 1, step):
        place = np.arange(start, min(start + step, half + 1))
        size, turned = log1p(allowed.turned(x, 2 * pi * place / points))
        # k θ is reduced first: for large k the angle itself would lose its digits.
        angle = 2 * pi * ((k * place) % points) / points
        real = np.exp(x.w @ size) * np.cos(x.w @ turned - angle)
        total += float(np.dot(weight[place], real))
    return total / points


def _second_order(x: Numbers, k: int, allowed: Allowed, outside: float) -> tuple[float, str]:
    c2, c3, c4 = (float(np.dot(x.w, c)) for c in allowed.cumulants(x))
    if c2 <= 0:
        return outside, "saddlepoint"
    near = _edgeworth(c2, c3, c4)
    if near is None:
        return _at_most(k, allowed, outside)
    # The sum without any condition is approximated in the same way, so that the errors cancel;
    # else 1 − π is ruined for small groups.
    start = x.tilted(x.start(k))
    whole = _edgeworth(*x.sum_cumulants(k))
    error = 0.0 if whole is None else start.log_sum(k) - whole
    return outside + error + near, "saddlepoint"


def _edgeworth(c2: float, c3: float, c4: float) -> float | None:
    """Logarithm of the chance that a sum of these cumulants equals its mean, to second order.

    The saddlepoint approximation with its first correction, κ₄/8 − 5 κ₃²/24 of the standardised
    cumulants (Daniels 1954).
    None where the second order is no small correction: the sum has few likely values.
    """
    second = c4 / (8 * c2**2) - 5 * c3**2 / (24 * c2**3)
    return (
        -0.5 * log(2 * pi * c2) + float(np.log1p(second)) if abs(second) < _MOST_CORRECTED else None
    )
