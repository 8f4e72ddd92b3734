"""What differs from one kind of database to the next: a back end is a file with a `Dialect`.

Everything else about databases is written once. Where a dialect says nothing of its own, what is
here is standard SQL, as PostgreSQL and DuckDB understand it.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa

from anonrisk.measures.counts import contents as rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

# Texts that differ, although some collations hold a pair of them for the same.
_DIFFERENT = ("a", "A", "a ", "\N{LATIN SMALL LETTER A WITH ACUTE}", "a\N{COMBINING ACUTE ACCENT}")


# What instants are called that may be finer than those of Python.
NANOSECONDS = "TIMESTAMP_NS"


class Dialect:
    """How one kind of database is asked, and when it holds two cells for equal.

    Attributes
    ----------
    name, title, sqlglot : str
        What SQLAlchemy, people and SQLGlot call it.
    driver : tuple of str
        The module and the class of connections of its own package.
    url : str
        A URL of it, for messages; nothing where it is no place that a URL names.
    texts, floats, others : tuple of str
        Types of cells that are one value each, by what the database itself calls them.
    held : mapping
        What such columns hold, in the words of `engines.order`, but numbers by how they are
        compared.
    catalogue : str
        Selects every table and view that may be named: its schema, its name, whether the name alone
        finds it.
    begin, begin_within : str
        How a transaction begins that sees one state and only reads; and where the driver has sent a
        BEGIN of its own before the first statement.
    begins_itself : bool
        Whether SQLAlchemy's driver begins a transaction for a query.
    typed_by_cell : bool
        Whether each cell has a type of its own.
    reads_names_as_texts : bool
        Whether a name in quotation marks that no column has is a text.
    keeps_steps : bool
        Whether a named query can be told to run once, or once for each use.
    most_grouped : int
        How many columns may be in several grouping sets; 0 where there are none.
    joins_missing : str
        How rows are joined by a key that may be missing: "fast" like any other, "apart" by two
        look-ups, "sorted" by a window over both tables.
    spelling : Spelling
        How it writes what is looked for in cells.
    letters : str
        The collation that sorts by the numbers of letters; nothing where all texts are sorted so.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    sqlglot: ClassVar[str]
    driver: ClassVar[tuple[str, str]]
    url: ClassVar[str] = ""
    texts: ClassVar[tuple[str, ...]] = ()
    floats: ClassVar[tuple[str, ...]] = ()
    others: ClassVar[tuple[str, ...]] = ()
    held: ClassVar[Mapping[str, tuple[str, ...]]]
    catalogue: ClassVar[str] = ""
    begin: ClassVar[str] = ""
    begin_within: ClassVar[str] = ""
    begins_itself: ClassVar[bool] = False
    typed_by_cell: ClassVar[bool] = False
    reads_names_as_texts: ClassVar[bool] = False
    keeps_steps: ClassVar[bool] = True
    most_grouped: ClassVar[int] = 31
    joins_missing: ClassVar[str] = "fast"
    spelling: ClassVar[rules.Spelling]
    letters: ClassVar[str] = ""

    @property
    def writer(self) -> Any:
        """Return what writes statements for the database's own package."""
        raise NotImplementedError

    @property
    def known(self) -> set[str]:
        """Every type of cells that are compared as ours are."""
        return {*self.texts, *self.floats, *self.others}

    # ---- cells ----------------------------------------------------------------------------------

    def cell(self, column: Any, kind: str) -> Any:
        """Return a column such that missing is NULL and equal cells are equal."""
        return column if kind not in self.floats else self.without_nan(column, kind)

    def without_nan(self, column: Any, kind: str) -> Any:
        """Return a column of floats with NULL for NaN."""
        raise NotImplementedError

    def type_of(self, column: Any) -> Any:
        """Return the type of a column, of which no row is looked at."""
        return sa.func.typeof(column)

    def type_name(self, written: str) -> str:
        """Name a type without its parameters, which for an enumeration are values."""
        name, _, parameters = written.partition("(")
        return f"{name}[]" if parameters.endswith("]") else name

    def has_zone(self, written: str) -> bool:
        """Return whether a type of instants has a zone, by how the database writes it."""
        return "with time zone" in written.lower()

    def enumerations(self, table: Any, kinds: set[str]) -> set[str]:  # noqa: ARG002
        """Find which of some types are enumerations, whose labels are compared exactly."""
        return set()

    def tells_apart(self, table: Any, name: Any) -> Any:
        """Return whether a column of texts holds different ones for different."""
        nothing = sa.select(table.raw(name).label("x")).select_from(table.source)
        texts: list[Any] = [sa.select(sa.literal_column(f"'{text}'")) for text in _DIFFERENT]
        every = sa.union_all(nothing.where(sa.false()), *texts).subquery()
        different = sa.select(every.c.x).distinct().subquery()
        counted = sa.select(sa.func.count()).select_from(different).scalar_subquery()
        return counted == len(_DIFFERENT)

    def paths(self, table: Any) -> list[str]:  # noqa: ARG002
        """List the paths inside the structs of a table."""
        return []

    def microseconds(self, cell: Any) -> Any:
        """Return the microseconds from 1970 to an instant, or to what a clock says."""
        seconds = sa.extract("epoch", cell)
        return sa.cast(seconds * sa.literal_column("1000000"), sa.BigInteger)

    def nanoseconds(self, cell: Any) -> Any:
        """Return the nanoseconds from 1970 to an instant, or to what a clock says."""
        return sa.func.epoch_ns(cell)

    def in_greenwich(self, cell: Any, kind: str) -> Any:
        """Return what a clock in Greenwich shows; a clock without zone shows what it shows."""
        zoned = kind.lower() == "timestamp with time zone"
        return sa.func.timezone("UTC", cell) if zoned else cell

    def floor(self, number: Any) -> Any:
        """Round a number that is not negative down."""
        return sa.cast(sa.func.floor(number), sa.BigInteger)

    def matches(self, text: Any, pattern: str) -> Any:
        """Return whether the whole of a text matches an expression."""
        return text.regexp_match(rf"\A(?:{pattern})\Z")

    def contains(self, text: Any, pattern: str) -> Any:
        """Return whether a part of a text matches an expression."""
        return text.regexp_match(pattern)

    def is_among(self, cell: Any, column: Any) -> Any:
        """Return whether a cell is one of those of a column of a query."""
        return cell.in_(sa.select(column))

    def folded(self, text: Any) -> Any:
        """Return a text without case, spaces and accents."""
        return sa.func.translate(text, rules.FOLDED_FROM, rules.FOLDED_TO)

    def hashed(self, text: Any) -> Any:
        """Return by what some texts are drawn."""
        return sa.func.md5(text)

    def as_text(self, cell: Any) -> Any:
        """Return a cell of another type in a form that every driver brings out as it is."""
        return sa.cast(cell, sa.Text)

    def as_json(self, cell: Any) -> Any:
        """Return a cell that is made of others as JSON."""
        return cell

    # ---- statements -----------------------------------------------------------------------------

    def rewritten(self, tree: Any) -> Any:
        """Change a query, as SQLGlot has read it, where SQLGlot writes it wrong."""
        return tree

    def listed(self, entry: str, order: str, keys: str, table: str) -> tuple[str, str]:  # noqa: ARG002
        """Return how the entries of each group become one text, in order, and of which table."""
        return f"STRING_AGG({entry}, ',' ORDER BY {order} ASC)", table

    def columns_alone(self, query: str) -> str | None:  # noqa: ARG002
        """Return a statement that lists the columns of a query under the names they have in it.

        None where a query in parentheses keeps them.
        """
        return None

    # ---- sessions -------------------------------------------------------------------------------

    def tables(self, connected: Any) -> list[Any]:
        """List every table and view that may be named, as `catalogue` says."""
        return list(connected.rows(sa.text(self.catalogue)))

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection of the database's own package is in a transaction."""
        raise NotImplementedError

    def cursor(self, connection: Any, *, streams: bool) -> Any:
        """Return what runs a statement, whatever the caller wants rows to be."""
        raise NotImplementedError

    def plain(self, connection: Any) -> AbstractContextManager[None]:  # noqa: ARG002
        """Set aside, meanwhile, what the owner of a connection wants of texts and statements."""
        return nullcontext()

    def prepare(self, connection: Callable[[], Any]) -> None:
        """Register functions that are asked of it with a connection of the database's package."""


_FIELD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s",()]+))\s+')


def types(table: Any, dialect: Dialect) -> dict[str, str]:
    """Return the types of all columns; of none where two of one name cannot be asked for."""
    names = list(dict.fromkeys(table.names))
    if len(names) < len(table.names):
        return {}
    type_of = dialect.type_of
    asked = [
        sa.cast(type_of(table.raw(name)), sa.Text).label(f"t{i}") for i, name in enumerate(names)
    ]
    return dict(zip(names, map(str, table.type_facts(asked, "read the types")), strict=True))


def within(name: str, kind: str, inside: dict[str, list[tuple[str, str]]]) -> list[str]:
    """List the paths inside a type of PostgreSQL, of which `composites` knows the fields."""
    results = []
    for field, deeper in inside.get(kind.removesuffix("[]"), ()):
        below = f"{name}.{field}" if field else name
        results += [*([below] if field else []), *within(below, deeper, inside)]
    return results


def in_type(name: str, kind: str) -> list[str]:
    """List the paths inside a type as DuckDB writes it, also in lists and maps of structs.

    Examples
    --------
    >>> in_type("person", 'STRUCT("first name" VARCHAR, home STRUCT(zip VARCHAR))[]')
    ['person.first name', 'person.home', 'person.home.zip']
    """
    results: list[str] = []
    for inside in (*_bodies(kind, "STRUCT"), *_bodies(kind, "UNION")):
        for part in _split(inside):
            field = _FIELD.match(part)
            if field is not None:
                quoted, plain = field.groups()
                below = (
                    f"{name}.{plain if quoted is None else quoted.replace(chr(34) * 2, chr(34))}"
                )
                results += [below, *in_type(below, part[field.end() :])]
    for inside in _bodies(kind, "MAP"):
        results += [path for part in _split(inside) for path in in_type(name, part)]
    return results


def _bodies(kind: str, word: str) -> list[str]:
    """Return what stands in the brackets of a type that begins with a word."""
    text = kind.strip()
    if not text.startswith(f"{word}("):
        return []
    end = text.rindex(")")
    return [text[len(word) + 1 : end]]


def _split(inside: str) -> list[str]:
    """Cut at the commas that stand in no brackets and no quotation marks."""
    parts, depth, quoted, begin = [], 0, False, 0
    for i, letter in enumerate(inside):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter == "(") - (letter == ")")
            if letter == "," and not depth:
                parts.append(inside[begin:i])
                begin = i + 1
    return [*parts, inside[begin:]]


def composites(table: Any, kinds: set[str]) -> dict[str, list[tuple[str, str]]]:
    """List the fields of types of PostgreSQL that are composite, each with its own type.

    What a domain is made of is a field without a name. No type holds itself, so that this ends.
    """
    names = ("oid", "typrelid", "typbasetype")
    types = sa.table("pg_type", *map(sa.column, names), schema="pg_catalog")
    columns = ("attrelid", "attname", "attnum", "atttypid")
    fields = sa.table("pg_attribute", *map(sa.column, columns), schema="pg_catalog")

    def called(oid: Any) -> Any:
        return sa.func.format_type(oid, sa.null())

    results: dict[str, list[tuple[str, str]]] = {}
    new = {kind.removesuffix("[]") for kind in kinds}
    while new:
        among = called(types.c.oid).in_(sorted(new))
        inside = sa.select(called(types.c.oid), fields.c.attname, called(fields.c.atttypid)).where(
            fields.c.attrelid == types.c.typrelid, fields.c.attnum > 0, among
        )
        domains = sa.select(called(types.c.oid), sa.literal(""), called(types.c.typbasetype)).where(
            types.c.typbasetype != 0, among
        )
        rows = [*table.fetch(inside, "read the types"), *table.fetch(domains, "read the types")]
        for kind, field, deeper in rows:
            results.setdefault(kind, []).append((field, deeper))
        new = {deeper.removesuffix("[]") for _, _, deeper in rows} - results.keys()
    return results
