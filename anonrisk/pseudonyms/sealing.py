"""Identities at rest: sealed so that the database alone says nothing.

Python's standard library has no cipher, so that one is made of HMAC-SHA-256, in the way of the SIV
mode (Rogaway and Shrimpton 2006): a tag over the scope, the pseudonym and the text, which is also
the starting value of a key stream. Sealing the same text again gives the same bytes; a changed
byte, scope, pseudonym or key is noticed when it is opened.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from anonrisk.core.pseudonyms import sized
from anonrisk.errors import StoreError

if TYPE_CHECKING:
    from anonrisk.core.keys import Key

_TAG = 32


def seal(key: Key, scope: str, pseudonym: str, text: bytes) -> bytes:
    """Encrypt the text behind a pseudonym of a scope.

    Examples
    --------
    >>> from anonrisk.core.keys import Key
    >>> key = Key.from_bytes(bytes(range(32)))
    >>> sealed = seal(key, "insurer", "f00d", b"Ann")
    >>> b"Ann" in sealed, unseal(key, "insurer", "f00d", sealed)
    (False, b'Ann')
    """
    tag = _tag(key, scope, pseudonym, text)
    return tag + _mixed(key, tag, text)


def unseal(key: Key, scope: str, pseudonym: str, sealed: Any) -> bytes:
    """Decrypt a text, and refuse one that was changed or belongs elsewhere."""
    # SQLite lets any type into any column.
    whole = bytes(sealed) if isinstance(sealed, (bytes, bytearray, memoryview)) else b""
    tag, body = whole[:_TAG], whole[_TAG:]
    text = _mixed(key, tag, body)
    if not hmac.compare_digest(tag, _tag(key, scope, pseudonym, text)):
        raise StoreError(
            "an identity in the store was changed, or belongs to another scope or pseudonym"
        )
    return text


def _tag(key: Key, scope: str, pseudonym: str, text: bytes) -> bytes:
    message = sized(scope.encode()) + sized(pseudonym.encode()) + text
    return hmac.digest(key.derived("identity tag"), message, "sha256")


def _mixed(key: Key, tag: bytes, text: bytes) -> bytes:
    secret = key.derived("identity stream")
    blocks = range(-(-len(text) // _TAG))
    stream = b"".join(
        hmac.digest(secret, tag + number.to_bytes(8, "big"), "sha256") for number in blocks
    )
    return bytes(a ^ b for a, b in zip(text, stream, strict=False))
