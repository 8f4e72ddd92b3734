"""The parts of a release, read and checked; what can be done with it is in `release.py`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anonrisk.core.arguments import is_there
from anonrisk.core.columns import nearest, skeleton
from anonrisk.core.documents import BY_HAND, Reader, another_kind
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.errors import PolicyError
from anonrisk.policy import Policy, fields
from anonrisk.releases.links import Link
from anonrisk.releases.release import approvals as approving
from anonrisk.releases.release.approvals import Waiver
from anonrisk.releases.release.contents import TableFiles
from anonrisk.releases.release.published_files import statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from anonrisk.pseudonyms.seal import PublicKey
    from anonrisk.releases.release.contents import Contents

VERSION = 1
# The predicate of the statement that approvals sign.
TERMS = "urn:anonrisk:release-terms:v1"
KEYS = (
    *("version", "name", "audience", "separate", "policy", "tables", "links"),
    *("approvals", "approvers", "waivers"),
)
_READER = Reader("release", PolicyError, words=("on",), most_values=BY_HAND)
_SINGLE = ("name", "audience", "approvals")
# How others call what a release has a key for.
_ALSO_CALLED = {
    **dict.fromkeys(("policies", "rules"), "policy"),
    **dict.fromkeys(("files", "data"), "tables"),
    **dict.fromkeys(("id", "title"), "name"),
    **dict.fromkeys(("recipients", "recipient", "for"), "audience"),
    **dict.fromkeys(("approval", "four_eyes"), "approvals"),
    **dict.fromkeys(("exceptions", "waiver"), "waivers"),
    **dict.fromkeys(("joins", "link"), "links"),
}


# What a release must say, for whoever has left it out.
_WRITTEN = {"tables": "tables: {people: people.csv}", "policy": "policy: policy.yaml"}


def from_file(path: str | Path) -> dict[str, Any]:
    """Read a document; paths in it begin at its folder. Gives the keywords of a `Release`."""
    return from_plain(fields.from_file(path, _READER), Path(path).parent)


def from_plain(value: Any, folder: Path) -> dict[str, Any]:
    """Check plain values, before any table is read."""
    mistaken = another_kind(value, "release")
    if mistaken:
        raise PolicyError(mistaken)
    stated = fields.mapping(value, "the release", KEYS, _ALSO_CALLED)
    if stated.get("version") is None:
        raise PolicyError(f"the release needs version: {VERSION}")
    if isinstance(stated["version"], bool) or stated["version"] != VERSION:
        raise PolicyError(f"version must be {VERSION}, the only version that this library reads")
    for key in ("tables", "policy"):
        if stated.get(key) is None:
            raise PolicyError(f"the release has no {key}: write {_WRITTEN[key]}")
    tables = tables_of(stated["tables"])
    return {
        "tables": {
            name: TableFiles.of(table, f"tables.{name}", folder) for name, table in tables.items()
        },
        "policy": _policies_of(stated["policy"], tables, folder),
        "links": _listed(stated, "links"),
        "waivers": _listed(stated, "waivers"),
        "separate": _separate(stated.get("separate")),
        "approvers": approving.read_approvers(stated.get("approvers"), folder),
        **{key: stated[key] for key in _SINGLE if stated.get(key) is not None},
    }


def table_paths(path: str | Path) -> list[str]:
    """List the paths of every table of a document, for whoever must not write over them."""
    tables = from_file(path)["tables"].values()
    return [str(table.folder / named) for table in tables for named in table.paths]


def policy_paths(path: str | Path) -> list[str]:
    """List what a document names as policies: their paths, or the names of ready ones."""
    stated = fields.from_file(path, _READER)["policy"]
    named = stated.values() if isinstance(stated, dict) else [stated]
    return [str(Path(path).parent / item) for item in named]


def policy_places(path: str | Path) -> dict[str, str]:
    """Return for each table of a document the path of its policy, or the name of a ready one."""
    stated = fields.from_file(path, _READER)
    named = stated["policy"]
    each = named if isinstance(named, dict) else dict.fromkeys(stated["tables"], named)
    places = {name: Path(path).parent / item for name, item in each.items()}
    return {name: str(p) if is_there(p) else each[name] for name, p in places.items()}


def document_of(
    path: Path, tables: Mapping[str, Any], relative: Callable[[Path], str]
) -> dict[str, Any]:
    """Return what a document says, of other tables, for a place from where paths are `relative`."""
    stated = {**fields.from_file(path, _READER), "tables": dict(tables)}

    def named(policy: str) -> str:
        place = path.parent / policy
        return relative(place) if is_there(place) else policy

    policies = stated["policy"]
    several = isinstance(policies, dict)
    stated["policy"] = (
        {name: named(item) for name, item in policies.items()} if several else named(policies)
    )
    if stated.get("approvers"):
        stated["approvers"] = {
            name: key if approving.is_written_out(key) else named(key)
            for name, key in stated["approvers"].items()
        }
    return stated


def read_links(value: Any) -> tuple[Link, ...]:
    """Read links: which tables are joined, and along which column."""
    results = []
    for i, item in enumerate(value):
        if isinstance(item, Link):
            results.append(item)
            continue
        where = f"links[{i}]"
        stated = fields.mapping(item, where, ("tables", "on"), {"by": "on", "key": "on"})
        if stated.get("tables") is None:
            raise PolicyError(f"{where} has no tables: name those that it joins")
        tables = fields.listed(stated["tables"], f"{where}.tables")
        results.append(Link(tables, stated.get("on")))
    return tuple(results)


def read_waivers(value: Any) -> tuple[Waiver, ...]:
    """Read waivers, each complete."""
    return tuple(Waiver.of(item, f"waivers[{i}]") for i, item in enumerate(value))


def _listed(stated: Mapping[str, Any], key: str) -> list[Any]:
    return [] if stated.get(key) is None else fields.listed(stated[key], key)


def _separate(value: Any) -> list[Any]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else fields.listed(value, "separate")


def tables_of(value: Any) -> dict[str, Any]:
    """Read the tables by their names."""
    if not isinstance(value, dict) or not value:
        raise PolicyError(
            "tables must be a non-empty mapping of names to tables or files, as in "
            f"{_WRITTEN['tables']}; in Python {{'people': df}}"
        )
    for name in value:
        fields.text(name, "tables: the name of a table")
    return value


def _policies_of(value: Any, tables: Mapping[str, Any], folder: Path) -> Policy | dict[str, Policy]:
    """Read one policy for all tables, or one for each; a file, or the name of a ready one."""
    if not isinstance(value, dict):
        return _policy(value, "policy", folder)
    refuse_others(value, tables)
    return {name: _policy(item, f"policy.{name}", folder) for name, item in value.items()}


def refuse_others(policies: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    """Reject policies of tables that there are not, and tables without one."""
    for name in policies:
        if name not in tables:
            raise PolicyError(f"policy of {name!r}: there is no such table{nearest(name, tables)}")
    for name in tables:
        if name not in policies:
            raise PolicyError(f"table {name!r} has no policy: name one for each table, or for all")


def _policy(value: Any, where: str, folder: Path) -> Policy:
    if not isinstance(value, str) or not value.strip():
        raise PolicyError(f"{where} is the path of a policy, or the name of a ready one")
    place = folder / value
    return Policy.load(place if is_there(place) else value)


PUBLIC = "public"
AnyRelease = TypeVar("AnyRelease", bound="ReleaseParts")


@dataclass(frozen=True, init=False, repr=False)
class ReleaseParts:
    """The tables, policies, links and people of a `Release`, which describes them."""

    tables: Mapping[str, Any]
    policies: Mapping[str, Policy]
    links: tuple[Link, ...]
    audience: str
    separate: tuple[str, ...]
    name: str | None
    waivers: tuple[Waiver, ...]
    approvals: int
    approvers: Mapping[str, PublicKey]

    def __init__(
        self,
        tables: Mapping[str, Any],
        policy: Policy | Mapping[str, Policy],
        *,
        links: Sequence[Link | Mapping[str, Any]] = (),
        audience: str = PUBLIC,
        separate: str | Sequence[str] = (),
        name: str | None = None,
        waivers: Sequence[Waiver | Mapping[str, Any]] = (),
        approvals: int = 0,
        approvers: Mapping[str, PublicKey | str | os.PathLike[str]] | None = None,
    ) -> None:
        """Check every part, before any table is read."""
        named = tables_of(tables)
        policies = _policies(policy, named)
        alone = [separate] if isinstance(separate, str) else separate
        parts = {
            "tables": {key: _table(item, key) for key, item in named.items()},
            "policies": policies,
            "links": read_links(_several(links, "links")),
            "audience": _text(audience, "audience"),
            "separate": tuple(_text(item, "separate") for item in _several(alone, "separate")),
            "name": None if name is None else _text(name, "name"),
            "waivers": read_waivers(_several(waivers, "waivers")),
            "approvals": fields.whole(approvals, "approvals", at_least=0),
            "approvers": approving.read_approvers(approvers, Path()),
        }
        for key, value in parts.items():
            object.__setattr__(self, key, value)
        if len({*self.separate}) < len(self.separate):
            raise PolicyError("separate names an audience twice")
        if skeleton(self.audience) in map(skeleton, self.separate):
            raise PolicyError(f"audience {self.audience!r} cannot be separate from itself")
        if self.separate and PUBLIC in map(skeleton, (self.audience, *self.separate)):
            raise PolicyError(
                "what is public reaches every audience, and none is separate from it: name the "
                "audience of this release, and leave 'public' out of separate"
            )
        if self.approvals > len(self.approvers):
            raise PolicyError(
                f"{count_of(self.approvals, 'approval')} asked for, and approvers names "
                f"{count_of(len(self.approvers), 'person', 'persons')} with a public key"
            )
        approving.refuse_wrong(self.waivers, policies)
        _check_links(self.links, policies)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: all that it says, without what its tables hold."""
        return {
            "version": VERSION,
            "name": self.name,
            "audience": self.audience,
            "separate": list(self.separate),
            "tables": {
                name: table.to_dict() if isinstance(table, TableFiles) else None
                for name, table in self.tables.items()
            },
            "policy": {name: policy.digest for name, policy in self.policies.items()},
            "links": [link.to_dict() for link in self.links],
            "approvals": self.approvals,
            "approvers": {name: key.line for name, key in self.approvers.items()},
            "waivers": [waiver.to_dict() for waiver in self.waivers],
        }

    # ---- showing ----------------------------------------------------------------------------

    @property
    def called(self) -> str:
        """What a sentence calls it."""
        return "the release" if self.name is None else f"release {self.name!r}"


def with_tables(release: AnyRelease, tables: Mapping[str, Any]) -> AnyRelease:
    """Return the same release of other tables."""
    return type(release)(
        tables,
        release.policies,
        links=release.links,
        audience=release.audience,
        separate=release.separate,
        name=release.name,
        waivers=release.waivers,
        approvals=release.approvals,
        approvers=release.approvers,
    )


def _policies(value: Any, tables: Mapping[str, Any]) -> dict[str, Policy]:
    if isinstance(value, Policy):
        return dict.fromkeys(tables, value)
    if not isinstance(value, Mapping) or not all(
        isinstance(item, Policy) for item in value.values()
    ):
        raise PolicyError("policy= takes a Policy, or a mapping of tables to policies")
    refuse_others(value, tables)
    return {name: value[name] for name in tables}


def _table(value: Any, name: str) -> Any:
    """Keep a table as it is; what can only be files is read as such."""
    if isinstance(value, (str, os.PathLike, list, tuple, dict)):
        return TableFiles.of(value, f"tables.{name}", Path())
    return value


def _several(value: Any, where: str) -> Sequence[Any]:
    """Read a list, which may be empty here: it is when nothing is said."""
    return () if isinstance(value, (list, tuple)) and not value else fields.listed(value, where)


def _text(value: Any, where: str) -> str:
    return fields.said(value, where)


def _check_links(links: Iterable[Link], policies: Mapping[str, Policy]) -> None:
    """Reject links between tables that there are not, and those that no budget judges."""
    for link in links:
        for name in link.tables:
            if name not in policies:
                raise PolicyError(
                    f"a link names table {name!r}, which is not in the release"
                    f"{nearest(name, policies)}"
                )
        stated = {b.name for t in link.tables for r in policies[t].rules for b in r.budgets}
        if "linked" not in stated:
            raise PolicyError(
                f"tables {' and '.join(map(repr, link.tables))} are linked, and no policy says "
                "which k their join must have: add the budget linked, as linked: {k: 5}"
            )


def statement_of(release: ReleaseParts, contents: Contents) -> bytes:
    """Return what approvals sign: all that a release says, of contents that were read."""
    return statement(TERMS, contents.files, contents.digests, release.to_dict())
