"""`Release.publish`: what passes is written into the ledger, once, and gets its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.errors import ArgumentError
from anonrisk.policy import fields
from anonrisk.releases.manifest import Manifest
from anonrisk.releases.published_table import PublishedTable
from anonrisk.releases.release_check import check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.keys import Key
    from anonrisk.releases.approvals import Approval
    from anonrisk.releases.ledger import Ledger
    from anonrisk.releases.release_parts import ReleaseParts
    from anonrisk.releases.seal import SigningKey


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
    found = check(release, ledger, approvals=approvals, by=who)
    verdict = found.verdict
    verdict.raise_for_status()
    policies = {policy.digest for policy in release.policies.values()}
    manifest = Manifest(
        release=release.name,
        audience=release.audience,
        by=who,
        # Several policies stand in the verdicts of their tables.
        policy_digest=policies.pop() if len(policies) == 1 else None,
        files=found.contents.files,
        tables=tuple(
            PublishedTable(name, one.to_dict(), found.contents.digests.get(name))
            for name, one in verdict.tables.items()
        ),
        verdict={key: one for key, one in verdict.to_dict().items() if key != "tables"},
        waivers=tuple(one.to_dict() for one in release.waivers),
        approvals=tuple(one.to_dict() for one in verdict.approvals),
        previous=verdict.head,
    ).sealed(ledger.key if seal is None else seal)
    entry = ledger.append(manifest, found.states)
    # Who publishes the same once more, after a process was killed, gets what is in the ledger.
    same = entry.manifest_sha256 == manifest.sha256
    return manifest if same else ledger.manifest(release.name)
