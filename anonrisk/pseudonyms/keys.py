"""Secret keys: from the environment, a file, bytes or parts, and never shown.

All parts but one are random bytes, the last is the key XOR all of them. So every part by itself,
and all but any one of them together, are random bytes that say nothing about the key: a one-time
pad. A split is of the bytes of a key; splitting it again gives other parts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from anonrisk.core.arguments import line_of_text
from anonrisk.core.render import kind_name, named
from anonrisk.errors import ArgumentError, SecretKeyError
from anonrisk.pseudonyms.private_files import (
    NeverPickled,
    could_be_key,
    read_key_file,
    write_key_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_FORM = "anonrisk key part 1"
_LONGEST_NAME = 255
_MOST_PARTS = 255


class KeyPart(NeverPickled):
    """One person's part of a key, which no repr or pickle gives away.

    `Key.split` makes parts, `Key.from_parts` puts them together.

    Attributes
    ----------
    holder : str
        Whose part it is.
    number, n_parts : int
        Which of how many.
    split : str
        Tells one splitting from another, and says nothing of the key.

    Examples
    --------
    >>> from anonrisk.keys import Key
    >>> ann, bob = Key.generate().split("Ann", "Bob")
    >>> ann
    KeyPart(1 of 2, held by Ann)
    >>> Key.from_parts([ann, bob]).holders
    ('Ann', 'Bob')
    """

    __slots__ = ("_share", "holder", "n_parts", "number", "split")

    def __init__(self, split: str, number: int, n_parts: int, holder: str, share: bytes) -> None:
        """Keep what `Key.split` or a file says."""
        self.split = split
        self.number = number
        self.n_parts = n_parts
        self.holder = holder
        self._share = share

    @classmethod
    def from_bytes(cls, data: bytes) -> KeyPart:
        """Read what `to_bytes` gave."""
        try:
            summary = json.loads(data)
            number, source = int(summary["number"]), int(summary["of"])
            share = bytes.fromhex(summary["share"])
            part = cls(str(summary["split"]), number, source, _name(summary["holder"]), share)
            whole = hmac.compare_digest(part.to_bytes(), bytes(data))
            whole = whole and 1 <= number <= source <= _MOST_PARTS
        # Whatever a library says of it may quote it.
        except Exception:  # noqa: BLE001
            whole = False
        if not whole:
            raise SecretKeyError("this is not a part of a key, or it is damaged; ask its holder")
        return part

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, shared: bool = False) -> KeyPart:
        """Read a part, from a file as `anonrisk.keys.Key.from_file` takes it."""
        return cls.from_bytes(read_key_file(path, shared=shared))

    def to_bytes(self) -> bytes:
        """Write the part as text, for the vault of its holder; who has all parts has the key."""
        fields = {
            "form": _FORM,
            "split": self.split,
            "number": self.number,
            "of": self.n_parts,
            "holder": self.holder,
            "share": self._share.hex(),
        }
        fields["checksum"] = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
        return json.dumps(fields, indent=1).encode() + b"\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a new file that only its owner may read."""
        write_key_file(path, self.to_bytes())

    def reveal(self) -> bytes:
        """Return the bytes of the part, for code that needs them; do not print them."""
        return self._share

    def __repr__(self) -> str:
        """Show whose part it is."""
        return f"KeyPart({self.number} of {self.n_parts}, held by {named(self.holder)})"


def split(secret: bytes, holders: Sequence[Any]) -> tuple[KeyPart, ...]:
    """Make a part for each holder."""
    names = list(map(_name, holders))
    if not 2 <= len(names) <= _MOST_PARTS:
        raise ArgumentError(f"a key is split for 2 to {_MOST_PARTS} persons: split('Ann', 'Bob')")
    if twice := _named_twice(names):
        raise ArgumentError(f"{twice!r} cannot hold two parts of one key")
    shares = [secrets.token_bytes(len(secret)) for _ in names[1:]]
    shares.append(_xor([secret, *shares]))
    made = secrets.token_hex(16)
    return tuple(
        KeyPart(made, number, len(names), name, share)
        for number, (name, share) in enumerate(zip(names, shares, strict=True), 1)
    )


def joined(parts: Iterable[Any]) -> tuple[bytes, tuple[str, ...]]:
    """Return the key and its holders, if all parts of it are there, each once."""
    try:
        values = [parts] if isinstance(parts, KeyPart) else list(parts)
    except TypeError:
        values = []
    if not values or not all(isinstance(part, KeyPart) for part in values):
        raise SecretKeyError("a key is put together from its parts: see KeyPart.from_file")
    source, numbers = values[0].n_parts, [part.number for part in values]
    if len({part.split for part in values}) > 1:
        raise SecretKeyError("these are parts of more than one splitting; they do not fit together")
    if doubled := [number for number in numbers if numbers.count(number) > 1]:
        raise SecretKeyError(f"part {doubled[0]} of {source} is given twice")
    if missing := set(range(1, source + 1)).difference(numbers):
        raise SecretKeyError(f"part {min(missing)} of {source} is missing; ask its holder")
    if len({(part.n_parts, len(part.reveal())) for part in values}) > 1 or len(values) != source:
        raise SecretKeyError("these parts do not fit together; ask their holders")
    ordered = sorted(values, key=lambda part: part.number)
    holders = tuple(part.holder for part in ordered)
    if twice := _named_twice(holders):
        raise SecretKeyError(f"{twice!r} holds two parts of this key: two persons must hold them")
    return _xor([part.reveal() for part in ordered]), holders


def _name(value: Any) -> str:
    return line_of_text(value, "the holder of a part is a person", _LONGEST_NAME)


def _named_twice(names: Sequence[str]) -> str | None:
    """Return a name that is there more than once, however it is written."""
    seen: set[str] = set()
    for name in names:
        same = " ".join(normalize("NFKC", name).casefold().split())
        if same in seen:
            return name
        seen.add(same)
    return None


def _xor(parts: Sequence[bytes]) -> bytes:
    result = 0
    for part in parts:
        result ^= int.from_bytes(part, "big")
    return result.to_bytes(len(parts[0]), "big")


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
