"""From a value to its pseudonym: canonical bytes, one message, HMAC-SHA-256, a format.

The key of the HMAC is the subkey ``pseudonym`` of the key that the caller gives (`Key.derived`), so
that those who make pseudonyms need no more than that. The message is, in this order and with
nothing between its parts::

    "anonrisk pseudonym 2"
    length of the scope, 4 bytes, big-endian;   the scope in UTF-8
    length of the period, 4 bytes, big-endian;  the period in ASCII
    the value

A missing scope or period has length 0. A period is ``"<microseconds>:<number>"``, the number of
whole periods since 1970-01-01 UTC, or ``"<n> records:<number>"``. The value is a letter and a text:

========  ==========================================================================
``s``     a string, in UTF-8 as it is (no case folding, no normal form)
``i``     an integer, in decimal
``d``     a date, as 2026-11-15
``t``     an instant, in microseconds since 1970-01-01 UTC; one without a zone is read as UTC
========  ==========================================================================

Because of the lengths and the letter no two different (scope, period, value) make one message.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import math
from numbers import Integral
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from anonrisk.core.arguments import one_of, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedLines, percent
from anonrisk.errors import ArgumentError, CollisionError, UnsupportedColumnError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Alphabet
    from anonrisk.pseudonyms.keys import Key

HEADER = b"anonrisk pseudonym 2"
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# Bits of a character in each format, and how many are needed so that people keep apart.
FORMATS = {"hex": 4, "base32": 5, "base64url": 6}
_LEAST_BITS = 64
USUAL_BITS = 128
_ALL_BITS = 256
FLOATS = "pandas turns integers with missing values into floats: use astype('Int64')"
_TAKEN = "pseudonyms are of text, integers, dates and instants"


@dataclass(frozen=True)
class Form:
    """How a pseudonym is written: its alphabet and its number of characters."""

    format: str
    length: int

    @classmethod
    def of(cls, format_: Any, length: Any) -> Form:
        """Check both; 128 bits if no length is given, never fewer than 64.

        Examples
        --------
        >>> Form.of("hex", None), Form.of("base32", 20)
        (Form(format='hex', length=32), Form(format='base32', length=20))
        """
        name = one_of(format_, "format", list(FORMATS))
        bits = FORMATS[name]
        if length is None:
            return cls(name, -(-USUAL_BITS // bits))
        least, most = -(-_LEAST_BITS // bits), -(-_ALL_BITS // bits)
        number = whole_number(length, "length", at_least=1)
        if not least <= number <= most:
            raise ArgumentError(
                f"length={number} is not from {least} to {most} characters of {name}: "
                "in fewer, two people come to share a pseudonym"
            )
        return cls(name, number)

    @property
    def bits(self) -> int:
        """How many bits of a digest are written."""
        return min(self.length * FORMATS[self.format], _ALL_BITS)


@dataclass(frozen=True)
class Pseudonymisation:
    """One pseudonymisation, checked: which column, how, and how long a pseudonym lives.

    A pseudonym lives for `every` microseconds or, `by_records`, for as many records.
    """

    column: Name
    key: Key
    form: Form
    scope: str | None = None
    every: int | None = None
    time: Name | None = None
    by_records: bool = False

    @property
    def prefix(self) -> bytes:
        """What every message starts with."""
        return HEADER + sized(b"" if self.scope is None else self.scope.encode())

    def period_label(self, number: int) -> str:
        """Name the period with this number."""
        return f"{self.every}{' records' if self.by_records else ''}:{number}"


def sized(part: bytes) -> bytes:
    """Put its length before a part."""
    return len(part).to_bytes(4, "big") + part


def check_scope(scope: Any) -> str | None:
    """Read a scope: a text that is not empty, or none."""
    if scope is None:
        return None
    if not isinstance(scope, str) or not scope:
        raise ArgumentError("scope= names a recipient: a text that is not empty")
    try:
        scope.encode()
    except UnicodeEncodeError:
        raise ArgumentError("scope= holds a character that has no UTF-8 form") from None
    return scope


def canonical(value: Any, column: Name = "identity") -> bytes:
    """Return the canonical bytes of a Python value.

    Examples
    --------
    >>> canonical("Ann"), canonical(7), canonical(dt.date(2026, 11, 15))
    (b'sAnn', b'i7', b'd2026-11-15')
    >>> canonical(7.0)
    Traceback (most recent call last):
    ...
    anonrisk.errors.UnsupportedColumnError: column 'identity' holds values of type float; ...
    """
    if value is None or type(value).__name__ in {"NaTType", "NAType"}:
        raise UnsupportedColumnError(f"column {column!r} holds a missing value; {_TAKEN}")
    if isinstance(value, str):
        return _texts([value], column)[0]
    if isinstance(value, bool):
        raise refused(column, "bool")
    if isinstance(value, Integral):
        return _integers([int(value)], column)[0]
    if isinstance(value, dt.datetime):
        return b"t%d" % instant(value, column)
    if isinstance(value, dt.date):
        return b"d" + value.isoformat().encode()
    raise refused(column, type(value).__name__)


def folded(value: bytes) -> bytes:
    """Return the canonical bytes of a text without the case of its letters; of others, the same.

    Examples
    --------
    >>> folded(canonical("ANN")), folded(canonical(7))
    (b'sann', b'i7')
    """
    return normalize("NFKC", value.decode()).casefold().encode() if value[:1] == b"s" else value


def instant(value: dt.datetime, column: Name) -> int:
    """Return microseconds since 1970 UTC; a timestamp without a zone is read as UTC."""
    if getattr(value, "nanosecond", 0):
        raise too_fine(column)
    try:
        aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
        moment = aware.astimezone(dt.UTC)
        # Some timestamps of pandas lie beyond those of Python, and do only a part of what they do.
        inside = dt.MINYEAR <= moment.year <= dt.MAXYEAR
    except (OverflowError, ValueError):
        inside = False
    if not inside:
        raise too_far(column)
    # Subtracting two zones would go by the clock on the wall, were they the same zone object.
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def too_fine(column: Name) -> UnsupportedColumnError:
    """Return an error: instants are kept in microseconds."""
    return UnsupportedColumnError(
        f"column {column!r} holds instants finer than a microsecond, which Spark does not know; "
        "round them, for example with dt.floor('us')"
    )


def too_far(column: Name) -> UnsupportedColumnError:
    """Return which years there are."""
    return UnsupportedColumnError(
        f"column {column!r} holds instants that are not in the years 1 to 9999 of UTC"
    )


def refused(column: Name, kind: str) -> UnsupportedColumnError:
    """Return which types have canonical bytes."""
    hint = ""
    if "float" in kind.casefold() or "double" in kind:
        hint = f". Floats can be written in more than one way; {FLOATS}"
    return UnsupportedColumnError(f"column {column!r} holds values of type {kind}; {_TAKEN}{hint}")


def canonical_all(values: Sequence[Any], column: Name) -> list[bytes]:
    """Return the canonical bytes of many values of one kind."""
    # The commonest kinds are spared the questions that `canonical` asks of each value.
    kinds = set(map(type, values))
    if kinds == {int}:
        return _integers(values, column)
    if kinds == {str}:
        return _texts(values, column)
    return [canonical(value, column) for value in values]


def _texts(values: Sequence[str], column: Name) -> list[bytes]:
    try:
        return [b"s" + value.encode() for value in values]
    except UnicodeEncodeError:
        raise UnsupportedColumnError(
            f"column {column!r} holds a text that has no UTF-8 form"
        ) from None


def _integers(values: Sequence[int], column: Name) -> list[bytes]:
    try:
        return [b"i%d" % value for value in values]
    except ValueError:
        # Python writes integers of a few thousand digits only.
        raise UnsupportedColumnError(
            f"column {column!r} holds an integer of too many digits"
        ) from None


def keyed_digests(secret: bytes, start: bytes = b"") -> Callable[[Iterable[bytes]], bytes]:
    """Make a function from ends of messages, after a start that all share, to their HMAC-SHA-256.

    It gives all digests as one, 32 bytes each. HMAC (RFC 2104) is two hashes, of the message and of
    that hash, each after a block made of the key. Both are begun once and copied for every message;
    copying an `hmac.HMAC` takes 1.6 times as long. Nested, so that it travels to Spark's executors
    by value and needs the standard library only.

    Examples
    --------
    >>> import hmac
    >>> keyed_digests(b"secret", b"a")([b"b"]) == hmac.digest(b"secret", b"ab", "sha256")
    True
    """
    # Key and start are hashed once, where messages are: such an object does not travel.
    begun: list[Any] = []

    def digests(ends: Iterable[bytes]) -> bytes:
        if not begun:
            key = secret if len(secret) <= 64 else hashlib.sha256(secret).digest()
            block = key.ljust(64, b"\0")
            begun.append(hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + start))
            begun.append(hashlib.sha256(bytes(byte ^ 0x5C for byte in block)))
        inner, outer = begun[0].copy, begun[1].copy
        made = bytearray()
        for end in ends:
            first = inner()
            first.update(end)
            second = outer()
            second.update(first.digest())
            made += second.digest()
        return bytes(made)

    return digests


def pseudonym_maker(step: Pseudonymisation) -> Callable[..., str]:
    """Make the function from a value, and its period if there is one, to the pseudonym.

    The only one that makes the message, for tables, executors of Spark and the protector: it holds
    the subkey and not the key, and needs the standard library only.
    """
    digests = keyed_digests(step.key.derived("pseudonym"), step.prefix)
    write = writer(step.form)

    def pseudonym(value: bytes, period: bytes = b"") -> str:
        # `sized` would have to be imported from here by those who run it.
        return write(digests((len(period).to_bytes(4, "big") + period + value,)))

    return pseudonym


def writer(form: Form) -> Callable[[bytes], str]:
    """Make a function that writes a digest in this form."""
    length = form.length
    if form.format == "hex":
        return lambda digest: digest.hex()[:length]
    if form.format == "base32":
        return lambda digest: base64.b32encode(digest).decode("ascii").lower()[:length]
    return lambda digest: base64.urlsafe_b64encode(digest).decode("ascii")[:length]


# One in a million.
MOST_LIKELY = 1e-6
_OFTEN, _TRILLION = 0.01, 10**12


@dataclass(frozen=True, repr=False)
class CollisionChance(PrintedLines):
    """How likely it is that any two of so many persons share a pseudonym.

    Attributes
    ----------
    people : int
        How many persons there are.
    bits : int
        Bits of a pseudonym.
    chance : float
        That any two of them share one.
    limit : float
        What is refused above it, unless the caller says so: one in a million.
    """

    people: int
    bits: int
    chance: float
    limit: float = MOST_LIKELY

    @property
    def is_within(self) -> bool:
        """Whether it is within the limit."""
        return self.chance <= self.limit

    def _lines(self) -> list[str]:
        judged = "within" if self.is_within else "above"
        text = f"Any two of {self.people:,} people share a pseudonym of {self.bits} bits:"
        return [f"{text} {_said(self.chance)}, {judged} the limit ({_said(self.limit)})"]


def collision_chance(
    people: int,
    *,
    format: Alphabet = "hex",  # noqa: A002
    length: int | None = None,
) -> CollisionChance:
    """Return how likely it is that any two of so many persons share a pseudonym.

    Parameters
    ----------
    people : int
        How many persons will ever get one, of one key and one scope. With pseudonyms that change by
        period, count each person once a period.
    format, length
        How pseudonyms are written, as in `anonrisk.pseudonymize`.

    Returns
    -------
    CollisionChance
        The chance, and whether it is within one in a million.

    Notes
    -----
    ``1 - exp(-n (n - 1) / 2 ** (bits + 1))``, the birthday approximation: HMAC-SHA-256 is taken to
    draw each pseudonym by chance.

    When it misleads: it is about chance. Who has the key can look for two names that collide.

    Examples
    --------
    >>> collision_chance(10**9, length=16)
    Any two of 1,000,000,000 people share a pseudonym of 64 bits: a chance of 2.7%,
    above the limit (one in 1,000,000)
    >>> collision_chance(10**9).chance < 1e-20
    True
    """
    form = Form.of(format, length)
    return _chance(whole_number(people, "people", at_least=1), form, MOST_LIKELY)


def safe_form(format_: Any, length: Any, people: Any, max_collision: Any) -> Form:
    """Read how pseudonyms are written, and refuse what two persons may come to share."""
    form = Form.of(format_, length)
    if isinstance(max_collision, bool) or not isinstance(max_collision, (int, float)):
        raise ArgumentError("max_collision= is a chance, above 0 and at most 1")
    if not 0 < max_collision <= 1:
        raise ArgumentError("max_collision= is a chance, above 0 and at most 1")
    if people is None:
        if form.bits >= USUAL_BITS:
            return form
        example = _chance(10**6, form, max_collision)
        raise ArgumentError(
            f"length={form.length} of {form.format} is {form.bits} bits, fewer than the usual "
            f"{USUAL_BITS}: say people=, how many persons there will be. Of a million, any two "
            f"share a pseudonym: {_said(example.chance)}"
        )
    chance = _chance(whole_number(people, "people", at_least=1), form, max_collision)
    if not chance.is_within:
        raise ArgumentError(
            f"of people={chance.people:,} any two share a pseudonym of {chance.bits} bits: "
            f"{_said(chance.chance)}, above max_collision= ({_said(max_collision)}). Take a longer "
            "length=, or none for the usual one"
        )
    return form


def refuse_collisions(pseudonyms: Sequence[str], source: Iterable[Hashable]) -> None:
    """Reject pseudonyms of which two different values have got the same."""
    n_different = len(set(pseudonyms))
    # What they are of is counted only where it may matter.
    if n_different < len(pseudonyms) and n_different < len(set(source)):
        raise CollisionError(
            "two different values have come to share a pseudonym; nothing was done. Take a longer "
            "length="
        )


def _said(chance: float) -> str:
    """Write a chance as people read it."""
    if chance >= _OFTEN:
        return f"a chance of {percent(chance)}"
    if chance * _TRILLION < 1:
        return "less than one in a trillion"
    times = 1 / chance
    return f"one in {round(times, 1 - math.floor(math.log10(times))):,.0f}"


def _chance(people: int, form: Form, limit: float) -> CollisionChance:
    expected = float(people) * (float(people - 1) / 2.0 ** (form.bits + 1))
    return CollisionChance(people, form.bits, -math.expm1(-expected), limit)
