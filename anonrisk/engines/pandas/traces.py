"""Traces on pandas: who else has the points that are known of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.pandas import unicity
from anonrisk.engines.pandas.clock import clock
from anonrisk.engines.pandas.count import MAX_KEY, closed_up, histogram, runs_of
from anonrisk.engines.pandas.encode import encode
from anonrisk.engines.times import missing_time, tied_times
from anonrisk.engines.traces import (
    StepCounts,
    TraceCounts,
    check_any,
    missing_items,
    missing_user,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.engines.traces import TraceQuestion

    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """The kept records: user and item as numbers without gaps, and a time that orders them."""

    user: Integers
    item: Integers
    n_users: int
    n_items: int
    time: Integers | None
    n_dropped: int
    on_calendar: bool = False


def traces(frame: pd.DataFrame, question: TraceQuestion) -> TraceCounts:
    """Count who is singled out by each number of records."""
    records = _records(frame, question)
    sizes, items = histogram(np.bincount(records.item, minlength=records.n_items))
    steps = _windows(records, question) if question.consecutive else _sets(records, question)
    span, gaps = 0, 0
    if records.time is not None:
        order = np.lexsort((records.time, records.user))
        starts = runs_of(records.user[order])
        times = records.time[order]
        ends = np.append(starts[1:], len(order)) - 1
        span, gaps = int((times[ends] - times[starts]).sum()), len(order) - records.n_users
    return TraceCounts(
        len(records.user),
        records.n_dropped,
        records.n_users,
        tuple(zip(sizes.tolist(), items.tolist(), strict=True)),
        steps,
        gaps,
        span,
        records.on_calendar,
    )


def _records(frame: pd.DataFrame, question: TraceQuestion) -> Records:
    roles = {n: role for n, role in question.roles().items() if n != question.time}
    codes = encode(frame, roles)
    if codes[question.user].n_missing:
        raise missing_user(question.user, codes[question.user].n_missing)
    lacking = {name: codes[name].n_missing for name in question.item}
    if question.missing == "error" and any(lacking.values()):
        raise missing_items("item", lacking)
    kept = np.ones(len(frame), dtype=bool)
    if question.missing == "drop":
        for name in question.item:
            kept &= ~codes[name].missing
    n_dropped = int(len(frame) - kept.sum())
    check_any(len(frame) - n_dropped, n_dropped)
    user, n_users = closed_up(codes[question.user].values[kept].astype(np.int64))
    item = np.zeros(len(user), dtype=np.int64)
    n_items = 1
    for name in question.item:
        if n_items * codes[name].cardinality > MAX_KEY:
            item, n_items = closed_up(item)
        item = item * codes[name].cardinality + codes[name].values[kept]
        n_items *= codes[name].cardinality
    item, n_items = closed_up(item)
    if question.time is None:
        return Records(user, item, n_users, n_items, None, n_dropped)
    times = clock(frame, question.time)
    n_missing = int(np.count_nonzero(times.missing & kept))
    if n_missing:
        raise missing_time(question.time, n_missing)
    return Records(user, item, n_users, n_items, times.values[kept], n_dropped, times.on_calendar)


def in_order(records: Records, question: TraceQuestion) -> tuple[Integers, Integers]:
    """Give users and items by user and time; a record that is there twice counts once."""
    if records.time is None:
        raise AssertionError
    order = np.lexsort((records.item, records.time, records.user))
    user, item, time = records.user[order], records.item[order], records.time[order]
    same = np.zeros(len(user), dtype=bool)
    same[1:] = (user[1:] == user[:-1]) & (time[1:] == time[:-1])
    again = same.copy()
    again[1:] &= item[1:] == item[:-1]
    if not np.array_equal(same, again):
        tied = same & ~again
        groups = np.cumsum(~same)
        raise tied_times(question.time, int(np.isin(groups, groups[tied]).sum() - again.sum()))
    return user[~again], item[~again]


def _windows(records: Records, question: TraceQuestion) -> tuple[StepCounts, ...]:
    user, item = in_order(records, question)
    return tuple(_window(user, item, records, question, s) for s in question.lengths)


def _window(
    user: Integers, item: Integers, records: Records, question: TraceQuestion, s: int
) -> StepCounts:
    """Count every run of s records of a user, and the users who have the same run."""
    n = len(user) - s + 1
    starts = np.flatnonzero(user[: max(n, 0)] == user[s - 1 :]) if n > 0 else np.zeros(0, np.int64)
    if not len(starts):
        return StepCounts(s, 0, records.n_users, 0.0, 0.0, 0.0, 0.0)
    runs = item[starts[:, None] + np.arange(s)]
    if not question.ordered:
        runs.sort(axis=1)
    keys, bound = closed_up(runs[:, 0])
    for column in runs.T[1:]:
        keys, bound = closed_up(keys * records.n_items + column)
    owner = user[starts]
    # Keys and users are both numbered without gaps, so that their product fits.
    pairs = np.unique(keys * records.n_users + owner)
    holders = np.bincount(pairs // records.n_users, minlength=bound)
    rare = holders[keys] < question.k
    windows = np.bincount(owner, minlength=records.n_users)
    hits = np.bincount(owner, rare, minlength=records.n_users)
    has = windows > 0
    share = hits[has] / windows[has]
    return StepCounts(
        s,
        int(has.sum()),
        int((~has).sum()),
        float(share.sum()),
        float((share**2).sum()),
        float(rare.sum()),
        float(len(starts)),
    )


def _sets(records: Records, question: TraceQuestion) -> tuple[StepCounts, ...]:
    random = np.random.default_rng(question.seed)
    index = unicity.Index.of(records.user, records.item, records.n_users, records.n_items)
    visits = None
    if question.ordered:
        visits = unicity.Visits.of(index, *in_order(records, question))
    weight = np.bincount(records.user, minlength=records.n_users).astype(float)
    asked = np.arange(records.n_users)
    if question.sample is not None and question.sample < records.n_users:
        asked = np.sort(random.choice(records.n_users, question.sample, replace=False))
    hits = {s: np.zeros(len(asked)) for s in question.lengths}
    for _ in range(question.draws):
        drawn = index.shuffled(random)
        for s in question.lengths:
            able = index.n_points[asked] >= s
            hits[s][able] += index.rare(drawn, asked[able], s, question.k, visits)
    steps = []
    for s in question.lengths:
        able = index.n_points[asked] >= s
        share, users = hits[s][able] / question.draws, asked[able]
        steps.append(
            StepCounts(
                s,
                len(users),
                len(asked) - len(users),
                float(share.sum()),
                float((share**2).sum()),
                float((share * weight[users]).sum()),
                float(weight[users].sum()),
            )
        )
    return tuple(steps)
