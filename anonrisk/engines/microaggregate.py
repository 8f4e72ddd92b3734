"""Microaggregation by arithmetic on a tally: the same means on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines.limits import check_finite
from anonrisk.errors import MissingValuesError, TooManyRecordsError, UnsupportedColumnError
from anonrisk.measures.recode.quantiles import mdav, optimal_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.tally import Domain, Tally

# Different records of several columns that MDAV takes: its work grows with their square.
MAX_MDAV = 100_000
# The largest whole number below which floats have them all.
_EXACT = 2**53


def means(domain: Domain, counts: NDArray[np.int64], k: int, name: Name) -> NDArray[Any]:
    """Return the group mean of each value: squared distances are least, groups have k or more."""
    _require_scale(domain, counts, name)
    if not len(domain):
        return domain.values
    values = domain.values.astype(np.float64)
    starts = np.array(optimal_groups(values, counts, k, "squared"))
    sums = np.add.reduceat(values * counts, starts)
    of_group = sums / np.add.reduceat(counts, starts)
    sizes = np.diff(np.append(starts, len(values)))
    return _rounded(domain, np.repeat(of_group, sizes))


def means_of_several(tally: Tally, k: int) -> dict[Name, NDArray[Any]]:
    """Return the classes of a tally the mean of their group in each column (MDAV)."""
    for name, domain in tally.domains.items():
        _require_scale(domain, tally.margin(name)[:-1], name)
        n_missing = int(tally.margin(name)[-1])
        if n_missing:
            raise MissingValuesError(
                f"column {name!r} is missing in {n_missing:,} rows; several columns are "
                "microaggregated together only where all of them are known"
            )
    if tally.n_classes > MAX_MDAV:
        raise TooManyRecordsError(
            f"more than {MAX_MDAV:,} different records: MDAV would take too long, because its work "
            "grows with their square; recode the columns first, or take parts of the table"
        )
    # In the order of their codes, so that every engine meets them alike.
    order = np.lexsort([tally.codes[name] for name in reversed(list(tally.codes))])
    counts = tally.counts[order]
    values = {n: d.values[tally.codes[n][order]] for n, d in tally.domains.items()}
    points = np.column_stack([v.astype(np.float64) for v in values.values()])
    group = mdav(points, counts, k)
    sizes = np.bincount(group, counts)
    moved: dict[Name, NDArray[Any]] = {}
    for i, (name, domain) in enumerate(tally.domains.items()):
        of_group = np.bincount(group, counts * points[:, i]) / sizes
        unordered = np.empty(len(order))
        unordered[order] = of_group[group]
        moved[name] = _rounded(domain, unordered)
    return moved


def too_large(name: Name) -> UnsupportedColumnError:
    """Return an error: means are computed with floats."""
    return UnsupportedColumnError(
        f"column {name!r} holds whole numbers beyond 2**53 (about 9e15), whose means would not be "
        "exact; does it count something? Divide it first, or leave it out"
    )


def _require_scale(domain: Domain, counts: NDArray[np.int64], name: Name) -> None:
    if len(domain) and not domain.is_scale:
        raise UnsupportedColumnError(
            f"column {name!r} holds values of kind {domain.kind}; "
            "numbers and dates can be microaggregated"
        )
    check_finite(domain.values, counts, name)
    ends = [abs(int(end)) for end in domain.values[[0, -1]]] if domain.kind == "whole" else []
    if any(end > _EXACT for end in ends):
        raise too_large(name)


def _rounded(domain: Domain, numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Keep whole numbers whole, and dates days."""
    return numbers if domain.kind == "number" else np.rint(numbers).astype(np.int64)
