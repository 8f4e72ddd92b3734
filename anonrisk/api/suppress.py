"""Leaving out the records of small classes, or their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.api.question import question_of
from anonrisk.core.arguments import whole_number
from anonrisk.counts.change import CellSuppression, LargeClasses
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from anonrisk.core.columns import FrameT, Name, Names


def suppress(
    frame: FrameT,
    qids: Names | None = None,
    k: int = 5,
    *,
    cells: bool = False,
    suppressed: str | float | None = "*",
    unit: Name | None = None,
) -> FrameT:
    """Leave out the records of classes smaller than k, or mark cells of theirs.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`. Cells are marked from the last quasi-identifier on, so name the
        most precious first.
    k : int
        The size from which a class is large enough.
    cells : bool
        Mark cells instead of leaving records out. This is repeated until no class is smaller than
        k, marked cells counted as equal to each other; if too few are left, the smallest other
        class joins them.
    suppressed : str, number or None
        What marks a cell. With a text the column becomes one of text; None is a missing value.

    Returns
    -------
    DataFrame
        A new table of the same kind that is k-anonymous. On Spark it is lazy; for cells after one
        look at what is left.

    See Also
    --------
    anonrisk.at_risk : the records that would go
    anonrisk.plan : coarser columns, so that fewer go
    anonrisk.generalize : coarser columns by hand

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "age": [3, 3, 4, 5]})
    >>> df.anon.suppress(["zip", "age"], k=2)
      zip  age
    0   a    3
    1   a    3
    >>> df.anon.suppress(["zip", "age"], k=2, cells=True)
      zip age
    0   a   3
    1   a   3
    2   b   *
    3   b   *
    """
    k = whole_number(k, "k", at_least=1)
    marker = suppressed
    text_or_number = isinstance(marker, (str, int, float)) and not isinstance(marker, bool)
    if marker is not None and not text_or_number:
        raise ArgumentError("suppressed= is a text, a number or None")
    engine, question = question_of(frame, qids, unit=unit, missing="value")
    if cells:
        return engine.rewrite(frame, CellSuppression(question, k, marker))
    return engine.keep(frame, LargeClasses(question, k))
