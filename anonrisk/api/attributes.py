"""What an attacker learns about a person whose class they found: l-diversity, t-closeness, …."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.sensitive import (
    against,
    ask_about,
    diversity_score,
    with_distance,
)
from anonrisk.core.arguments import one_of
from anonrisk.core.results import Closeness
from anonrisk.engines.base import Score
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.counts.class_profiles import ClassProfiles


def ldiv(
    frame: Any,
    qids: Any = None,
    sensitive: Any = None,
    kind: str = "distinct",
    *,
    c: float | None = None,
    joint: bool = False,
    unit: Name | None = None,
    missing: str = "value",
    missing_sensitive: str = "value",
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
    engine, question, columns = ask_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    names = tuple(column.column for column in columns)
    return min(
        engine.scores(frame, against(question, column, names, joint=joint), column, [score]).worst[
            score
        ]
        for column in columns
    )


def tcloseness(
    frame: Any,
    qids: Any = None,
    sensitive: Any = None,
    distance: str = "auto",
    *,
    order: Any = None,
    hierarchy: Any = None,
    unit: Name | None = None,
    missing: str = "value",
    missing_sensitive: str = "value",
) -> Closeness:
    """Give the t-closeness of a table: how far the worst class is from the table as a whole.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    distance : {"auto", "equal", "ordered", "hierarchical"}
        How far apart two values are. By itself the library takes ``"ordered"`` for floats and dates
        and ``"equal"`` for everything else: integer codes are not a scale.
    order : list of values, optional
        The values from the smallest to the largest, for an ordered distance of strings.
    hierarchy : dict, table, path or Hierarchy, optional
        A tree over the values; see `anonrisk.core.hierarchy.Hierarchy.of`.

    Returns
    -------
    Closeness
        A float that prints the kind of distance beside itself.

    Notes
    -----
    The largest earth mover's distance between a class and the table. T6, equal: ½ Σ |p − q|;
    T5, ordered: Σ |P_i − Q_i| / (m − 1) over the m values that the table has, a missing one last;
    T7, hierarchical: the cost of a move is the height of the lowest common ancestor over the
    height of the tree (Li et al. 2007).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "stage": [1, 2, 3, 4]})
    >>> df.anon.tcloseness("zip", "stage")
    0.5 (equal distance)
    >>> df.anon.tcloseness("zip", "stage", "ordered")
    0.3333333333333333 (ordered distance)
    """
    engine, question, columns = ask_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    found = []
    for column in columns:
        about, settled = with_distance(
            engine, frame, column, distance, order=order, hierarchy=hierarchy
        )
        score = Score(settled)
        value = engine.scores(frame, question, about, [score]).worst[score]
        found.append(Closeness(value, settled))
    return max(found)


def alpha(
    frame: Any,
    qids: Any = None,
    sensitive: Any = None,
    *,
    unit: Name | None = None,
    missing: str = "value",
    missing_sensitive: str = "value",
) -> float:
    """Give the largest share that one sensitive value has of a class.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`. With a `unit`, persons with the value over persons in the class.

    Returns
    -------
    float

    Notes
    -----
    The α of (α, k)-anonymity (Wong et al. 2006): max r₁ / n.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4, "illness": list("xxxy")})
    >>> df.anon.alpha("zip", "illness")
    0.75
    """
    return _worst(frame, qids, sensitive, "alpha", unit, missing, missing_sensitive)


def beta_likeness(
    frame: Any,
    qids: Any = None,
    sensitive: Any = None,
    kind: str = "basic",
    *,
    unit: Name | None = None,
    missing: str = "value",
    missing_sensitive: str = "value",
) -> float:
    """Give the least β for which the table has β-likeness: the largest relative gain of a value.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    kind : {"basic", "enhanced"}
        Whether a gain must also stay below −ln of the value's share in the table; then the result
        is infinite where one does not.

    Returns
    -------
    float

    Notes
    -----
    Basic: max (p − q) / q over values whose share p in a class exceeds their share q in the table.
    Enhanced: the least β with (p − q) / q ≤ min(β, −ln q) (Cao & Karras 2012).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xxxy")})
    >>> df.anon.beta_likeness("zip", "illness")
    1.0
    """
    one_of(kind, "kind", ("basic", "enhanced"))
    name = "beta" if kind == "basic" else "enhanced_beta"
    return _worst(frame, qids, sensitive, name, unit, missing, missing_sensitive)


def delta_disclosure(
    frame: Any,
    qids: Any = None,
    sensitive: Any = None,
    *,
    strict: bool = False,
    unit: Name | None = None,
    missing: str = "value",
    missing_sensitive: str = "value",
) -> float:
    """Give the least δ for which the table has δ-disclosure privacy.

    Parameters
    ----------
    frame, qids, sensitive, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    strict : bool
        Count values that a class lacks: the result is then infinite.

    Returns
    -------
    float

    Notes
    -----
    max |ln(p / q)| over the values of each class, p their share in the class and q in the table
    (Brickell & Shmatikov 2008).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xyxy")})
    >>> df.anon.delta_disclosure("zip", "illness")
    0.0
    """
    name = "strict_delta" if strict else "delta"
    return _worst(frame, qids, sensitive, name, unit, missing, missing_sensitive)


def profiles(
    frame: Any,
    qids: Any = None,
    sensitive: Any = None,
    distance: str = "auto",
    *,
    order: Any = None,
    hierarchy: Any = None,
    unit: Name | None = None,
    missing: str = "value",
    missing_sensitive: str = "value",
) -> ClassProfiles:
    """Count the sensitive values of each kind of class: one scan, many questions.

    Parameters
    ----------
    frame, qids, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    sensitive : name
        One sensitive column.
    distance, order, hierarchy
        As in `anonrisk.tcloseness`; what the profiles shall know beside the equal distance.

    Returns
    -------
    ClassProfiles
        Value counts per kind of class, by rank; no value of the table is among them.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xyxy")})
    >>> df.anon.profiles("zip", "illness")
    Profiles of illness in 2 classes of zip: 1 kind of class, 2 values
    """
    engine, question, columns = ask_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    if len(columns) > 1:
        raise ArgumentError("profiles are of one sensitive column at a time")
    about, _ = with_distance(engine, frame, columns[0], distance, order=order, hierarchy=hierarchy)
    return engine.profiles(frame, question, about)


def _worst(  # noqa: PLR0917
    frame: Any,
    qids: Any,
    sensitive: Any,
    name: str,
    unit: Any,
    missing: str,
    missing_sensitive: str,
) -> float:
    engine, question, columns = ask_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    score = Score(name)
    return max(engine.scores(frame, question, column, [score]).worst[score] for column in columns)
