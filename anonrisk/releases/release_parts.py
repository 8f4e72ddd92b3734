"""The parts of a release, read and checked; what can be done with it is in `release.py`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest, skeleton
from anonrisk.core.documents import canonical
from anonrisk.errors import PolicyError
from anonrisk.policy import Policy, fields
from anonrisk.releases import release_document
from anonrisk.releases import waivers as waiving
from anonrisk.releases.table_files import TableFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.releases.link import Link
    from anonrisk.releases.waivers import Waiver

PUBLIC = "public"


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
    ) -> None:
        """Check every part, before any table is read."""
        named = release_document.tables_of(tables)
        policies = _policies(policy, named)
        alone = [separate] if isinstance(separate, str) else separate
        parts = {
            "tables": {key: _table(one, key) for key, one in named.items()},
            "policies": policies,
            "links": release_document.read_links(_several(links, "links")),
            "audience": _text(audience, "audience"),
            "separate": tuple(_text(one, "separate") for one in _several(alone, "separate")),
            "name": None if name is None else _text(name, "name"),
            "waivers": release_document.read_waivers(_several(waivers, "waivers")),
            "approvals": fields.whole(approvals, "approvals", at_least=0),
        }
        for key, value in parts.items():
            object.__setattr__(self, key, value)
        if len({*self.separate}) < len(self.separate):
            raise PolicyError("separate names an audience twice")
        if skeleton(self.audience) in map(skeleton, self.separate):
            raise PolicyError(f"audience {self.audience!r} cannot be separate from itself")
        waiving.refuse_wrong(self.waivers, policies)
        _check_links(self.links, policies)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values: all that it says, without what its tables hold."""
        return {
            "version": release_document.VERSION,
            "name": self.name,
            "audience": self.audience,
            "separate": list(self.separate),
            "tables": {
                name: one.to_dict() if isinstance(one, TableFiles) else None
                for name, one in self.tables.items()
            },
            "policy": {name: policy.digest for name, policy in self.policies.items()},
            "links": [one.to_dict() for one in self.links],
            "approvals": self.approvals,
            "waivers": [one.to_dict() for one in self.waivers],
        }

    def digest_of(self, contents: Mapping[str, Any]) -> str:
        """Give the same for contents that were read already."""
        text = canonical({**self.to_dict(), "contents": contents})
        return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()

    # ---- showing ----------------------------------------------------------------------------

    @property
    def called(self) -> str:
        """What a sentence calls it."""
        return "the release" if self.name is None else f"release {self.name!r}"


def _policies(given: Any, tables: Mapping[str, Any]) -> dict[str, Policy]:
    if isinstance(given, Policy):
        return dict.fromkeys(tables, given)
    if not isinstance(given, Mapping) or not all(isinstance(one, Policy) for one in given.values()):
        raise PolicyError("policy= takes a Policy, or a mapping of tables to policies")
    release_document.refuse_others(given, tables)
    return {name: given[name] for name in tables}


def _table(given: Any, name: str) -> Any:
    """Keep a table as it is; what can only be files is read as such."""
    if isinstance(given, (str, os.PathLike, list, tuple, dict)):
        return TableFiles.of(given, f"tables.{name}", Path())
    return given


def _several(given: Any, where: str) -> Sequence[Any]:
    """Read a list, which may be empty here: it is when nothing is said."""
    return () if isinstance(given, (list, tuple)) and not given else fields.listed(given, where)


def _text(given: Any, where: str) -> str:
    return fields.said(given, where)


def _check_links(links: Iterable[Link], policies: Mapping[str, Policy]) -> None:
    """Refuse links between tables that there are not, and those that no budget judges."""
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
