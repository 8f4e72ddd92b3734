"""Which tables of a release are joined, and along which columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import as_names
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import joined as listed
from anonrisk.errors import ArgumentError, PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Names, Qid


@dataclass(frozen=True, init=False)
class Link:
    """Which tables an attacker joins, and along which columns.

    Parameters
    ----------
    tables : names
        Two tables or more.
    on : name, names, or mapping of table to them, optional
        The columns along which they are joined; a mapping where tables call them differently. Left
        out, the quasi-identifiers that all of them have.

    Examples
    --------
    >>> Link(["patients", "visits"], {"patients": "id", "visits": "patient"}).to_dict()
    {'tables': ['patients', 'visits'], 'on': {'patients': ['id'], 'visits': ['patient']}}
    """

    tables: tuple[str, ...]
    on: Qid | dict[str, Qid] | None

    def __init__(
        self, tables: Sequence[str], on: Names | Mapping[str, Names] | None = None
    ) -> None:
        """Check that it joins something."""
        named = tuple(tables) if isinstance(tables, (list, tuple)) else ()
        texts = all(isinstance(item, str) for item in named)
        if not texts or len({*named}) < max(len(named), 2):
            raise PolicyError("a link joins two tables or more, each named once")
        columns: Qid | dict[str, Qid] | None = None
        if isinstance(on, dict):
            if {*on} != {*named}:
                raise PolicyError(f"a link says for each of {listed(named)} which columns join it")
            columns = {table: columns_of(on[table]) for table in named}
            if len({len(each) for each in columns.values()}) > 1:
                raise PolicyError("a link joins tables by as many columns of each")
        elif on is not None:
            columns = columns_of(on)
        object.__setattr__(self, "tables", named)
        object.__setattr__(self, "on", columns)

    def columns(self, qids: Mapping[str, Qid]) -> dict[str, Qid]:
        """Return the columns of each table that join it; those left out are what all share."""
        if isinstance(self.on, dict):
            return self.on
        if self.on is not None:
            return dict.fromkeys(self.tables, self.on)
        first, *others = (qids[table] for table in self.tables)
        shared = tuple(name for name in first if all(name in other for other in others))
        if not shared:
            raise ArgumentError(
                f"tables {listed(self.tables)} share no quasi-identifier: say in the link along "
                "which columns they are joined (on:)"
            )
        return dict.fromkeys(self.tables, shared)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        if self.on is None:
            return {"tables": list(self.tables)}
        if isinstance(self.on, dict):
            on: Any = {table: list(names) for table, names in self.on.items()}
        else:
            on = list(self.on)
        return {"tables": list(self.tables), "on": on}


def columns_of(value: Any, role: str = "column of a link") -> Qid:
    """Read the columns of a link, or of a table of it."""
    try:
        return as_names(value, role)
    except ArgumentError as error:
        raise PolicyError(str(error)) from None
