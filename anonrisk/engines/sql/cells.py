"""Cells in SQL as numbers and as text, where databases write that differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.contents import checked_bits, folded, place, plain
from anonrisk.engines.sql.database import ThroughDriver
from anonrisk.engines.sql.numbers import LARGEST, double
from anonrisk.engines.sql.table import kind_of_cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.table import SqlTable


def as_number(table: SqlTable, cell: Any, kind: str) -> Any:
    """Give a cell as a number, days or microseconds since 1970; None where it is neither."""
    held = kind_of_cells(kind)
    if held in {"whole numbers", "floats", "decimals"}:
        return sa.cast(cell, sa.Double())
    if held == "dates":
        return sa.cast(days(cell), sa.Double())
    if held == "timestamps":
        return sa.cast(microseconds(table, cell), sa.Double())
    return None


def days(cell: Any) -> Any:
    """Give the days from 1970 to a date; SQLite has none."""
    return cell.op("-")(sa.literal_column("DATE '1970-01-01'"))


def microseconds(table: SqlTable, cell: Any) -> Any:
    """Give the microseconds from 1970 to an instant, or to what a clock without zone says."""
    if table.dialect == "duckdb":
        return sa.func.epoch_us(cell)
    seconds = sa.extract("epoch", cell)
    return sa.cast(seconds * sa.literal_column("1000000"), sa.BigInteger)


def in_greenwich(cell: Any, kind: str) -> Any:
    """Give what a clock in Greenwich shows; a clock without zone shows what it shows."""
    zoned = kind.lower() == "timestamp with time zone"
    return sa.func.timezone("UTC", cell) if zoned else cell


def floor(table: SqlTable, number: Any) -> Any:
    """Round a number that is not negative down; not every SQLite has `floor`."""
    if table.dialect == "sqlite":
        return sa.cast(number, sa.BigInteger)
    return sa.cast(sa.func.floor(number), sa.BigInteger)


def largest_whole(table: SqlTable, column: Name) -> float | None:
    """Return the largest magnitude of floats that are all whole; None if one is not."""
    kind = table.kinds({column: "column"})[column]
    number = double(table.cell(column, kind))
    size = sa.func.abs(number)
    has_fraction = sa.or_(number != sa.func.round(number), size > LARGEST)
    asked = [sa.func.max(size), sa.func.sum(sa.case((has_fraction, 1), else_=0))]
    query = sa.select(*asked).select_from(table.source)
    ((largest, n_fractions),) = table.fetch(query, "look for fractions")
    return None if n_fractions else float(largest or 0)


def by_letters(table: SqlTable, text: Any) -> Any:
    """Sort texts by the numbers of their letters, as Python does."""
    names = {"postgresql": "C", "duckdb": "binary", "sqlite": "binary"}
    return sa.collate(text, names[table.dialect])


def let_match(table: SqlTable) -> None:
    """See to it that the database has regular expressions."""
    with table.reading() as under_way:
        if table.dialect == "sqlite" and isinstance(under_way.connected, ThroughDriver):
            under_way.connected.with_expressions()


_LOOKING: dict[str, Callable[[str], Any]] = {
    "folded": folded,
    "checked": checked_bits,
    "place": place,
    "plain": plain,
}


def let_look(table: SqlTable) -> None:
    """See to it that SQLite, which has no `translate`, can fold spellings and check digits."""
    if table.dialect == "sqlite":
        with table.reading() as under_way:
            driver: Any = under_way.connected.connection  # type: ignore[attr-defined]
            if not isinstance(under_way.connected, ThroughDriver):
                driver = driver.connection.dbapi_connection
            for name, function in _LOOKING.items():
                known = _of_known(function)
                driver.create_function(f"anonrisk_{name}", 1, known, deterministic=True)


def _of_known(function: Callable[[str], Any]) -> Callable[[str | None], Any]:
    return lambda text: None if text is None else function(text)


def matches(table: SqlTable, cell: Any, pattern: str) -> Any:
    """Tell whether the whole of a text matches an expression; a line break is no character."""
    pattern = pattern.replace(".*", r"[^\n]*")
    text = sa.cast(cell, sa.Text)
    if table.dialect == "duckdb":
        return sa.func.regexp_full_match(text, pattern)
    return text.regexp_match(rf"\A(?:{pattern})\Z")


def contains(table: SqlTable, cell: Any, pattern: str) -> Any:
    """Tell whether a part of a text matches an expression."""
    text = sa.cast(cell, sa.Text)
    if table.dialect == "duckdb":
        return sa.func.regexp_matches(text, pattern)
    return text.regexp_match(pattern)
