"""What an engine must do, and the rules by which two cells are the same.

An engine reduces a table of one library to `ClassCounts`. Its keyed tallies (values of
quasi-identifiers with their counts) never leave it.

The rules of equality, the same on every engine:

- None, NULL, NaN, NaT and pd.NA are one value, "missing". With ``missing="value"`` it forms
  classes like any other; with ``"drop"`` records that miss a quasi-identifier are left out and
  counted; with ``"error"`` they are refused; with ``"wildcard"`` missing is equal to everything,
  and only sizes of classes are asked for.
- 0.0 equals -0.0. Strings are compared exactly, byte for byte. Instants are compared as instants,
  whatever their zone. Categories that no record has form no class.
- Cells without an equality of their own (lists, maps, structs), and object columns that mix
  types, are refused by the name of their column.
- Index, row order, column order and partitioning change nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from anonrisk.engines import refusals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.measures.counts.change import Change, Selection
    from anonrisk.measures.counts.class_profiles import ValueCounts
    from anonrisk.measures.counts.question import (
        Asks,
        LinkCounts,
        LinkQuestion,
        Question,
        Score,
        Scored,
        Sensitive,
        TraceCounts,
        TraceQuestion,
    )
    from anonrisk.measures.counts.schema import Schema
    from anonrisk.measures.counts.tally import Tally


def kept(tally: Tally, question: Question) -> tuple[Tally, int]:
    """Leave out or refuse what is missing, as the question says; return how many rows went."""
    gaps = {name: tally.codes[name] == len(tally.domains[name]) for name in tally.codes}
    unit = question.unit
    if unit is not None and gaps[unit].any():
        raise refusals.missing_unit(unit, int(tally.counts[gaps[unit]].sum()))
    n_missing = {name: int(tally.counts[gaps[name]].sum()) for name in question.columns}
    if question.missing == "value" or not any(n_missing.values()):
        return tally, 0
    if question.missing == "error":
        raise refusals.missing_values(n_missing)
    kept = ~np.any([gaps[name] for name in question.columns], axis=0)
    codes = {name: codes[kept] for name, codes in tally.codes.items()}
    made = replace(tally, codes=codes, counts=tally.counts[kept])
    return made, tally.n_records - made.n_records


Answer = TypeVar("Answer")


class Engine(Protocol):
    """One library of tables.

    What can be asked, and what becomes of a table, are frozen objects of
    `anonrisk.measures.counts`: a verb says which kinds it takes, and the kind of a
    question tells the type of its answer.
    """

    name: str
    # How many sets of columns share a pass over the table; 0 where they are counted one by one.
    sets_a_pass: int

    def schema(self, frame: Any) -> Schema:
        """Return what a table is, without counting."""

    def with_roles(self, frame: Any, roles: Roles) -> Any:
        """Return a table that carries these roles; the one at hand stays as it is."""

    def count(self, frame: Any, asked: Asks[Answer]) -> Answer:
        """Count classes: `Question`, `ByGroup`, `ManySets`, `WholePersons`; rows: `MarkedRows`."""

    def profiles(self, frame: Any, question: Question, sensitive: Sensitive) -> ValueCounts:
        """Count the sensitive values of each kind of class."""

    def score(
        self, frame: Any, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class by its sensitive values, and give the worst."""

    def tally(self, frame: Any, asked: Asks[Answer]) -> Answer:
        """Sum up: `ClassesWithValues`, `ClassesOfSets`, `QuantileBins`, weights, `IfIndependent`.

        One that refuses too many classes is also asked for `ValuesAndSizes`, `ClassesInRegions`.
        """

    def match(self, frame: Any, asked: Asks[Answer]) -> Answer:
        """Find classes elsewhere: `InPopulation`, `InHousehold`."""

    def annotate(self, frame: Any, asked: Asks[Answer]) -> Answer:
        """Compute something for each record: `SizeOfClass`, `MinimalUniques`."""

    def keep(self, frame: Any, records: Selection) -> Any:
        """Select records by their classes."""

    def rewrite(self, frame: Any, change: Change) -> Any:
        """Return a table with other cells; the one at hand stays as it is."""

    def traces(self, frame: Any, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""

    def links(self, frame: Any, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
