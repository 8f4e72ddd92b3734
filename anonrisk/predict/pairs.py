"""Sums over all pairs of values, at the cost of a sum over values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.arrays import Floats

# Up to this many pairs are simply added.
_FEW = 250_000
_CHUNK = 1_000_000
_NODES = (16, 24)


def pair_sum(
    x: Floats, left: Floats, right: Floats, kernel: Callable[[Floats, Floats], Floats], small: float
) -> float:
    """Σ left(a) · kernel(x(a), x(b)) · right(b) over all a and b, itself included.

    A smooth kernel is a polynomial in either variable but for rounding: it is then evaluated at a
    few Chebyshev points, and the weights are gathered there. Two numbers of points must agree to
    `small`; where they do not, every pair is added.
    """
    if len(x) ** 2 > _FEW:
        rough, fine = (_gathered(x, left, right, kernel, nodes) for nodes in _NODES)
        if abs(fine - rough) <= small:
            return fine
    total = 0.0
    step = max(1, _CHUNK // max(1, len(x)))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        total += float(left[rows] @ kernel(x[rows, None], x[None, :]) @ right)
    return total


def _gathered(
    x: Floats, left: Floats, right: Floats, kernel: Callable[[Floats, Floats], Floats], nodes: int
) -> float:
    angle = (2 * np.arange(nodes) + 1) * np.pi / (2 * nodes)
    low, high = float(x.min()), float(x.max())
    at = low + (high - low) * (1 - np.cos(angle)) / 2
    weight = np.sin(angle) * (-1.0) ** np.arange(nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = weight / (x[:, None] - at)
        parts /= parts.sum(axis=1, keepdims=True)
    hit = ~np.isfinite(parts).all(axis=1)
    parts[hit] = np.isclose(x[hit, None], at, rtol=1e-15, atol=0)
    with np.errstate(invalid="ignore"):
        return float((left @ parts) @ kernel(at[:, None], at[None, :]) @ (right @ parts))
