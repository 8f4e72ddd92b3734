"""Sensitive values in SQL: their order where it matters, their groups in a hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.hierarchy import text_of
from anonrisk.engines import refusals
from anonrisk.engines.order import as_number, check_kinds
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.counts.question import Sensitive
    from anonrisk.engines.sql.count import Records

# Constants that a statement may hold in every database.
_MOST_CONSTANTS = 30_000
_S: Any = sa.column("s")
_NUMBERS = ("whole numbers", "floats", "decimals")
_ORDERED = (*_NUMBERS, "booleans", "dates", "timestamps", "times")


def in_order(records: Records, sensitive: Sensitive) -> tuple[list[Any], int]:
    """Give what to sort the value `s` by, the missing one last, and how many values there are."""
    column, kind = sensitive.column, records.value_kind
    if sensitive.order is None:
        if kind not in _ORDERED:
            raise refusals.not_ordered(column)
        place = _S
    else:
        check_kinds(column, sensitive.order, "numbers" if kind in _NUMBERS else kind)
        place = _place(records, sensitive, sensitive.order)
    n_values, unknown, _ = _count(records, place)
    refusals.check_ordered(column, n_values)
    if unknown:
        raise refusals.unknown_values(column, unknown, "order")
    return [sa.case((_S.is_(None), 1), else_=0), place], n_values


def groups(records: Records, sensitive: Sensitive) -> Any:
    """Give a table of the values `s` with their group on each level, `h0`, `h1`, …."""
    hierarchy = sensitive.hierarchy
    assert hierarchy is not None  # noqa: S101
    if records.value_kind in {"floats", "decimals"}:
        raise refusals.no_hierarchy(sensitive.column)
    leaves = list(hierarchy.leaves)
    leaf = _place(records, sensitive, leaves)
    _, unknown, missing = _count(records, leaf)
    if unknown or missing:
        raise refusals.unknown_values(sensitive.column, unknown + missing, "hierarchy")
    placed = _values(records, leaf)
    levels = hierarchy.levels() or [dict.fromkeys(leaves, 0)]
    numbers = [
        _case((placed.c.place == i, level[name]) for i, name in enumerate(leaves))
        for level in levels
    ]
    return sa.select(placed.c.s, *(h.label(f"h{i}") for i, h in enumerate(numbers)))


def _place(records: Records, sensitive: Sensitive, values: Sequence[Any]) -> Any:
    """Give the place of a value among those that the caller lists; NULL where it has none."""
    kind, column = records.value_kind, sensitive.column
    as_text = kind in {"text", "booleans"} or sensitive.hierarchy is not None
    if kind not in {"text", "booleans", "whole numbers", "floats", "dates"} or (
        kind == "dates" and as_text
    ):
        raise UnsupportedColumnError(
            f"sensitive column {column!r} holds {kind}, which a database may write in more than "
            "one way: they are not looked up in an order or a hierarchy there; read the table "
            "into pandas or Spark"
        )
    if len(values) > _MOST_CONSTANTS:
        raise UnsupportedColumnError(
            f"more than {_MOST_CONSTANTS:,} values of sensitive column {column!r} are listed, too "
            "many for a statement; read the table into pandas or Spark"
        )
    cell = sa.cast(_S, sa.Text) if as_text else _S
    written = [text_of(value) if as_text else _constant(value, kind) for value in values]
    return _case((cell == value, i) for i, value in enumerate(written) if value is not None)


def _constant(value: Any, kind: str) -> Any:
    """Write a value as the column would hold it; nothing where it could not."""
    if kind == "dates":
        return value
    if kind == "floats":
        return as_number(value, None)
    number = as_number(value, 0)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _case(numbered: Iterable[tuple[Any, int]]) -> Any:
    whens: list[Any] = [
        (condition, sa.literal_column(str(number))) for condition, number in numbered
    ]
    return sa.case(*whens, else_=sa.null()) if whens else sa.null()


def _values(records: Records, place: Any) -> Any:
    """Every value once, with its place."""
    every = sa.select(_S, place.label("place")).select_from(records.rows)
    return every.group_by(_S).subquery("d")


def _count(records: Records, place: Any) -> tuple[int, int, int]:
    """Count the different values, those of them without a place, and the missing one."""
    values = _values(records, place)
    missing = sa.case((values.c.s.is_(None), 1), else_=0)
    lost = sa.case((values.c.place.is_(None), 1), else_=0)
    query = sa.select(sa.func.count(), sa.func.sum(lost), sa.func.sum(missing))
    ((n, n_lost, n_missing),) = records.fetch(
        query.select_from(values), "rank the sensitive values"
    )
    # A missing value has no place of its own.
    return int(n), int(n_lost) - int(n_missing), int(n_missing)
