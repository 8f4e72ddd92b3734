"""What models of a population need beyond class sizes, from codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.counts.weighted import Independence
from anonrisk.engines.renumber import closed_up

if TYPE_CHECKING:
    from anonrisk.core.columns import Qid
    from anonrisk.engines.numpy.count import Encoded


def independence_of(encoded: Encoded, qid: Qid, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent."""
    kept = encoded.kept(qid)
    rows = np.arange(encoded.n_rows) if kept is None else np.flatnonzero(kept)
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
