"""How many of a group that is not a table yet will be alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import clustered_of, in_one_state, question_of
from anonrisk.core.arguments import positive
from anonrisk.core.columns import require
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import Intervals

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Draw, Method, Missing
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.population import ClusteredClasses
    from anonrisk.measures.counts.question import Question
    from anonrisk.predict.prediction import Prediction


@in_one_state
def predict_singletons(
    frame: Any,
    qids: Names | None = None,
    group_size: int | None = None,
    *,
    draw: Draw = "auto",
    method: Method = "exact",
    n_values: int | None = None,
    widths: Mapping[Any, float] | None = None,
    cluster: Name | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> Prediction:
    r"""Predict how many of a group will be singletons, judging by this table.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`. Here every person must be in one class.
    missing
        As in `anonrisk.ldiv`.
    group_size : int
        Number of people in the group.
    draw : {"auto", "subgroup", "replacement"}
        ``"auto"``: other people from the same population, at most twice as many as the table
        has; the interval holds the chance of the table and of the group. ``"subgroup"``: some of
        the people in this very table, exact. ``"replacement"``: the table's frequencies are the
        distribution, which understates rare values in large groups.
    method : {"exact", "kl"}
        ``"kl"`` uses only the number of values and the Kullback-Leibler distance, where it may;
        both are taken from the table as if it were the population.
    n_values : int, optional
        With ``method="kl"``: how many values the quasi-identifier can take; left out, those that
        occur.
    widths : mapping of column to number, optional
        Round these columns to intervals of a width first, which begin at multiples of it.
    cluster : name, optional
        A column that says who came into the table together, as a household, where homes were drawn
        and not persons. The group of `group_size` people then consists of whole clusters, too. At
        least 30 clusters, one record per person, with ``draw="auto"`` or
        ``"subgroup"``. Left out, persons are taken to be drawn singly.

    Returns
    -------
    Prediction

    Raises
    ------
    As in `anonrisk.classes`.
    ApproximationError
        If ``method="kl"`` and the records are too few for their values.

    See Also
    --------
    anonrisk.predict_classes : in classes of which size they will be
    anonrisk.predict_population : the population itself instead of a group
    anonrisk.predict.singletons : from a distribution, before there is a table

    Notes
    -----
    Of another group the mean is that of a subgroup of k of the table's n records (S17), over
    classes with sizes c:

    .. math:: E\,S = \sum c \binom{n - c}{k - 1} \Big/ \binom{n}{k}

    Beyond the table's size it is that of Good & Toulmin (P2); interval, `pmf`, `p_none` and `p_any`
    follow an approximate law (P13). S2 to S14 with replacement, S5 and S6 from the divergence.
    With `cluster`, parts of m members of one cluster are kept or left out together (P14), clusters
    with equal chances.

    When it misleads: for a group drawn by chance; people who were chosen for what they have in
    common are more alike. Where homes were drawn, without `cluster` the interval is far too narrow.

    References
    ----------
    - M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, chapter 5;
      corrected as in docs/formulas.md, ``koot-5.1``, ``koot-5.3.1-variance``, ``koot-5.4.3``.
    - I. J. Good & G. H. Toulmin, *The Number of New Species, and the Increase in Population
      Coverage, when a Sample is Increased*, Biometrika 43, 1956, 45-63.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [31, 32, 33, 34, 45, 46, 47, 62], "sex": list("mmffmmff")})
    >>> df.anon.predict_singletons(["age", "sex"], 4).mean
    4.0
    >>> df.anon.predict_singletons(["age", "sex"], 4).interval()
    Interval(low=0, high=4, level=0.95)
    >>> df.anon.predict_singletons(["age", "sex"], 4, draw="subgroup").interval()
    Interval(low=4, high=4, level=0.95)
    >>> df.anon.predict_singletons(["age", "sex"], 4, widths={"age": 10}).mean
    2.714285714285...
    >>> homes = pd.DataFrame({"home": [i // 3 for i in range(300)]})
    >>> homes["zip"] = homes["home"] % 40
    >>> homes.anon.predict_singletons("zip", 30).mean > 10
    True
    >>> homes.anon.predict_singletons("zip", 30, cluster="home").mean
    0.0
    """
    from anonrisk.predict import table

    if group_size is None:
        raise ArgumentError("group_size is not given: how many people will the group have?")
    counted = drawn_from(frame, qids, widths, unit, missing, cluster)
    return table.singletons(counted, group_size, draw, method, n_values)


def counted_for(
    frame: Any,
    qids: Any,
    widths: Mapping[Name, float] | None,
    unit: Name | None,
    missing: str,
) -> ClassSizes:
    """Count the classes of a table that a group is drawn from, in intervals where asked."""
    engine, frame, question = _asked(frame, qids, widths, unit, missing)
    return ClassSizes.of(engine.count(frame, question)[0])


def drawn_from(  # noqa: PLR0917
    frame: Any,
    qids: Any,
    widths: Mapping[Name, float] | None,
    unit: Name | None,
    missing: str,
    cluster: Name | None,
) -> ClassSizes | ClusteredClasses:
    """Count the same, with the clusters that records come from where those were drawn."""
    if cluster is None:
        return counted_for(frame, qids, widths, unit, missing)
    return clustered_of(*_asked(frame, qids, widths, unit, missing), cluster)


def _asked(
    frame: Any,
    qids: Any,
    widths: Mapping[Name, float] | None,
    unit: Name | None,
    missing: str,
) -> tuple[Engine, Any, Question]:
    """Return the engine, the table in intervals where asked, and the question about it."""
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    if widths is not None and not isinstance(widths, Mapping):
        raise ArgumentError("widths must be a mapping of column to width, such as {'age': 5}")
    if widths:
        chosen = {name: positive(width, f"width of {name!r}") for name, width in widths.items()}
        require(tuple(chosen), "column of widths", engine.schema(frame).columns)
        strange = [name for name in chosen if name not in question.columns]
        if strange:
            raise ArgumentError(
                f"widths names {strange[0]!r}, which is not among the quasi-identifiers"
            )
        frame = engine.rewrite(frame, Intervals(chosen))
    return engine, frame, question
