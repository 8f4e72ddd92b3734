"""Exact chances of what all classes of a group are like.

For independent numbers X whose distribution given their sum is that of the classes (see
`independent`), and any set A of allowed class sizes,

    P(all classes in A) = ∏ P(X in A) · P(ΣX = k | all X in A) / P(ΣX = k).

The middle factor is a coefficient of a product of characteristic functions: a mean over points of
a circle, exact but for rounding once there are more points than the sum has likely values. With
the numbers tilted so that their conditional sum is k on average, no term is larger than the result
by more than the number of points: *relative* accuracy near 1e-13. Formulas U3, S13, S16 and S17;
Koot (2012, 5.4.3) calls the exact law hard.
"""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonrisk.predict.independent import log1p

if TYPE_CHECKING:
    from anonrisk.core.arrays import Complex, Floats
    from anonrisk.predict.independent import Numbers


# More terms than this take seconds; the saddlepoint takes their place.
MAX_TERMS = 4_000_000
_CHUNK = 500_000


class Allowed(Protocol):
    """Class sizes that are allowed."""

    K: int

    def log_allowed(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A)."""

    def cumulants(self, x: Numbers) -> tuple[Floats, Floats, Floats, Floats]:
        """First four cumulants of X given A."""

    def turned(self, x: Numbers, turn: Complex) -> Complex:
        """Characteristic function of X given A, less 1."""


class AtMostOne:
    """Class sizes 0 and 1: everybody differs (U2 to U4)."""

    K = 1

    def log_allowed(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A)."""
        return x.log_none() + np.log1p(x.ratio(1))

    def cumulants(self, x: Numbers) -> tuple[Floats, Floats, Floats, Floats]:
        """First four cumulants of X given A."""
        t = x.ratio(1) / (1 + x.ratio(1))
        v = t * (1 - t)
        return t, v, v * (1 - 2 * t), v * (1 - 6 * v)

    def turned(self, x: Numbers, turn: Complex) -> Complex:
        """Characteristic function of X given A, less 1."""
        return (x.ratio(1) / (1 + x.ratio(1)))[:, None] * (turn - 1)[None, :]


class EmptyOrAtLeast:
    """Class size 0, or K and more: the table is K-anonymous (S13 for K = 2, S16)."""

    def __init__(self, K: int) -> None:
        """Keep K."""
        self.K = K

    def log_allowed(self, x: Numbers) -> Floats:
        """Logarithm of P(X in A)."""
        return np.log(np.exp(x.log_none()) + x.tail(self.K))

    def cumulants(self, x: Numbers) -> tuple[Floats, Floats, Floats, Floats]:
        """First four cumulants of X given A."""
        allowed = np.exp(self.log_allowed(x))
        f1, f2, f3, f4 = (x.falling(j, self.K) / allowed for j in range(1, 5))
        m2 = f2 + f1
        m3 = f3 + 3 * f2 + f1
        m4 = f4 + 6 * f3 + 7 * f2 + f1
        return (
            f1,
            m2 - f1**2,
            m3 - 3 * m2 * f1 + 2 * f1**3,
            m4 - 4 * m3 * f1 - 3 * m2**2 + 12 * m2 * f1**2 - 6 * f1**4,
        )

    def turned(self, x: Numbers, turn: Complex) -> Complex:
        """Characteristic function of X given A, less 1."""
        tail, none = x.tail(self.K), np.exp(x.log_none())
        rare = tail < 1e-2
        # What is left of the whole function loses digits where little is left: there the terms
        # are added one by one instead.
        whole = x.turned(turn)
        chance = none
        for m in range(1, self.K):
            chance = chance * x.ratio(m)
            whole -= chance[:, None] * (turn**m - 1)[None, :]
        if rare.any():
            whole[rare] = self._added(x, turn)[rare]
        return whole / (none + tail)[:, None]

    def _added(self, x: Numbers, turn: Complex) -> Complex:
        """Σ P(X = m)(e^{imθ} − 1) over m ≥ K."""
        with np.errstate(divide="ignore"):
            logs = x.log_none() + sum(np.log(x.ratio(m)) for m in range(1, self.K + 1))
        rare = x.tail(self.K) < 1e-2
        chance = np.where(rare, np.exp(logs), 0.0)
        total, m = chance[:, None] * (turn**self.K - 1)[None, :], self.K
        while chance.max() > 1e-19:
            m += 1
            chance = chance * x.ratio(m)
            total += chance[:, None] * (turn**m - 1)[None, :]
        return total


def log_probability(numbers: Numbers, k: int, allowed: Allowed) -> tuple[float, str]:
    """Logarithm of the chance that all class sizes of a group of `k` are allowed, and how."""
    if k >= numbers.most(allowed.K):
        # The tilt would have to be infinite.
        return (numbers.log_most(allowed.K) if k == numbers.most(allowed.K) else -np.inf), "exact"
    x, outside, sd = tilted(numbers, k, allowed)
    points = int(12 * sd + 20 * allowed.K + 40)
    if points * len(x.w) > MAX_TERMS:
        return _second_order(x, k, allowed, outside), "saddlepoint"
    found = _coefficient(x, k, allowed, points)
    while True:
        points *= 2
        better = _coefficient(x, k, allowed, points)
        # What cannot happen is a trace of rounding, which never settles.
        settled = max(1e-12 * abs(better), 1e-15)
        if abs(better - found) <= settled or points * len(x.w) > MAX_TERMS:
            break
        found = better
    # Rounding alone leaves a trace of what cannot happen.
    return (outside + log(better) if better > 1e-14 else -np.inf), "exact"


def saddlepoint(numbers: Numbers, k: int, allowed: Allowed) -> float:
    """Give the same to second order only, in one pass (U4): within 5e-4 where it is no rarity."""
    if k >= numbers.most(allowed.K):
        return log_probability(numbers, k, allowed)[0]
    x, outside, _ = tilted(numbers, k, allowed)
    return _second_order(x, k, allowed, outside)


def tilted(numbers: Numbers, k: int, allowed: Allowed) -> tuple[Numbers, float, float]:
    """Tilt so that the conditional sum has mean k; give the outer factors and its deviation."""
    from scipy.optimize import brentq

    def surplus(log_tilt: float) -> float:
        return float(np.dot(numbers.w, allowed.cumulants(numbers.tilted(log_tilt))[0])) - k

    low = high = numbers.start(k)
    while surplus(low) > 0:
        low -= 1
    while surplus(high) < 0:
        high += 1
    x = numbers.tilted(low if low == high else float(brentq(surplus, low, high, xtol=1e-13)))
    outside = float(np.dot(x.w, allowed.log_allowed(x))) - x.log_sum(k)
    return x, outside, float(np.sqrt(np.dot(x.w, allowed.cumulants(x)[1])))


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
        size, turned = log1p(allowed.turned(x, np.exp(2j * pi * place / points)))
        # k θ is reduced first: for large k the angle itself would lose its digits.
        angle = 2 * pi * ((k * place) % points) / points
        real = np.exp(x.w @ size) * np.cos(x.w @ turned - angle)
        total += float(np.dot(weight[place], real))
    return total / points


def _second_order(x: Numbers, k: int, allowed: Allowed, outside: float) -> float:
    _, c2, c3, c4 = (float(np.dot(x.w, c)) for c in allowed.cumulants(x))
    if c2 <= 0:
        return outside
    # The sum without any condition is approximated in the same way, so that the errors cancel;
    # else 1 − π is ruined for small groups.
    error = x.tilted(x.start(k)).log_sum(k) - _edgeworth(*x.sum_cumulants(k))
    return outside + error + _edgeworth(c2, c3, c4)


def _edgeworth(c2: float, c3: float, c4: float) -> float:
    """Logarithm of the chance that a sum of these cumulants equals its mean, to second order."""
    return -0.5 * log(2 * pi * c2) + float(np.log1p(c4 / (8 * c2**2) - 5 * c3**2 / (24 * c2**3)))
