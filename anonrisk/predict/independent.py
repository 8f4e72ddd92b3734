"""Class sizes as independent numbers, given that they add up to the size of the group.

A group drawn person by person from a distribution has class sizes like independent Poisson numbers
that happen to add up to k; a group drawn from the records of a table, without replacement, like
independent binomial ones. Everything else in this folder is the same for both.
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.frozen import dataclass
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
