"""A release: tables that are published together, for somebody, after others were published."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core import render
from anonrisk.core.columns import nearest
from anonrisk.errors import ArgumentError, PolicyError
from anonrisk.policy import Policy, document, fields
from anonrisk.releases import release_document
from anonrisk.releases import waivers as waiving
from anonrisk.releases.approvals import Approval
from anonrisk.releases.table_files import TableFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.core.keys import Key
    from anonrisk.releases.comparison import Comparison
    from anonrisk.releases.ledger import Ledger
    from anonrisk.releases.links import Link
    from anonrisk.releases.manifest import Manifest
    from anonrisk.releases.release_verdict import ReleaseVerdict
    from anonrisk.releases.seal import SigningKey
    from anonrisk.releases.waivers import Waiver

PUBLIC = "public"


@dataclass(frozen=True, init=False, repr=False)
class Release(render.PrintedTable):
    """Tables that are published together: judged one by one, joined, and after all earlier ones.

    Parameters
    ----------
    tables : mapping of name to table or files
        Each table as any library has it, or where its files are: a path, a pattern, a list of them,
        or a mapping as `release.yaml` has it. Keep the name of a table from release to release:
        earlier ones of the same name are what it is compared with.
    policy : Policy, or mapping of name to Policy
        One for all tables, or one for each.
    links : sequence of links
        Which tables an attacker can join, as ``{"tables": ["patients", "visits"], "on": "id"}``;
        without ``on``, by the quasi-identifiers that they share. Budget ``linked`` judges them.
    audience : str
        For whom it is. All audiences share what they get, unless they are `separate`.
    separate : str or sequence of str
        Audiences that share nothing with this one, somebody has made sure: earlier releases for
        them are not compared.
    name : str, optional
        What it is called; a ledger needs it, and has each name once.
    waivers : sequence of Waiver
        Broken budgets that somebody answers for.
    approvals : int
        How many people, beside the one who publishes, must have approved it.

    Raises
    ------
    PolicyError
        If a part is misspelt, a table has no policy, a link no budget, or a waiver no table.

    See Also
    --------
    anonrisk.Policy.check : one table, without memory
    anonrisk.Ledger : what was published before

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> release = anonrisk.Release({"people": df}, anonrisk.Policy(quasi="zip", k=2))
    >>> release.check().status
    'fail'
    """

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
        parts = {
            "tables": {key: _table(one, key) for key, one in named.items()},
            "policies": policies,
            "links": release_document.read_links(links),
            "audience": _text(audience, "audience"),
            "separate": tuple(
                _text(one, "separate")
                for one in ([separate] if isinstance(separate, str) else separate)
            ),
            "name": None if name is None else _text(name, "name"),
            "waivers": release_document.read_waivers(waivers),
            "approvals": fields.whole(approvals, "approvals", at_least=0),
        }
        for key, value in parts.items():
            object.__setattr__(self, key, value)
        if self.audience in self.separate:
            raise PolicyError(f"audience {self.audience!r} cannot be separate from itself")
        waiving.refuse_wrong(self.waivers, policies)
        _check_links(self.links, policies)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a document, JSON if it ends in .json, else YAML; paths in it begin at its folder.

        Parameters
        ----------
        path : path
            The file; docs/releases.md shows every key.

        Returns
        -------
        Release
        """
        return cls(**release_document.from_file(Path(path)))

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

    def digest(self, key: Key | bytes | None = None) -> str:
        """Give the SHA-256 of all that is published and said of it; approvals name it.

        Parameters
        ----------
        key : Key or bytes
            The ledger's. Only tables that are no files need it: a digest of their rows without a
            key would let anybody try rows out.
        """
        from anonrisk.releases.contents import contents_of

        contents = contents_of(self.tables, key)
        if not contents.known:
            raise ArgumentError("a table that is no file needs key= for its digest: the ledger's")
        return self.digest_of(contents.to_dict())

    def digest_of(self, contents: Mapping[str, Any]) -> str:
        """Give the same for contents that were read already."""
        text = document.canonical({**self.to_dict(), "contents": contents})
        return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()

    def approve(self, *, by: str, key: Key | bytes) -> Approval:
        """Approve exactly this: the bytes, the policies, the waivers, the audience.

        Parameters
        ----------
        by : str
            Who approves; not the one who publishes.
        key : Key or bytes
            The ledger's, which seals it.

        Returns
        -------
        Approval
            To be given to `publish`. Whatever of the release changes makes it void.
        """
        return Approval.given(by, self.digest(key), key)

    def check(
        self,
        ledger: Ledger | None = None,
        *,
        approvals: Iterable[Approval] = (),
    ) -> ReleaseVerdict:
        """Judge every table by its policy, joined with others, and after earlier releases.

        Parameters
        ----------
        ledger : Ledger, optional
            What was published before. Without it ``differencing`` cannot be assessed.
        approvals : iterable of Approval
            Those given so far, to be shown; only `publish` asks for them.

        Returns
        -------
        ReleaseVerdict
        """
        from anonrisk.releases.release_check import check

        return check(self, ledger, approvals=approvals).verdict

    def compare(self, ledger: Ledger) -> list[tuple[str, str, Comparison]]:
        """Compare each table with every earlier release of it, whether a budget asks or not.

        Parameters
        ----------
        ledger : Ledger
            What was published before.

        Returns
        -------
        list of (table, earlier release, Comparison)
        """
        from anonrisk.releases.release_check import comparisons

        return comparisons(self, ledger)

    def publish(
        self,
        ledger: Ledger,
        *,
        by: str,
        approvals: Iterable[Approval] = (),
        seal: SigningKey | Key | None = None,
    ) -> Manifest:
        """Check, and if that passes write the release into the ledger; nothing is written else.

        Parameters
        ----------
        ledger : Ledger
            What was published before, and where this is added, in one transaction: whoever
            publishes at the same moment makes this one fail, and it must be checked again.
        by : str
            Who publishes.
        approvals : iterable of Approval
            From `approve`, by others.
        seal : SigningKey or Key, optional
            What the manifest is sealed with; left out, the ledger's key.

        Returns
        -------
        Manifest
            Sealed. Save it beside the files, and verify it where they are published.

        Raises
        ------
        ReleaseBlocked
            If the release does not pass, or too few have approved it.
        """
        from anonrisk.releases.publish import publish

        return publish(self, ledger, by=by, approvals=approvals, seal=seal)

    # ---- showing ----------------------------------------------------------------------------

    @property
    def called(self) -> str:
        """What a sentence calls it."""
        return "the release" if self.name is None else f"release {self.name!r}"

    def _lines(self) -> list[str]:
        waived = render.count_of(len(self.waivers), "waiver")
        asked = render.count_of(self.approvals, "approval")
        joined = [f"joined: {' and '.join(map(render.named, one.tables))}" for one in self.links]
        title = f"{self.called} for {self.audience}: {waived}, {asked} asked for"
        return [render.shown(line) for line in (title[0].upper() + title[1:], *joined)]

    def _header(self) -> tuple[str, ...]:
        return "table", "policy", "files"

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.named(name),
                render.shown(policy.name or policy.digest[:19]),
                ", ".join(map(render.shown, one.shown)) if isinstance(one, TableFiles) else "-",
            ]
            for (name, policy), one in zip(self.policies.items(), self.tables.values(), strict=True)
        ]


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


def _text(given: Any, where: str) -> str:
    return " ".join(fields.text(given, where).split())


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
