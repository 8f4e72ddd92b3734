"""`predicted_singletons`: how many of a future group will be alone in their class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import expectation
from anonrisk.errors import PolicyError
from anonrisk.policy import fields
from anonrisk.policy.budgets import base
from anonrisk.policy.budgets.max_suppressed import MARKED, NOT_LOOKED_FOR, no_prediction
from anonrisk.policy.evidence import SINGLY, as_given, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.policy.evidence import Context, Problem

# The interval of a prediction whose upper end is compared.
LEVEL = 0.95
_LIMITS = {"max_singletons": "at_most", "max_fraction": "at_most_fraction"}


def _says(asked: Mapping[str, Any]) -> str:
    limits = {"max_singletons": "$max_singletons people", "max_fraction": "$max_fraction of them"}
    text = " and ".join(limit for name, limit in limits.items() if asked.get(name) is not None)
    return (
        f"In a group of $group_size people like these, at most {text} are alone with their $qids, "
        "also at the upper end of the 95% interval."
    )


@dataclass(frozen=True, kw_only=True)
class PredictedSingletons(base.SizeBudget):
    """At most so many of a group of `group_size`, or a share of it, may be expected alone."""

    key = "predicted_singletons"
    keys = {
        "group_size": base.whole(1),
        "at_most": base.BudgetKey(
            fields.from_zero, {"type": "number", "minimum": 0}, required=False
        ),
        "at_most_fraction": replace(base.SHARE, required=False),
    }
    more_schema = {"oneOf": [{"required": ["at_most"]}, {"required": ["at_most_fraction"]}]}
    what = "The number of singletons in a group"
    about_removed = True
    expectation = base.Expectation(
        "ExpectPredictedSingletonsToBeAtMost",
        "Expect few people of a future group to be alone with their quasi-identifiers.\n\n"
        "The limit is compared with the upper end of the 95% interval of the prediction.",
        _says,
        "predict_singletons",
        'qids=["zip"], group_size=50, max_singletons=2',
    )
    expectation_fields = {
        "group_size": base.Field("group_size", "(int): The number of people in the group."),
        "max_singletons": base.Field(
            "at_most",
            "(float): The largest number of people who may be alone.",
            required=False,
        ),
        "max_fraction": base.Field(
            "at_most_fraction",
            "(float): The largest share of the group that may be alone.",
            kind="share",
            required=False,
        ),
    }

    group_size: int
    as_fraction: bool = False

    @classmethod
    def read_one(cls, value: Any, where: str) -> Self:
        """Read one limit: a number of persons or a share."""
        result = cls.read_keys(value, where, cls.keys)
        share = result.pop("at_most_fraction", None)
        if (share is None) == ("limit" not in result):
            raise PolicyError(f"{where} needs at_most (persons) or at_most_fraction (a share): one")
        return cls(**{"limit": share, **result}, as_fraction=share is not None)

    def to_dict(self) -> dict[str, Any]:
        """Write the limit under the key that says of what it is."""
        limit = "at_most_fraction" if self.as_fraction else "at_most"
        severity = {} if self.severity == "fail" else {"severity": self.severity}
        return {limit: self.limit, "group_size": self.group_size, **severity}

    def parameters(self) -> dict[str, Any]:
        """Return for which group, and whether the limit is a share of it: half a person is less."""
        share = {"as_fraction": True} if self.as_fraction else {}
        return {"group_size": self.group_size, **share}

    def need(self, context: Context) -> base.Need | None:
        """Count the rows with a marker, where there is one."""
        return None if context.suppressed is None else MARKED

    def value(self, seen: base.Seen) -> base.Value | Problem:
        """Predict, and take the upper end of the interval."""
        gone = no_prediction(seen.evidence, seen.context)
        if gone is not None:
            return gone
        prediction = seen.sizes.predict_singletons(self.group_size)
        _, high = prediction.interval(LEVEL)
        unit = self.group_size if self.as_fraction else 1
        return base.Value(float(high) / unit, float(prediction.mean) / unit)

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are expected, and how many there may be."""
        if self.as_fraction:
            numbers = (percent(value.estimate or 0.0), percent(value.number, self.limit))
            most = as_given(self.limit)
        else:
            numbers = (expectation(value.estimate or 0.0), f"{value.number:,.6g}")
            most = f"{self.limit:,.6g}"
        return (
            f"In a group of {self.group_size:,}, {numbers[0]} are expected to be alone with their "
            f"{subject.columns}, and {numbers[1]} is the upper end of the 95% interval "
            f"({SINGLY}); at most {most} may be"
        )

    @property
    def worst(self) -> float:
        """Everybody of the group."""
        return 1.0 if self.as_fraction else float(self.group_size)

    @property
    def likely_meaning(self) -> str:
        """No more people of a group can be alone than it has."""
        if self.as_fraction:
            return super().likely_meaning
        return (
            f"{self.limit:,.6g} is everybody of a group of {self.group_size:,}; 1% is "
            "at_most_fraction: 0.01"
        )

    @classmethod
    def limits(cls, value: Mapping[str, Any], severity: str) -> dict[str, Any]:
        """Return a limit for each of the two that is given."""
        group = {"group_size": value["group_size"], "severity": severity}
        results = [
            {**group, key: value[name]} for name, key in _LIMITS.items() if value[name] is not None
        ]
        return {cls.key: results} if results else {}

    def expected(self, context: Context) -> dict[str, Any]:
        """Return the group, and the field of the limit."""
        limit = "max_fraction" if self.as_fraction else "max_singletons"
        return {"group_size": self.group_size, limit: self.limit}

    def not_expected(self, context: Context) -> str | None:
        """Return the sentence that an expectation knows no suppressed cells."""
        return None if context.suppressed is None else NOT_LOOKED_FOR
