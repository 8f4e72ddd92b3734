"""A table that cannot carry the roles of its columns, held together with them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic

from anonrisk.core import render
from anonrisk.core.column_roles import Roles
from anonrisk.core.columns import FrameT
from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

# Where pandas tables keep declared roles in `attrs`, and a held table in its notes.
ROLES_KEY = "anonrisk"


@dataclass(frozen=True, eq=False, repr=False)
class HeldTable(render.PrintedTable, Generic[FrameT]):
    """A table and what is said of its columns; `anonrisk.table` makes it.

    Every function takes it like the table itself. Where one gives a table, that is held again, with
    the roles, and with the marks of columns that were changed at random.

    Attributes
    ----------
    frame : DataFrame
        The table itself, of the caller's kind, without roles and marks.
    """

    frame: FrameT
    notes: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def _roles(self) -> Roles:
        return Roles.from_dict(self.notes[ROLES_KEY]) if ROLES_KEY in self.notes else Roles()

    def _lines(self) -> list[str]:
        """Name the kind of the table, without a look at it."""
        text = "with the roles of its columns" if self._roles else "without roles"
        return [f"{render.kind_of(self.frame)}, held {text}"]

    def _header(self) -> tuple[str, ...]:
        return "column", "role"

    def _rows(self) -> list[list[str]]:
        roles = self._roles
        return [[render.named(column), roles.of(column) or "-"] for column in roles.columns]

    def _notes(self) -> list[str]:
        return [".anon asks it, .frame is the table itself"]
