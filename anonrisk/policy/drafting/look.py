"""What a draft knows about a table: counts of each column, and the sets that single people out."""

from __future__ import annotations

from dataclasses import field
from math import log2
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.interrupt import limited
from anonrisk.measures import lookalikes
from anonrisk.measures.counts.question import ManySets, Question
from anonrisk.measures.entropy import renyi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.shapes import Numerals, Shape

# A set is told if it singles out more than this share; sets of more columns take too long to read.
ALPHA = 0.05
MAX_SIZE = 3
# So few values may be of a status, a diagnosis, an answer.
_FEW = 20
# Entropy over that of values that are all as common.
_UNEVEN = 0.8


@dataclass(frozen=True)
class Facts:
    """How one column looks: counts, and no cell.

    Attributes
    ----------
    n_rows, n_known, n_values : int
        Rows, rows that have a value, and different values.
    commonest : int
        Rows of the value that most have; missing is one.
    evenness : float
        Entropy of the values over the most that it can be; 1 where there is only one.
    looks : str or None
        The kind of identifier that it has the shape of.
    numerals : Numerals
        How many of the values are numbers or dates.
    """

    n_rows: int
    n_known: int
    n_values: int
    commonest: int
    evenness: float
    looks: str | None
    numerals: Numerals

    @classmethod
    def of(cls, sizes: ClassCounts, shape: Shape, numerals: Numerals) -> Facts:
        """Put together what an engine has counted."""
        n_values = sizes.n_classes - (shape.n_known < sizes.n_rows)
        return cls(
            n_rows=sizes.n_rows,
            n_known=shape.n_known,
            n_values=n_values,
            commonest=int(sizes.max),
            evenness=renyi(sizes.sizes, sizes.classes, 1) / log2(sizes.n_classes)
            if sizes.n_classes > 1
            else 1.0,
            looks=lookalikes.kind_of(shape, n_values),
            numerals=numerals,
        )

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every value is different, in a column that is long enough to tell."""
        enough = self.n_known >= lookalikes.ENOUGH
        return enough and self.n_values >= lookalikes.NEARLY_ALL * self.n_known

    @property
    def constant(self) -> bool:
        """Whether all cells are alike, or missing."""
        return self.n_values + (self.n_known < self.n_rows) == 1

    @property
    def is_number(self) -> bool:
        """Whether nearly all are numbers."""
        n_numbers = self.numerals.n_whole + self.numerals.n_fractions
        return 0 < self.n_known * lookalikes.NEARLY_ALL <= n_numbers

    @property
    def on_scale(self) -> bool:
        """Whether it is measured, so that many values are natural: dates, and fractions."""
        if self.is_number:
            return self.numerals.n_fractions >= self.n_known / 2
        return 0 < self.n_known * lookalikes.NEARLY_ALL <= self.numerals.n_dates

    @property
    def few_and_uneven(self) -> bool:
        """Whether there are few values, of which some are much commoner than others."""
        return 2 <= self.n_values <= _FEW and self.evenness < _UNEVEN


@dataclass(frozen=True)
class Together:
    """Which columns single people out, alone and with others.

    Attributes
    ----------
    best : dict of column to (columns, share)
        The most telling set that each column is part of.
    alone : dict of column to float
        Share of the records that each singles out by itself.
    n_records : int
        Records; with a unit, persons.
    who : str
        What is counted.
    n_undecided : int
        Sets that the time did not suffice for.
    """

    best: Mapping[Name, tuple[Qid, float]] = field(default_factory=dict)
    alone: Mapping[Name, float] = field(default_factory=dict)
    n_records: int = 0
    who: str = "record"
    n_undecided: int = 0


def look(engine: Engine, frame: Any, columns: Qid) -> tuple[dict[Name, Facts], dict[Name, str]]:
    """Count each column by itself; those that cannot be compared are given apart, with why."""
    counter = engine.count(frame, ManySets(Question((columns,))))
    if not counter.columns:
        return {}, dict(counter.unsupported)
    sizes = counter.count([(i,) for i in range(len(counter.columns))])
    counted = zip(sizes, counter.shapes(), counter.numerals(), strict=True)
    facts = (Facts.of(*item) for item in counted)
    return dict(zip(counter.columns, facts, strict=True)), dict(counter.unsupported)


def together(
    engine: Engine, frame: Any, columns: Qid, unit: Name | None, time_limit: float
) -> Together:
    """Search the sets of columns that single people out, for so many seconds."""
    counter = engine.count(frame, ManySets(Question((columns,), unit)))
    from anonrisk.measures.minimal import search

    with limited(time_limit):
        outcome = search(counter, ALPHA, MAX_SIZE)
    best: dict[Name, tuple[Qid, float]] = {}
    for result in outcome.minimal_sets:
        qid, share = result.sizes.qid, result.sizes.uniqueness
        for column in qid:
            # As `find_qids` ranks: what each thing known about a person buys.
            if column not in best or share / len(qid) > best[column][1] / len(best[column][0]):
                best[column] = qid, share
    return Together(
        best=best,
        alone={sizes.qid[0]: sizes.uniqueness for sizes in outcome.columns},
        n_records=outcome.columns[0].n_records,
        who="record" if unit is None else "person",
        n_undecided=outcome.n_sets - outcome.n_settled,
    )
