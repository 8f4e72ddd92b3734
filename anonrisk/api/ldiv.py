"""l-diversity: how many sensitive values the worst class leaves in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.sensitive import against, diversity_score, question_about

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Diversity, Missing


def ldiv(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    kind: Diversity = "distinct",
    *,
    c: float | None = None,
    joint: bool = False,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> float:
    """Give the l-diversity of a table: how many sensitive values the worst class leaves in doubt.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`. With a `unit`, a person counts once per class and value.
    sensitive : name or list of names, optional
        The column that must not be learned; of several, the worst counts. Left out, those that
        were declared.
    kind : {"distinct", "entropy", "recursive"}
        Different values; effective number of values, as exp of the entropy; or the largest l of
        (c, l)-diversity.
    c : float
        For ``kind="recursive"``: how often the commonest value may outweigh the rest.
    joint : bool
        Take the other sensitive columns into the quasi-identifier: an attacker may know them.
    missing_sensitive : {"value", "drop", "error"}
        Whether a missing sensitive value is a value like any other, is left out, or is refused.

    Returns
    -------
    int or float
        An int, but a float for ``kind="entropy"``, never rounded.

    Notes
    -----
    T2: min m; T3: exp(min H), H = −Σ p ln p within the class; T4: the largest l with
    r₁ < c (r_l + … + r_m) in every class, strictly, 0 if even l = 1 fails, r being the counts of a
    class from the largest down (Machanavajjhala et al. 2007).

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
    score = diversity_score(kind, c)
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
