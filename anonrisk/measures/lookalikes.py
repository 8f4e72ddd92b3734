"""Columns that look like direct identifiers: by how many values differ, or by their shape.

A shape is a hint for a person to look at, no proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.render import with_article
from anonrisk.measures.counts.shapes import ENOUGH as ENOUGH  # noqa: PLC0414 - public here

if TYPE_CHECKING:
    from anonrisk.measures.counts.shapes import Shape

# More than this share of the values are different, or have the shape. Chosen, as the next: a column
# that is named without need costs a look, one that is missed may be published.
NEARLY_ALL = 0.95
# Numbers that only look like a telephone's or a person's must also differ in this share of records.
MOSTLY_DIFFERENT = 0.5

# Any long number has these shapes.
WEAK = ("telephone number", "national id")


def reason(shape: Shape, n_different: int) -> str | None:
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
    >>> reason(Shape(1000, {"e-mail address": 990}), 200)
    'looks like an e-mail address'
    >>> reason(Shape(1000), 999)
    'nearly every value is different'
    """
    kind = kind_of(shape, n_different)
    if kind is not None:
        return f"looks like {with_article(kind)}"
    if shape.n_known >= ENOUGH and n_different >= NEARLY_ALL * shape.n_known:
        return "nearly every value is different"
    return None


def kind_of(shape: Shape, n_different: int) -> str | None:
    """Name the kind of identifier that a column has the shape of; None if it has none.

    Examples
    --------
    >>> from anonrisk.measures.counts.shapes import Shape
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
