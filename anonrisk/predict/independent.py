"""Class sizes as independent numbers, given that they add up to the size of the group.

A group drawn person by person from a distribution has class sizes like independent Poisson numbers
that happen to add up to k; a group drawn from the records of a table, without replacement, like
independent binomial ones. Everything else in this folder is the same for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.predict import stirling

if TYPE_CHECKING:
    from anonrisk.core.arrays import Complex, Floats, Integers


@dataclass(frozen=True)
class Poisson:
    """Numbers of mean ρ p, for each of the different probabilities; `w` values have each."""

    p: Floats
    w: Integers
    log_tilt: float = 0.0

    def tilted(self, log_tilt: float) -> Poisson:
        """Give the same numbers at another ρ; given their sum, nothing changes."""
        return Poisson(self.p, self.w, log_tilt)

    def start(self, k: int) -> float:
        """Give log ρ at which the numbers add up to k on average."""
        return float(np.log(k / np.dot(self.w, self.p)))

    @property
    def lam(self) -> Floats:
        """The means."""
        return self.p * exp(self.log_tilt)

    def log_none(self) -> Floats:
        """Give log P(X = 0)."""
        return -self.lam

    def ratio(self, m: int) -> Floats:
        """Give P(X = m) / P(X = m − 1)."""
        return self.lam / m

    def tail(self, m: int) -> Floats:
        """Give P(X ≥ m)."""
        from scipy.special import gammainc

        return gammainc(m, self.lam) if m > 0 else np.ones_like(self.p)

    def falling(self, j: int, m: int) -> Floats:
        """E[X (X − 1) … (X − j + 1); X ≥ m] for m ≥ 1: the numbers below j add nothing."""
        return self.lam**j * self.tail(m - j)

    def turned(self, turn: Complex) -> Complex:
        """Give the characteristic function, a row a probability, less 1."""
        away = turn - 1
        return _expm1(
            np.multiply.outer(self.lam, away.real), np.multiply.outer(self.lam, away.imag)
        )

    def log_sum(self, k: int) -> float:
        """Give log P(ΣX = k)."""
        return stirling.log_poisson(k, float(np.dot(self.w, self.lam)))

    def sum_cumulants(self, k: int) -> tuple[float, float, float]:
        """Second to fourth cumulant of ΣX where its mean is k."""
        return float(k), float(k), float(k)

    def most(self, K: int) -> float:
        """Give the largest sum if every X is 0 or at least K; at most 1 each for K = 1."""
        return float(self.w.sum()) if K == 1 else np.inf

    def log_most(self, K: int) -> float:  # noqa: ARG002
        """Give the chance of that sum: one person on every value."""
        k = int(self.w.sum())
        return float(np.dot(self.w, np.log(k * self.p)) + stirling.log_falling(k, k))


@dataclass(frozen=True)
class Binomial:
    """Records drawn from classes of `c` with odds ρ to 1; `w` classes have each size."""

    c: Integers
    w: Integers
    log_tilt: float = 0.0

    def tilted(self, log_tilt: float) -> Binomial:
        """Give the same numbers at another ρ; given their sum, nothing changes."""
        return Binomial(self.c, self.w, log_tilt)

    def start(self, k: int) -> float:
        """Give log ρ at which the numbers add up to k on average."""
        return float(np.log(k / (float(np.dot(self.w, self.c)) - k)))

    @property
    def odds(self) -> float:
        """The odds ρ."""
        return exp(self.log_tilt)

    @property
    def share(self) -> float:
        """The chance that a record is drawn."""
        return self.odds / (1 + self.odds)

    def log_none(self) -> Floats:
        """Give log P(X = 0)."""
        return np.asarray(-self.c * np.log1p(self.odds))

    def ratio(self, m: int) -> Floats:
        """Give P(X = m) / P(X = m − 1)."""
        return np.asarray(np.maximum(self.c - m + 1, 0) / m * self.odds)

    def tail(self, m: int) -> Floats:
        """Give P(X ≥ m)."""
        return _binomial_tail(self.c, m, self.share)

    def falling(self, j: int, m: int) -> Floats:
        """E[X (X − 1) … (X − j + 1); X ≥ m] for m ≥ 1: the numbers below j add nothing."""
        steps = [np.maximum(self.c - i, 0) * self.share for i in range(j)]
        rest = _binomial_tail(np.maximum(self.c - j, 0), m - j, self.share)
        return np.asarray(np.prod(steps, axis=0) * rest)

    def turned(self, turn: Complex) -> Complex:
        """Give the characteristic function, a row a size, less 1."""
        size, angle = log1p(self.share * (turn - 1))
        return _expm1(np.multiply.outer(self.c, size), np.multiply.outer(self.c, angle))

    def log_sum(self, k: int) -> float:
        """Give log P(ΣX = k)."""
        return stirling.log_binomial(k, int(np.dot(self.w, self.c)), self.odds)

    def sum_cumulants(self, k: int) -> tuple[float, float, float]:
        """Second to fourth cumulant of ΣX where its mean is k."""
        q = k / float(np.dot(self.w, self.c))
        c2 = k * (1 - q)
        return c2, c2 * (1 - 2 * q), c2 * (1 - 6 * q * (1 - q))

    def most(self, K: int) -> float:
        """Give the largest sum if every X is 0 or at least K; at most 1 each for K = 1."""
        return float(self.w.sum() if K == 1 else np.dot(self.w, self.c * (self.c >= K)))

    def log_most(self, K: int) -> float:
        """Give the chance of that sum: one record of every class, or all of the large ones."""
        n, k = int(np.dot(self.w, self.c)), int(self.most(K))
        ways = np.dot(self.w, np.log(self.c)) if K == 1 else 0.0
        choices = k * np.log(n / k) + stirling.log_falling(n, k) - stirling.log_falling(k, k)
        return float(ways - choices)


Numbers = Poisson | Binomial


def log1p(z: Complex) -> tuple[Floats, Floats]:
    """Real and imaginary part of log(1 + z), without the loss near 0 that numpy's own has."""
    a, b = z.real, z.imag
    with np.errstate(divide="ignore"):
        return 0.5 * np.log1p(np.maximum(a * (2 + a) + b * b, -1.0)), np.arctan2(b, 1 + a)


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
