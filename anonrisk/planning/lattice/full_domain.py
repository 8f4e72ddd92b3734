"""A full-domain plan: the best combination of offered recodings, each for a whole column."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import positive
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import interruptible, tell, time_is_up
from anonrisk.core.render import percent
from anonrisk.errors import PlanError
from anonrisk.measures.recode import Keep, Star
from anonrisk.planning.budget import ValueBudget, chernoff_values, exact_values, shares
from anonrisk.planning.class_rules import ClassRule, Requirements, beside
from anonrisk.planning.goals import budgets, outcome, with_rules
from anonrisk.planning.lattice.lattice import Lattice
from anonrisk.planning.lattice.offer import offers
from anonrisk.planning.losses import ENTROPY, RANGE, CellLoss, ClassLoss, GroupedColumn
from anonrisk.planning.outcome import PlanOutcome, RecodedColumn, bits_kept, steps_of
from anonrisk.planning.regions.part import PersonTally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.lattice.lattice import MeasuredNode, Node
    from anonrisk.planning.losses import Loss
    from anonrisk.planning.outcome import PlanStep
    from anonrisk.planning.plan import Plan


# Lattices of more nodes than this are searched by neighbours only: what is known of each takes 33
# bytes, 66 MB. On UCI Adult's eight columns (1.6 million nodes) neighbours alone take half as long
# and lose .4061 where bounds lose .4054, and prove nothing.
MAX_NODES = 2_000_000
# Work, in classes looked at, and nodes after which a search stops with the best found so far. There
# that is 10 s of processor time; a quarter of it finds the same plan, with a gap of .176 proven in
# place of .155, and two and a half times as much a gap of .031.
MAX_WORK = 60_000_000
# In lattices of small tables a node costs more than its classes do: 20,000 take as long.
MAX_MEASURED = 20_000
# What a time limit may cut short.
_SEARCHING = "the search of combinations of recodings"
# Losses that differ by less are the same but for their rounding.
_SAME = 1 - 1e-12
# Nodes whose bounds are looked at together: a search takes twice as long one by one, four times as
# long with 65,536, and as long as this from 64 to 1,024.
_LOOK = 256


@dataclass(frozen=True)
class BestNode:
    """The best node, and what is known of all others.

    Attributes
    ----------
    best : MeasuredNode or None
        Stopped by Ctrl-C or a time limit, the best of those that were measured by then.
    least_below : int
        The least suppression of any node that was measured.
    least : float
        What every node loses at least, where that is proven; minus infinity where it is not.
    n_open : int
        The nodes that may lose less, as far as is known.
    stopped, late : bool
        Whether Ctrl-C ended the search, or a time limit.
    """

    best: MeasuredNode | None
    least_below: int
    least: float = -math.inf
    n_open: int = 0
    stopped: bool = False
    late: bool = False

    @property
    def optimal(self) -> bool:
        """Whether no other node loses less; also where none will do."""
        return self.gap == 0 if self.best is not None else not self.n_open

    @property
    def gap(self) -> float | None:
        """How much less another node may lose; None where nothing is proven."""
        if self.best is None or self.least == -math.inf:
            return None
        return self.best.loss - self.least if self.least < self.best.loss * _SAME else 0.0


def search(lattice: Lattice, allowed: int, rival: float = math.inf) -> BestNode:
    """Find the node of least loss among those that suppress at most so many records.

    Where a plan of another kind loses no more than `rival`, only a node that loses less is worth
    the whole search; else it is the best that was come across.
    """
    best, least, n_open = None, -math.inf, 0
    with interruptible() as interruption:
        best, least, n_open = _search(lattice, allowed, rival)
    measured = list(lattice.measured.values())
    n_nodes = math.prod(lattice.shape)
    if interruption.stopped:
        best = min((item for item in measured if _will_do(item, allowed)), key=_rank, default=None)
        n_open = n_nodes - len(measured)
    # Without a plan that will do there is nothing to give.
    done = len(measured) if best is not None else 0
    interruption.keep(done, n_nodes, "combinations measured; not proven best")
    below = min((item.n_below for item in measured if item.holds), default=lattice.n)
    late = bool(n_open) and not interruption.stopped and time_is_up(_SEARCHING)
    return BestNode(best, below, least, n_open, interruption.stopped, late)


def _search(lattice: Lattice, allowed: int, rival: float) -> tuple[MeasuredNode | None, float, int]:
    """Search; give the best node, what all lose at least, and how many may lose less."""
    # The first plan is looked for whatever the time: without it there is nothing to give.
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
    n_open = math.prod(lattice.shape) - len(lattice.measured)
    return best, _least_by_column(lattice, allowed), n_open


def _least_by_column(lattice: Lattice, allowed: int) -> float:
    """Bound every loss by the choices that each column has where all others are a star."""
    least = 0.0
    stars = [bool(f[:, i].all()) for f, i in zip(lattice.finer, lattice.top, strict=True)]
    for c, (weight, losses) in enumerate(zip(lattice.weights, lattice.mean_loss, strict=True)):
        fit = [*range(len(losses))]
        if all(star for other, star in enumerate(stars) if other != c):
            alone = [(*lattice.top[:c], i, *lattice.top[c + 1 :]) for i in fit]
            fit = [i for i, node in enumerate(alone) if lattice.measure(node).n_sure <= allowed]
        least += weight * min((losses[i] for i in fit), default=0.0)
    return float(least)


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
            if time_is_up():
                return best
            measured = lattice.measure(node)
            if _will_do(measured, allowed) and _rank(measured) < _rank(best):
                best = measured
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
) -> tuple[MeasuredNode | None, float, int]:
    """Measure nodes until every other is known to be no better, or to lose as much as the rival.

    Bounds, all exact: the loss of a node is at least its loss without suppression plus what its
    suppressed records add; a node that refines another surely suppresses at least as many as that
    surely does; and it loses no more without suppression, which of a loss of classes is all that is
    known, where of one of cells it is known beforehand.
    """
    open_nodes = _OpenNodes(lattice, allowed)
    for measured in list(lattice.measured.values()):
        open_nodes.learn(measured.node, measured.n_sure, measured.unsuppressed)
    least = rival if best is None else min(best.loss, rival)
    while lattice.work <= MAX_WORK and lattice.n_looked_at < MAX_MEASURED:
        node = open_nodes.next_below(least * _SAME)
        if node is None:
            return best, least, 0
        if time_is_up():
            break
        # Where no plan will do, whoever is told so is told how many records are left out at least.
        n_below = 0 if best is None or open_nodes.learns else lattice.n_surely_below(node)
        if n_below > allowed:
            lattice.n_refused += 1
            open_nodes.learn(node, n_below)
            continue
        result = lattice.measure(node)
        open_nodes.learn(node, result.n_sure, result.unsuppressed)
        if _will_do(result, allowed) and (best is None or _rank(result) < _rank(best)):
            best = result
            least = min(best.loss, least)
    bounds = open_nodes.bounds()
    n_open = int(np.count_nonzero(bounds < least * _SAME))
    return best, float(bounds.min(initial=least)), n_open


class _OpenNodes:
    """The nodes of a lattice that may be the best, by a bound on the loss of each.

    Bounds only rise, and what they are compared with only falls: a node that was passed over stays
    so, and none is looked at twice, of perhaps a million.
    """

    def __init__(self, lattice: Lattice, allowed: int) -> None:
        self.allowed = allowed
        self.learns = isinstance(lattice.loss, ClassLoss) and lattice.loss.monotone
        self.loss, self.gain = _least_losses(lattice), _least_gains(lattice)
        self.below = np.zeros(lattice.shape)
        self.open = np.ones(lattice.shape, dtype=bool)
        # One after another, the same numbers as of the lattice.
        self.flat = [array.reshape(-1) for array in (self.open, self.loss, self.below, self.gain)]
        # By column and choice: which choices refine it, which it refines.
        self.finer = [[_slices(f[:, i]) for i in range(len(f))] for f in lattice.finer]
        self.coarser = [[_slices(row) for row in f] for f in lattice.finer]
        teaches = _summed([np.log(f.sum(axis=0)) for f in lattice.finer])
        if self.learns:
            teaches = np.minimum(teaches, _summed([np.log(f.sum(axis=1)) for f in lattice.finer]))
        # The node that most others refine teaches most; or one that has many on either side,
        # where it tells of both.
        self.order = np.argsort(-teaches, axis=None, kind="stable")
        self.n_passed = 0

    def learn(self, node: Node, n_sure: int, unsuppressed: float | None = None) -> None:
        """Raise the bounds of the nodes that a measured one tells of."""
        self.open[node] = False
        for finer in _boxes(self.finer, node):
            if n_sure > self.allowed:
                self.open[finer] = False
            elif n_sure:
                np.maximum(self.below[finer], n_sure, out=self.below[finer])
        if self.learns and unsuppressed is not None:
            for coarser in _boxes(self.coarser, node):
                np.maximum(self.loss[coarser], unsuppressed, out=self.loss[coarser])

    def next_below(self, bar: float) -> Node | None:
        """Find the node that teaches most of those that may lose less; None where none may."""
        while self.n_passed < len(self.order):
            tell("combinations of recodings decided", self.n_passed, len(self.order))
            places = self.order[self.n_passed : self.n_passed + _LOOK]
            may = self._bounds(places) < bar
            first = int(np.argmax(may))
            if may[first]:
                self.n_passed += first
                place = np.unravel_index(int(places[first]), self.open.shape)
                return tuple(int(i) for i in place)
            self.n_passed += len(places)
        return None

    def bounds(self) -> Floats:
        """Return what each node that was not passed over loses at least."""
        return self._bounds(self.order[self.n_passed :])

    def _bounds(self, places: Integers) -> Floats:
        is_open, loss, below, gain = (array[places] for array in self.flat)
        return np.where(is_open, loss + below * gain, np.inf)


def _boxes(by_column: list[list[list[slice]]], node: Node) -> Iterator[tuple[slice, ...]]:
    """Cut the nodes on one side of a node into boxes: of slices, which are no copies."""
    return product(*(choices[i] for choices, i in zip(by_column, node, strict=True)))


def _slices(chosen: Booleans) -> list[slice]:
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0)).tolist()
    return [slice(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _summed(parts: list[Floats]) -> Floats:
    total = np.zeros(tuple(len(part) for part in parts))
    for axis, part in enumerate(parts):
        total += part.reshape([-1 if a == axis else 1 for a in range(len(parts))])
    return total


def best_of(request: PlanRequest, made: Plan, tally: Tally, **settings: Any) -> Plan:
    """Find the best plan; what is asked of a table as a whole may cost less class by class."""
    strict = request.strict()
    if strict.rules == request.rules:
        return full_domain(made, tally, request, **settings)
    results: list[Plan] = []
    for wanted in (request, strict):
        try:
            results.append(full_domain(with_rules(made, wanted), tally, wanted, **settings))
        except PlanError:
            if wanted is strict and not results:
                raise
    return min(results, key=lambda plan: plan.after.loss if plan.after is not None else 1.0)


def full_domain(
    made: Plan,
    tally: Tally,
    request: PlanRequest,
    *,
    loss: Loss,
    asked: PlanRequest,
    n: int,
    beta: float,
    weights: list[float] | None,
    by_column: Mapping[Name, Any],
    bins: str,
    budget: float | None,
    max_loss: float | None,
    rival: float = math.inf,
) -> Plan:
    """Find the best combination of offered recodings, each for a whole column.

    `request` is what it must keep to, and `asked` all that it is to tell of; `rival` is what a plan
    of another kind loses.
    """
    tell("making the recodings")
    # What a plan tells of a value stays a value of many, also where classes may be smaller.
    qid, k = request.qid, max(request.k, 2)
    held = tally if request.unit is None else PersonTally(**vars(tally), unit=request.unit)
    about = value_budget(held, qid, k=request.k, n=n, beta=beta, weights=weights, values=budget)
    shares = dict(zip(qid, about.per_column, strict=True))
    offered = offers(held, shares, by_column, k=k, bins=bins)
    allowed = made.may_leave_out(tally.n_records)
    asks: dict[str, Any] = {"unit": request.unit, "allowed": allowed}
    # What is only told at the end is not counted at every node.
    counted = (*qid, *beside(request.about, request.unit))
    searched = tally if len(counted) == len(tally.codes) else tally.only(counted)
    required = Requirements(searched, qid, request.rules, request.wholes, **asks)
    by_size = required.rules == (ClassRule(qid, request.k),) and not required.wholes
    plain = by_size and not required.beside
    lattice = Lattice.of(
        searched, offered, request.k, weights, loss, required=None if plain else required
    )
    tell("looking for a first plan")
    result = search(lattice, allowed, rival)
    best = _met(lattice, result, request, made, max_loss)
    chosen = {
        name: lattice.choices[c][i].recoding
        for c, (name, i) in enumerate(zip(qid, best.node, strict=True))
    }
    telling = Requirements(tally, qid, request.rules, request.wholes, about=asked.about, **asks)
    coded = lattice.coded(best.node, tally, telling.beside)
    rows = telling.kept(coded).rows
    after = PlanOutcome(
        tally.n_records - best.n_below,
        best.n_classes - best.n_small,
        best.k_kept,
        best.n_below,
        lattice.plain_loss(best.node),
        best.discernibility,
        tuple(lattice.present(best.node)),
        bits=bits_kept(lattice.by_column(best.node, ENTROPY), tally, qid),
        range_loss=float(lattice.by_column(best.node, RANGE).mean()),
    )
    return replace(
        made,
        recodings=chosen,
        after=outcome(telling, coded, rows, after) if rows.any() else after,
        budget=about,
        steps=_steps(lattice, best, required),
        optimal=result.optimal,
        partial=result.stopped,
        proven_gap=result.gap,
        budgets=budgets(asked, telling, coded, rows),
    )


def _steps(lattice: Lattice, best: MeasuredNode, required: Requirements) -> tuple[PlanStep, ...]:
    """Measure what the recoding of each column does; by bits where the loss is one of classes."""
    tally, columns = lattice.tally, []
    loss = lattice.loss if isinstance(lattice.loss, CellLoss) else ENTROPY
    for c, (name, i) in enumerate(zip(lattice.columns, best.node, strict=True)):
        choice, codes = lattice.choices[c][i], tally.codes[name]
        column = name, tally.domains[name], lattice.margins[c]
        current, then = (GroupedColumn.of(r, *column) for r in (Keep(), choice.recoding))
        present = np.count_nonzero(lattice.margins[c])
        columns.append(
            RecodedColumn(
                name,
                tally.domains[name].kind,
                codes,
                current.n_groups,
                codes if choice.n_groups == present else choice.groups[codes],
                then.n_groups,
                then.mean(loss.of_groups(then)),
                current.mean(loss.of_groups(current)),
            )
        )
    return steps_of(columns, tally, required)


def value_budget(
    tally: Tally,
    qid: Qid,
    *,
    k: int,
    n: int,
    beta: float = 0.05,
    weights: list[float] | None = None,
    values: float | None = None,
) -> ValueBudget:
    """Share the number of values that a table can bear among its columns."""
    exact, chernoff = exact_values(n, k, beta), chernoff_values(n, k, beta)
    most = exact if values is None else positive(values, "budget")
    caps = [int((tally.margin(name) > 0).sum()) for name in qid]
    # A column without weight is worth one value.
    worth = [max(w, 1e-9) for w in weights or [1.0] * len(qid)]
    split = shares(max(most, 1.0), worth, caps)
    return ValueBudget(n, k, beta, exact, chernoff, tuple(split))


def _met(
    lattice: Lattice,
    best_node: BestNode,
    request: PlanRequest,
    made: Plan,
    max_loss: float | None,
) -> MeasuredNode:
    """Return the best node, or say which constraint stops all of them."""
    n, goals = lattice.n, request.summary()
    if best_node.late and best_node.best is None:
        raise PlanError(f"time_limit= was over before a plan was found that reaches {goals}")
    if best_node.best is None:
        unfinished = [
            repr(name)
            for name, choices in zip(lattice.columns, lattice.choices, strict=True)
            if not any(isinstance(choice.recoding, Star) for choice in choices)
        ]
        stops = (
            f"max_suppressed={percent(made.max_suppressed)} stops it, the smallest sufficient "
            "value is "
        )
        # With stars everywhere, and everybody left out, it is the whole table that breaks a goal.
        if best_node.least_below > made.may_leave_out(n) and (
            unfinished or best_node.least_below < n
        ):
            why = f"{stops}{percent(best_node.least_below / n)}. Raise it, lower k, or"
        else:
            why = "no record would be left, or those left would break another. Lower one, or"
        raise PlanError(
            f"no combination of the offered recodings reaches {goals}: {why} offer coarser "
            "recodings" + (f" for {', '.join(unfinished)}" if unfinished else "")
        )
    if max_loss is not None and lattice.plain_loss(best_node.best.node) > max_loss * (1 + 1e-9):
        if best_node.stopped:
            # Another one may do: nobody knows.
            raise KeyboardInterrupt
        raise PlanError(
            f"max_loss={max_loss:g} stops every plan with {goals}: the best one found loses "
            f"{lattice.plain_loss(best_node.best.node):.3f}"
            + (", when time_limit= was over" if best_node.late else "")
            + ". Raise it, lower k, or allow more "
            f"suppression than {made.may_leave_out(n):,} records"
        )
    return best_node.best
