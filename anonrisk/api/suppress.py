"""Leaving out the records of small classes, or their cells."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.question import in_one_state, question_of
from anonrisk.core.arguments import by_column, not_negative, one_of, true_or_false, whole_number
from anonrisk.core.columns import require
from anonrisk.core.types import SuppressedAs
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import CellSuppression, ChosenCells, LargeClasses
from anonrisk.planning.left_out import choose_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import FrameT, Name, Names
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.question import Question


@in_one_state
def suppress(
    frame: FrameT,
    qids: Names | None = None,
    k: int | None = None,
    *,
    cells: bool = False,
    suppressed: str | float | None = "*",
    unit: Name | None = None,
    missing: SuppressedAs = "value",
    column_weights: Mapping[Any, float] | None = None,
    shared: bool = False,
) -> FrameT:
    """Leave out the records of classes smaller than k, or suppress cells of theirs.

    Parameters
    ----------
    frame, unit, qids
        As in `anonrisk.classes`. Unless `missing="wildcard"`, cells are marked from the last
        quasi-identifier on, so name the most precious first.
    k : int
        The size from which a class is large enough; there is no default.
    cells : bool
        Suppress cells instead of leaving records out. With `missing="value"` that is repeated until
        no class is smaller than k, marked cells counted as equal to each other; if too few are
        left, the smallest other class joins them.
    suppressed : str, number or None
        What marks a cell. With a text the column becomes one of text; None is a missing value.
        With `missing="wildcard"` cells become missing, since only those match every value.
    missing : {"value", "wildcard"}
        What a missing cell is when records are counted. As a wildcard it matches every value: cells
        are then chosen, the fewest that each record needs, so that every record matches at least k,
        itself among them. Records that are alike lose the same cells.
    column_weights : dict of column to float, optional
        What a cell of a column is worth, where cells are chosen; 1 unless it is named. One of
        weight 0 goes first, one of infinite weight never.
    shared : bool
        Where cells are chosen, a record that matches too few loses cells until it fits k records of
        the table as it was. With `shared=True` it keeps them if cells that others lose are enough.
        That takes far fewer cells, and leaves records in full view that no other is like.

    Returns
    -------
    DataFrame
        A new table of the same kind that is k-anonymous, by the rule of `missing`. On Spark it is
        lazy; for cells after one look at what is left, or at the classes, at most 500,000.
        `utility` with the table as it was says how many cells of each column are suppressed.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingUnitError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.at_risk : the records that would go
    anonrisk.plan : coarser columns, so that fewer go
    anonrisk.generalize : coarser columns by hand

    Notes
    -----
    Cells are chosen as follows. Of the sets of columns without which a record matches k, it loses
    the one of least weight, of fewest columns, last columns first: so no cell comes back without
    harm. With `shared=True` records of one group, alike without such a set, lose it one after
    another until the others have enough; then cells come back that nobody needs, and where few
    records match too few a search finds the least. Up to twelve columns every set is looked at.

    What it is not: two records that match need not match a third, so that wildcards part a table
    into no classes, and an attacker who guesses what is missing is not stopped by a count. With
    `shared=True` some records match k only because others fit anything.

    References
    ----------
    - A. Gionis, A. Mazza & T. Tassa, *k-Anonymization Revisited*, ICDE 2008, 744-753: a record that
      was suppressed here is (k,1)-anonymous; one that relies on others is only (1,k)-anonymous.
    - M. Templ, A. Kowarik & B. Meindl, *Statistical Disclosure Control for Micro-Data Using the R
      Package sdcMicro*, Journal of Statistical Software 67(4), 2015: local suppression.

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
    >>> df.anon.suppress(["zip", "age"], k=2, cells=True, missing="wildcard", shared=True)
      zip   age
    0   a     3
    1   a     3
    2   b  <NA>
    3   b     5
    """
    if k is None:
        raise ArgumentError("k is needed: the size from which a class is large enough")
    k = whole_number(k, "k", at_least=1)
    one_of(missing, "missing", get_args(SuppressedAs))
    true_or_false(cells, "cells")
    true_or_false(shared, "shared")
    _check_marker(suppressed)
    engine, question = question_of(frame, qids, unit=unit, missing="value")
    if missing == "wildcard":
        if not cells:
            raise ArgumentError(
                "missing='wildcard' is for cells=True: where records are left out, those that "
                "matched them match fewer"
            )
        prices = _chosen_by(question, suppressed, column_weights)

        def choose(columns: Any, counts: Integers) -> Booleans:
            return choose_cells(columns, counts, k, prices, shared=shared).cells

        return engine.rewrite(frame, ChosenCells(question, choose))
    if column_weights is not None or shared:
        raise ArgumentError(
            "column_weights= and shared= are for cells that are chosen: give cells=True, "
            "missing='wildcard' with them"
        )
    if cells:
        return engine.rewrite(frame, CellSuppression(question, k, suppressed))
    return engine.keep(frame, LargeClasses(question, k))


def _check_marker(marker: Any) -> None:
    text_or_number = isinstance(marker, (str, int, float)) and not isinstance(marker, bool)
    if marker is not None and not text_or_number:
        raise ArgumentError("suppressed= is a text, a number or None")


def _chosen_by(question: Question, marker: Any, weights: Mapping[Any, float] | None) -> list[float]:
    """Check what only cells that are chosen can have, and give the weights of their columns."""
    if marker not in (None, "*"):
        raise ArgumentError(
            "with missing='wildcard' suppressed cells become missing, since only those match every "
            "value: leave suppressed= out"
        )
    if question.unit is not None:
        raise ArgumentError(
            f"missing='wildcard' counts records, and unit {question.unit!r} has several: bring the "
            "table to one row per person, or take missing='value'"
        )
    fields = by_column(weights, "column_weights")
    require(fields, "column of column_weights=", question.qid)
    return [_weight(fields.get(name, 1.0), name) for name in question.qid]


def _weight(value: Any, name: Name) -> float:
    return inf if value == inf else not_negative(value, f"the weight of column {name!r}")
