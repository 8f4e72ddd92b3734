"""α of (α, k)-anonymity (Wong et al. 2006): the largest share that one value has of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.measures.formula import Formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_profiles import ValueCounts


def alpha(profiles: ValueCounts) -> NDArray[np.float64]:
    """Largest share that one value has of each kind of class: r₁ / n."""
    return np.maximum.reduceat(profiles.counts, profiles.starts[:-1]) / profiles.sizes


ALPHA = Formula(
    "alpha",
    alpha,
    "max(c) / sum({persons})",
    measure="alpha",
    meaning="largest share that one sensitive value has in a class",
)
