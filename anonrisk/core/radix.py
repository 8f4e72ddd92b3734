"""Several codes as the digits of one number, which never grows beyond 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from anonrisk.core.types import Integers

    Renumber = Callable[[Integers], tuple[Integers, int]]

# Keys stay below this, so that one more factor never overflows 64 bits unnoticed.
MAX_KEY = 2**62
# Keys below this are kept in 32 bits, which are sorted and hashed in less time.
_SHORT = 2**31


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


def extended(
    keys: NDArray[Any],
    bound: int,
    codes: NDArray[Any],
    size: int,
    renumber: Renumber = renumbered,
    *,
    in_place: bool = False,
) -> tuple[NDArray[Any], int]:
    """Return keys with one more digit, in the fewest bytes that hold them, and their new bound.

    `in_place` they may take the room of the keys, which nobody needs any more.

    Examples
    --------
    >>> keys, bound = extended(np.array([0, 1, 1]), 2, np.array([2, 0, 2]), 3)
    >>> keys.tolist(), keys.dtype.name, bound
    ([2, 3, 5], 'int32', 6)
    """
    keys, bound = with_room(keys, bound, size, renumber)
    bound *= size
    kind = _kind(bound)
    room = keys if in_place and keys.dtype == kind else None
    longer: NDArray[Any] = np.multiply(keys, size, out=room, dtype=kind)
    return np.add(longer, codes, out=longer, dtype=kind), bound


def _kind(bound: int) -> Any:
    return np.int32 if bound < _SHORT else np.int64


def keys_of(
    columns: Iterable[tuple[NDArray[Any], int]],
    renumber: Renumber = renumbered,
    *,
    short: bool = False,
) -> tuple[Integers, int]:
    """Return one number per row, equal where all the codes are, and a bound above it.

    Parameters
    ----------
    columns : iterable of (codes, size)
        Codes from 0 to size - 1, the same number of each.
    renumber : function
        What closes keys up where they would grow too long.
    short : bool
        Whether keys that fit into 32 bits are left there: they are no numbers to reckon with.

    Returns
    -------
    keys : array of int64, or of int32
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
    keys = first.astype(_kind(bound))
    for codes, size in rest:
        keys, bound = extended(keys, bound, codes, size, renumber, in_place=True)
    return keys if short else keys.astype(np.int64, copy=False), bound
