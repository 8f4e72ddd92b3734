"""The lattice of offered recodings, each node of it measured by arithmetic on one tally."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.planning.losses.base import (
    CellLoss,
    ClassLoss,
    RecodedClasses,
    RecodedColumn,
    tidy,
)
from anonrisk.planning.losses.range import RangeLoss

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.arrays import Booleans, Floats, Integers
    from anonrisk.core.columns import Name
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.losses.base import Loss
    from anonrisk.recode import Recoding

    Node = tuple[int, ...]

# Rolled-up tallies that are kept for coarser nodes to start from.
_KEPT = 96
_RANGE = RangeLoss()


@dataclass(frozen=True)
class Choice:
    """One offered recoding of one column: the group of each code, and what a group loses."""

    recoding: Recoding
    groups: Integers
    losses: Floats
    n_groups: int

    @classmethod
    def of(cls, recoding: Recoding, tally: Tally, name: Name, loss: Loss) -> Choice:
        """Apply a recoding to a domain; of a loss of classes no column loses anything."""
        margin = tally.margin(name)
        column = RecodedColumn.of(recoding, tally.domains[name], name, margin)
        losses = loss.of_groups(column) if isinstance(loss, CellLoss) else np.zeros(column.n_groups)
        # Only groups that occur are counted.
        present = np.unique(column.groups[margin > 0])
        return cls(recoding, column.groups, losses, len(present))

    def mean_loss(self, margin: Integers) -> float:
        """Give what a cell of the column loses on average, without suppression."""
        return float(tidy(self.losses[self.groups] @ margin / int(margin.sum())))


@dataclass(frozen=True)
class MeasuredNode:
    """What is true of a table after the recodings of one node."""

    node: Node
    n_classes: int
    # Classes below k, and the smallest of the others; None if there is none.
    n_small: int
    k_kept: int | None
    n_below: int
    loss: float
    # What would be lost if nobody were suppressed.
    unsuppressed: float
    discernibility: int


@dataclass(frozen=True)
class _Rolled:
    """A tally generalised to one node: codes by column, counts by class."""

    node: Node
    codes: list[Integers]
    counts: Integers


@dataclass
class Lattice:
    """All combinations of one offered recoding per column."""

    tally: Tally
    columns: tuple[Name, ...]
    choices: list[list[Choice]]
    k: int
    weights: Floats
    loss: Loss
    # How many classes were looked at: what the work of a search is counted by.
    work: int = 0
    measured: dict[Node, MeasuredNode] = field(default_factory=dict)
    _rolled: list[_Rolled] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        tally: Tally,
        offered: Mapping[Name, Sequence[Recoding]],
        k: int,
        weights: Sequence[float] | None = None,
        loss: Loss = _RANGE,
    ) -> Lattice:
        """Apply every offered recoding to its column's domain, once."""
        columns = tuple(offered)
        choices = [different([Choice.of(r, tally, c, loss) for r in offered[c]]) for c in columns]
        share = np.ones(len(columns)) if weights is None else np.asarray(weights, dtype=float)
        return cls(tally, columns, choices, k, share / share.sum(), loss)

    def __post_init__(self) -> None:
        """Prepare what every node needs: margins, and which choice refines which."""
        self.n = self.tally.n_records
        margins = [self.tally.margin(c) for c in self.columns]
        self.mean_loss = [
            np.array([c.mean_loss(m) for c in offered])
            for offered, m in zip(self.choices, margins, strict=True)
        ]
        self.most_loss = [
            np.array([float(c.losses.max(initial=0.0)) for c in offered])
            for offered in self.choices
        ]
        # finer[c][a, b]: whether choice a of column c refines choice b.
        self.finer = [_refinements(offered) for offered in self.choices]
        self.maps = [_maps(o, f) for o, f in zip(self.choices, self.finer, strict=True)]
        self.top = tuple(int(np.argmin([c.n_groups for c in o])) for o in self.choices)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of choices of each column."""
        return tuple(len(offered) for offered in self.choices)

    def measure(self, node: Node) -> MeasuredNode:
        """Measure a node: sizes of its classes, records below k, loss with those suppressed.

        The loss is the mean over original records and columns; a suppressed record costs 1.
        """
        known = self.measured.get(node)
        if known is not None:
            return known
        rolled = self._roll_up(node)
        small = rolled.counts < self.k
        n_below = int(rolled.counts[small].sum())
        of_class = self._of_class(rolled, ~small)
        kept, gone = (float(of_class[part] @ rolled.counts[part]) for part in (~small, small))
        squares = int((rolled.counts[~small] ** 2).sum()) + n_below * self.n
        found = MeasuredNode(
            node,
            len(rolled.counts),
            int(small.sum()),
            int(rolled.counts[~small].min()) if not small.all() else None,
            n_below,
            float(tidy((kept + n_below) / self.n)),
            (kept + gone) / self.n,
            squares,
        )
        self.measured[node] = found
        return found

    def _of_class(self, rolled: _Rolled, kept: Booleans) -> Floats:
        """Give what a record of each class loses."""
        if isinstance(self.loss, ClassLoss):
            return self.loss.of_classes(self._classes(rolled, kept))
        of_class = np.zeros(len(rolled.counts))
        for c, choice in enumerate(rolled.node):
            of_class += self.weights[c] * self.choices[c][choice].losses[rolled.codes[c]]
        return of_class

    def _classes(self, rolled: _Rolled, kept: Booleans) -> RecodedClasses:
        chosen = [offered[i] for offered, i in zip(self.choices, rolled.node, strict=True)]
        groups = {c: one.groups for c, one in zip(self.columns, chosen, strict=True)}
        sizes = [len(one.losses) for one in chosen]
        return RecodedClasses(rolled.codes, groups, sizes, rolled.counts, kept)

    def by_column(self, node: Node, loss: CellLoss) -> Floats:
        """Give what a cell of each column loses at a node, whatever it is worth."""
        rolled = self._roll_up(node)
        chosen = [
            RecodedColumn.of(offered[i].recoding, self.tally.domains[c], c, self.tally.margin(c))
            for c, offered, i in zip(self.columns, self.choices, node, strict=True)
        ]
        return loss.by_column(chosen, self._classes(rolled, rolled.counts >= self.k))

    def plain_loss(self, node: Node) -> float:
        """Give the loss of a node with all columns worth the same."""
        if isinstance(self.loss, ClassLoss):
            return self.measure(node).loss
        return float(self.by_column(node, self.loss).mean())

    def _roll_up(self, node: Node) -> _Rolled:
        source = next((r for r in self._rolled if self._refines(r.node, node)), None)
        if source is None:
            codes = [self.tally.codes[c] for c in self.columns]
            counts = self.tally.counts
            groups = [self.choices[c][choice].groups[codes[c]] for c, choice in enumerate(node)]
        else:
            counts = source.counts
            groups = [
                source.codes[c]
                if source.node[c] == choice
                else self.maps[c][source.node[c], choice][source.codes[c]]
                for c, choice in enumerate(node)
            ]
        self.work += len(counts)
        rolled = _Rolled(
            node,
            *merged(
                groups, counts, [len(o[i].losses) for o, i in zip(self.choices, node, strict=True)]
            ),
        )
        self._rolled.append(rolled)
        # The smallest that fits is the best to start from.
        self._rolled.sort(key=lambda r: len(r.counts))
        if len(self._rolled) > _KEPT:
            # Among the larger half, where each takes much room, the oldest serve the least.
            del self._rolled[_KEPT // 2]
        return rolled

    def _refines(self, fine: Node, coarse: Node) -> bool:
        return all(f[a, b] for f, a, b in zip(self.finer, fine, coarse, strict=True))

    def present(self, node: Node) -> list[int]:
        """Count the different values of each column at a node."""
        return [self.choices[c][i].n_groups for c, i in enumerate(node)]


def merged(
    groups: list[Integers], counts: Integers, sizes: list[int]
) -> tuple[list[Integers], Integers]:
    """Add up the classes that have become one."""
    keys, _ = radix.keys_of(zip(groups, sizes, strict=True))
    bound = math.prod(sizes)
    if bound <= 4 * len(counts) + 4_096:
        sums = np.rint(np.bincount(keys, counts, bound)).astype(np.int64)
        present = np.flatnonzero(sums)
        rest, codes = present, []
        for size in reversed(sizes):
            rest, code = np.divmod(rest, size)
            codes.append(code)
        return codes[::-1], sums[present]
    order = np.argsort(keys)
    ordered = keys[order]
    starts = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    rows = order[starts]
    return [group[rows] for group in groups], np.add.reduceat(counts[order], starts)


def different(choices: list[Choice]) -> list[Choice]:
    """Leave out recodings that put the values together as an earlier one does."""
    kept: dict[bytes, Choice] = {}
    for choice in choices:
        _, first, number = np.unique(choice.groups, return_index=True, return_inverse=True)
        # Numbered in order of appearance, so that equal partitions look equal.
        kept.setdefault(np.argsort(np.argsort(first))[number].tobytes(), choice)
    return sorted(kept.values(), key=lambda choice: -choice.n_groups)


def _refinements(choices: list[Choice]) -> Booleans:
    n = len(choices)
    finer = np.eye(n, dtype=bool)
    for a in range(n):
        for b in range(n):
            if a != b and choices[a].n_groups >= choices[b].n_groups:
                finer[a, b] = _map(choices[a], choices[b]) is not None
    return finer


def _map(fine: Choice, coarse: Choice) -> Integers | None:
    """Give the coarse group of each fine one, if it has only one."""
    mapping = np.zeros(len(fine.losses), dtype=np.int64)
    mapping[fine.groups] = coarse.groups
    return mapping if np.array_equal(mapping[fine.groups], coarse.groups) else None


def _maps(choices: list[Choice], finer: Booleans) -> dict[tuple[int, int], Integers]:
    maps = {}
    for a, b in np.argwhere(finer).tolist():
        found = _map(choices[a], choices[b])
        if found is not None:
            maps[a, b] = found
    return maps
