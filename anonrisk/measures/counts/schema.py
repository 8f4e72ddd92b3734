"""What a table is, as far as that can be told without counting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.errors import warn_of_precision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid


@dataclass(frozen=True)
class Stored:
    """Counts and names of what is stored besides the rows; never a value.

    Attributes
    ----------
    unused : mapping of str to int
        By column, how many values are stored that no row has.
    metadata : tuple of str
        The keys of metadata that are not known to be harmless.
    in_file : bool
        Whether a file holds it, which is published as it is.
    remedy : str
        What takes it away, ready to paste.
    """

    unused: Mapping[str, int] = field(default_factory=dict)
    metadata: tuple[str, ...] = ()
    in_file: bool = False
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class Schema(ABC):
    """The columns of a table and what it carries beside them; read only when it is asked for.

    What is a method may look at cells, or start a job; what is a property does neither.
    """

    frame: Any = field(repr=False)

    @property
    @abstractmethod
    def columns(self) -> Qid:
        """The names of the columns; repeated ones as often as they occur."""

    @property
    def index(self) -> tuple[Name | None, ...]:
        """The names of what is published beside the columns; None for labels without one."""
        return ()

    @property
    def row_labels(self) -> str | None:
        """What rows are labelled by without a name: "row numbers", "unnamed", or nothing."""
        return None

    @property
    def roles(self) -> Roles | None:
        """The roles that the table carries."""
        return None

    @property
    def perturbed(self) -> Mapping[Name, str]:
        """The columns that a random step has changed, and by which."""
        return {}

    @abstractmethod
    def check(self, roles: Mapping[Name, str]) -> None:
        """Reject, without a look at cells, a table or column that cannot be counted."""

    @abstractmethod
    def nested(self) -> Sequence[str]:
        """List the paths inside columns that are structs, as `person.name`."""

    def stored(self) -> Stored:
        """Count the values that columns list although no row has them, as categories do."""
        return Stored()

    @abstractmethod
    def has_rows(self) -> bool:
        """Return whether there is any row, without reading more than one."""

    @abstractmethod
    def scale_of(self, column: Name) -> str | None:
        """Return "floats" or "dates" where a column is of such a type, without a look at cells."""

    @abstractmethod
    def largest_whole(self, column: Name) -> float | None:
        """Return the largest magnitude of floats that are all whole; None if one is not.

        Where nothing is known it is 0; what is infinite is not whole.
        """

    def is_scale(self, column: Name) -> bool:
        """Return whether a column holds fractions or dates, which have distances by themselves.

        Floats that are all whole are integers to us: pandas stores those so where one is missing.
        """
        kind = self.scale_of(column)
        if kind != "floats":
            return kind is not None
        largest = self.largest_whole(column)
        if largest is not None and largest >= 2**53:
            warn_of_precision(
                f"column {column!r} holds whole numbers from 2^53 on as floats, where neighbours "
                "may have been merged before: store them as integers, or as texts"
            )
        return largest is None

    @abstractmethod
    def is_whole(self, column: Name) -> bool:
        """Return whether a column holds whole numbers."""

    @abstractmethod
    def is_text(self, column: Name) -> bool:
        """Return whether a column holds text, or nothing."""
