"""δ-disclosure: how far the odds of a value in a class are from the table's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import worst
from anonrisk.core.arguments import true_or_false
from anonrisk.measures.delta_disclosure import in_base

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing


@in_one_state
def delta_disclosure(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    *,
    strict: bool = False,
    base: float | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    r"""Return the least δ for which the table has δ-disclosure privacy.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    strict : bool
        Count values that a class lacks: the result is then infinite.
    base : float, optional
        Of the logarithm: 2 counts in bits, as ARX does; natural if left out, as in pycanon.

    Returns
    -------
    float

    Raises
    ------
    As in `anonrisk.ldiv`.

    See Also
    --------
    anonrisk.beta_likeness : gains only
    anonrisk.tcloseness : distance of whole distributions
    anonrisk.alpha : the largest share alone

    Notes
    -----
    p is the share of a value in a class and q its share in the table:

    .. math:: \delta = \max \left| \ln \frac{p}{q} \right|

    The source leaves the base open; in the base b it is δ / ln b.

    When it misleads: without `strict` a value that a class lacks is not counted, although its
    absence is certain; with it nearly every real table is infinite.

    References
    ----------
    J. Brickell & V. Shmatikov, *The Cost of Privacy: Destruction of Data-Mining Utility in
    Anonymized Data Publishing*, KDD 2008, 70-78.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xyxy")})
    >>> df.anon.delta_disclosure("zip", "illness")
    0.0
    """
    name = "strict_delta" if true_or_false(strict, "strict") else "delta"
    unit_of_delta = in_base(base)
    return worst(frame, qids, sensitive, name, unit, missing, missing_sensitive) / unit_of_delta
