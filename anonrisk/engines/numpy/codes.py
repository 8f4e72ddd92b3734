"""A column as small integers: equal cells, equal codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Codes:
    """A column as integers from 0 to `cardinality` - 1; missing, if any, is the last of them."""

    values: NDArray[Any]
    cardinality: int
    n_missing: int = 0

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which records miss a value."""
        if not self.n_missing:
            return np.zeros(len(self.values), dtype=bool)
        return np.asarray(self.values == self.cardinality - 1)
