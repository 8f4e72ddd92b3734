"""What a caller calls a table in a database: a URL, a connection; a name, a query."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import quoted_name

from anonrisk.core.columns import nearest
from anonrisk.core.render import count_of
from anonrisk.engines.sql.database import DuckDBFile, database_of, guarded
from anonrisk.engines.sql.dialects import DIALECTS, dialect_of
from anonrisk.engines.sql.source import reading
from anonrisk.engines.sql.text import one_query
from anonrisk.errors import (
    ArgumentError,
    DuplicateColumnError,
    MissingLibraryError,
    TableNotFoundError,
)

# What a query begins with, after comments; every other text is a name.
_QUERY = re.compile(
    r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?:\(|(?:select|with|values|from)\b)",
    re.IGNORECASE | re.DOTALL,
)
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+?))\s*(\.|$)')
_MOST_PARTS = 3
# Drivers that are looked for where a URL names none.
_POSTGRES = ("psycopg", "psycopg2")


def connection_of(value: Any) -> Any:
    """Read a URL, or take a connection; refuse a database that has not been compared with us."""
    if isinstance(value, (str, sa.URL)):
        value = _from_url(value)
    dialect_of(database_of(value).dialect)
    return value


def _from_url(value: str | sa.URL) -> Any:
    try:
        url = sa.make_url(value)
    except (sa.exc.ArgumentError, ValueError):
        # Its message would quote a password.
        urls = " or ".join(repr(item.url) for item in DIALECTS.values() if item.url)
        raise ArgumentError(f"this text is not the URL of a database, such as {urls}") from None
    if url.drivername in {"postgresql", "postgres"}:
        there = [driver for driver in _POSTGRES if find_spec(driver)]
        url = url.set(drivername=f"postgresql+{(there or _POSTGRES)[0]}")
    kind = url.get_backend_name()
    dialect_of(kind)
    if kind == "postgresql":
        return _engine(url)
    path = _file_of(url, kind)
    if kind == "duckdb":
        if find_spec("duckdb") is None:
            raise MissingLibraryError("a file of DuckDB needs its package: pip install duckdb")
        return DuckDBFile(path)
    if not path.startswith("file:"):
        # SQLite would make a file that is gone by then, and find no table in it.
        url = url.set(database=Path(path).absolute().as_uri())
        url = url.update_query_dict({"mode": "rw", "uri": "true"})
    return _engine(url)


def _file_of(url: sa.URL, kind: str) -> str:
    """Return the path in a URL; refuse one that is not there, which would be made anew."""
    path = url.database or ":memory:"
    if path == ":memory:":
        raise ArgumentError(
            f"this URL names no file, as in '{kind}:///people.{kind}'; of tables in memory give "
            "the connection"
        )
    if not path.startswith("file:") and not Path(path).is_file():
        raise TableNotFoundError(
            f"there is no file {path!r}; '{kind}:///' is followed by a path from here, "
            f"'{kind}:////' by one from the root"
        )
    return path


# One for each URL, so that two tables of a database are asked in one transaction.
@lru_cache(maxsize=32)
def _engine(url: sa.URL) -> sa.Engine:
    try:
        # Connections are closed when a question is answered.
        return sa.create_engine(url, poolclass=sa.NullPool)
    except sa.exc.NoSuchModuleError:
        raise ArgumentError(f"SQLAlchemy knows no driver {url.drivername!r}") from None
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"this kind of database needs the driver {error.name!r}: pip install {error.name}"
        ) from None


def source_of(connection: Any, text: Any) -> tuple[Any, str]:
    """Return what SQLAlchemy selects from, and what to call it; a query may quote cells."""
    if isinstance(text, sa.sql.expression.SelectBase):
        return text.subquery("anonrisk_rows"), "a query"
    if isinstance(text, sa.FromClause):
        return text, str(getattr(text, "name", "a query"))
    if isinstance(text, sa.TextClause):
        text = text.text
    text = text.strip() if isinstance(text, str) else text
    if not isinstance(text, str) or not text:
        raise ArgumentError(
            "a table in a database is given by its name, as in 'schema.table', or by a query, as "
            f"in 'SELECT …', not by {type(text).__name__ if text else 'nothing'}"
        )
    if _QUERY.match(text):
        # A colon would begin a parameter, and a comment at the end hide what follows.
        inside = one_query(text, dialect_of(database_of(connection).dialect)).replace(":", r"\:")
        _check_repeated(connection, inside)
        return sa.text(f"({inside}\n) AS anonrisk_rows"), "a query"
    parts = _parts(text)
    _require(connection, parts)
    *schemas, name = (quoted_name(part, quote=True) for part in parts)
    if len(schemas) > 1:
        written = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
        return sa.text(written.replace(":", r"\:")), ".".join(parts)
    return sa.table(name, schema=schemas[0] if schemas else None), ".".join(parts)


def _check_repeated(connection: Any, query: str) -> None:
    """Reject a query that gives two columns one name, where the database would rename one."""
    database = database_of(connection)
    alone = dialect_of(database.dialect).columns_alone(query)
    if alone is None:
        return
    with reading(database) as under_way, guarded("list the columns"):
        names = under_way.connected.names(sa.text(alone))
    # Neither tells names apart by case.
    counter = Counter(name.casefold() for name in names)
    for name in names:
        if counter[name.casefold()] > 1:
            raise DuplicateColumnError(
                f"{name!r} is the name of {counter[name.casefold()]} columns of this query, which "
                "ignores the difference between upper and lower case"
                "; give each column a name of its own"
            )


def _parts(text: str) -> list[str]:
    """Read a name in its parts, each of which may stand in quotation marks."""
    parts: list[str] = []
    at, more = 0, True
    while more:
        result = _PART.match(text, at)
        if result is None:
            raise ArgumentError(
                f"{text!r} is not the name of a table: give 'table' or 'schema.table', in "
                "double quotation marks what holds a dot, as in 'schema.\"a.b\"'"
            )
        quoted, plain, end = result.groups()
        parts.append(plain if quoted is None else quoted.replace('""', '"'))
        at, more = result.end(), bool(end)
    if len(parts) > _MOST_PARTS:
        raise ArgumentError(f"{text!r} has more parts than database, schema and table")
    return parts


def _quoted(name: str) -> str:
    """Write a part of a name as `_parts` reads it."""
    return '"' + name.replace('"', '""') + '"' if re.search(r'[".]', name) else name


def _require(connection: Any, parts: list[str]) -> None:
    """Reject a name that the database does not have, without a statement that fails.

    A statement that fails would end a transaction of the caller's.
    """
    database = database_of(connection)
    with reading(database) as under_way, guarded("list its tables"):
        rows = dialect_of(database.dialect).tables(under_way.connected)
    by_name = {name for _, name, is_visible in rows if is_visible}
    qualified = {(schema, name) for schema, name, _ in rows}
    # A database that is attached to DuckDB's is looked up by its own statement.
    if len(parts) == _MOST_PARTS or tuple(parts) in qualified or parts[0] in by_name:
        return
    words = [
        *map(_quoted, sorted(by_name)),
        *(".".join(map(_quoted, x)) for x in sorted(qualified)),
    ]
    asked = ".".join(parts)
    raise TableNotFoundError(
        f"table {asked!r} is not in the database{nearest(asked, words) or '.'} "
        f"It has {count_of(len(qualified), 'table')}, views among them."
    )
