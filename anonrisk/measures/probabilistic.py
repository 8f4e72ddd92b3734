"""What the number of possible values says about a population: Lodha & Thomas, corrected.

Functions of numbers only; usable before any table exists. The formulas are Q1 to Q3 of Lodha &
Thomas, "Probabilistic Anonymity", in their exact form. D is the number of values that *can* occur,
not of those that a table happens to have.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, prod, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import as_percent, positive, whole_number
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable


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
