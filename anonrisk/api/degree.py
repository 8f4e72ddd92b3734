"""Degree of anonymity, from 0 (all unique) to 1 (all alike)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.asking import in_one_state
from anonrisk.api.classes import classes
from anonrisk.core.columns import check_missing

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Missing


@in_one_state
def degree(
    frame: Any, qids: Names | None = None, *, unit: Name | None = None, missing: Missing = "value"
) -> float:
    r"""Return the degree of anonymity: 0 when every record is unique, 1 when all are alike.

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
    anonrisk.entropy : the entropy behind it
    anonrisk.predict.degree : of an attacker who suspects some more than others
    anonrisk.k : the worst class instead of a mean

    Notes
    -----
    H2, for an attacker who knows the quasi-identifier; f the sizes of the classes, n the number of
    records:

    .. math:: d = \sum \frac{f}{n} \frac{\log_2 f}{\log_2 n} = 1 - \frac{H}{\log_2 n}

    The entropy of the values over log2 n runs the other way and is no anonymity.

    When it misleads: it is a mean over records: where most are in large classes it stays high
    although some are alone.

    References
    ----------
    - C. Díaz et al., *Towards Measuring Anonymity*, PET 2002, LNCS 2482, 54-68.
    - M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 2.2.1;
      corrected as in docs/errata.md, ``koot-2.2.1``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "id": [1, 2, 3, 4], "all": [0] * 4})
    >>> df.anon.degree("zip"), df.anon.degree("id"), df.anon.degree("all")
    (0.5, 0.0, 1.0)
    """
    check_missing(missing)
    return classes(frame, qids, unit=unit, missing=missing).degree
