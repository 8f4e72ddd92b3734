"""Links across a change of pseudonyms, on pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines import base
from anonrisk.engines.pandas.clock import clock
from anonrisk.engines.pandas.count import Encoded, closed_up, runs_of
from anonrisk.engines.times import missing_time
from anonrisk.engines.traces import LinkCounts, check_any, missing_user

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.engines.traces import LinkQuestion

    Integers = NDArray[np.int64]


def links(frame: pd.DataFrame, question: LinkQuestion) -> LinkCounts:
    """Match persons before and after each change by their quasi-identifiers."""
    encoded = Encoded.of(
        frame, base.Question((question.qid,), None, question.missing), {question.user: "user"}
    )
    users = encoded.columns[question.user]
    if users.n_missing:
        raise missing_user(question.user, users.n_missing)
    kept = encoded.kept(question.qid)
    rows = np.arange(len(frame)) if kept is None else np.flatnonzero(kept)
    check_any(len(rows), len(frame) - len(rows))
    time = clock(frame, question.time, calendar=question.period is not None)
    n_missing = int(np.count_nonzero(time.missing[rows]))
    if n_missing:
        raise missing_time(question.time, n_missing)
    user, n_users = closed_up(users.values[rows].astype(np.int64))
    qid, n_qids = closed_up(encoded.keys(question.qid)[0][rows])
    side = _sides(time.values[rows], question)
    periods, side = np.unique(side, return_inverse=True)
    # Whether the period after each is there at all.
    followed = np.append(np.diff(periods) == 1, False)
    counts = _matched(side * n_qids + qid, n_qids, user, n_users, followed)
    both, after = _both(side, user, n_users, followed, len(periods))
    n_both = len(both)
    return LinkCounts(
        len(rows),
        len(frame) - len(rows),
        n_users,
        len(np.unique(both // n_users)),
        n_both,
        counts[0],
        counts[1],
        counts[2] / n_both if n_both else 0.0,
        float((1 / after[both // n_users]).mean()) if n_both else 0.0,
    )


def _sides(times: Integers, question: LinkQuestion) -> Integers:
    if question.period is not None:
        numbers: Integers = times // question.period
        return numbers
    low, high = int(times.min()), int(times.max())
    at = -(-(low + high) // 2) if question.at is None else question.at
    return (times >= at).astype(np.int64)


def _both(
    side: Integers, user: Integers, n_users: int, followed: NDArray[np.bool_], n_sides: int
) -> tuple[Integers, Integers]:
    """Give (side, user) of everybody who is there in the next one too, and how many that has."""
    present = np.unique(side * n_users + user)
    of = present // n_users
    size = np.bincount(of, minlength=n_sides + 1)
    both = present[followed[of] & np.isin(present + n_users, present, assume_unique=True)]
    return both, size[1:]


def _matched(
    cell: Integers, n_qids: int, user: Integers, n_users: int, followed: NDArray[np.bool_]
) -> tuple[int, int, float]:
    """Count right links, wrong ones, and the sum of everybody's best chance."""
    cells, place = np.unique(cell, return_inverse=True)
    holders = np.unique(place * n_users + user)
    place, user = holders // n_users, holders % n_users
    size = np.bincount(place, minlength=len(cells))
    first = user[runs_of(place)]
    # The same quasi-identifier one period later, if there is one.
    later = np.minimum(np.searchsorted(cells, cells + n_qids), len(cells) - 1)
    there = followed[cells // n_qids] & (cells[later] == cells + n_qids)
    alone = there & (size == 1) & (size[later] == 1)
    right = alone & (first == first[later])
    person = cells // n_qids * n_users
    linked = len(np.unique(person[right] + first[right]))
    stays = there[place] & np.isin(later[place] * n_users + user, holders)
    who, chance = (person[place] + user)[stays], 1 / size[later[place[stays]]]
    if not len(who):
        return linked, int((alone & ~right).sum()), 0.0
    order = np.argsort(who, kind="stable")
    best = np.maximum.reduceat(chance[order], runs_of(who[order]))
    return linked, int((alone & ~right).sum()), float(best.sum())
