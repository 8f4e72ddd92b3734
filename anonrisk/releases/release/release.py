"""A release: tables that are published together, for somebody, after others were published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from anonrisk.core import render
from anonrisk.core.arguments import as_path
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, PolicyError, UnsupportedFrameError
from anonrisk.policy import fields
from anonrisk.releases.ledger.manifest import Manifest
from anonrisk.releases.release import parts as release_parts
from anonrisk.releases.release.approvals import Approval, digest_of
from anonrisk.releases.release.check import check
from anonrisk.releases.release.contents import TableFiles
from anonrisk.releases.release.parts import ReleaseParts, statement_of
from anonrisk.releases.release.published_files import PublishedTable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from anonrisk.pseudonyms.keys import Key
    from anonrisk.pseudonyms.seal import SigningKey
    from anonrisk.releases.compare.comparison import Comparisons
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.mend import Mended
    from anonrisk.releases.release.verdict import ReleaseExplanation, ReleaseVerdict


def publish(
    release: ReleaseParts,
    ledger: Ledger,
    *,
    by: str,
    approvals: Iterable[Approval] = (),
    seal: SigningKey | Key | None = None,
) -> Manifest:
    """Check, and append what passes; see `Release.publish`."""
    if release.name is None:
        raise ArgumentError("a release that is published has a name: Release(…, name='2026-11')")
    who = fields.said(by, "by")
    result = check(release, ledger, approvals=approvals, by=who)
    verdict = result.verdict
    verdict.raise_for_status()
    policies = {policy.digest for policy in release.policies.values()}
    manifest = Manifest(
        release=release.name,
        audience=release.audience,
        by=who,
        # Several policies stand in the verdicts of their tables.
        policy_digest=policies.pop() if len(policies) == 1 else None,
        files=result.contents.files,
        tables=tuple(
            PublishedTable(name, table.to_dict(), result.contents.digests.get(name))
            for name, table in verdict.tables.items()
        ),
        verdict={key: item for key, item in verdict.to_dict().items() if key != "tables"},
        waivers=tuple(waiver.to_dict() for waiver in release.waivers),
        approvals=tuple(approval.to_dict() for approval in verdict.approvals),
        terms=release.to_dict(),
        previous=verdict.head,
    ).sealed(ledger.key)
    manifest = manifest if seal is None else manifest.sealed(seal)
    entry = ledger.append(manifest, result.states)
    # Who publishes the same once more, after a process was killed, gets what is in the ledger.
    same = entry.manifest_sha256 == manifest.sha256
    return manifest if same else ledger.manifest(release.name)


@dataclass(frozen=True, init=False, repr=False)
class Release(render.PrintedTable, ReleaseParts):
    """Tables that are published together: judged one by one, joined, and after all earlier ones.

    Parameters
    ----------
    tables : mapping of name to table or files
        Each table as any library has it, or where its files are: a path, a pattern, a list of them,
        or a mapping as `release.yaml` has it. Keep the name of a table from release to release:
        it is compared with earlier ones of that name, and with others of the same columns.
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
    approvers : mapping of str to PublicKey, str or path
        Who may, by name, and each one's public key (Ed25519), or the file of it.

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
        return cls(**release_parts.from_file(as_path(path, "a release", PolicyError)))

    def digest(self, key: Key | bytes | None = None) -> str:
        """Return the SHA-256 of `statement`; approvals name it.

        Parameters
        ----------
        key : Key or bytes
            The ledger's, which only tables that are no files need.
        """
        return digest_of(self.statement(key))

    def statement(self, key: Key | bytes | None = None) -> bytes:
        """Return what approvals sign: all that is published and said of it, as in-toto writes it.

        Parameters
        ----------
        key : Key or bytes
            The ledger's. Only tables that are no files need it: a digest of their rows without a
            key would let anybody try rows out.
        """
        from anonrisk.releases.release.contents import contents_of

        contents = contents_of(self.tables, key)
        if contents.unknown and key is None:
            raise ArgumentError("a table that is no file needs key= for its digest: the ledger's")
        if contents.unknown:
            named = ", ".join(map(repr, contents.unknown))
            raise UnsupportedFrameError(f"no digest can be made of what these tables hold: {named}")
        return statement_of(self, contents)

    def approve(self, key: SigningKey, *, ledger_key: Key | bytes | None = None) -> Approval:
        """Approve exactly this: the bytes, the policies, the waivers, the audience.

        Parameters
        ----------
        key : SigningKey
            The approver's own, whose public key the release names.
        ledger_key : Key or bytes
            The ledger's, which only tables that are no files need; it approves nothing.

        Returns
        -------
        Approval
            To be given to `publish`. Whatever of the release changes makes it void.
        """
        return Approval.made(self.statement(ledger_key), self.approvers, key)

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
        from anonrisk.releases.ledger.ledger import as_ledger
        from anonrisk.releases.release.check import check
        from anonrisk.releases.release.mend import explain

        known = None if ledger is None else as_ledger(ledger)

        def explained(verdict: ReleaseVerdict, previous: Any) -> ReleaseExplanation:
            return explain(verdict, self, known, previous)

        return replace(check(self, known, approvals=approvals).verdict, _explained=explained)

    def compare(self, ledger: Ledger) -> Comparisons:
        """Compare each table with every earlier release of it, whether a budget asks or not.

        Parameters
        ----------
        ledger : Ledger
            What was published before.

        Returns
        -------
        Comparisons
            One for each table and earlier release, with its `Comparison`.
        """
        from anonrisk.releases.ledger.ledger import as_ledger
        from anonrisk.releases.release.check import comparisons

        return comparisons(self, as_ledger(ledger))

    def mend(
        self,
        ledger: Ledger,
        *,
        leavers: Literal["keep", "drop"],
        previous: Any = None,
        erased: Iterable[Any] = (),
    ) -> Mended:
        """Find whom to hold back, so that this release can go out after those before it.

        Month after month some people come and some leave, and whoever holds two releases sees who.
        People are grouped by the classes that they had in every release so far; from each group
        nobody comes, goes or changes unless so many do the same that each hides among them, and so
        many stay. ``docs/releases.md`` tells what that costs.

        Parameters
        ----------
        ledger : Ledger
            What was published before. Every policy needs the budget ``differencing``, every table a
            unit.
        leavers : {"keep", "drop"}
            Whether rows of people who left are published again until enough of them can go, or are
            left out at once together with others who did not leave, which costs far more.
        previous : table or files, or mapping of name to them
            The tables as they were published last, of which these rows are taken; needed to keep
            leavers, and held to what the ledger remembers.
        erased : iterable of values
            Values of the unit whose earlier rows must not be published again. They go at once.

        Returns
        -------
        Mended
            With `release`, which can be published if `verdict` passes; `tables`, `price` and
            `explain`.

        See Also
        --------
        Release.compare : what two releases tell together

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pandas as pd
        >>> import anonrisk
        >>> policy = anonrisk.Policy(quasi="zip", unit="who", k=2, differencing={"k": 2})
        >>> key = anonrisk.keys.Key.generate()
        >>> place = Path(tempfile.mkdtemp()) / "ledger.db"
        >>> ledger = anonrisk.Ledger(place, key=key, new=True)
        >>> may = pd.DataFrame({"zip": ["1011"] * 3, "who": [1, 2, 3]})
        >>> manifest = anonrisk.Release({"t": may}, policy, name="may").publish(ledger, by="Ann")
        >>> june = pd.DataFrame({"zip": ["1011"] * 3, "who": [2, 3, 4]})
        >>> release = anonrisk.Release({"t": june}, policy, name="june")
        >>> bool(release.check(ledger))
        False
        >>> mended = release.mend(ledger, leavers="keep", previous=may)
        >>> mended
        The release can go out.
        1 of 3 persons: not published yet: too few came to the same class.
        1 person listed still, not in the tables any more: too few left together.
        >>> sorted(mended.tables["t"]["who"])
        [1, 2, 3]
        """
        from anonrisk.releases.ledger.ledger import as_ledger
        from anonrisk.releases.release.mend import mend

        return mend(self, as_ledger(ledger), leavers=leavers, previous=previous, erased=erased)

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
            What the manifest is sealed with, beside the ledger's key.

        Returns
        -------
        Manifest
            Sealed. Save it beside the files, and verify it where they are published.

        Raises
        ------
        ReleaseBlocked
            If the release does not pass, or too few have approved it.
        """
        from anonrisk.releases.ledger.ledger import as_ledger

        return publish(self, as_ledger(ledger), by=by, approvals=approvals, seal=seal)

    def _lines(self) -> list[str]:
        waived = render.count_of(len(self.waivers), "waiver")
        asked = render.count_of(self.approvals, "approval")
        joined = [f"joined: {' and '.join(map(render.named, link.tables))}" for link in self.links]
        title = f"{self.called} for {self.audience}: {waived}, {asked} asked for"
        return [render.shown(line) for line in (title[0].upper() + title[1:], *joined)]

    def _header(self) -> tuple[str, ...]:
        return "table", "policy", "files"

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.named(name),
                render.shown(policy.name or policy.digest[:19]),
                ", ".join(map(render.shown, item.shown)) if isinstance(item, TableFiles) else "-",
            ]
            for (name, policy), item in zip(
                self.policies.items(), self.tables.values(), strict=True
            )
        ]
