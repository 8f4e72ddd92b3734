"""l-diversity: how many sensitive values the worst class leaves in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import against, diversity_score, question_about

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Diversity, Missing


@in_one_state
def ldiv(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    variant: Diversity = "distinct",
    *,
    c: float | None = None,
    joint: bool = False,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    r"""Return the l-diversity of a table: the sensitive values that its worst class keeps in doubt.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`. A person counts once per class and value.
    sensitive : name or list of names, optional
        The column that must not be learned; of several, the worst counts. Left out, those that
        were declared.
    variant : {"distinct", "entropy", "recursive"}
        Different values; effective number of values, as exp of the entropy; or the largest l of
        (c, l)-diversity.
    c : float
        For ``variant="recursive"``: how often the commonest value may outweigh the rest.
    joint : bool
        Take the other sensitive columns into the quasi-identifier: an attacker may know them.
    missing : {"value", "drop", "error"}
        Whether a missing quasi-identifier is a value like any other, is left out, or is refused.
    missing_sensitive : {"value", "drop", "error"}
        Whether a missing sensitive value is a value like any other, is left out, or is refused.

    Returns
    -------
    int or float
        An int, but a float for ``variant="entropy"``, never rounded.

    Raises
    ------
    As in `anonrisk.classes`.
    MissingSensitiveError
        If a sensitive value is missing and ``missing_sensitive="error"``.
    RolesNotGivenError
        If no quasi-identifiers or no sensitive columns are named or declared.

    See Also
    --------
    anonrisk.k : whether a person can be found at all
    anonrisk.tcloseness : distance between a class and the table
    anonrisk.alpha : largest share of one value
    anonrisk.at_risk : the records of classes below a limit

    Notes
    -----
    m is the number of different values in a class, r₁ ≥ … ≥ r_m their counts and p their shares.
    T2, distinct; T3, entropy; T4, recursive: the largest l for which the last holds in every class,
    0 if even l = 1 fails:

    .. math::

        l = \min m, \qquad l = \exp(\min H), \; H = -\sum p \ln p,
        \qquad r_1 < c \, (r_l + \dots + r_m)

    When it misleads: different values may mean the same (two kinds of cancer), and one of them may
    be nearly certain.

    References
    ----------
    - A. Machanavajjhala et al., *l-Diversity: Privacy Beyond k-Anonymity*, ACM TKDD 1(1), 2007,
      article 3, section 4.
    - S. Mahiou & F. Nagle, *Anonymity, Utility and Risk: an Overview*, 2018, 3.2; corrected as in
      docs/formulas.md, ``mahiou-3.2-entropy``, ``mahiou-3.2-recursive``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4 + ["b"] * 4, "illness": list("xxyzxxyy")})
    >>> df.anon.ldiv("zip", "illness")
    2
    >>> round(df.anon.ldiv("zip", "illness", "entropy"), 6)
    2.0
    >>> df.anon.ldiv("zip", "illness", "recursive", c=1.5)
    2
    """
    score = diversity_score(variant, c)
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    names = tuple(column.column for column in columns)
    return min(
        engine.score(frame, against(question, column, names, joint=joint), column, [score]).worst[
            score
        ]
        for column in columns
    )
