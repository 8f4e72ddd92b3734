"""Fischer-Hübner's average risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.asking import in_one_state
from anonrisk.api.classes import classes
from anonrisk.core.columns import check_missing

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing
    from anonrisk.core.results import LowerBound


@in_one_state
def rr(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> LowerBound:
    r"""Return Fischer-Hübner's average risk: a lower bound, shown beside classes / records.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.

    Returns
    -------
    LowerBound
        A float that prints classes / records beside itself.

    See Also
    --------
    anonrisk.risk : risks that a gate may use
    anonrisk.anvc : what it divides by the number of records
    anonrisk.uniqueness : share of the records that are alone

    Notes
    -----
    H6, with H the Shannon entropy in bits and n the number of records:

    .. math:: \mathrm{RR} = \min(1, 2^H / n)

    When it misleads: 2^H never exceeds the number of classes, so that it understates the average
    risk of classes / records wherever classes differ in size. No gate may use it.

    References
    ----------
    S. Fischer-Hübner, *Privacy Enhancing Security Criteria* (slides), Definition 4; corrected as in
    docs/errata.md, ``fischer-huebner-rr``, ``fischer-huebner-numbers``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "f", "f", "m"]})
    >>> df.anon.rr("sex")
    0.4386913376508... (a lower bound; classes/records 0.5)
    """
    check_missing(missing)
    return classes(frame, qids, unit=unit, missing=missing).rr
