"""Which records are singled out by the fewest columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state, question_of
from anonrisk.core.arguments import positive, whole_number
from anonrisk.core.progress import limited, seconds_of, shown, tell
from anonrisk.errors import ArgumentError, UnsupportedColumnError
from anonrisk.measures.counts.change import MinimalUniques
from anonrisk.measures.counts.counter import number_of_sets
from anonrisk.measures.counts.question import ManySets
from anonrisk.measures.suda import MAX_COLUMNS, Suda, dis

if TYPE_CHECKING:
    from anonrisk.core.columns import Names
    from anonrisk.core.types import Missing
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.change import Totals
    from anonrisk.measures.counts.counter import Counter
    from anonrisk.measures.counts.question import Question


@in_one_state
def suda(
    frame: Any,
    qids: Names | None = None,
    max_size: int = 4,
    *,
    sampling_fraction: float | None = None,
    missing: Missing = "value",
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Suda:
    r"""Score every record by the smallest sets of columns that single it out.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`; with ``missing="drop"`` a dropped record has no score.
    max_size : int
        The most columns of a minimal unique.
    sampling_fraction : float, optional
        Share of the population that is in the table, for DIS-SUDA scores. There is no default: a
        wrong fraction makes a wrong score.
    time_limit : float, optional
        Seconds after which the sets of columns that were looked at by then are scored, at least
        one, and the result is `partial`. Spark and databases score all sets in one query, and
        refuse it.
    progress : bool, optional
        As in `anonrisk.find_qids`.

    Returns
    -------
    Suda
        The score of each record, in the table's own kind, and what they add up to. After Ctrl-C,
        or `time_limit`, it holds, in process, the sets of columns that were looked at by then, and
        is `partial`.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError, EmptyTableError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.explain_risk : which column to change, for the whole table
    anonrisk.find_qids : which sets of columns single out many
    anonrisk.risk : chances instead of scores

    Notes
    -----
    A minimal unique of a record is a set of columns with which it is alone, and with no proper
    subset of which it is. Over these, each of s among m columns and whatever `max_size`, a record
    scores as with sdcMicro's ``original_scores=TRUE``:

    .. math:: \text{score} = \sum (m - s)!

    A column's contribution is the share of the score that goes to minimal uniques with it.
    DIS-SUDA, of U scored records and with DIS of P9, so that the mean of its inverse is 1/DIS:

    .. math::

        \frac{1}{1 + (U/\mathrm{DIS} - U) / (\text{score}^q A)}, \quad q = 1 + \frac{8 - m}{20},
        \quad A = \sum \text{score}^{-q}

    A missing value is a value here; sdcMicro leaves it out of minimal uniques.

    When it misleads: a score orders the records of one table with one set of columns; it is no
    chance, and one column more multiplies it. DIS-SUDA is scaled to a chance, but only its mean is
    one.

    References
    ----------
    - M. J. Elliot, A. M. Manning & R. W. Ford, *A Computational Algorithm for Handling the Special
      Uniques Problem*, IJUFKS 10(5), 2002, 493-509.
    - M. J. Elliot, *DIS: a New Approach to the Measurement of Statistical Disclosure Risk*, Risk
      Management 2(4), 2000, 39-48.

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
    zip             50.0%
    age             50.0%
    sex              0.0%
    """
    max_size = whole_number(max_size, "max_size", at_least=1)
    fraction = _fraction(sampling_fraction)
    seconds_of(time_limit)
    engine, question = question_of(frame, qids, unit=None, missing=missing)
    if question.unit is not None:
        raise ArgumentError(
            "suda scores records and takes no unit; bring the table to one row per person"
        )
    if len(question.qid) > MAX_COLUMNS:
        raise ArgumentError(f"suda takes at most {MAX_COLUMNS} columns")
    if time_limit is not None and engine.sets_a_pass:
        raise ArgumentError(
            f"time_limit= ends no query of {engine.name}, which scores all sets at once: leave it "
            "out, and give a smaller max_size"
        )
    with shown(progress=progress), limited(time_limit):
        return _scored(engine, frame, question, max_size, fraction)


def _scored(
    engine: Engine, frame: Any, question: Question, max_size: int, fraction: float | None
) -> Suda:
    tell("counting the classes")
    counter = counter_of(engine, frame, question)
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
    asked = MinimalUniques(counter, max_size, names, odds)
    tell("scoring the records")
    scores, records, totals = engine.annotate(frame, asked)
    n_sets = sum(number_of_sets(len(question.qid), max_size))
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
        n_sets=n_sets,
        n_decided=n_sets if totals.n_decided is None else totals.n_decided,
    )


def _fraction(value: Any) -> float | None:
    if value is None:
        return None
    fraction = positive(value, "sampling_fraction")
    if fraction > 1:
        raise ArgumentError("sampling_fraction must lie above 0 and be at most 1")
    return fraction


def counter_of(engine: Engine, frame: Any, question: Question) -> Counter:
    """Get ready to count sets of columns, every one of which can be compared."""
    counter = engine.count(frame, ManySets(question))
    if counter.unsupported:
        raise UnsupportedColumnError(next(iter(counter.unsupported.values())))
    return counter
