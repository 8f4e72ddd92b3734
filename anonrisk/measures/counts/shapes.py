"""How the cells of a column look: expressions to count them by, and the counts.

The expressions are written so that Python, Java, RE2 and PostgreSQL read them alike, also inside a
text of SQL: no classes of Unicode, no looking ahead, no backslash.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of fewer records nothing can be said about most of them: 95% of twenty allows for one exception.
ENOUGH = 20
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
