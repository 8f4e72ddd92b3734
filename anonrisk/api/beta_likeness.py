"""β-likeness: how much more likely a value becomes for whoever finds the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.sensitive import worst
from anonrisk.core.arguments import one_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Likeness, Missing


def beta_likeness(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    kind: Likeness = "basic",
    *,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    """Give the least β for which the table has β-likeness: the largest relative gain of a value.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    kind : {"basic", "enhanced"}
        Whether a gain must also stay below −ln of the value's share in the table; then the result
        is infinite where one does not.

    Returns
    -------
    float

    Notes
    -----
    Basic: max (p − q) / q over values whose share p in a class exceeds their share q in the table.
    Enhanced: the least β with (p − q) / q ≤ min(β, −ln q) (Cao & Karras 2012).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xxxy")})
    >>> df.anon.beta_likeness("zip", "illness")
    1.0
    """
    one_of(kind, "kind", ("basic", "enhanced"))
    name = "beta" if kind == "basic" else "enhanced_beta"
    return worst(frame, qids, sensitive, name, unit, missing, missing_sensitive)
