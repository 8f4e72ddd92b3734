"""Linked records: how many of a person's records single them out."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.core.arguments import one_of, true_or_false, whole_number
from anonrisk.core.columns import as_name, as_names, check_missing, require
from anonrisk.core.progress import shown, tell
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, MissingTimeError, RoleConflictError

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing, Points
    from anonrisk.measures.counts.question import StepCounts, TraceCounts, TraceQuestion
    from anonrisk.predict.trajectory import Trajectory, TrajectoryStep

_LONGEST = 50
_MOST_DRAWS = 10**6


@in_one_state
def trajectory(
    frame: Any,
    item: Names,
    *,
    unit: Name,
    length: int = 4,
    time: Name | None = None,
    k: int = 2,
    sample: int | None = None,
    seed: int | None = None,
    max_length: int | None = None,
    points: Points = "any",
    ordered: bool = False,
    draws: int = 1,
    missing: Missing = "value",
    progress: bool | None = None,
) -> Trajectory:
    r"""Return how many users a few of their linked records single out, measured and modelled.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, Spark or pandas-on-Spark with several records per user.
    item : name or list of names
        What a record tells: a station; ``["antenna", "hour"]``.
    unit : name
        The column that links the records of a user: a pseudonym. Missing is an error.
    length : int
        How many records of a user an attacker knows.
    time : name, optional
        When a record was made: a date, a timestamp or a whole number. Needed where order matters,
        and to tell how long a pseudonym may live. The table need not be sorted. The same item of a
        user twice at one time is one record in all that follows; different items of a user at one
        time have no order, and are an error where order matters.
    k : int
        A set of points singles a user out if fewer than `k` users have it.
    sample : int, optional
        Measure so many users, drawn at random, instead of all. On pandas the cost of all users
        grows as that of grouping the table does. On Spark so it does where traces are short; of
        long ones, and with `ordered`, each user is compared with everybody who has the rarest of
        their points, which grows faster than the number of users; with a sample of fixed size it
        grows as the table does.
    seed : int, optional
        Makes the drawing repeatable; the one used is in the result. On Spark it does not depend on
        partitions, and differs from the drawing on pandas.
    max_length : int, optional
        Measure 1, 2, …, up to so many records; `length` if left out.
    points : {"any", "consecutive"}
        Whether the attacker knows any records, or ones that follow each other in time.
    ordered : bool
        Whether the attacker knows in which order they were made.
    draws : int
        How many sets of points are drawn of each user.
    missing : {"value", "drop", "error"}
        A missing item is an item like any other, is left out and counted, or is refused.
    progress : bool, optional
        As in `anonrisk.find_qids`.

    Returns
    -------
    Trajectory
        A row a length; the Zipf fit of the items and what it predicts; `plot()`. After Ctrl-C it
        holds, in process, the lengths and draws that were measured by then, and is `partial`.

    Raises
    ------
    ColumnNotFoundError, MissingValuesError, MissingUnitError, EmptyTableError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    MissingTimeError
        If the order is asked for without `time`, or a record has none.
    NoOrderError
        If the order is asked for and different records of a person have the same time.

    See Also
    --------
    anonrisk.predict.fit_zipf : the fit behind the model
    anonrisk.predict.zipf.Zipf : the model by itself
    anonrisk.pseudonymize : pseudonyms that live for so many records only
    anonrisk.linkability : whether a new pseudonym helped

    Notes
    -----
    *Any* points are drawn: of each user with at least `length` different items, that many with
    equal probability; counted is who has them all anywhere in their records, if `ordered` in the
    order of the user's first visits, with anything between them. The interval is Wilson's; for
    several draws per user, with the number of independent draws that would scatter as much as the
    users do. *Consecutive* records are counted: every run of `length` records of every user,
    against the runs of all others; if not `ordered`, runs of the same items in any order are one.
    `singled_out` is then the mean over users of the share of their runs that fewer than `k` users
    have, not the share of all runs, which is `suppressed`. Users with too few points are counted
    apart.

    The model answers another question: of as many users with exactly `length` records each, drawn
    independently from the fitted law and compared in order, the share whose records fewer than `k`
    users have (Z1 to Z5; sums over whole ranks). Others match more often than the model knows where
    people have more than `length` records, and where order is not known; less where people have
    habits. Its law of the item of rank x among d, c the fitted exponent:

    .. math:: p(x) = x^{-c} \Big/ \sum_{i=1}^{d} i^{-c}

    When it misleads: it is about exact matches of the records named: an attacker who knows places
    roughly, or how often somebody was there, needs fewer; and who has few records is not measured
    at all.

    References
    ----------
    - Y.-A. de Montjoye et al., *Unique in the Crowd: the Privacy Bounds of Human Mobility*,
      Scientific Reports 3:1376, 2013.
    - H. Kikuchi & K. Takahashi, *Zipf Distribution Model for Quantifying Risk of Re-identification
      from Trajectory Data*, 2016, 3.2 to 3.5; corrected as in docs/formulas.md, ``kikuchi-3.2``,
      ``kikuchi-theorem-3.1``, ``kikuchi-theorem-3.3``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({
    ...     "card": [1, 1, 1, 2, 2, 2, 3, 3, 3],
    ...     "station": ["a", "b", "c", "a", "b", "d", "a", "b", "c"],
    ... })
    >>> df.anon.trajectory("station", unit="card", length=3, seed=1)
    Traces of card over station: 9 records of 3 users, 4 items; records, as a set, k
      = 2
    Zipf: exponent 0.713 by least squares over 4 items, R² = 0.685
    model: users with exactly that many records, in order; measured: points of whole
      traces, in any order
    length   users   singled out    95% interval    model:   suppressed       model:
                                                   singled                suppressed
                                                       out
         1       3          0.0%   0.0% to 56.1%     44.1%         0.0%       100.0%
         2       3          0.0%   0.0% to 56.1%     78.5%         0.0%       100.0%
         3       3         33.3%   6.1% to 79.2%     93.1%        33.3%       100.0%
    """
    from anonrisk.measures.counts.question import TraceQuestion

    check_missing(missing)
    one_of(points, "points", ("any", "consecutive"))
    asked = whole_number(length, "length", at_least=1)
    longest = asked if max_length is None else whole_number(max_length, "max_length", at_least=1)
    if longest < asked:
        raise ArgumentError(f"max_length={longest} is less than length={asked}")
    if longest > _LONGEST:
        raise ArgumentError(f"length is at most {_LONGEST}")
    least = whole_number(k, "k", at_least=2)
    times = whole_number(draws, "draws", at_least=1, at_most=_MOST_DRAWS)
    size = None if sample is None else whole_number(sample, "sample", at_least=1)
    true_or_false(ordered, "ordered")
    if points == "consecutive" and (size is not None or times > 1 or seed is not None):
        raise ArgumentError("consecutive records are counted, not drawn: no sample, seed or draws")
    if time is None and (ordered or points == "consecutive"):
        what = "ordered=True" if ordered else "points='consecutive'"
        raise MissingTimeError(f"{what} needs time=, the column that says when a record was made")
    engine = engine_for(frame)
    schema = engine.schema(frame)
    columns = schema.columns
    as_name(unit, "unit")
    items = as_names(item, "item", columns)
    roles = [("unit", [unit]), ("item", items)]
    if time is not None:
        roles.append(("time", [as_name(time, "time")]))
    for role, names in roles:
        require(names, role, columns)
    if unit in items or unit == time:
        raise RoleConflictError(f"column {unit!r} cannot be both unit and something else")
    question = TraceQuestion(
        unit,
        items,
        tuple(range(1, longest + 1)),
        least,
        time,
        ordered,
        points == "consecutive",
        size,
        times,
        _seed(seed),
        missing,
    )
    schema.check(question.roles())
    with shown(progress=progress):
        tell("reading the records")
        counts = engine.traces(frame, question)
        tell("fitting the model")
        return _result(counts, question, asked)


def _seed(seed: Any) -> int:
    if seed is None:
        import secrets

        return secrets.randbits(32)
    number = whole_number(seed, "seed", at_least=0)
    if number >= 2**63:
        raise ArgumentError("seed must fit into 63 bits")
    return number


def _result(counts: TraceCounts, question: TraceQuestion, length: int) -> Trajectory:
    from anonrisk.predict import zipf
    from anonrisk.predict.trajectory import Trajectory

    sizes = [size for size, _ in counts.popularity]
    items = [number for _, number in counts.popularity]
    fit = fit_ml = model = steps = None
    if sum(items) > 1:
        fit = zipf.fit(sizes, items)
        fit_ml = zipf.fit(sizes, items, "maximum likelihood")
        model = zipf.Zipf(fit.n_items, fit.c, counts.n_users)
        lengths = [step.length for step in counts.steps]
        steps = tuple(model.step(s, question.k, discrete=True) for s in lengths)
    return Trajectory(
        question.user,
        question.item,
        length,
        question.k,
        "consecutive" if question.consecutive else "any",
        question.ordered,
        counts.n_records,
        counts.n_dropped,
        counts.n_users,
        sum(items),
        tuple(_measured(step, question) for step in counts.steps),
        steps,
        fit,
        fit_ml,
        model,
        _mean_gap(counts),
        None if question.consecutive else question.seed,
        question.missing,
        question.n_steps,
        sum(step.draws for step in counts.steps),
    )


def _measured(step: StepCounts, question: TraceQuestion) -> TrajectoryStep:
    from anonrisk.predict import trajectory
    from anonrisk.predict.trajectory import TrajectoryStep

    if not step.n_users:
        return TrajectoryStep(step.length, 0, step.n_short, None, None, None)
    interval = None
    if not question.consecutive:
        item = step.draws == 1
        interval = (
            trajectory.wilson(step.total, step.n_users)
            if item
            else trajectory.clustered(step.total, step.squares, step.n_users, step.draws)
        )
    return TrajectoryStep(
        step.length,
        step.n_users,
        step.n_short,
        step.total / step.n_users,
        interval,
        step.weighted / step.weight,
    )


def _mean_gap(counts: TraceCounts) -> dt.timedelta | float | None:
    if not counts.n_gaps:
        return None
    gap = counts.span / counts.n_gaps
    return dt.timedelta(microseconds=gap) if counts.on_calendar else gap
