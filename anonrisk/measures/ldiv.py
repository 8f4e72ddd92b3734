"""l-diversity (T2 to T4): how many sensitive values a class leaves in doubt.

Every function gives one number per kind of class; the measure of a table is the least of them
(Machanavajjhala et al. 2007). Below each stands the same as SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.measures.formula import ALL, UP_TO, Formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_profiles import ValueCounts


def distinct(profiles: ValueCounts) -> NDArray[np.int64]:
    """Count the different values of a class (T2); persons, where there are fewer of those."""
    return np.minimum(np.diff(profiles.starts), profiles.sizes)


DISTINCT = Formula(
    "distinct",
    distinct,
    "if(count(1) < sum({persons}), count(1), sum({persons}))",
    measure="ldiv",
    meaning="different sensitive values in the least diverse class",
    least=True,
    whole=True,
)


def entropy(profiles: ValueCounts) -> NDArray[np.float64]:
    """Effective number of values of a class (T3): exp(H), H = −Σ p ln p = ln n − Σ c ln c / n."""
    totals = profiles.totals
    nats = np.log(totals) - profiles.sum(profiles.counts * np.log(profiles.counts)) / totals
    return np.exp(np.maximum(nats, 0.0))


_NATS = "ln(sum(c)) - sum(c * ln(c)) / sum(c)"
ENTROPY = Formula(
    "entropy",
    entropy,
    f"if({_NATS} > 0D, exp({_NATS}), 1D)",
    measure="entropy_ldiv",
    meaning="the same, rare values counting less",
    least=True,
)


def recursive(profiles: ValueCounts, c: float) -> NDArray[np.int64]:
    """Largest l with r₁ < c (r_l + … + r_m), strictly (T4); 0 if even l = 1 fails.

    The tails r_l + … + r_m fall as l grows, so that the largest l is the number of tails above
    r₁ / c.
    """
    kind, counts = profiles.descending()
    # Tail sums within each kind, from sums over everything that comes after.
    after = np.concatenate((np.cumsum(counts[::-1])[::-1], [0]))
    tails = after[:-1] - after[profiles.starts[1:]][kind]
    largest = counts[profiles.starts[:-1]][kind]
    return np.bincount(kind[c * tails > largest], minlength=len(profiles.sizes))


RECURSIVE = Formula(
    "recursive",
    recursive,
    "sum(if({constant}D * tail > most, 1L, 0L))",
    measure="recursive_ldiv",
    meaning="the same, the most frequent value not outweighing the others",
    least=True,
    whole=True,
    # From the smallest count up, the running sum is the tail r_l + … + r_m.
    windows={
        "tail": f"sum(c) over (partition by {{of_class}} order by c {UP_TO})",
        "most": f"max(c) over (partition by {{of_class}} order by c {ALL})",
    },
    order="c",
)
