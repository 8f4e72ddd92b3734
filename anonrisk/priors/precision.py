"""How far a published number may be from the population's: rounding, and counting a sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.priors.checks import ROUNDING

if TYPE_CHECKING:
    from anonrisk.priors.prior import Prior

# So many standard errors are put down to chance.
ERRORS = 3


@dataclass(frozen=True)
class Precision:
    """What rounding may do at most, and the standard error of counting."""

    rounding: float
    error: float

    @property
    def most(self) -> float:
        """How far off the number may be, all in all."""
        return self.rounding + ERRORS * self.error


def of_s2(prior: Prior) -> Precision:
    """Standard error of s2: Var ≈ 4(s3 − s2²)/n + 2 s2/n² + 4/n⁴.

    The last two terms are those of a Poisson number of pairs, never quite 0.
    """
    n = prior.n_records
    spread = max(prior.s3 - prior.s2**2, 0.0)
    variance = 4 * spread / n + 2 * prior.s2 / n**2 + 4 / n**4
    return Precision(ROUNDING * prior.s2, math.sqrt(variance))


def of_s3(prior: Prior) -> Precision:
    """Standard error of s3: Var ≈ 9(s5 − s3²)/n + 6 s3/n³ + 36/n⁶, where s5 ≤ s3^(5/3)."""
    n = prior.n_records
    spread = max(prior.s3 ** (5 / 3) - prior.s3**2, 0.0)
    variance = 9 * spread / n + 6 * prior.s3 / n**3 + 36 / n**6
    return Precision(ROUNDING * prior.s3, math.sqrt(variance))


def unbiased_entropy(prior: Prior) -> float:
    """Entropy in nats without the bias of counting few records (Miller and Madow)."""
    return prior.entropy + (prior.n_values - 1) / (2 * prior.n_records)


def of_entropy(prior: Prior) -> Precision:
    """Standard error of the entropy, where there are five records per value or more.

    Its variance is that of ln p over n. The moments give the former as ln(s3/s2²), exactly so
    where the logarithms are Normal. The correction of the bias is itself allowed to be off by
    its own size, and the rounding of n_values by what it does to ln(n_values).
    """
    ratio = prior.s3 / prior.s2**2 if prior.s2 else 0.0
    spread = math.log(ratio) if ratio > 1 else 0.0
    bias = (prior.n_values - 1) / (2 * prior.n_records)
    error = math.sqrt((spread + 1 / prior.n_records) / prior.n_records)
    return Precision(ROUNDING * (prior.kl + 1) + bias, error)


def of_domain(prior: Prior) -> Precision:
    """The size of a declared domain is rounded, not counted."""
    return Precision(ROUNDING * prior.n_values, 0.0)
