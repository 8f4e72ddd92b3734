"""Average number of value combinations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def anvc(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> float:
    """Give the average number of value combinations of a quasi-identifier.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Notes
    -----
    H6: 2^H, with H the Shannon entropy in bits (Fischer-Hübner).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
    >>> df.anon.anvc("sex")
    2.0
    """
    return classes(frame, qids, unit=unit, missing=missing).anvc
