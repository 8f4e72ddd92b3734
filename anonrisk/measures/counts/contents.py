"""What the different cells of each column look like: the rules, and the counts of them.

Every different cell gets a number whose bits say what it looks like (`BITS`); an engine counts the
cells and the rows of each such number, and no cell leaves it. The rules are the same everywhere: in
process they are computed by arrays, elsewhere as the texts of SQL that this module writes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import field
from hashlib import md5
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.question import Asks
from anonrisk.measures.counts.shapes import (
    CHECKED,
    DATES,
    DEGREES,
    ENOUGH,
    FORMATS,
    FRACTION,
    LAST_CENTURY,
    SEPARATORS,
    UNCHECKED,
    WHOLE,
    SqlSigns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid

# ---- what a cell can look like ------------------------------------------------------------------

PHONE = "telephone number"
TEXT, NUMBER, DATE, NESTED, OTHER = "text", "number", "date", "nested", "other"
# Marks beside the shapes of identifiers.
NUMERALS = {"whole": WHOLE, "fraction": FRACTION, "date": DATES, "last century": LAST_CENTURY}
_MARKS = (*NUMERALS, "degrees", "long text", "placeholder", "keys")
BITS: dict[str, int] = {
    name: 1 << i
    for i, name in enumerate(
        (*UNCHECKED, *FORMATS, *(f"checked {i}" for i in range(len(CHECKED))), *_MARKS)
    )
}
# No cell without one of these has the shape of an identifier.
MAY_IDENTIFY = "[0-9@:]|www"
# So many characters, of so many words, are free text. Chosen.
LONG, WORDS = 50, 8
# Coordinates lie within these degrees; a thousandth of one is a street, a tenth of that a house.
HALF_CIRCLE, STREET, HAIR = 180, 1000, 1e-6
# Floats from here on may have lost their last digit; beyond the other, squares have no number.
EXACT, LARGEST = 2**53, 1e100

# Sums over cells: `n` the rows of one, `y` its number. What has no square is left out.
_USUAL = f"case when abs(y) < {LARGEST:g}"
SUMS = {
    "n": f"sum({_USUAL} then n end)",
    "total": f"sum({_USUAL} then n * y end)",
    "squares": f"sum({_USUAL} then n * y * y end)",
    "low": f"min({_USUAL} then y end)",
    "high": f"max({_USUAL} then y end)",
    "low_alone": f"min({_USUAL} and n = 1 then y end)",
    "high_alone": f"max({_USUAL} and n = 1 then y end)",
}

# What people write where they know nothing, without case.
PLACEHOLDERS = (
    *("", "-", "--", "---", "?", "??", "???", ".", "..", "...", "n/a", "na", "n.a.", "n.a", "nan"),
    *("null", "nil", "#n/a", "<na>", "nat", "unknown", "unk", "missing", "not available"),
    *("not applicable", "not known", "not specified", "unspecified", "tbd", "to be determined"),
    *("onbekend", "nvt", "n.v.t.", "unbekannt", "k.a.", "keine angabe", "inconnu", "desconocido"),
    *("sconosciuto", "desconhecido", "9999", "99999", "999999"),
)
# Numbers that stand for none, where all the others are far from them.
HIGH_PLACEHOLDERS = tuple(10**n - 1 for n in range(3, 10))
LOW_PLACEHOLDERS = (-1, -9, -99, -999, -9999, -99999)

# A shape is one of a column if this share of its rows, or of its different values, has it. Chosen:
# well below one half, since a column may hold identifiers where people had them, and else a word.
SHARE = 0.2
# Spellings are compared in columns of at most so many values.
FOLDABLE = 10_000
# Spellings are folded sign by sign, so that every engine can.
_FOLDED = (
    *range(0x41, 0x5B),
    *range(0xC0, 0x180),
    *range(0x386, 0x3CF),
    *range(0x400, 0x460),
    *range(0x1EA0, 0x1EFA),
)
_LEFT_OUT = (
    *(0x09, 0x0A, 0x0D, 0x20, 0xA0, 0x202F, 0x3000, 0xFEFF),
    *range(0x2000, 0x2010),
    *range(0x300, 0x370),
)


def _folding() -> dict[str, str]:
    """Return the letter without case and accents of each that has some."""
    folded = {}
    for sign in map(chr, _FOLDED):
        apart = unicodedata.normalize("NFKD", sign).casefold()
        plain = "".join(part for part in apart if not unicodedata.combining(part))
        if len(plain) == 1 and plain != sign:
            folded[sign] = plain
    return folded


_FOLDING = _folding()
# The signs of a text are replaced one by one; those behind the last letter of the second are left
# out, as `translate` of databases and Spark does it.
FOLDED_FROM = "".join(_FOLDING) + "".join(map(chr, _LEFT_OUT))
FOLDED_TO = "".join(_FOLDING.values())
_TABLE = str.maketrans({**_FOLDING, **dict.fromkeys(map(chr, _LEFT_OUT), "")})

_WITHOUT_SEPARATORS = str.maketrans("", "", SEPARATORS)
# What looks like a space, or like nothing, is one; of signs that every engine can replace.
SPACES = "\t\n\x0b\x0c\r\x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200C)))
SPACES += "\u2028\u2029\u202f\u205f\u3000\ufeff"
_SPACED = str.maketrans(SPACES, " " * len(SPACES))


def plain(text: str) -> str:
    r"""Return a text on one line, without spaces around it.

    Examples
    --------
    >>> plain("\u00a0NL91 ABNA\n")
    'NL91 ABNA'
    """
    return text.translate(_SPACED).strip(" ")


def folded(text: str) -> str:
    """Return a spelling without case, spaces and accents.

    Examples
    --------
    >>> folded("São  Paulo"), folded("sao paulo ")
    ('saopaulo', 'saopaulo')
    """
    return text.translate(_TABLE)


def count_folded(texts: Sequence[str]) -> int:
    """Count the different spellings; texts of 10,000 values are folded as one.

    Examples
    --------
    >>> count_folded(["São  Paulo", "sao paulo ", "Rio"])
    2
    """
    whole = "\0".join(texts)
    if whole.count("\0") != len(texts) - 1:
        return len(set(map(folded, texts)))
    return len(set(folded(whole).split("\0")))


def place(text: str) -> str:
    """Return what texts are drawn by: the MD5 of a text."""
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


# ---- what is asked and answered -----------------------------------------------------------------


@dataclass(frozen=True)
class CellContents(Asks["dict[Name, ColumnContents]"]):
    """How the cells of some columns look.

    Shapes of identifiers are not looked for in tables of fewer than `ENOUGH` rows.

    Attributes
    ----------
    columns : names
        The columns.
    keys : tuple of str
        Keys of maps and JSON that are looked for, without case and signs.
    identifiers : bool
        Whether shapes of identifiers are looked for; who knows that there are few rows says no.
    """

    columns: Qid
    keys: tuple[str, ...] = ()
    identifiers: bool = True


@dataclass(frozen=True)
class SomeTexts(Asks["dict[Name, list[str]]"]):
    """Some different texts of columns of texts: the first by their MD5, on every engine the same.

    Attributes
    ----------
    columns : names
        The columns.
    at_most : int
        How many of each.
    """

    columns: Qid
    at_most: int


@dataclass(frozen=True)
class Numbers:
    """Sums over the rows of a column of numbers, and its ends."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float | None = None
    high: float | None = None
    # The ends among the numbers that one row alone has.
    low_alone: float | None = None
    high_alone: float | None = None

    @classmethod
    def of(cls, sums: Iterable[Any]) -> Numbers:
        """Read what an engine found by `SUMS`; of what is no number all are missing."""
        n, *others = (None if item is None else float(item) for item in sums)
        return cls() if n is None else cls(round(n), *others)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Looks:
    """The different cells that look alike: how many, in how many rows, and what numbers they are.

    An engine gives one for each number of bits (`BITS`).
    """

    bits: int
    n_values: int
    n_rows: int
    numbers: Numbers = field(default_factory=Numbers)


@dataclass(frozen=True)
class ColumnContents:
    """How the cells of a column look: counts, and no cell.

    Attributes
    ----------
    kind : {"text", "number", "date", "nested", "other"}
        What it holds.
    n_rows, n_known, n_values : int
        Rows, rows that have a value, and different values.
    n_folded : int or None
        Different values without case, spaces and accents; None of what is no text.
    looks : dict of name to (rows, values)
        Rows and different values that look like something; see `BITS`.
    numbers : Numbers
        Of a column of numbers.
    plain_ends : (low, high) or None
        The ends of the numbers that do not look like a placeholder.
    """

    kind: str
    n_rows: int
    n_known: int = 0
    n_values: int = 0
    n_folded: int | None = None
    looks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    numbers: Numbers = field(default_factory=Numbers)
    plain_ends: tuple[float, float] | None = None

    @classmethod
    def of(
        cls, kind: str, n_rows: int, looks: Iterable[Looks], n_folded: int | None = None
    ) -> ColumnContents:
        """Put together what an engine has counted."""
        each = list(looks)
        n_known, n_values = sum(x.n_rows for x in each), sum(x.n_values for x in each)
        results: dict[str, tuple[int, int]] = {}
        for name, bit in BITS.items():
            if n_rows < ENOUGH and bit < BITS[_MARKS[0]]:
                continue
            having = [look for look in each if look.bits & bit]
            if having:
                counts = sum(look.n_rows for look in having), sum(look.n_values for look in having)
                results[name] = counts
        # Whether digits agree is asked where enough cells have the format.
        formats = _formats(results, n_known, n_values)
        for i, number in enumerate(CHECKED):
            if number.candidates not in formats:
                results.pop(f"checked {i}", None)
        plain = [look.numbers for look in each if not look.bits & BITS["placeholder"]]
        low, high = _end(min, plain, "low"), _end(max, plain, "high")
        every = [look.numbers for look in each]
        return cls(
            kind,
            n_rows,
            n_known=n_known,
            n_values=n_values,
            n_folded=n_folded,
            looks=results,
            numbers=Numbers(
                sum(part.n for part in every),
                sum(part.total for part in every),
                sum(part.squares for part in every),
                _end(min, every, "low"),
                _end(max, every, "high"),
                _end(min, every, "low_alone"),
                _end(max, every, "high_alone"),
            ),
            plain_ends=None if low is None or high is None else (low, high),
        )

    @property
    def formats(self) -> set[str]:
        """The formats that enough cells have for their digits to be checked."""
        return _formats(self.looks, self.n_known, self.n_values)

    def rows(self, name: str) -> int:
        """Count the rows whose cell looks like something."""
        return self.looks.get(name, (0, 0))[0]

    def values(self, name: str) -> int:
        """Count the different cells that look like something."""
        return self.looks.get(name, (0, 0))[1]


def with_digits(
    look: Callable[[Qid, Collection[str]], dict[Name, ColumnContents]], columns: Qid
) -> dict[Name, ColumnContents]:
    """Look at columns; at those that may be numbers once more, to see whether digits agree.

    A database or Spark takes longer to read the rules of all numbers than to count a table.
    """
    result = look(columns, ())
    numbers = tuple(name for name, cells in result.items() if cells.formats)
    if numbers:
        result |= look(numbers, {each for name in numbers for each in result[name].formats})
    return result


def _formats(looks: Mapping[str, tuple[int, int]], n_known: int, n_values: int) -> set[str]:
    """List the formats of the kinds of number that enough cells may be, whatever their lengths."""
    formats: dict[str, set[str]] = {}
    for number in CHECKED:
        if number.candidates in looks:
            formats.setdefault(number.kind, set()).add(number.candidates)
    enough: set[str] = set()
    for names in formats.values():
        rows, values = (sum(looks[name][i] for name in names) for i in (0, 1))
        if rows >= SHARE * n_known or values >= SHARE * n_values:
            enough |= names
    return enough


def _end(
    which: Callable[[list[float]], float], parts: Iterable[Numbers], name: str
) -> float | None:
    known = [end for end in (getattr(part, name) for part in parts) if end is not None]
    return which(known) if known else None


# ---- the rules as texts of SQL ------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """How a kind of SQL writes what kinds of SQL write differently."""

    matching: str
    code: str
    sign: str
    text: str
    rounding: str = "floor({0})"
    # The function that gives the bits of numbers, where expressions would be too long.
    checking: str | None = None

    def matches(self, text: str, pattern: str) -> str:
        """Write that a text, or a part of it, matches an expression."""
        return self.matching.format(text, pattern)

    def whole(self, text: str, pattern: str) -> str:
        """Write that the whole of a text does."""
        return self.matches(text, f"^(?:{pattern})$")

    def floor(self, number: str) -> str:
        """Write a number rounded down."""
        return self.rounding.format(number)


def plain_text(text: str, spelling: Spelling) -> str:
    """Write a text on one line, without spaces around it; see `plain`."""
    if spelling.checking is not None:
        return f"anonrisk_plain({text})"
    return f"trim(translate({text}, '{SPACES}', '{' ' * len(SPACES)}'))"


def compact_text(text: str) -> str:
    """Write a text without the separators of numbers, in capitals."""
    for sign in SEPARATORS:
        text = f"replace({text}, '{sign}', '')"
    return f"upper({text})"


def whole_text(number: str, spelling: Spelling) -> str:
    """Write the digits of a whole number; nothing of another."""
    return (
        f"case when {_is_whole(number, spelling)} then "
        f"cast(cast({number} as bigint) as {spelling.text}) end"
    )


def conditions(
    keys: Iterable[str], spelling: Spelling, *, identifiers: bool
) -> list[tuple[str, dict[str, str]]]:
    """Write when a cell has each bit, but for numbers with check digits; each behind a condition.

    Columns: `k` the kind; `t` the text on one line (`plain_text`), the digits of a whole number
    (`whole_text`) or a date with the year first; `y` the number.
    """
    numerals = {name: spelling.whole("t", pattern) for name, pattern in NUMERALS.items()}
    numerals["degrees"] = spelling.whole("t", DEGREES)
    dates = {"date": "1 = 1", "last century": spelling.matches("t", "^19[0-9][0-9]-")}
    return [
        (may_identify(spelling), numerals | (_shapes(spelling) if identifiers else {})),
        (f"k = '{TEXT}'", _words(keys, spelling)),
        (f"k = '{NUMBER}'", _sizes(spelling)),
        (f"k = '{DATE}'", dates),
    ]


def may_identify(spelling: Spelling) -> str:
    """Write that a text may have the shape of an identifier."""
    return f"(k = '{TEXT}' and {spelling.matches('t', MAY_IDENTIFY)})"


def may_be_number(spelling: Spelling) -> str:
    """Write that a cell may be a number with check digits."""
    return f"(({may_identify(spelling)} or k = '{NUMBER}') and t is not null)"


def bits(
    keys: Iterable[str], spelling: Spelling, formats: Collection[str], *, identifiers: bool
) -> str:
    """Write the bits of a cell, and whether the digits of some formats agree.

    Columns are those of `conditions`, and `c` for the text without separators.
    """
    parts = [
        f"(case when {when} then {_bits(condition)} else 0 end)"
        for when, condition in conditions(keys, spelling, identifiers=identifiers)
    ]
    if identifiers:
        checked = _bits_of_numbers("t", "c", spelling, formats)
        parts.append(f"(case when {may_be_number(spelling)} then {checked} else 0 end)")
    return " + ".join(parts)


def _shapes(spelling: Spelling) -> dict[str, str]:
    results = {name: spelling.whole("t", pattern) for name, pattern in UNCHECKED.items()}
    others = [spelling.whole("t", pattern) for pattern in (DATES, FRACTION)]
    return {**results, PHONE: f"({results[PHONE]} and not {others[0]} and not {others[1]})"}


def _words(keys: Iterable[str], spelling: Spelling) -> dict[str, str]:
    words = ", ".join(f"'{word}'" for word in PLACEHOLDERS)
    n_spaces = "(length(t) - length(replace(t, ' ', '')))"
    results = {
        "long text": f"(length(t) >= {LONG} and {n_spaces} >= {WORDS - 1})",
        "placeholder": f"(lower(t) in ({words}))",
    }
    if keys:
        begins = "substr(t, 1, 1) in ('{', '[')"
        results["keys"] = f"({begins} and {has_key('t', keys, spelling)})"
    return results


def _sizes(spelling: Spelling) -> dict[str, str]:
    parts = f"(y * {STREET})"
    apart = f"({parts} - {spelling.floor(f'({parts} + 0.5)')})"
    return {
        "whole": _is_whole("y", spelling),
        "fraction": f"(not {_is_whole('y', spelling)})",
        "degrees": f"(abs(y) <= {HALF_CIRCLE} and abs({apart}) > 0.000001)",
        "placeholder": f"(y in ({', '.join(map(str, numeric_placeholders()))}))",
    }


def numeric_placeholders() -> tuple[int, ...]:
    """List the numbers that may stand for none."""
    return (*HIGH_PLACEHOLDERS, *LOW_PLACEHOLDERS)


def has_key(text: str, keys: Iterable[str], spelling: Spelling, end: str = ":") -> str:
    """Write that JSON has one of some keys, behind which stands an end."""
    plain = f"lower({text})"
    for sign in "_- .":
        plain = f"replace({plain}, '{sign}', '')"
    return spelling.matches(plain, key_pattern(keys, end))


def key_pattern(keys: Iterable[str], end: str = ":") -> str:
    """Write the expression of a key of JSON, without case and signs."""
    return f'"(?:{"|".join(keys)})"{end}'


def _bits_of_numbers(text: str, compact: str, spelling: Spelling, formats: Collection[str]) -> str:
    """Write the bits of numbers with check digits; what has no such format is not computed."""
    if spelling.checking is not None:
        return f"coalesce({spelling.checking}({text}), 0)"

    signs = SqlSigns(compact, spelling.code, spelling.text)
    parts = []
    for name, pattern in FORMATS.items():
        rules = {
            f"checked {i}": str(number.agrees(signs)).replace("ascii(", f"{spelling.code}(")
            for i, number in enumerate(CHECKED)
            if number.candidates == name and name in formats
        }
        bits = " + ".join([str(BITS[name]), *([_bits(rules)] if rules else [])])
        parts.append(f"(case when {spelling.whole(text, pattern)} then {bits} else 0 end)")
    return " + ".join(parts)


def checked_bits(text: str) -> int:
    """Return the bits of a number with check digits, for who computes one after the other.

    Examples
    --------
    >>> checked_bits("123456782") == BITS["9 digits"] + BITS["checked 3"]
    True
    """
    signs = text.translate(_WITHOUT_SEPARATORS).upper().encode("ascii", "replace")

    def code(i: int) -> int:
        return signs[i] if i < len(signs) else 0

    bits = 0
    for name, pattern in FORMATS.items():
        if re.fullmatch(pattern, text):
            bits |= BITS[name]
            for i, number in enumerate(CHECKED):
                if number.candidates == name and number.agrees(code):
                    bits |= BITS[f"checked {i}"]
    return bits


def _bits(conditions: Mapping[str, str]) -> str:
    return " + ".join(
        f"(case when {condition} then {BITS[name]} else 0 end)"
        for name, condition in conditions.items()
    )


def _is_whole(number: str, spelling: Spelling) -> str:
    return f"(abs({number}) < {EXACT} and {spelling.floor(number)} = {number})"
