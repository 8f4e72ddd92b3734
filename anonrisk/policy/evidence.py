"""What budgets are judged by: the counts of one quasi-identifier, and what is said beside them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import require
from anonrisk.core.frozen import dataclass
from anonrisk.engines import engine_for
from anonrisk.errors import UnsupportedColumnError
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.counts.tally import NUMBERS
from anonrisk.policy.problem import Problem, attempt

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.literals import MissingOrWildcard
    from anonrisk.measures.counts.question import Group
    from anonrisk.planning.attack import PlanAttack
    from anonrisk.planning.plan import Plan


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
