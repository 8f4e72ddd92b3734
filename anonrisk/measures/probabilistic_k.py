"""What `probabilistic_k` and `is_quasi_identifier` give: statements about a population."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.measures.probabilistic import (
    chernoff_k,
    guaranteed_k,
    least_domain,
    max_singleton_share,
    probability_below,
)

if TYPE_CHECKING:
    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts


@dataclass(frozen=True, repr=False)
class ProbabilisticK(Document, render.PrintedTable):
    """The k that each value has in the population with probability 1 − β, one value at a time.

    Attributes
    ----------
    sizes : ClassCounts
        The table's classes.
    domain : int
        Number of values that are possible.
    domain_given : bool
        Whether the caller gave all of it; otherwise it comes from the values that the table shows.
    population_size : int
        Size of the population.
    beta : float
        The probability of fewer than k that is accepted, for each value.
    """

    sizes: ClassCounts
    domain: int
    domain_given: bool
    population_size: int
    beta: float
    _document = (
        *("qid", "population_size", "beta", "domain", "domain_given", "k", "failing"),
        *("even_k", "even_failing", "chernoff"),
    )

    @property
    def qid(self) -> Qid:
        """The columns."""
        return self.sizes.qid

    @property
    def k(self) -> int:
        """From the table's own distribution: what its rarest value has, at most `even_k`."""
        # Of D values the rarest has a share of 1/D at most, seen in this table or not.
        rarest = min(self.sizes.k / self.sizes.n_memberships, 1 / self.domain)
        return guaranteed_k(self.population_size, rarest, self.beta)

    @property
    def failing(self) -> float:
        """Expected number of the table's values that have fewer than `k` people."""
        return self.values_below(self.k)

    @property
    def even_k(self) -> int:
        """From their number alone: all of the domain equally likely, as the paper assumes."""
        return guaranteed_k(self.population_size, 1 / self.domain, self.beta)

    @property
    def even_failing(self) -> float:
        """Expected number of values of an even domain that have fewer than `even_k` people."""
        return self.domain * probability_below(self.even_k, self.population_size, 1 / self.domain)

    @property
    def chernoff(self) -> int:
        """The even case by Chernoff's bound; never above `even_k`."""
        return chernoff_k(self.population_size, self.domain, self.beta)

    def values_below(self, k: int) -> float:
        """Return the expected number of the table's values with fewer than `k` people."""
        n = self.sizes.n_memberships
        pairs = zip(self.sizes.sizes.tolist(), self.sizes.classes.tolist(), strict=True)
        below: float = sum(
            number * probability_below(k, self.population_size, size / n) for size, number in pairs
        )
        return below

    def _lines(self) -> list[str]:
        source = "given" if self.domain_given else "from the values that this table shows"
        return [
            (
                f"{render.joined(self.sizes.qid)} in a population of {self.population_size:,}, "
                f"with probability {1 - self.beta:.4g} for each value by itself"
            ),
            f"{self.domain:,} values are possible ({source})",
        ]

    def _rows(self) -> list[list[str]]:
        return [
            [
                "shares as those of the table",
                f"{self.k:,}",
                f"{render.expectation(self.failing)} of {self.sizes.n_classes:,}",
            ],
            [
                "all values equally likely",
                f"{self.even_k:,}",
                f"{render.expectation(self.even_failing)} of {self.domain:,}",
            ],
            ["the same, by Chernoff", f"{self.chernoff:,}", ""],
        ]

    def _header(self) -> tuple[str, ...]:
        return "assumption", "k", "values expected below k"


EXCLUDED, POSSIBLE, MEASURED = "excluded in expectation", "possible", "measured"


@dataclass(frozen=True, repr=False)
class QidAnswer(Document, render.PrintedLines):
    """Whether some columns are a quasi-identifier: excluded in expectation, possible or measured.

    Attributes
    ----------
    qid : tuple of names
        The columns.
    alpha : float
        The share that is asked about.
    population_size : int
        Size of the population.
    domain : int
        Number of values that are possible.
    domain_given : bool
        Whether the caller gave all of it. Only then can anything be excluded.
    share : float
        Share of the table's records that are singletons.
    """

    qid: Qid
    alpha: float
    population_size: int
    domain: int
    domain_given: bool
    share: float
    _document = (
        *("qid", "alpha", "population_size", "domain", "domain_given", "share", "bound"),
        *("excluded", "answer"),
    )

    @property
    def bound(self) -> float:
        """The largest expected share of the population that is unique, over all distributions."""
        return max_singleton_share(self.population_size, self.domain)

    @property
    def least_domain(self) -> float:
        """The number of possible values from which on the share may be exceeded."""
        return least_domain(self.population_size, self.alpha)

    @property
    def excluded(self) -> bool:
        """Whether no distribution over the given domain exceeds the share, in expectation."""
        return self.domain_given and self.bound <= self.alpha

    @property
    def answer(self) -> str:
        """What is known: a fact about this table comes before a bound on an expectation."""
        if self.share > self.alpha:
            return MEASURED
        return EXCLUDED if self.excluded else POSSIBLE

    def _lines(self) -> list[str]:
        if self.domain_given:
            domain = f"by the {self.domain:,} possible values that were given"
        else:
            domain = f"if the {self.domain:,} values seen here were all, which nobody has said"
        qid = render.joined(self.qid)
        return [
            f"{qid}: {self.answer} (alpha {render.percent(self.alpha)})",
            f"{render.percent(self.share)} of this table's records are singletons",
            (
                f"in a population of {self.population_size:,} at most "
                f"{render.percent(self.bound)} are unique in expectation, {domain}"
            ),
        ]
