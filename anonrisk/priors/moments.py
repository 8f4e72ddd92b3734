"""The chance that two or three people share a value, from counted classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonrisk.counts import ClassSizes


def moments_of(counted: ClassSizes) -> tuple[float, float]:
    """Unbiased s2 = Σc(c−1) / (n(n−1)) and s3 = Σc(c−1)(c−2) / (n(n−1)(n−2)).

    Plug-in sums of squares would count everybody as sharing a value with themselves.

    Examples
    --------
    >>> from anonrisk import ClassSizes
    >>> moments_of(ClassSizes([1, 3], [1, 1]))
    (0.5, 0.25)
    """
    n = counted.n_memberships
    # Divided factor by factor: a product of three sizes may be too large for a whole number.
    sizes = counted.sizes.astype(float)
    pairs = counted.classes * (sizes / n) * ((sizes - 1) / max(n - 1, 1))
    triples = pairs * (sizes - 2) / max(n - 2, 1)
    return math.fsum(pairs), max(math.fsum(triples), 0.0)
