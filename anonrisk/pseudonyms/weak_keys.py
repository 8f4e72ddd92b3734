"""Keys that somebody typed, counted up or forgot to fill in, told from random ones.

Nobody can see that bytes are random. What can be seen is that they are not: each rule for bytes
refuses a random key with a chance below 2 ** -40. A text is judged by an estimate: of what people
type, not of what an attacker knows about them. A sentence of a book passes it. Of 20,000 random
keys of 32 bytes, written in hex or base64, it refused none; of 16 letters and digits, one in forty.
"""

from __future__ import annotations

import base64
import math
import re
import string
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from unicodedata import combining, normalize

# Fewer bytes can be guessed.
LEAST_BYTES = 16
# How surely a random key is not refused: with a chance of less than 2 ** -_SURELY.
_SURELY = 40
# What a text needs, as an attacker may try 2 ** 60 of them who has pseudonyms to compare with.
LEAST_BITS = 80
# Words drawn by dice have 12.9 bits for some 4.3 letters; those of a sentence have fewer.
_LETTER_OF_A_WORD = 3.0
# Four letters of one case, or fewer that stand alone; what follows a word is no secret either.
_WORD = re.compile(
    r"(?:[A-Z][a-z]{3,}|[a-z]{4,}|[A-Z]{4,}|(?<![A-Za-z0-9])[A-Za-z][a-z]+(?![A-Za-z0-9]))"
    r"[^A-Za-z0-9]?"
)
# What variables are called.
_VARIABLE = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)+")
_HEX = (frozenset(b"0123456789abcdef"), frozenset(b"0123456789ABCDEF"))
_PRINTED = frozenset(range(32, 127))
_OTHERS = string.punctuation + " "
_URL = bytes.maketrans(b"-_", b"+/")
# Fewer may count up by chance.
_LEAST_MEANT = 8
# More different bytes are not asked of keys that are longer.
_ENOUGH = 64


def why_weak(secret: bytes) -> str:
    """Return why nobody would draw this key by chance; nothing where one could.

    Examples
    --------
    >>> why_weak(bytes(32))
    'all of its bytes are the same'
    >>> why_weak(b"correct horse battery staple")
    'it is a text that has an estimated entropy of fewer than 80 bits'
    >>> why_weak(bytes.fromhex("6b8f0ad1c7e2934f5581bd0c27fa9e36"))
    ''
    """
    if result := _why_not_drawn(secret):
        return result
    if (text := _text(secret)) and _estimated_bits(text) < LEAST_BITS:
        return f"it is a text that has an estimated entropy of fewer than {LEAST_BITS} bits"
    return next(filter(None, map(_why_not_drawn, _meant(secret))), "")


def _meant(secret: bytes) -> list[bytes]:
    """Return what a text is the hexadecimal digits or the base64 of: counted bytes are so too."""
    written = secret.rstrip()
    meant = b""
    # Digits of another alphabet are read as base64 too, and give fewer different bytes.
    if any(digits.issuperset(written) for digits in _HEX):
        with suppress(ValueError):
            meant = bytes.fromhex(written.decode("ascii"))
    elif written not in (written.upper(), written.lower()):
        with suppress(ValueError):
            whole = written.rstrip(b"=") + b"=" * (-len(written.rstrip(b"=")) % 4)
            meant = base64.b64decode(whole.translate(_URL), validate=True)
    return [meant] if len(meant) >= _LEAST_MEANT else []


def _text(secret: bytes) -> str:
    """Return a text as if it were typed in English; nothing where it is none."""
    try:
        text = normalize("NFKD", re.sub(r"\s", " ", secret.decode()))
    except UnicodeDecodeError:
        return ""
    letters = [item for item in text if not combining(item)]
    if not all(map(str.isprintable, letters)):
        return ""
    return "".join(
        letter if letter.isascii() else "A" if letter.isupper() else "a" for letter in letters
    )


def _why_not_drawn(secret: bytes) -> str:
    """Return what is wrong with bytes, whatever they mean."""
    alphabet = _alphabet(secret)
    if len(set(secret)) == 1:
        return "all of its bytes are the same"
    if len({(second - first) % 256 for first, second in pairwise(secret)}) == 1:
        return "each of its bytes is the one before and the same step more"
    if _repeats(secret, alphabet):
        return "it repeats a block"
    if len(set(secret)) < least_different(min(len(secret), _ENOUGH), alphabet):
        return "it has fewer different bytes than a random key could have"
    return ""


def could_be_key(name: str) -> bool:
    """Return whether the name of a variable or a file may be the key itself, given in its place.

    Such a name is not quoted.

    Examples
    --------
    >>> could_be_key("PSEUDONYM_KEY_OF_THE_HOSPITAL_2026"), could_be_key("pseudonyms.key")
    (False, False)
    >>> could_be_key("6b8f0ad1c7e2934f5581bd0c27fa9e36")
    True
    """
    if len(name) < LEAST_BYTES or _VARIABLE.fullmatch(name):
        return False
    return not why_weak(name.encode("utf-8", "surrogateescape"))


def _alphabet(secret: bytes) -> int:
    """Return how many bytes each may have been drawn from, rather too few than too many."""
    written = secret.rstrip()
    if not _PRINTED.issuperset(written):
        return 256
    if frozenset(string.digits.encode()).issuperset(written):
        return 10
    # Base32 is the smallest alphabet of letters and digits that keys are written in beside hex.
    return 16 if any(digits.issuperset(written) for digits in _HEX) else 32


def _repeats(secret: bytes, alphabet: int) -> bool:
    """Whether the key goes on as it began: so many bytes that chance would not have it."""
    # Every length of a block is tried, which makes one of them twice as likely as the longest.
    least = math.ceil((_SURELY + 1) / math.log2(alphabet))
    return any(secret[block:] == secret[:-block] for block in range(1, len(secret) - least + 1))


@lru_cache
def least_different(n: int, alphabet: int) -> int:
    """Return how many different ones `n` draws have, but for a chance below 2 ** -40.

    Examples
    --------
    >>> least_different(16, 256), least_different(32, 256), least_different(64, 16)
    (8, 18, 9)
    """
    chances = [1.0] + [0.0] * n
    for _ in range(n):
        for different in range(n, 0, -1):
            again = chances[different] * different / alphabet
            new = chances[different - 1] * max(alphabet - different + 1, 0) / alphabet
            chances[different] = again + new
        chances[0] = 0.0
    below = 0.0
    for different, chance in enumerate(chances):
        below += chance
        if below >= 2.0**-_SURELY:
            return different
    return n


def _estimated_bits(text: str) -> float:
    """Estimate how many bits somebody who types such texts has to be tried for."""
    if any(digits.issuperset(text.encode()) for digits in _HEX):
        return 4.0 * len(text) if set(text) - set(string.digits) else len(text) * math.log2(10)
    letters = sum(map(str.isalpha, "".join(_WORD.findall(text))))
    rest = len(_WORD.sub("", text))
    each = math.log2(_characters(text))
    # A few letters of one case stand side by side in random texts too.
    if rest > len(text) / 3:
        return len(text) * each
    return letters * _LETTER_OF_A_WORD + rest * each


def _characters(text: str) -> int:
    """Count the characters of the kinds that a text has."""
    kinds = (string.ascii_lowercase, string.ascii_uppercase, string.digits, _OTHERS)
    return sum(len(kind) for kind in kinds if set(kind) & set(text))
