"""When two data holders say different things about the same population."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.priors import precision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anonrisk.priors.precision import Precision
    from anonrisk.priors.prior import Prior


@dataclass(frozen=True, repr=False)
class Disagreement(PrintedFields):
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
        """Return plain values that serialise as JSON."""
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
    five records per value.
    """
    about: dict[tuple[tuple[str, ...], str], list[Prior]] = {}
    for prior in latest(submissions):
        about.setdefault((prior.qid, prior.population), []).append(prior)
    for holders in about.values():
        for first, second in combinations(holders, 2):
            yield from _compare(first, second)


def latest(submissions: Iterable[Prior]) -> list[Prior]:
    """Return the latest submission of each holder about each (QID, population)."""
    kept: dict[tuple[tuple[str, ...], str, str], Prior] = {}
    for prior in submissions:
        key = prior.qid, prior.population, prior.by
        if key not in kept or _order(prior) >= _order(kept[key]):
            kept[key] = prior
    return list(kept.values())


def chosen(submissions: Iterable[Prior]) -> Prior:
    """Return the latest submission of the holder with the most records."""
    return max(latest(submissions), key=lambda prior: (prior.n_records, *_order(prior)))


def _order(prior: Prior) -> tuple[Any, int]:
    return prior.when, prior.number or 0


def _compare(first: Prior, second: Prior) -> Iterator[Disagreement]:
    measures: list[tuple[str, Callable[[Prior], float], Callable[[Prior], Precision]]] = [
        ("s2", lambda prior: prior.s2, precision.of_s2),
        ("s3", lambda prior: prior.s3, precision.of_s3),
    ]
    if all(prior.n_records >= 5 * prior.n_values for prior in (first, second)):
        measures.append(("entropy", precision.unbiased_entropy, precision.of_entropy))
    if first.domain == second.domain == "declared":
        measures.append(("n_values", lambda prior: prior.n_values, precision.of_domain))
    for what, value, about in measures:
        values = value(first), value(second)
        item, other = about(first), about(second)
        chance = precision.ERRORS * math.hypot(item.error, other.error)
        allowed = item.rounding + other.rounding + chance
        difference = abs(values[0] - values[1])
        if difference > allowed:
            yield Disagreement(first, second, what, values, difference, allowed)
