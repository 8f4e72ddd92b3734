"""The least that keys below k must lose, by branch and bound over sets of columns.

Keys that cannot help each other are searched apart, so that many small tables are done exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.planning.incomplete_keys import IncompleteKeys

    # What some keys lose, each a set of columns as bits; and their weights and cells, added up.
    Choice = tuple[int, ...]
    Cost = tuple[float, int]

# Groups of more keys, or that take more steps, are left as they are.
MAX_KEYS = 16
MAX_STEPS = 10_000


def search(
    keys: IncompleteKeys,
    k: int,
    weights: Sequence[float],
    matches: Mapping[int, tuple[Integers, Integers]],
    known: Booleans,
) -> tuple[Booleans, bool]:
    """Improve a choice of cells as far as can be, and tell whether no better one exists.

    Parameters
    ----------
    keys : IncompleteKeys
        Those that match fewer than k records.
    k, weights
        As in `choose_cells`.
    matches : dict of int to two arrays
        For each set of columns that a key may lose, as bits: the records that it then matches, and
        how many of them are not of these keys.
    known : array of bool
        A choice of cells that is good enough.
    """
    problem = _Problem.of(keys, k, weights, matches)
    best, optimal = known.copy(), True
    for group in problem.groups():
        if len(group) > MAX_KEYS:
            optimal = False
            continue
        tree = _Branching(problem, group, tuple(_bits(row) for row in known[group]))
        tree.descend(0)
        optimal &= tree.steps <= MAX_STEPS
        for key, lost in zip(group, tree.best, strict=True):
            best[key] = [lost >> column & 1 for column in range(known.shape[1])]
    return best, optimal


def _bits(flags: Booleans) -> int:
    return sum(1 << int(column) for column in np.flatnonzero(flags))


@dataclass(frozen=True)
class _Problem:
    """What keys may lose, what it costs, and by which columns two of them differ."""

    k: int
    counts: list[int]
    # For each key, the sets that it may lose, cheapest first, and all their columns together.
    sets: list[list[int]]
    most: list[int]
    costs: list[dict[int, Cost]]
    outside: dict[int, list[int]]
    differ: list[list[int]]

    @classmethod
    def of(
        cls,
        keys: IncompleteKeys,
        k: int,
        weights: Sequence[float],
        matches: Mapping[int, tuple[Integers, Integers]],
    ) -> _Problem:
        known = keys.codes >= 0
        differ = (keys.codes[:, None] != keys.codes[None]) & known[:, None] & known[None]
        bits = (differ * (1 << np.arange(known.shape[1]))).sum(axis=2)
        sets: list[list[int]] = []
        costs: list[dict[int, Cost]] = []
        for key, count in enumerate(keys.counts.tolist()):
            minimal: list[int] = []
            for mask in sorted(matches, key=int.bit_count):
                enough = matches[mask][0][key] >= k
                if enough and not any(mask & less == less for less in minimal):
                    minimal.append(mask)
            allowed = [mask for mask in matches if any(mask & most == mask for most in minimal)]
            cost = {mask: _cost(mask, weights, count) for mask in allowed}
            sets.append(sorted(allowed, key=cost.__getitem__))
            costs.append(cost)
        most = [int(np.bitwise_or.reduce(allowed)) for allowed in sets]
        outside = {mask: found[1].tolist() for mask, found in matches.items()}
        return cls(k, keys.counts.tolist(), sets, most, costs, outside, bits.tolist())

    def groups(self) -> list[list[int]]:
        """Part the keys into groups such that no key can help one of another group."""
        left, groups = set(range(len(self.counts))), []
        while left:
            group = [min(left)]
            left -= set(group)
            for key in group:
                near = sorted(
                    other
                    for other in left
                    if not self.differ[key][other] & ~(self.most[key] | self.most[other])
                )
                group += near
                left -= set(near)
            groups.append(sorted(group))
        return groups


def _cost(mask: int, weights: Sequence[float], count: int) -> Cost:
    chosen = [weight for column, weight in enumerate(weights) if mask >> column & 1]
    return sum(chosen) * count, len(chosen) * count


class _Branching:
    """A search through what the keys of one group lose, one key after another.

    Keys that are still open are taken to lose all that they may: who matches too few even then
    ends a branch, and so does a cost that is not below the best.
    """

    def __init__(self, problem: _Problem, keys: list[int], known: Choice) -> None:
        self.problem, self.keys, self.best = problem, keys, known
        self.best_cost = self._total(known)
        self.chosen = [problem.most[key] for key in keys]
        self.cost: Cost = (0.0, 0)
        self.steps = 0

    def _total(self, choice: Choice) -> Cost:
        costs = [self.problem.costs[key][lost] for key, lost in zip(self.keys, choice, strict=True)]
        return sum(cost for cost, _ in costs), sum(cells for _, cells in costs)

    def descend(self, place: int) -> None:
        """Try every set that one key may lose, and go on with the next key."""
        if place == len(self.keys):
            self.best, self.best_cost = tuple(self.chosen), self.cost
            return
        before, widest = self.cost, self.chosen[place]
        key = self.keys[place]
        for lost in self.problem.sets[key]:
            weight, cells = self.problem.costs[key][lost]
            self.cost = (before[0] + weight, before[1] + cells)
            if not _below(self.cost, self.best_cost):
                # The others cost more.
                break
            self.steps += 1
            if self.steps > MAX_STEPS:
                break
            self.chosen[place] = lost
            if self._all_match():
                self.descend(place + 1)
        self.cost, self.chosen[place] = before, widest

    def _all_match(self) -> bool:
        problem = self.problem
        for key, lost in zip(self.keys, self.chosen, strict=True):
            size, differ = problem.outside[lost][key], problem.differ[key]
            for other, lost_there in zip(self.keys, self.chosen, strict=True):
                if not differ[other] & ~(lost | lost_there):
                    size += problem.counts[other]
            if size < problem.k:
                return False
        return True


def _below(cost: Cost, best: Cost) -> bool:
    """Compare weights, then cells; sums of floats that are equal on paper count as equal."""
    if abs(cost[0] - best[0]) > 1e-9 * max(1.0, abs(best[0])):
        return cost[0] < best[0]
    return cost[1] < best[1]
