"""A group of which only the chances that two and three people share a value are known."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from anonrisk.core.results import Probability
from anonrisk.errors import ApproximationError
from anonrisk.predict import law
from anonrisk.predict.sources import PredictionSource

if TYPE_CHECKING:
    from anonrisk.predict.contour import Allowed

# S15: with this many people and so few triples, all who are not singletons are pairs.
LEAST, MOST_TRIPLES = 20, 0.01


@dataclass(frozen=True)
class FromMoments(PredictionSource):
    """A group in which hardly any three people share a value (S15, U5).

    Parameters
    ----------
    s2, s3 : float
        Chances that two, and three, people share a value.
    k : int
        Size of the group.
    """

    s2: float
    s3: float
    k: int
    words: str = "approximated from the published chances that two or three people share a value"

    @property
    def pairs(self) -> float:
        """Expected number of pairs of people who share a value."""
        return self.k * (self.k - 1) / 2 * self.s2

    @property
    def triples(self) -> float:
        """Expected number of triples."""
        return self.k * (self.k - 1) * (self.k - 2) / 6 * self.s3

    def check(self) -> None:
        """Refuse where the number of pairs is not enough to know."""
        if self.k < LEAST or self.triples >= MOST_TRIPLES:
            raise ApproximationError(
                f"a group of {self.k:,} with {self.triples:.2g} expected triples: pairs are enough "
                f"to know from {LEAST} people up, and with fewer than {MOST_TRIPLES:g} triples"
            )

    def mean(self) -> float:
        """Expected number of singletons, k(1 − (k−1)s2 + (k−1)(k−2)s3/2).

        The terms of Σ p(1 − p)^(k−1) alternate and fall, so that the truth lies between this and
        three times the number of triples less.
        """
        self.check()
        return self.k - 2 * self.pairs + 3 * self.triples

    def variance(self) -> float:
        """Variance of their number: that of twice a Poisson number of pairs."""
        return 4 * self.pairs

    def law(self) -> law.Law:
        """Chances of 0, 1, 2, … singletons; total variation distance at most .03."""
        near = law.approximate(self.k, self.mean(), self.variance(), self.pairs, self.triples)
        if near is None:
            raise ApproximationError("the number of pairs is not enough to know")
        return near

    def all_allowed(self, allowed: Allowed) -> Probability:
        """Chance that everybody is unique (U5), where it is large enough to be known."""
        if allowed.K != 1:
            raise ApproximationError("pairs and triples say nothing about the rest")
        k, two, three = self.k, self.s2, self.s3
        falling = k * (k - 1)
        exponent = (
            -falling * two / 2 + falling * (k - 2) * three / 3 - falling * (2 * k - 3) * two**2 / 4
        )
        if exponent < log(0.1):
            raise ApproximationError("too small a chance to know from pairs and triples")
        return Probability(min(exponent, 0.0), "pairs and triples")

    def classes(self, j: int) -> float:
        """Expected number of classes of one; pairs and triples say too little about others."""
        if j != 1:
            raise ApproximationError("pairs and triples say too little about larger classes")
        return self.mean()
