"""Predictions from the class sizes of a table: which way of drawing a group is right for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.arguments import one_of, whole_number
from anonrisk.core.render import count_of, percent
from anonrisk.errors import ApproximationError, ArgumentError, warn_of_approximation
from anonrisk.measures import entropy
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.population import ClusteredClasses
from anonrisk.predict import sources
from anonrisk.predict.clusters import LARGEST
from anonrisk.predict.distribution import RECORDS_PER_VALUE, Distribution
from anonrisk.predict.group import group_of, predicted_classes, subgroup_of
from anonrisk.predict.kl import KnownByKl
from anonrisk.predict.prediction import Prediction

if TYPE_CHECKING:
    from anonrisk.predict.prediction import PredictedClasses
    from anonrisk.predict.sources import PredictionSource

DRAWS = ("auto", "subgroup", "replacement")
METHODS = ("exact", "kl")
# Beyond this share of the table, its own frequencies understate how rare values are.
SHARE_OF_TABLE = 0.01


def singletons(
    counted: ClassCounts | ClusteredClasses,
    group_size: int,
    draw: str,
    method: str,
    n_values: int | None,
) -> Prediction:
    """Predict the singletons of a group; see `anonrisk.predict_singletons`."""
    return Prediction(_source(counted, group_size, draw, method, n_values))


def classes(
    counted: ClassCounts | ClusteredClasses,
    group_size: int,
    upto: int,
    draw: str,
    *,
    method: str,
    n_values: int | None,
) -> PredictedClasses:
    """Predict the classes of a group; see `anonrisk.predict_classes`."""
    if isinstance(counted, ClusteredClasses):
        whole_number(upto, "upto with cluster=", at_least=1, at_most=LARGEST)
    return predicted_classes(_source(counted, group_size, draw, method, n_values), upto)


def _source(
    known: ClassCounts | ClusteredClasses,
    group_size: int,
    draw: str,
    method: str,
    n_values: int | None,
) -> PredictionSource:
    if isinstance(known, ClassCounts):
        return _singly(known, group_size, draw, method, n_values)
    if draw == "replacement" or method == "kl":
        raise ArgumentError(
            "cluster= goes with draw='auto' and draw='subgroup' only: with draw='replacement' and "
            "method='kl' persons are drawn singly"
        )
    k = _singly(known.sizes, group_size, draw, method, n_values).k
    kind = sources.ClustersOfTable if draw == "subgroup" else sources.AnotherGroupOfClusters
    return kind(known.sizes, k, clustered=known)


def _singly(
    counted: ClassCounts, group_size: int, draw: str, method: str, n_values: int | None
) -> PredictionSource:
    counted.refuse_overlap()
    k = group_of(group_size)
    one_of(draw, "draw", DRAWS)
    one_of(method, "method", METHODS)
    if n_values is not None and method != "kl":
        raise ArgumentError("n_values is for method='kl'; the exact forms do not depend on it")
    if method == "kl" and draw != "auto":
        raise ArgumentError("draw= is for method='exact'; the divergence knows no table")
    if counted.unit is not None and counted.n_memberships != counted.n_records:
        raise ArgumentError(
            f"some persons ({counted.unit!r}) are in several classes; a group can be predicted "
            "only where each is in one"
        )
    if method == "kl":
        kl = entropy.kl(counted.sizes, counted.classes, n_values)
        known = KnownByKl(kl.n_values, float(kl))
        _refuse_sampled_divergence(known, counted.n_memberships)
        return sources.FromKl(known, k, of_table=True)
    n = counted.n_memberships
    if draw == "replacement":
        _warn_of_rare_values(k, n)
        return sources.FromDistribution(Distribution.from_class_sizes(counted), k)
    if draw == "subgroup":
        return subgroup_of(counted, k)
    if k <= 2 * n:
        return sources.AnotherGroup(counted, k)
    raise ArgumentError(
        f"a group of {k:,} is more than twice the table's {count_of(n, 'record')}: what it holds "
        "is a question of a model of the population; ask predict_population(population_size=…)"
    )


def _warn_of_rare_values(k: int, n: int) -> None:
    if k > SHARE_OF_TABLE * n:
        warn_of_approximation(
            f"a group of {percent(k / n)} of the table, drawn from its frequencies, understates "
            "singletons, because values that no record has cannot come up (by 5% at a twentieth "
            "of the table, 20% at a quarter); draw='auto' does not"
        )


def _refuse_sampled_divergence(known: KnownByKl, n: int) -> None:
    """Reject a table whose distance from even frequencies is mostly its own chance."""
    if n < RECORDS_PER_VALUE * known.n_values:
        raise ApproximationError(
            f"{count_of(n, 'record')} are few for {count_of(known.n_values, 'value')}: such a "
            "table is farther from uniform than its population and may lack values, which a "
            "divergence does not know; method='exact' allows for both"
        )
