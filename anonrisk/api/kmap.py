"""k-map: the smallest class of the population that the release has a record of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.risk import matched_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Names
    from anonrisk.core.literals import Missing


def kmap(
    frame: Any,
    qids: Names | None = None,
    population: Any = None,
    *,
    missing: Missing = "value",
) -> int:
    """Give the size of the smallest population class that the release has a record of (k-map).

    Parameters
    ----------
    frame, qids, missing
        As in `anonrisk.classes`.
    population : DataFrame
        As in `anonrisk.risk`.

    Returns
    -------
    int

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> df.anon.kmap("zip", pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4}))
    4
    """
    return int(matched_of(frame, qids, population, missing).smallest)
