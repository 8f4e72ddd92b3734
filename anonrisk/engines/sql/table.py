"""A table in a database: which columns it has, of which types, and when two cells are equal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.sql import quoted_name

from anonrisk.engines.sql.database import database_of
from anonrisk.engines.sql.guard import guarded
from anonrisk.errors import EmptyTableError, UnsupportedColumnError, UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.database import Database

# Types of cells that are one value each, by what the database itself calls them.
_TEXT = {"postgresql": ("text", "character varying", "name"), "duckdb": ("VARCHAR",)}
_FLOAT = {"postgresql": ("real", "double precision", "numeric"), "duckdb": ("FLOAT", "DOUBLE")}
_OTHER = {
    "postgresql": (
        *("boolean", "smallint", "integer", "bigint", "oid", "date", "uuid", "bytea", '"char"'),
        *("time without time zone", "timestamp without time zone", "timestamp with time zone"),
    ),
    "duckdb": (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT"),
        *("USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DECIMAL", "BLOB", "DATE", "TIME"),
        *("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"),
        *("UUID", "ENUM", '"NULL"'),
    ),
}
# What columns hold, in the words of `engines.order`, but numbers by how they are compared.
_HELD = {
    "text": (*_TEXT["postgresql"], "VARCHAR", "ENUM", '"NULL"', "stored as text", "empty"),
    "whole numbers": (
        *("smallint", "integer", "bigint", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "stored as integer"),
    ),
    "floats": ("real", "double precision", "FLOAT", "DOUBLE", "stored as real"),
    "decimals": ("numeric", "DECIMAL"),
    "booleans": ("boolean", "BOOLEAN"),
    "dates": ("date", "DATE"),
    "times": ("time without time zone", "TIME"),
    "timestamps": (
        *("timestamp without time zone", "timestamp with time zone", "TIMESTAMP", "TIMESTAMP_S"),
        *("TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"),
    ),
}
DIALECTS = ("sqlite", "duckdb", "postgresql")
# Texts that differ, although some collations hold a pair of them for the same.
_DIFFERENT = ("a", "A", "a ", "\N{LATIN SMALL LETTER A WITH ACUTE}", "a\N{COMBINING ACUTE ACCENT}")


@dataclass(frozen=True)
class SqlTable:
    """What can be selected from through an open connection: a table, a view or a query."""

    connection: Any
    source: Any

    def __post_init__(self) -> None:
        """Refuse a database whose rules of equality are not known to be ours."""
        if self.dialect not in DIALECTS:
            raise UnsupportedFrameError(
                f"what {self.dialect} holds for equal has not been compared with anonrisk's rules: "
                "use SQLite, DuckDB or PostgreSQL, or read the table into pandas or Spark"
            )

    @cached_property
    def database(self) -> Database:
        """What statements are sent to."""
        return database_of(self.connection)

    @property
    def dialect(self) -> str:
        """Name of the database."""
        return self.database.dialect

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, repeated ones as often as they occur."""
        with guarded("list the columns"):
            # Drivers remember what the same text gave before; a table may have changed since.
            anew = f"/* {token_hex(8)} */"
            nothing = sa.select(sa.text("*")).select_from(self.source).where(sa.false())
            return self.database.names(nothing.prefix_with(anew))

    def fetch(self, query: Any, doing: str) -> list[Any]:
        """Run a query and read all its rows, which are few."""
        with guarded(doing):
            return self.database.rows(query)

    def has_rows(self) -> bool:
        """Tell whether there is any row; no cell leaves the database."""
        one = sa.select(sa.literal(1)).select_from(self.source).limit(1)
        return bool(self.fetch(one, "look for a row"))

    def raw(self, name: Name) -> Any:
        """Give a column as it is; always quoted, so that no name can be misread."""
        return sa.column(quoted_name(str(name), quote=True))

    def cell(self, name: Name, kind: str) -> Any:
        """Give a column such that missing is NULL and equal cells are equal."""
        column = self.raw(name)
        if kind not in _FLOAT.get(self.dialect, ()):
            return column
        type_: Any = sa.Numeric() if kind == "numeric" else sa.Double()
        return sa.func.nullif(column, sa.cast(sa.literal_column("'NaN'"), type_))

    def kinds(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Find the type of each column; refuse those whose equality is not anonrisk's."""
        if not roles:
            return {}
        find = self._stored if self.dialect == "sqlite" else self._declared
        kinds = find(roles)
        for name, role in roles.items():
            if kinds[name] in (*_TEXT.get(self.dialect, ()), "stored as text"):
                self._check_collation(name, role)
        return kinds

    def is_scale(self, name: Name) -> bool:
        """Tell whether a column holds floats or dates, which have distances by themselves."""
        held = kind_of_cells(self.kinds({name: "sensitive column"})[name])
        return held in {"floats", "dates", "timestamps"}

    def _declared(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        of = sa.func.pg_typeof if self.dialect == "postgresql" else sa.func.typeof
        types = [
            sa.cast(of(self.raw(name)), sa.Text).label(f"t{i}") for i, name in enumerate(roles)
        ]
        rows = self.fetch(sa.select(*types).select_from(self.source).limit(1), "read the types")
        if not rows:
            raise EmptyTableError("the table has no records; there is nothing to measure")
        kinds = dict(zip(roles, map(_plain, rows[0]), strict=True))
        known = {*_TEXT[self.dialect], *_FLOAT[self.dialect], *_OTHER[self.dialect]}
        enums = self._enums({kind for kind in kinds.values() if kind not in known})
        for name, kind in kinds.items():
            if kind not in known | enums:
                raise _unsupported(roles[name], name, f"of type {kind}")
        return kinds

    def _enums(self, kinds: set[str]) -> set[str]:
        """Find which types of PostgreSQL are enumerations, whose labels are compared exactly."""
        if self.dialect != "postgresql" or not kinds:
            return set()
        types = sa.table("pg_type", sa.column("oid"), sa.column("typtype"), schema="pg_catalog")
        name = sa.func.format_type(types.c.oid, sa.null())
        query = sa.select(name).where(types.c.typtype == "e", name.in_(sorted(kinds)))
        return {row[0] for row in self.fetch(query, "read the types")}

    def _stored(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Find what SQLite stores in each column, where every cell has a type of its own."""
        stored = ("text", "blob", "integer", "real")
        seen = [
            sa.func.max(sa.case((sa.func.typeof(self.raw(name)) == kind, 1), else_=0))
            for name in roles
            for kind in stored
        ]
        query = sa.select(*seen).select_from(self.source)
        (found,) = self.fetch(query, "read the types") or [[0] * len(seen)]
        kinds: dict[Name, str] = {}
        for i, (name, role) in enumerate(roles.items()):
            present = [kind for kind, there in zip(stored, found[4 * i :], strict=False) if there]
            # 1 and 1.0 are the same number, as in a column of floats.
            if len(present) > 1 and present != ["integer", "real"]:
                raise _unsupported(role, name, f"of mixed types ({', '.join(present)})")
            kinds[name] = f"stored as {present[-1]}" if present else "empty"
        return kinds

    def _check_collation(self, name: Name, role: str) -> None:
        """Refuse a column that holds different texts for the same."""
        if self.dialect == "postgresql":
            collations = sa.table(
                "pg_collation", sa.column("oid"), sa.column("collisdeterministic")
            )
            here = sa.func.pg_collation_for(self.raw(name))
            of_column = sa.select(sa.cast(here, _RegCollation)).select_from(self.source).limit(1)
            query = sa.select(collations.c.collisdeterministic).where(
                collations.c.oid == of_column.scalar_subquery()
            )
            exact = [bool(row[0]) for row in self.fetch(query, "read the collation")] == [True]
        else:
            nothing = sa.select(self.raw(name).label("x")).select_from(self.source)
            texts: list[Any] = [sa.select(sa.literal_column(f"'{text}'")) for text in _DIFFERENT]
            every = sa.union_all(nothing.where(sa.false()), *texts).subquery()
            different = sa.select(every.c.x).distinct().subquery()
            counted = sa.select(sa.func.count()).select_from(different)
            rows = self.fetch(counted, "read the collation")
            exact = [row[0] for row in rows] == [len(_DIFFERENT)]
        if not exact:
            raise UnsupportedColumnError(
                f"{role} {str(name)!r} has a collation that holds different texts for the same "
                "(it ignores case, accents or trailing blanks), and anonrisk compares exactly; "
                "give the column a binary collation"
            )


class _RegCollation(sa.types.UserDefinedType[Any]):
    """PostgreSQL's type for the number of a collation."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Name the type."""
        return "regcollation"


def _plain(kind: Any) -> str:
    """Name a type without its parameters, which for an enumeration are values."""
    name, _, parameters = str(kind).partition("(")
    return f"{name}[]" if parameters.endswith("]") else name


def kind_of_cells(kind: str) -> str:
    """Say what a column of some type holds; the type itself where we have no word for it."""
    return next((word for word, kinds in _HELD.items() if kind in kinds), kind)


def _unsupported(role: str, name: Name, what: str) -> UnsupportedColumnError:
    return UnsupportedColumnError(
        f"{role} {str(name)!r} holds values {what}, which SQL does not compare as anonrisk does"
    )


@dataclass(frozen=True)
class Look:
    """What one scan says of the rows: how many, and how many miss what."""

    n_rows: int
    n_incomplete: int
    n_missing: dict[Name, int]


def look(table: SqlTable, cells: Mapping[Name, Any], needed: Sequence[Name]) -> Look:
    """Count the rows, those that miss one of the `needed` columns, and the gaps of each column."""

    def count_where(condition: Any) -> Any:
        return sa.func.sum(sa.case((condition, 1), else_=0))

    missing = [count_where(cell.is_(None)) for cell in cells.values()]
    incomplete = count_where(any_missing(cells[name] for name in needed))
    query = sa.select(sa.func.count(), incomplete, *missing).select_from(table.source)
    rows = table.fetch(query, "count the rows")
    if not rows or not rows[0][0]:
        raise EmptyTableError("the table has no records; there is nothing to measure")
    n_rows, n_incomplete, *n_missing = map(int, rows[0])
    return Look(n_rows, n_incomplete, dict(zip(cells, n_missing, strict=True)))


def any_missing(cells: Iterable[Any]) -> Any:
    """Tell whether one of the cells is missing."""
    return sa.or_(sa.false(), *(cell.is_(None) for cell in cells))
