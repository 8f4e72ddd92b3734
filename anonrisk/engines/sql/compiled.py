"""What the SQL engine asks, as text for whoever sends it later: nobody is connected yet.

A table is `anonrisk_records`, with `q0`, `q1`, … and, where they are asked for, the sensitive value
`s` and the person `u`, such that missing is NULL and equal cells are equal.
"""
# No text of a caller enters: columns go by names of ours.
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.engines.pushed.count import persons_by_size, sizes_of_records
from anonrisk.engines.pushed.records import CountedRecords
from anonrisk.engines.pushed.rows import Named
from anonrisk.engines.pushed.score import scored_classes
from anonrisk.engines.pushed.values import ClassValues
from anonrisk.engines.sql.dialects import dialect_of
from anonrisk.engines.sql.rows import text
from anonrisk.engines.sql.text import written
from anonrisk.measures.counts.question import Question, Sensitive
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from anonrisk.measures.counts.question import Score

# Databases that are asked by other tools. SQLite has a type for each cell, which no catalogue of
# columns tells beforehand.
DIALECTS = ("duckdb", "postgresql")
RECORDS = "anonrisk_records"
_SIZES = "anonrisk_sizes"


@dataclass(frozen=True)
class Types:
    """The types of columns whose equality is known to be ours, as a database calls them."""

    texts: tuple[str, ...]
    floats: tuple[str, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, dialect: str) -> Types:
        """List those of a database."""
        known = dialect_of(dialect)
        return cls(known.texts, known.floats, known.others)


def of_sizes(n_columns: int, measure: str, dialect: str, *, persons: bool) -> str:
    """Ask for a measure of class sizes, as `SizeBudget.in_sql` writes it."""
    qs = [f"q{i}" for i in range(n_columns)]
    rows = Named((*qs, *(["u"] if persons else [])), RECORDS)
    counted = persons_by_size(rows, qs) if persons else sizes_of_records(rows, qs)
    sizes = counted.select("n", records="cast(records as double)")
    asked = written(
        f"select cast({measure} as double) as measured from {_SIZES}", dialect_of(dialect)
    )
    return f"with {_SIZES} as ({text(sizes, dialect_of(dialect))}) {asked}"


def of_scores(n_columns: int, score: Score, dialect: str, *, persons: bool) -> str:
    """Ask for the worst score of a class; NULL where some class has none."""
    qs = tuple(f"q{i}" for i in range(n_columns))
    rows = Named((*qs, "s", *(["u"] if persons else [])), RECORDS)
    question = Question((qs,), "u" if persons else None)
    records = CountedRecords(_NoTable(), question, sensitive=Sensitive("s"), source=rows)  # type: ignore[arg-type]
    classes = scored_classes(ClassValues(records, Sensitive("s")), [score])
    worst = f"{FORMULAS[score.name].worst_in_sql}(x0)"
    return text(
        classes.group(measured=f"cast(if(count(x0) = count(1), {worst}, null) as double)"),
        dialect_of(dialect),
    )


class _NoTable:
    """Stands for a table that nobody is connected to."""

    typed_by_cell = False
    sorts_by_hash = False
