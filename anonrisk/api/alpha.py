"""α: the largest share that one sensitive value has of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import worst

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing


@in_one_state
def alpha(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    *,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    r"""Return the largest share that one sensitive value has of a class.

    Parameters
    ----------
    frame, qids, sensitive, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    unit
        As in `anonrisk.classes`. A share is of persons with the value over persons in the class.

    Returns
    -------
    float

    Raises
    ------
    As in `anonrisk.ldiv`.

    See Also
    --------
    anonrisk.ldiv : number of values that a class leaves in doubt
    anonrisk.beta_likeness : the share compared with the table's
    anonrisk.k : size of the smallest class, which belongs beside it

    Notes
    -----
    The α of (α, k)-anonymity: over all classes, r₁ the count of the commonest value and n its
    number of records:

    .. math:: \alpha = \max r_1 / n

    When it misleads: a value that most people have anyway, such as no illness, counts like one that
    harms; and a class of one always has α = 1.

    References
    ----------
    R. C.-W. Wong et al., *(α, k)-Anonymity: an Enhanced k-Anonymity Model for Privacy-Preserving
    Data Publishing*, KDD 2006, 754-759.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4, "illness": list("xxxy")})
    >>> df.anon.alpha("zip", "illness")
    0.75
    """
    return worst(frame, qids, sensitive, "alpha", unit, missing, missing_sensitive)
