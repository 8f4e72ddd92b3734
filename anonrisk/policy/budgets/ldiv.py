"""`ldiv`: the least diversity of a sensitive column in a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from anonrisk.api.sensitive import diversity_score
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import beside, exact
from anonrisk.errors import PolicyError
from anonrisk.policy import fields
from anonrisk.policy.budgets import base

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Score, Sensitive

# Each variant, as `anonrisk.assess` calls it.
VARIANTS = {"distinct": "ldiv", "entropy": "entropy_ldiv", "recursive": "recursive_ldiv"}
_NUMBER = base.BudgetKey(fields.from_one, {"type": "number", "minimum": 1})


def _says(asked: Mapping[str, Any]) -> str:
    constant = " with c = $c" if asked.get("c") is not None else ""
    return (
        "Every combination of $qids leaves at least $l values of $sensitive in doubt "
        f"($variant l-diversity{constant})."
    )


def _of_variant(variant: str, then: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    source = {"required": ["variant"], "properties": {"variant": {"const": variant}}}
    return {"if": source, "then": then, "else": other}


@dataclass(frozen=True, kw_only=True)
class LDiv(base.SensitiveBudget):
    """l-diversity: every class leaves enough values in doubt; `variant` and `c` as in `ldiv`."""

    key = "ldiv"
    also_called = ("l_diversity", "l")
    keys = {
        "l": _NUMBER,
        "variant": base.word(*VARIANTS, required=False),
        "c": base.BudgetKey(
            fields.above_zero, {"type": "number", "exclusiveMinimum": 0}, required=False
        ),
        "sensitive": base.COLUMNS,
    }
    limit_key = "l"
    bare = True
    annotation = base.or_list("int | dict[str, Any]")
    more_schema = {
        **_of_variant("recursive", {"required": ["c"]}, {"properties": {"c": False}}),
        "allOf": [
            _of_variant(
                "entropy",
                {"properties": {"l": {"type": "number"}}},
                {"properties": {"l": {"type": "integer"}}},
            )
        ],
    }
    what = "l-diversity"
    at_least = True
    shared = ({"l": 1, "variant": "distinct"}, {"l": 1, "variant": "entropy"})
    expectation = base.Expectation(
        "ExpectLDiversityToBeAtLeast",
        "Expect every class to hold enough different values of a sensitive column.",
        _says,
        "ldiv",
        'qids=["zip"], sensitive="illness", l=2, variant="distinct"',
    )
    expectation_fields = {
        "l": base.Field("l", "(int or float): The least diversity of a class; 1 or more."),
        "variant": base.Field(
            "variant", '("distinct", "entropy", "recursive"): Which diversity.', tuple(VARIANTS)
        ),
        "c": base.Field(
            "c", "(float): The constant of the recursive variant, and only of that.", required=False
        ),
    }

    variant: str = "distinct"
    c: float | None = None

    @classmethod
    def read_one(cls, value: Any, where: str) -> Self:
        """Read one limit; only entropy gives a diversity that is no whole number."""
        entropy = isinstance(value, dict) and value.get("variant") == "entropy"
        keys = {**cls.keys, "l": _NUMBER if entropy else base.whole(1)}
        made = cls(**cls.read_keys(value, where, keys))
        if (made.variant == "recursive") != (made.c is not None):
            needed = "needs c" if made.c is None else "is the one that has a c"
            raise PolicyError(
                f"{where}: variant: recursive {needed}; write "
                f"ldiv: {{l: {made.limit:g}, variant: recursive, c: {made.c or 2:g}}}"
            )
        return made

    @classmethod
    def alone(cls, keys: Mapping[str, base.BudgetKey]) -> Mapping[str, Any]:
        """Return the JSON Schema of a bare number: distinct values, which are whole."""
        return base.whole(1).schema

    @classmethod
    def implies(cls, own: Mapping[str, str], other: Mapping[str, str]) -> bool:
        """Return whether it says as much: each variant of l implies l distinct values.

        Fewer than l values have an entropy below log l, and leave the sum of the recursive variant
        empty. Of two recursive ones the smaller c asks for more.
        """
        if own.get("variant") == other.get("variant") == "recursive":
            return float(own["c"]) <= float(other["c"])
        return own == other or other.get("variant") == "distinct"

    def score(
        self,
        engine: Engine,
        frame: Any,
        about: Sensitive,
    ) -> tuple[Sensitive, Score]:
        """Ask for the diversity."""
        return about, diversity_score(self.variant, self.c)

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how diverse the least diverse class is."""
        article = "an" if self.variant == "entropy" else "a"
        return (
            f"The least diverse class of {subject.columns} has {article} {self.variant} "
            f"l-diversity of {beside(value.number, self.limit)} in {subject.sensitive}; "
            f"at least {exact(self.limit)} is required"
        )

    @property
    def worst(self) -> float:
        """One value is the least; r₁ < c (r₁ + …), recursive, may fail up to c = 1."""
        return 1 if self.c is None or self.c > 1 else 0

    @property
    def likely_meaning(self) -> str:
        """Every class has a value."""
        return "l = 1 is one value, and every class has that many; l: 2 is usual"

    def assessed(self) -> dict[str, Any]:
        """Take the diversity of this variant."""
        constant = {} if self.c is None else {"c": self.c}
        return {"measures": VARIANTS[self.variant], **constant}
