"""`tcloseness`: the largest distance of a class from the table in a sensitive column."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

from anonrisk.api.sensitive import with_distance
from anonrisk.core.frozen import dataclass
from anonrisk.core.hierarchy import Hierarchy, text_of
from anonrisk.core.render import beside, exact
from anonrisk.errors import HierarchyError, PolicyError
from anonrisk.measures.counts.question import Score
from anonrisk.policy import fields
from anonrisk.policy.budgets import base

if TYPE_CHECKING:
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Sensitive

DISTANCES = ("equal", "ordered", "hierarchical")


def _order(argument: Any, where: str) -> tuple[Any, ...]:
    values = fields.listed(argument, where)
    if not all(isinstance(value, (str, int, float)) for value in values):
        raise PolicyError(f"{where} lists texts or numbers, from the smallest to the largest")
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise PolicyError(f"{where} lists a value that is not a number")
    if len(set(values)) < len(values):
        raise PolicyError(f"{where} names a value twice")
    return tuple(values)


def _hierarchies(value: Any, where: str) -> Any:
    # A path would make the policy's digest say nothing of the tree.
    if not isinstance(value, (dict, list)):
        raise PolicyError(f"{where} is a nested mapping or a list of rows, written out")
    try:
        Hierarchy.of(value)
    except HierarchyError as error:
        # By column it is a dict of trees; which of the two is known when there is a table.
        if not _all_trees(value):
            raise PolicyError(f"{where}: {error}") from None
    return _as_text(value)


def _all_trees(value: dict[str, Any] | list[Any]) -> bool:
    if not isinstance(value, dict) or not value:
        return False
    try:
        return all(map(Hierarchy.of, value.values()))
    except HierarchyError:
        return False


def _as_text(tree: Any) -> Any:
    """Return a tree as JSON can hold it; its labels are compared as texts anyway."""
    if isinstance(tree, dict):
        return {text_of(label): _as_text(below) for label, below in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_as_text(label) for label in tree]
    return None if tree is None else text_of(tree)


def _of_distance(distance: str, **more: Any) -> dict[str, Any]:
    return {"if": {"properties": {"distance": {"const": distance}}}, **more}


@dataclass(frozen=True, kw_only=True)
class TCloseness(base.SensitiveBudget):
    """t-closeness; `distance` (always named), `order` and `hierarchies` as in `tcloseness`."""

    key = "tcloseness"
    also_called = ("t_closeness", "t")
    keys = {
        "t": base.SHARE,
        "distance": base.word(*DISTANCES),
        "order": base.BudgetKey(
            _order,
            {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": ["string", "number", "boolean"]},
            },
            required=False,
        ),
        "hierarchies": base.BudgetKey(
            _hierarchies,
            {"type": ["object", "array"], "minProperties": 1, "minItems": 1},
            required=False,
        ),
        "sensitive": base.COLUMNS,
    }
    limit_key = "t"
    example = "0.2"
    more_schema = {
        "allOf": [
            _of_distance("ordered", **{"else": {"properties": {"order": False}}}),
            _of_distance(
                "hierarchical",
                then={"required": ["hierarchies"]},
                **{"else": {"properties": {"hierarchies": False}}},
            ),
        ]
    }
    what = "t-closeness"
    unsaid = ("order", "hierarchies")
    shared = ({"t": 1, "distance": "equal"},)
    expectation = base.Expectation(
        "ExpectTClosenessToBeAtMost",
        "Expect the sensitive values of every class to be close to those of the table.",
        lambda _: (
            "The values of $sensitive under every combination of $qids are at most $t away from "
            "those of the whole table ($distance t-closeness)."
        ),
        "tcloseness",
        'qids=["zip"], sensitive="illness", t=0.2, distance="equal"',
    )
    expectation_fields = {
        "t": base.Field(
            "t", "(float): The largest distance of a class from the table, from 0 to 1."
        ),
        "distance": base.Field(
            "distance",
            '("equal", "ordered", "hierarchical"): Which distance; never chosen by itself.',
            DISTANCES,
        ),
        "order": base.Field(
            "order",
            "(list): Values of the sensitive column from the smallest to the largest, where they "
            "have no order of their own. They are stored in the suite.",
            "list",
            required=False,
        ),
        "hierarchies": base.Field(
            "hierarchies",
            "(dict or list): A tree of the values, or one per column; stored in the suite.",
            "tree",
            required=False,
        ),
    }

    distance: str
    order: tuple[Any, ...] | None = None
    hierarchies: Any = None

    @classmethod
    def read_one(cls, value: Any, where: str) -> Self:
        """Read one limit; which distance is meant is never left to the table."""
        if isinstance(value, dict) and value.get("distance") == "auto":
            raise PolicyError(
                f"{where}.distance must be named in a policy: {', '.join(DISTANCES)}, not 'auto'"
            )
        made = super().read_one(value, where)
        if made.order is not None and made.distance != "ordered":
            raise PolicyError(f"{where}.order has no effect with distance {made.distance!r}")
        if (made.hierarchies is not None) != (made.distance == "hierarchical"):
            raise PolicyError(
                f"{where}: distance 'hierarchical' and hierarchies belong together: give both"
            )
        return made

    def score(self, engine: Engine, frame: Any, about: Sensitive) -> tuple[Sensitive, Score]:
        """Ask for the distance; an order or a tree comes with the column."""
        ordered, distance = with_distance(
            engine, frame, about, self.distance, order=self.order, hierarchies=self.hierarchies
        )
        return ordered, Score(distance)

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how far the worst class is away."""
        return (
            f"The worst class of {subject.columns} is {beside(value.number, self.limit)} away from "
            f"the table in {subject.sensitive} ({self.distance} distance); "
            f"at most {exact(self.limit)} is allowed"
        )

    @property
    def likely_meaning(self) -> str:
        """No distance is larger."""
        return "t = 1 is the largest distance there is; 0.2 is usual"

    def assessed(self) -> dict[str, Any]:
        """Take the same distance."""
        order = None if self.order is None else list(self.order)
        how = {"distance": self.distance, "order": order, "hierarchies": self.hierarchies}
        return {"measures": "tcloseness", **how}

    @property
    def needs_numbers(self) -> bool:
        """Whether the values are ordered by themselves."""
        return self.distance == "ordered" and self.order is None
