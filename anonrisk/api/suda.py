"""Which records are singled out by the fewest columns, and which column to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import ask
from anonrisk.core.arguments import positive, whole_number
from anonrisk.errors import ArgumentError, UnsupportedColumnError
from anonrisk.measures.suda import MAX_COLUMNS, Suda, Totals, dis
from anonrisk.search.explain_risk import Change, RiskExplanation

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.counts.counter import Counter
    from anonrisk.engines.base import Engine, Question


def suda(
    frame: Any,
    qids: Any = None,
    max_size: int = 3,
    *,
    sampling_fraction: float | None = None,
    missing: str = "value",
) -> Suda:
    """Score every record by the smallest sets of columns that single it out.

    Parameters
    ----------
    frame, qids, missing
        As in `anonrisk.classes`; with ``missing="drop"`` a dropped record has no score.
    max_size : int
        The most columns of a minimal unique.
    sampling_fraction : float, optional
        Share of the population that is in the table, for DIS-SUDA scores. There is no default: a
        wrong fraction makes a wrong score.

    Returns
    -------
    Suda
        The score of each record, in the table's own kind, and what they add up to.

    Notes
    -----
    A minimal unique of a record is a set of columns with which it is alone, while with no proper
    subset it is. Of size s among m columns it scores (m − s)!, whatever `max_size` (Elliot et al.
    2002; sdcMicro's ``original_scores=TRUE``). A column's contribution is the share of the score
    that goes to minimal uniques with it. DIS-SUDA is 1 / (1 + (U/DIS − U) / (score^q A)), q = 1 +
    (8 − m)/20, A = Σ score^−q and U the number of scored records, so that the mean of its inverse
    is 1/DIS. A missing value is a value here; sdcMicro leaves it out of minimal uniques.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": list("aaab"), "age": [1, 1, 2, 1], "sex": list("ffff")})
    >>> found = df.anon.suda(["zip", "age", "sex"])
    >>> found.scores.tolist()
    [0.0, 0.0, 2.0, 2.0]
    >>> found
    2 records of 4 have a minimal unique of 3 columns at most
    minimal uniques by number of columns: 2 of 1, 0 of 2, 0 of 3
    scores: 4 in all, 2 at most
    column   contribution
       zip          50.0%
       age          50.0%
       sex           0.0%
    """
    max_size = whole_number(max_size, "max_size", at_least=1)
    fraction = _fraction(sampling_fraction)
    engine, question = ask(frame, qids, unit=None, missing=missing)
    if question.unit is not None:
        raise ArgumentError(
            "suda scores records and knows no unit; bring the table to one row a person"
        )
    if len(question.qid) > MAX_COLUMNS:
        raise ArgumentError(f"suda takes at most {MAX_COLUMNS} columns")
    counter = _counter(engine, frame, question)
    (sizes,) = counter.count([tuple(range(len(question.qid)))])
    n_pairs = int(sizes.classes[sizes.sizes == 2].sum())
    correct = None if fraction is None else dis(sizes.singletons, n_pairs, fraction)

    def odds(totals: Totals) -> float | None:
        if fraction is None:
            return None
        if not totals.n_scored or not correct:
            return 0.0
        return totals.n_scored * (1 / correct - 1) / totals.adjustment

    # An engine gives no column without a name.
    names = ["suda_score", "minimal_uniques", "" if fraction is None else "dis_suda_score"]
    names += [f"suda_{name}" for name in question.qid]
    scores, records, totals = engine.suda(frame, counter, max_size, names, odds)
    return Suda(
        scores=scores,
        records=records,
        qid=question.qid,
        max_size=min(max_size, len(question.qid)),
        n_records=sizes.n_records,
        n_dropped=sizes.n_dropped,
        n_unique=sizes.singletons,
        n_scored=totals.n_scored,
        total=totals.score,
        largest=totals.largest,
        n_minimal=totals.n_minimal,
        contributions={
            name: part / totals.score if totals.score else 0.0
            for name, part in zip(question.qid, totals.contributions, strict=True)
        },
        sampling_fraction=fraction,
        dis=correct,
    )


def explain_risk(
    frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value"
) -> RiskExplanation:
    """Tell which column, dropped or coarsened, lowers the number of singletons most.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`; with ``missing="drop"`` records that miss any of the columns are
        left out throughout, also where that column is dropped.

    Returns
    -------
    RiskExplanation
        Each change with the singletons after it, measured on this table; the best first.

    Notes
    -----
    A column of numbers, dates or instants is coarsened to half as many bins of equal width as it
    has different values; a text or code to its first characters, one fewer than the longest has.
    Both need no knowledge of the column and are the same on every engine. Other columns, and those
    with two values, are only dropped. `anonrisk.plan` looks for better ones.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"], "age": [30, 30, 41, 41]})
    >>> df.anon.explain_risk(["zip", "age"])
    zip + age: 4 of 4 records (100.0%) are singletons
    column               change   singletons    share   fewer
       zip   first 3 characters            0     0.0%       4
       zip              dropped            0     0.0%       4
       age              dropped            4   100.0%       0
    """
    engine, question = ask(frame, qids, unit=unit, missing=missing)
    counter = _counter(engine, frame, question)
    everything = tuple(range(len(question.qid)))
    without = [tuple(j for j in everything if j != i) for i in everything]
    several = without if len(everything) > 1 else []
    first = [everything, *((i,) for i in everything), *several]
    sizes, *rest = counter.count(first)
    singles, fewer = rest[: len(everything)], rest[len(everything) :]
    changes = [
        Change(question.qid[i], "dropped", found, found.records_at_most(1), found.uniqueness)
        for i, found in zip(everything, fewer, strict=False)
    ]
    if not several:
        # Without any column all records are alike; one record is alone all the same.
        alone = int(sizes.n_records == 1)
        changes = [Change(question.qid[0], "dropped", None, alone, alone / sizes.n_records)]
    coarser = counter.coarsen([single.n_classes for single in singles])
    sets = [(*without[i], position) for i, (position, _) in coarser.items()]
    for (i, (_, how)), found in zip(coarser.items(), counter.count(sets), strict=True):
        alone, share = found.records_at_most(1), found.uniqueness
        changes.append(Change(question.qid[i], str(how), found, alone, share))
    # Of two that help as much, the one that keeps more of the column comes first.
    changes.sort(key=lambda change: (change.singletons, change.dropped))
    return RiskExplanation(sizes, tuple(changes))


def _fraction(given: Any) -> float | None:
    if given is None:
        return None
    fraction = positive(given, "sampling_fraction")
    if fraction > 1:
        raise ArgumentError("sampling_fraction must lie above 0 and be at most 1")
    return fraction


def _counter(engine: Engine, frame: Any, question: Question) -> Counter:
    counter = engine.counter(frame, question)
    if counter.unsupported:
        raise UnsupportedColumnError(next(iter(counter.unsupported.values())))
    return counter
