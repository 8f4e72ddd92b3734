"""Records with values that a recoding does not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name


@dataclass(frozen=True)
class UnseenCounts:
    """How many records a table has, and how many of them a recoding does not know.

    Attributes
    ----------
    n_records, n_unseen : int
        All records, and those with a value that is unknown, or in no region.
    by_column : dict of column to int
        How often each column's value is unknown; nothing where a record has no region, which is
        no column's fault.
    """

    n_records: int
    n_unseen: int
    by_column: Mapping[Name, int] = field(default_factory=dict)
