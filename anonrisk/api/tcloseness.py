"""t-closeness: how far the worst class is from the whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import question_about, with_distance
from anonrisk.core.results import Closeness
from anonrisk.measures.counts.question import Score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Distance, Missing


@in_one_state
def tcloseness(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    distance: Distance = "auto",
    *,
    order: Iterable[Any] | None = None,
    hierarchies: Any = None,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> Closeness:
    r"""Return the t-closeness of a table: how far the worst class is from the table as a whole.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    distance : {"auto", "equal", "ordered", "hierarchical"}
        How far apart two values are. By itself the library takes ``"ordered"`` for numbers with a
        fraction and dates and ``"equal"`` for everything else: integer codes are not a scale, also
        where they are stored as floats because one is missing.
    order : list of values, optional
        The values from the smallest to the largest, for an ordered distance of strings.
    hierarchies : dict, table, path or Hierarchy, optional
        A tree over the values; see `anonrisk.hierarchy.Hierarchy.of`. With several sensitive
        columns, a dict of column to tree; a dict is one where a key is a column, or where the tree
        would have one node alone below its top.

    Returns
    -------
    Closeness
        A float that prints the kind of distance beside itself.

    Raises
    ------
    As in `anonrisk.ldiv`.
    HierarchyError
        As in `anonrisk.generalize`.
    TooManyValuesError
        If an ordered distance is over too many different values.

    See Also
    --------
    anonrisk.ldiv : number of values that a class leaves in doubt
    anonrisk.delta_disclosure : the worst value instead of the whole distribution
    anonrisk.hierarchy.Hierarchy.of : the trees that it takes

    Notes
    -----
    The largest earth mover's distance between a class and the table, p and q their shares of a
    value, P and Q their cumulative ones. T6, equal; T5, ordered, over the m values that the table
    has, a missing one last:

    .. math:: t = \max \tfrac{1}{2} \sum |p - q|, \qquad t = \max \frac{1}{m - 1} \sum |P - Q|

    T7, hierarchical: the cost of a move is the height of the lowest common ancestor over the height
    of the tree.

    When it misleads: small classes are far from the table by chance; and it depends on how far
    apart two values are said to be.

    References
    ----------
    - N. Li, T. Li & S. Venkatasubramanian, *t-Closeness: Privacy Beyond k-Anonymity and
      l-Diversity*, ICDE 2007, 106-115.
    - S. Mahiou & F. Nagle, *Anonymity, Utility and Risk: an Overview*, 2018, 3.3; corrected as in
      docs/formulas.md, ``mahiou-3.3``.

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
    results = []
    for column in columns:
        about, settled = with_distance(
            engine, frame, column, distance, order=order, hierarchies=hierarchies
        )
        score = Score(settled)
        value = engine.score(frame, question, about, [score]).worst[score]
        results.append(Closeness(value, settled))
    return max(results)
