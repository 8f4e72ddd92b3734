"""Links across a change of pseudonyms, of persons, values and times as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import runs_of
from anonrisk.measures.counts.traces import LinkCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.measures.counts.traces import LinkQuestion

    Integers = NDArray[np.int64]


def link_counts(
    users: tuple[Integers, int],
    qids: tuple[Integers, int],
    times: Integers,
    question: LinkQuestion,
    n_dropped: int,
) -> LinkCounts:
    """Match persons before and after each change; users and values are numbered without gaps."""
    (user, n_users), (qid, n_qids) = users, qids
    side = _sides(times, question)
    periods, side = np.unique(side, return_inverse=True)
    # Whether the period after each is there at all.
    followed = np.append(np.diff(periods) == 1, False)
    by_value = _matched(side * n_qids + qid, n_qids, user, n_users, followed)
    source, whose, known, n_sets = _whole_sets(side, user, qid, n_users, n_qids)
    by_set = _matched(source * n_sets + known, n_sets, whose, n_users, followed)
    both, after = _both(side, user, n_users, followed, len(periods))
    n_both = len(both)
    best = _best(by_value, by_set)
    return LinkCounts(
        len(times),
        n_dropped,
        n_users,
        len(np.unique(both // n_users)),
        n_both,
        len(np.union1d(by_value.linked, by_set.linked)),
        by_value.n_false,
        best / n_both if n_both else 0.0,
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
    """Return (side, user) of everybody who is there in the next one too, and how many that has."""
    present = np.unique(side * n_users + user)
    source = present // n_users
    size = np.bincount(source, minlength=n_sides + 1)
    both = present[followed[source] & np.isin(present + n_users, present, assume_unique=True)]
    return both, size[1:]


def _whole_sets(
    side: Integers, user: Integers, qid: Integers, n_users: int, n_qids: int
) -> tuple[Integers, Integers, Integers, int]:
    """Return every period and person once, with a number for the set of all their values there."""
    person, number = np.unique(side * n_users + user, return_inverse=True)
    pairs = np.unique(number * n_qids + qid)
    starts = runs_of(pairs // n_qids)
    values = pairs % n_qids
    numbers: dict[bytes, int] = {}
    known = [
        numbers.setdefault(own.tobytes(), len(numbers)) for own in np.split(values, starts[1:])
    ]
    return person // n_users, person % n_users, np.array(known, dtype=np.int64), len(numbers)


def _best(*attackers: _Matches) -> float:
    """Sum everybody's best chance over all attackers."""
    who = np.concatenate([matches.who for matches in attackers])
    chance = np.concatenate([matches.chance for matches in attackers])
    if not len(who):
        return 0.0
    order = np.argsort(who, kind="stable")
    return float(np.maximum.reduceat(chance[order], runs_of(who[order])).sum())


@dataclass(frozen=True)
class _Matches:
    """Who is linked by one kind of value, how many wrongly, and the chance each value gives."""

    linked: Integers
    n_false: int
    who: Integers
    chance: NDArray[np.float64]


def _matched(
    cell: Integers, n_qids: int, user: Integers, n_users: int, followed: NDArray[np.bool_]
) -> _Matches:
    """Match persons by what is the same before and after."""
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
    linked = np.unique(person[right] + first[right])
    stays = there[place] & np.isin(later[place] * n_users + user, holders)
    who, chance = (person[place] + user)[stays], 1 / size[later[place[stays]]]
    return _Matches(linked, int((alone & ~right).sum()), who, chance)
