"""Sums over all classes from those with the smallest hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.results import Estimated, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEVEL = 0.95


def total(parts: NDArray[np.int64], share: float, *, largest: int, at_most: float) -> Estimated:
    """Estimate a sum over all classes from a random sample of them.

    Parameters
    ----------
    parts : array of int
        What each class of the sample adds, 0 or more.
    share : float
        The share of all hashes below which every class is in the sample; 1 if all classes are.
    largest : int
        The most that any class can add.
    at_most : float
        What the sum cannot exceed, whatever the sample.

    Notes
    -----
    The sum over the sample, divided by the share of the hashes that it covers (Horvitz and
    Thompson 1952; of the K smallest hashes Beyer et al. 2007). Each class is in the sample with
    that probability, whatever it adds, so that the number of classes that are not, given those
    that are, has a negative binomial law. The ends are its exact ones, as Clopper and Pearson
    (1934) take them: the lower by the classes seen, the upper by one more. Classes that add
    different parts count as w = Σy²/Σy each, as many as Σy/w; the one more adds the largest part.
    At least 95% of such intervals hold the truth, and hardly more where 300 classes were seen.

    Examples
    --------
    >>> total(np.ones(1_000, dtype=np.int64), 0.1, largest=1, at_most=20_000)
    10000 (95%: 9420.56 to 10605.7)
    >>> total(np.ones(1_000, dtype=np.int64), 1.0, largest=1, at_most=20_000)
    1000 (exact)
    """
    seen, squares = float(parts.sum()), float(np.square(parts.astype(float)).sum())
    if share >= 1:
        return Estimated(seen, Interval(seen, seen))
    from scipy.special import nbdtrik

    tail = (1 - LEVEL) / 2
    low = seen
    if seen:
        weight = squares / seen
        low += weight * float(nbdtrik(tail, seen / weight, share))
    weight = (squares + largest**2) / (seen + largest)
    number = (seen + largest) / weight
    high = weight * (number - 1 + float(nbdtrik(1 - tail, number, share)))
    estimate = min(seen / share, at_most)
    return Estimated(estimate, Interval(low, min(high, at_most), LEVEL))
