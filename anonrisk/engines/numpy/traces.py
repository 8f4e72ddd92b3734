"""Traces as numbers: who else has the points that are known of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.interrupt import interruptible
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of
from anonrisk.counts.traces import MEASURED, StepCounts, TraceCounts
from anonrisk.engines.numpy import unicity
from anonrisk.engines.numpy.count import histogram, runs_of
from anonrisk.engines.numpy.visits import Index, Visits
from anonrisk.engines.renumber import closed_up
from anonrisk.engines.times import tied_times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.counts.traces import TraceQuestion

    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class NumberedRecords:
    """The kept records: user and item as numbers without gaps, and a time that orders them."""

    user: Integers
    item: Integers
    n_users: int
    n_items: int
    time: Integers | None
    n_dropped: int
    on_calendar: bool = False


def trace_counts(records: NumberedRecords, question: TraceQuestion) -> TraceCounts:
    """Count who is singled out by each number of records."""
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


def in_order(records: NumberedRecords, question: TraceQuestion) -> tuple[Integers, Integers]:
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


def _windows(records: NumberedRecords, question: TraceQuestion) -> tuple[StepCounts, ...]:
    user, item = in_order(records, question)
    steps: list[StepCounts] = []
    with interruptible() as interruption:
        for s in question.lengths:
            tell(f"runs of {count_of(s, 'record')}", len(steps), question.n_steps)
            steps.append(_window(user, item, records, question, s))
    interruption.keep(len(steps), question.n_steps, MEASURED)
    return tuple(steps)


def _window(
    user: Integers, item: Integers, records: NumberedRecords, question: TraceQuestion, s: int
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


def _sets(records: NumberedRecords, question: TraceQuestion) -> tuple[StepCounts, ...]:
    random = np.random.default_rng(question.seed)
    index = Index.of(records.user, records.item, records.n_users, records.n_items)
    visits = None
    if question.ordered:
        visits = Visits.of(index, *in_order(records, question))
    weight = np.bincount(records.user, minlength=records.n_users).astype(float)
    asked = np.arange(records.n_users)
    if question.sample is not None and question.sample < records.n_users:
        asked = np.sort(random.choice(records.n_users, question.sample, replace=False))
    # Of each length the hits of every user who has so many points, and how often they were drawn.
    hits: dict[int, tuple[NDArray[np.float64], int]] = {}
    with interruptible() as interruption:
        for draw in range(question.draws):
            drawn = index.shuffled(random)
            for place, s in enumerate(question.lengths):
                done = draw * len(question.lengths) + place
                tell(f"sets of {count_of(s, 'record')}", done, question.n_steps)
                able = asked[index.n_points[asked] >= s]
                rare = unicity.rare(index, drawn, able, s, question.k, visits)
                hits[s] = (hits[s][0] + rare if draw else rare), draw + 1
    n_done = sum(draws for _, draws in hits.values())
    interruption.keep(n_done, question.n_steps, MEASURED)
    steps = []
    for s, (found, draws) in hits.items():
        users = asked[index.n_points[asked] >= s]
        share = found / draws
        steps.append(
            StepCounts(
                s,
                len(users),
                len(asked) - len(users),
                float(share.sum()),
                float((share**2).sum()),
                float((share * weight[users]).sum()),
                float(weight[users].sum()),
                draws,
            )
        )
    return tuple(steps)
