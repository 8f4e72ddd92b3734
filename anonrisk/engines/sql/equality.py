"""The cells of a table in a database: their types, and when two of them are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.errors import UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name
    from anonrisk.engines.sql.source import SqlSource


def cell(table: SqlSource, name: Name, kind: str) -> Any:
    """Give a column such that missing is NULL and equal cells are equal."""
    return table.dialect.cell(table.raw(name), kind)


def kinds(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    """Find the type of each column; refuse those whose equality is not anonrisk's.

    SQLite looks at every cell for it; who counts them anyhow asks for `stored` on the way.
    """
    find = _look_up if table.dialect.typed_by_cell else _declared
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
    of = table.dialect.type_of
    types = [sa.cast(of(table.raw(name)), sa.Text).label(f"t{i}") for i, name in enumerate(roles)]
    written = map(str, table.told(types, "read the types"))
    found = dict(zip(roles, map(table.dialect.type_name, written), strict=True))
    known = table.dialect.known
    enums = table.dialect.enumerations(table, {*found.values()} - known)
    for name, kind in found.items():
        if kind not in known | enums:
            raise _unsupported(roles[name], name, f"of type {kind}")
    _check_collations(table, roles, found)
    return found


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
    if not table.dialect.typed_by_cell or others or not isinstance(origin, sa.TableClause):
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
    names = [name for name, kind in found.items() if kind in table.dialect.texts]
    if not names:
        return
    asked = [table.dialect.tells_apart(table, name) for name in names]
    exact = table.told(asked, "read the collation")
    for name, of_column in zip(names, exact, strict=True):
        if not of_column:
            raise UnsupportedColumnError(
                f"{roles[name]} {str(name)!r} has a collation that holds different texts for the "
                "same (it ignores case, accents or trailing blanks), and anonrisk compares "
                "exactly; give the column a binary collation"
            )


def _unsupported(role: str, name: Name, what: str) -> UnsupportedColumnError:
    return UnsupportedColumnError(
        f"{role} {str(name)!r} holds values {what}, which SQL does not compare as anonrisk does"
    )
