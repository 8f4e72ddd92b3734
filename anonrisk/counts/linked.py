"""Counts of tables that are joined along a person's key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonrisk.counts.class_sizes import ClassCounts


@dataclass(frozen=True)
class LinkedCounts:
    """The combinations of classes that persons have, and how far the tables are about the same.

    Attributes
    ----------
    sizes : ClassCounts
        How many persons have each combination.
    n_persons, n_shared : tuple of int
        The persons of each table, and those of them who are in another one, too.
    """

    sizes: ClassCounts
    n_persons: tuple[int, ...]
    n_shared: tuple[int, ...]
