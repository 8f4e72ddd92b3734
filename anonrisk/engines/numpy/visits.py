"""Who has what: pairs of user and item, by either, and when each user was where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import runs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# A bit for each number that there could be answers fastest, if there is room (256 MiB).
_MOST_BITS = 2**31


@dataclass(frozen=True)
class KeySet:
    """Numbers from 0 on, in their order, each once."""

    keys: Integers
    bits: NDArray[np.uint8] | None

    @classmethod
    def of(cls, keys: Integers, bound: int) -> KeySet:
        """Take numbers below a bound that are in their order already, each once."""
        if bound > _MOST_BITS:
            return cls(keys, None)
        bits = np.zeros(bound // 8 + 1, dtype=np.uint8)
        places, masks = keys >> 3, (1 << (keys & 7)).astype(np.uint8)
        first = runs_of(places)
        bits[places[first]] = np.bitwise_or.reduceat(masks, first)
        return cls(keys, bits)

    def has(self, asked: Integers) -> Flags:
        """Return for each number whether it is among them."""
        if self.bits is not None:
            flags: Flags = (self.bits[asked >> 3] >> (asked & 7).astype(np.uint8)) & 1 > 0
            return flags
        result: Flags = self.keys[np.minimum(self.place(asked), len(self.keys) - 1)] == asked
        return result

    def place(self, asked: Integers) -> Integers:
        """Return the place of each number that is among them."""
        return np.searchsorted(self.keys, asked)


@dataclass(frozen=True)
class Index:
    """Each pair of user and item once, by user and by item.

    `item`, in order of user, and `holder`, the users in order of item, are (n_pairs,); `starts` and
    `n_points`, where a user's pairs are in `item`, are (n_users,); `item_starts` and `popularity`,
    where an item's are in `holder`, (n_items,).
    """

    item: Integers
    starts: Integers
    n_points: Integers
    holder: Integers
    item_starts: Integers
    popularity: Integers
    pairs: KeySet
    n_items: int

    @classmethod
    def of(cls, user: Integers, item: Integers, n_users: int, n_items: int) -> Index:
        """Sort the pairs and point at where each user and each item starts."""
        keys = user * n_items + item
        keys.sort()
        keys = keys[runs_of(keys)]
        users, items = keys // n_items, keys % n_items
        n_points = np.bincount(users, minlength=n_users)
        popularity = np.bincount(items, minlength=n_items)
        by_item = np.argsort(items, kind="stable")
        return cls(
            items,
            np.cumsum(n_points) - n_points,
            n_points,
            users[by_item],
            np.cumsum(popularity) - popularity,
            popularity,
            KeySet.of(keys, n_users * n_items),
            n_items,
        )

    def shuffled(self, random: np.random.Generator) -> Integers:
        """Return the items of each user in a random order; its first s are a random set of s."""
        owner = np.repeat(np.arange(len(self.n_points)), self.n_points)
        return self.item[np.argsort(owner + random.random(len(owner)), kind="stable")]

    def has(self, user: Integers, item: Integers) -> Flags:
        """Return whether each user has each item."""
        return self.pairs.has(user * self.n_items + item)


@dataclass(frozen=True)
class Visits:
    """When each user was where: places in the user's trace, by pair of user and item.

    `places` is (n_records,), as number of the pair times `longest` plus place, ascending; `starts`,
    where a pair's are, is (n_pairs,).
    """

    index: Index
    places: Integers
    starts: Integers
    longest: int

    @classmethod
    def of(cls, index: Index, user: Integers, item: Integers) -> Visits:
        """Read traces that are in the order of users and times."""
        place = np.arange(len(user))
        order = np.lexsort((place, user * index.n_items + item))
        pairs = (user * index.n_items + item)[order]
        starts = runs_of(pairs)
        longest = len(user) + 1
        number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(pairs)))
        return cls(index, number * longest + place[order], starts, longest)

    def _pair(self, user: Integers, item: Integers) -> Integers:
        return self.index.pairs.place(user * self.index.n_items + item)

    def sorted(self, users: Integers, points: Integers) -> Integers:
        """Put the points of each user, (n_users, s), in the order of the first visits to them."""
        pairs = self._pair(np.repeat(users, points.shape[1]), points.ravel())
        first = (self.places[self.starts[pairs]] % self.longest).reshape(points.shape)
        return np.take_along_axis(points, np.argsort(first, axis=1), axis=1)

    def follow(self, user: Integers, points: Integers) -> Flags:
        """Return whether each user visited the points in this order, anything between them.

        `points` is (n_users, s), one row per user.
        """
        at = np.full(len(user), -1, dtype=np.int64)
        good = np.ones(len(user), dtype=bool)
        for column in points.T:
            pair = self._pair(user, column)
            later = np.searchsorted(self.places, pair * self.longest + at, side="right")
            place = self.places[np.minimum(later, len(self.places) - 1)]
            good &= (later < len(self.places)) & (place // self.longest == pair)
            at = place % self.longest
        return good
