"""A plan for the next release: as before where that will do, coarser where it must, never finer."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.hierarchy import Hierarchy
from anonrisk.core.render import kind_name, visible
from anonrisk.errors import ArgumentError, HierarchyError, PlanError
from anonrisk.measures.recode import Bins, DatePart, Keep, Level, MergeRare, Prefix, Recoding, Star
from anonrisk.measures.recode.dates import PARTS
from anonrisk.measures.recode.nesting import is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.plan import Plan

# More steps of one column than this make a search longer, and a plan hardly finer.
_STEPS = 40


def check_previous(previous: Plan | None, qid: Qid) -> None:
    """Reject a plan that the next one cannot follow."""
    if previous is None:
        return
    if not hasattr(previous, "recodings"):
        raise ArgumentError(
            f"previous= is a Plan, not {kind_name(previous)}: Plan.from_json reads one"
        )
    if previous.regions is not None:
        raise ArgumentError(
            "a multidimensional plan is kept by applying it again: anonrisk.apply says whether it "
            "still holds. A new one is made without previous="
        )
    gone = [visible(name) for name in previous.recodings if name not in qid]
    if gone:
        raise ArgumentError(
            f"the previous plan recodes {', '.join(gone)}, which would then be published in full: "
            f"name {'it' if len(gone) == 1 else 'them'} among the quasi-identifiers"
        )


def as_before(
    previous: Plan | None,
    tally: Tally,
    by_column: Mapping[Name, Any],
    make: Callable[[Mapping[Name, Any]], Plan],
) -> Plan:
    """Make a plan with the recodings of another, or with coarser ones where these will not do.

    `make` takes what each column is offered.
    """
    if previous is None:
        return make(by_column)
    chains = {
        name: _coarser(recoding, tally, name, by_column.get(name))
        for name, recoding in previous.recodings.items()
    }
    try:
        return _noted(
            make({**by_column, **{name: chain[:1] for name, chain in chains.items()}}), ""
        )
    except PlanError:
        # A column that was told in full may get whatever would be offered to it now.
        full = [name for name, chain in chains.items() if isinstance(chain[0], Keep)]
        offered = {**by_column, **{n: chain for n, chain in chains.items() if n not in full}}
        made = make(offered)
    changed = [visible(c) for c, old in previous.recodings.items() if made.recodings[c] != old]
    return _noted(made, ", ".join(changed))


def _noted(made: Plan, changed: str) -> Plan:
    text = f"coarser than before: {changed}" if changed else "the same recodings as before"
    return replace(made, note=f"{made.note}; {text}" if made.note else text)


def _coarser(recoding: Recoding, tally: Tally, name: Name, value: Any) -> list[Recoding]:
    """List a recoding and those that it is within, the finest first."""
    steps: list[Recoding] = [recoding]
    if isinstance(recoding, Bins):
        steps += _joined(recoding, tally, name)
    elif isinstance(recoding, Prefix):
        steps += [replace(recoding, length=n) for n in range(recoding.length - 1, 0, -1)]
    elif isinstance(recoding, DatePart):
        parts = (DatePart(part) for part in PARTS)
        steps += [part for part in parts if part != recoding and is_within(recoding, part)]
    elif isinstance(recoding, MergeRare):
        steps += _fewer(recoding, tally, name)
    elif isinstance(recoding, Level):
        steps = _levels(recoding, tally, name, value)
    return steps if isinstance(steps[-1], Star) else [*steps, Star()]


def _joined(bins: Bins, tally: Tally, name: Name) -> list[Recoding]:
    """Join two neighbours after another, those first that have the fewest records together."""
    edges = list(bins.edges)
    places = bins.places(tally.domains[name].values.astype(np.float64))
    counts = np.bincount(places, tally.margin(name)[:-1], minlength=len(edges) + 1).tolist()
    steps: list[Recoding] = []
    while len(edges) > 1:
        together = [a + b for a, b in pairwise(counts)]
        least = together.index(min(together))
        counts[least : least + 2] = [together[least]]
        del edges[least]
        steps.append(Bins(tuple(edges), whole=bins.whole))
    return steps


def _fewer(merge: MergeRare, tally: Tally, name: Name) -> list[Recoding]:
    """Put one after another of the kept values with the others, the rarest first."""
    groups, labels = merge.groups(tally.domains[name])
    counts = np.bincount(groups, tally.margin(name)[:-1])
    often = dict(zip(labels or (), counts.tolist(), strict=True))
    kept = sorted(merge.kept, key=lambda value: -often.get(value, 0))
    # Of many, some that are evenly apart.
    numbers = np.unique(np.linspace(1, len(kept) - 1, min(len(kept) - 1, _STEPS)).astype(int))
    return [replace(merge, kept=tuple(sorted(kept[:n]))) for n in numbers[::-1].tolist()]


def _levels(recoding: Level, tally: Tally, name: Name, value: Any) -> list[Recoding]:
    tree = recoding.hierarchy
    if tree is None and value is not None:
        tree = Hierarchy.of(value)
    known = Level(recoding.level, recoding.fingerprint, tree)
    lost = int((~known.knows(tally.domains[name])).sum())
    if tree is None or lost:
        raise HierarchyError(f"the hierarchy lacks {lost} of the values of column {name!r}")
    steps = [Level.of(tree, level) for level in range(recoding.level, tree.height + 1)]
    if steps[0] != known:
        raise PlanError(f"the hierarchy of {name!r} is not the one of the previous plan")
    return steps
