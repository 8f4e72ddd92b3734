"""Roles in a Frictionless Table Schema: a property of each field, under a name of ours.

The standard lets descriptors have properties of anybody's, with a prefix that says whose they are.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.role_words import (
    misspelt,
    named_entries,
    picked,
    read_document,
    role_words,
    written,
)
from anonrisk.errors import RolesDocumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHAT = "Frictionless schema"
PROPERTY = "anonrisk:role"


def read(source: Any, resource: str | None) -> dict[str, tuple[str, ...]]:
    """Give the roles of each field."""
    fields = _fields(read_document(source, WHAT), resource)
    found: dict[str, tuple[str, ...]] = {}
    for name, field in fields.items():
        where = f"the {WHAT}, field {name!r}"
        for key in field:
            if misspelt(str(key), PROPERTY):
                raise RolesDocumentError(f"{where}: the role goes under {PROPERTY!r}, not {key!r}")
        found[name] = role_words(field[PROPERTY], where) if PROPERTY in field else ()
    return found


def write(words: Mapping[str, Sequence[str]], schema: Any, resource: str | None) -> dict[str, Any]:
    """Give a schema with the roles, else as it was."""
    if schema is None:
        document: dict[str, Any] = {
            "fields": [{"name": name, "type": "any"} for name in words],
        }
    else:
        document = deepcopy(read_document(schema, WHAT))
    fields = _fields(document, resource)
    for name in words:
        if name not in fields:
            hint = nearest(name, fields)
            raise RolesDocumentError(f"the {WHAT} has no field for column {name!r}{hint}")
    for name, field in fields.items():
        field.pop(PROPERTY, None)
        if words.get(name):
            field[PROPERTY] = written(words[name])
    return document


def _fields(document: dict[str, Any], resource: str | None) -> dict[str, dict[str, Any]]:
    """Find the fields: of a schema, of a resource, or of one resource of a package."""
    if "resources" in document:
        resources = named_entries(document["resources"], "resources of the data package")
        document = resources[picked(resource, resources, "data package", "resource")]
    elif resource is not None:
        raise RolesDocumentError(f"resource={resource!r} goes with a data package, not a schema")
    schema = document.get("schema", document)
    if isinstance(schema, str):
        raise RolesDocumentError(
            f"the schema is kept elsewhere, in {schema!r}: give that file instead"
        )
    if not isinstance(schema, dict) or "fields" not in schema:
        raise RolesDocumentError(f"the {WHAT} has no fields: is it a Table Schema?")
    return named_entries(schema["fields"], f"fields of the {WHAT}")
