"""Arithmetic as text that neither overflows nor underflows, which PostgreSQL refuses."""

from __future__ import annotations

# What is above is infinite.
LARGEST = "1.7976931348623157E308D"
# Below this an exponential is nothing beside any sum of ours.
_NOTHING = "-600D"


def exp(number: str) -> str:
    """Write an exponential, that of very negative numbers as 0; of a column, which stands twice."""
    return f"if({number} < {_NOTHING}, 0D, exp({number}))"


def rising(number: str) -> str:
    """Write (1 − exp(−x))/x of a column, by its series where the difference would lose digits."""
    series = "1D"
    for n in (5, 4, 3, 2):
        series = f"(1D - {number} / {n}D * {series})"
    safe = f"if({number} < 1E-3D, 1D, {number})"
    least = f"if(-{safe} < {_NOTHING}, 0D, exp(-{safe}))"
    return f"if({number} < 1E-3D, {series}, (1D - {least}) / {safe})"


def log_of_rest(share: str) -> str:
    """Write −ln(1 − x) of a column from 0 to below 1, by its series where x is small."""
    series = f"{share} * (1D + {share} * (0.5D + {share} * (1D / 3D + {share} * 0.25D)))"
    safe = f"if({share} < 1E-4D, 0.5D, {share})"
    return f"if({share} < 1E-4D, {series}, -ln(1D - {safe}))"
