"""Intervals for shares that were estimated from a sample."""

from __future__ import annotations

import math

# The quantile of the Normal law for 95%.
Z = 1.959963984540054


def wilson(hits: float, n: int) -> tuple[float, float]:
    """Give Wilson's 95% interval for a share of `hits` in `n` independent trials.

    Notes
    -----
    E. B. Wilson (1927). Unlike p ± 1.96·√(p(1−p)/n) it stays within [0, 1] and is not a point
    where all or none hit.

    Examples
    --------
    >>> low, high = wilson(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.2775)
    """
    p, z2 = hits / n, Z * Z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if hits <= 0 else max(centre - half, 0.0)
    return low, 1.0 if hits >= n else min(centre + half, 1.0)


def clustered(total: float, squares: float, n: int) -> tuple[float, float]:
    """Give the 95% interval of a mean of `n` shares, each of them one person's.

    Draws of one person resemble each other, so that only persons count as independent. Where all
    persons have the same share there is no spread to go by, and Wilson's interval is given.

    Examples
    --------
    >>> low, high = clustered(total=5.0, squares=3.5, n=10)
    >>> round(low, 3), round(high, 3)
    (0.293, 0.707)
    """
    mean = total / n
    variance = max(squares / n - mean * mean, 0.0)
    if n < 2 or variance <= 1e-15:
        return wilson(total, n)
    half = Z * math.sqrt(variance / (n - 1))
    return max(mean - half, 0.0), min(mean + half, 1.0)
