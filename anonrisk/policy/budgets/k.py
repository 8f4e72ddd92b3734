"""`k`: the least size of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.policy.budgets import base

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.policy.evidence import Context


@dataclass(frozen=True)
class K(base.SizeBudget):
    """k-anonymity: every record shares its quasi-identifiers with enough others."""

    key = "k"
    also_called = ("k_anonymity", "k_anon", "min_k", "class_size", "min_class_size", "min_size")
    keys = {"at_least": base.whole(1)}
    limit_key = "at_least"
    bare = True
    annotation = base.or_list("int | dict[str, Any]")
    is_whole = True
    what = "k-anonymity"
    at_least = True
    expectation = base.Expectation(
        "ExpectKAnonymityToBeAtLeast",
        "Expect every record to share its quasi-identifiers with enough others.",
        lambda _: "At least $k records share every combination of $qids (k-anonymity).",
        "k",
        'qids=["zip"], k=5',
    )
    expectation_fields = {"k": base.Field("at_least", "(int): The least size of a class.")}

    def value(self, seen: base.Seen) -> base.Value:
        """Take the smallest class."""
        return base.Value(seen.sizes.k)

    def in_sql(self) -> str:
        """Take the same of a table in a database."""
        return "min(n)"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how small the smallest class is."""
        return (
            f"The smallest class of {subject.columns} has "
            f"{count_of(int(value.number), subject.who)}; at least {self.limit:,} are required"
        )

    @property
    def likely_meaning(self) -> str:
        """Every class has somebody in it."""
        return "1 is somebody alone, and every class has that many; 5 and 11 are usual"

    def needed_k(self, context: Context) -> int:
        """Return the limit itself."""
        return int(self.limit)

    @classmethod
    def enough_k(cls, limit: float, parameters: Mapping[str, Any]) -> int:
        """Return the limit itself."""
        return int(limit)
