"""`linked`: the least number of persons whom the join of two tables leaves alike."""

from __future__ import annotations

from anonrisk.core.frozen import dataclass
from anonrisk.policy.budgets import base


@dataclass(frozen=True)
class LinkedBudget(base.ReleaseBudget):
    """Whoever joins tables along a link finds enough persons with every combination."""

    key = "linked"
    keys = {"k": base.whole(1)}
    limit_key = "k"
    bare = True
    annotation = base.or_list("int | dict[str, Any]")
    what = "The number of persons who remain alike when tables are joined"
    at_least = True
    lacks = "one table is joined with nothing: Release.check judges it, with the links of a release"

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how few are left in the join."""
        return (
            f"The fewest persons with one combination of {subject.columns}, where the tables are "
            f"joined, are {int(value.number):,}; at least {self.limit:,} are required"
        )

    @property
    def likely_meaning(self) -> str:
        """Every combination of a join is somebody's."""
        return "1 is somebody alone, and every combination has that many; 5 and 11 are usual"
