"""`max_unique_records`: the number of records that are alone in their class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import count_of
from anonrisk.policy.budgets.base import Field, SizeBudget, Subject, Value, or_list, whole
from anonrisk.policy.budgets.max_unique_fraction import UNIQUENESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.policy.evidence import Context, Evidence


@dataclass(frozen=True)
class MaxUniqueRecords(SizeBudget):
    """At most so many records may be singletons."""

    key = "max_unique_records"
    keys = {"at_most": whole(0)}
    bare = True
    annotation = or_list("int | dict[str, Any]")
    what = "The number of singletons"
    expectation = UNIQUENESS
    expectation_fields = {
        "max_unique_records": Field(
            "at_most",
            "(int): The largest number of records that may be singletons.",
            is_limit=True,
            required=False,
        )
    }

    def value(self, sizes: ClassSizes, evidence: Evidence, context: Context) -> Value:
        """Count the singletons."""
        return Value(sizes.records_at_most(1))

    def sentence(self, found: Value, of: Subject) -> str:
        """Say how many are alone."""
        are = "is" if found.number == 1 else "are"
        return (
            f"{count_of(int(found.number), of.who)} {are} alone with their {of.columns}; "
            f"at most {self.limit:,} may be"
        )

    @classmethod
    def enough_k(cls, limit: float, parameters: Mapping[str, Any]) -> int:
        """Give two: nobody is alone in a class of two."""
        return 2
