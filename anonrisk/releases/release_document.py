"""`release.yaml`: the parts of a release as a document, read strictly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.documents import Reader
from anonrisk.errors import PolicyError
from anonrisk.policy import Policy, document, fields
from anonrisk.releases.link import Link
from anonrisk.releases.table_files import TableFiles
from anonrisk.releases.waivers import Waiver

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
KEYS = (
    *("version", "name", "audience", "separate", "policy", "tables", "links"),
    *("approvals", "waivers"),
)
_READER = Reader("release", PolicyError, words=("on",))
_SINGLE = ("name", "audience", "approvals")
# How others call what a release has a key for.
_ALSO_CALLED = {
    **dict.fromkeys(("policies", "rules"), "policy"),
    **dict.fromkeys(("files", "data"), "tables"),
    **dict.fromkeys(("id", "title"), "name"),
    **dict.fromkeys(("recipients", "recipient", "for"), "audience"),
    **dict.fromkeys(("approval", "approvers", "four_eyes"), "approvals"),
    **dict.fromkeys(("exceptions", "waiver"), "waivers"),
    **dict.fromkeys(("joins", "link"), "links"),
}


def from_file(path: str | Path) -> dict[str, Any]:
    """Read a document; paths in it begin at its folder. Gives the keywords of a `Release`."""
    return from_plain(document.from_file(path, _READER), Path(path).parent)


def from_plain(given: Any, folder: Path) -> dict[str, Any]:
    """Check plain values, before any table is read."""
    stated = fields.mapping(given, "the release", KEYS, _ALSO_CALLED)
    if stated.get("version") is None:
        raise PolicyError(f"the release needs version: {VERSION}")
    if isinstance(stated["version"], bool) or stated["version"] != VERSION:
        raise PolicyError(f"version is {VERSION}, the only one that this library reads")
    for key in ("tables", "policy"):
        if stated.get(key) is None:
            raise PolicyError(f"the release has no {key}")
    tables = tables_of(stated["tables"])
    return {
        "tables": {
            name: TableFiles.of(one, f"tables.{name}", folder) for name, one in tables.items()
        },
        "policy": _policies(stated["policy"], tables, folder),
        "links": _listed(stated, "links"),
        "waivers": _listed(stated, "waivers"),
        "separate": _separate(stated.get("separate")),
        **{key: stated[key] for key in _SINGLE if stated.get(key) is not None},
    }


def table_paths(path: str | Path) -> list[str]:
    """List the paths of every table of a document, for whoever must not write over them."""
    tables = from_file(path)["tables"].values()
    return [str(one.folder / named) for one in tables for named in one.paths]


def policy_paths(path: str | Path) -> list[str]:
    """List what a document names as policies: their paths, or the names of ready ones."""
    stated = document.from_file(path, _READER)["policy"]
    named = stated.values() if isinstance(stated, dict) else [stated]
    return [str(Path(path).parent / one) for one in named]


def read_links(given: Any) -> tuple[Link, ...]:
    """Read links: which tables are joined, and along which column."""
    found = []
    for i, one in enumerate(given):
        if isinstance(one, Link):
            found.append(one)
            continue
        where = f"links[{i}]"
        stated = fields.mapping(one, where, ("tables", "on"), {"by": "on", "key": "on"})
        if stated.get("tables") is None:
            raise PolicyError(f"{where} has no tables: name those that it joins")
        tables = fields.listed(stated["tables"], f"{where}.tables")
        found.append(Link(tables, stated.get("on")))
    return tuple(found)


def read_waivers(given: Any) -> tuple[Waiver, ...]:
    """Read waivers, each complete."""
    return tuple(Waiver.of(one, f"waivers[{i}]") for i, one in enumerate(given))


def _listed(stated: Mapping[str, Any], key: str) -> list[Any]:
    return [] if stated.get(key) is None else fields.listed(stated[key], key)


def _separate(given: Any) -> list[Any]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else fields.listed(given, "separate")


def tables_of(given: Any) -> dict[str, Any]:
    """Read the tables by their names."""
    if not isinstance(given, dict) or not given:
        raise PolicyError("tables is a mapping of names to tables or files that is not empty")
    for name in given:
        if not isinstance(name, str):
            raise PolicyError("tables: the name of a table is a text that is not empty")
        fields.text(name, "tables: the name of a table")
    return given


def _policies(given: Any, tables: Mapping[str, Any], folder: Path) -> Policy | dict[str, Policy]:
    """Read one policy for all tables, or one for each; a file, or the name of a ready one."""
    if not isinstance(given, dict):
        return _policy(given, "policy", folder)
    refuse_others(given, tables)
    return {name: _policy(one, f"policy.{name}", folder) for name, one in given.items()}


def refuse_others(policies: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    """Refuse policies of tables that there are not, and tables without one."""
    for name in policies:
        if name not in tables:
            raise PolicyError(f"policy of {name!r}: there is no such table{nearest(name, tables)}")
    for name in tables:
        if name not in policies:
            raise PolicyError(f"table {name!r} has no policy: name one for each table, or for all")


def _policy(given: Any, where: str, folder: Path) -> Policy:
    if not isinstance(given, str) or not given.strip():
        raise PolicyError(f"{where} is the path of a policy, or the name of a ready one")
    place = folder / given
    return Policy.load(place if place.exists() else given)
