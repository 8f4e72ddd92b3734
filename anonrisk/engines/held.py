"""Tables that hold another one: with the roles that it cannot carry, or a narwhals frame."""

from __future__ import annotations

import sys
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from anonrisk.core import render
from anonrisk.core.column_roles import Roles
from anonrisk.core.columns import FrameT
from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.schema import Schema

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


def loaded(library: str, kind: str) -> Any:
    """Return a class of a library, for `isinstance`; nothing where that is not imported.

    A file of the user's own may have the name of the library.
    """
    return getattr(sys.modules.get(library), kind, ())


def inside_narwhals(frame: Any) -> Any:
    """Return the table that a narwhals frame holds; None where it is no such frame."""
    kinds = loaded("narwhals", "DataFrame"), loaded("narwhals", "LazyFrame")
    return frame.to_native() if isinstance(frame, kinds) else None


def to_narwhals(like: Any, result: Any) -> Any:
    """Wrap a table by the same version of narwhals; what is none stays as it is."""
    made_by: Any = sys.modules.get(type(like).__module__)
    if not hasattr(made_by, "from_native"):
        made_by = sys.modules["narwhals"]
    return made_by.from_native(result, pass_through=True, allow_series=True)


class NarwhalsEngine:
    """Counts the tables inside narwhals frames that do not speak the Arrow stream, by their own."""

    def __init__(self, engine: Engine) -> None:
        """Keep the engine of the table inside."""
        self._engine = engine
        self.name, self.sets_a_pass = engine.name, engine.sets_a_pass

    def schema(self, frame: Any) -> Schema:
        """Return what the table inside is."""
        return self._engine.schema(inside_narwhals(frame))

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        """Answer like the engine of the table inside."""
        return partial(self._answer, getattr(self._engine, verb))

    @staticmethod
    def _answer(method: Callable[..., Any], frame: Any, *asked: Any) -> Any:
        result = method(inside_narwhals(frame), *map(_with_population_inside, asked))
        if isinstance(result, tuple):
            return tuple(to_narwhals(frame, item) for item in result)
        return to_narwhals(frame, result)


def _with_population_inside(item: Any) -> Any:
    against: Any = getattr(item, "against", None)
    native = inside_narwhals(getattr(against, "population", None))
    return item if native is None else replace(item, against=replace(against, population=native))
