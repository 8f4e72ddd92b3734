"""Seals: who holds the key said so, and not a byte has changed since.

A seal by HMAC is checked with the key that made it, so that whoever can check can also forge. One
by Ed25519 (RFC 8032) is made with a private key and checked with the public one, which may be given
to everybody. A seal is over a header that no other message begins with, and the bytes.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from anonrisk.errors import ManifestError, MissingLibraryError, SecretKeyError, WrongKeyError
from anonrisk.pseudonyms.key_files import read_key_file, write_key_file
from anonrisk.pseudonyms.never_pickled import NeverPickled

if TYPE_CHECKING:
    import os

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    from anonrisk.pseudonyms.keys import Key

HMAC, ED25519 = "hmac-sha256", "ed25519"
_HEADER = b"anonrisk manifest 1\n"
_PURPOSE = "manifest"
# Enough to tell keys apart, in hexadecimal digits.
_ID_DIGITS = 16
_PEM = "an Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` writes it without a password"


@dataclass(frozen=True)
class Seal:
    """A seal as it stands in a manifest.

    Attributes
    ----------
    kind : {"ed25519", "hmac-sha256"}
        How it was made.
    key_id : str
        Which key made it: tells keys apart and says nothing else about them.
    value : str
        The signature, or the HMAC, in hexadecimal digits.
    """

    kind: str
    key_id: str
    value: str

    def __post_init__(self) -> None:
        """Reject what is no seal."""
        if self.kind not in (HMAC, ED25519) or not isinstance(self.key_id, str):
            raise ManifestError("the manifest has a seal of an unknown kind")

    @classmethod
    def of(cls, message: bytes, key: Key | SigningKey) -> Self:
        """Seal a message.

        Examples
        --------
        >>> from anonrisk.keys import Key
        >>> key = Key.generate()
        >>> seal = Seal.of(b"what was checked", key)
        >>> seal.kind, len(seal.value)
        ('hmac-sha256', 64)
        >>> seal.check(b"what was checked", key)
        >>> seal.check(b"something else", key)
        Traceback (most recent call last):
        ...
        anonrisk.errors.ManifestError: the seal does not fit: the manifest was changed
        """
        if isinstance(key, SigningKey):
            value = key.reveal().sign(_HEADER + message)
            return cls(ED25519, key.public.key_id, value.hex())
        return cls(HMAC, _key_id(key), _hmac(message, key).hex())

    def check(self, message: bytes, key: Key | PublicKey) -> None:
        """Raise unless this key made this seal over this message."""
        kind, own = (ED25519, key.key_id) if isinstance(key, PublicKey) else (HMAC, _key_id(key))
        if self.kind != kind:
            needed = "public_key=" if self.kind == ED25519 else "key="
            raise WrongKeyError(f"the manifest is sealed by {self.kind}: verify it with {needed}")
        if not hmac.compare_digest(self.key_id.encode(), own.encode()):
            raise WrongKeyError(
                f"the manifest is sealed with another key ({self.key_id!r}, not {own!r})"
            )
        if not self._fits(message, key):
            raise ManifestError("the seal does not fit: the manifest was changed")

    def _fits(self, message: bytes, key: Key | PublicKey) -> bool:
        try:
            value = bytes.fromhex(self.value)
        except ValueError:
            return False
        if value.hex() != self.value:
            return False  # Capitals and blanks would be read as well, and a seal has one form.
        if isinstance(key, PublicKey):
            return key.signed(_HEADER + message, value)
        return hmac.compare_digest(value, _hmac(message, key))


class SigningKey(NeverPickled):
    """A private Ed25519 key that no repr or pickle gives away (extra ``releases``).

    Examples
    --------
    >>> key = SigningKey.generate()
    >>> key
    SigningKey(hidden)
    >>> Seal.of(b"what was checked", key).check(b"what was checked", key.public)
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: Ed25519PrivateKey) -> None:
        """Keep the key."""
        self._secret = secret

    @classmethod
    def generate(cls) -> Self:
        """Make a new key; `save` it, or it is gone with the process."""
        ed25519, _ = _library()
        return cls(ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, pem: bytes) -> Self:
        """Read a private key in PEM, for example from a vault's client."""
        ed25519, form = _library()
        secret = _loaded(form.load_pem_private_key, pem, password=None)
        if not isinstance(secret, ed25519.Ed25519PrivateKey):
            raise SecretKeyError(f"this is not {_PEM}")
        return cls(secret)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, shared: bool = False) -> Self:
        """Read a private key, from a file as `anonrisk.keys.Key.from_file` takes it."""
        return cls.from_bytes(read_key_file(path, shared=shared))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a new file that only its owner may read."""
        _, form = _library()
        pem = self._secret.private_bytes(
            form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
        )
        write_key_file(path, pem)

    @property
    def public(self) -> PublicKey:
        """The key that checks what this one seals."""
        return PublicKey(self._secret.public_key())

    def reveal(self) -> Ed25519PrivateKey:
        """Return the key itself, for code that needs it."""
        return self._secret

    def __repr__(self) -> str:
        """Show nothing."""
        return "SigningKey(hidden)"


class PublicKey:
    """A public Ed25519 key: checks seals and makes none (extra ``releases``)."""

    __slots__ = ("_key",)

    def __init__(self, key: Ed25519PublicKey) -> None:
        """Keep the key."""
        self._key = key

    @classmethod
    def from_bytes(cls, pem: bytes) -> Self:
        """Read a public key in PEM."""
        ed25519, form = _library()
        key = _loaded(form.load_pem_public_key, pem)
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise SecretKeyError(f"this is not {_PEM}")
        return cls(key)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a public key."""
        return cls.from_bytes(read_key_file(path, secret=False))

    def to_bytes(self) -> bytes:
        """Write it in PEM."""
        _, form = _library()
        pem: bytes = self._key.public_bytes(
            form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
        )
        return pem

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that may be given to everybody."""
        write_key_file(path, self.to_bytes(), secret=False)

    @property
    def key_id(self) -> str:
        """Which key it is."""
        return hashlib.sha256(self._key.public_bytes_raw()).hexdigest()[:_ID_DIGITS]

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Return whether the private key signed this message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def __repr__(self) -> str:
        """Show which key it is."""
        return f"PublicKey({self.key_id})"


def _key_id(key: Key) -> str:
    return key.derived("manifest key id").hex()[:_ID_DIGITS]


def _hmac(message: bytes, key: Key) -> bytes:
    return hmac.digest(key.derived(_PURPOSE), _HEADER + message, "sha256")


def _loaded(load: Any, pem: Any, **how: Any) -> Any:
    """Read PEM; what the library says of a key is withheld, since it may quote it."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return load(pem, **how)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise SecretKeyError(f"this is not {_PEM}") from None


def _library() -> tuple[Any, Any]:
    """Return the modules of keys and of how they are written."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingLibraryError(
            "Ed25519 needs cryptography: pip install 'anonrisk[releases]'; a seal by HMAC needs "
            "nothing (key=Key.from_file(…))"
        ) from None
    return ed25519, serialization
