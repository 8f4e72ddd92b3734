"""t-closeness (T5 to T7): how far a class is from the whole table.

Every function gives one number per kind of class; the measure of a table is the largest of them
(Li et al. 2007). p is the share of a value in the class, q its share in the table. Below each
stands the same as SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.measures.formula import UP_TO, Formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_profiles import ValueCounts

    Shares = NDArray[np.float64]

_MEANING = "how far the values of a class are from those of the table, at most; 0 is equal"
# What sums over ranks are off by, for each: an ordered distance below it is none.
_EPS = float(np.finfo(np.float64).eps)


def equal(profiles: ValueCounts) -> Shares:
    """Earth mover's distance with all values equally far apart (T6): ½ Σ |p − q|.

    Both sum to one, so that it is also the sum of p − q over the values that gained: those are
    all in the class, and absent values need no look.
    """
    p, q = profiles.shares()
    return profiles.sum(np.maximum(p - q, 0.0))


_GAINED = "sum(if(c / total > share, c / total - share, 0D))"
EQUAL = Formula("equal", equal, _GAINED, "tcloseness", _MEANING, compared=True)


def ordered(profiles: ValueCounts) -> Shares:
    """Earth mover's distance of ranked values (T5): Σ |P_i − Q_i| / (m − 1), P and Q cumulative.

    The class's P stands still between two values that it has. There the sum of |P − Q_i| follows
    from prefix sums of Q and from how many Q_i lie below P, so that no rank is visited.
    """
    n_values = len(profiles.overall)
    if n_values == 1:
        return np.zeros(len(profiles.sizes))
    Q = np.cumsum(profiles.overall) / profiles.overall.sum()
    prefix = np.concatenate(([0.0], np.cumsum(Q)))
    P = profiles.cumulative() / profiles.totals[profiles.kind]
    first, last = profiles.starts[:-1], profiles.starts[1:] - 1
    low = profiles.ranks
    high = np.append(low[1:], 0)
    # The last rank of all has P = Q = 1 and adds nothing.
    high[last] = n_values - 1
    split = np.clip(np.searchsorted(Q, P, side="right"), low, high)
    at_low, at_split = prefix[low], prefix[split]
    below = P * (split - low) - (at_split - at_low)
    above = (prefix[high] - at_split) - P * (high - split)
    distance = (profiles.sum(below + above) + at_low[first]) / (n_values - 1)
    return np.where(distance < n_values * _EPS, 0.0, distance)


# Between two values that a class has, its cumulative share stands still at `reached`.
REACHED = "running / total"
# `below` of the table's cumulative shares are not above that, and `split` is the rank, from r to
# high, from where on they are. `sum_x` sums them below rank x. Before its first value, a class has
# reached 0.
SPLIT = "if(below < r, r, if(below > high, high, below))"
MOVED = (
    "if(high > r, reached * (split - r) - (sum_split - sum_r) "
    "+ ((sum_high - sum_split) - reached * (high - split)), 0D) + if(running = c, sum_r, 0D)"
)
_DISTANCE = "sum(moved) / if(max(last_r) > 0, cast(max(last_r) as double), 1D)"
ORDERED = Formula(
    "ordered",
    ordered,
    f"if({_DISTANCE} < (max(last_r) + 1) * {_EPS!r}D, 0D, {_DISTANCE})",
    "tcloseness",
    _MEANING,
    windows={
        "running": f"sum(c) over (partition by {{of_class}} order by r {UP_TO})",
        "high": "coalesce(lead(r) over (partition by {of_class} order by r), last_r)",
    },
    order="r",
    compared=True,
)


def hierarchical(profiles: ValueCounts) -> Shares:
    """Earth mover's distance in a hierarchy (T7): the mean over its levels of ½ Σ |p − q|.

    Level j puts values together that share a subtree of height at most j.
    """
    levels = profiles.levels if profiles.levels is not None else np.zeros((1, 0), dtype=np.int64)
    distances = [equal(profiles.merged(groups)) for groups in levels]
    return np.asarray(np.mean(distances, axis=0))


# Over one row per class, level and group of values.
HIERARCHICAL = Formula(
    "hierarchical",
    hierarchical,
    f"{_GAINED} / {{n_levels}}",
    "tcloseness",
    _MEANING,
    compared=True,
)
