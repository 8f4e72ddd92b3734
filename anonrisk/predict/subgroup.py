"""A group drawn from the records of a known table, without replacement (S17).

`c` are the different class sizes of the table, `w` the number of classes that have each, `n` its
records and `k` the size of the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.predict.moments import PAIRS_AGREE, matters, pair_sum
from anonrisk.predict.stirling import log_apart, log_falling

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats, Integers


def classes_each(c: Integers, n: int, k: int, j: int) -> Floats:
    """Chance that exactly `j` of the group come from a class of each size.

    C(c, j) C(n − c, k − j) / C(n, k), written with falling powers whose large parts cancel.
    """
    left = n - k
    if j > k:
        return np.zeros(len(c))
    m = np.arange(j)
    with np.errstate(divide="ignore", invalid="ignore"):
        choose = np.log(np.maximum(c[:, None] - m, 0) / (m + 1)).sum(axis=1)
        drawn = float(np.log((k - m) / n).sum())
        stayed = np.where(c > j, (c - j) * np.log(left / n), 0.0)
        chance = choose + drawn + stayed + log_falling(left, c - j) - log_falling(n, c)
    return np.where(c < j, 0.0, np.exp(chance))


def mean(c: Integers, w: Integers, n: int, k: int) -> float:
    """Expected number of singletons of the group."""
    return float(np.dot(w, classes_each(c, n, k, 1)))


def variance(c: Integers, w: Integers, n: int, k: int) -> float:
    """Variance of the number of singletons: as S3, with pairs drawn without replacement."""
    if k in (0, n):
        return 0.0
    each = classes_each(c, n, k, 1)
    own = float(np.dot(w, each - each**2))
    used = matters(w * each, own)
    x, each, weight = c[used].astype(float), each[used], (w * each)[used]
    between = pair_sum(x, weight, weight, lambda a, b: _excess(a, b, n, k), PAIRS_AGREE * own)
    # A class makes no pair with itself.
    between -= float(np.dot(weight * each, _excess(x, x, n, k)))
    return max(0.0, own + between)


def _excess(a: Floats, b: Floats, n: int, k: int) -> Floats:
    """How much likelier one record from each of two classes is than if independent, less 1."""
    left = n - k
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log1p(-1 / k) + log_apart(left, a - 1, b - 1) - log_apart(n, a, b)
        return np.asarray(np.nan_to_num(np.expm1(ratio), nan=-1.0))


def shared_by(c: Integers, w: Integers, n: int, k: int, people: int) -> float:
    """Expected number of sets of `people` of the group who share a value."""
    total = np.array(w, dtype=float)
    for j in range(people):
        total *= (c - j) / (n - j) * (k - j) / (j + 1)
    return float(total.sum())
