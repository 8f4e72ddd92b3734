"""Numbers in SQL as floats, which they are in every database then."""

from __future__ import annotations

import sys
from typing import Any

import sqlalchemy as sa

# What is above is infinite.
LARGEST = sys.float_info.max


def double(number: Any) -> Any:
    """Make a number a float; quotients and sums of those are floats in every database."""
    return sa.cast(sa.literal(number) if isinstance(number, float) else number, sa.Double())
