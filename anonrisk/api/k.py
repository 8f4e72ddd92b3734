"""k: the size of the smallest class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def k(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> int:
    """Give the size of the smallest class: the table is k-anonymous for this k.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    int

    Notes
    -----
    T1: k = min f over all classes (Samarati & Sweeney 1998).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> df.anon.k(["zip", "age"])
    1
    """
    return classes(frame, qids, unit=unit, missing=missing).k
