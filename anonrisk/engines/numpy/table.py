"""What a library of tables must tell of one: codes to count by, and the cells behind a few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers


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


class CodedTable(Protocol):
    """A table in process; rows are asked for by their positions."""

    def __len__(self) -> int:
        """How many rows it has."""

    def codes(self, roles: Mapping[Name, str]) -> dict[Name, Codes]:
        """Encode some columns, given with the roles that they have in messages."""

    def cells(self, column: Name, rows: Integers) -> list[Any]:
        """Return the cells of some rows as objects of Python."""

    def sortable(self, column: Name, rows: Integers) -> NDArray[Any]:
        """Return what known cells are ordered by: themselves, or places among categories."""

    def plain(self, column: Name, rows: Integers) -> tuple[str, NDArray[Any]]:
        """Return known cells as numbers or text, and the kind of a `Domain` of them."""

    def weights(self, column: Name) -> NDArray[np.float64]:
        """Read a column of numbers, missing as NaN, and refuse any other."""

    def stacked(self, other: Any, columns: Qid) -> CodedTable:
        """Put some columns of another table of the library below, so that all get one encoding."""
