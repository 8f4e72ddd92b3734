"""Putting probabilities together: intervals of a density, products of columns, narrow bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.arguments import positive
from anonrisk.errors import ArgumentError
from anonrisk.predict.distribution import MAX_DIFFERENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.predict.distribution import Distribution

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MAX_INTERVALS = 10_000_000
# What lies further out than this is added to the outermost intervals.
TAIL = 1e-17


def interval_probabilities(density: Any, width: float, offset: float) -> Floats:
    """Probability of each interval of a width, those of no weight left out (I1)."""
    if not all(hasattr(density, name) for name in ("cdf", "sf", "ppf", "isf")):
        raise ArgumentError("density must be a frozen distribution such as scipy.stats.norm(0, 1)")
    least, largest = density.support()
    first = least if np.isfinite(least) else density.ppf(TAIL)
    last = largest if np.isfinite(largest) else density.isf(TAIL)
    if not (np.isfinite(first) and np.isfinite(last) and np.isfinite(offset)):
        raise ArgumentError("the density has no finite quantiles; cut off its tails first")
    low, high = np.floor((first - offset) / width), np.ceil((last - offset) / width)
    if high - low > MAX_INTERVALS:
        raise ArgumentError(
            f"width {width:g} gives {high - low:,.0f} intervals; {MAX_INTERVALS:,} is the most"
        )
    # One interval more on either side, so that rounding loses no end.
    edges = offset + width * np.arange(low - 1, high + 2)
    below = np.diff(density.cdf(edges))
    above = -np.diff(density.sf(edges))
    p = np.where(edges[1:] <= density.median(), below, above)
    p[0] += density.cdf(edges[0])
    p[-1] += density.sf(edges[-1])
    p = p[p > 0]
    return np.asarray(p / p.sum())


def rectangle_probabilities(
    sigmas: tuple[float, float], rho: float, widths: tuple[float, float]
) -> Floats:
    """Probability of each rectangle of a bivariate Normal: exact in y, by quadrature in x."""
    from scipy.special import ndtr

    (sx, sy), (dx, dy) = (
        tuple(positive(x, what) for x in pair)
        for pair, what in ((sigmas, "sigma"), (widths, "width"))
    )
    if isinstance(rho, bool) or not -1 < float(rho) < 1:
        raise ArgumentError("rho must lie between -1 and 1")
    nx, ny = int(np.ceil(8.5 * sx / dx)), int(np.ceil(8.5 * sy / dy))
    if 4 * nx * ny > MAX_INTERVALS:
        raise ArgumentError(
            f"the widths give {4 * nx * ny:,} rectangles; {MAX_INTERVALS:,} is the most"
        )
    nodes, weight = np.polynomial.legendre.leggauss(16)
    left = sy * np.sqrt(1 - rho**2)
    edges = dy * np.arange(-ny, ny + 1)
    edges = np.concatenate(([-np.inf], edges[1:-1], [np.inf]))
    rows = []
    # A wide interval is cut so that the quadrature sees a smooth piece.
    pieces = max(1, int(np.ceil(dx / (0.5 * min(sx, left / max(abs(rho) * sy / sx, 1e-12))))))
    for i in range(-nx, nx):
        step = dx / pieces
        x = (i * dx + step * (np.arange(pieces)[:, None] + (nodes + 1) / 2)).ravel()
        density = np.exp(-0.5 * (x / sx) ** 2) / (sx * np.sqrt(2 * np.pi))
        mass = density * np.tile(weight, pieces) * step / 2
        below = ndtr((edges[:, None] - rho * sy / sx * x) / left)
        rows.append(np.diff(below, axis=0) @ mass)
    p = np.concatenate(rows)
    p = p[p > 0]
    return np.asarray(p / p.sum())


def joined(p: Floats, values: Integers) -> dict[str, Any]:
    """Join equal probabilities exactly; where too many differ, near ones in narrow bins.

    A bin keeps its number of values and its whole probability; its least and its largest one go
    along, so that a sum over values can be bracketed.
    """
    different, where = np.unique(p, return_inverse=True)
    if len(different) <= MAX_DIFFERENT:
        number = np.bincount(where.ravel(), weights=values).round().astype(np.int64)
        return {"p": different, "values": number}
    place = np.log(p)
    least, largest = float(place.min()), float(place.max())
    cell = ((place - least) / (largest - least) * (MAX_DIFFERENT - 1)).astype(np.int64)
    used, where = np.unique(cell, return_inverse=True)
    number = np.bincount(where, weights=values)
    mass = np.bincount(where, weights=values * p)
    low, high = np.full(len(used), np.inf), np.zeros(len(used))
    np.minimum.at(low, where, p)
    np.maximum.at(high, where, p)
    middle = np.clip(mass / number, low, high)
    return {"p": middle, "values": number.round().astype(np.int64), "low": low, "high": high}


def multiplied(columns: Sequence[Distribution]) -> dict[str, Any]:
    """Probabilities of all combinations of independent columns, joined as they grow."""
    first, *rest = columns
    total: dict[str, Any] = {
        "p": first.p,
        "values": first.values,
        "low": first.low,
        "high": first.high,
    }
    for column in rest:
        if float(total["values"].sum()) * column.n_values >= 2.0**62:
            raise ArgumentError("the columns have more combinations than can be counted")
        total = _outer(total, column)
    return total


def _outer(total: dict[str, Any], column: Distribution) -> dict[str, Any]:
    # Two columns of the most different probabilities would be too many pairs to hold.
    room = max(1, 4_000_000 // max(1, len(column.p)))
    if len(total["p"]) > room:
        total = _coarser(total, room)
    p = np.outer(total["p"], column.p).ravel()
    low = np.outer(total["low"], column.low).ravel()
    high = np.outer(total["high"], column.high).ravel()
    values = np.outer(total["values"], column.values).ravel()
    made = joined(p, values)
    if "low" not in made and (low < high).any():
        _, where = np.unique(p, return_inverse=True)
        made |= _ends(low, high, where.ravel(), len(made["p"]))
    elif "low" in made and (low < high).any():
        spread = float((low / p).min()), float((high / p).max())
        made["low"], made["high"] = made["low"] * spread[0], made["high"] * spread[1]
    made.setdefault("low", made["p"])
    made.setdefault("high", made["p"])
    return made


def _ends(low: Floats, high: Floats, where: Integers, n: int) -> dict[str, Floats]:
    least, largest = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(least, where, low)
    np.maximum.at(largest, where, high)
    return {"low": least, "high": largest}


def _coarser(total: dict[str, Any], room: int) -> dict[str, Any]:
    order = np.argsort(total["p"])
    cell = np.arange(len(order)) * room // len(order)
    p, values = total["p"][order], total["values"][order]
    number = np.bincount(cell, weights=values)
    mass = np.bincount(cell, weights=values * p)
    ends = _ends(total["low"][order], total["high"][order], cell, room)
    middle = np.clip(mass / number, ends["low"], ends["high"])
    return {"p": middle, "values": number.round().astype(np.int64), **ends}
