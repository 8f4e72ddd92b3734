"""Roles from the tags that a data catalogue keeps of columns: Unity Catalog, Snowflake."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.documents import Reader
from anonrisk.core.role_words import WORDS, picked, role_words, text_of
from anonrisk.errors import RolesDocumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Meanings = Mapping[str, str | None]

WHAT = "list of tags"
TAG = "anonrisk_role"
OURS: dict[str, str | None] = {f"{TAG}={word}": word for word in WORDS}
# What a table is called, from the outside in: by Unity Catalog, and by Snowflake.
_TABLES = (
    ("catalog_name", "schema_name", "table_name"),
    ("object_database", "object_schema", "object_name"),
)


def read(rows: Any, meanings: Meanings | None, table: str | None) -> dict[str, tuple[str, ...]]:
    """Give the roles of each column that has a tag, whatever it means."""
    known = _meanings(OURS if meanings is None else meanings)
    by_table: dict[str, dict[str, list[str]]] = {}
    for row in filter(None, map(_of_column, _rows(rows))):
        name, column, tag, value = row
        roles = by_table.setdefault(name, {}).setdefault(column, [])
        role = _role(known, tag, value, f"the {WHAT}, column {column!r}")
        if role is not None and role not in roles:
            roles.append(role)
    if not by_table:
        raise RolesDocumentError(f"the {WHAT} has no row about a column")
    return {column: tuple(roles) for column, roles in by_table[_table(by_table, table)].items()}


def write(words: Mapping[str, Sequence[str]], meanings: Meanings | None) -> list[dict[str, str]]:
    """Give a row for each role, with the first tag that means it."""
    tags: dict[str, str] = {}
    given = OURS if meanings is None else meanings
    _meanings(given)
    for tag, role in given.items():
        if role is not None:
            tags.setdefault(role, tag)
    rows = []
    for column, roles in words.items():
        for role in roles:
            if role not in tags:
                raise RolesDocumentError(
                    f"column {column!r} is {role}, and no tag means that: add one to the mapping"
                )
            name, _, value = tags[role].partition("=")
            rows.append({"column_name": column, "tag_name": name, "tag_value": value})
    return rows


def _meanings(given: Any) -> dict[str, dict[str | None, str | None]]:
    """Read what tags mean, by their name and then by their value; None is any other value."""
    if not isinstance(given, Mapping):
        raise RolesDocumentError("what tags mean is a mapping, as in {'pii=email': 'direct'}")
    known: dict[str, dict[str | None, str | None]] = {}
    for key, role in given.items():
        name, sign, value = str(key).partition("=")
        if isinstance(role, (list, tuple)):
            raise RolesDocumentError(
                f"tag {str(key)!r} means one role, or None, not a list of them"
            )
        if role is not None:
            role_words(role, f"the meaning of tag {str(key)!r}")
        known.setdefault(name.casefold(), {})[value if sign else None] = role
    return known


def _role(
    known: dict[str, dict[str | None, str | None]], tag: str, value: str, where: str
) -> str | None:
    """Find what a tag means: one that is not in the mapping nothing, by any other value a doubt."""
    values = known.get(tag.casefold())
    if values is None:
        return None
    if value in values:
        return values[value]
    if None in values:
        return values[None]
    hint = nearest(value, [one for one in values if one is not None])
    raise RolesDocumentError(
        f"{where}: nothing says what tag {tag!r} means with the value {value!r}{hint or '.'} "
        f"Add '{tag}={value}' to the mapping, with None if it means no role"
    )


def _rows(given: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(given, (str, Path)):
        path = Path(given)
        text = text_of(path, WHAT)
        if path.suffix.casefold() == ".csv":
            given = list(csv.DictReader(text.splitlines()))
        else:
            given = Reader(WHAT, RolesDocumentError).json(text)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        given = [None]
    for row in given:
        if not isinstance(row, Mapping):
            raise RolesDocumentError(
                f"the {WHAT} is a list of mappings, one a row, or the path of a .csv or .json file "
                "that holds one; of a DataFrame, df.to_dict('records')"
            )
        yield {str(key).casefold(): value for key, value in row.items()}


def _of_column(row: Mapping[str, Any]) -> tuple[str, str, str, str] | None:
    """Give table, column, tag and value; nothing for a tag of a table, or of one that is gone."""
    for key in ("column_name", "tag_name", "tag_value"):
        if key not in row:
            raise RolesDocumentError(f"the {WHAT} has a row without {key}{nearest(key, row)}")
    if _empty(row["column_name"]) or not _empty(row.get("object_deleted")):
        return None
    parts = next((names for names in _TABLES if names[-1] in row), ())
    table = ".".join(str(row[part]) for part in parts if not _empty(row.get(part)))
    value = "" if _empty(row["tag_value"]) else str(row["tag_value"])
    return table, str(row["column_name"]), str(row["tag_name"]), value


def _empty(value: Any) -> bool:
    # A missing cell of a DataFrame is not equal to itself.
    return value is None or value == "" or value != value  # noqa: PLR0124


def _table(tables: Mapping[str, Any], asked: str | None) -> str:
    """Find a table by its whole name, or by its end where one alone has it."""
    if asked is not None and asked not in tables:
        same = [name for name in tables if name.endswith(f".{asked}")]
        if len(same) > 1:
            raise RolesDocumentError(
                f"the {WHAT} has {len(same)} tables {asked!r}: say which, as in table={same[0]!r}"
            )
        asked = same[0] if same else asked
    return picked(asked, tables, WHAT, "table")
