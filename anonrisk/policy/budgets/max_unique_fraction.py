"""`max_unique_fraction`: the share of records that are alone in their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.policy.budgets import base
from anonrisk.policy.evidence import as_given, percent

if TYPE_CHECKING:
    from collections.abc import Mapping


def _says(asked: Mapping[str, Any]) -> str:
    limits = {
        "max_unique_fraction": "$max_unique_fraction of the records",
        "max_unique_records": "$max_unique_records records",
    }
    text = " and ".join(limit for name, limit in limits.items() if name in asked)
    return f"At most {text} are alone with their $qids."


# `max_unique_records` is asked by it too.
UNIQUENESS = base.Expectation(
    "ExpectQidUniquenessToBeAtMost",
    "Expect few records to be alone with their quasi-identifiers.",
    _says,
    "uniqueness",
    'qids=["zip"], max_unique_fraction=0.05',
)


@dataclass(frozen=True)
class MaxUniqueFraction(base.SizeBudget):
    """At most a share of the records may be singletons."""

    key = "max_unique_fraction"
    also_called = ("uniqueness", "max_uniqueness", "unique_fraction", "sample_uniques")
    keys = {"at_most": base.SHARE}
    bare = True
    annotation = base.or_list("float | dict[str, Any]")
    what = "The share of singletons"
    about_singletons = True
    expectation = UNIQUENESS
    expectation_fields = {
        "max_unique_fraction": base.Field(
            "at_most",
            "(float): The largest share of records that may be singletons.",
            kind="share",
            required=False,
        )
    }

    def value(self, seen: base.Seen) -> base.Value:
        """Take the share of singletons."""
        return base.Value(seen.sizes.uniqueness)

    def in_sql(self) -> str:
        """Take the same of a table in a database."""
        return "sum(if(n = 1, records, 0D)) / sum(records)"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are alone."""
        return (
            f"{percent(value.number, self.limit)} of the {subject.who}s are alone with their "
            f"{subject.columns}; at most {as_given(self.limit)} may be"
        )
