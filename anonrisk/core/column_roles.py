"""Column roles: who is quasi-identifier, sensitive, direct, insensitive, and who is the person."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from anonrisk.core import render
from anonrisk.core.columns import as_name, as_names, require
from anonrisk.core.frozen import dataclass
from anonrisk.core.roles_documents import ROLE_NAMES, InDocuments
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    RoleConflictError,
    RolesDocumentError,
    RolesLostError,
    RolesNotGivenError,
)

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid

RolesT = TypeVar("RolesT", bound="Roles")


@dataclass(frozen=True, repr=False)
class Roles(render.PrintedTable, InDocuments):
    """The roles of a table's columns, and the columns it had when they were declared.

    Attributes
    ----------
    quasi, sensitive, direct, insensitive : tuple of names
        The columns of each role.
    unit : name or None
        The column that says which person a row belongs to.
    columns : tuple of names
        All columns at the time of declaration, so that a rename is noticed later.

    Examples
    --------
    >>> Roles(quasi=("zip",), sensitive=("diagnosis",), columns=("zip", "diagnosis", "note"))
    column      role
    zip         quasi-identifier
    diagnosis   sensitive column
    note        -
    """

    quasi: Qid = ()
    sensitive: Qid = ()
    direct: Qid = ()
    insensitive: Qid = ()
    unit: Name | None = None
    columns: Qid = ()

    def __bool__(self) -> bool:
        """Return whether any role was declared."""
        return bool(self.classified)

    @property
    def classified(self) -> set[Name]:
        """All columns that have a role."""
        unit = () if self.unit is None else (self.unit,)
        return {*self.quasi, *self.sensitive, *self.direct, *self.insensitive, *unit}

    def of(self, column: Name) -> str | None:
        """Return the role of one column, in words; None if it has none."""
        words = [word for role, word in ROLE_NAMES.items() if column in getattr(self, role)]
        if column == self.unit:
            words.append("unit")
        return ", ".join(words) or None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave, also after a round trip through JSON."""
        try:
            return _as_declared(cls(**{name: _restored(value) for name, value in stored.items()}))
        except (AttributeError, RecursionError, TypeError):
            raise RolesLostError(
                "the roles that this table carries cannot be read; declare them again"
            ) from None

    @classmethod
    def _assembled(cls, result: Mapping[str, Sequence[str]], what: str) -> Self:
        named = {role: [name for name in result if role in result[name]] for role in ROLE_NAMES}
        units = [name for name in result if "unit" in result[name]]
        if len(units) > 1:
            raise RolesDocumentError(f"the {what} has two units, {units[0]!r} and {units[1]!r}")
        if not units and not any(named.values()):
            raise RolesNotGivenError(f"the {what} gives no column a role; docs/roles.md shows how")
        try:
            return cls(**vars(declare(list(result), unit=units[0] if units else None, **named)))
        except AnonRiskError as error:
            raise type(error)(f"the {what}: {error}") from None

    def _words(self) -> dict[str, list[str]]:
        names = dict.fromkeys((*self.columns, *sorted(self.classified, key=str)))
        odd = next((name for name in names if not isinstance(name, str)), None)
        if odd is not None:
            raise ArgumentError(f"column {odd!r} is not named by a text, as other tools require")
        return {
            str(name): [
                *(role for role in ROLE_NAMES if name in getattr(self, role)),
                *(["unit"] if name == self.unit else []),
            ]
            for name in names
        }

    def _lines(self) -> list[str]:
        return []

    def _header(self) -> tuple[str, ...]:
        return "column", "role"

    def _rows(self) -> list[list[str]]:
        return [[render.named(column), self.of(column) or "-"] for column in self.columns]


def _restored(value: Any) -> Any:
    # JSON has no tuples, and a pandas label may be one.
    if isinstance(value, list):
        return tuple(_restored(item) for item in value)
    return value


def _as_declared(roles: RolesT) -> RolesT:
    """Reject, as a `TypeError`, what no declaration can have written."""
    hash(roles)  # a dict for a name has none
    if any(not isinstance(getattr(roles, field), tuple) for field in (*ROLE_NAMES, "columns")):
        raise TypeError
    return roles


def declare(columns: Sequence[Name], *, unit: Name | None, **value: Any) -> Roles:
    """Check roles as a caller gave them against a table's columns."""
    named: dict[str, Qid] = {}
    for role, word in ROLE_NAMES.items():
        empty = value[role] is None or (isinstance(value[role], (list, tuple)) and not value[role])
        named[role] = () if empty else as_names(value[role], word, columns)
        require(named[role], word, columns)
    if unit is not None:
        require([as_name(unit, "unit")], "unit", columns)
    _refuse_conflicts(named, unit)
    roles = Roles(**named, unit=unit, columns=tuple(columns))
    if not roles:
        raise RolesNotGivenError(
            "no role given: declare(quasi=[…], sensitive=[…], direct=[…], insensitive=[…], unit=…)"
        )
    return roles


def current(stored: Roles, columns: Sequence[Name], index: Sequence[Name | None] = ()) -> Roles:
    """Bring declared roles to a table as it is now, or refuse where that is in doubt.

    A column present by name keeps its role; one that was simply dropped leaves it; a
    quasi-identifier or unit that is gone while something new has appeared may have been renamed;
    one that is in the index now is still published with the table.
    """
    for name in (*stored.quasi, stored.unit):
        if name is not None and name not in columns and name in index:
            raise RolesLostError(
                f"declared column {name!r} is in the index now, where it is not measured; "
                "bring it back with reset_index()"
            )
    new = new_since_declared(stored, columns, index)
    for role, names in (("quasi-identifier", stored.quasi), ("unit", (stored.unit,))):
        for name in names:
            if name is not None and name not in columns and new:
                raise RolesLostError(f"declared {role} {name!r} is gone and {new}")
    unit_of(stored, columns)
    kept: dict[str, Any] = {
        role: tuple(c for c in getattr(stored, role) if c in columns) for role in ROLE_NAMES
    }
    return replace(stored, **kept, columns=tuple(columns))


def new_since_declared(
    stored: Roles,
    columns: Sequence[Name],
    index: Sequence[Name | None],
    known: Container[Name] = (),
) -> str | None:
    """Return what was not there at the declaration and may be a column that is gone, renamed.

    `known` are columns that somebody has looked at since; None in an index are labels without a
    name, which may have been a column too.
    """
    before = {*stored.columns, None}
    for what, names in (("column", columns), ("index", index)):
        for name in names:
            if name not in before and name not in known:
                return f"{what} {name!r} is new: renamed? Declare the roles again."
    if None in index:
        return (
            "the rows have labels without a name: moved there? Name them and bring them back with "
            "reset_index(), or leave them out with reset_index(drop=True)."
        )
    return None


def renamed_direct(
    stored: Roles,
    columns: Sequence[Name],
    index: Sequence[Name | None],
    known: Container[Name] = (),
) -> str | None:
    """Return why a declared direct identifier that is gone may be there under another name."""
    gone = [name for name in stored.direct if name not in columns and name not in index]
    new = new_since_declared(stored, columns, index, known)
    return f"declared direct identifier {gone[0]!r} is gone and {new}" if gone and new else None


def unit_of(stored: Roles, columns: Sequence[Name]) -> Name | None:
    """Return the declared unit, and refuse a table that has lost it."""
    if stored.unit is not None and stored.unit not in columns:
        raise RolesLostError(
            f"declared unit {stored.unit!r} is gone: without it rows would be counted as persons. "
            "Declare the roles again."
        )
    return stored.unit


def quasi_of(roles: Roles | None) -> Qid:
    """Return the declared quasi-identifiers, or say both ways to give them."""
    if roles is None or not roles.quasi:
        raise RolesNotGivenError(
            "no quasi-identifiers: name them in the call, as in df.anon.k(['zip', 'age']), "
            "or once for the table, as in df = df.anon.declare(quasi=['zip', 'age'])"
        )
    return roles.quasi


def _refuse_conflicts(named: Mapping[str, Qid], unit: Name | None) -> None:
    seen: dict[Name, str] = {}
    for role, names in named.items():
        for name in names:
            if name in seen:
                raise RoleConflictError(
                    f"column {name!r} is declared both {seen[name]} and {ROLE_NAMES[role]}"
                )
            seen[name] = ROLE_NAMES[role]
    # A unit may well be a direct identifier; it can never be what persons are told apart by.
    if unit is not None and seen.get(unit) in (ROLE_NAMES["quasi"], ROLE_NAMES["sensitive"]):
        raise RoleConflictError(f"column {unit!r} is declared both {seen[unit]} and unit")
