"""Secret keys: from the environment, a file or bytes, and never shown."""

from __future__ import annotations

import base64
import hmac
import os
import re
import secrets
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import kind_name
from anonrisk.errors import SecretKeyError
from anonrisk.pseudonyms.key_files import could_be_key, read_key_file, write_key_file
from anonrisk.pseudonyms.key_parts import KeyPart, joined, split
from anonrisk.pseudonyms.never_pickled import NeverPickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_BYTES = 32
# The last character of base64 holds four bits of the key, and two that are 0.
_WRITTEN = re.compile(rb"[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=")
# 32 random bytes have fewer with a chance below 2 ** -40.
_LEAST_DIFFERENT = 18
_MAKE_ONE = "`anonrisk key -o FILE` makes one, and so does Key.generate().save(FILE)"


class Key(NeverPickled):
    """A secret key that no repr, pickle or comparison gives away.

    It is 32 random bytes: ``anonrisk key -o FILE`` or `generate` makes one, and `from_env`,
    `from_file`, `from_bytes` or `from_parts` read it. A text that somebody typed is no key.

    Examples
    --------
    >>> key = Key.generate()
    >>> key
    Key(hidden)
    >>> Key.from_bytes(b"a typed text is never a key here")
    Traceback (most recent call last):
    ...
    anonrisk.errors.SecretKeyError: this is a text, not a key; `anonrisk key -o FILE` makes one, ...
    """

    __slots__ = ("_holders", "_secret")

    def __init__(self, secret: bytes) -> None:
        """Check the bytes and keep them."""
        if not isinstance(secret, (bytes, bytearray)):
            raise SecretKeyError(
                f"a key is made of bytes, not of {kind_name(secret)}; "
                "see Key.from_env and Key.from_file"
            )
        if problem := _why_no_key(bytes(secret)):
            raise SecretKeyError(f"{problem}; {_MAKE_ONE}")
        self._secret = bytes(secret)
        self._holders: tuple[str, ...] = ()

    @classmethod
    def from_bytes(cls, secret: bytes) -> Key:
        """Take the 32 bytes themselves, for example from a vault's client."""
        return cls(secret)

    @classmethod
    def from_env(cls, name: str, *, unwrap: Callable[[bytes], bytes] | None = None) -> Key:
        """Read an environment variable: 64 hexadecimal digits, or base64.

        Parameters
        ----------
        name : str
            Name of the variable. One that may be the key itself, by mistake, is in no error.
        unwrap : callable, optional
            As in `from_file`.

        Examples
        --------
        >>> Key.from_env("NO_SUCH_VARIABLE")
        Traceback (most recent call last):
        ...
        anonrisk.errors.SecretKeyError: environment variable 'NO_SUCH_VARIABLE' is not set
        """
        if not isinstance(name, str):
            raise SecretKeyError(
                f"the name of an environment variable is a text, not {kind_name(name)}"
            )
        try:
            written = os.environ.get(name)
        except UnicodeEncodeError:
            written = None
        if written is None:
            called = "of this name" if could_be_key(name) else repr(name)
            raise SecretKeyError(f"environment variable {called} is not set")
        return cls(_read(written.encode("utf-8", "surrogateescape"), unwrap))

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        shared: bool = False,
        unwrap: Callable[[bytes], bytes] | None = None,
    ) -> Key:
        """Read a file, 64 hexadecimal digits or base64, unless others may read or exchange it.

        Parameters
        ----------
        path : path
            The file.
        shared : bool
            Take a file that others may read, though not write to: containers mount secrets so.
            A folder that everybody may write to is then taken if its files are their owner's alone
            (the sticky bit).
        unwrap : callable, optional
            Turns what is stored, which others may then read, into the 32 bytes of the key: a call
            of the service that wrapped it, such as ``lambda wrapped: kms.decrypt(wrapped)``.
        """
        return cls(_read(read_key_file(path, secret=unwrap is None, shared=shared), unwrap))

    @classmethod
    def generate(cls) -> Key:
        """Make a random key of 32 bytes; `save` it, or it is gone with the process."""
        return cls(secrets.token_bytes(_BYTES))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a new file that only its owner may read, in hexadecimal digits."""
        write_key_file(path, self._secret.hex().encode() + b"\n")

    def split(self, *holders: str) -> tuple[KeyPart, ...]:
        """Make a part for each holder: all of them together have the key, fewer have nothing.

        Whoever has the whole key can split it as they like, so generate it, split it and give the
        parts away in one place where nobody keeps it.

        Parameters
        ----------
        *holders : str
            Who gets a part: two different persons or more.

        Examples
        --------
        >>> key = Key.generate()
        >>> parts = key.split("Ann", "Bob", "Cem")
        >>> Key.from_parts(parts) == key
        True
        >>> Key.from_parts(parts[:2])
        Traceback (most recent call last):
        ...
        anonrisk.errors.SecretKeyError: part 3 of 3 is missing; ask its holder
        """
        return split(self._secret, holders)

    @classmethod
    def from_parts(cls, parts: Iterable[KeyPart]) -> Key:
        """Put a key together from all of its parts; it then knows its `holders`.

        Parameters
        ----------
        parts : parts
            All that `split` gave, in any order, for example from `KeyPart.from_file`. A part that
            somebody changed on purpose gives another key, which a store or a ledger refuses.
        """
        secret, holders = joined(parts)
        key = cls(secret)
        key._holders = holders
        return key

    @property
    def holders(self) -> tuple[str, ...]:
        """Whose parts it was put together from; empty if it was not."""
        return self._holders

    def reveal(self) -> bytes:
        """Return the bytes, for code that needs them; do not print them."""
        return self._secret

    def derived(self, purpose: str, *, length: int = 32) -> bytes:
        """Return bytes for one purpose, from which neither the key nor those of another follow.

        They are HKDF-SHA-256 (RFC 5869) of the key, with the purpose as `info`; 32 of them, unless
        another length is asked for.

        Examples
        --------
        >>> key = Key.generate()
        >>> key.derived("state class") == key.derived("state person")
        False
        """
        return hkdf(self._secret, b"anonrisk", purpose.encode(), length)

    def __repr__(self) -> str:
        """Show nothing."""
        return "Key(hidden)"

    def __eq__(self, other: object) -> bool:
        """Compare without telling by the time it takes how much is equal."""
        if not isinstance(other, Key):
            return NotImplemented
        return hmac.compare_digest(self._secret, other._secret)

    def __hash__(self) -> int:
        """Agree with equality, by way of a one-way function."""
        return hash(self.derived("hash"))


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """Derive bytes from a secret by HKDF-SHA-256 (RFC 5869).

    Examples
    --------
    >>> hkdf(b"secret" * 4, b"salt", b"purpose", 4).hex()
    '70777cb5'
    """
    extracted = hmac.digest(salt, secret, "sha256")
    block = made = b""
    for number in range(1, -(-length // 32) + 1):
        block = hmac.digest(extracted, block + info + bytes([number]), "sha256")
        made += block
    return made[:length]


def as_key(value: Any) -> Key:
    """Read a key argument: a Key, or bytes."""
    if isinstance(value, Key):
        return value
    if isinstance(value, (bytes, bytearray)):
        return Key(bytes(value))
    if value is None:
        raise SecretKeyError("no key given: key=Key.from_env(…), Key.from_file(…) or bytes")
    # Not even its type's own text is shown: a string here may be the key.
    raise SecretKeyError(
        f"key= takes a Key or bytes, not {kind_name(value)}; see Key.from_env and Key.from_file"
    )


def _why_no_key(secret: bytes) -> str:
    """Return why bytes are no key that anybody drew; each rule refuses one in 2 ** 36 at most."""
    if len(secret) != _BYTES:
        return f"a key has {_BYTES} random bytes, this has {len(secret):,}"
    try:
        if secret.decode().replace("\n", " ").isprintable():
            return "this is a text, not a key"
    except UnicodeDecodeError:
        pass
    steps = {(after - before) % 256 for before, after in pairwise(secret)}
    if len(set(secret)) < _LEAST_DIFFERENT or len(steps) == 1:
        return "these bytes are counted or repeated, not random"
    return ""


def _read(written: bytes, unwrap: Callable[[bytes], bytes] | None) -> bytes:
    """Return the bytes of a key by its written form, or by what unwraps it."""
    if unwrap is not None:
        try:
            return unwrap(written)
        # What it says may quote the key.
        except Exception as error:  # noqa: BLE001
            why = f"unwrap= raised {type(error).__name__}"
        raise SecretKeyError(f"the key cannot be unwrapped: {why}")
    text = written.strip()
    if not _WRITTEN.fullmatch(text):
        raise SecretKeyError(
            "a key is 32 random bytes, written as 64 hexadecimal digits or 44 characters of "
            f"base64, and this is neither; {_MAKE_ONE}"
        )
    if text.endswith(b"="):
        return base64.b64decode(text, altchars=b"-_")
    return bytes.fromhex(text.decode("ascii"))
