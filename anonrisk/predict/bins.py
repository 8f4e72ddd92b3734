"""Putting probabilities together: intervals of a density, products of columns, narrow bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import finite, positive
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.types import Floats, Integers

# More intervals than this are refused: 80 MB for every array of them.
MAX_INTERVALS = 10_000_000
# More different probabilities than this are put together in narrow bins, and the result says so.
# Chosen: more of them take longer, fewer make bins wider; both ends of a bin go along either way.
MAX_DIFFERENT = 20_000
# What lies further out than this is added to the outermost intervals: less than rounding.
TAIL = 1e-17
# So many standard deviations from the mean nobody is left: 9e-18 of a Normal law.
FAR = 8.5
# Pairs of different probabilities that are held at one time.
MAX_PAIRS = 4_000_000
# Gauss's quadrature takes so many nodes per piece, of half a deviation at most: of what varies with
# a deviation it leaves rounding. More nodes than so many times the intervals take too long.
_NODES, _PIECE, _MOST_NODES = 16, 0.5, 50 * MAX_INTERVALS
# exp and its inverse are safe between these ends: e^±700 is 1e±304, the largest number 1.8e308.
_LARGEST_LOG = 700


def interval_probabilities(density: Any, width: float, offset: float) -> Floats:
    """Probability of each interval of a width, those of no weight left out (I1)."""
    check_density(density)
    finite(offset, "offset")
    least, largest = density.support()
    first = least if np.isfinite(least) else density.ppf(TAIL)
    last = largest if np.isfinite(largest) else density.isf(TAIL)
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ArgumentError("the density has no finite quantiles; cut off its tails first")
    low, high = np.floor((first - offset) / width), np.ceil((last - offset) / width)
    if high - low > MAX_INTERVALS:
        raise ArgumentError(
            f"width {width:g} gives {high - low:,.0f} intervals; {MAX_INTERVALS:,} is the most"
        )
    if high - low < 1 or abs(low) > 2.0**52 or abs(high) > 2.0**52:
        raise ArgumentError("width and offset do not fit the scale of the density")
    # One interval more on either side, so that rounding loses no end.
    edges = offset + width * np.arange(low - 1, high + 2)
    below = np.diff(density.cdf(edges))
    above = -np.diff(density.sf(edges))
    p = np.where(edges[1:] <= density.median(), below, above)
    p[0] += density.cdf(edges[0])
    p[-1] += density.sf(edges[-1])
    p = p[p > 0]
    return np.asarray(p / p.sum())


def check_density(density: Any) -> None:
    """Reject what is not a frozen continuous distribution of one number."""
    if not all(hasattr(density, name) for name in ("cdf", "sf", "ppf", "isf", "support")):
        raise ArgumentError("density must be a frozen distribution such as scipy.stats.norm(0, 1)")
    if not hasattr(getattr(density, "dist", None), "pdf"):
        raise ArgumentError(
            "the distribution is not continuous; give its probabilities to "
            "Distribution.from_probabilities"
        )
    if np.ndim(density.median()) or not np.isfinite(density.median()):
        raise ArgumentError("density must be one distribution, with finite parameters")


def rectangle_probabilities(
    sigmas: tuple[float, float], rho: float, widths: tuple[float, float]
) -> Floats:
    """Probability of each rectangle of a bivariate Normal: exact in y, by quadrature in x."""
    from scipy.special import ndtr

    sx, sy = _two(sigmas, "sigma")
    dx, dy = _two(widths, "width")
    if not -1 < finite(rho, "rho") < 1:
        raise ArgumentError("rho must lie between -1 and 1")
    nx, ny = int(np.ceil(FAR * sx / dx)), int(np.ceil(FAR * sy / dy))
    left = sy * np.sqrt(1 - rho**2)
    # Where y depends much on x, the quadrature needs narrow pieces to see a smooth function.
    smooth = _PIECE * min(sx, left / max(abs(rho) * sy / sx, 1e-12))
    n_nodes = 2 * _NODES * (FAR * sx / smooth + nx)
    if 4 * nx * ny > MAX_INTERVALS or n_nodes * ny > _MOST_NODES:
        raise ArgumentError(
            "the widths give too many rectangles, or the columns depend on each other too much; "
            "take wider intervals"
        )
    nodes, weight = np.polynomial.legendre.leggauss(_NODES)
    edges = dy * np.arange(-ny, ny + 1)
    edges = np.concatenate(([-np.inf], edges[1:-1], [np.inf]))
    rows = []
    for i in range(-nx, nx):
        low, high = max(i * dx, -FAR * sx), min((i + 1) * dx, FAR * sx)
        pieces = max(1, int(np.ceil((high - low) / smooth)))
        step = (high - low) / pieces
        # (pieces × nodes,); `below` is (edges, pieces × nodes).
        x = (low + step * (np.arange(pieces)[:, None] + (nodes + 1) / 2)).ravel()
        density = np.exp(-0.5 * (x / sx) ** 2) / (sx * np.sqrt(2 * np.pi))
        mass = density * np.tile(weight, pieces) * step / 2
        below = ndtr((edges[:, None] - rho * sy / sx * x) / left)
        rows.append(np.diff(below, axis=0) @ mass)
    p = np.concatenate(rows)
    p = p[p > 0]
    return np.asarray(p / p.sum())


# A column of probabilities is a dict of parallel arrays (n_different,): "p", the number of "values"
# that have each, and where they are bins, the "low" and "high" of each.


def _two(value: Any, what: str) -> tuple[float, float]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ArgumentError(f"give the {what} of each of the two columns") from None
    return positive(first, what), positive(second, what)


def joined(p: Floats, values: Integers) -> dict[str, Any]:
    """Join equal probabilities exactly; where too many differ, near ones in narrow bins.

    A bin keeps its number of values and its whole probability; its least and its largest one go
    along, so that a sum over values can be bracketed.
    """
    different, where = np.unique(p, return_inverse=True)
    if len(different) <= MAX_DIFFERENT:
        number = np.bincount(where.ravel(), weights=values).round().astype(np.int64)
        return {"p": different, "values": number}
    return _binned({"p": p, "values": values, "low": p, "high": p}, MAX_DIFFERENT)


def power_law(n: int, c: float) -> dict[str, Any]:
    """Probabilities of n ranks x under x^−c for c > 0, near ones together where there are too many.

    The bins are those of `joined`, but no rank of them is looked at: they come in order, and what a
    bin holds follows from Euler and Maclaurin's formula.
    """
    # Ranks beyond are too unlikely for a number.
    last = n if np.log(n) <= _LARGEST_LOG / c else int(np.exp(_LARGEST_LOG / c))
    if last <= MAX_DIFFERENT:
        weight = np.arange(1, last + 1, dtype=float) ** -c
        return joined(weight / weight.sum(), np.ones(last, dtype=np.int64))
    first = np.unique(np.round(np.geomspace(1, last + 1, MAX_DIFFERENT)).astype(np.int64))
    low, high = first[:-1].astype(float), (first[1:] - 1).astype(float)
    number = np.diff(first)
    mass = _power_sum(low, high, c)
    total = mass.sum()
    least, largest = high**-c / total, low**-c / total
    middle = np.clip(mass / number / total, least, largest)
    results = {"p": middle, "values": number, "low": least, "high": largest}
    # The least likely first, as everywhere.
    return {name: each[::-1] for name, each in results.items()}


def _power_sum(low: Floats, high: Floats, c: float) -> Floats:
    """Σ x^−c over the whole numbers from `low` to `high`, by Euler and Maclaurin."""
    from scipy.special import expm1

    span = np.log(high / low)
    whole = low ** (1 - c) * (span if c == 1 else expm1((1 - c) * span) / (1 - c))
    first, last = low**-c, high**-c
    slopes = c * (first / low - last / high) / 12
    bends = c * (c + 1) * (c + 2) * (first / low**3 - last / high**3) / 720
    total = whole + (first + last) / 2 + slopes - bends
    return np.where(low == high, first, np.where(high == low + 1, first + last, total))


def _binned(total: dict[str, Any], room: int) -> dict[str, Any]:
    """Put probabilities together whose logarithms fall into the same of `room` equal bins."""
    place = np.log(total["p"])
    least, largest = float(place.min()), float(place.max())
    cell = ((place - least) / max(largest - least, 1e-300) * (room - 1)).astype(np.int64)
    used, where = np.unique(cell, return_inverse=True)
    where = where.ravel()
    number = np.bincount(where, weights=total["values"])
    mass = np.bincount(where, weights=total["values"] * total["p"])
    ends = _ends(total["low"], total["high"], where, len(used))
    middle = np.clip(mass / number, ends["low"], ends["high"])
    return {"p": middle, "values": number.round().astype(np.int64), **ends}


def multiplied(columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Probabilities of all combinations of independent columns, joined as they grow."""
    total, *rest = columns
    for column in rest:
        if float(total["values"].sum()) * float(column["values"].sum()) >= 2.0**62:
            raise ArgumentError("the columns have more combinations than can be counted")
        total = _outer(total, column)
    return total


def _outer(total: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Multiply two columns, both put into bins first where there are too many pairs to hold."""
    if len(total["p"]) * len(other["p"]) > MAX_PAIRS:
        room = int(np.sqrt(MAX_PAIRS))
        # A short column leaves more room to the long one.
        spare = max(room, MAX_PAIRS // min(len(total["p"]), len(other["p"])))
        total, other = (
            part if len(part["p"]) <= room else _binned(part, spare) for part in (total, other)
        )
    pairs = {name: np.outer(total[name], other[name]).ravel() for name in ("p", "low", "high")}
    pairs["values"] = np.outer(total["values"], other["values"]).ravel()
    different, where = np.unique(pairs["p"], return_inverse=True)
    if len(different) > MAX_DIFFERENT:
        return _binned(pairs, MAX_DIFFERENT)
    where = where.ravel()
    number = np.bincount(where, weights=pairs["values"]).round().astype(np.int64)
    ends = _ends(pairs["low"], pairs["high"], where, len(different))
    return {"p": different, "values": number, **ends}


def _ends(low: Floats, high: Floats, where: Integers, n: int) -> dict[str, Floats]:
    least, largest = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(least, where, low)
    np.maximum.at(largest, where, high)
    return {"low": least, "high": largest}
