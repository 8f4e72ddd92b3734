"""What an engine must do, and the rules by which two cells are the same.

An engine reduces a table of one library to `ClassSizes`. Its keyed tallies (values of
quasi-identifiers with their counts) never leave it.

The rules of equality, the same on every engine:

- None, NULL, NaN, NaT and pd.NA are one value, "missing". With ``missing="value"`` it forms
  classes like any other; with ``"drop"`` records that miss a quasi-identifier are left out and
  counted; with ``"error"`` they are refused.
- 0.0 equals -0.0. Strings are compared exactly, byte for byte. Instants are compared as instants,
  whatever their zone. Categories that no record has form no class.
- Cells without an equality of their own (lists, maps, structs), and object columns that mix
  types, are refused by the name of their column.
- Index, row order, column order and partitioning change nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from anonrisk.errors import MissingUnitError, MissingValuesError, TooManyGroupsError
from anonrisk.render import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.column_roles import Roles
    from anonrisk.columns import Name, Qid
    from anonrisk.counts import ClassSizes

# More groups than this are not a summary any more.
MAX_GROUPS = 10_000


@dataclass(frozen=True)
class Question:
    """Which classes to count: one or several quasi-identifiers, by record or by person."""

    qids: tuple[Qid, ...]
    unit: Name | None = None
    missing: str = "value"

    @property
    def qid(self) -> Qid:
        """The quasi-identifier of a question about one."""
        (only,) = self.qids
        return only

    @property
    def columns(self) -> Qid:
        """Every quasi-identifying column once, in order of appearance."""
        return tuple(dict.fromkeys(name for qid in self.qids for name in qid))

    def roles(self, *more: Name) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        roles = dict.fromkeys(more, "grouping column")
        roles |= dict.fromkeys(self.columns, "quasi-identifier")
        return roles if self.unit is None else {**roles, self.unit: "unit"}


class Engine(Protocol):
    """One library of tables."""

    name: str

    def columns(self, frame: Any) -> Sequence[Name]:
        """List the names of the table's columns; repeated ones as often as they occur."""

    def check(self, frame: Any, roles: Mapping[Name, str]) -> None:
        """Refuse, from the schema alone, a table or column that cannot be counted."""

    def count(self, frame: Any, question: Question) -> list[ClassSizes]:
        """Count the classes of each quasi-identifier."""

    def count_by(
        self, frame: Any, question: Question, by: Name
    ) -> list[list[tuple[Any, ClassSizes]]]:
        """Count the classes of each quasi-identifier within each group of `by`, in order."""

    def sizes(self, frame: Any, question: Question, name: str) -> Any:
        """Give each record the size of its class, under `name`."""

    def at_risk(self, frame: Any, question: Question, k: int) -> Any:
        """Select the records in classes smaller than k."""

    def read_roles(self, frame: Any) -> Roles | None:
        """Read the roles that the table carries."""

    def write_roles(self, frame: Any, roles: Roles) -> Any:
        """Give a table that carries these roles; the one at hand stays as it is."""


def missing_unit(unit: Name, n_missing: int) -> MissingUnitError:
    """Say how many rows belong to nobody."""
    rows = count_of(n_missing, "row")
    return MissingUnitError(
        f"unit {unit!r} is missing in {rows}; every row must belong to a person"
    )


def missing_values(n_missing: Mapping[Name, int]) -> MissingValuesError:
    """Say which quasi-identifiers miss how many values."""
    counts = ", ".join(f"{name!r} in {count_of(n, 'row')}" for name, n in n_missing.items() if n)
    return MissingValuesError(
        f"quasi-identifiers are missing ({counts}) and missing='error' refuses them"
    )


def check_groups(by: Name, n_groups: int) -> None:
    """Refuse more groups than a summary can hold."""
    if n_groups > MAX_GROUPS:
        raise TooManyGroupsError(
            f"{by!r} has more than {MAX_GROUPS:,} different values, the most that `by` takes"
        )


def in_order(
    groups: Iterable[tuple[Any, ClassSizes | None]],
) -> list[tuple[Any, ClassSizes]]:
    """Order groups by their value, the missing one last; groups without a record are left out."""
    counted = [(label, sizes) for label, sizes in groups if sizes is not None]
    known = [group for group in counted if not pd.isna(group[0])]
    # Values without an order of their own stay as they came.
    with suppress(TypeError):
        known.sort(key=lambda group: group[0])
    return known + [group for group in counted if pd.isna(group[0])]
