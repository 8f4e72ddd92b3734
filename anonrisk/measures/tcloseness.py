"""t-closeness (T5 to T7) and its relatives: how far a class is from the whole table.

Every function gives one number per kind of class; the measure of a table is the largest of them.
p is the share of a value in the class, q its share in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.counts.class_profiles import ValueCounts

    Shares = NDArray[np.float64]


def equal(profiles: ValueCounts) -> Shares:
    """Earth mover's distance with all values equally far apart (T6): ½ Σ |p − q|.

    Both sum to one, so that it is also the sum of p − q over the values that gained: those are
    all in the class, and absent values need no look.
    """
    p, q = _shares(profiles)
    return profiles.sum(np.maximum(p - q, 0.0))


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
    split = np.clip(np.searchsorted(Q, P, side="right"), low, np.maximum(high, low))
    below = P * (split - low) - (prefix[split] - prefix[low])
    above = (prefix[high] - prefix[split]) - P * (high - split)
    moved = np.where(high > low, below + above, 0.0)
    distance = (profiles.sum(moved) + prefix[low[first]]) / (n_values - 1)
    return np.where(distance < rounding(n_values), 0.0, distance)


def rounding(n_values: int) -> float:
    """What sums over so many ranks are off by: an ordered distance below it is none."""
    return n_values * float(np.finfo(np.float64).eps)


def hierarchical(profiles: ValueCounts) -> Shares:
    """Earth mover's distance in a hierarchy (T7): the mean over its levels of ½ Σ |p − q|.

    Level j puts values together that share a subtree of height at most j.
    """
    levels = profiles.levels if profiles.levels is not None else np.zeros((1, 0), dtype=np.int64)
    distances = [equal(profiles.merged(groups)) for groups in levels]
    return np.asarray(np.mean(distances, axis=0))


def beta(profiles: ValueCounts) -> Shares:
    """Largest relative gain (p − q) / q of a value that gained; 0 if none did."""
    p, q = _shares(profiles)
    return np.maximum.reduceat(np.maximum((p - q) / q, 0.0), profiles.starts[:-1])


def enhanced_beta(profiles: ValueCounts) -> Shares:
    """Least β with (p − q) / q ≤ min(β, −ln q) for all values; infinite if there is none."""
    p, q = _shares(profiles)
    gain = np.maximum((p - q) / q, 0.0)
    gain = np.where(gain <= -np.log(q) * (1 + 1e-12), gain, np.inf)
    return np.maximum.reduceat(gain, profiles.starts[:-1])


def delta(profiles: ValueCounts, *, strict: bool = False) -> Shares:
    """Largest |ln(p / q)| over the values of a class; with `strict`, absent ones are infinite."""
    p, q = _shares(profiles)
    apart = np.maximum.reduceat(np.abs(np.log(p / q)), profiles.starts[:-1])
    if strict:
        apart = np.where(np.diff(profiles.starts) < len(profiles.overall), np.inf, apart)
    return apart


def _shares(profiles: ValueCounts) -> tuple[Shares, Shares]:
    """Share of each value in its class, and in the table."""
    p = profiles.counts / profiles.totals[profiles.kind]
    q = profiles.overall[profiles.ranks] / profiles.overall.sum()
    return p, q
