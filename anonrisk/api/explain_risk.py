"""Which column, dropped or coarsened, lowers the singletons most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.suda import counter_of
from anonrisk.measures.explain_risk import Change, RiskExplanation

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing


@in_one_state
def explain_risk(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> RiskExplanation:
    """Return which column, dropped or coarsened, lowers the number of singletons most.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`; with ``missing="drop"`` records that miss any of the columns are
        left out throughout, also where that column is dropped.

    Returns
    -------
    RiskExplanation
        Each change with the singletons after it, measured on this table; the best first.

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.plan : looks for the best coarsening of all columns
    anonrisk.suda : which columns single out each record
    anonrisk.find_qids : which sets of columns single out many

    Notes
    -----
    A column of numbers, dates or instants is coarsened to half as many bins of equal width as it
    has different values; texts that are all days as ISO 8601 writes them (``2024-05-01``) to year
    and month; other codes, texts that all hold a digit, to their first characters, one fewer
    than the longest has; words to half as many, the commonest as they are and the others together.
    These need no knowledge of the column and are the same on every engine. Other columns, those
    with two values, and words of which there are more than 1,000, are only dropped. `anonrisk.plan`
    looks for better ones.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"], "age": [30, 30, 41, 41]})
    >>> df.anon.explain_risk(["zip", "age"])
    zip + age: 4 of 4 records (100.0%) are singletons
    column   change               singletons    share   fewer
    zip      first 3 characters            0     0.0%       4
    zip      dropped                       0     0.0%       4
    age      dropped                       4   100.0%       0
    """
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    counter = counter_of(engine, frame, question)
    everything = tuple(range(len(question.qid)))
    without = [tuple(j for j in everything if j != i) for i in everything]
    several = without if len(everything) > 1 else []
    first = [everything, *((i,) for i in everything), *several]
    sizes, *rest = counter.count(first)
    singles, fewer = rest[: len(everything)], rest[len(everything) :]
    changes = [
        Change(question.qid[i], "dropped", result, result.records_at_most(1), result.uniqueness)
        for i, result in zip(everything, fewer, strict=False)
    ]
    if not several:
        # Without any column all records are alike; one record is alone all the same.
        alone = int(sizes.n_records == 1)
        changes = [Change(question.qid[0], "dropped", None, alone, alone / sizes.n_records)]
    coarser = counter.coarsen([single.n_classes for single in singles])
    sets = [(*without[i], position) for i, (position, _) in coarser.items()]
    for (i, (_, how)), result in zip(coarser.items(), counter.count(sets), strict=True):
        alone, share = result.records_at_most(1), result.uniqueness
        changes.append(Change(question.qid[i], str(how), result, alone, share))
    # Of two that help as much, the one that keeps more of the column comes first.
    changes.sort(key=lambda change: (change.singletons, change.dropped))
    return RiskExplanation(sizes, tuple(changes))
