"""β-likeness: how much more likely a value becomes for whoever finds the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import worst
from anonrisk.core.arguments import one_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Likeness, Missing


@in_one_state
def beta_likeness(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    variant: Likeness = "basic",
    *,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    r"""Return the least β for which the table has β-likeness: the largest relative gain of a value.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    variant : {"basic", "enhanced"}
        Whether a gain must also stay below −ln of the value's share in the table; then the result
        is infinite where one does not.

    Returns
    -------
    float

    Raises
    ------
    As in `anonrisk.ldiv`.

    See Also
    --------
    anonrisk.delta_disclosure : gains and losses alike, by their logarithm
    anonrisk.tcloseness : distance of whole distributions
    anonrisk.ldiv : number of values that a class leaves in doubt

    Notes
    -----
    p is the share of a value in a class and q its share in the table; the largest over values with
    p > q, and the least β with which every gain keeps the enhanced limit:

    .. math:: \beta = \max \frac{p - q}{q}, \qquad \frac{p - q}{q} \le \min(\beta, -\ln q)

    When it misleads: it looks at gains only: that a value is *absent* from a class, which may tell
    as much, does not count; and a rare value in a small class gains a lot by chance.

    References
    ----------
    J. Cao & P. Karras, *Publishing Microdata with a Robust Privacy Guarantee*, PVLDB 5(11), 2012,
    1388-1399.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xxxy")})
    >>> df.anon.beta_likeness("zip", "illness")
    1.0
    """
    one_of(variant, "variant", ("basic", "enhanced"))
    name = "beta" if variant == "basic" else "enhanced_beta"
    return worst(frame, qids, sensitive, name, unit, missing, missing_sensitive)
