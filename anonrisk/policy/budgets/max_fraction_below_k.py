"""`max_fraction_below_k`: the share of records in classes smaller than k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.policy.budgets.base import (
    SHARE,
    Expectation,
    Field,
    SizeBudget,
    Subject,
    Value,
    whole,
)
from anonrisk.policy.messages import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.policy.evidence import Context, Evidence


@dataclass(frozen=True, kw_only=True)
class MaxFractionBelowK(SizeBudget):
    """At most a share of the records may be in classes smaller than `k`."""

    key = "max_fraction_below_k"
    keys = {"k": whole(2), "at_most": SHARE}
    what = "The share of records in small classes"
    expectation = Expectation(
        "ExpectRecordsInSmallClassesToBeAtMost",
        "Expect few records to be in classes smaller than k.",
        lambda _: (
            "At most $max_fraction_below_k of the records share their combination of $qids with "
            "fewer than $k records, themselves included."
        ),
    )
    expectation_fields = {
        "k": Field("k", "(int): The size from which a class is large enough.", sample=2),
        "max_fraction_below_k": Field(
            "at_most", "(float): The largest share of records in smaller classes."
        ),
    }

    k: int

    def value(self, sizes: ClassSizes, evidence: Evidence, context: Context) -> Value:
        """Take the share of records in small classes."""
        return Value(sizes.records_below(self.k) / sizes.n_records)

    def sentence(self, found: Value, of: Subject) -> str:
        """Say how many are in small classes."""
        return (
            f"{percent(found.number)} of the {of.who}s are in classes of {of.columns} smaller "
            f"than {self.k}; at most {percent(self.limit)} may be"
        )

    @classmethod
    def enough_k(cls, limit: float, parameters: Mapping[str, Any]) -> int:
        """Give the size below which a class is small."""
        return int(parameters["k"])
