"""α: the largest share that one sensitive value has of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.sensitive import worst

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


def alpha(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    *,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    """Give the largest share that one sensitive value has of a class.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`. With a `unit`, persons with the value over persons in the class.

    Returns
    -------
    float

    Notes
    -----
    The α of (α, k)-anonymity (Wong et al. 2006): max r₁ / n.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4, "illness": list("xxxy")})
    >>> df.anon.alpha("zip", "illness")
    0.75
    """
    return worst(frame, qids, sensitive, "alpha", unit, missing, missing_sensitive)
