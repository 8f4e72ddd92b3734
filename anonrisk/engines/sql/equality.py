"""The cells of a table in a database: their types, and when two of them are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.source import SqlSource

# Types of cells that are one value each, by what the database itself calls them.
TEXT = {"postgresql": ("text", "character varying", "name"), "duckdb": ("VARCHAR",)}
FLOAT = {"postgresql": ("real", "double precision", "numeric"), "duckdb": ("FLOAT", "DOUBLE")}
OTHER = {
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
    "text": (*TEXT["postgresql"], "VARCHAR", "ENUM", '"NULL"', "stored as text", "empty"),
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
# Texts that differ, although some collations hold a pair of them for the same.
_DIFFERENT = ("a", "A", "a ", "\N{LATIN SMALL LETTER A WITH ACUTE}", "a\N{COMBINING ACUTE ACCENT}")


def cell(table: SqlSource, name: Name, kind: str) -> Any:
    """Give a column such that missing is NULL and equal cells are equal."""
    column = table.raw(name)
    if kind not in FLOAT.get(table.dialect, ()):
        return column
    if table.dialect == "duckdb":
        # By the least and largest number that a file of Parquet says it has, which leave NaN out,
        # DuckDB would hold a comparison with NaN, and isnan too, for false without a look. What
        # comes out of a list may be NULL for all it knows, so that it looks.
        looked_at = sa.func.list_extract(sa.func.list_value(column), sa.literal_column("1"))
        return sa.case((sa.func.isnan(looked_at), sa.null()), else_=column)
    type_: Any = sa.Numeric() if kind == "numeric" else sa.Double()
    return sa.func.nullif(column, sa.cast(sa.literal_column("'NaN'"), type_))


def kinds(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    """Find the type of each column; refuse those whose equality is not anonrisk's.

    SQLite looks at every cell for it; who counts them anyhow asks for `stored` on the way.
    """
    find = _look_up if table.dialect == "sqlite" else _declared
    with table.reading():
        new = {name: role for name, role in roles.items() if name not in _found(table)}
        if new:
            _found(table).update(find(table, new))
        return {name: _found(table)[name] for name in roles}


def _found(table: SqlSource) -> dict[Name, str]:
    """Give the types that are known of one state of a table."""
    known: dict[Name, str] = table.known("kinds", dict)
    return known


def _declared(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    of = sa.func.pg_typeof if table.dialect == "postgresql" else sa.func.typeof
    types = [sa.cast(of(table.raw(name)), sa.Text).label(f"t{i}") for i, name in enumerate(roles)]
    found = dict(zip(roles, map(_plain, table.told(types, "read the types")), strict=True))
    known = {*TEXT[table.dialect], *FLOAT[table.dialect], *OTHER[table.dialect]}
    enums = _enums(table, {kind for kind in found.values() if kind not in known})
    for name, kind in found.items():
        if kind not in known | enums:
            raise _unsupported(roles[name], name, f"of type {kind}")
    _check_collations(table, roles, found)
    return found


def _enums(table: SqlSource, kinds: set[str]) -> set[str]:
    """Find which types of PostgreSQL are enumerations, whose labels are compared exactly."""
    if table.dialect != "postgresql" or not kinds:
        return set()
    types = sa.table("pg_type", sa.column("oid"), sa.column("typtype"), schema="pg_catalog")
    name = sa.func.format_type(types.c.oid, sa.null())
    query = sa.select(name).where(types.c.typtype == "e", name.in_(sorted(kinds)))
    return {row[0] for row in table.fetch(query, "read the types")}


def stored(column: Any) -> list[Any]:
    """Give what tells the types that SQLite stores in a column, where every cell has its own."""
    kind = sa.func.nullif(sa.func.typeof(column), "null")
    return [sa.func.min(kind), sa.func.max(kind)]


def kinds_of_stored(
    table: SqlSource, roles: Mapping[Name, str], found: Mapping[Name, tuple[Any, Any]]
) -> dict[Name, str]:
    """Name the type of each column by the first and the last of the alphabet that it stores."""
    told: dict[Name, str] = {}
    for name, (first, last) in found.items():
        # 1 and 1.0 are the same number, as in a column of floats.
        if first != last and (first, last) != ("integer", "real"):
            raise _unsupported(roles[name], name, f"of mixed types ({first}, {last})")
        told[name] = "empty" if last is None else f"stored as {last}"
    with table.reading():
        new = {name: kind for name, kind in told.items() if name not in _found(table)}
        _check_collations(table, roles, new)
        _found(table).update(new)
    return told


def _look_up(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    asked = [one for name in roles for one in stored(table.raw(name))]
    (found,) = table.fetch(sa.select(*asked).select_from(table.source), "read the types")
    pairs = {name: (found[2 * i], found[2 * i + 1]) for i, name in enumerate(roles)}
    return kinds_of_stored(table, roles, pairs)


def declared_boolean(table: SqlSource, name: Name) -> bool:
    """Return whether SQLite, which stores 0 and 1, was told that a column holds truth values.

    It knows that of the columns of tables and views, not of what a query computes.
    """
    rows = getattr(table.source, "element", table.source)
    (origin, *others) = rows.get_final_froms() if isinstance(rows, sa.Select) else [rows]
    if table.dialect != "sqlite" or others or not isinstance(origin, sa.TableClause):
        return False
    named = [origin.name] if origin.schema is None else [origin.name, origin.schema]
    about = sa.func.pragma_table_info(*map(str, named)).table_valued("name", "type")
    asked = sa.select(about.c.type).where(about.c.name == str(name))
    kinds = {str(kind).casefold() for (kind,) in table.fetch(asked, "read the types")}
    return kinds <= {"bool", "boolean"} and bool(kinds)


def _check_collations(
    table: SqlSource, roles: Mapping[Name, str], found: Mapping[Name, str]
) -> None:
    """Refuse a column that holds different texts for the same."""
    texts = (*TEXT.get(table.dialect, ()), "stored as text")
    names = [name for name, kind in found.items() if kind in texts]
    if not names:
        return
    is_exact = _is_deterministic if table.dialect == "postgresql" else _tells_apart
    exact = table.told([is_exact(table, name) for name in names], "read the collation")
    for name, of_column in zip(names, exact, strict=True):
        if not of_column:
            raise UnsupportedColumnError(
                f"{roles[name]} {str(name)!r} has a collation that holds different texts for the "
                "same (it ignores case, accents or trailing blanks), and anonrisk compares "
                "exactly; give the column a binary collation"
            )


def _is_deterministic(table: SqlSource, name: Name) -> Any:
    columns: list[Any] = [sa.column("oid"), sa.column("collisdeterministic")]
    collations = sa.table("pg_collation", *columns, schema="pg_catalog")
    here = sa.cast(sa.func.pg_collation_for(table.raw(name)), _RegCollation)
    exact = sa.select(collations.c.collisdeterministic).where(collations.c.oid == here)
    return exact.scalar_subquery()


def _tells_apart(table: SqlSource, name: Name) -> Any:
    nothing = sa.select(table.raw(name).label("x")).select_from(table.source)
    texts: list[Any] = [sa.select(sa.literal_column(f"'{text}'")) for text in _DIFFERENT]
    every = sa.union_all(nothing.where(sa.false()), *texts).subquery()
    different = sa.select(every.c.x).distinct().subquery()
    counted = sa.select(sa.func.count()).select_from(different).scalar_subquery()
    return counted == len(_DIFFERENT)


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
