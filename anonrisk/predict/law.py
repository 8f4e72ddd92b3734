"""The law of the number of singletons: exact, or a cheap one where that is good enough."""

from __future__ import annotations

from math import ceil, exp, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.predict.another_group import ClassEstimate
from anonrisk.predict.independent import log1p

if TYPE_CHECKING:
    from anonrisk.core.types import Floats
    from anonrisk.predict.independent import Numbers


# More chances than this are not put into a list: 800 MB.
MAX_DENSE = 100_000_000
# Below this the exact law takes about a second.
CHEAP = 20_000_000
# And below this a twentieth of that.
QUICK = 1_000_000
# Terms that are held at once; only memory and speed depend on it.
_CHUNK = 300_000
# A mean over points of a circle adds what is as far off as there are points. For the sum of all
# numbers, whose deviation is √k, that is ten deviations off; for the singletons, of deviation `sd`,
# the roots reach ten to either side. A Normal law has 8e-24 there; more are for longer tails.
_POINTS_PER_SD, _MORE_POINTS = 10, 40
_ROOTS_PER_SD, _MORE_ROOTS = 20, 24
# Where a list of chances ends: so many deviations from the mean, where a Normal law has 2e-33 left,
# and so many counts more for the tail of a Poisson law, which is longer.
_FAR, _FURTHER = 12, 30
# And of a negative binomial law: its tail falls as e^(−x mean/variance), here to e^(−40) = 4e-18.
_DECAYS = 40
# A cumulative chance that differs by less from a level is equal to it: rounding, of thousands of
# chances that are exact to 1e-13 at best, must not widen an interval.
_HAIR = 1e-12
# Mean and variance that agree to this share are a Poisson law's: other laws lose digits there.
_LIKE_POISSON = 1e-6
# A number whose variance is larger has a law that a Normal one hits within two of it.
MUCH = 10_000
_ESTIMATED = "approximate"


@dataclass(frozen=True)
class Law:
    """Chances of a whole number: `chance[i]` is that of `first` + i.

    Attributes
    ----------
    first : int
        The least number that has a chance worth keeping.
    chance : array of float
        The chances.
    how : str
        ``"exact"``, or the name of the approximation.
    """

    first: int
    chance: Floats
    how: str

    def quantiles(self, level: float) -> tuple[int, int]:
        """Return the shortest central interval: at most (1 − level)/2 lies on either side."""
        side = (1 - level) / 2
        below = np.cumsum(self.chance)
        above = np.cumsum(self.chance[::-1])
        # Rounding must not widen an interval whose tail is the allowed one exactly.
        low = int(np.searchsorted(below, side + _HAIR, side="right"))
        high = len(self.chance) - 1 - int(np.searchsorted(above, side + _HAIR, side="right"))
        return self.first + min(low, len(self.chance) - 1), self.first + max(high, 0)

    def upper(self, level: float) -> int:
        """Return the least number that is not exceeded with this probability."""
        below = np.cumsum(self.chance)
        place = int(np.searchsorted(below, level - _HAIR))
        return self.first + min(place, len(self.chance) - 1)

    def dense(self, largest: int) -> Floats:
        """Return the chances of 0, 1, … `largest`."""
        if largest > MAX_DENSE:
            raise ArgumentError(
                f"{largest + 1:,} chances are too many for a list; ask for interval(level), or see "
                "law.first and law.chance"
            )
        whole = np.zeros(largest + 1)
        kept = self.chance[: largest + 1 - self.first]
        whole[self.first : self.first + len(kept)] = kept
        return whole


def exact(numbers: Numbers, k: int, mean: float, sd: float) -> Law:
    """Exact law of the number of singletons S (S14; S17 for records of a table).

    E u^S is a mean over points of a circle, for u on the roots of unity; a discrete Fourier
    transform of those gives the chances, to about 1e-13 each.
    """
    x = numbers.tilted(numbers.start(k))
    most = min(k, int(x.w.sum()))
    roots = min(most + 1, ceil(_ROOTS_PER_SD * sd) + _MORE_ROOTS)
    first = max(0, min(ceil(mean - roots / 2), most + 1 - roots))
    points = ceil(_POINTS_PER_SD * sqrt(k)) + _MORE_POINTS
    half = roots // 2 + 1
    powers = np.exp(2j * pi * np.arange(half) / roots)
    single = np.exp(x.log_at(1))
    result = np.zeros(half, dtype=complex)
    step = max(1, _CHUNK // (len(x.w) * half))
    for start in range(0, points, step):
        place = np.arange(start, min(start + step, points))
        angle = 2 * pi * place / points
        turn = np.exp(1j * angle)
        # Each factor is E[u^(X = 1) e^{iθX}], so that no product exceeds 1; less 1, they are an
        # array (n_numbers, n_points, n_roots).
        part = x.turned(angle)[:, :, None] + (single[:, None] * turn)[:, :, None] * (powers - 1)
        size, angle = log1p(part)
        back = 2 * pi * ((k * place) % points) / points
        size, angle = np.tensordot(x.w, size, 1), np.tensordot(x.w, angle, 1) - back[:, None]
        result += (np.exp(size) * np.exp(1j * angle)).sum(axis=0)
    result *= exp(-x.log_sum(k)) / points
    shifted = result * np.exp(-2j * pi * np.arange(half) * first / roots)
    chance = np.fft.irfft(shifted.conj(), roots)
    return Law(first, np.maximum(chance, 0.0), "exact")


def cost(numbers: Numbers, k: int, sd: float) -> float:
    """Return the number of terms that the exact law takes."""
    roots = min(min(k, int(numbers.w.sum())) + 1, ceil(_ROOTS_PER_SD * sd) + _MORE_ROOTS)
    return len(numbers.w) * (_POINTS_PER_SD * sqrt(k) + _MORE_POINTS) * roots / 2


def approximate(k: int, mean: float, variance: float, pairs: float, triples: float) -> Law | None:
    """Return an approximation with a total variation distance of at most .03, if one has it (S15).

    `pairs` and `triples` are the expected numbers of pairs and triples of people who share a value.
    The numbers below were chosen so that each law keeps to that distance from the exact one on
    random distributions, which tests/test_predict.py tries; nothing proves it for all.
    """
    if k >= 20 and triples < 0.01:
        return _pairs_law(k, pairs)
    if mean > 0 and abs(1 - variance / mean) < 0.1:
        return _poisson_law(k, mean)
    if mean > 15 and variance > 10 and pairs > 20:
        return normal(k, mean, variance)
    return None


def _pairs_law(k: int, pairs: float) -> Law:
    """K − S is twice a Poisson number of pairs."""
    chance = _poisson_chances(pairs, k // 2)
    return _left_by(k, Law(0, chance / chance.sum(), "Poisson number of pairs"))


def _left_by(k: int, pairs: Law) -> Law:
    """Return the law of how many of k are left when pairs of them are taken away."""
    chance = np.zeros(2 * len(pairs.chance) - 1)
    chance[::2] = pairs.chance[::-1]
    return Law(k - 2 * (pairs.first + len(pairs.chance) - 1), chance, pairs.how)


def _poisson_law(k: int, mean: float) -> Law:
    chance = _poisson_chances(mean, k)
    return Law(0, chance / chance.sum(), "Poisson")


def _poisson_chances(mean: float, most: int) -> Floats:
    from scipy.special import pdtr

    upto = min(most, ceil(mean + _FAR * sqrt(mean) + _FURTHER))
    whole = pdtr(np.arange(upto + 1), mean)
    return np.asarray(np.diff(whole, prepend=0.0))


def normal(k: int, mean: float, variance: float) -> Law:
    """Normal law with continuity correction, cut off at 0 and k."""
    sd = sqrt(variance)
    if sd == 0:
        return Law(round(mean), np.ones(1), "certain")
    # Ten deviations: the chances beyond, 8e-24, go to the ends.
    first, last = max(0, int(mean - 10 * sd)), min(k, ceil(mean + 10 * sd))
    from scipy.special import ndtr

    below = ndtr((np.arange(first, last + 2) - 0.5 - mean) / sd)
    below[0], below[-1] = 0.0, 1.0
    return Law(first, np.diff(below), "Normal")


def estimated_singletons(k: int, t: float, class_estimate: ClassEstimate) -> Law:
    """Law of the singletons of another group, `t` times as large as the table (P13).

    Where most are singletons, the others are the small number, and they come in pairs.
    """
    if class_estimate.mean <= k / 2 or class_estimate.variance > MUCH:
        return estimated_classes(class_estimate, k)
    pairs = ClassEstimate((k - class_estimate.mean) / 2, class_estimate.variance / 4, t * t)
    return _left_by(k, estimated_classes(pairs, k // 2))


def estimated_classes(class_estimate: ClassEstimate, most: int) -> Law:
    """Law of a number of classes that was estimated, at most `most`.

    Negative binomial, Poisson or binomial, whichever has the mean and the variance, as if half a
    class more had been seen: a table without any of them does not show that there are none.
    A variance beyond that of a count is noise on both sides of the mean: the law is moved down.
    """
    spread = 1 + class_estimate.weight
    mean = class_estimate.mean + class_estimate.weight / 2
    variance = class_estimate.variance + class_estimate.weight / 2 * spread
    if variance > MUCH:
        near = normal(most, mean, variance)
        return Law(near.first, near.chance, _ESTIMATED)
    centre = max(mean, variance / spread)
    first, chance = _counts(centre, variance)
    # What is then outside 0 … `most` is given to the ends.
    place = np.clip(first + np.arange(len(chance)) - round(centre - mean), 0, most)
    whole = np.zeros(place[-1] - place[0] + 1)
    np.add.at(whole, place - place[0], chance)
    return Law(int(place[0]), whole, _ESTIMATED)


def _counts(mean: float, variance: float) -> tuple[int, Floats]:
    """Return the first count worth keeping and the chances from it on (Panjer's class)."""
    from scipy.special import gammaln, xlog1py, xlogy

    sd = sqrt(variance)
    first = max(0, int(mean - _FAR * sd - _FURTHER))
    last = ceil(mean + _FAR * sd + _DECAYS * variance / mean + _FURTHER)
    x = np.arange(first, last + 1, dtype=float)
    if variance > mean * (1 + _LIKE_POISSON):
        r = mean**2 / (variance - mean)
        log = gammaln(x + r) - gammaln(r) - gammaln(x + 1)
        log += r * np.log(mean / variance) + xlog1py(x, -mean / variance)
    elif variance < mean * (1 - _LIKE_POISSON):
        n = max(ceil(mean**2 / (mean - variance)), ceil(mean))
        x = x[x <= n]
        log = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
        log += xlogy(x, mean / n) + xlog1py(n - x, -mean / n)
    else:
        log = xlogy(x, mean) - mean - gammaln(x + 1)
    chance = np.exp(log)
    return first, chance / chance.sum()
