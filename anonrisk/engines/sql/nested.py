"""The fields inside columns of a database that are structs, by the names of their types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from anonrisk.engines.sql.table import SqlTable

_FIELD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s",()]+))\s+')


def paths(table: SqlTable) -> list[str]:
    """List the paths inside the structs of a table; an empty one has no types to tell."""
    of = {"duckdb": sa.func.typeof, "postgresql": sa.func.pg_typeof}.get(table.dialect)
    names = list(dict.fromkeys(table.names))
    if of is None or len(names) < len(table.names):
        # SQLite has no structs, and columns of one name cannot be asked for.
        return []
    types = [sa.cast(of(table.raw(name)), sa.Text).label(f"t{i}") for i, name in enumerate(names)]
    rows = table.fetch(sa.select(*types).select_from(table.source).limit(1), "read the types")
    kinds = dict(zip(names, map(str, rows[0]), strict=True)) if rows else {}
    if table.dialect == "duckdb":
        return [path for name, kind in kinds.items() for path in in_type(name, kind)]
    fields = _composites(table, {kind.removesuffix("[]") for kind in kinds.values()})
    found = [(name, fields.get(kind.removesuffix("[]"), ())) for name, kind in kinds.items()]
    return [f"{name}.{field}" for name, inside in found for field in inside]


def in_type(name: str, kind: str) -> list[str]:
    """List the paths inside a type as DuckDB writes it, also in lists and maps of structs.

    Examples
    --------
    >>> in_type("person", 'STRUCT("first name" VARCHAR, home STRUCT(zip VARCHAR))[]')
    ['person.first name', 'person.home', 'person.home.zip']
    """
    found: list[str] = []
    for inside in _bodies(kind, "STRUCT"):
        for part in _split(inside):
            field = _FIELD.match(part)
            if field is not None:
                quoted, plain = field.groups()
                below = (
                    f"{name}.{plain if quoted is None else quoted.replace(chr(34) * 2, chr(34))}"
                )
                found += [below, *in_type(below, part[field.end() :])]
    for inside in _bodies(kind, "MAP"):
        found += [path for part in _split(inside) for path in in_type(name, part)]
    return found


def _bodies(kind: str, word: str) -> list[str]:
    """Give what stands in the brackets of a type that begins with a word."""
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


def _composites(table: SqlTable, kinds: set[str]) -> dict[str, list[str]]:
    """List the fields of those types of PostgreSQL that are composite."""
    types = sa.table("pg_type", sa.column("oid"), sa.column("typrelid"), schema="pg_catalog")
    columns = ("attrelid", "attname", "attnum")
    fields = sa.table("pg_attribute", *map(sa.column, columns), schema="pg_catalog")
    kind = sa.func.format_type(types.c.oid, sa.null())
    query = sa.select(kind, fields.c.attname).where(
        fields.c.attrelid == types.c.typrelid, fields.c.attnum > 0, kind.in_(sorted(kinds))
    )
    found: dict[str, list[str]] = {}
    for name, field in table.fetch(query, "read the types"):
        found.setdefault(name, []).append(field)
    return found
