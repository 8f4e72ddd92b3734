"""How the cells of a column look, and which columns look like direct identifiers.

The expressions are written so that Python, Java, RE2 and PostgreSQL read them alike, also inside a
text of SQL: no classes of Unicode, no looking ahead, no backslash.

A rule is written once, over the codes of a number's signs without its separators. Given arrays, it
answers for many numbers at once; given texts of SQL (`SqlText`), or whatever else has its methods,
it writes the expression that a database or Spark computes.

A shape is a hint for a person to look at, no proof.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import with_article

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # The code of the sign at a position, 0 behind the last one.
    Codes = Callable[[int], Any]

# Of these no digit checks the others; they are known by how they are written.
_UNCHECKED = (
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}",  # US social security
    r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",  # UK national insurance
)
_NATIONAL = (
    *_UNCHECKED,
    r"[XYZ0-9][0-9]{7}-?[A-Z]",  # Spanish DNI and NIE
    r"[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",  # Italian fiscal code
    r"[0-9]{6}(?:[0-9]{2})?[-+A][0-9]{3}[0-9A-Z]",  # Nordic
    r"[0-9]{2}[.][0-9]{2}[.][0-9]{2}-[0-9]{3}[.][0-9]{2}",  # Belgian
    r"[0-9]{3}[.][0-9]{3}[.][0-9]{3}-[0-9]{2}",  # Brazilian CPF
    r"[12] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{3} ?[0-9]{3}(?: ?[0-9]{2})?",  # French
    r"[0-9]{9}|[0-9]{11}",  # Dutch, Portuguese; German, Polish, Norwegian
)
_PHONE = (
    r"(?:[+]|00)[1-9][0-9 ()./-]{6,18}[0-9]",
    r"[(]?0[0-9 ()./-]{7,16}[0-9]",
    r"[(]?[2-9][0-9]{2}[)]?[-. ]{1,2}[2-9][0-9]{2}[-. ][0-9]{4}",
)
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_GROUP = "[0-9a-fA-F]{1,4}"
_IP = (
    rf"(?:{_BYTE}[.]){{3}}{_BYTE}(?:[:/][0-9]{{1,5}})?",
    rf"(?:{_GROUP}:){{7}}{_GROUP}",
    rf"(?:{_GROUP}:){{1,6}}(?::{_GROUP}){{1,6}}",
)
# Four decimals of a degree are eleven metres.
_DEGREES = "[-+]?[0-9]{1,3}[.][0-9]{4,}"
SHAPES = {
    "e-mail address": r"[^@ ]+@[^@ ]+[.][^@ .]+",
    "web address": r"(?:https?|ftp)://[^ ]+|www[.][^ ]+[.][^ ]+",
    "IP address": "|".join(_IP),
    "MAC address": r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}",
    "pair of coordinates": rf"(?:POINT ?)?[(]?{_DEGREES} ?[,; ] ?{_DEGREES}[)]?",
    # With or without dashes; the longer ones are what hash functions give.
    "UUID or hash": (
        r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"
        r"|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}"
    ),
    "IBAN": r"[A-Z]{2}[0-9]{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}",
    "telephone number": "|".join(_PHONE),
    "national id": "|".join(_NATIONAL),
}
# Those that a doubt about a column rests on beside numbers with check digits.
UNCHECKED = {
    **{kind: SHAPES[kind] for kind in SHAPES if kind not in {"IBAN", "national id"}},
    # Of a house's own network, too.
    "e-mail address": r"[^@ ]+@[^@ ]+|[^@]*<[^@ ]+@[^@ ]+>",
    "national number": "|".join(_UNCHECKED),
}
# A date or a fraction has the shape of a telephone number, too.
DATES = r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}.*"
# Numbers written as text; a fraction of noughts is none.
WHOLE = r"[-+]?[0-9]+(?:[.,]0*)?"
FRACTION = r"[-+]?[0-9]*[.,][0-9]*[1-9][0-9]*(?:[eE][-+]?[0-9]+)?"
# A date of the last century, the day or the year first.
LAST_CENTURY = (
    r"19[0-9]{2}[-/. ][0-9]{1,2}[-/. ][0-9]{1,2}(?:[^0-9].*)?"
    r"|[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ]19[0-9]{2}(?:[^0-9].*)?"
)
DEGREES = _DEGREES
# Whole numbers of these lengths, from and below, are looked at as national ids.
NATIONAL_NUMBERS = ((10**8, 10**9), (10**10, 10**11))


@dataclass(frozen=True)
class Shape:
    """How the cells of a column look: counts of rows, no value.

    Attributes
    ----------
    n_known : int
        Rows that have a value.
    matches : dict of kind to int
        Rows whose value has the shape of an e-mail address, a telephone number, ….
    """

    n_known: int
    matches: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Numerals:
    """How many cells of a column are numbers or dates, as such or written as text.

    Attributes
    ----------
    n_whole, n_fractions, n_dates : int
        Rows whose value is a whole number, a number with a fraction, a date or instant.
    """

    n_whole: int = 0
    n_fractions: int = 0
    n_dates: int = 0


# Signs that may stand between two digits.
SEPARATORS = " .-"
# The longest number, an IBAN.
LONGEST = 34


class SqlText:
    """A number or a condition, as a text of SQL that Python's operators put together."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self.text = text

    def __str__(self) -> str:
        """Write it."""
        return self.text

    def choose(self, yes: Any, no: Any) -> SqlText:
        """Write one of two numbers, by whether this condition holds."""
        return SqlText(f"(case when {self} then {yes} else {no} end)")

    def look_up(self, table: str) -> SqlText:
        """Write the code of the sign at this place of a table, counted from 0."""
        return SqlText(f"coalesce(ascii(substr('{table}', {self + 1}, 1)), 0)")

    def _with(self, sign: str, other: Any) -> SqlText:
        return SqlText(f"({self.text} {sign} {other})")

    def __add__(self, other: Any) -> SqlText:
        return self._with("+", other)

    def __sub__(self, other: Any) -> SqlText:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> SqlText:
        return SqlText(f"({other} - {self.text})")

    def __mul__(self, other: Any) -> SqlText:
        return self._with("*", other)

    def __mod__(self, other: Any) -> SqlText:
        return self._with("%", other)

    def __eq__(self, other: object) -> SqlText:  # type: ignore[override]
        return self._with("=", other)

    def __ge__(self, other: Any) -> SqlText:
        return self._with(">=", other)

    def __le__(self, other: Any) -> SqlText:
        return self._with("<=", other)

    def __and__(self, other: Any) -> SqlText:
        return self._with("and", other)

    def __or__(self, other: Any) -> SqlText:
        return self._with("or", other)


@dataclass(frozen=True)
class SqlSigns:
    """The codes of the signs of a text of SQL; `code` is the function that gives one."""

    text: str
    code: str
    text_type: str

    def __call__(self, i: int) -> SqlText:
        """Write the code of the sign at a position, 0 behind the last one."""
        return SqlText(f"coalesce({self.code}(substr({self.text}, {i + 1}, 1)), 0)")


def _where(condition: Any, yes: Any, no: Any) -> Any:
    if hasattr(condition, "choose") and not isinstance(condition, (np.ndarray, np.generic)):
        return condition.choose(yes, no)
    return np.where(condition, yes, no)


def _looked_up(table: str, place: Any) -> Any:
    """Return the code of the sign at a place of a table, counted from 0."""
    if hasattr(place, "look_up"):
        return place.look_up(table)
    return np.frombuffer(table.encode("ascii"), dtype=np.uint8).astype(np.int64)[place]


def _digits(code: Codes, n: int, start: int = 0) -> list[Any]:
    return [code(start + i) - 48 for i in range(n)]


def _weighted(digits: Sequence[Any], weights: Sequence[int]) -> Any:
    total = digits[0] * weights[0]
    for digit, weight in zip(digits[1:], weights[1:], strict=True):
        total = total + digit * weight
    return total


def _number(digits: Sequence[Any], modulus: int) -> Any:
    """Return a number that is congruent to the one of the digits."""
    return _weighted(digits, [pow(10, len(digits) - 1 - i, modulus) for i in range(len(digits))])


def _luhn(digits: Sequence[Any]) -> Any:
    """Every second digit from the right is doubled, and nine taken away above nine."""
    signs = [
        _looked_up("0246813579", digit) - 48 if (len(digits) - i) % 2 == 0 else digit
        for i, digit in enumerate(digits)
    ]
    return _weighted(signs, [1] * len(signs)) % 10 == 0


def _is_day(month: Any, day: Any) -> Any:
    return (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)


def _pair(digits: Sequence[Any], i: int) -> Any:
    return digits[i] * 10 + digits[i + 1]


def _dutch(code: Codes) -> Any:
    # The last weight is -1, which is 10.
    return _weighted(_digits(code, 9), (9, 8, 7, 6, 5, 4, 3, 2, 10)) % 11 == 0


def _portuguese(code: Codes) -> Any:
    d = _digits(code, 9)
    left = _weighted(d[:8], range(9, 1, -1)) % 11
    return ((11 - left) % 11 % 10 == d[8]) & (d[0] >= 1)


def _british(code: Codes) -> Any:
    return _weighted(_digits(code, 10), (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _swedish(code: Codes, start: int = 0) -> Any:
    d = _digits(code, 10, start)
    day = _pair(d, 4)
    # Who is not registered as a resident has 60 added to the day.
    return _luhn(d) & _is_day(_pair(d, 2), _where(day >= 61, day - 60, day))


def _swedish_long(code: Codes) -> Any:
    century = _pair(_digits(code, 2), 0)
    return _swedish(code, 2) & (century >= 18) & (century <= 20)


def _polish(code: Codes) -> Any:
    d = _digits(code, 11)
    # The century is in the month, by twenties.
    right = _weighted(d, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0
    return right & _is_day(_pair(d, 2) % 20, _pair(d, 4))


def _german(code: Codes) -> Any:
    # ISO 7064, Mod 11, 10.
    d = _digits(code, 11)
    product: Any = d[0] * 0 + 10
    for digit in d[:10]:
        product = ((digit + product + 9) % 10 + 1) * 2 % 11
    return ((11 - product) % 10 == d[10]) & (d[0] >= 1)


def _belgian(code: Codes) -> Any:
    d = _digits(code, 11)
    number, check, month = _number(d[:9], 97), _pair(d, 9), _pair(d, 2)
    # Of people born from 2000 on a 2 stands before the number.
    right = ((number + check) % 97 == 0) | ((number + check + 2 * 10**9 % 97) % 97 == 0)
    return right & (check >= 1) & (check <= 97) & (month <= 12) & (_pair(d, 4) <= 31)


def _brazilian(code: Codes) -> Any:
    d = _digits(code, 11)
    first = _weighted(d[:9], range(10, 1, -1)) * 10 % 11 % 10 == d[9]
    second = _weighted(d[:10], range(11, 1, -1)) * 10 % 11 % 10 == d[10]
    return first & second


def _norwegian(code: Codes) -> Any:
    d = _digits(code, 11)
    first = _weighted(d[:10], (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
    second = _weighted(d, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    # A number for a time has 40 added to the day.
    day = _pair(d, 0)
    return first & second & _is_day(_pair(d, 2), _where(day >= 41, day - 40, day))


def _swiss(code: Codes) -> Any:
    d = _digits(code, 13)
    right = _weighted(d, [1, 3] * 6 + [1]) % 10 == 0
    return right & (d[0] == 7) & (d[1] == 5) & (d[2] == 6)


def _french(code: Codes) -> Any:
    d = _digits(code, 15)
    month, key = _pair(d, 3), _pair(d, 13)
    right = (_number(d[:13], 97) + key) % 97 == 0
    return right & (d[0] >= 1) & (d[0] <= 4) & (month >= 1) & (key >= 1) & (key <= 97)


def _chinese(code: Codes) -> Any:
    d = _digits(code, 17)
    left = _weighted(d, [2 ** (17 - i) % 11 for i in range(17)]) % 11
    right = _looked_up("10X98765432", left) == code(17)
    return right & _is_day(_pair(d, 10), _pair(d, 12))


def _card(code: Codes) -> Any:
    d = _digits(code, 16)
    begins = (d[0] >= 2) & (d[0] <= 6)
    return _luhn(d) & begins


def _american_card(code: Codes) -> Any:
    d = _digits(code, 15)
    return _luhn(d) & (d[0] == 3) & ((d[1] == 4) | (d[1] == 7))


def _spanish(code: Codes) -> Any:
    first = code(0)
    # X, Y and Z of foreigners stand for 0, 1 and 2.
    leading = _where(first >= 88, first - 88, first - 48)
    number = leading * (10**7 % 23) + _number(_digits(code, 7, 1), 23)
    return _looked_up("TRWAGMYFPDXBNJZSQVHLCKE", number % 23) == code(8)


# What a sign counts at an odd place, as a letter from A for 0; digits first, then letters.
_ODD = "BAFHJNPRTVBAFHJNPRTVCESULDGIMOQKWZYX"


def _italian(code: Codes) -> Any:
    values = [_value(code(i)) for i in range(15)]
    # At even places a digit counts what it is and a letter its place, from A for 0.
    parts = [
        _looked_up(_ODD, value) - 65 if i % 2 == 0 else _where(value >= 10, value - 10, value)
        for i, value in enumerate(values)
    ]
    return _weighted(parts, [1] * 15) % 26 == code(15) - 65


def _finnish(code: Codes) -> Any:
    # The sign of the century is left out where it is a separator.
    longer = code(10) >= 48
    behind = [_where(longer, code(i + 1), code(i)) for i in range(6, 10)]
    d = [*_digits(code, 6), *(sign - 48 for sign in behind[:3])]
    right = _looked_up("0123456789ABCDEFHJKLMNPRSTUVWXY", _number(d, 31) % 31) == behind[3]
    return right & _is_day(_pair(d, 2), _pair(d, 0))


def _iban(code: Codes) -> Any:
    if isinstance(code, SqlSigns):
        return _iban_in_sql(code)
    parts: list[tuple[Any, Any]] = []
    for i in (*range(4, LONGEST), 0, 1, 2, 3):
        sign = code(i)
        factor = _where(sign >= 65, 100, _where(sign >= 48, 10, 1))
        parts.append((factor, _where(sign >= 48, _value(sign), 0)))
    # Two and two: one sign after the other would nest deeper than Spark Connect can send.
    while len(parts) > 1:
        two = list(zip(parts[::2], parts[1::2], strict=False))
        joined = [((f * g) % 97, (v * g + w) % 97) for (f, v), (g, w) in two]
        parts = joined + parts[2 * len(two) :]
    return parts[0][1] == 1


def _iban_in_sql(signs: SqlSigns) -> SqlText:
    """Write the same with two digits for a letter, and few of the digits divided at a time."""
    digits = f"(substr({signs.text}, 5) || substr({signs.text}, 1, 4))"
    for value in range(10, 36):
        digits = f"replace({digits}, '{chr(value + 55)}', '{value}')"
    rest = f"(cast(substr({digits}, 1, 9) as bigint) % 97)"
    for start in range(10, 2 * LONGEST, 12):
        more = f"cast({rest} as {signs.text_type}) || substr({digits}, {start}, 12)"
        rest = f"(cast({more} as bigint) % 97)"
    return SqlText(f"({rest} = 1)")


def _value(sign: Any) -> Any:
    """Return 0 to 9 of a digit, 10 to 35 of a letter."""
    return _where(sign >= 65, sign - 55, sign - 48)


@dataclass(frozen=True)
class CheckedNumber:
    """A kind of number whose digits must agree.

    Attributes
    ----------
    kind : str
        What it is called.
    candidates : str
        The format, of `FORMATS`, that a number must have to be one.
    agrees : callable
        The rule; it takes the code of each sign.
    chance : float
        The share of numbers of the format that agree by chance, at most.
    """

    kind: str
    candidates: str
    agrees: Callable[[Codes], Any]
    chance: float


def digits_of(n: int) -> str:
    """Write the expression of so many digits, with a separator between some."""
    return f"[0-9](?:[{SEPARATORS}]?[0-9]){{{n - 1}}}"


_LENGTHS = (9, 10, 11, 12, 13, 15, 16)
# How numbers are written; the candidates of the rules below.
FORMATS = {
    **{f"{n} digits": digits_of(n) for n in _LENGTHS},
    "18 signs": f"{digits_of(17)}[{SEPARATORS}]?[0-9Xx]",
    "8 digits and a letter": (
        r"[XYZxyz0-9][ .-]?[0-9]{2}[ .-]?[0-9]{3}[ .-]?[0-9]{2}[ .-]?[A-Za-z]"
    ),
    "16 signs": (
        r"[A-Za-z]{6} ?[0-9]{2}[A-EHLMPR-Ta-ehlmpr-t] ?[0-9]{2}[A-Za-z] ?[0-9]{3}[A-Za-z]"
    ),
    "a date and signs": r"[0-9]{6}[-+A-FU-Ya-fu-y][0-9]{3}[0-9A-Ya-y]",
    "an account": r"[A-Za-z]{2}[0-9]{2} ?(?:[A-Za-z0-9]{4} ?){2,7}[A-Za-z0-9]{1,4}",
}
# Whole numbers of these lengths are looked at like the texts of their digits.
WHOLE_LENGTHS = {n: f"{n} digits" for n in _LENGTHS}

CHECKED = (
    CheckedNumber("IBAN", "an account", _iban, 1 / 97),
    CheckedNumber("credit card number", "16 digits", _card, 1 / 20),
    CheckedNumber("credit card number", "15 digits", _american_card, 1 / 500),
    CheckedNumber("Dutch citizen service number", "9 digits", _dutch, 1 / 11),
    CheckedNumber("Portuguese tax number", "9 digits", _portuguese, 1 / 10),
    CheckedNumber("British NHS number", "10 digits", _british, 1 / 11),
    CheckedNumber("Swedish personal number", "10 digits", _swedish, 1 / 100),
    CheckedNumber("Swedish personal number", "12 digits", _swedish_long, 1 / 1000),
    CheckedNumber("Polish PESEL number", "11 digits", _polish, 1 / 50),
    CheckedNumber("German tax number", "11 digits", _german, 1 / 10),
    CheckedNumber("Belgian national number", "11 digits", _belgian, 1 / 200),
    CheckedNumber("Brazilian CPF number", "11 digits", _brazilian, 1 / 100),
    CheckedNumber("Norwegian birth number", "11 digits", _norwegian, 1 / 1000),
    CheckedNumber("Swiss social security number", "13 digits", _swiss, 1 / 1000),
    CheckedNumber("French social security number", "15 digits", _french, 1 / 200),
    CheckedNumber("Chinese identity number", "18 signs", _chinese, 1 / 200),
    CheckedNumber("Spanish identity number", "8 digits and a letter", _spanish, 1 / 23),
    CheckedNumber("Italian tax code", "16 signs", _italian, 1 / 26),
    CheckedNumber("Finnish identity code", "a date and signs", _finnish, 1 / 31),
)

# Of fewer records nothing can be said about most of them: 95% of twenty allows for one exception.
ENOUGH = 20
# More than this share of the values are different, or have the shape. Chosen, as the next: a column
# that is named without need costs a look, one that is missed may be published.
NEARLY_ALL = 0.95
# Numbers that only look like a telephone's or a person's must also differ in this share of records.
MOSTLY_DIFFERENT = 0.5

# Any long number has these shapes.
WEAK = ("telephone number", "national id")


def likeness(shape: Shape, n_different: int) -> str | None:
    """Return why a column looks like a direct identifier; None if it does not.

    Parameters
    ----------
    shape : Shape
        What an engine saw.
    n_different : int
        Number of different values, a missing one not among them.

    Examples
    --------
    >>> from anonrisk.measures.counts.shapes import Shape
    >>> likeness(Shape(1000, {"e-mail address": 990}), 200)
    'looks like an e-mail address'
    >>> likeness(Shape(1000), 999)
    'nearly every value is different'
    """
    kind = identifier_kind(shape, n_different)
    if kind is not None:
        return f"looks like {with_article(kind)}"
    if shape.n_known >= ENOUGH and n_different >= NEARLY_ALL * shape.n_known:
        return "nearly every value is different"
    return None


def identifier_kind(shape: Shape, n_different: int) -> str | None:
    """Name the kind of identifier that a column has the shape of; None if it has none.

    Examples
    --------
    >>> from anonrisk.measures.counts.shapes import Shape
    >>> identifier_kind(Shape(1000, {"e-mail address": 990}), 200)
    'e-mail address'
    """
    if shape.n_known < ENOUGH:
        return None
    for kind, n_matches in shape.matches.items():
        weak = kind in WEAK and n_different < MOSTLY_DIFFERENT * shape.n_known
        if n_matches >= NEARLY_ALL * shape.n_known and not weak:
            return kind
    return None
