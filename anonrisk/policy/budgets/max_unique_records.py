"""`max_unique_records`: the number of records that are alone in their class."""

from __future__ import annotations

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.policy.budgets import base
from anonrisk.policy.budgets.max_unique_fraction import UNIQUENESS


@dataclass(frozen=True)
class MaxUniqueRecords(base.SizeBudget):
    """At most so many records may be singletons."""

    key = "max_unique_records"
    also_called = ("max_singletons", "singletons", "max_uniques", "unique_records", "uniques")
    keys = {"at_most": base.whole(0)}
    bare = True
    annotation = base.or_list("int | dict[str, Any]")
    is_whole = True
    what = "The number of singletons"
    about_singletons = True
    expectation = UNIQUENESS
    expectation_fields = {
        "max_unique_records": base.Field(
            "at_most",
            "(int): The largest number of records that may be singletons.",
            required=False,
        )
    }

    def value(self, seen: base.Seen) -> base.Value:
        """Count the singletons."""
        return base.Value(seen.sizes.records_at_most(1))

    def in_sql(self) -> str:
        """Take the same of a table in a database."""
        return "sum(if(n = 1, records, 0D))"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are alone."""
        are = "is" if value.number == 1 else "are"
        return (
            f"{count_of(int(value.number), subject.who)} {are} alone with their {subject.columns}; "
            f"at most {self.limit:,} may be"
        )
