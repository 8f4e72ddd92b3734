"""Degree of anonymity, from 0 (all unique) to 1 (all alike)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def degree(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> float:
    """Give the degree of anonymity: 0 when every record is unique, 1 when all are alike.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Notes
    -----
    H2: d = Σ (f/n) log2 f / log2 n = 1 − H/log2 n (Koot 2012, 2.2.1, for an attacker who knows the
    quasi-identifier). The entropy of the values over log2 n runs the other way and is no anonymity.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "id": [1, 2, 3, 4], "all": [0] * 4})
    >>> df.anon.degree("zip"), df.anon.degree("id"), df.anon.degree("all")
    (0.5, 0.0, 1.0)
    """
    return classes(frame, qids, unit=unit, missing=missing).degree
