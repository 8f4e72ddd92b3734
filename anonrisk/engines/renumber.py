"""Numbers without gaps: the one thing for which the numbers in process need a hash table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray


def closed_up(keys: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Renumber keys without gaps, in the order of their appearance."""
    # By the hash table of pandas: NumPy would sort.
    codes, uniques = pd.factorize(keys)
    return codes.astype(np.int64, copy=False), len(uniques)
