"""`max_records_below_k`: the number of records in classes smaller than k."""

from __future__ import annotations

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.policy.budgets import base


@dataclass(frozen=True, kw_only=True)
class MaxRecordsBelowK(base.SizeBudget):
    """At most so many records, however large the table, may be in classes smaller than `k`."""

    key = "max_records_below_k"
    keys = {"k": base.whole(2), "at_most": base.whole(0)}
    is_whole = True
    what = "The number of records in small classes"
    expectation = base.Expectation(
        "ExpectNumberOfRecordsInSmallClassesToBeAtMost",
        "Expect at most so many records to be in classes smaller than k.",
        lambda _: (
            "At most $max_records_below_k records share their combination of $qids with fewer than "
            "$k records, themselves included."
        ),
        "at_risk",
        'qids=["zip"], k=5, max_records_below_k=10',
    )
    expectation_fields = {
        "k": base.Field("k", "(int): The size from which a class is large enough."),
        "max_records_below_k": base.Field(
            "at_most", "(int): The largest number of records in smaller classes."
        ),
    }

    k: int

    def value(self, seen: base.Seen) -> base.Value:
        """Count the records in small classes; with a unit, persons."""
        return base.Value(seen.sizes.records_below(self.k))

    def in_sql(self) -> str:
        """Take the same of a table in a database."""
        return f"sum(if(n < {self.k}, records, 0D))"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are in small classes."""
        are = "is" if value.number == 1 else "are"
        return (
            f"{count_of(int(value.number), subject.who)} {are} in classes of {subject.columns} "
            f"smaller than {self.k}; at most {self.limit:,} may be"
        )
