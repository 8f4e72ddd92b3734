"""The numbers that values have among those that a caller lists, in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.hierarchy import text_of
from anonrisk.engines.order import as_number
from anonrisk.engines.refused import NO_PLACES
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.engines.pushed.rows import Numbered

# Constants that a statement may hold in every database.
_MOST_CONSTANTS = 30_000
_PLACED = ("text", "booleans", "whole numbers", "floats", "dates")


def numbered(step: Numbered, table: str) -> Any:
    """Select rows with their numbers: first the place of a value, then all else by that."""
    rows = sa.table(table, *map(sa.column, step.rows.columns))
    placed = sa.select(*rows.c, _place(step, rows.c.s).label("place_")).subquery("p")
    columns = [placed.c[name] for name in step.rows.columns]
    for name, numbers in step.numbers.items():
        plain = numbers == range(len(numbers))
        cases = ((placed.c.place_ == sa.literal_column(str(i)), n) for i, n in enumerate(numbers))
        columns.append((placed.c.place_ if plain else _case(cases)).label(name))
    return sa.select(*columns)


def _place(step: Numbered, cell: Any) -> Any:
    """Write the place of a value among those that the caller lists; NULL where it has none."""
    kind, column = step.table.holds(step.column, "sensitive column"), step.column
    as_text = kind in {"text", "booleans"} or step.as_text
    if kind not in _PLACED or (kind == "dates" and as_text):
        raise UnsupportedColumnError(f"sensitive column {column!r} holds {kind}, {NO_PLACES}")
    if len(step.values) > _MOST_CONSTANTS:
        raise UnsupportedColumnError(
            f"more than {_MOST_CONSTANTS:,} values of sensitive column {column!r} are listed, too "
            "many for a statement; read the table into pandas or Spark"
        )
    cell = sa.cast(cell, sa.Text) if as_text else cell
    written = [text_of(value) if as_text else _constant(value, kind) for value in step.values]
    return _case((cell == value, i) for i, value in enumerate(written) if value is not None)


def _constant(value: Any, kind: str) -> Any:
    """Write a value as the column would hold it; nothing where it could not."""
    if kind == "dates":
        return value
    if kind == "floats":
        return as_number(value, None)
    number = as_number(value, 0)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _case(numbers: Iterable[tuple[Any, int]]) -> Any:
    whens: list[Any] = [
        (condition, sa.literal_column(str(number))) for condition, number in numbers
    ]
    return sa.case(*whens, else_=sa.null()) if whens else sa.cast(sa.null(), sa.Integer)
