"""What models of a population need of a pandas table, beyond its class sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.question import Against, Question
from anonrisk.counts.weighted import Independence, WeightedClasses
from anonrisk.engines.numpy.count import histogram
from anonrisk.engines.numpy.population import independence_of
from anonrisk.engines.pandas.count import encoded_of
from anonrisk.engines.pandas.match import classes_of, weights_of
from anonrisk.predict.population.benedetti_franconi import benedetti_franconi

if TYPE_CHECKING:
    import pandas as pd

    from anonrisk.core.columns import Name


def weighted(frame: pd.DataFrame, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes."""
    f, W, n_dropped, _, rows = classes_of(frame, question, Against(weight=weight))
    weights = weights_of(frame, weight)[rows]
    risks = benedetti_franconi(f, W)
    return WeightedClasses(
        ClassCounts(*histogram(f), qid=question.qid, missing=question.missing, n_dropped=n_dropped),
        total=float(W.sum()),
        pairs=float(W[f == 2].sum()),
        singles=float(risks[f == 1].sum()),
        all=float((f * risks).sum()),
        highest=float(risks.max()),
        lowest_weight=float(weights.min()),
        highest_weight=float(weights.max()),
    )


def independence(frame: pd.DataFrame, question: Question, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent."""
    return independence_of(encoded_of(frame, question), question.qid, fraction)
