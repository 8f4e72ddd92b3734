"""β-likeness (Cao & Karras 2012): how much more likely a class makes a value.

p is the share of a value in the class, q its share in the table. The measure of a table is the
largest of its classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.measures.formula import Formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.measures.counts.class_profiles import ValueCounts


def basic(profiles: ValueCounts) -> NDArray[np.float64]:
    """Largest relative gain (p − q) / q of a value that gained; 0 if none did."""
    return np.maximum.reduceat(_gain(profiles), profiles.starts[:-1])


_GAIN = "if(c / total > share, (c / total - share) / share, 0D)"
BASIC = Formula(
    "beta",
    basic,
    f"max({_GAIN})",
    measure="beta_likeness",
    meaning="how much likelier a class makes a value, in multiples of its share, at most",
    compared=True,
)


def enhanced(profiles: ValueCounts) -> NDArray[np.float64]:
    """Least β with (p − q) / q ≤ min(β, −ln q) for all values; infinite if there is none."""
    _, q = profiles.shares()
    gain = _gain(profiles)
    gain = np.where(gain <= -np.log(q) * (1 + 1e-12), gain, np.inf)
    return np.maximum.reduceat(gain, profiles.starts[:-1])


ENHANCED = Formula(
    "enhanced_beta",
    enhanced,
    f"max(if({_GAIN} <= -ln(share) * (1 + 1e-12D), {_GAIN}, double('inf')))",
    measure="enhanced_beta_likeness",
    meaning="the same, infinite where a value gains more than its rarity allows",
    compared=True,
)


def _gain(profiles: ValueCounts) -> NDArray[np.float64]:
    p, q = profiles.shares()
    return np.maximum((p - q) / q, 0.0)
