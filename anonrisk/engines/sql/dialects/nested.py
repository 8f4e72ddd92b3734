"""The fields inside columns of a database that are structs, by the names of their types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from anonrisk.engines.sql.dialects.base import Dialect

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
