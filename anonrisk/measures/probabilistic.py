"""What the number of possible values says about a population: Lodha & Thomas, corrected.

Functions of numbers only; usable before any table exists. The formulas are Q1 to Q3 of Lodha &
Thomas, "Probabilistic Anonymity", in their exact form. D is the number of values that *can* occur,
not of those that a table happens to have.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, prod, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.arguments import as_percent, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts


def share_between(value: Any, what: str) -> float:
    """Read a share strictly between 0 and 1.

    Examples
    --------
    >>> share_between(0.2, "alpha")
    0.2
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    share = float(value) if number else 0.0
    if not 0 < share < 1:
        raise ArgumentError(
            f"{what} must be a share between 0 and 1, both excluded{as_percent(value)}"
        )
    return share


def domain_size(sizes: Iterable[int]) -> int:
    """Multiply the numbers of values of some columns: as many combinations are possible.

    Examples
    --------
    >>> domain_size([2, 60 * 365, 100_000])
    4380000000
    """
    return prod(
        whole_number(size, "the number of values of a column", at_least=1) for size in sizes
    )


def max_singleton_share(n_records: int, n_values: float) -> float:
    """Bound the expected share of singletons, whatever the distribution over the values.

    Parameters
    ----------
    n_records : int
        Size of the table or population, drawn from any distribution over the values.
    n_values : int
        Number of values that are possible.

    Returns
    -------
    float

    Notes
    -----
    Q1: (1 − 1/D)^(n−1) for D ≥ n, which the uniform law reaches; at most (D/n)(1 − 1/n)^(n−1) for
    D ≤ n. The paper's e^(−n/D) and D/(en) are the limits of these. It bounds an expectation over a
    domain. With the number of values that a table happens to show, it bounds nothing.

    Examples
    --------
    >>> round(max_singleton_share(300_000_000, 4_000_000_000), 2)
    0.93
    >>> round(max_singleton_share(6_000_000_000, 400_000_000), 3)
    0.025
    """
    n = whole_number(n_records, "the number of records", at_least=1)
    values = positive(n_values, "the number of values")
    if n == 1:
        return 1.0
    if values <= 1:
        return 0.0
    if values >= n:
        return exp((n - 1) * log1p(-1 / values))
    return values / n * exp((n - 1) * log1p(-1 / n))


def least_domain(n_records: int, alpha: float) -> float:
    """Return the number of values above which more than `alpha` may be singled out, in expectation.

    Notes
    -----
    Q2: D > n / ln(1/α) where α > 1/e, here in the exact form 1 / (1 − α^(1/(n−1))); below that, D
    > α n / (1 − 1/n)^(n−1).

    Examples
    --------
    >>> round(least_domain(1_000_000, 0.5))
    1442694
    """
    n = whole_number(n_records, "the number of records", at_least=1)
    alpha = share_between(alpha, "alpha")
    if n == 1:
        return 0.0
    at_n = exp((n - 1) * log1p(-1 / n))
    if alpha <= at_n:
        return alpha * n / at_n
    return -1 / expm1(log(alpha) / (n - 1))


def probability_below(k: int, n_records: int, share: float) -> float:
    """Return the probability that fewer than `k` of `n_records` have a value of this share.

    Examples
    --------
    >>> round(probability_below(2, 10, 0.1), 4)
    0.7361
    """
    if k <= 0:
        return 0.0
    if k > n_records:
        return 1.0
    if share >= 1:
        return 0.0
    # scipy is slow to import.
    from scipy.special import betainc

    # 1 - share loses the digits of a small share; the Poisson law keeps them, and differs by less
    # than the share itself.
    if share < 1e-9:
        from scipy.special import pdtr

        return float(pdtr(k - 1, n_records * share))
    return float(betainc(n_records - k + 1, k, 1 - share))


def guaranteed_k(n_records: int, share: float, beta: float) -> int:
    """Return the largest k that a value of this share has with probability at least 1 − `beta`.

    Parameters
    ----------
    n_records : int
        Size of the population.
    share : float
        Probability of the value; 1/D where D values are equally likely.
    beta : float
        The probability of fewer than k that is accepted.

    Returns
    -------
    int
        0 where even a single occurrence is not that certain.

    Notes
    -----
    Q3, exactly: the largest k with P(Bin(n, share) < k) ≤ β.

    Examples
    --------
    >>> guaranteed_k(300_000_000, 1 / 2_400_000, 0.1)
    111
    """
    low, high = 0, n_records
    while low < high:
        middle = (low + high + 1) // 2
        if probability_below(middle, n_records, share) <= beta:
            low = middle
        else:
            high = middle - 1
    return low


def chernoff_k(n_records: int, n_values: float, beta: float) -> int:
    """Return the k that Chernoff's bound promises for equally likely values: never above the exact.

    Notes
    -----
    Q3: the largest k ≥ 2 with D ≤ n/(k − 1) · (1 + x − √(x² + 2x)), x = ln(1/β)/(k − 1). Solved
    for k − 1 = λ − √(2 λ ln(1/β)), λ = n/D.

    Examples
    --------
    >>> chernoff_k(300_000_000, 2_400_000, 0.1)
    102
    """
    rate = n_records / n_values
    below = rate - sqrt(2 * rate * log(1 / beta))
    return int(below) + 1 if below >= 1 else 0


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
