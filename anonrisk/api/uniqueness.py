"""The share of the records that are alone in their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes
from anonrisk.api.question import in_one_state

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import MissingOrWildcard


@in_one_state
def uniqueness(
    frame: Any,
    qids: Names | None = None,
    *,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
) -> float:
    """Return the share of the records that are singletons: alone in their class.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.k : size of the smallest class
    anonrisk.predict_population : who of them is alone in the population
    anonrisk.explain_risk : which column makes them unique

    Notes
    -----
    T1 with K = 2: s₁ the number of classes of one record, n the number of records:

    .. math:: u = s_1 / n

    When it misleads: alone in the table is not alone in the population; and columns that nobody
    named as quasi-identifiers may single out more.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, chapter 3,
    Tables 3.2 and 3.3; corrected as in docs/formulas.md, ``koot-table-3.3``, ``koot-3.3.2``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012", "1013"]})
    >>> df.anon.uniqueness("zip")
    0.5
    """
    return classes(frame, qids, unit=unit, missing=missing).uniqueness
