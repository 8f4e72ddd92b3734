"""A set of numbers that can be asked millions of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.numpy.count import runs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# A bit for each number that there could be answers fastest, if there is room (256 MiB).
_MOST_BITS = 2**31


@dataclass(frozen=True)
class KeySet:
    """Numbers from 0 on, in their order, each once."""

    keys: Integers
    bits: NDArray[np.uint8] | None

    @classmethod
    def of(cls, keys: Integers, bound: int) -> KeySet:
        """Take numbers below a bound that are in their order already, each once."""
        if bound > _MOST_BITS:
            return cls(keys, None)
        bits = np.zeros(bound // 8 + 1, dtype=np.uint8)
        places, masks = keys >> 3, (1 << (keys & 7)).astype(np.uint8)
        first = runs_of(places)
        bits[places[first]] = np.bitwise_or.reduceat(masks, first)
        return cls(keys, bits)

    def has(self, asked: Integers) -> Flags:
        """Tell of each number whether it is among them."""
        if self.bits is not None:
            flags: Flags = (self.bits[asked >> 3] >> (asked & 7).astype(np.uint8)) & 1 > 0
            return flags
        found: Flags = self.keys[np.minimum(self.place(asked), len(self.keys) - 1)] == asked
        return found

    def place(self, asked: Integers) -> Integers:
        """Give the place of each number that is among them."""
        return np.searchsorted(self.keys, asked)
