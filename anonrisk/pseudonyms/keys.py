"""Secret keys: from the environment, a file or bytes, and never shown."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
from typing import TYPE_CHECKING, Any, NoReturn

from anonrisk.core.arguments import one_of
from anonrisk.core.render import kind_name
from anonrisk.errors import SecretKeyError
from anonrisk.pseudonyms.key_files import read_key_file
from anonrisk.pseudonyms.key_parts import KeyPart, joined, split
from anonrisk.pseudonyms.weak_keys import LEAST_BYTES, could_be_key, why_weak

if TYPE_CHECKING:
    from collections.abc import Iterable

ENCODINGS = ("text", "hex", "base64")


class Key:
    """A secret key that no repr, pickle or comparison gives away.

    Make one with `from_env`, `from_file`, `from_bytes`, `from_parts` or `generate`. It needs at
    least 16 bytes; take 32 random ones
    (``python -c "import secrets; print(secrets.token_hex(32))"``). Keys that nobody drew by chance
    are refused: repeated or counted bytes, and texts of low estimated entropy.

    Examples
    --------
    >>> key = Key.generate()
    >>> key
    Key(hidden)
    >>> Key.from_bytes(b"too short")
    Traceback (most recent call last):
    ...
    anonrisk.errors.SecretKeyError: a key needs at least 16 bytes; this one has fewer
    """

    __slots__ = ("_holders", "_secret")

    def __init__(self, secret: bytes) -> None:
        """Check the length and keep the bytes."""
        if not isinstance(secret, (bytes, bytearray)):
            raise SecretKeyError(
                f"a key is made of bytes, not of {kind_name(secret)}; "
                "see Key.from_env and Key.from_file"
            )
        if len(secret) < LEAST_BYTES:
            raise SecretKeyError(f"a key needs at least {LEAST_BYTES} bytes; this one has fewer")
        if weak := why_weak(bytes(secret)):
            raise SecretKeyError(
                f"this key can be guessed: {weak}; take 32 random bytes, for example what "
                "secrets.token_hex(32) gives"
            )
        self._secret = bytes(secret)
        self._holders: tuple[str, ...] = ()

    @classmethod
    def from_bytes(cls, secret: bytes) -> Key:
        """Take the bytes themselves, for example from a vault's client."""
        return cls(secret)

    @classmethod
    def from_env(cls, name: str, encoding: str = "text") -> Key:
        """Read an environment variable.

        Parameters
        ----------
        name : str
            Name of the variable. One that may be the key itself, by mistake, is in no error.
        encoding : {"text", "hex", "base64"}
            How the key is written there; ``"text"`` takes the UTF-8 bytes of it as they are.

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
        return cls(_decoded(written.encode("utf-8", "surrogateescape"), encoding))

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], encoding: str = "text", *, shared: bool = False
    ) -> Key:
        """Read a file, unless others may read or exchange it.

        Parameters
        ----------
        path : path
            The file.
        encoding : {"text", "hex", "base64"}
            ``"text"`` takes the bytes of the file as they are, but for one line end at its end,
            which editors add.
        shared : bool
            Take a file that others may read, though not write to: containers mount secrets so.
            A folder that everybody may write to is then taken if its files are their owner's alone
            (the sticky bit).
        """
        written = read_key_file(path, shared=shared)
        if encoding == "text":
            written = written.removesuffix(b"\n").removesuffix(b"\r")
        return cls(_decoded(written, encoding))

    @classmethod
    def generate(cls) -> Key:
        """Make a random key of 32 bytes, for tests and trials: it is gone with the process."""
        return cls(secrets.token_bytes(32))

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

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Reject to be pickled or copied into a file, a plan or another process."""
        raise TypeError("a Key is not pickled; read it again where it is needed")


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


def _decoded(written: bytes, encoding: str) -> bytes:
    one_of(encoding, "encoding", ENCODINGS)
    try:
        if encoding == "hex":
            return bytes.fromhex(written.decode("ascii").strip())
        if encoding == "base64":
            return base64.b64decode(b"".join(written.split()), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise SecretKeyError(f"the key is not written as {encoding}") from None
    return written
