"""What models of a population need beyond class sizes, from codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.numpy.count import Encoded
from anonrisk.engines.numpy.match import MatchedPairs, classes_of, sizes_of, weights_of
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.question import Against, Question
from anonrisk.measures.counts.weighted import Independence, WeightedClasses

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.engines.numpy.table import CodedTable
    from anonrisk.measures.counts.class_sizes import ClassCounts


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
