"""Tables in a database: ``anonrisk.sql.table(url, "schema.table").anon.k(["zip", "age"])``.

DuckDB, PostgreSQL, DataFusion and SQLite count where the rows are. Needs the extra ``sql``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from anonrisk.accessor import AnonAccessor
from anonrisk.core import column_roles, render
from anonrisk.core.column_roles import Roles
from anonrisk.core.frozen import dataclass
from anonrisk.errors import AnonRiskError, ArgumentError, MissingLibraryError

try:
    from anonrisk.engines.sql import naming
    from anonrisk.engines.sql.table import SqlTable
except ImportError:
    raise MissingLibraryError(
        "tables in a database need SQLAlchemy: pip install 'anonrisk[sql]'"
    ) from None

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names, Qid

__all__ = ["DatabaseTable", "table"]


@dataclass(frozen=True, eq=False, repr=False)
class DatabaseTable(render.PrintedTable, SqlTable):
    """A table, view or query in a database, with `.anon`; see `anonrisk.sql.table`.

    Attributes
    ----------
    name : str
        What it was called; a query has none, because it may quote cells.
    """

    name: str = "a query"

    @property
    def anon(self) -> AnonAccessor[Self]:
        """Every function of a table as a method."""
        return AnonAccessor(self)

    @property
    def columns(self) -> Qid:
        """The names of the columns."""
        return tuple(self.names)

    @property
    def _shown_roles(self) -> Roles:
        """What is printed: also of a database that cannot be asked any more."""
        declared = Roles() if self.roles is None else self.roles
        with suppress(AnonRiskError):
            return replace(declared, columns=self.columns)
        return declared

    def _lines(self) -> list[str]:
        columns = render.count_of(len(self._shown_roles.columns), "column")
        return [f"{render.named(self.name)} in {self.dialect.title}, {columns}"]

    def _header(self) -> tuple[str, ...]:
        return "column", "role"

    def _rows(self) -> list[list[str]]:
        summary = self._shown_roles
        return [[render.named(name), summary.of(name) or "-"] for name in summary.columns]


def table(
    connection: Any,
    name: Any,
    *,
    quasi: Names = (),
    sensitive: Names = (),
    direct: Names = (),
    insensitive: Names = (),
    unit: Name | None = None,
) -> DatabaseTable:
    """Open a table in a database, so that it can be measured there.

    Its rows stay where they are: a question becomes SQL, and what comes back is histograms and
    worst scores. Nothing is written. What belongs together (one call, one check, one report) sees
    one state of the database, in a transaction that only reads.

    Parameters
    ----------
    connection : str, URL, Engine or connection
        A URL as SQLAlchemy reads it (``"postgresql://user@host/db"``, ``"sqlite:///a.sqlite"``,
        ``"duckdb:///a.duckdb"``) or an engine of SQLAlchemy: a connection is then opened for each
        call and closed after it. Or a connection of SQLAlchemy, sqlite3, DuckDB or psycopg, which
        is used as it is: where a transaction is under way, it is neither committed nor rolled back.
        Or a session of DataFusion, with the tables that are registered there.
    name : str or selectable
        A name, as in ``"people"`` or ``'hospital."Admissions 2024"'``, compared exactly; or a
        query, which begins with select, with, values or from; or a selectable of SQLAlchemy.
    quasi, sensitive, direct, insensitive, unit
        Roles of the columns, as in `anonrisk.declare`.

    Returns
    -------
    DatabaseTable
        With every function of a table under `.anon`; the functions of `anonrisk` and
        `Policy.check` take it as they take any other table.

    Raises
    ------
    TableNotFoundError
        If the database has no table of that name.
    UnsupportedFrameError
        If it is no database whose equality has been compared with ours: DuckDB, PostgreSQL,
        DataFusion, SQLite.

    See Also
    --------
    anonrisk.declare : roles, also for a table that is there already
    anonrisk.Policy.check : a gate on it

    Examples
    --------
    >>> import sqlite3
    >>> import anonrisk
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE people (zip TEXT, age INTEGER)")
    >>> _ = connection.execute("INSERT INTO people VALUES ('1011', 34), ('1011', 34), ('1012', 51)")
    >>> people = anonrisk.sql.table(connection, "people", quasi=["zip", "age"])
    >>> people
    people in SQLite, 2 columns
    column   role
    zip      quasi-identifier
    age      quasi-identifier
    >>> people.anon.k()
    1
    >>> anonrisk.sql.table(connection, "SELECT zip FROM people WHERE age < 50").anon.k("zip")
    2
    """
    opened = naming.connection_of(connection)
    source, called = naming.source_of(opened, name)
    database_table = DatabaseTable(opened, source, name=called)
    with database_table.reading():
        columns = tuple(database_table.names)
    if not columns:
        # A statement that begins with FROM selects nothing in some databases.
        raise ArgumentError(f"{called} has no columns: begin a query with SELECT")
    roles = Roles(columns=columns)
    fields = {"quasi": quasi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive}
    if unit is not None or any(x is not None and len(x) for x in map(_sized, fields.values())):
        roles = column_roles.declare(columns, unit=unit, **fields)
    return replace(database_table, roles=roles)


def _sized(names: Any) -> Any:
    """Return what tells whether any name was given."""
    return names if hasattr(names, "__len__") else (names,)
