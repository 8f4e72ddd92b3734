"""What an engine is asked, and how much it may answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.counts.class_sizes import ClassCounts

# Scores of which the smallest is the worst.
LEAST = ("distinct", "entropy", "recursive")
# exp of an entropy of two equal values is 1.9999999999999998; that is not less than 2.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Question:
    """Which classes to count: one or several quasi-identifiers, by record or by person."""

    qids: tuple[Qid, ...]
    unit: Name | None = None
    missing: str = "value"

    @property
    def qid(self) -> Qid:
        """The quasi-identifier of a question about one."""
        (only,) = self.qids
        return only

    @property
    def columns(self) -> Qid:
        """Every quasi-identifying column once, in order of appearance."""
        return tuple(dict.fromkeys(name for qid in self.qids for name in qid))

    def roles(self, more: Mapping[Name, str] | None = None) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        roles = {**(more or {}), **dict.fromkeys(self.columns, "quasi-identifier")}
        return roles if self.unit is None else {**roles, self.unit: "unit"}


@dataclass(frozen=True)
class Group:
    """The classes of one group of a column; none where every record of it was dropped."""

    label: Any
    sizes: ClassCounts | None
    n_dropped: int = 0


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column, and what is known about its values."""

    column: Name
    missing: str = "value"
    ordered: bool = False
    order: tuple[Any, ...] | None = None
    hierarchy: Hierarchy | None = None


@dataclass(frozen=True)
class Against:
    """What is known of the population that a table is a sample of."""

    population: Any = None
    weight: Name | None = None
    household: Name | None = None
    factor: float = 1.0


@dataclass(frozen=True)
class Score:
    """A number that every class has; a table has the worst of them."""

    name: str
    c: float | None = None

    @property
    def least(self) -> bool:
        """Whether the smallest is the worst, as for diversity, or the largest, as for distance."""
        return self.name in LEAST

    def breaks(self, limit: float) -> float:
        """Give the value beyond which a class breaks a limit, a hair in the class's favour."""
        return limit * (1 - TOLERANCE) if self.least else limit * (1 + TOLERANCE)


@dataclass(frozen=True)
class Scored:
    """The worst class by each score, and the sizes of all."""

    sizes: ClassCounts
    worst: dict[Score, float]


@dataclass(frozen=True)
class CellSuppression:
    """Suppress cells instead of records, and write this in their place."""

    marker: str | float | None = "*"


@dataclass(frozen=True)
class Noise:
    """Random numbers to add: a law, its scale for each column, and a seed."""

    law: str
    scales: dict[Name, float]
    seed: int
