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

from math import comb, exp, log, pi
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonrisk.errors import ApproximationError
from anonrisk.predict.independent import log1p, log_tail, turned_by

if TYPE_CHECKING:
    from anonrisk.core.types import Complex, Floats
    from anonrisk.predict.independent import Numbers


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
