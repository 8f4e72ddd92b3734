"""A release matched with a population, and what models of a population need, from codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.numpy.count import Encoded, histogram
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.population import (
    GRID,
    Attacker,
    Independence,
    Matched,
    Presence,
    WeightedClasses,
)
from anonrisk.measures.counts.question import Against, Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Integers
    from anonrisk.engines.numpy.table import CodedTable


@dataclass(frozen=True)
class MatchedPairs:
    """Classes by their size f in the release and F in the population, and how many there are."""

    f: Integers
    F: NDArray[Any]
    classes: Integers

    def check_population(self) -> None:
        """Reject a population that cannot be what the release was drawn from."""
        f, F, records = self.f, self.F, self.f * self.classes
        lost, short = (f > 0) & (F == 0), (F > 0) & (f > F)
        refusals.check_population(int(records[lost].sum()), int(records[short].sum()))


def matched(table: CodedTable, question: Question, against: Against) -> Matched:
    """Find the size that each class of the release has in the population."""
    f, F, n_dropped = classes_of(table, question, against)[:3]
    return of_pairs(MatchedPairs(f, F, np.ones_like(f)), sizes_of(f, question, n_dropped))


def sizes_of(f: Integers, question: Question, n_dropped: int) -> ClassCounts:
    """Return the classes that a release has."""
    return ClassCounts(
        *histogram(f), qid=question.qid, missing=question.missing, n_dropped=n_dropped
    )


def of_pairs(pairs: MatchedPairs, sizes: ClassCounts) -> Matched:
    """Sum up classes that have a size in the population."""
    share = pairs.f / np.maximum(pairs.F, 1)
    present = pairs.f > 0
    f, F, classes = pairs.f[present], pairs.F[present], pairs.classes[present]
    steps, place = np.unique(1 / F, return_inverse=True)
    return Matched(
        sizes,
        steps,
        np.bincount(place.ravel(), weights=f * classes).astype(float),
        float(F.min()),
        float((F * classes).sum()),
        float((f / F * classes).sum()),
        Presence(float(share.min()), float(share.max())),
    )


def households(table: CodedTable, question: Question, against: Against) -> Attacker:
    """Return the risk that a record has by any member of its household."""
    _, F, _, class_of, rows = classes_of(table, question, against)
    assert against.household is not None  # noqa: S101
    home = table.codes({against.household: "household"})[against.household]
    lost = int(home.missing[rows].sum())
    if lost:
        raise refusals.missing_household(against.household, lost)
    homes, n_homes = closed_up(home.values[rows])
    with np.errstate(divide="ignore"):
        # A member who is certain to be found makes the sum minus infinity, and the risk 1.
        log_safe = np.log1p(-1 / F[class_of])
    risks = -np.expm1(np.bincount(homes, weights=log_safe, minlength=n_homes))[homes]
    steps, records = np.unique(np.ceil(risks * GRID - 1e-6), return_counts=True)
    return Attacker(
        "household", float(risks.mean()), float(risks.max()), steps / GRID, records.astype(float)
    )


def classes_of(
    table: CodedTable, question: Question, against: Against
) -> tuple[NDArray[Any], NDArray[Any], int, Integers, Integers]:
    """Count f and F of every class; with the class of each counted row, and those rows."""
    n = len(table)
    weights = None if against.weight is None else weights_of(table, against.weight)
    if against.population is not None:
        # Encoded together, so that equal cells have equal codes in both.
        table = table.stacked(against.population, question.columns)
    encoded = Encoded.of(table, question)
    classes, n_classes = closed_up(encoded.keys(question.qid)[0])
    rows = encoded.rows(question.qid)
    released = rows[rows < n]
    # Refused here, before anything is divided by a count.
    ClassCounts([1][: len(released)], [1][: len(released)], n_dropped=n - len(released))
    f = np.bincount(classes[released], minlength=n_classes)
    if against.population is not None:
        F = np.bincount(classes[rows[rows >= n]], minlength=n_classes)
        MatchedPairs(f, F, np.ones_like(f)).check_population()
    elif weights is not None:
        F = np.bincount(classes[released], weights=weights[released], minlength=n_classes)
    else:
        F = f
    counted = (f > 0) | (F > 0)
    number = np.cumsum(counted) - 1
    return f[counted], F[counted], n - len(released), number[classes[released]], released


def weights_of(table: CodedTable, weight: Name) -> NDArray[np.float64]:
    """Read sampling weights, one per row, and refuse what is not one."""
    weights = table.weights(weight)
    missing = ~np.isfinite(weights)
    refusals.check_weights(weight, int(missing.sum()), int((weights[~missing] < 1).sum()))
    return weights


def weighted(table: CodedTable, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes."""
    f, W, n_dropped, _, rows = classes_of(table, question, Against(weight=weight))
    weights = weights_of(table, weight)[rows]
    sizes = sizes_of(f, question, n_dropped)
    pairs = MatchedPairs(f, W, np.ones_like(f))
    return of_weights(pairs, sizes, (float(weights.min()), float(weights.max())))


def of_weights(
    pairs: MatchedPairs, sizes: ClassCounts, weights: tuple[float, float]
) -> WeightedClasses:
    """Sum up classes that have a sum of weights, the least and largest of which are given."""
    # Most tables have no weights, and predictions take long to load.
    from anonrisk.predict.population.benedetti_franconi import benedetti_franconi

    f, W, classes = pairs.f, pairs.F, pairs.classes
    risks = benedetti_franconi(f, W)
    return WeightedClasses(
        sizes,
        total=float((W * classes).sum()),
        pairs=float((W * classes)[f == 2].sum()),
        singles=float((risks * classes)[f == 1].sum()),
        all=float((f * risks * classes).sum()),
        highest=float(risks.max()),
        lowest_weight=weights[0],
        highest_weight=weights[1],
    )


def independence(table: CodedTable, question: Question, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent."""
    encoded, qid = Encoded.of(table, question), question.qid
    rows = encoded.rows(qid)
    classes, n_classes = closed_up(encoded.keys(qid)[0][rows])
    first = np.full(n_classes, len(rows))
    np.minimum.at(first, classes, np.arange(len(rows)))
    f = np.bincount(classes, minlength=n_classes).astype(float)
    log_mu = np.full(n_classes, np.log(len(rows)))
    margins = []
    for name in qid:
        codes, n_values = closed_up(encoded.columns[name].values[rows].astype(np.int64))
        counts = np.bincount(codes, minlength=n_values)
        log_mu += np.log(counts[codes[first]] / len(rows))
        margins.append(tuple(part.astype(float) for part in np.unique(counts, return_counts=True)))
    mu = np.exp(log_mu)
    c = (1 - fraction) / fraction
    m = c * mu[f == 1]
    kept_unique = c * np.exp(-mu / fraction)
    a, b = mu * kept_unique, kept_unique * (1 - mu - c * mu / 2)
    return Independence(
        unique=float(np.exp(-m).sum()),
        match=float((-np.expm1(-m) / m).sum()),
        observed=float((a * f + b * (f * f - 2 * f * mu - f)).sum()),
        margins=tuple((counts, values) for counts, values in margins),
    )
