"""Columns that look like direct identifiers: by how many values differ, or by their shape.

The expressions are written so that Python, Java and RE2 read them alike: no classes of Unicode, no
looking ahead. A shape is a hint for a person to look at, no proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonrisk.counts.counter import Shape

# More than this share of the values are different, or have the shape.
NEARLY_ALL = 0.95
# With fewer records nothing can be said about most of them.
ENOUGH = 20
# Numbers that only look like a telephone's or a person's must also differ in this many records.
MOSTLY_DIFFERENT = 0.5

_NATIONAL = (
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}",  # US social security
    r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",  # UK national insurance
    r"[XYZ0-9][0-9]{7}-?[A-Z]",  # Spanish DNI and NIE
    r"[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",  # Italian fiscal code
    r"[0-9]{6}(?:[0-9]{2})?[-+A][0-9]{3}[0-9A-Z]",  # Nordic
    r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}",  # Belgian
    r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}",  # Brazilian CPF
    r"[12] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{3} ?[0-9]{3}(?: ?[0-9]{2})?",  # French
    r"[0-9]{9}|[0-9]{11}",  # Dutch, Portuguese; German, Polish, Norwegian
)
_PHONE = (
    r"(?:\+|00)[1-9][0-9 ()./-]{6,18}[0-9]",
    r"\(?0[0-9 ()./-]{7,16}[0-9]",
    r"\(?[2-9][0-9]{2}\)?[-. ]{1,2}[2-9][0-9]{2}[-. ][0-9]{4}",
)
SHAPES = {
    "e-mail address": r"[^@ ]+@[^@ ]+\.[^@ .]+",
    # With or without dashes; the longer ones are what hash functions give.
    "UUID or hash": (
        r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"
        r"|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}"
    ),
    "IBAN": r"[A-Z]{2}[0-9]{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}",
    "telephone number": "|".join(_PHONE),
    "national id": "|".join(_NATIONAL),
}
# A date has the shape of a telephone number, too.
DATES = r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}.*"
# Numbers written as text; a fraction of noughts is none.
WHOLE = r"[-+]?[0-9]+(?:[.,]0*)?"
FRACTION = r"[-+]?[0-9]*[.,][0-9]*[1-9][0-9]*(?:[eE][-+]?[0-9]+)?"
# Whole numbers of these lengths, from and below, are looked at as national ids.
NATIONAL_NUMBERS = ((10**8, 10**9), (10**10, 10**11))
# Any long number has these shapes.
WEAK = ("telephone number", "national id")


def reason(shape: Shape, n_different: int) -> str | None:
    """Say why a column looks like a direct identifier; None if it does not.

    Parameters
    ----------
    shape : Shape
        What an engine saw.
    n_different : int
        Number of different values, a missing one not among them.

    Examples
    --------
    >>> from anonrisk.counts.counter import Shape
    >>> reason(Shape(1000, {"e-mail address": 990}), 200)
    'looks like an e-mail address'
    >>> reason(Shape(1000), 999)
    'nearly every value is different'
    """
    kind = kind_of(shape, n_different)
    if kind is not None:
        article = "an" if kind[0] in "eI" else "a"
        return f"looks like {article} {kind}"
    if shape.n_known >= ENOUGH and n_different >= NEARLY_ALL * shape.n_known:
        return "nearly every value is different"
    return None


def kind_of(shape: Shape, n_different: int) -> str | None:
    """Name the kind of identifier that a column has the shape of; None if it has none.

    Examples
    --------
    >>> from anonrisk.counts.counter import Shape
    >>> kind_of(Shape(1000, {"e-mail address": 990}), 200)
    'e-mail address'
    """
    if shape.n_known < ENOUGH:
        return None
    for kind, n_matches in shape.matches.items():
        weak = kind in WEAK and n_different < MOSTLY_DIFFERENT * shape.n_known
        if n_matches >= NEARLY_ALL * shape.n_known and not weak:
            return kind
    return None
