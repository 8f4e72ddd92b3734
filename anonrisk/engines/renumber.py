"""Numbers without gaps: the one thing for which the numbers in process need a hash table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many keys are hashed in less time than an index is made.
_SHORT = 10_000


def numbered(keys: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number keys without gaps, in the order of their appearance, and return each of them once."""
    # By the hash table of pandas: NumPy would sort.
    codes, uniques = pd.factorize(keys)
    return codes.astype(np.int64, copy=False), uniques


def closed_up(keys: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Renumber keys without gaps, in the order of their appearance."""
    codes, uniques = numbered(keys)
    return codes, len(uniques)


def looked_up(
    few: NDArray[np.int64], many: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Renumber some keys without gaps, and give others the numbers of theirs, -1 if they have none.

    Also gives a bound above the numbers.
    """
    if len(few) + len(many) < _SHORT:
        codes, n_codes = closed_up(np.concatenate((few, many)))
        return codes[: len(few)], n_codes, codes[len(few) :]
    codes, uniques = pd.factorize(few)
    # Only the few go into the hash table.
    places = pd.Index(uniques).get_indexer(pd.Index(many))
    return codes.astype(np.int64, copy=False), len(uniques), places.astype(np.int64, copy=False)
