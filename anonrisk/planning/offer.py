"""Which recodings are offered for a column, from fine to coarse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.hierarchy import Hierarchy
from anonrisk.counts.domain import DATES, NUMBERS
from anonrisk.errors import ArgumentError, HierarchyError
from anonrisk.planning.offer_texts import offer_texts
from anonrisk.recode import Bins, DatePart, Keep, Level, Recoding, Star
from anonrisk.recode.dates import PARTS
from anonrisk.recode.edges import (
    apart,
    bins_at,
    optimal_bins,
    quantile_bins,
    sampled_bins,
    width_bins,
    widths,
    with_records,
    without_tails,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.core.columns import Name
    from anonrisk.counts.domain import Domain
    from anonrisk.counts.tally import Tally

# More bins than this are hardly coarser than the values themselves.
_MOST_BINS = 40
_QUANTILES = (16, 8, 4, 2)

# How a plan can be told to cut numbers; "auto" offers widths, quantiles and the least distance.
CUTS = ("auto", "width", "quantile", "sampled", "rank", "median", "centre")


def offer(
    domain: Domain,
    margin: Integers,
    *,
    k: int,
    share: int,
    given: Any,
    column: Name,
    bins: str = "auto",
    nested: bool = False,
) -> list[Recoding]:
    """List the recodings of a column, the finest first.

    Parameters
    ----------
    domain, margin
        The column's values and how often each occurs, missing last.
    share : int
        How many values the budget gives the column.
    given
        A hierarchy, a list of recodings, or None.
    bins : str
        How numbers are cut, one of `CUTS`.
    nested : bool
        Whether each must put together what the one before it does, and more.
    """
    if given is not None:
        return _given(domain, given, column)
    offered: list[Recoding] = [] if domain.collapsed else [Keep()]
    counts = margin[:-1]
    if domain.kind in NUMBERS and len(domain) > 1:
        offered += _bins(domain, counts, k, share, bins)
    elif domain.kind in DATES and len(domain) > 1:
        offered += [DatePart(part) for part in _parts(domain)]
    elif domain.kind == "text":
        offered += offer_texts(domain, counts, k, nested=nested)
    return [*offered, Star()]


def offers(
    tally: Tally, shares: Mapping[Name, int], given: Mapping[Any, Any], *, k: int, bins: str
) -> dict[Name, list[Recoding]]:
    """List the recodings of every column that the budget has a share for."""
    return {
        name: offer(
            tally.domains[name],
            tally.margin(name),
            k=k,
            share=share,
            given=given.get(name),
            column=name,
            bins=bins,
        )
        for name, share in shares.items()
    }


def _given(domain: Domain, given: Any, column: Name) -> list[Recoding]:
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], Recoding):
        wrong = [r for r in given if not isinstance(r, Recoding)]
        unfit = [r for r in given if r.takes is not None and domain.kind not in r.takes]
        if wrong or unfit:
            raise ArgumentError(
                f"an offered recoding does not fit column {column!r}, which holds {domain.kind}"
            )
        return list(given)
    hierarchy = Hierarchy.of(given)
    if domain.kind not in (Level.takes or ()):
        raise HierarchyError(
            f"column {column!r} holds {domain.kind}; a hierarchy is over text, whole numbers, "
            "dates or booleans"
        )
    lost = sum(text not in hierarchy.leaves for text in domain.texts())
    if lost:
        raise HierarchyError(f"the hierarchy misses {lost} of the values of column {column!r}")
    return [Level.of(hierarchy, level) for level in range(hierarchy.height + 1)]


def _parts(domain: Domain) -> tuple[str, ...]:
    """List the periods that are coarser than the values: days are, where a day has several."""
    several = len(np.unique(domain.positions())) < len(domain)
    finest = "month" if domain.collapsed else "day" if several else "week"
    return PARTS[PARTS.index(finest) :]


def _bins(domain: Domain, counts: Integers, k: int, share: int, how: str) -> list[Recoding]:
    whole = domain.kind == "whole"
    every, of_every = domain.values.astype(np.float64), counts
    values, counts = without_tails(every, of_every, k)
    if len(values) < 2:
        return []
    found: list[Bins] = []
    if how in ("auto", "width"):
        made = (
            width_bins(values, counts, width, k, whole=whole)
            for width in widths(values, whole=whole, most=_MOST_BINS)
        )
        found += [bins for bins in made if bins is not None]
    few = {n for n in (*_QUANTILES, share) if 2 <= n <= _MOST_BINS and n < len(values)}
    sizes = sorted(few, reverse=True)
    if how in ("auto", "quantile"):
        found += [quantile_bins(values, counts, n, whole=whole) for n in sizes]
    if how == "sampled":
        found += [sampled_bins(values, counts, n, whole=whole) for n in sizes]
    if how in ("rank", "median", "centre"):
        found += [optimal_bins(values, counts, n, whole=whole, cost=how) for n in sizes]
    if how == "auto" and 2 <= share <= _MOST_BINS:
        wanted = optimal_bins(values, counts, share, whole=whole).edges
        found.append(bins_at(wanted, values[0], values[-1], whole=whole))
    if domain.collapsed:
        # The last value stands for the last bin and is not its lower edge.
        inner = with_records(every[1:-1] if len(every) > 2 else every[1:], every, of_every, k)
        return [_snapped(bins, np.array(inner)) for bins in found] if inner else []
    return [moved for bins in found if (moved := apart(bins, every)) is not None]


def _snapped(bins: Bins, inner: Floats) -> Bins:
    """Move edges to where values were put together: no such bin may be cut."""
    nearest = np.abs(inner[:, None] - np.asarray(bins.edges)).argmin(axis=0)
    return Bins(tuple(sorted({float(x) for x in inner[nearest]})), whole=bins.whole)
