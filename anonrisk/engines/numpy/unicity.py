"""Who else has a set of points: an inverted index from items to users, the rarest item first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.numpy.containment import count_holders, split, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.engines.numpy.visits import Index, Visits

    Integers = NDArray[np.int64]

# Candidates of each user that are looked at one by one at first; four times as many next.
_FIRST_LOOK = 64
# The share of the sets that a look may leave open for another to be worth it.
_WORTH_A_LOOK = 0.7


def rare(  # noqa: PLR0917
    index: Index, drawn: Integers, users: Integers, s: int, k: int, visits: Visits | None
) -> NDArray[np.float64]:
    """Tell of each user's first s drawn items whether fewer than k users have them all.

    The users who have the rarest item are looked at a few at a time, as long as that settles
    many sets; what is left then is found in one walk for all.
    """
    sets = _Sets.of(index, drawn, users, s, visits)
    if s == 1:
        return (sets.length < k).astype(float)
    found = np.zeros(len(users), dtype=np.int64)
    left, seen, size = np.arange(len(users)), 0, _FIRST_LOOK
    while len(left):
        for part in split(left, np.minimum(sets.length[left] - seen, size)):
            found[part] += _count(index, sets, part, range(seen, seen + size))
        n_before, seen, size = len(left), seen + size, 4 * size
        left = left[(found[left] < k) & (sets.length[left] > seen)]
        if len(left) > _WORTH_A_LOOK * n_before:
            found[left] = count_holders(index, sets.by_rarity[left], sets.points[left], visits)
            break
    return (found < k).astype(float)


def _count(index: Index, sets: _Sets, part: Integers, among: range) -> Integers:
    """Count, of some candidates of some users, those who have all the points."""
    number = np.minimum(sets.length[part] - among.start, len(among))
    within, owner = spread(np.arange(len(part)), number)
    candidate = index.holder[sets.first[part][owner] + among.start + within]
    for column in sets.by_rarity.T[1:]:
        able = index.has(candidate, column[part][owner])
        owner, candidate = owner[able], candidate[able]
    if sets.visits is not None:
        owner = owner[sets.visits.follow(candidate, sets.points[part][owner])]
    return np.bincount(owner, minlength=len(part))


@dataclass(frozen=True)
class _Sets:
    """A set of points of each user, and where the users who have its rarest point are listed."""

    points: Integers
    by_rarity: Integers
    first: Integers
    length: Integers
    visits: Visits | None

    @classmethod
    def of(
        cls, index: Index, drawn: Integers, users: Integers, s: int, visits: Visits | None
    ) -> _Sets:
        points = drawn[index.starts[users][:, None] + np.arange(s)]
        rarity = np.argsort(index.popularity[points], axis=1, kind="stable")
        by_rarity = np.take_along_axis(points, rarity, axis=1)
        rarest = by_rarity[:, 0]
        if visits is not None:
            points = visits.sorted(users, points)
        return cls(points, by_rarity, index.item_starts[rarest], index.popularity[rarest], visits)
