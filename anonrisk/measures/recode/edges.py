"""Where to cut a column of numbers: at names that people use, near quantiles or by least cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.measures.recode.kinds import Bins
from anonrisk.measures.recode.quantiles import (
    SAMPLE_ERROR,
    SAMPLE_RISK,
    optimal_groups,
    sample_size,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.tally import Domain

# The cells of a grid among which the least cost is looked for. Chosen, as the next: more are
# slower, fewer leave plans coarser; k holds either way.
_CELLS = 256
# Edges of even width, quantiles, and periods of the calendar among which regions are cut.
_EVEN, _QUANTILES, _PERIODS = 64, 64, 128
# Numbers that are closer have no number with a name between them: powers of ten end at 1e-308, and
# a name takes 18 digits at most.
_CLOSEST = 1e-290
# The first day of the year 1 and the last of 9999, in days since 1970: no others have a name.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896


def nice_step(at_most: float) -> float:
    """Return the largest of 1, 2, 5, 10, 20, 50, … (or .5, .2, .1, …) that is not larger.

    Examples
    --------
    >>> nice_step(7), nice_step(0.3)
    (5.0, 0.2)
    """
    power = 10.0 ** math.floor(math.log10(at_most))
    step = max(m for m in (1, 2, 5) if m * power <= at_most * (1 + 1e-9)) * power
    return _clean(step, step)


def _clean(number: float, step: float) -> float:
    """Round off what binary fractions leave behind: 0.30000000000000004 is 0.3."""
    digits = max(0, 1 - math.floor(math.log10(step)))
    return round(number, digits)


def named_edges(wanted: Iterable[float], *, low: float, high: float, whole: bool) -> list[float]:
    """Move edges to nearby numbers that are easy to name, strictly inside the range.

    An edge moves by about an eighth of its distance to the nearest neighbour, or to a number of two
    digits if that is further, so that it says little about the value it came from. Edges that then
    are the same are one.
    """
    edges = sorted({edge for edge in wanted if low < edge <= high})
    around = [low, *edges, high]
    named = set()
    for before, edge, after in zip(around, edges, around[2:], strict=False):
        gap = min(gap for gap in (edge - before, after - edge, high - low) if gap > 0)
        step = max(nice_step(gap / 4), _least_step(edge, high - low))
        if whole:
            step = max(step, 1.0)
        named.add(_clean(round(edge / step) * step, step))
    return [edge for edge in sorted(named) if low < edge <= high]


def _least_step(edge: float, spread: float) -> float:
    """Return the step below which a number is no name any more but a value.

    That is the last of two digits, or a cell of a fine grid over the column where the column is
    narrow, far from zero.
    """
    fine = nice_step(spread / _CELLS)
    return min(fine, 10.0 ** (math.floor(math.log10(abs(edge))) - 1)) if edge else fine


def apart(bins: Bins, values: Floats) -> Bins | None:
    """Move edges of many digits that are values themselves down, not beyond the next value.

    The same values stay together. Between whole numbers there may be nothing, so theirs stay.
    """
    if bins.whole:
        return bins
    moved = []
    for edge in bins.edges:
        place = int(np.searchsorted(values, edge))
        short = float(f"{edge:.3g}") == edge
        if short or place == len(values) or values[place] != edge:
            moved.append(edge)
        elif place:
            between = _shortest(float(values[place - 1]), edge)
            moved += [] if between is None else [between]
    return Bins(tuple(sorted(set(moved)))) if moved else None


def _shortest(low: float, high: float) -> float | None:
    """Find a number of few digits between two others; None if they are next to each other."""
    first = -math.floor(math.log10(high - low)) - 1
    for digits in range(first, first + 18):
        unit = 10.0**-digits
        for number in (math.floor(high / unit) * unit, (math.floor(high / unit) - 1) * unit):
            if low < round(number, digits) < high:
                return round(number, digits)
    return None


def without_tails(values: Floats, counts: Integers, k: int) -> tuple[Floats, Integers]:
    """Put the k least and the k largest records to one value each.

    No edge then depends on a value that only a few have, and each has k records on either side. Of
    fewer than that, or of numbers too close to be cut, one value or none is left.

    Examples
    --------
    >>> without_tails(np.array([1.0, 2, 3, 4, 99]), np.array([1, 4, 2, 4, 1]), 3)
    (array([2., 3., 4.]), array([5, 2, 5]))
    """
    low = int(np.searchsorted(np.cumsum(counts), k))
    high = len(counts) - int(np.searchsorted(np.cumsum(counts[::-1]), k))
    gaps = np.diff(values[low:high])
    # Times of one day are one position.
    if ((gaps > 0) & (gaps < _CLOSEST)).any():
        high = low
    core = counts[low:high].copy()
    if len(core):
        core[0] += counts[:low].sum()
        core[-1] += counts[high:].sum()
    return values[low:high], core


def quantile_bins(values: NDArray[Any], counts: NDArray[Any], n_bins: int, *, whole: bool) -> Bins:
    """Cut into bins of about the same number of records (Q6), never between equal values.

    Values are ascending and different; counts say how often each occurs.
    """
    cumulated = np.cumsum(counts)
    ranks = cumulated[-1] * np.arange(1, n_bins) / n_bins
    # The first value of which more than this many records are smaller starts a bin.
    places = np.searchsorted(cumulated, ranks, side="right")
    wanted = values[np.minimum(places, len(values) - 1)].astype(np.float64)
    return bins_at(wanted, float(values[0]), float(values[-1]), whole=whole)


def bins_at(wanted: Iterable[float], low: float, high: float, *, whole: bool) -> Bins:
    """Cut near some numbers, at edges that are easy to name."""
    wanted = [float(edge) for edge in wanted]
    edges = named_edges(wanted, low=low, high=high, whole=whole)
    # Where all but a few records are alike, one cut is left: between the least and the rest.
    return Bins(tuple(edges) or (_between(low, high, whole=whole),), whole=whole)


def _between(low: float, high: float, *, whole: bool) -> float:
    if low == high:
        return high
    middle = (low + high) / 2
    if whole:
        return float(math.floor(middle) + 1)
    step = nice_step((high - low) / 4)
    return _clean(round(middle / step) * step, step)


def width_bins(
    values: NDArray[Any], counts: NDArray[Any], width: float, k: int, *, whole: bool
) -> Bins | None:
    """Cut at the multiples of a width; outer bins grow until they hold k records."""
    low, high = float(values[0]), float(values[-1])
    first, last = math.floor(low / width) + 1, math.floor(high / width)
    # Between numbers that are next to each other several may be one.
    edges = sorted({_clean(i * width, width) for i in range(first, last + 1)})
    cumulated = np.concatenate(([0], np.cumsum(counts)))
    below = cumulated[np.searchsorted(values, edges, side="left")]
    kept = [e for e, n in zip(edges, below, strict=True) if n >= k and cumulated[-1] - n >= k]
    return Bins(tuple(kept), whole=whole) if kept else None


def widths(values: NDArray[Any], *, whole: bool, most: int) -> list[float]:
    """List widths that are easy to name and make between two and `most` bins."""
    spread = float(values[-1]) - float(values[0])
    if not spread > 0 or not math.isfinite(spread):
        return []
    width, result = nice_step(spread), []
    while spread / width <= most and (not whole or width >= 2):
        result.append(width)
        width = nice_step(width * 0.6)
    return result[::-1]


def optimal_bins(
    values: NDArray[Any], counts: NDArray[Any], n_bins: int, *, whole: bool, cost: str = "median"
) -> Bins:
    """Cut where the cost is least (Q5), each bin with its share of records or more.

    The cost is the sum of distances to medians (``"median"``), that of the differences of ranks
    (``"rank"``) or the width of the widest bin (``"centre"``). Cells of a grid of names are put
    together, not single values, so that edges can be named.
    """
    low, high = float(values[0]), float(values[-1])
    step = nice_step(max((high - low) / _CELLS, 1e-300) * 2) if high > low else 1.0
    step = max(step, 1.0) if whole else step
    cells = np.floor(values / step)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(cells)) + 1))
    sums = np.add.reduceat(counts, starts)
    members = max(int(counts.sum()) // n_bins, 1)
    places = values[starts].astype(np.float64)
    if cost == "rank":
        # Of equal values the one in the middle stands for all; distances to it are by rank.
        places, cost = np.cumsum(sums) - (sums - 1) / 2, "median"
    groups = optimal_groups(places, sums, members, cost)
    wanted = [_clean(float(cells[starts[i]]) * step, step) for i in groups[1:]]
    edges = sorted({edge for edge in wanted if low < edge <= high})
    return Bins(tuple(edges), whole=whole) if edges else bins_at([], low, high, whole=whole)


def sampled_bins(values: NDArray[Any], counts: NDArray[Any], n_bins: int, *, whole: bool) -> Bins:
    """Cut at the quantiles of a sample (Q7), of the same records whenever it is asked for."""
    n, size = int(counts.sum()), sample_size(SAMPLE_ERROR, SAMPLE_RISK)
    if size >= n:
        return quantile_bins(values, counts, n_bins, whole=whole)
    drawn = np.random.default_rng(0).multivariate_hypergeometric(counts, size, method="marginals")
    seen = drawn > 0
    return quantile_bins(values[seen], drawn[seen], n_bins, whole=whole)


def fine_edges(domain: Domain, counts: Integers, k: int) -> list[float]:
    """List edges at which a column of numbers may be cut: easy to name, k records on both sides."""
    values, whole = domain.values.astype(np.float64), domain.kind == "whole"
    if domain.collapsed:
        # The last value stands for the last bin and is not its lower edge.
        return with_records(values[1:-1], values, counts, k)
    core, inside = without_tails(values, counts, k)
    # Whole numbers above 2^53 may be one number of those that are cut.
    if not len(core) or core[0] == core[-1]:
        return []
    width = nice_step(float(core[-1] - core[0]) / _EVEN)
    even = width_bins(core, inside, max(width, 1.0) if whole else width, k, whole=whole)
    wanted = {*quantile_bins(core, inside, _QUANTILES, whole=whole).edges}
    wanted |= set() if even is None else {*even.edges}
    moved = apart(Bins(tuple(sorted(wanted)), whole=whole), values)
    return [] if moved is None else with_records(moved.edges, values, counts, k)


def fine_dates(domain: Domain, counts: Integers, k: int) -> list[float]:
    """List days at which dates may be cut: of days, months or years, k records on both sides."""
    days = domain.positions()
    core, _ = without_tails(days, counts, k)
    if len(core) < 2:
        return []
    spread = core[-1] - core[0]
    short = spread <= _PERIODS and not domain.collapsed
    unit = "D" if short else "M" if spread <= 31 * _PERIODS else "Y"
    ends = core[[0, -1]].astype("datetime64[D]").astype(f"datetime64[{unit}]")
    after = ends + np.array(1, dtype=f"timedelta64[{unit}]")
    starts = np.arange(after[0], after[1]).astype("datetime64[D]").astype(np.int64)
    starts = starts[(starts >= _FIRST_DAY) & (starts <= _LAST_DAY)]
    return with_records(starts.astype(np.float64), days, counts, k)


def with_records(edges: Iterable[float], values: Floats, counts: Integers, k: int) -> list[float]:
    """Leave out edges that part fewer than k records from the others, or no others."""
    at = np.asarray(list(edges), dtype=np.float64)
    below = np.concatenate(([0], np.cumsum(counts)))
    before = below[np.searchsorted(values, at)]
    kept = at[(before >= k) & (below[-1] - before >= k)]
    # Of edges without a value between them one is enough.
    _, first = np.unique(np.searchsorted(values, kept), return_index=True)
    return [float(edge) for edge in kept[first]]
