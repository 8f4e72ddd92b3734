"""The law of the logarithm of a product of independent probabilities, exact or on a grid."""

from __future__ import annotations

import math
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Floats

# Steps of the grid: the error of a smooth expectation falls with their square.
_STEPS = 2**17
# Ranks beyond this are taken in groups whose probabilities hardly differ.
_SINGLE_RANKS = 1_000_000
# Ranks that are listed one by one for an exact sum.
_MOST_RANKS = 1_000_000


def of_products(
    laws: Sequence[tuple[int, float, float]], s: int, *, discrete: bool
) -> tuple[Floats, Floats]:
    """Give −ln p of s records, each with one item of every law (d, c, g), and its probabilities."""
    span = s * sum(c * math.log(d) for d, c, _ in laws)
    step = span / _STEPS or 1.0
    size = 2 * _STEPS
    transform = np.ones(size // 2 + 1, dtype=complex)
    start = 0.0
    for d, c, g in laws:
        at, mass = _ranks(d, c) if discrete else _continuous(d, c, g, step)
        start -= s * (math.log(mass[0]) if discrete else math.log(g))
        transform *= np.fft.rfft(_spread(at / step, mass, size)) ** s
    mass = np.clip(np.fft.irfft(transform, size), 0, None)
    used = mass[: _STEPS + 2 * s * len(laws) + 1]
    grid: Floats = start + step * np.arange(len(used), dtype=float)
    return grid, np.asarray(used / used.sum(), dtype=float)


def exactly(d: int, c: float, s: int) -> tuple[Floats, Floats] | None:
    """Give −ln p of every multiset of s whole ranks, and its probability; None if too many."""
    n = math.comb(d + s - 1, s)
    if n * s > _MOST_RANKS:
        return None
    _, single = _ranks(d, c)
    from scipy.special import gammaln

    every = chain.from_iterable(combinations_with_replacement(range(d), s))
    ranks = np.fromiter(every, np.int64, n * s).reshape(n, s)
    at = -np.log(single)[ranks].sum(axis=1)
    # How often the rank of a column has come so far: their product is that of the factorials.
    times = np.ones((n, s))
    for column in range(1, s):
        again = ranks[:, column] == ranks[:, column - 1]
        times[again, column] = times[again, column - 1] + 1
    mass = np.exp(gammaln(s + 1) - np.log(times).sum(axis=1) - at)
    order = np.argsort(at, kind="stable")
    return at[order], mass[order]


def tail(grid: Floats, mass: Floats, limit: float) -> float:
    """Give the probability beyond a limit, taking the mass of a point as spread to its halves."""
    if limit <= grid[0]:
        return 1.0 if limit < grid[0] else float(1 - mass[0])
    edges = np.append(grid, 2 * grid[-1] - grid[-2]) - (grid[1] - grid[0]) / 2
    beyond = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    return float(np.interp(limit, edges, beyond))


def _ranks(d: int, c: float) -> tuple[Floats, Floats]:
    """Give c·ln x and the probability of each whole rank x."""
    ranks = np.arange(1, min(d, _SINGLE_RANKS) + 1, dtype=float)
    weight = np.ones_like(ranks)
    if d > _SINGLE_RANKS:
        edges = np.unique(np.geomspace(_SINGLE_RANKS + 1, d + 1, 200_000).astype(np.int64))
        ranks = np.append(ranks, (edges[:-1] + edges[1:] - 1) / 2)
        weight = np.append(weight, np.diff(edges))
    at = c * np.log(ranks)
    mass = weight * np.exp(-at)
    return at, mass / mass.sum()


def _continuous(d: int, c: float, g: float, step: float) -> tuple[Floats, Floats]:
    """Give c·ln x in the middle of each step of the grid, and the probability of the step."""
    if c == 0:
        return np.zeros(1), np.ones(1)
    width = math.log(d)
    edges = np.append(np.arange(0, c * width, step), c * width) / c
    b = 1 - c
    below = edges if abs(b * width) < 1e-12 else np.expm1(b * edges) / b
    return c * (edges[1:] + edges[:-1]) / 2, g * np.diff(below)


def _spread(at: Floats, mass: Floats, size: int) -> Floats:
    """Put each mass on its two neighbours of the grid, so that its mean stays."""
    left = np.floor(at).astype(np.int64)
    right = at - left
    spread: Floats = np.bincount(left, mass * (1 - right), minlength=size).astype(float)
    return spread + np.bincount(left + 1, mass * right, minlength=size)
