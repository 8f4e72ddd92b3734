"""Average number of value combinations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.asking import in_one_state
from anonrisk.api.classes import classes
from anonrisk.core.columns import check_missing

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


@in_one_state
def anvc(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> float:
    r"""Return the average number of value combinations of a quasi-identifier.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.entropy : the entropy behind it, in bits
    anonrisk.rr : the same over the number of records
    anonrisk.classes : the number of classes itself

    Notes
    -----
    H6, with H the Shannon entropy in bits:

    .. math:: \mathrm{ANVC} = 2^H

    When it misleads: it never exceeds the number of classes and hardly counts the rare ones, which
    are those that single people out.

    References
    ----------
    S. Fischer-Hübner, *Privacy Enhancing Security Criteria* (slides), Definition 3; corrected as in
    docs/errata.md, ``fischer-huebner-numbers``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
    >>> df.anon.anvc("sex")
    2.0
    """
    check_missing(missing)
    return classes(frame, qids, unit=unit, missing=missing).anvc
