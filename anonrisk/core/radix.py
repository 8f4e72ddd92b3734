"""Several codes as the digits of one number, which never grows beyond 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Renumber = Callable[[Integers], tuple[Integers, int]]

# Keys stay below this, so that one more factor never overflows 64 bits unnoticed.
MAX_KEY = 2**62


def renumbered(keys: Integers) -> tuple[Integers, int]:
    """Renumber keys without gaps, in their order; give them and how many there are.

    Examples
    --------
    >>> codes, n_codes = renumbered(np.array([70, 5, 70]))
    >>> codes.tolist(), n_codes
    ([1, 0, 1], 2)
    """
    present, codes = np.unique(keys, return_inverse=True)
    return codes.astype(np.int64, copy=False), len(present)


def with_room(
    keys: Integers, bound: int, size: int, renumber: Renumber = renumbered
) -> tuple[Integers, int]:
    """Renumber keys below a bound if one more digit of this size would not fit."""
    return renumber(keys) if bound * size > MAX_KEY else (keys, bound)


def keys_of(
    columns: Iterable[tuple[NDArray[Any], int]], renumber: Renumber = renumbered
) -> tuple[Integers, int]:
    """Return one number per row, equal where all the codes are, and a bound above it.

    Parameters
    ----------
    columns : iterable of (codes, size)
        Codes from 0 to size - 1, the same number of each.
    renumber : function
        What closes keys up where they would grow too long.

    Returns
    -------
    keys : array of int64
        A new one, which the caller may change.
    bound : int
        A number above every key.

    Examples
    --------
    >>> keys, bound = keys_of([(np.array([0, 1, 1]), 2), (np.array([2, 0, 2]), 3)])
    >>> keys.tolist(), bound
    ([2, 3, 5], 6)
    """
    (first, bound), *rest = columns
    keys = first.astype(np.int64)
    for codes, size in rest:
        keys, bound = with_room(keys, bound, size, renumber)
        keys *= size
        keys += codes
        bound *= size
    return keys, bound
