"""k: the size of the smallest class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes
from anonrisk.api.question import in_one_state

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import MissingOrWildcard


@in_one_state
def k(
    frame: Any,
    qids: Names | None = None,
    *,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
) -> int:
    r"""Return the size of the smallest class: the table is k-anonymous for this k.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    int

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.uniqueness : share of the records that are alone
    anonrisk.classes : the sizes of all classes
    anonrisk.ldiv : what a class gives away
    anonrisk.plan : how coarse the columns must become for a larger k

    Notes
    -----
    T1, f the sizes of the classes:

    .. math:: k = \min f

    When it misleads: it is about the worst class alone, and says nothing of what a class gives
    away: ten people who share a combination may share a diagnosis too.

    References
    ----------
    - P. Samarati & L. Sweeney, *Protecting Privacy when Disclosing Information: k-Anonymity and its
      Enforcement through Generalization and Suppression*, SRI-CSL-98-04, 1998.
    - L. Sweeney, *k-Anonymity: a Model for Protecting Privacy*, IJUFKS 10(5), 2002, 557-570.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> df.anon.k(["zip", "age"])
    1
    """
    return classes(frame, qids, unit=unit, missing=missing).k
