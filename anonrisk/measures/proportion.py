"""Intervals for shares that were estimated from a sample."""

from __future__ import annotations

import math

# The quantile of the Normal law for 95%.
Z = 1.959963984540054


def wilson(hits: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval for a share of `hits` in `n` independent trials.

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


def clustered(total: float, squares: float, n: int, draws: int) -> tuple[float, float]:
    """Return the 95% interval of a mean of `n` shares, each of them one person's in `draws` draws.

    Draws of one person resemble each other. Wilson's interval is taken for as many independent
    draws as would scatter as much as the persons do: at most all draws, which is a design effect
    of at least 1.

    Parameters
    ----------
    total, squares : float
        Sum of the persons' shares, and of their squares.
    n, draws : int
        Number of persons, and of draws of each.

    Notes
    -----
    E. L. Korn and B. I. Graubard (1998): n·p(1 − p)/v, where v is the variance between persons,
    times (1.96/t)² for the degrees of freedom of v. Where shares are small and persons are few,
    most samples miss the person who makes the variance, so that the same is calculated with one
    person more whom all draws single out and one whom none does, and the smaller number is taken.

    Examples
    --------
    >>> low, high = clustered(total=5.0, squares=3.5, n=10, draws=20)
    >>> round(low, 3), round(high, 3)
    (0.285, 0.715)
    """
    if n < 2:
        return wilson(total, n)
    from scipy.special import stdtrit

    few = (Z / float(stdtrit(n - 1, 0.975))) ** 2
    as_seen = n * few * _scatter(total, squares, n)
    careful = n * _scatter(total + 1, squares + 1, n + 2)
    effective = min(as_seen, careful, float(n * draws))
    return wilson(total / n * effective, effective)


def _scatter(total: float, squares: float, n: int) -> float:
    """Divide the variance of single draws by that between persons; 1 where they are all alike."""
    mean = total / n
    between = (squares / n - mean * mean) * n / (n - 1)
    return mean * (1 - mean) / between if between > 1e-15 else 1.0
