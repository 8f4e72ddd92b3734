"""A table in a database: of which types its columns are, and how many rows miss what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa

from anonrisk.core.frozen import dataclass
from anonrisk.engines.pushed.count import lost_rows
from anonrisk.engines.pushed.score import split_by_sorting
from anonrisk.engines.sql.database import same_place
from anonrisk.engines.sql.dialects import kind_of_cells
from anonrisk.engines.sql.rows import statement
from anonrisk.engines.sql.source import SqlSource
from anonrisk.engines.sql.text import check_logarithms
from anonrisk.errors import EmptyTableError, UnsupportedColumnError, UnsupportedFrameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.engines.pushed.rows import Row, Rows


def cell(table: SqlSource, name: Name, kind: str) -> Any:
    """Return a column such that missing is NULL and equal cells are equal."""
    return table.dialect.cell(table.raw(name), kind)


def kinds(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    """Find the type of each column; refuse those whose equality is not anonrisk's.

    SQLite looks at every cell for it; who counts them anyhow asks for `stored` on the way.
    """
    find = _look_up if table.dialect.typed_by_cell else _declared
    with table.reading():
        new = {name: role for name, role in roles.items() if name not in _known_kinds(table)}
        if new:
            _known_kinds(table).update(find(table, new))
        return {name: _known_kinds(table)[name] for name in roles}


def _known_kinds(table: SqlSource) -> dict[Name, str]:
    """Return the types that are known of one state of a table."""
    known: dict[Name, str] = table.known("kinds", dict)
    return known


def _declared(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    type_of = table.dialect.type_of
    types = [
        sa.cast(type_of(table.raw(name)), sa.Text).label(f"t{i}") for i, name in enumerate(roles)
    ]
    written = map(str, table.type_facts(types, "read the types"))
    results = dict(zip(roles, map(table.dialect.type_name, written), strict=True))
    known = table.dialect.known
    enums = table.dialect.enumerations(table, {*results.values()} - known)
    for name, kind in results.items():
        if kind not in known | enums:
            raise _unsupported(roles[name], name, f"of type {kind}")
    _check_collations(table, roles, results)
    return results


def stored(column: Any) -> list[Any]:
    """Return what tells the types that SQLite stores in a column, where every cell has its own."""
    kind = sa.func.nullif(sa.func.typeof(column), "null")
    return [sa.func.min(kind), sa.func.max(kind)]


def kinds_of_stored(
    table: SqlSource, roles: Mapping[Name, str], result: Mapping[Name, tuple[Any, Any]]
) -> dict[Name, str]:
    """Name the type of each column by the first and the last of the alphabet that it stores."""
    fields: dict[Name, str] = {}
    for name, (first, last) in result.items():
        # 1 and 1.0 are the same number, as in a column of floats.
        if first != last and (first, last) != ("integer", "real"):
            raise _unsupported(roles[name], name, f"of mixed types ({first}, {last})")
        fields[name] = "empty" if last is None else f"stored as {last}"
    with table.reading():
        new = {name: kind for name, kind in fields.items() if name not in _known_kinds(table)}
        _check_collations(table, roles, new)
        _known_kinds(table).update(new)
    return fields


def _look_up(table: SqlSource, roles: Mapping[Name, str]) -> dict[Name, str]:
    asked = [item for name in roles for item in stored(table.raw(name))]
    (result,) = table.fetch(sa.select(*asked).select_from(table.source), "read the types")
    pairs = {name: (result[2 * i], result[2 * i + 1]) for i, name in enumerate(roles)}
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
    table: SqlSource, roles: Mapping[Name, str], result: Mapping[Name, str]
) -> None:
    """Reject a column that holds different texts for the same."""
    names = [name for name, kind in result.items() if kind in table.dialect.texts]
    if not names:
        return
    asked = [table.dialect.tells_apart(table, name) for name in names]
    exact = table.type_facts(asked, "read the collation")
    for name, of_column in zip(names, exact, strict=True):
        if not of_column:
            raise UnsupportedColumnError(
                f"{roles[name]} {str(name)!r} has a collation that treats different texts as equal"
                " (it ignores case, accents or trailing blanks), and anonrisk compares "
                "exactly; give the column a binary collation"
            )


def _unsupported(role: str, name: Name, what: str) -> UnsupportedColumnError:
    return UnsupportedColumnError(
        f"{role} {str(name)!r} holds values {what}, which SQL does not compare as anonrisk does"
    )


__all__ = ["Look", "SqlTable", "any_missing", "kind_of_cells", "look"]


class SqlTable(SqlSource):
    """What can be selected from in a database, with the types of its columns."""

    sorts_by_hash: ClassVar[bool] = False
    split_shares = staticmethod(split_by_sorting)

    def moves_first(self, _: Rows) -> bool:
        """Return that it does not matter: the rows of a database are in one place."""
        return False

    def cell(self, name: Name, kind: str) -> Any:
        """Return a column such that missing is NULL and equal cells are equal."""
        return cell(self, name, kind)

    def kinds(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Find the type of each column; refuse those whose equality is not anonrisk's."""
        return kinds(self, roles)

    @property
    def typed_by_cell(self) -> bool:
        """Whether each cell has a type of its own."""
        return self.dialect.typed_by_cell

    def fetch_rows(self, rows: Rows, doing: str, most: int | None = None) -> list[Row]:
        """Run the steps as one statement, and see that no row is lost on the way."""
        with self.reading():
            query = statement(rows, self.dialect, counted=most is None)
            result = self.fetch(query if most is None else query.limit(most), doing)
        if most is None and result and int(result[0][-1]) != len(result):
            raise lost_rows(int(result[0][-1]), len(result))
        return [dict(zip(rows.columns, row, strict=False)) for row in result]

    def hold(self, roles: Mapping[Name, str]) -> dict[Name, str]:
        """Return what columns hold; SQLite looks at every cell for it."""
        kinds = self.kinds(roles)
        return {
            name: "nothing" if kind in {"empty", '"NULL"'} else kind_of_cells(kind)
            for name, kind in kinds.items()
        }

    def unlike(self, other: SqlTable, names: Iterable[Name]) -> dict[Name, tuple[str, str]]:
        """Return columns that a union would change: clocks beside instants."""
        names = [x for x in names if {self.holds(x), other.holds(x)} == {"timestamps"}]
        types = zip(names, self._written_types(names), other._written_types(names), strict=True)
        return {
            name: (ours, theirs)
            for name, ours, theirs in types
            if self.dialect.has_zone(ours) != self.dialect.has_zone(theirs)
        }

    def _written_types(self, names: Sequence[Name]) -> list[str]:
        types = [sa.cast(self.dialect.type_of(self.raw(name)), sa.Text) for name in names]
        return list(map(str, self.type_facts(types, "read the types"))) if names else []

    def beside(self, other: SqlTable) -> SqlTable:
        """Take another table of the same database."""
        if not same_place(self.database, other.database):
            raise UnsupportedFrameError(
                "release and population are read in one statement: give both as tables of "
                "the same connection, engine or URL"
            )
        return other

    def check_logarithms(self) -> None:
        """Reject an SQLite that was built without logarithms."""
        check_logarithms(self, "ln(")

    def n_rows(self) -> int:
        """Count all rows."""
        every = sa.select(sa.func.count()).select_from(self.source)
        return sum(int(row[0]) for row in self.fetch(every, "count the rows"))

    def check_types(self, roles: Mapping[Name, str], ends: Mapping[Name, tuple[Any, Any]]) -> None:
        """Reject columns by the first and the last type, in the alphabet, of their cells."""
        kinds_of_stored(self, roles, ends)

    def group_labels(self, by: Name, labels: Sequence[Any]) -> list[Any]:
        """Return the values of a column as Python knows them; SQLite stores truth as numbers."""
        truths = {*labels} <= {0, 1, None} and declared_boolean(self, by)
        return [bool(label) if truths and label is not None else label for label in labels]

    def holds(self, name: Name, role: str = "column") -> str:
        """Return what a column holds, in the words of `equality`."""
        return kind_of_cells(self.kinds({name: role})[name])


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
    """Return whether one of the cells is missing."""
    return sa.or_(sa.false(), *(cell.is_(None) for cell in cells))
