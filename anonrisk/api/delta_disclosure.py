"""δ-disclosure: how far the odds of a value in a class are from the table's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.sensitive import worst

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def delta_disclosure(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    *,
    strict: bool = False,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    """Give the least δ for which the table has δ-disclosure privacy.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    strict : bool
        Count values that a class lacks: the result is then infinite.

    Returns
    -------
    float

    Notes
    -----
    max ``|ln(p / q)|`` over the values of each class, p their share in the class and q in the table
    (Brickell & Shmatikov 2008).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xyxy")})
    >>> df.anon.delta_disclosure("zip", "illness")
    0.0
    """
    name = "strict_delta" if strict else "delta"
    return worst(frame, qids, sensitive, name, unit, missing, missing_sensitive)
