"""Entropy and divergence of class sizes (H1 to H6).

Throughout, `sizes` are the class sizes that occur and `classes` how many classes have each: a
class of size f among n records has probability p = f/n.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.results import Divergence, LowerBound
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from anonrisk.core.types import Integers

# So close to order 1, log(Σ p^α) / (1 − α) divides one rounding error by another.
_NEAR_SHANNON = 0.01


def check_order(order: object, quantile: object) -> None:
    """Reject an order or quantile that no entropy has."""
    if isinstance(order, bool) or not isinstance(order, Real) or not float(order) >= 0:
        raise ArgumentError("alpha, the order of the entropy, must be a number from 0 to infinity")
    if quantile is None:
        return
    if order not in (0, 1):
        raise ArgumentError(
            "quantile counts classes, as the entropy of order 0 does: leave out alpha"
        )
    if isinstance(quantile, bool) or not isinstance(quantile, Real) or not 0 < float(quantile) <= 1:
        raise ArgumentError("quantile is a share of the records: above 0, at most 1")


def renyi(sizes: Integers, classes: Integers, order: float) -> float:
    """Rényi entropy in bits (H3): log2(Σ p^α) / (1 − α); Shannon's (H1) at α = 1.

    Order 0 is log2 of the number of classes, order infinity is −log2 of the largest share.
    """
    total = int((sizes * classes).sum())
    weights = sizes * classes / total
    log2_p = np.log2(sizes / total)
    if order == 0:
        bits = math.log2(int(classes.sum()))
    elif order == 1:
        bits = -math.fsum(weights * log2_p)
    elif math.isinf(order):
        bits = -float(log2_p[-1])
    elif abs(order - 1) < _NEAR_SHANNON:
        powers = np.expm1((order - 1) * math.log(2) * log2_p)
        bits = math.log1p(math.fsum(weights * powers)) / (1 - order) / math.log(2)
    else:
        # The largest term is taken out first, so that no power under- or overflows.
        exponents = order * log2_p + np.log2(classes)
        largest = float(exponents.max())
        bits = (largest + math.log2(math.fsum(np.exp2(exponents - largest)))) / (1 - order)
    # In this order: of a column that says nothing the sum is -0.0, which would be printed so.
    return max(0.0, bits)


def addressing_bits(sizes: Integers, classes: Integers, quantile: float) -> float:
    """Bits that tell apart the fewest classes which together hold a given share of the records.

    log2 of the number of classes, largest first, that it takes to hold `quantile` of the records
    (Clauß & Schiffner, after Koot 2012, 2.2.2); at quantile 1 the entropy of order 0.
    """
    descending, multiplicity = sizes[::-1], classes[::-1]
    held = np.cumsum(descending * multiplicity)
    # A share such as 0.9 of 10 records is 9, not the 9.000000000000002 that floats may make of it.
    wanted = math.ceil(quantile * int(held[-1]) * (1 - 1e-12))
    at = int(np.searchsorted(held, wanted))
    before_classes = int(multiplicity[:at].sum())
    before_records = int(held[at - 1]) if at else 0
    more = -(-(wanted - before_records) // int(descending[at]))
    return math.log2(before_classes + more)


def degree(sizes: Integers, classes: Integers, n_records: int) -> float:
    """Degree of anonymity (H2): Σ (f/n) log2 f / log2 n.

    What an attacker who knows the quasi-identifier still does not know, as a share of what there
    is to know: 0 when every record is unique, 1 when all are alike.
    """
    if n_records == 1:
        return 0.0
    weights = sizes * classes
    unknown = math.fsum(weights * np.log(sizes)) / int(weights.sum())
    return min(unknown / math.log(n_records), 1.0)


def anvc(sizes: Integers, classes: Integers) -> float:
    """Average number of value combinations (H6): 2^H."""
    return float(2 ** renyi(sizes, classes, 1))


def rr(sizes: Integers, classes: Integers) -> LowerBound:
    """Fischer-Hübner's average risk (H6): min(1, 2^H / n), never above classes / records."""
    n_classes, total = int(classes.sum()), int((sizes * classes).sum())
    return LowerBound(min(1.0, anvc(sizes, classes) / total), n_classes / total)


def kl(sizes: Integers, classes: Integers, n_values: Any) -> Divergence:
    """Kullback-Leibler distance from the uniform law on `n_values` values (H4), in nats."""
    n_classes = int(classes.sum())
    if n_values is not None and (isinstance(n_values, bool) or not isinstance(n_values, Integral)):
        raise ArgumentError("n_values must be a whole number")
    domain = n_classes if n_values is None else int(n_values)
    if domain < n_classes:
        raise ArgumentError(f"n_values is {n_values:,} but {n_classes:,} different values occur")
    weights = sizes * classes
    total = int(weights.sum())
    # Summed as Σ p ln(pN) rather than ln N − H, which cancels for nearly uniform tables.
    nats = math.fsum(weights / total * np.log(sizes * (domain / total)))
    return Divergence(max(nats, 0.0), domain, domain_given=n_values is not None)
