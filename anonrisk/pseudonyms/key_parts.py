"""Keys in parts: so many people together have the key, and fewer have nothing.

All parts but one are random bytes, the last is the key XOR all of them. So every part by itself,
and all but any one of them together, are random bytes that say nothing about the key: a one-time
pad. A split is of the bytes of a key; splitting it again gives other parts.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from anonrisk.core.arguments import line_of_text
from anonrisk.core.render import named
from anonrisk.errors import ArgumentError, SecretKeyError
from anonrisk.pseudonyms.key_files import read_key_file, write_key_file
from anonrisk.pseudonyms.never_pickled import NeverPickled

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

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
