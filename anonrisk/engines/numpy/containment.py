"""Who has all the points of each of many sets: one walk down the tree that the sets make.

Looking through the users who have a set's rarest point costs users times users. Sets that begin
with the same points share their way down the tree instead, and a user goes down only where they
have the next point. Where some items are much more popular than others, as in real traces, that
costs about as many groupings of the table whatever its size: 13 to 20 at 1 to 16 million records of
2,500 items under Zipf's law. It costs more where items are few and all equally popular (about 60
for 100 items). Order is looked at in the leaves only, so that in dense traces, where every user
reaches nearly every leaf, ordered sets cost users times users still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.numpy.key_set import KeySet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.engines.numpy.visits import Index, Visits

    Integers = NDArray[np.int64]

# Steps that are looked at together; bounds the memory.
_AT_ONCE = 4_000_000
# How many questions whether a user has an item cost as much as one look-up among the branches.
_WORTH = 2


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth: the item of each, and where its children are in the next level."""

    keys: KeySet
    item: Integers
    first_child: Integers
    n_children: Integers


@dataclass(frozen=True)
class _Tree:
    """Sets in their order, and the tree of their beginnings; `leaf` is the last node of a set."""

    levels: tuple[_Level, ...]
    leaf: Integers

    @classmethod
    def of(cls, points: Integers, n_items: int) -> _Tree:
        new = np.zeros(len(points), dtype=bool)
        new[:1] = True
        parent = np.zeros(len(points), dtype=np.int64)
        keys, items, children = [], [], []
        for column in points.T:
            new[1:] |= column[1:] != column[:-1]
            n_parents = int(parent[-1]) + 1
            keys.append(KeySet.of(parent[new] * n_items + column[new], n_parents * n_items))
            items.append(column[new])
            children.append(np.bincount(parent[new]))
            parent = np.cumsum(new) - 1
        children.append(np.zeros(parent[-1] + 1, dtype=np.int64))
        levels = (
            _Level(key, item, np.cumsum(number) - number, number)
            for key, item, number in zip(keys, items, children[1:], strict=True)
        )
        return cls(tuple(levels), parent)


def count_holders(
    index: Index, by_rarity: Integers, in_order: Integers, visits: Visits | None
) -> Integers:
    """Count the users who have all the points of each set, in their order if there are visits."""
    order = np.lexsort(by_rarity.T[::-1])
    tree = _Tree.of(by_rarity[order], index.n_items)
    walk = _Walk(index, tree, in_order[order], visits)
    found = np.empty(len(order), dtype=np.int64)
    found[order] = walk.from_the_top()
    return found


class _Walk:
    """Users on their way down a tree of sets."""

    def __init__(
        self, index: Index, tree: _Tree, in_order: Integers, visits: Visits | None
    ) -> None:
        self.index, self.tree, self.in_order, self.visits = index, tree, in_order, visits
        self.n_sets = np.bincount(tree.leaf)
        self.first_set = np.cumsum(self.n_sets) - self.n_sets
        self.found = np.zeros(len(tree.leaf) if visits is not None else len(self.n_sets), np.int64)

    def from_the_top(self) -> Integers:
        index, top = self.index, self.tree.levels[0]
        number = index.popularity[top.item]
        for nodes in split(np.arange(len(top.item)), number):
            at, node = spread(nodes, number[nodes])
            self._down(0, node, index.holder[index.item_starts[top.item[node]] + at])
        return self.found if self.visits is not None else self.found[self.tree.leaf]

    def _down(self, depth: int, node: Integers, user: Integers) -> None:
        if depth == len(self.tree.levels) - 1:
            self._arrive(node, user)
            return
        level = self.tree.levels[depth]
        by_branch = level.n_children[node]
        by_point = self.index.n_points[user]
        asks = by_branch <= _WORTH * by_point
        for rows in split(np.flatnonzero(asks), by_branch[asks]):
            self._down(depth + 1, *self._ask(depth, node[rows], user[rows]))
        for rows in split(np.flatnonzero(~asks), by_point[~asks]):
            self._down(depth + 1, *self._look_up(depth, node[rows], user[rows]))

    def _ask(self, depth: int, node: Integers, user: Integers) -> tuple[Integers, Integers]:
        """Ask of every branch whether the user has its item."""
        level, below = self.tree.levels[depth], self.tree.levels[depth + 1]
        at, row = spread(np.arange(len(node)), level.n_children[node])
        child = level.first_child[node][row] + at
        user = user[row]
        has = self.index.has(user, below.item[child])
        return child[has], user[has]

    def _look_up(self, depth: int, node: Integers, user: Integers) -> tuple[Integers, Integers]:
        """Look every item of the user up among the branches."""
        index, below = self.index, self.tree.levels[depth + 1]
        at, row = spread(np.arange(len(node)), index.n_points[user])
        key = node[row] * index.n_items + index.item[index.starts[user][row] + at]
        has = below.keys.has(key)
        return below.keys.place(key[has]), user[row[has]]

    def _arrive(self, leaf: Integers, user: Integers) -> None:
        if self.visits is None:
            self.found += np.bincount(leaf, minlength=len(self.found))
            return
        for rows in split(np.arange(len(leaf)), self.n_sets[leaf]):
            at, row = spread(rows, self.n_sets[leaf[rows]])
            number = self.first_set[leaf[row]] + at
            follows = self.visits.follow(user[row], self.in_order[number])
            self.found += np.bincount(number[follows], minlength=len(self.found))


def spread(rows: Integers, number: Integers) -> tuple[Integers, Integers]:
    """Repeat each row so often; give 0, 1, … within each, and the row."""
    at = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    return at, np.repeat(rows, number)


def split(rows: Integers, number: Integers) -> list[Integers]:
    """Split rows so that what they are spread to stays within bounds."""
    cuts = np.flatnonzero(np.diff(np.cumsum(number) // _AT_ONCE)) + 1
    return [part for part in np.split(rows, cuts) if len(part)]
