"""Traces on pandas: who else has the points that are known of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas.util import hash_pandas_object

from anonrisk.core import radix
from anonrisk.counts.traces import (
    StepCounts,
    TraceCounts,
    check_any,
    missing_items,
    missing_user,
)
from anonrisk.engines.numpy import unicity
from anonrisk.engines.numpy.count import closed_up, histogram, runs_of
from anonrisk.engines.numpy.visits import Index, Visits
from anonrisk.engines.pandas.clock import clock
from anonrisk.engines.pandas.encode import column_of, encode
from anonrisk.engines.times import missing_time, tied_times

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.counts.traces import TraceQuestion
    from anonrisk.engines.numpy.codes import Codes

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
        starts = runs_of(records.user)
        ends = np.append(starts[1:], len(records.user)) - 1
        # In numbers of Python, which do not overflow.
        span = sum(records.time[ends].tolist()) - sum(records.time[starts].tolist())
        gaps = len(records.user) - records.n_users
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
    # The time may be part of the item too, and is then encoded like any other.
    codes = encode(frame, {question.user: "user", **dict.fromkeys(question.item, "item")})
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
    rows = np.flatnonzero(kept)
    user, n_users = _by_value(frame, question.user, codes[question.user], rows)
    items = (_by_value(frame, name, codes[name], rows) for name in question.item)
    item, n_items = radix.renumbered(radix.keys_of(items)[0])
    if question.time is None:
        return Records(user, item, n_users, n_items, None, n_dropped)
    times = clock(frame, question.time)
    n_missing = int(np.count_nonzero(times.missing & kept))
    if n_missing:
        raise missing_time(question.time, n_missing)
    user, item, time = _once(user, item, times.values[kept])
    return Records(user, item, n_users, n_items, time, n_dropped, times.on_calendar)


def _by_value(
    frame: pd.DataFrame, name: Name, codes: Codes, rows: Integers
) -> tuple[Integers, int]:
    """Number the values of a column without gaps, in an order that the rows' does not change.

    What a seed draws goes by these numbers. The order is that of hashes, since cells of different
    types have no other.
    """
    code, number = closed_up(codes.values[rows].astype(np.int64))
    first = np.zeros(number, dtype=np.int64)
    first[code[::-1]] = rows[::-1]
    column = column_of(frame, name)
    if _written_alike(column.iloc[first]):
        hashes = hash_pandas_object(column.iloc[first], index=False).to_numpy()
    else:
        every = hash_pandas_object(column.iloc[rows], index=False, categorize=False).to_numpy()
        hashes = np.full(number, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(hashes, code, every)
    rank = np.empty(number, dtype=np.int64)
    rank[np.argsort(hashes, kind="stable")] = np.arange(number)
    return rank[code], number


def _written_alike(cells: pd.Series[Any]) -> bool:
    """Tell whether equal cells have equal hashes.

    One instant has many zones, one decimal number many zeros at its end, and zero two signs. Which
    of them comes first depends on the order of the rows, so that all of them must be asked.
    """
    if cells.dtype != object:
        return cells.dtype.kind != "f" and cells.dtype.name != "category"
    known = cells[cells.notna()].iloc[:1]
    return all(isinstance(value, (str, bytes, int)) for value in known)


def _once(user: Integers, item: Integers, time: Integers) -> tuple[Integers, Integers, Integers]:
    """Sort by user and time; the same item of a user at the same time is one record."""
    order = np.lexsort((item, time, user))
    user, item, time = user[order], item[order], time[order]
    new = np.ones(len(user), dtype=bool)
    new[1:] = (user[1:] != user[:-1]) | (time[1:] != time[:-1]) | (item[1:] != item[:-1])
    return user[new], item[new], time[new]


def in_order(records: Records, question: TraceQuestion) -> tuple[Integers, Integers]:
    """Give users and items by user and time, if no two of a user are at one time."""
    user, time = records.user, records.time
    if time is None:
        raise AssertionError
    tied = np.zeros(len(user), dtype=bool)
    tied[1:] = (user[1:] == user[:-1]) & (time[1:] == time[:-1])
    if tied.any():
        # The first record of a tie is the one before.
        tied[:-1] |= tied[1:]
        raise tied_times(question.time, int(tied.sum()))
    return user, records.item


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
    index = Index.of(records.user, records.item, records.n_users, records.n_items)
    visits = None
    if question.ordered:
        visits = Visits.of(index, *in_order(records, question))
    weight = np.bincount(records.user, minlength=records.n_users).astype(float)
    asked = np.arange(records.n_users)
    if question.sample is not None and question.sample < records.n_users:
        asked = np.sort(random.choice(records.n_users, question.sample, replace=False))
    hits = {s: np.zeros(len(asked)) for s in question.lengths}
    for _ in range(question.draws):
        drawn = index.shuffled(random)
        for s in question.lengths:
            able = index.n_points[asked] >= s
            hits[s][able] += unicity.rare(index, drawn, asked[able], s, question.k, visits)
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
