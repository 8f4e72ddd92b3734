"""The lattice of offered recodings, each node of it measured by arithmetic on one tally."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.planning.class_rules import Coded, KeptClasses
from anonrisk.planning.losses import (
    CellLoss,
    ClassLoss,
    GroupedClasses,
    GroupedColumn,
    RangeLoss,
    tidy,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Domain, Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.class_rules import Requirements
    from anonrisk.planning.losses import Loss

    Node = tuple[int, ...]

# Tables that nodes share where only small classes are counted, and the bytes of those kept.
_MOST_TABLES, _MOST_HELD = 1_000, 100_000_000
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
    def of(
        cls, recoding: Recoding, name: Name, domain: Domain, margin: Integers, loss: Loss
    ) -> Choice:
        """Apply a recoding to a domain; of a loss of classes no column loses anything."""
        column = GroupedColumn.of(recoding, name, domain, margin)
        losses = loss.of_groups(column) if isinstance(loss, CellLoss) else np.zeros(column.n_groups)
        # Only groups that occur are counted.
        present = np.unique(column.groups[margin > 0])
        return cls(recoding, column.groups, losses, len(present))

    def mean_loss(self, margin: Integers) -> float:
        """Return what a cell of the column loses on average, without suppression."""
        return float(tidy(self.losses[self.groups] @ margin / int(margin.sum())))


@dataclass(frozen=True)
class MeasuredNode:
    """What is true of a table after the recodings of one node."""

    node: Node
    n_classes: int
    # Classes that are left out, and the smallest of the others; None if there is none.
    n_small: int
    k_kept: int | None
    # Records that are left out, and those of them that every finer node leaves out too.
    n_below: int
    n_sure: int
    loss: float
    # What would be lost if nobody were suppressed; of a loss of cells that is known beforehand.
    unsuppressed: float | None
    discernibility: int
    # Whether what is left keeps to what is asked of the table as a whole.
    holds: bool = True


@dataclass(frozen=True)
class _Rolled:
    """A tally generalised to one node: codes by column and of what is beside, counts by class."""

    node: Node
    codes: list[Integers]
    counts: Integers
    sizes: list[int]


class _SmallClasses:
    """How to count the records in small classes, and nothing else: a sum and a sort per node.

    Nodes that agree in some columns, those with most values, share a table that these make smaller.
    """

    def __init__(self, tally: Tally, offered: Mapping[Name, Sequence[Choice]], k: int) -> None:
        """Number the classes of every node alike, by a sum of what each column adds."""
        # The digits behind the number of a class count its records; more than k do not matter.
        self.k, self.bits = k, int(k).bit_length()
        self.counts, self.choices = tally.counts, list(offered.values())
        self.codes = [tally.codes[name] for name in offered]
        self.sizes = [max(len(choice.losses) for choice in choices) for choices in self.choices]
        self.stride = [math.prod(self.sizes[:c]) << self.bits for c in range(len(self.sizes))]
        self.fits = math.prod(self.sizes).bit_length() + self.bits <= 62
        self.first, self.others = self._shared()
        self._tables: dict[Node, tuple[Integers, list[Integers]]] = {}
        self._held = 0

    def _shared(self) -> tuple[list[int], list[int]]:
        """Choose the columns that nodes share: as many as have not too many combinations."""
        columns = sorted(range(len(self.sizes)), key=lambda c: -self.sizes[c])
        numbers = np.cumprod([len(self.choices[c]) for c in columns])
        n_first = int(np.count_nonzero(numbers <= _MOST_TABLES))
        return columns[:n_first], columns[n_first:]

    def n_records(self, node: Node) -> tuple[int, int]:
        """Count the records in classes below k; and the rows that this took."""
        shared, codes = self._table(tuple(node[c] for c in self.first))
        packed = shared.copy()
        for c, code in zip(self.others, codes, strict=True):
            packed += (self.choices[c][node[c]].groups * self.stride[c])[code]
        packed.sort()
        starts = np.flatnonzero(np.diff(packed >> self.bits, prepend=-1))
        sizes = np.add.reduceat(packed & ((1 << self.bits) - 1), starts)
        return int(sizes[sizes < self.k].sum()), len(packed)

    def _table(self, at: Node) -> tuple[Integers, list[Integers]]:
        """Return the tally with the shared columns generalised: sums so far, and other codes."""
        known = self._tables.get(at)
        if known is not None:
            return known
        groups = [
            self.choices[c][i].groups[self.codes[c]] for c, i in zip(self.first, at, strict=True)
        ]
        groups += [self.codes[c] for c in self.others]
        sizes = [self.sizes[c] for c in self.first]
        sizes += [len(self.choices[c][0].groups) for c in self.others]
        codes, counts = merged(groups, self.counts, sizes)
        packed = np.minimum(counts, self.k)
        for c, code in zip(self.first, codes, strict=False):
            packed += code * self.stride[c]
        narrow = [
            code.astype(np.min_scalar_type(size)) for code, size in zip(codes, sizes, strict=True)
        ]
        table = packed, narrow[len(self.first) :]
        self._held += _bytes(table)
        while self._tables and self._held > _MOST_HELD:
            self._held -= _bytes(self._tables.pop(next(iter(self._tables))))
        self._tables[at] = table
        return table


def _bytes(table: tuple[Integers, Sequence[Integers]]) -> int:
    return table[0].nbytes + sum(codes.nbytes for codes in table[1])


@dataclass
class Lattice:
    """All combinations of one offered recoding per column."""

    tally: Tally
    columns: tuple[Name, ...]
    choices: list[list[Choice]]
    k: int
    weights: Floats
    loss: Loss
    # What classes must keep to; None where that is k records alone.
    required: Requirements | None = None
    # How many classes were looked at: what the work of a search is counted by.
    work: int = 0
    # How many nodes were found to leave out too many, and were not measured further.
    n_refused: int = 0
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
        *,
        required: Requirements | None = None,
    ) -> Lattice:
        """Apply every offered recoding to its column's domain, once."""
        columns = tuple(offered)
        choices = []
        for c in columns:
            column = c, tally.domains[c], tally.margin(c)
            choices.append(different([Choice.of(r, *column, loss) for r in offered[c]]))
        share = np.ones(len(columns)) if weights is None else np.asarray(weights, dtype=float)
        return cls(tally, columns, choices, k, share / share.sum(), loss, required)

    def __post_init__(self) -> None:
        """Prepare what every node needs: margins, and which choice refines which."""
        self.n = self.tally.n_records
        self.margins = [self.tally.margin(c) for c in self.columns]
        self.mean_loss = [
            np.array([c.mean_loss(m) for c in offered])
            for offered, m in zip(self.choices, self.margins, strict=True)
        ]
        self.most_loss = [
            np.array([float(c.losses.max(initial=0.0)) for c in offered])
            for offered in self.choices
        ]
        # finer[c][a, b]: whether choice a of column c refines choice b.
        self.finer = [refinements(offered) for offered in self.choices]
        self.maps = [_maps(o, f) for o, f in zip(self.choices, self.finer, strict=True)]
        self.top = tuple(int(np.argmin([c.n_groups for c in o])) for o in self.choices)
        self.beside = () if self.required is None else self.required.beside
        self._small_classes = self._counted_by_size()

    def _counted_by_size(self) -> _SmallClasses | None:
        """Prepare to count classes that are too small, where records are what is counted."""
        k = self.k
        if self.required is not None:
            whole = (rule.k for rule in self.required.steady if len(rule.qid) == len(self.columns))
            k = 1 if self.required.unit is not None else max(whole, default=1)
        if k == 1:
            return None
        tally = self.tally.only(self.columns) if self.beside else self.tally
        small = _SmallClasses(tally, dict(zip(self.columns, self.choices, strict=True)), k)
        return small if small.fits else None

    @property
    def n_looked_at(self) -> int:
        """Number of nodes that were measured, or found to leave out too many."""
        return len(self.measured) + self.n_refused

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of choices of each column."""
        return tuple(len(offered) for offered in self.choices)

    def measure(self, node: Node) -> MeasuredNode:
        """Measure a node: which classes are left out, and the loss with those suppressed.

        The loss is the mean over original records and columns; a suppressed record costs 1.
        """
        known = self.measured.get(node)
        if known is not None:
            return known
        rolled = self._roll_up(node)
        kept = self.kept(rolled)
        of_row = self._of_rows(rolled, kept.rows)
        lost = float(of_row[kept.rows] @ rolled.counts[kept.rows])
        n_below = self.n - int(kept.records.sum())
        measured_node = MeasuredNode(
            node,
            kept.n_classes,
            kept.n_classes - len(kept.sizes),
            int(kept.sizes.min()) if len(kept.sizes) else None,
            n_below,
            kept.n_sure,
            float(tidy((lost + n_below) / self.n)),
            float(of_row @ rolled.counts) / self.n if isinstance(self.loss, ClassLoss) else None,
            int((kept.records**2).sum()) + n_below * self.n,
            kept.holds,
        )
        self.measured[node] = measured_node
        return measured_node

    def n_surely_below(self, node: Node) -> int:
        """Count the records in classes below k; 0 where nothing quick is known.

        A node that refines this one leaves out at least as many.
        """
        if self._small_classes is None:
            return 0
        n_below, n_rows = self._small_classes.n_records(node)
        self.work += n_rows
        return n_below

    def _of_rows(self, rolled: _Rolled, kept: Booleans) -> Floats:
        """Return what a record of each combination loses."""
        if isinstance(self.loss, ClassLoss):
            number, classes = self._classes(rolled, kept)
            return self.loss.of_classes(classes)[number]
        of_row = np.zeros(len(rolled.counts))
        for c, choice in enumerate(rolled.node):
            of_row += self.weights[c] * self.choices[c][choice].losses[rolled.codes[c]]
        return of_row

    def _classes(self, rolled: _Rolled, kept: Booleans) -> tuple[Integers, GroupedClasses]:
        """Number the classes of combinations, and put those of a class together."""
        chosen = [offered[i] for offered, i in zip(self.choices, rolled.node, strict=True)]
        groups = {c: item.groups for c, item in zip(self.columns, chosen, strict=True)}
        sizes, codes = rolled.sizes[: len(chosen)], rolled.codes[: len(chosen)]
        if not self.beside:
            own = np.arange(len(rolled.counts))
            return own, GroupedClasses(codes, groups, sizes, rolled.counts, kept)
        keys, _ = radix.keys_of(zip(codes, sizes, strict=True))
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        counts = np.rint(np.bincount(number, rolled.counts)).astype(np.int64)
        # What is beside them does not part the records of a class: all are left, or none.
        codes = [code[first] for code in codes]
        return number, GroupedClasses(codes, groups, sizes, counts, kept[first])

    def by_column(self, node: Node, loss: CellLoss) -> Floats:
        """Return what a cell of each column loses at a node, whatever it is worth."""
        rolled = self._roll_up(node)
        columns = zip(self.columns, self.margins, self.choices, node, strict=True)
        chosen = [
            GroupedColumn.of(offered[i].recoding, c, self.tally.domains[c], margin)
            for c, margin, offered, i in columns
        ]
        return loss.by_column(chosen, self._classes(rolled, self.kept(rolled).rows)[1])

    def plain_loss(self, node: Node) -> float:
        """Return the loss of a node with all columns worth the same."""
        if isinstance(self.loss, ClassLoss):
            return self.measure(node).loss
        return float(self.by_column(node, self.loss).mean())

    def kept(self, rolled: _Rolled) -> KeptClasses:
        """Return which classes are left."""
        if self.required is not None:
            return self.required.kept(Coded(rolled.codes, rolled.counts, rolled.sizes))
        rows = rolled.counts >= self.k
        sizes = rolled.counts[rows]
        n_below = self.n - int(sizes.sum())
        return KeptClasses(rows, n_below, sizes, sizes, len(rows), holds=len(sizes) > 0)

    def coded(self, node: Node, tally: Tally, others: Sequence[Name]) -> Coded:
        """Return the combinations of a tally, of the columns and others, as codes at a node."""
        chosen = [offered[i] for offered, i in zip(self.choices, node, strict=True)]
        codes = [item.groups[tally.codes[c]] for c, item in zip(self.columns, chosen, strict=True)]
        sizes = [len(item.losses) for item in chosen]
        codes += [tally.codes[name] for name in others]
        sizes += [len(tally.domains[name]) + 1 for name in others]
        return Coded(codes, tally.counts, sizes)

    def _roll_up(self, node: Node) -> _Rolled:
        source = next((r for r in self._rolled if self._refines(r.node, node)), None)
        if source is None:
            codes = [self.tally.codes[c] for c in self.columns]
            counts = self.tally.counts
            groups = [self.choices[c][choice].groups[codes[c]] for c, choice in enumerate(node)]
            groups += [self.tally.codes[name] for name in self.beside]
        else:
            counts = source.counts
            groups = [
                source.codes[c]
                if source.node[c] == choice
                else self.maps[c][source.node[c], choice][source.codes[c]]
                for c, choice in enumerate(node)
            ]
            groups += source.codes[len(node) :]
        self.work += len(counts)
        sizes = [len(o[i].losses) for o, i in zip(self.choices, node, strict=True)]
        sizes += [len(self.tally.domains[name]) + 1 for name in self.beside]
        rolled = _Rolled(node, *merged(groups, counts, sizes), sizes)
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
    """Add up the classes that have become one.

    An array (n_classes,) per column, with codes below its size, and the records of each class. By
    place or by sorting, as in `regions.part.runs`, where the border was measured.
    """
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


def refinements(choices: list[Choice]) -> Booleans:
    """Return whether a row's recoding keeps apart all that a column's does, (n, n)."""
    n = len(choices)
    finer = np.eye(n, dtype=bool)
    for a in range(n):
        for b in range(n):
            if a != b and choices[a].n_groups >= choices[b].n_groups:
                finer[a, b] = _map(choices[a], choices[b]) is not None
    return finer


def _map(fine: Choice, coarse: Choice) -> Integers | None:
    """Return the coarse group of each fine one, if it has only one."""
    mapping = np.zeros(len(fine.losses), dtype=np.int64)
    mapping[fine.groups] = coarse.groups
    return mapping if np.array_equal(mapping[fine.groups], coarse.groups) else None


def _maps(choices: list[Choice], finer: Booleans) -> dict[tuple[int, int], Integers]:
    maps = {}
    for a, b in np.argwhere(finer).tolist():
        result = _map(choices[a], choices[b])
        if result is not None:
            maps[a, b] = result
    return maps
