"""Identities at rest: sealed so that the database alone says nothing.

AES-SIV (RFC 5297), as `cryptography` keeps it, under a subkey of 512 bits. What is sealed is bound
to the store, the epoch of its key, the scope and the pseudonym: a byte that was changed, and a row
that was copied from elsewhere, are noticed when it is opened. Every sealed identity has one
length, that of an erased one too. Sealing the same again gives the same bytes.

The text is 4 bytes of the day of the last issue (counted from 1970-01-01), 2 bytes of the length
of the identity, its canonical bytes (`anonrisk.pseudonyms.pseudonym`), and zeros up to 256 bytes.
Length 0 says that the person was erased. Numbers are big-endian.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, MissingLibraryError, StoreError
from anonrisk.pseudonyms.never_pickled import NeverPickled
from anonrisk.pseudonyms.pseudonym import sized

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    from anonrisk.pseudonyms.keys import Key

# With the letter that says what kind of value it is.
LONGEST_IDENTITY = 240
_PADDED = 256
_TAG = 16
# What an identity is bound to never looks like what a wrapped key is bound to.
_IDENTITY, _WRAPPED = b"anonrisk sealed identity 2", b"anonrisk wrapped key 2"


@dataclass(frozen=True)
class Opened:
    """What was sealed: who it is, and on which day they were last issued this pseudonym.

    Attributes
    ----------
    identity : bytes or None
        The canonical bytes of the person; None if they were erased.
    day : int
        The day of the last issue, counted from 1970-01-01; 0 if they were erased.
    """

    identity: bytes | None = field(repr=False)
    day: int


@dataclass(frozen=True)
class Sealer(NeverPickled):
    """Seals and opens the identities of one store under the key of one epoch.

    Examples
    --------
    >>> from anonrisk.pseudonyms.keys import Key
    >>> sealer = Sealer.of(Key.generate(), "f3a1", 1)
    >>> sealed = sealer.seal("insurer", "f00d", b"sAnn", 20_000)
    >>> len(sealed), b"Ann" in sealed, sealer.unseal("insurer", "f00d", sealed).identity
    (272, False, b'sAnn')
    >>> sealer.unseal("hospital", "f00d", sealed)
    Traceback (most recent call last):
    ...
    anonrisk.errors.StoreError: an identity in the store was changed, or belongs to another ...
    """

    secret: bytes = field(repr=False)
    store: str
    epoch: int

    @classmethod
    def of(cls, key: Key, store: str, epoch: int) -> Self:
        """Derive the subkey that seals from the key of this epoch."""
        return cls(key.derived("identity sealing", length=64), store, epoch)

    def seal(self, scope: str, pseudonym: str, identity: bytes, day: int) -> bytes:
        """Encrypt who is behind a pseudonym of a scope, and the day of the last issue."""
        check_identity(identity)
        return self._cipher.encrypt(_padded(identity, day), self._place(scope, pseudonym))

    def tombstone(self, scope: str, pseudonym: str) -> bytes:
        """Seal that whoever was behind a pseudonym was erased."""
        return self._cipher.encrypt(_padded(b"", 0), self._place(scope, pseudonym))

    def unseal(self, scope: Any, pseudonym: Any, sealed: Any) -> Opened:
        """Decrypt an identity; refuse one that was changed, or belongs elsewhere."""
        # SQLite lets any type into any column.
        named = isinstance(scope, str) and isinstance(pseudonym, str)
        text = self._opened(sealed, self._place(scope, pseudonym)) if named else None
        if text is None or len(text) != _PADDED:
            raise StoreError(
                "an identity in the store was changed, or belongs to another scope, pseudonym, "
                "store or key"
            )
        day, length = int.from_bytes(text[:4], "big"), int.from_bytes(text[4:6], "big")
        return Opened(text[6 : 6 + length] or None, day)

    def wrap(self, secret: bytes, what: str) -> bytes:
        """Encrypt another key, which is kept in the store under the name of what it is for."""
        return self._cipher.encrypt(secret, [self._bound(_WRAPPED, what)])

    def unwrap(self, wrapped: Any, what: str) -> bytes:
        """Decrypt a key; refuse one that was changed, or wrapped for something else."""
        secret = self._opened(wrapped, [self._bound(_WRAPPED, what)])
        if secret is None:
            raise StoreError(f"the {what} that is kept in the store was changed")
        return secret

    def _opened(self, sealed: Any, place: list[bytes]) -> bytes | None:
        if not isinstance(sealed, (bytes, bytearray, memoryview)) or len(sealed) <= _TAG:
            return None
        cipher = self._cipher
        from cryptography.exceptions import InvalidTag

        try:
            return cipher.decrypt(bytes(sealed), place)
        except InvalidTag:
            return None

    def _place(self, scope: str, pseudonym: str) -> list[bytes]:
        return [self._bound(_IDENTITY, scope, pseudonym)]

    def _bound(self, kind: bytes, *names: str) -> bytes:
        # One part that is never empty: OpenSSL up to 3.1.1 left empty parts out (CVE-2023-2975).
        parts = (self.store, str(self.epoch), *names)
        # A row of a database may hold what has no UTF-8 form; it must be refused, not raise.
        return kind + b"".join(sized(part.encode("utf-8", "surrogatepass")) for part in parts)

    @cached_property
    def _cipher(self) -> AESSIV:
        """The cipher of `cryptography`, which is imported when something is first sealed."""
        try:
            from cryptography.exceptions import UnsupportedAlgorithm
            from cryptography.hazmat.primitives.ciphers.aead import AESSIV
        except ImportError:
            raise MissingLibraryError(
                "the identity protector needs cryptography 41 or newer: "
                "pip install 'anonrisk[store]'"
            ) from None
        try:
            return AESSIV(self.secret)
        except UnsupportedAlgorithm:
            raise MissingLibraryError(
                "the identity protector needs AES-SIV, which the OpenSSL of this cryptography "
                "lacks: install the wheel of cryptography, which brings its own"
            ) from None


def check_identity(identity: bytes) -> None:
    """Reject canonical bytes that cannot be sealed."""
    if not identity:
        raise ArgumentError("an identity has at least one byte, which says its kind")
    if len(identity) > LONGEST_IDENTITY + 1:
        raise ArgumentError(
            f"an identity takes at most {LONGEST_IDENTITY} bytes in UTF-8, so that all are "
            "sealed in one length; this one has more"
        )


def _padded(identity: bytes, day: int) -> bytes:
    text = day.to_bytes(4, "big") + len(identity).to_bytes(2, "big") + identity
    return text.ljust(_PADDED, b"\0")
