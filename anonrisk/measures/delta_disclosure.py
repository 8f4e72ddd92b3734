"""δ-disclosure (Brickell & Shmatikov 2008): how far a value's share is from that in the table.

p is the share of a value in the class, q its share in the table. The measure of a table is the
largest of its classes.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import positive
from anonrisk.measures.formula import Formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_profiles import ValueCounts


def in_base(base: Any) -> float:
    """Return what a natural logarithm is divided by for another base; 1 where none is given.

    Examples
    --------
    >>> in_base(None), round(in_base(2), 3)
    (1.0, 0.693)
    """
    if base is None:
        return 1.0
    return log(positive(base, "base", above=1))


def present(profiles: ValueCounts) -> NDArray[np.float64]:
    """Largest |ln(p / q)| over the values of a class."""
    p, q = profiles.shares()
    return np.maximum.reduceat(np.abs(np.log(p / q)), profiles.starts[:-1])


_APART = "max(abs(ln(c / total / share)))"
PRESENT = Formula(
    "delta",
    present,
    _APART,
    measure="delta_disclosure",
    meaning="how much a class changes the share of a value, as a logarithm, at most",
    compared=True,
)


def strict(profiles: ValueCounts) -> NDArray[np.float64]:
    """Largest |ln(p / q)| over all values: infinite where a class lacks one."""
    lacking = np.diff(profiles.starts) < len(profiles.overall)
    return np.where(lacking, np.inf, present(profiles))


# Counts of the values that a class has add up to those of all only if it has all of them.
STRICT = Formula(
    "strict_delta", strict, f"if(sum(t) < max(t_all), double('inf'), {_APART})", compared=True
)
