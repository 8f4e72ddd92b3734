"""What the SQL engine asks, as text for whoever sends it later: nobody is connected yet.

A table is `anonrisk_records`, with `q0`, `q1`, … and, where they are asked for, the sensitive value
`s` and the person `u`, such that missing is NULL and equal cells are equal.
"""
# No text of a caller enters: columns go by names of ours.
# ruff: noqa: S608

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from anonrisk.engines.sql import steps
from anonrisk.engines.sql.count import persons_by_size, sizes_of_records
from anonrisk.engines.sql.equality import FLOAT, OTHER, TEXT
from anonrisk.engines.sql.score import grouped, pairs_of
from anonrisk.engines.sql.text import written
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from anonrisk.counts.question import Score

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
        return cls(TEXT[dialect], FLOAT[dialect], OTHER[dialect])


def of_sizes(n_columns: int, measure: str, dialect: str, *, persons: bool) -> str:
    """Ask for a measure of class sizes, as `SizeBudget.in_sql` writes it."""
    rows, keys = _records(n_columns, persons=persons)
    counted = "persons" if persons else "n * classes"
    histogram = _text((persons_by_size if persons else sizes_of_records)(rows, keys))
    named = written(f"select n, cast({counted} as double) as records from counted", dialect)
    asked = written(f"select cast({measure} as double) as measured from {_SIZES}", dialect)
    return f"with counted as ({histogram}), {_SIZES} as ({named}) {asked}"


def of_scores(n_columns: int, score: Score, dialect: str, *, persons: bool) -> str:
    """Ask for the worst score of a class; NULL where some class has none."""
    rows, _ = _records(n_columns, "s", persons=persons)
    each = grouped(list(rows.c)).subquery("p")
    qs = [f"q{i}" for i in range(n_columns)]
    pairs = _text(pairs_of(each, [each.c[q] for q in qs], persons=persons))
    worst = f"{FORMULAS[score.name].worst_in_sql}(worst_0)"
    asked = written(
        f"select cast(if(sum(scored_0) = sum(classes), {worst}, null) as double) as measured "
        f"from ({steps.by_values(qs, [score])}) as w",
        dialect,
    )
    return f"with {steps.PAIRS} as ({pairs}) {asked}"


def _records(n_columns: int, *more: str, persons: bool) -> tuple[Any, list[Any]]:
    """Give the table, and the columns of its quasi-identifier."""
    qs: list[Any] = [sa.column(f"q{i}") for i in range(n_columns)]
    rows = sa.table(RECORDS, *qs, *map(sa.column, (*more, *(["u"] if persons else []))))
    return rows, [rows.c[q.name] for q in qs]


def _text(query: Any) -> str:
    """Write a query of SQLAlchemy as PostgreSQL reads it, and DuckDB too."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
