"""What a repository answers: lists that print as tables, and where two holders disagree."""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.priors.forecast import (
    ERRORS,
    of_domain,
    of_entropy,
    of_s2,
    of_s3,
    unbiased_entropy,
)
from anonrisk.priors.prior import Prior

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    from anonrisk.priors.forecast import Precision


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
        ("s2", lambda prior: prior.s2, of_s2),
        ("s3", lambda prior: prior.s3, of_s3),
    ]
    if all(prior.n_records >= 5 * prior.n_values for prior in (first, second)):
        measures.append(("entropy", unbiased_entropy, of_entropy))
    if first.domain == second.domain == "declared":
        measures.append(("n_values", lambda prior: prior.n_values, of_domain))
    for what, value, about in measures:
        values = value(first), value(second)
        item, other = about(first), about(second)
        chance = ERRORS * math.hypot(item.error, other.error)
        allowed = item.rounding + other.rounding + chance
        difference = abs(values[0] - values[1])
        if difference > allowed:
            yield Disagreement(first, second, what, values, difference, allowed)


Item = TypeVar("Item")


@dataclass(frozen=True, repr=False)
class _Listing(render.PrintedTable, Generic[Item]):
    """A frozen list of one kind of thing."""

    items: tuple[Item, ...]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self.items[place]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {"items": self._plain()}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table, a row for each."""
        import pandas as pd

        return pd.DataFrame(self._plain(), columns=self._columns())

    @abstractmethod
    def _plain(self) -> list[dict[str, Any]]: ...

    @abstractmethod
    def _columns(self) -> list[str]: ...


@dataclass(frozen=True, repr=False)
class Submissions(_Listing[Prior]):
    """Submissions to a repository, in the order they came.

    Attributes
    ----------
    items : tuple of Prior
        The submissions.
    refused : tuple of str
        What the database holds besides, put there by something else than this library, and why
        it is not used.
    """

    refused: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return super().to_dict() | {"refused": list(self.refused)}

    def _plain(self) -> list[dict[str, Any]]:
        return [prior.to_dict() for prior in self.items]

    def _columns(self) -> list[str]:
        return list(Prior.__dataclass_fields__)

    def _lines(self) -> list[str]:
        text = render.count_of(len(self.items), "submission")
        return [f"{text}, numbers rounded to three digits"]

    def _header(self) -> tuple[str, ...]:
        return "no.", "qid", "population", "kl", "s2", "s3", "values", "records", "when", "by"

    def _rows(self) -> list[list[str]]:
        return [
            [
                "" if prior.number is None else str(prior.number),
                render.joined(prior.qid),
                prior.population,
                f"{prior.kl:.3g}",
                f"{prior.s2:.3g}",
                f"{prior.s3:.3g}",
                f"{prior.n_values:,}",
                f"{prior.n_records:,}",
                prior.when.isoformat(),
                prior.by,
            ]
            for prior in self.items
        ]

    def _notes(self) -> list[str]:
        return [f"not used: {reason}" for reason in self.refused]


@dataclass(frozen=True, repr=False)
class Disagreements(_Listing[Disagreement]):
    """Where data holders differ about the same quasi-identifier of the same population."""

    def _plain(self) -> list[dict[str, Any]]:
        return [item.to_dict() for item in self.items]

    def _columns(self) -> list[str]:
        return ["qid", "population", "what", "by", "values", "difference", "allowed"]

    def _lines(self) -> list[str]:
        if not self.items:
            return ["no disagreement beyond rounding and chance"]
        return [f"{render.count_of(len(self.items), 'disagreement')} beyond rounding and chance"]

    def _header(self) -> tuple[str, ...]:
        return "qid", "population", "what", "first", "second", "difference", "allowed"

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.joined(item.first.qid),
                item.first.population,
                item.what,
                f"{item.values[0]:.3g} ({item.first.by})",
                f"{item.values[1]:.3g} ({item.second.by})",
                f"{item.difference:.3g}",
                f"{item.allowed:.3g}",
            ]
            for item in self.items
        ]
