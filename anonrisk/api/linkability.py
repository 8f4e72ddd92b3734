"""Whether a new pseudonym helps: who can be linked across the change by quasi-identifiers."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.api.question import in_one_state
from anonrisk.core.columns import as_name, as_names, check_missing, require
from anonrisk.core.render import kind_name
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, EmptyTableError, RoleConflictError

if TYPE_CHECKING:
    from datetime import date, timedelta

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing
    from anonrisk.predict.linkability import Linkability


@in_one_state
def linkability(
    frame: Any,
    qids: Names,
    *,
    unit: Name,
    time: Name,
    at: date | int | None = None,
    period: str | timedelta | None = None,
    missing: Missing = "value",
) -> Linkability:
    r"""Return how many persons' records before and after new pseudonyms can be linked again.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, Arrow, Spark or pandas-on-Spark, with the persons as they are before they
        get pseudonyms, or with pseudonyms that do not change.
    qids : name or list of names
        The quasi-identifier that is published beside the pseudonym.
    unit : name
        The column that tells the persons apart.
    time : name
        The column of times: dates, timestamps or whole numbers.
    at : date, datetime or int, optional
        The moment of the change; a record at that very moment is after it. Halfway between the
        first and the last record if neither this nor `period` is given.
    period : str or timedelta, optional
        A change at every multiple of this since 1970-01-01 UTC, as in `anonrisk.pseudonymize`;
        every two periods that follow each other are compared, and nobody is looked for beyond a
        period without a record of theirs.
    missing : {"value", "drop", "error"}
        What a missing quasi-identifier is, as in `anonrisk.classes`.

    Returns
    -------
    Linkability
        With `linked`, `expected`, `chance` and the counts behind them. Without any change of
        pseudonyms all would be 1.

    Raises
    ------
    ColumnNotFoundError, MissingValuesError, MissingUnitError, UnsupportedColumnError
        As in `anonrisk.classes`.
    UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    MissingTimeError
        If a record has no `time`.
    EmptyTableError
        If nobody has records both before and after a change.

    See Also
    --------
    anonrisk.pseudonymize : gives pseudonyms that change
    anonrisk.trajectory : what the records of one pseudonym tell
    anonrisk.uniqueness : people alone within one table

    Notes
    -----
    Fischer-Hübner's degrees of linkability, made countable. A *value* is what one record has in all
    columns of the quasi-identifier. A pseudonym ties the values of a person in a period together,
    so an attacker has two kinds of clues: a value that somebody has before and after the change,
    and their whole set of values, if it is the same before and after. A clue fits everybody with
    that value, or with exactly that set. Counted are pairs of a person and a change with records on
    both sides of it: somebody who is there in five periods in a row counts four times.

    *Linked* are those with a clue that fits nobody else, neither before nor after. *Expected* is
    the share of right links by an attacker who guesses among all whom the best clue fits after the
    change; somebody without a clue is never found. *Chance* is that of an attacker without clues,
    who guesses among all persons after the change. Over the m pairs, a the number of persons whom
    clue c fits after the change, N of all who are there then:

    .. math::

        \text{expected} = \frac{1}{m} \sum \max_c \frac{1}{a_c}
        \qquad \text{chance} = \frac{1}{m} \sum \frac{1}{N}

    A value that one person alone has before and another one alone after links wrongly: `n_false`
    counts these values (not the sets), since an attacker takes them for right ones.

    When it misleads: they are lower bounds: sets that are similar without being equal, times and
    numbers of records link people too, and so do periods that do not follow each other. And a link
    is only as certain as the table is complete: somebody who is not in it may have the same value.

    References
    ----------
    S. Fischer-Hübner, *Privacy Enhancing Security Criteria* (slides), 2.1, pseudonymity and
    unlinkability.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({
    ...     "patient": [1, 2, 3, 1, 2, 3],
    ...     "zip": ["a", "b", "b", "a", "b", "b"],
    ...     "day": [1, 1, 1, 9, 9, 9],
    ... })
    >>> anonrisk.linkability(df, "zip", unit="patient", time="day")
    3 persons on both sides of 1 change of pseudonyms, matched by zip (one value, or all of ...
                         persons   share
    linked for certain         1   33.3%
      linked, expected       2.0   66.7%
      linked by chance       1.0   33.3%
    """
    from anonrisk.core.arguments import microseconds
    from anonrisk.measures.counts.question import LinkQuestion
    from anonrisk.predict.linkability import Linkability

    check_missing(missing)
    if at is not None and period is not None:
        raise ArgumentError("give at= for one change or period= for many, not both")
    engine = engine_for(frame)
    schema = engine.schema(frame)
    columns = schema.columns
    as_name(unit, "unit")
    as_name(time, "time")
    qid = as_names(qids, "quasi-identifier", columns)
    for role, names in (("unit", [unit]), ("quasi-identifier", qid), ("time", [time])):
        require(names, role, columns)
    if unit in qid or unit == time:
        raise RoleConflictError(f"column {unit!r} cannot be both unit and something else")
    if time in qid:
        raise RoleConflictError(
            f"column {time!r} cannot be both time and quasi-identifier: "
            "no moment is both before and after a change"
        )
    length = None if period is None else microseconds(period)
    moment, on_calendar = _moment(at)
    question = LinkQuestion(unit, qid, time, moment, length, missing, on_calendar)
    schema.check(question.roles())
    counts = engine.links(frame, question)
    if not counts.n_both:
        raise EmptyTableError(
            "no person has records both before and after a change of pseudonyms; "
            "there is nobody to link"
        )
    return Linkability(unit, qid, **vars(counts), missing=missing)


def _moment(at: Any) -> tuple[int | None, bool]:
    """Read a moment as a whole number, and tell whether it is one of the calendar."""
    from anonrisk.pseudonyms.pseudonym import instant

    if at is None:
        return None, False
    if isinstance(at, (int, np.integer)) and not isinstance(at, bool):
        return int(at), False
    if isinstance(at, dt.datetime) and at == at:  # noqa: PLR0124  (NaT is a datetime)
        return instant(at, "at"), True
    if isinstance(at, dt.date) and not isinstance(at, dt.datetime):
        return instant(dt.datetime(at.year, at.month, at.day, tzinfo=dt.UTC), "at"), True
    raise ArgumentError(f"at= is a date, a datetime or a whole number, not {kind_name(at)}")
