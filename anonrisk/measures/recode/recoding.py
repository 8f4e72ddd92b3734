"""What every recoding is: plain data that turns known values into groups with names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonrisk.measures.recode.labels import MARKER

if TYPE_CHECKING:
    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.measures.counts.tally import Domain


class Recoding(ABC):
    """How the values of one column are put together."""

    name: ClassVar[str]
    # Kinds of values that it takes; None for all.
    takes: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the group number of each known value, and the labels of the groups.

        Labels are None where values stay themselves.
        """

    @property
    def for_missing(self) -> str | None:
        """What becomes of a missing value: a label, or None where it stays missing."""
        return None

    def knows(self, domain: Domain) -> Booleans:
        """Return for each value whether there is a group for it."""
        return np.ones(len(domain), dtype=bool)

    @property
    def for_unseen(self) -> str:
        """What a value becomes that there is no group for."""
        return MARKER

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON, none of them a cell; None is left out."""
        stored = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in stored.items()}
        return {"recoding": self.name, **{k: v for k, v in plain.items() if v is not None}}

    def __str__(self) -> str:
        """Return in a few words what is done."""
        raise NotImplementedError


def numbered(names: list[str]) -> tuple[Integers, list[str] | None]:
    """Number names in order of their text."""
    different = sorted(set(names))
    place = {name: i for i, name in enumerate(different)}
    return np.array([place[name] for name in names], dtype=np.int64), different
