"""Counted classes of a table whose records were drawn in clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import require_beside
from anonrisk.core.render import count_of
from anonrisk.engines import refusals
from anonrisk.engines.missing import kept
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.clustered import ClusteredClasses
from anonrisk.measures.counts.question import ClassesWithValues

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Question

# Chosen: with 30 homes intervals held in 93% of 150 runs or more, in 36 cells of tests/homes.py.
LEAST = 30


def clustered_of(engine: Engine, frame: Any, question: Question, cluster: Name) -> ClusteredClasses:
    """Count the classes with the clusters that their records come from, one record per person."""
    require_beside(engine, frame, question, cluster, "cluster")
    if question.unit is not None:
        raise ArgumentError(
            "cluster= does not go with a unit: reduce the table to one row per person"
        )
    tally = engine.tally(frame, ClassesWithValues((*question.columns, cluster)))
    tally, n_dropped = kept(tally, question)
    lost = int(tally.counts[tally.codes[cluster] == len(tally.domains[cluster])].sum())
    if lost:
        raise refusals.missing_household(cluster, lost, "cluster")
    counted = ClusteredClasses.of(tally, cluster, missing=question.missing, n_dropped=n_dropped)
    equal = counted.n / counted.together
    if equal < LEAST:
        raise ArgumentError(
            f"cluster {cluster!r} has {count_of(counted.n_clusters, 'value')}, which tell as much "
            f"as {equal:.0f} of equal size: fewer than {LEAST} do not show how alike the people of "
            "one are"
        )
    return counted
