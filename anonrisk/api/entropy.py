"""Entropy of a quasi-identifier in bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes
from anonrisk.api.question import in_one_state
from anonrisk.core.columns import check_missing
from anonrisk.measures.entropy import check_order

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing


@in_one_state
def entropy(
    frame: Any,
    qids: Names | None = None,
    alpha: float = 1,
    *,
    quantile: float | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> float:
    r"""Return the entropy of a quasi-identifier in bits: how much its value tells.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    alpha : float
        Order of the Rényi entropy: 1 is Shannon's, 0 counts the values, ``math.inf`` looks at the
        commonest one only.
    quantile : float, optional
        Instead, the bits that address this share of the records: log2 of the fewest values that
        together hold it, so that outliers do not count.

    Returns
    -------
    float

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.classes : its `degree`, `anvc` and `rr` state the same as a degree and as numbers
    anonrisk.kl_after : distance from uniform, also after recoding

    Notes
    -----
    H1, and H3 for another order α, with p = f/n the share of each class; with a `unit`, p is over
    (person, class) pairs:

    .. math:: H = -\sum p \log_2 p, \qquad H_\alpha = \frac{\log_2 \sum p^\alpha}{1 - \alpha}

    When it misleads: it is about values, not about people: the few who are alone hardly move a mean
    over everybody, and of a small table it cannot exceed log2 of the number of records.

    References
    ----------
    - M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 2.2 and 2.2.2;
      corrected as in docs/formulas.md, ``koot-2.2.2``.
    - A. Rényi, *On Measures of Entropy and Information*, Berkeley Symposium on Mathematical
      Statistics and Probability 1, 1961, 547-561.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4 + ["b"] * 2 + ["c", "d"]})
    >>> df.anon.entropy("zip"), df.anon.entropy("zip", alpha=0)
    (1.75, 2.0)
    >>> df.anon.entropy("zip", quantile=0.75)
    1.0
    """
    check_order(alpha, quantile)
    check_missing(missing)
    counted = classes(frame, qids, unit=unit, missing=missing)
    return counted.entropy(alpha, quantile=quantile)
