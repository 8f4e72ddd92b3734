"""Columns shuffled, whole or within groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.api.question import columns_to_change, in_one_state
from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import as_names, require
from anonrisk.errors import RoleConflictError
from anonrisk.measures.counts.change import Shuffle

if TYPE_CHECKING:
    from anonrisk.core.columns import FrameT, Names, Qid


@in_one_state
def permute(frame: FrameT, columns: Names, *, seed: int, by: Names | None = None) -> FrameT:
    """Shuffle the cells of some columns among the records, within groups if asked to.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name or list of names
        What to shuffle; several move together, so that what they say jointly is kept.
    seed : int
        The same seed gives the same order on the same engine and partitioning.
    by : name or list of names, optional
        Shuffle only among records that are equal in these. Without it Spark sorts the whole table
        in one task.

    Returns
    -------
    DataFrame
        A new table of the same kind, lazy on Spark. Each record gets the cells of the next one in a
        random order of its group, so none keeps its own unless it is alone; how often each value
        occurs in a group is exactly kept. Marked as `perturb` marks it.

    Raises
    ------
    ColumnNotFoundError, UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.perturb : noise instead of a new order
    anonrisk.was_perturbed : tells which columns were changed

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"ward": ["a", "a", "b"], "income": [1, 2, 3]})
    >>> df.anon.permute("income", by="ward", seed=1)["income"].tolist()
    [2, 1, 3]
    """
    engine, names = columns_to_change(frame, columns)
    seed = whole_number(seed, "seed", at_least=0)
    schema = engine.schema(frame)
    known = schema.columns
    groups: Qid = () if by is None else as_names(by, "grouping column", known)
    require(groups, "grouping column", known)
    both = next((name for name in names if name in groups), None)
    if both is not None:
        raise RoleConflictError(f"column {both!r} cannot be shuffled within its own groups")
    schema.check(dict.fromkeys(groups, "grouping column"))
    return engine.rewrite(frame, Shuffle(names, groups, seed))
