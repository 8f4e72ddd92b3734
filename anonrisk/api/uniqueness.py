"""The share of the records that are alone in their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def uniqueness(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> float:
    """Give the share of the records that are singletons: alone in their class.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Notes
    -----
    T1 with K = 2: records in classes smaller than two, over all records (Koot 2012, chapter 3).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012", "1013"]})
    >>> df.anon.uniqueness("zip")
    0.5
    """
    return classes(frame, qids, unit=unit, missing=missing).uniqueness
