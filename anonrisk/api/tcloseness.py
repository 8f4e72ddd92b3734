"""t-closeness: how far the worst class is from the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.sensitive import question_about, with_distance
from anonrisk.core.results import Closeness
from anonrisk.counts.question import Score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Distance, Missing


def tcloseness(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    distance: Distance = "auto",
    *,
    order: Iterable[Any] | None = None,
    hierarchy: Any = None,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> Closeness:
    """Give the t-closeness of a table: how far the worst class is from the table as a whole.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    distance : {"auto", "equal", "ordered", "hierarchical"}
        How far apart two values are. By itself the library takes ``"ordered"`` for floats and dates
        and ``"equal"`` for everything else: integer codes are not a scale.
    order : list of values, optional
        The values from the smallest to the largest, for an ordered distance of strings.
    hierarchy : dict, table, path or Hierarchy, optional
        A tree over the values; see `anonrisk.hierarchy.Hierarchy.of`.

    Returns
    -------
    Closeness
        A float that prints the kind of distance beside itself.

    Notes
    -----
    The largest earth mover's distance between a class and the table. T6, equal: ``½ Σ |p − q|``;
    T5, ordered: ``Σ |P_i − Q_i|`` / (m − 1) over the m values that the table has, a missing last;
    T7, hierarchical: the cost of a move is the height of the lowest common ancestor over the
    height of the tree (Li et al. 2007).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "stage": [1, 2, 3, 4]})
    >>> df.anon.tcloseness("zip", "stage")
    0.5 (equal distance)
    >>> df.anon.tcloseness("zip", "stage", "ordered")
    0.3333333333333333 (ordered distance)
    """
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    found = []
    for column in columns:
        about, settled = with_distance(
            engine, frame, column, distance, order=order, hierarchy=hierarchy
        )
        score = Score(settled)
        value = engine.score(frame, question, about, [score]).worst[score]
        found.append(Closeness(value, settled))
    return max(found)
