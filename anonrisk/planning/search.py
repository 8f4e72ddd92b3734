"""The search of the lattice: greedy first, then by bounds that leave nothing better out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.interrupt import interruptible
from anonrisk.core.progress import tell
from anonrisk.planning.losses.base import ClassLoss

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats
    from anonrisk.planning.lattice import Lattice, MeasuredNode, Node

# Lattices of more nodes than this are searched by neighbours only.
MAX_NODES = 2_000_000
# Work, in classes looked at, and nodes after which a search stops with the best found so far.
MAX_WORK = 60_000_000
MAX_MEASURED = 20_000


@dataclass(frozen=True)
class BestNode:
    """The best node, and whether no other can be better; the least suppression of any node.

    Stopped by Ctrl-C, it is the best of those that were measured by then.
    """

    best: MeasuredNode | None
    optimal: bool
    least_below: int
    stopped: bool = False


def search(lattice: Lattice, allowed: int, rival: float = math.inf) -> BestNode:
    """Find the node of least loss among those that suppress at most so many records.

    Where a plan of another kind loses no more than `rival`, only a node that loses less is worth
    the whole search; else it is the best that was come across.
    """
    best, optimal = None, False
    with interruptible() as interruption:
        best, optimal = _search(lattice, allowed, rival)
    measured = list(lattice.measured.values())
    if interruption.stopped:
        best = min((one for one in measured if _will_do(one, allowed)), key=_rank, default=None)
    # Without a plan that will do there is nothing to give.
    done = len(measured) if best is not None else 0
    interruption.keep(done, math.prod(lattice.shape), "combinations measured; not proven best")
    least = min((one.n_below for one in measured if one.holds), default=lattice.n)
    return BestNode(best, optimal and not interruption.stopped, least, interruption.stopped)


def _search(lattice: Lattice, allowed: int, rival: float) -> tuple[MeasuredNode | None, bool]:
    best = _greedy(lattice, allowed)
    if best is not None:
        best = _descend(lattice, best, allowed)
    if math.prod(lattice.shape) <= MAX_NODES:
        return _bounded(lattice, best, allowed, rival)
    if best is not None:
        top = _descend(lattice, lattice.measure(lattice.top), allowed)
        best = min(best, top, key=_rank) if _will_do(top, allowed) else best
        # What two columns at once gain is little beside what another kind of plan does.
        best = _descend(lattice, best, allowed, at_once=2) if best.loss < 2 * rival else best
    return best, False


def _will_do(measured: MeasuredNode, allowed: int) -> bool:
    return measured.holds and measured.n_below <= allowed


def _rank(measured: MeasuredNode) -> tuple[float, int, Node]:
    # Sums that differ by their rounding only are the same.
    return round(measured.loss, 12), measured.n_below, measured.node


def _greedy(lattice: Lattice, allowed: int) -> MeasuredNode | None:
    """Coarsen the column with most values, one step at a time, until k holds (Datafly)."""
    node = tuple(0 for _ in lattice.shape)
    while True:
        measured = lattice.measure(node)
        if _will_do(measured, allowed):
            return measured
        present = lattice.present(node)
        coarser = [c for c, size in enumerate(lattice.shape) if node[c] + 1 < size]
        if not coarser:
            return None
        widest = max(coarser, key=lambda c: (present[c], -c))
        node = (*node[:widest], node[widest] + 1, *node[widest + 1 :])


def _descend(lattice: Lattice, start: MeasuredNode, allowed: int, at_once: int = 1) -> MeasuredNode:
    """Change columns while that lowers the loss: one, or two of which one makes room."""
    moves = [(c, i) for c, size in enumerate(lattice.shape) for i in range(size)]
    best, before = start, None
    while best is not before:
        before = best
        for changes in combinations(moves, at_once):
            changed = dict(changes)
            node = tuple(changed.get(c, i) for c, i in enumerate(best.node))
            # Of pairs there are many, and most of what they gain comes early.
            stop = lattice.work > MAX_WORK / at_once
            # The loss of a node is never below its loss without suppression.
            if stop or _without_suppression(lattice, node) >= best.loss:
                continue
            found = lattice.measure(node)
            if _will_do(found, allowed) and _rank(found) < _rank(best):
                best = found
    return best


def _without_suppression(lattice: Lattice, node: Node) -> float:
    """Bound a loss from below; of classes nothing is known before they are measured."""
    parts = zip(lattice.weights, lattice.mean_loss, node, strict=True)
    return float(sum(w * loss[i] for w, loss, i in parts))


def _least_losses(lattice: Lattice) -> Floats:
    return _summed([w * x for w, x in zip(lattice.weights, lattice.mean_loss, strict=True)])


def _least_gains(lattice: Lattice) -> Floats:
    """Bound what each suppressed record adds to the loss of a node."""
    if isinstance(lattice.loss, ClassLoss):
        # Only where k records are all that is asked for, a larger class is never suppressed.
        largest = lattice.k - 1 if lattice.required is None else lattice.n
        return np.full(lattice.shape, lattice.loss.least_added(largest, lattice.n) / lattice.n)
    most = _summed([w * x for w, x in zip(lattice.weights, lattice.most_loss, strict=True)])
    return np.maximum(1 - most, 0.0) / lattice.n


def _bounded(
    lattice: Lattice, best: MeasuredNode | None, allowed: int, rival: float
) -> tuple[MeasuredNode | None, bool]:
    """Measure nodes until every other is known to be no better, or to lose as much as the rival.

    Bounds, all exact: the loss of a node is at least its loss without suppression plus what its
    suppressed records add; a node that refines another surely suppresses at least as many as that
    surely does; and it loses no more without suppression, which of a loss of classes is all that is
    known, where of one of cells it is known beforehand.
    """
    shape, learns = lattice.shape, isinstance(lattice.loss, ClassLoss) and lattice.loss.monotone
    loss, gain = _least_losses(lattice), _least_gains(lattice)
    below = np.zeros(shape)
    open_ = np.ones(shape, dtype=bool)
    teaches = _summed([np.log(f.sum(axis=0)) for f in lattice.finer])
    if learns:
        teaches = np.minimum(teaches, _summed([np.log(f.sum(axis=1)) for f in lattice.finer]))

    def learn(measured: MeasuredNode) -> None:
        ways = list(zip(lattice.finer, measured.node, strict=True))
        finer = np.ix_(*(np.flatnonzero(f[:, i]) for f, i in ways))
        below[finer] = np.maximum(below[finer], measured.n_sure)
        open_[measured.node] = False
        if measured.n_sure > allowed:
            open_[finer] = False
        if learns and measured.unsuppressed is not None:
            coarser = np.ix_(*(np.flatnonzero(f[i]) for f, i in ways))
            loss[coarser] = np.maximum(loss[coarser], measured.unsuppressed)

    for measured in list(lattice.measured.values()):
        learn(measured)
    while lattice.work <= MAX_WORK and len(lattice.measured) < MAX_MEASURED:
        least = rival if best is None else min(best.loss, rival)
        open_ &= loss + below * gain < least * (1 - 1e-12)
        n_open = int(np.count_nonzero(open_))
        tell("combinations of recodings decided", open_.size - n_open, open_.size)
        if not n_open:
            return best, best is None or best.loss <= rival
        # The node that most others refine teaches most; or one that has many on either side,
        # where it tells of both.
        place = int(np.argmax(np.where(open_, teaches, -1.0)))
        found = lattice.measure(tuple(int(i) for i in np.unravel_index(place, shape)))
        learn(found)
        if _will_do(found, allowed) and (best is None or _rank(found) < _rank(best)):
            best = found
    return best, False


def _summed(parts: list[Floats]) -> Floats:
    total = np.zeros(tuple(len(part) for part in parts))
    for axis, part in enumerate(parts):
        total += part.reshape([-1 if a == axis else 1 for a in range(len(parts))])
    return total
