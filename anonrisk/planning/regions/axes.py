"""The columns of a table as axes: what may be put together stands next to each other on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.errors import PlanError
from anonrisk.measures.counts.tally import DATES
from anonrisk.measures.recode import Keep, Recoding, Star
from anonrisk.measures.recode.edges import fine_dates, fine_edges
from anonrisk.measures.recode.regions import TOLD
from anonrisk.planning.lattice.lattice import Choice
from anonrisk.planning.lattice.offer import offer
from anonrisk.planning.losses import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.tally import Domain, Tally
    from anonrisk.planning.losses import CellLoss, Span


@dataclass(frozen=True)
class Ladder:
    """Values with a tree above them: each step down puts fewer of them together.

    Steps are numbered from the root, which holds all. Every part of every step has a position,
    those inside of it after it, so that a part reaches from its own position to the last inside.

    Attributes
    ----------
    place : array (n_codes,)
        The position of each code of the column, missing last.
    begins, ends : array (n_steps, n_positions)
        The first and the last position of the part that a position is in; below its own step, a
        part has itself.
    members : array (n_steps, n_positions)
        The group of its step that a position is in.
    choices : list of Choice
        The recoding of each step, n_steps of them.
    costs : array (n_steps, n_positions)
        What a cell of that part loses.
    """

    place: Integers
    begins: Integers
    ends: Integers
    members: Integers
    choices: list[Choice]
    costs: Floats

    @property
    def size(self) -> int:
        """Number of positions."""
        return len(self.begins[0])

    def step(self, first: Integers, last: Integers) -> Integers:
        """Find the lowest step on which two positions are in one part; arrays of one length."""
        result = np.zeros(len(first), dtype=np.int64)
        for begins in self.begins[1:]:
            result += begins[first] == begins[last]
        return result

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses if these positions, and all between, are put together."""
        return self.costs[self.step(first, last), first]

    def priced(self, loss: CellLoss, tally: Tally, name: Name) -> Ladder:
        """Return the same steps at the prices of another loss."""
        column = name, tally.domains[name], tally.margin(name)
        choices = [Choice.of(choice.recoding, *column, loss) for choice in self.choices]
        return replace(self, choices=choices, costs=_costs(choices, self.members))

    def boxes(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """Return the ends of the smallest part that holds these positions."""
        step = self.step(first, last)
        return self.begins[step, first], self.ends[step, first]


@dataclass(frozen=True)
class Ruler:
    """Numbers or days between edges, missing after the last: cut wherever an edge is.

    Attributes
    ----------
    place : array (n_codes,)
        The position of each code of the column, missing last.
    edges : array (n_edges,)
        Position i holds the numbers from edge i − 1 up to edge i, the last position what is
        missing: n_positions = n_edges + 2.
    scale : Scale
        What each position stands for, and its records.
    span : Span
        What a cell loses, by the first and the last position that are put together.
    whole, dates : bool
        Whether the numbers are whole; whether they are days.
    """

    place: Integers
    edges: Floats
    scale: Scale
    span: Span
    whole: bool
    dates: bool

    @property
    def size(self) -> int:
        """Number of positions."""
        return len(self.edges) + 2

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses if these positions, and all between, are put together."""
        return self.span.losses(first, last)

    def priced(self, loss: CellLoss, tally: Tally, name: Name) -> Ruler:
        """Return the same edges at the prices of another loss."""
        scale = self.scale.counted(self.place, tally.margin(name))
        return replace(self, scale=scale, span=loss.along(scale))

    def boxes(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """Return these positions: edges are where they are."""
        return first, last


Axis: TypeAlias = Ladder | Ruler


def axis_of(tally: Tally, name: Name, k: int, value: Any, loss: CellLoss) -> Axis:
    """Choose how a column may be cut: numbers and dates at edges, others by what is offered."""
    domain, margin = tally.domains[name], tally.margin(name)
    if value is None and domain.is_scale:
        fine = fine_dates if domain.kind in DATES else fine_edges
        edges = fine(domain, margin[:-1], k) if len(domain) > 1 else []
        return ruler(domain, edges, margin, loss)
    offered = offer(domain, margin, k=k, share=0, recodings=value, column=name, nested=True)
    return ladder(tally, name, offered, loss)


def ruler(domain: Domain, edges: Sequence[float], margin: Integers, loss: CellLoss) -> Ruler:
    """Put numbers or days between edges."""
    dates = domain.kind in DATES
    whole = dates or domain.kind == "whole"
    at = np.asarray(edges, dtype=np.float64)
    values = domain.positions() if len(domain) else np.zeros(1)
    known = np.searchsorted(at, values, side="right")
    # As labels are read: up to the last whole number, or all but the edge itself.
    before = at - 1 if whole else np.nextafter(at, -np.inf)
    place = np.append(known[: len(domain)], len(at) + 1)
    ends = np.append(values[0], at), np.append(before, values[-1])
    scale = Scale(*ends, margin, margin).counted(place, margin)
    return Ruler(place, at, scale, loss.along(scale), whole, dates)


def ladder(tally: Tally, name: Name, offered: Sequence[Recoding], loss: CellLoss) -> Ladder:
    """Put values in an order in which every part of every step stands together."""
    column = name, tally.domains[name], tally.margin(name)
    steps = [Choice.of(recoding, *column, loss) for recoding in offered][::-1]
    if not isinstance(steps[0].recoding, Star):
        raise PlanError(
            f"the coarsest recoding that is offered for column {name!r} must put all of its values "
            "together: end the list with anonrisk.recode.Star()"
        )
    if isinstance(steps[-1].recoding, Keep) and tally.domains[name].kind not in TOLD:
        raise PlanError(
            f"column {name!r} holds values that have no single written form by which a region "
            "could name them: convert them to text first"
            ", or give recodings that are coarser than Keep()"
        )
    # (n_steps, n_codes), the coarsest step first; then with the codes in order of their parts.
    groups = np.stack([choice.groups for choice in steps])
    order = np.lexsort(groups[::-1])
    groups = groups[:, order]
    # (n_steps, n_codes) too: where a part begins that the value before was not in; then all steps
    # below begin anew.
    new = np.ones(groups.shape, dtype=bool)
    new[:, 1:] = groups[:, 1:] != groups[:, :-1]
    for step, begun in enumerate(new):
        if begun.sum() != len(np.unique(groups[step])) or (step and (new[step - 1] > begun).any()):
            raise PlanError(
                f"the recodings that are offered for column {name!r} do not build on each other: "
                "each must merge what the one before it does, and more"
            )
    # (n_steps, n_codes): the position of the part that begins there, and of the part that a code is
    # in. Positions count the parts by code, then by step.
    position = (np.cumsum(new.T.ravel()) - 1).reshape(new.T.shape).T
    first = np.maximum.accumulate(np.where(new, position, 0), axis=1)
    # (n_positions,): the code, in this order, and the step at which each position begins.
    value, begun_at = np.nonzero(new.T)
    own = np.arange(len(value))
    # From here on (n_steps, n_positions), as in a Ladder.
    below = np.arange(len(steps))[:, None] > begun_at
    begins = np.where(below, own, first[:, value])
    # The last position before the next part of the same step, or of a step above it, begins.
    ends = np.empty_like(begins)
    for step, begun in enumerate(begins):
        lasts = np.append(np.flatnonzero(begun[1:] != begun[:-1]), len(own) - 1)
        ends[step] = lasts[np.searchsorted(lasts, own)]
    members = groups[:, value]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = first[-1]
    return Ladder(place, begins, ends, members, steps, _costs(steps, members))


def _costs(steps: Sequence[Choice], members: Integers) -> Floats:
    """Return what a cell of each part loses, as `members` an array (n_steps, n_positions)."""
    return np.stack([step.losses[source] for step, source in zip(steps, members, strict=True)])
