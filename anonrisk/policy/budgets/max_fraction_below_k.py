"""`max_fraction_below_k`: the share of records in classes smaller than k."""

from __future__ import annotations

from anonrisk.core.frozen import dataclass
from anonrisk.policy.budgets import base
from anonrisk.policy.evidence import as_given, percent


@dataclass(frozen=True, kw_only=True)
class MaxFractionBelowK(base.SizeBudget):
    """At most a share of the records may be in classes smaller than `k`."""

    key = "max_fraction_below_k"
    keys = {"k": base.whole(2), "at_most": base.SHARE}
    what = "The share of records in small classes"
    expectation = base.Expectation(
        "ExpectRecordsInSmallClassesToBeAtMost",
        "Expect few records to be in classes smaller than k.",
        lambda _: (
            "At most $max_fraction_below_k of the records share their combination of $qids with "
            "fewer than $k records, themselves included."
        ),
        "at_risk",
        'qids=["zip"], k=5, max_fraction_below_k=0.01',
    )
    expectation_fields = {
        "k": base.Field("k", "(int): The size from which a class is large enough."),
        "max_fraction_below_k": base.Field(
            "at_most", "(float): The largest share of records in smaller classes.", "share"
        ),
    }

    k: int

    def value(self, seen: base.Seen) -> base.Value:
        """Take the share of records in small classes."""
        return base.Value(seen.sizes.records_below(self.k) / seen.sizes.n_records)

    def in_sql(self) -> str:
        """Take the same of a table in a database."""
        return f"sum(if(n < {self.k}, records, 0D)) / sum(records)"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are in small classes."""
        return (
            f"{percent(value.number, self.limit)} of the {subject.who}s are in classes of "
            f"{subject.columns} smaller than {self.k}; at most {as_given(self.limit)} may be"
        )
