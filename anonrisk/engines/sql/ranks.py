"""Sensitive values in SQL: their order where it matters, their groups in a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.hierarchy import text_of
from anonrisk.engines import refusals
from anonrisk.engines.order import as_number, check_kinds
from anonrisk.engines.refused import NO_PLACES
from anonrisk.engines.sql.records import ONE, ZERO
from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.counts.question import Sensitive
    from anonrisk.engines.sql.records import Records

# Constants that a statement may hold in every database.
_MOST_CONSTANTS = 30_000
_S: Any = sa.column("s")
_NUMBERS = ("whole numbers", "floats", "decimals")
_ORDERED = (*_NUMBERS, "booleans", "dates", "timestamps", "times")


@dataclass(frozen=True)
class Placed:
    """Where each value of a sensitive column stands, in an order or in a hierarchy.

    Attributes
    ----------
    sensitive : Sensitive
        The column.
    place
        The place of the value `s` among those that the caller lists, NULL for another one; None
        where values have an order of their own.
    """

    sensitive: Sensitive
    place: Any = None

    @property
    def columns(self) -> list[Any]:
        """What to select beside the value, so that constants of the caller stand there once."""
        return [] if self.place is None else [self.place.label("place")]

    def order(self, pairs: Any) -> list[Any]:
        """Give what to sort values by, the missing one last."""
        missing = sa.case((pairs.c.s.is_(None), ONE), else_=ZERO)
        return [missing, pairs.c.s if self.place is None else pairs.c.place]

    def values(self, kept: Any) -> Any:
        """Count the different values, those of them without a place, and the missing one."""
        every = self._every(kept)
        lost = sa.case((every.c.place.is_(None), ONE), else_=ZERO)
        missing = sa.case((every.c.s.is_(None), ONE), else_=ZERO)
        return sa.select(
            sa.func.count().label("n_values"),
            sa.func.sum(lost).label("n_lost"),
            sa.func.sum(missing).label("n_missing"),
        ).select_from(every)

    def groups(self, kept: Any) -> Any:
        """Give a table of the values `s` with their group on each level, `h0`, `h1`, …."""
        hierarchy = self.sensitive.hierarchy
        assert hierarchy is not None  # noqa: S101
        placed, leaves = self._every(kept), list(hierarchy.leaves)
        levels = hierarchy.levels() or [dict.fromkeys(leaves, 0)]
        numbers = [
            _case(
                (placed.c.place == sa.literal_column(str(i)), level[name])
                for i, name in enumerate(leaves)
            )
            for level in levels
        ]
        return sa.select(placed.c.s, *(h.label(f"h{i}") for i, h in enumerate(numbers)))

    def _every(self, kept: Any) -> Any:
        """Every value once, with its place."""
        place = kept.c.s if self.place is None else kept.c.place
        return sa.select(kept.c.s, place.label("place")).group_by(kept.c.s, place).subquery("v")

    def refuse(self, found: Mapping[str, Any]) -> None:
        """Refuse too many values, and values that the caller does not list."""
        if found["n_lost"] is None:
            return
        column, n_missing = self.sensitive.column, int(found["n_missing"])
        # A missing value has no place of its own, and needs one only in a hierarchy.
        unknown = int(found["n_lost"]) - n_missing
        if self.sensitive.hierarchy is not None:
            if unknown or n_missing:
                raise refusals.unknown_values(column, unknown + n_missing, "hierarchy")
            return
        refusals.check_ordered(column, int(found["n_values"]))
        if unknown:
            raise refusals.unknown_values(column, unknown, "order")


def in_order(records: Records, sensitive: Sensitive) -> Placed:
    """Place values by their own order, or by the one that the caller gives."""
    column, kind = sensitive.column, records.value_kind
    if sensitive.order is None:
        if kind not in _ORDERED:
            raise refusals.not_ordered(column)
        return Placed(sensitive)
    check_kinds(column, sensitive.order, "numbers" if kind in _NUMBERS else kind)
    return Placed(sensitive, _place(records, sensitive, sensitive.order))


def in_hierarchy(records: Records, sensitive: Sensitive) -> Placed:
    """Place values among the leaves of a hierarchy."""
    assert sensitive.hierarchy is not None  # noqa: S101
    if records.value_kind in {"floats", "decimals"}:
        raise refusals.no_hierarchy(sensitive.column)
    return Placed(sensitive, _place(records, sensitive, list(sensitive.hierarchy.leaves)))


def _place(records: Records, sensitive: Sensitive, values: Sequence[Any]) -> Any:
    """Give the place of a value among those that the caller lists; NULL where it has none."""
    kind, column = records.value_kind, sensitive.column
    as_text = kind in {"text", "booleans"} or sensitive.hierarchy is not None
    if kind not in {"text", "booleans", "whole numbers", "floats", "dates"} or (
        kind == "dates" and as_text
    ):
        raise UnsupportedColumnError(f"sensitive column {column!r} holds {kind}, {NO_PLACES}")
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
