"""Small manifests for tests of what is published."""

from __future__ import annotations

import functools

import pandas as pd
from keys import KEY

from anonrisk import Policy
from anonrisk.releases.ledger.manifest import Manifest
from anonrisk.releases.release.published_files import PublishedTable, published_files


@functools.cache
def verdict_of(table, k=2):
    """What a check of a small table found, as plain values."""
    df = pd.DataFrame(
        {"zip": ["1011", "1011", "1012", "1012"], "né": [1, 2, 3, 4]}, index=[2, 3, 5, 7]
    )
    policy = Policy(quasi="zip", k=k, unlisted="ignore")
    return policy.check(df, name=table).to_dict()


def manifest_of(files=None, root=None, **changes):
    """A manifest without a seal; of no file unless some are given."""
    stated = {
        "release": "2026-11",
        "audience": "university",
        "by": "A. Officer",
        "policy_digest": "sha256:" + "0" * 64,
        "files": () if files is None else published_files({"patients": files}, root),
        "tables": (PublishedTable("patients", verdict_of("patients")),),
        "verdict": {"status": "pass"},
    }
    return Manifest(**{**stated, **changes})


def append(ledger, release, states=None, **changes):
    """Publish a release of this name, as `Release.publish` does."""
    manifest = manifest_of(release=release, previous=ledger.head, **changes)
    kept = {"patients": b"state of " + release.encode()} if states is None else states
    return ledger.append(manifest.sealed(KEY), kept)
