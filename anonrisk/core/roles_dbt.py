"""Roles in dbt: the `meta` of columns, in files of properties and in `target/manifest.json`."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

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

WHAT = "dbt document"
KEY = "anonrisk"
# What has columns, beside sources, whose tables are one level deeper.
_KINDS = ("models", "seeds", "snapshots")


def read(source: Any, model: str | None) -> dict[str, tuple[str, ...]]:
    """Give the roles of each column of one model."""
    document = read_document(source, WHAT)
    tables = _of_manifest(document, model) if "nodes" in document else _of_properties(document)
    if not tables:
        raise RolesDocumentError(
            f"the {WHAT} describes no table: it has no {', '.join(_KINDS)} or sources"
        )
    name = picked(model, tables, WHAT, "model")
    columns = _columns(tables[name], name)
    return {column: _roles(entry, name, column) for column, entry in columns.items()}


def write(
    words: Mapping[str, Sequence[str]], document: Any, model: str, *, in_config: bool
) -> dict[str, Any]:
    """Give a file of properties with the roles of one model, else as it was."""
    made: dict[str, Any] = {"version": 2} if document is None else read_document(document, WHAT)
    if "nodes" in made:
        raise RolesDocumentError(
            "a manifest is written by dbt from files of properties: write the roles into one of "
            "those, such as models/schema.yml"
        )
    made = deepcopy(made)
    tables = _of_properties(made)
    if model not in tables:
        tables[model] = {"name": model}
        made.setdefault("models", []).append(tables[model])
    columns = _columns(tables[model], model)
    for name in words:
        if name not in columns:
            columns[name] = {"name": name}
            tables[model].setdefault("columns", []).append(columns[name])
    for name, entry in columns.items():
        _forget(entry)
        if words.get(name):
            place = entry.setdefault("config", {}) if in_config else entry
            place.setdefault("meta", {})[KEY] = {"role": written(words[name])}
    return made


def _of_properties(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """List what a file of properties describes, by name; tables of a source as source.table."""
    found: dict[str, dict[str, Any]] = {}
    for kind in _KINDS:
        for name, entry in named_entries(document.get(kind), f"{kind} of the {WHAT}").items():
            if any("columns" in v for v in entry.get("versions") or () if isinstance(v, dict)):
                raise RolesDocumentError(
                    f"model {name!r} has versions with columns of their own: read "
                    "target/manifest.json, where each is a model"
                )
            found[name] = entry
    for source, entry in named_entries(document.get("sources"), f"sources of the {WHAT}").items():
        tables = named_entries(entry.get("tables"), f"tables of source {source!r}")
        found |= {f"{source}.{name}": table for name, table in tables.items()}
    return found


def _of_manifest(document: dict[str, Any], model: str | None) -> dict[str, dict[str, Any]]:
    """List what a manifest describes, by dbt's whole name, and by `model` if one alone has it."""
    found: dict[str, dict[str, Any]] = {}
    for part in ("nodes", "sources"):
        nodes = document.get(part)
        for whole, node in nodes.items() if isinstance(nodes, dict) else ():
            kind = node.get("resource_type") if isinstance(node, dict) else None
            if kind in {"model", "seed", "snapshot", "source"}:
                found[whole] = node
    same = [whole for whole, node in found.items() if model in _short(node)]
    if len(same) > 1:
        raise RolesDocumentError(
            f"the {WHAT} has {len(same)} tables {model!r}: say which, as in model={same[0]!r}"
        )
    if same and model is not None:
        return {model: found[same[0]]}
    # So that the nearest word is one that somebody would type.
    return found if model in found else {name: n for n in found.values() for name in _short(n)}


def _short(node: dict[str, Any]) -> list[str]:
    if node.get("resource_type") == "source":
        return [f"{node.get('source_name')}.{node.get('name')}"]
    version = node.get("version")
    return [str(node.get("name")), *([f"{node.get('name')}.v{version}"] if version else [])]


def _columns(table: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    columns = table.get("columns")
    if isinstance(columns, dict):
        columns = list(columns.values())
    return named_entries(columns, f"columns of {name!r} in the {WHAT}")


def _roles(entry: dict[str, Any], model: str, column: str) -> tuple[str, ...]:
    """Read a column's role, from either place; dbt 1.10 writes both into a manifest."""
    where = f"the {WHAT}, model {model!r}, column {column!r}"
    found = [_role(meta, where) for meta in _metas(entry)]
    said = [role for role in found if role]
    if len(set(said)) > 1:
        raise RolesDocumentError(f"{where}: meta and config.meta give it different roles")
    return said[0] if said else ()


def _metas(entry: dict[str, Any]) -> list[dict[str, Any]]:
    config = entry.get("config")
    places = [entry, *([config] if isinstance(config, dict) else [])]
    return [place["meta"] for place in places if isinstance(place.get("meta"), dict)]


def _role(meta: dict[str, Any], where: str) -> tuple[str, ...]:
    for key in meta:
        if misspelt(str(key), KEY):
            raise RolesDocumentError(f"{where}: the role goes under meta.{KEY}, not meta.{key}")
    if KEY not in meta:
        return ()
    ours = meta[KEY]
    if not isinstance(ours, dict) or [*ours] != ["role"]:
        raise RolesDocumentError(
            f"{where}: meta.{KEY} holds one key, role, as in {KEY}: {{role: quasi}}"
        )
    return role_words(ours["role"], where)


def _forget(entry: dict[str, Any]) -> None:
    """Take away a role that was written before, with what would be left empty."""
    config = entry.get("config")
    for place in (entry, config if isinstance(config, dict) else {}):
        meta = place.get("meta")
        if isinstance(meta, dict) and meta.pop(KEY, None) is not None and not meta:
            del place["meta"]
    if config == {}:
        del entry["config"]
