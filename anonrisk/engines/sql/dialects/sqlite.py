"""SQLite: every cell has a type of its own, and what is missing is written in Python."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from anonrisk.engines.sql.dialects.base import Dialect
from anonrisk.measures.counts import contents as rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Not every SQLite has `floor`.
_DOWN = "(cast({0} as bigint) - (({0}) < cast({0} as bigint)))"
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_SEARCHED = "anonrisk_searched"
_FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "anonrisk_folded": rules.folded,
    "anonrisk_checked": rules.checked_bits,
    "anonrisk_place": rules.place,
    "anonrisk_plain": rules.plain,
}


class SQLite(Dialect):
    """SQLite."""

    name = "sqlite"
    title = "SQLite"
    sqlglot = "sqlite"
    driver = ("sqlite3", "Connection")
    url = "sqlite:///people.sqlite"
    texts = ("stored as text",)
    held = {  # noqa: RUF012
        "text": ("stored as text", "empty"),
        "whole numbers": ("stored as integer",),
        "floats": ("stored as real",),
    }
    catalogue = "SELECT schema, name, 1 FROM pragma_table_list WHERE name NOT GLOB 'sqlite_*'"
    begin = "BEGIN"
    typed_by_cell = True
    reads_names_as_texts = True
    most_grouped = 0
    joins_missing = "sorted"
    spelling = rules.Spelling(
        _SEARCHED + "({}, '{}')", "unicode", "char", "text", _DOWN, "anonrisk_checked"
    )
    letters = "binary"

    @cached_property
    def writer(self) -> Any:
        """Return what writes statements for sqlite3."""
        return sqlite.dialect(paramstyle="qmark")

    def cell(self, column: Any, kind: str) -> Any:  # noqa: ARG002
        """Return a column, whatever collation it has; nor is it one that sqlite3 converts."""
        return sa.collate(column, "BINARY")

    def floor(self, number: Any) -> Any:
        """Round a number that is not negative down; not every SQLite has `floor`."""
        return sa.cast(number, sa.BigInteger)

    def matches(self, text: Any, pattern: str) -> Any:
        """Return whether the whole of a text matches an expression."""
        return self.contains(text, rf"\A(?:{pattern})\Z")

    def contains(self, text: Any, pattern: str) -> Any:
        """Return whether a part of a text matches; what REGEXP does, the caller may have said."""
        return getattr(sa.func, _SEARCHED)(text, pattern, type_=sa.Boolean())

    def folded(self, text: Any) -> Any:
        """Return a text without case, spaces and accents; there is no `translate`."""
        return sa.func.anonrisk_folded(text)

    def hashed(self, text: Any) -> Any:
        """Return by what some texts are drawn."""
        return sa.func.anonrisk_place(text)

    def as_text(self, cell: Any) -> Any:
        """Return a cell of another type as text: it is a row of bytes."""
        return sa.func.hex(cell)

    def rewritten(self, tree: Any) -> Any:
        """Write what is infinite as a number that is too large: 'inf' is read as 0."""
        return tree.transform(_infinite)

    def listed(self, entry: str, order: str, keys: str, table: str) -> tuple[str, str]:
        """Return how entries become a text: by a window, because SQLite before 3.44 sorts so."""
        over = f"OVER (PARTITION BY {keys} ORDER BY {order} {_WHOLE})"
        each = f"(SELECT *, GROUP_CONCAT({entry}, ',') {over} AS e_ FROM {table})"  # noqa: S608
        return "MIN(e_)", each

    def columns_alone(self, query: str) -> str | None:
        """Return the query itself: in parentheses the second `zip` is `zip:1`."""
        return query

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection is in a transaction."""
        return bool(connection.in_transaction)

    def cursor(self, connection: Any, *, streams: bool) -> Any:  # noqa: ARG002
        """Return what runs a statement."""
        cursor = connection.cursor()
        cursor.row_factory = None
        return cursor

    @contextmanager
    def plain(self, connection: Any) -> Iterator[None]:
        """Let texts come as texts."""
        wanted, connection.text_factory = connection.text_factory, str
        try:
            yield
        finally:
            connection.text_factory = wanted

    def prepare(self, connection: Callable[[], Any]) -> None:
        """Let a connection match regular expressions, fold spellings and check digits.

        Functions cannot be registered anew while a statement of the caller's is under way.
        """
        ours = connection()
        try:
            ours.execute(f"SELECT {_SEARCHED}('a', 'a')")
        except Exception:  # noqa: BLE001 - whatever it says, it cannot
            for name, function in _FUNCTIONS.items():
                ours.create_function(name, 1, _of_known(function), deterministic=True)
            ours.create_function(_SEARCHED, 2, _searched, deterministic=True)


def _searched(text: str | None, pattern: str) -> bool | None:
    return None if text is None else re.search(pattern, text) is not None


def _of_known(function: Callable[[str], Any]) -> Callable[[str | None], Any]:
    return lambda text: None if text is None else function(text)


def _infinite(node: Any) -> Any:
    from sqlglot import exp

    if isinstance(node, exp.Cast) and node.this.is_string and node.this.name == "inf":
        return exp.Literal.number("9e999")
    return node
