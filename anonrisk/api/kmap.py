"""k-map: the smallest class of the population that the release has a record of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.risk import matched_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Names
    from anonrisk.core.types import Missing


@in_one_state
def kmap(
    frame: Any,
    qids: Names | None = None,
    population: Any = None,
    *,
    missing: Missing = "value",
) -> int:
    r"""Return the size of the smallest population class that the release has a record of (k-map).

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    population : DataFrame
        As in `anonrisk.risk`.

    Returns
    -------
    int

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError, EmptyTableError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    PopulationError
        If the table has records that the population cannot have given it.

    See Also
    --------
    anonrisk.k : the same within the table alone
    anonrisk.delta_presence : share of a population class that is in the release
    anonrisk.risk : the risks that follow from it

    Notes
    -----
    f and F are the sizes of a class in the release and in the population:

    .. math:: k_{\mathrm{map}} = \min_{f > 0} F

    When it misleads: it protects nobody from an attacker who knows that they are in the release:
    that one looks at f, not at F.

    References
    ----------
    - L. Sweeney, *Computational Disclosure Control: a Primer on Data Privacy Protection*, MIT 2001.
    - K. El Emam & F. K. Dankar, *Protecting Privacy Using k-Anonymity*, JAMIA 15(5), 2008, 627-637.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> df.anon.kmap("zip", pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4}))
    4
    """
    return int(matched_of(frame, qids, population, missing).smallest)
