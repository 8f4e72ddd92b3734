"""`population_unique_fraction`: the share of the population that is alone in its class."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.policy.budgets import base
from anonrisk.policy.budgets.max_suppressed import MARKED, NOT_LOOKED_FOR, no_prediction
from anonrisk.policy.evidence import SINGLY, Problem, as_given, percent

if TYPE_CHECKING:
    from anonrisk.policy.evidence import Context


@dataclass(frozen=True, kw_only=True)
class PopulationUniqueFraction(base.SizeBudget):
    """At most a share of the population that the table is a sample of may be unique."""

    key = "population_unique_fraction"
    keys = {"population_size": base.whole(1), "at_most": base.SHARE}
    what = "The share of people who are unique in the population"
    about_removed = True
    takes_by = False
    expectation = base.Expectation(
        "ExpectPopulationUniquenessToBeAtMost",
        "Expect few people of the population to be alone with their quasi-identifiers.\n\n"
        "The limit is compared with the upper end of the interval of the estimate.",
        lambda _: (
            "At most $max_fraction of a population of $population_size are alone with their "
            "$qids, also at the upper end of what can be said."
        ),
        "predict_population",
        'qids=["zip"], population_size=10_000, max_fraction=0.05',
    )
    expectation_fields = {
        "population_size": base.Field(
            "population_size", "(int): The number of people that the table is a sample of."
        ),
        "max_fraction": base.Field(
            "at_most", "(float): The largest share of the population that may be unique.", "share"
        ),
    }

    population_size: int

    def need(self, context: Context) -> base.Need | None:
        """Count the rows with a marker, where there is one."""
        return None if context.suppressed is None else MARKED

    def value(self, seen: base.Seen) -> base.Value | Problem:
        """Take the bounds that need no model: the lower one is the least that can be true."""
        gone = no_prediction(seen.evidence, seen.context)
        if gone is not None:
            return gone
        with warnings.catch_warnings():
            # What would be warned of is a finding here.
            warnings.simplefilter("ignore")
            estimated = seen.sizes.predict_population(self.population_size)
        if estimated.widened > 1:
            return Problem(
                "the class sizes are not those of a simple random sample of the population, so "
                "that its bounds do not hold"
            )
        bounds = estimated.unique_fraction
        return base.Value(float(bounds.high), float(bounds.low))

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return between which shares are alone."""
        return (
            f"Of {self.population_size:,} people, from {percent(value.estimate or 0.0)} to "
            f"{percent(value.number, self.limit)} are alone with their {subject.columns} "
            f"({SINGLY}); at most {as_given(self.limit)} may be"
        )

    def not_expected(self, context: Context) -> str | None:
        """Return the sentence that an expectation knows no suppressed cells."""
        return None if context.suppressed is None else NOT_LOOKED_FOR
