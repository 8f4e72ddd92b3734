"""Entropy of a quasi-identifier in bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes
from anonrisk.measures.entropy import check_order

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def entropy(
    frame: Any,
    qids: Names | None = None,
    order: float = 1,
    *,
    quantile: float | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> float:
    """Give the entropy of a quasi-identifier in bits: how much its value tells.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.
    order : float
        Order of the Rényi entropy: 1 is Shannon's, 0 counts the values, ``math.inf`` looks at the
        commonest one only.
    quantile : float, optional
        Instead, the bits that address this share of the records: log2 of the fewest values that
        together hold it, so that outliers do not count.

    Returns
    -------
    float

    Notes
    -----
    H1: H = −Σ p log2 p; H3: H_α = log2(Σ p^α) / (1 − α), with p = f/n (Koot 2012, 2.2). With a
    `unit`, p is over (person, class) pairs.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4 + ["b"] * 2 + ["c", "d"]})
    >>> df.anon.entropy("zip"), df.anon.entropy("zip", order=0)
    (1.75, 2.0)
    >>> df.anon.entropy("zip", quantile=0.75)
    1.0
    """
    check_order(order, quantile)
    counted = classes(frame, qids, unit=unit, missing=missing)
    return counted.entropy(order, quantile=quantile)
