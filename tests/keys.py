"""Keys for tests: as good as random ones, and the same in every run."""

from __future__ import annotations

import functools
import hashlib

import pytest

from anonrisk.pseudonyms.keys import Key
from anonrisk.pseudonyms.seal import SigningKey

SECRET = hashlib.sha256(b"anonrisk example, not a secret").digest()
KEY = Key.from_bytes(SECRET)
OTHER_SECRET = hashlib.sha256(b"anonrisk example, another one").digest()
OTHER = Key.from_bytes(OTHER_SECRET)


@functools.cache
def person(name):
    """The private key of somebody, the same in every run."""
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    secret = hashlib.sha256(f"not a secret of {name}".encode()).digest()
    return SigningKey(ed25519.Ed25519PrivateKey.from_private_bytes(secret))


def approvers(*names):
    """Public keys by name, as a document has them."""
    return {name: person(name).public.line for name in names}
