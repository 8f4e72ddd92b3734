"""Where the rows of a table are in a database, and one state of it for all that is asked.

Who asks inside `reading` shares its connection and transaction, and what was found out about the
table; who asks outside has a transaction of its own.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field, replace
from functools import cached_property
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.sql import quoted_name

from anonrisk.core.frozen import dataclass
from anonrisk.engines.sql.database import database_of, guarded
from anonrisk.engines.sql.dialects import dialect_of
from anonrisk.errors import EngineError, UnsupportedFrameError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.database import Connected, Database
    from anonrisk.engines.sql.dialects import Dialect


@dataclass(frozen=True)
class Reading:
    """A transaction that is under way, and what it has told that stays true inside it."""

    connected: Connected
    known: dict[Hashable, Any] = field(default_factory=dict)


# By context, so that threads that ask the same table have a transaction each.
_UNDER_WAY: ContextVar[Mapping[Hashable, Reading]] = ContextVar("under_way", default={})  # noqa: B039


@contextmanager
def reading(database: Database) -> Iterator[Reading]:
    """Open a transaction, or share the one that is under way."""
    others = _UNDER_WAY.get()
    if database.key in others:
        yield others[database.key]
        return
    state = database.one_state()
    with guarded("open a transaction"):
        connected = state.__enter__()
    token = _UNDER_WAY.set({**others, database.key: (ours := Reading(connected))})
    try:
        yield ours
    finally:
        _UNDER_WAY.reset(token)
        # Nothing was written, so that nothing is lost where it cannot be ended.
        with suppress(Exception):
            state.__exit__(None, None, None)


@dataclass(frozen=True, eq=False, repr=False)
class SqlSource:
    """What can be selected from in a database: a table, a view or a query.

    Attributes
    ----------
    connection
        What `database.database_of` takes: a connection, or what opens one for each question.
    source
        What SQLAlchemy selects from.
    roles : Roles, optional
        The roles that the table carries; a database keeps none.
    """

    connection: Any
    source: Any
    roles: Roles | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Reject a database whose rules of equality are not known to be ours."""
        dialect_of(self.database.dialect)

    @cached_property
    def database(self) -> Database:
        """What statements are sent to."""
        return database_of(self.connection)

    @property
    def dialect(self) -> Dialect:
        """How this kind of database is asked."""
        return dialect_of(self.database.dialect)

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Let all that is asked inside see one state of the database."""
        with reading(self.database) as under_way:
            yield under_way

    def known(self, what: Hashable, find: Callable[[], Any]) -> Any:
        """Find something out once for all that sees one state."""
        with self.reading() as under_way:
            known, key = under_way.known, (id(self.source), what)
            if key not in known:
                # With the source, so that no other one can have its number meanwhile.
                known[key] = find(), self.source
            return known[key][0]

    @property
    def names(self) -> list[str]:
        """The names of the columns, repeated ones as often as they occur."""
        names: list[str] = self.known("names", self._find_names)
        return names

    def _find_names(self) -> list[str]:
        # Drivers remember what the same text gave before; a table may have changed since.
        anew = f"/* {token_hex(8)} */"
        nothing = sa.select(sa.text("*")).select_from(self.source).where(sa.false())
        with self.reading() as under_way, guarded("list the columns"):
            names = under_way.connected.names(nothing.prefix_with(anew))
            if self.dialect.reads_names_as_texts:
                self._refuse_misread(names)
            return names

    def _refuse_misread(self, names: Sequence[str]) -> None:
        """Reject names that the driver has changed: each cell of such a column would be its name.

        Between grave accents, a name that no column has is no text.
        """
        quoted = ("`" + name.replace("`", "``") + "`" for name in dict.fromkeys(names))
        nothing: Any = sa.select(*map(sa.literal_column, quoted)).select_from(self.source)
        try:
            self.fetch(nothing.where(sa.false()), "read the types")
        except EngineError:
            raise_alone(
                UnsupportedFrameError(
                    "this connection changes the names of columns: open it without "
                    "detect_types=PARSE_COLNAMES, and without the pragma full_column_names"
                )
            )

    def fetch(self, query: Any, doing: str) -> list[Any]:
        """Run a query and read all its rows, which are few."""
        with self.reading() as under_way, guarded(doing):
            return under_way.connected.rows(query)

    def batches(self, query: Any, n_rows: int, doing: str) -> Iterator[list[Any]]:
        """Run a query and read its rows, which may be many, so many at a time."""
        with self.reading() as under_way, guarded(doing):
            yield from under_way.connected.batches(query, n_rows)

    def type_facts(self, expressions: Sequence[Any], doing: str) -> list[Any]:
        """Ask for what the types of columns tell, without a look at any row."""
        there = {name.casefold() for name in self.names}
        own = next(name for i in count() if (name := f"anonrisk_{i}") not in there)
        subquery = sa.select(sa.literal_column("1").label(own)).subquery("anonrisk_any")
        typed = sa.select(sa.text("*")).select_from(self.source).where(sa.false())
        joined = subquery.outerjoin(typed.subquery("anonrisk_typed"), sa.true())
        (row,) = self.fetch(sa.select(*expressions).select_from(joined), doing)
        return list(row)

    def has_rows(self) -> bool:
        """Return whether there is any row; no cell leaves the database."""
        limit = sa.select(sa.literal(1)).select_from(self.source).limit(1)
        return bool(self.fetch(limit, "look for a row"))

    def raw(self, name: Name) -> Any:
        """Return a column as it is; always quoted, so that no name can be misread."""
        return sa.column(quoted_name(str(name), quote=True))

    def made(self, cells: Mapping[str, Any], rows: Any) -> Self:
        """Return a query of some rows with these columns, which runs when somebody reads it."""
        named = (cell.label(quoted_name(name, quote=True)) for name, cell in cells.items())
        return replace(self, source=sa.select(*named).select_from(rows).subquery())

    def to_pandas(self) -> pd.DataFrame:
        """Read all rows, as many as there are; nothing else of anonrisk does.

        Examples
        --------
        >>> import sqlite3
        >>> import anonrisk
        >>> people = anonrisk.sql.table(sqlite3.connect(":memory:"), "SELECT 7 AS zip")
        >>> people.anon.sizes("zip").to_pandas()
           zip  class_size
        0    7           1
        """
        every = sa.select(sa.text("*")).select_from(self.source)
        rows = [tuple(row) for row in self.fetch(every, "read the rows")]
        return pd.DataFrame(rows, columns=pd.Index(self.names, tupleize_cols=False))
