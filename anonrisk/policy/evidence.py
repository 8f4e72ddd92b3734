"""What budgets are judged by: counts, what went wrong with them, and the words for both."""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from anonrisk.core import render
from anonrisk.core.columns import require
from anonrisk.core.frozen import dataclass
from anonrisk.engines import engine_for
from anonrisk.errors import (
    AnonRiskError,
    EngineError,
    MissingSensitiveError,
    UnsupportedColumnError,
)
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.counts.tally import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import MissingOrWildcard
    from anonrisk.measures.counts.question import Group
    from anonrisk.planning.attack import PlanAttack
    from anonrisk.planning.plan import Plan

# What a prediction from a sample rests on.
SINGLY = "if persons were drawn singly"
_WORDS_OF_YAML = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])


def label(group: Any) -> str:
    """Write the value of a `by` column; naming the column was asking for it."""
    try:
        # The missing value of pandas comes first: compared, it is neither true nor false.
        missing = group is None or type(group).__name__ == "NAType" or group != group  # noqa: PLR0124
        return "(missing)" if missing else str(group)
    # Objects may raise whatever they like, and what they say is not what was asked for.
    except Exception:  # noqa: BLE001
        return f"({render.kind_name(group)})"


def percent(share: float, limit: float | None = None) -> str:
    """Write a share as results do; with all its digits where its limit, just missed, looks kept.

    Examples
    --------
    >>> percent(1 / 3), percent(1 / 3, 0.01), percent(0.01001, 0.01)
    ('33.3%', '33.3%', '1.001%')
    """
    written = render.percent(share)
    alike = limit is not None and share != limit and written == render.percent(limit)
    return as_given(share) if alike else written


def as_given(limit: float) -> str:
    """Write the limit on a share as a policy has it.

    Examples
    --------
    >>> as_given(0.01), as_given(0.00025)
    ('1%', '0.025%')
    """
    return f"{100 * limit:.6g}%"


def in_short(number: float | None) -> str:
    """Write a number for a table, of four digits; a dash where there is none.

    Examples
    --------
    >>> in_short(1_000), in_short(1 / 3), in_short(None)
    ('1,000', '0.3333', '-')
    """
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


def inside(group: str | None) -> str:
    """Begin a sentence about one group."""
    return "" if group is None else f"In {render.visible(group)}: "


def pasted(name: Name) -> str:
    """Write a name so that it can be pasted into a list of YAML or JSON.

    Examples
    --------
    >>> pasted("zip"), pasted("no"), pasted("first name"), pasted(7)
    ('zip', '"no"', '"first name"', '7')
    """
    text = str(name)
    plain = text.isidentifier() and text.isascii() and text.casefold() not in _WORDS_OF_YAML
    return text if plain else json.dumps(text) if isinstance(name, str) else text


K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """Why something could not be measured, in words that hold no cell of the table."""

    message: str
    # Whether asking once more, for less, is of no use.
    final: bool = False


def attempt(call: Callable[[], T]) -> T | Problem:
    """Do something with a table; whatever goes wrong is a problem to tell, not an error."""
    try:
        return call()
    except AnonRiskError as error:
        return Problem(str(error), isinstance(error, (EngineError, MissingSensitiveError)))
    except Exception as error:  # noqa: BLE001
        return Problem(
            f"it failed unexpectedly ({type(error).__name__}); the message is withheld because it "
            "may quote a cell",
            final=True,
        )


def apart(together: Problem, alone: dict[K, T | Problem]) -> dict[K, T | Problem]:
    """Return what each came to by itself, after they failed together.

    Where none fails by itself, the fault has passed, and nobody can tell what else it did.
    """
    failed = any(isinstance(item, Problem) for item in alone.values())
    return alone if failed else dict.fromkeys(alone, together)


OTHER_TABLE = (
    "the plan makes a table with other classes, or other sensitive values in them: check what "
    "apply(original, plan) returns"
)


@dataclass(frozen=True)
class Origin:
    """How a table was made: by a plan, from the table that the plan was made for."""

    plan: Plan
    original: Any
    released: Any
    _attacks: dict[Name, PlanAttack | Problem] = field(default_factory=dict, compare=False)

    def attack(self, column: Name) -> PlanAttack | Problem:
        """Measure what is learned of a sensitive column, once for all budgets."""
        if column not in self._attacks:
            self._attacks[column] = attempt(lambda: self._attacked(column))
        return self._attacks[column]

    def _attacked(self, column: Name) -> PlanAttack | Problem:
        """Measure it, unless the plan makes another table."""
        from anonrisk.api.apply import apply

        names = (*self.plan.qids, column)
        require(names, "the original's", engine_for(self.original).schema(self.original).columns)
        if _cells(self.released, names) != _cells(apply(self.original, self.plan), names):
            return Problem(OTHER_TABLE)
        return self.plan.attack(self.original, sensitive=[column])


def _cells(frame: Any, names: Qid) -> dict[tuple[Any, ...], int]:
    """Count the rows of each combination of cells, which are equal on all engines."""
    tally = engine_for(frame).tally(frame, ClassesWithValues(names))
    columns = []
    for name, domain in tally.domains.items():
        values = domain.values.tolist()
        if domain.kind == "other" or len({*values}) < len(values):
            raise UnsupportedColumnError(
                f"values of column {name!r} cannot be compared with those that the plan makes: "
                "write them as text"
            )
        # A missing cell makes floats of whole numbers.
        kind = "number" if domain.kind in NUMBERS else domain.kind
        known = [*((kind, value) for value in values), None]
        columns.append([known[code] for code in tally.codes[name].tolist()])
    return dict(zip(zip(*columns, strict=True), tally.counts.tolist(), strict=True))


@dataclass(frozen=True)
class Context:
    """What a policy, its table and the caller say that no count tells, as plain values.

    Attributes
    ----------
    sensitive : tuple of names
        The sensitive columns, where a budget names none itself.
    unit, weight, by : name or None
        The columns of these roles.
    missing : {"value", "drop", "error", "wildcard"}
        What a missing quasi-identifier means.
    suppressed : str or None
        The text that stands in a suppressed cell.
    sampling_fraction : float or None
        The share of the population that was drawn into the table.
    population_size : int or None
        The number of people in it.
    unsuppressed : bool
        Whether no record was removed after the draw.
    dropped_are_removed : bool
        Whether rows left out are removed before publication.
    n_original : int or None
        Number of rows before records were removed.
    population : DataFrame or None
        Whom the journalist and the marketer look among.
    origin : Origin or None
        How the table was made.
    """

    sensitive: Qid = ()
    unit: Name | None = None
    weight: Name | None = None
    by: Name | None = None
    missing: MissingOrWildcard = "value"
    suppressed: str | None = None
    sampling_fraction: float | None = None
    population_size: int | None = None
    unsuppressed: bool = False
    dropped_are_removed: bool = False
    n_original: int | None = None
    population: Any = None
    origin: Origin | None = None


@dataclass
class Evidence:
    """All that the budgets of one quasi-identifier need to know."""

    groups: list[Group] | Problem | None = None
    worst: dict[tuple[Name, str], float | Problem] = field(default_factory=dict)
    # What a budget has measured in a pass of its own, by the name it gave it.
    apart: dict[str, Any] = field(default_factory=dict)
    # With missing_sensitive: drop, the rows that are left for each sensitive column.
    n_scored: dict[Name, int] = field(default_factory=dict)
    # Of a sample of the classes, by budget: a `Value` with the upper end of what it measures as its
    # number, and the lower end.
    estimates: dict[Any, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The rows that were measured."""
        groups = self.groups if isinstance(self.groups, list) else []
        return sum(group.sizes.n_rows for group in groups if group.sizes is not None)

    @property
    def n_dropped(self) -> int:
        """The rows that were left out for a missing quasi-identifier."""
        groups = self.groups if isinstance(self.groups, list) else []
        return sum(group.n_dropped for group in groups)
