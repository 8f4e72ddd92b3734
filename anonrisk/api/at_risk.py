"""The records of the classes that break a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.sensitive import diversity_score, question_about, refuse_closeness, with_distance
from anonrisk.core.arguments import not_negative, one_of, positive, whole_number
from anonrisk.core.types import Missing
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import BreakingClasses
from anonrisk.measures.counts.question import Score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import FrameT, Name, Names
    from anonrisk.core.types import Distance, Diversity, MissingOrWildcard

_DEFAULT_K = 5


@in_one_state
def at_risk(
    frame: FrameT,
    qids: Names | None = None,
    k: int | None = None,
    *,
    sensitive: Names | None = None,
    l: float | None = None,
    t: float | None = None,
    variant: Diversity = "distinct",
    c: float | None = None,
    distance: Distance = "auto",
    order: Iterable[Any] | None = None,
    hierarchies: Any = None,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
    missing_sensitive: Missing = "value",
) -> FrameT:
    """Return the records of the classes that break a limit, as a table of the same kind.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`. With ``missing="drop"`` a dropped record is in no class, so it is
        not among them; ``missing="wildcard"`` goes with `k` alone.
    k : int, optional
        The size from which a class is large enough; 5 if no limit at all is given.
    sensitive, missing_sensitive
        As in `anonrisk.ldiv`; with `l` or `t` only.
    l : float, optional
        The diversity that a class must have, of the given `variant` (and `c`).
    t : float, optional
        The distance that a class may have, of the given `distance` (with `order`, `hierarchies`).
    variant, c
        As in `anonrisk.ldiv`; with `l` only.
    distance, order, hierarchies
        As in `anonrisk.tcloseness`; with `t` only.

    Returns
    -------
    DataFrame
        The records in a class that breaks any of the limits. Lazy on Spark; see `anonrisk.sizes`.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError, MissingUnitError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    MissingSensitiveError, HierarchyError, TooManyValuesError
        As in `anonrisk.tcloseness`.

    See Also
    --------
    anonrisk.sizes : the class size of every record
    anonrisk.suppress : leaves these records out
    anonrisk.suda : scores records by what makes them stand out

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> len(df.anon.at_risk("zip", k=3)), len(df.anon.at_risk("zip", sensitive="illness", l=2))
    (4, 2)
    """
    if k is None and l is None and t is None:
        k = _DEFAULT_K
    size = None if k is None else whole_number(k, "k", at_least=1)
    score = diversity_score(variant, c)
    if l is None and score != Score("distinct"):
        raise ArgumentError("variant= and c= have no effect without l=")
    if t is None:
        refuse_closeness(distance, order, hierarchies, "t=")
    if l is None and t is None:
        one_of(missing_sensitive, "missing_sensitive", get_args(Missing))
        if sensitive is not None or missing_sensitive != "value":
            raise ArgumentError("sensitive= and missing_sensitive= have no effect without l= or t=")
        engine, question = question_of(frame, qids, unit=unit, missing=missing, wildcard=True)
        return engine.keep(frame, BreakingClasses(question, size or _DEFAULT_K))
    diversity = None if l is None else (score, positive(l, "l"))
    closeness = None if t is None else not_negative(t, "t")
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    limits = []
    for column in columns:
        if diversity is not None:
            limits.append((column, *diversity))
        if closeness is not None:
            about, settled = with_distance(
                engine, frame, column, distance, order=order, hierarchies=hierarchies
            )
            limits.append((about, Score(settled), closeness))
    return engine.keep(frame, BreakingClasses(question, size or 0, tuple(limits)))
