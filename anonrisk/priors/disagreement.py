"""When two data holders say different things about the same population."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from anonrisk.priors.checks import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anonrisk.priors.prior import Prior

# So many standard errors are put down to chance.
ERRORS = 3


@dataclass(frozen=True)
class Disagreement:
    """Two submissions that cannot both be right.

    Attributes
    ----------
    first, second : Prior
        The latest submissions of two holders.
    what : str
        The number that differs: s2, s3, entropy (nats) or n_values.
    values : tuple of float
        That number of each of the two.
    difference, allowed : float
        How far apart they are, and how far rounding and chance could take them.
    """

    first: Prior
    second: Prior
    what: str
    values: tuple[float, float]
    difference: float
    allowed: float

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON."""
        return {
            "qid": list(self.first.qid),
            "population": self.first.population,
            "what": self.what,
            "by": [self.first.by, self.second.by],
            "values": list(self.values),
            "difference": self.difference,
            "allowed": self.allowed,
        }


def find(submissions: Iterable[Prior]) -> Iterator[Disagreement]:
    """Compare the latest submissions of every two holders of one (QID, population).

    They disagree where s2, s3 or the entropy differ by more than rounding (half a unit of the
    third digit of each) and three standard errors of counting so many records as a sample, or
    where two declared domains differ in size by more than rounding. Compared is the entropy
    ln(n_values) − kl rather than the KL distance, because the latter also depends on how many
    values each holder takes to be possible; it is left out where one of the two has fewer than
    five records a value.
    """
    latest: dict[tuple[tuple[str, ...], str], dict[str, Prior]] = {}
    for prior in submissions:
        holders = latest.setdefault((prior.qid, prior.population), {})
        before = holders.get(prior.by)
        if before is None or _order(prior) >= _order(before):
            holders[prior.by] = prior
    for holders in latest.values():
        for first, second in combinations(holders.values(), 2):
            yield from _compare(first, second)


def _order(prior: Prior) -> tuple[Any, int]:
    return prior.when, prior.number or 0


def _compare(first: Prior, second: Prior) -> Iterator[Disagreement]:
    measures: list[tuple[str, Callable[[Prior], float], Callable[[Prior], tuple[float, float]]]] = [
        ("s2", lambda prior: prior.s2, _about_s2),
        ("s3", lambda prior: prior.s3, _about_s3),
    ]
    if all(prior.n_records >= 5 * prior.n_values for prior in (first, second)):
        measures.append(("entropy", _entropy, _about_entropy))
    if first.domain == second.domain == "declared":
        measures.append(("n_values", lambda prior: prior.n_values, _about_domain))
    for what, value, about in measures:
        values = value(first), value(second)
        (rounding_1, error_1), (rounding_2, error_2) = about(first), about(second)
        allowed = rounding_1 + rounding_2 + ERRORS * math.hypot(error_1, error_2)
        difference = abs(values[0] - values[1])
        if difference > allowed:
            yield Disagreement(first, second, what, values, difference, allowed)


def _entropy(prior: Prior) -> float:
    """Entropy without the bias of counting few records (Miller and Madow)."""
    return prior.entropy + (prior.n_values - 1) / (2 * prior.n_records)


def _about_s2(prior: Prior) -> tuple[float, float]:
    """Rounding and standard error of s2: Var ≈ 4(s3 − s2²)/n + 2 s2/n²."""
    n = prior.n_records
    spread = max(prior.s3 - prior.s2**2, 0.0)
    return ROUNDING * prior.s2, math.sqrt(4 * spread / n + 2 * prior.s2 / n**2)


def _about_s3(prior: Prior) -> tuple[float, float]:
    """Rounding and standard error of s3: Var ≈ 9(s5 − s3²)/n + 6 s3/n³, where s5 ≤ s3^(5/3)."""
    n = prior.n_records
    spread = max(prior.s3 ** (5 / 3) - prior.s3**2, 0.0)
    return ROUNDING * prior.s3, math.sqrt(9 * spread / n + 6 * prior.s3 / n**3)


def _about_entropy(prior: Prior) -> tuple[float, float]:
    """Rounding and standard error of the entropy.

    Its variance is that of ln p over n. The moments give it as ln(s3/s2²), exactly so where the
    logarithms are Normal.
    """
    rounding = ROUNDING * (prior.kl + 1)
    ratio = prior.s3 / prior.s2**2 if prior.s2 else 0.0
    spread = math.log(ratio) if ratio > 1 else 0.0
    error = math.sqrt((spread + 1 / prior.n_records) / prior.n_records)
    return rounding + (prior.n_values - 1) / (2 * prior.n_records), error


def _about_domain(prior: Prior) -> tuple[float, float]:
    return ROUNDING * prior.n_values, 0.0
