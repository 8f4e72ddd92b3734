"""Re-identification risk by attacker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.api.question import clustered_of, in_one_state, question_of, require_beside
from anonrisk.core.columns import require
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, UnsupportedFrameError
from anonrisk.measures.counts.question import Against, InHousehold, InPopulation, SumsOfWeights
from anonrisk.measures.risk import of_population, of_release

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import MissingOrWildcard
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.population import Matched
    from anonrisk.measures.counts.question import Question
    from anonrisk.measures.risk import Risk


@in_one_state
def risk(
    frame: Any,
    qids: Names | None = None,
    population: Any = None,
    *,
    weight: Name | None = None,
    sampling_fraction: float | None = None,
    population_size: int | None = None,
    unsuppressed: bool = False,
    household: Name | None = None,
    cluster: Name | None = None,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
) -> Risk:
    r"""Return the risk of re-identification by prosecutor, journalist and marketer.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`; ``missing="wildcard"`` without what is said of a population.
    population : DataFrame, optional
        The larger table that this one is a sample of, of the same library, one row per person.
    weight : name, optional
        A column of sampling weights, each at least 1, of a table in which not everybody had the
        same chance to be.
    sampling_fraction : float, optional
        The share of the population that was drawn into the table, everybody with the same chance.
    population_size : int, optional
        The number of people in the population that was drawn from.
    unsuppressed : bool
        Whether no record was removed after the draw. It cannot be seen in the table.
    household : name, optional
        A column that says who lives together: whoever finds one member finds them all.
    cluster : name, optional
        A column that says who was drawn together, as a household, with `sampling_fraction` and
        `population_size`. Left out, persons are taken to be drawn singly.

    Returns
    -------
    Risk
        With `prosecutor`, `journalist` and `marketer`, each with `highest`, `average` and
        `share_above(threshold)`, and what is known of F. Of a table that is a sample these are
        upper ends of 95% intervals; `highest_interval`, `average_interval` and
        `share_interval(threshold)` have both ends. `unique_match` bounds the share of correct ones
        among matches with exactly one record, where that can be told.

    Raises
    ------
    As in `anonrisk.classes`.
    PopulationError
        As in `anonrisk.kmap`.
    WeightError
        If a weight is missing, not a number, or below 1.

    See Also
    --------
    anonrisk.k : the prosecutor's highest risk is 1 / k
    anonrisk.kmap : smallest class of a population that is known
    anonrisk.predict_population : how many are unique in a population that is not
    anonrisk.suda : which records stand out by few columns

    Notes
    -----
    T13, f and F the sizes of a class in the table and in the population, n the number of records;
    prosecutor, journalist and marketer:

    .. math:: \frac{1}{f}, \qquad \frac{1}{F}, \qquad \frac{1}{n} \sum \frac{f}{F}

    A household's risk is 1 − Π (1 − its members' risks).

    F is counted where `population` is given. A sample bounds it (P12): with `sampling_fraction` and
    `population_size` each class by itself, also after small classes were removed; with
    `unsuppressed` also by a convex programme over all populations that agree with the table, and
    the smaller bound is taken. With `cluster` the bound counts clusters. With neither, with
    `weight`, and for households only F ≥ f holds: nobody reaches more than the prosecutor.
    Benedetti and Franconi's model (P10), shown with weights, is no bound.

    When it misleads: a guess needs no name: where a whole class shares a sensitive value, nobody
    need be found. Of journalist and marketer: without a population, weights or its size nobody
    knows them; they lie at or below the prosecutor's, since a class of the population is at least
    as large.

    References
    ----------
    - K. El Emam & F. K. Dankar, *Protecting Privacy Using k-Anonymity*, JAMIA 15(5), 2008, 627-637.
    - F. K. Dankar & K. El Emam, *A Method for Evaluating Marketer Re-identification Risk*,
      EDBT/ICDT Workshops 2010.
    - R. Benedetti & L. Franconi, *Statistical and Technological Solutions for Controlled Data
      Dissemination*, New Techniques and Technologies for Statistics, 1998.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> people = pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4})
    >>> df.anon.risk("zip", people)
    attacker     highest   average
    prosecutor    100.0%     66.7%
    journalist     25.0%     16.7%
    marketer           -     16.7%
    (class sizes counted in the population)
    >>> tenth = pd.DataFrame({"zip": [i // 8 for i in range(80)]})
    >>> tenth.anon.risk("zip", sampling_fraction=0.1, population_size=800)
    attacker          highest        average
    prosecutor          12.5%          12.5%
    journalist   1.2% to 4.2%   1.2% to 4.2%
    marketer                -   1.2% to 4.2%
    (95%, if 10.0% of 800 people were drawn singly with equal chances, whatever was
      removed since)
    """
    from anonrisk.predict.sample_risk import (
        at_most,
        of_clusters,
        of_sample,
        of_weighted,
        sampling_of,
    )

    sampling = sampling_of(sampling_fraction, population_size, unsuppressed)
    if cluster is not None and not sampling.known:
        raise ArgumentError(
            "cluster= goes with sampling_fraction= and population_size= only: what else is told "
            "holds however people were drawn"
        )
    values = [population is not None, weight is not None, sampling.known]
    if sum(values) > 1:
        raise ArgumentError("give one of population=, weight= and sampling_fraction=, not several")
    if unit is not None and (values[0] or values[1] or household is not None):
        raise ArgumentError("unit= goes with sampling_fraction= only: reduce to one row per person")
    alone = not any(values) and household is None
    engine, question = question_of(frame, qids, unit=unit, missing=missing, wildcard=alone)
    if question.unit is not None and (values[0] or values[1] or household is not None):
        # A declared unit is as binding as one in the call.
        raise ArgumentError("the table has a unit: reduce it to one row per person first")
    against = against_of(engine, frame, question, population, weight, household)
    if population is not None:
        result = of_population(engine.match(frame, InPopulation(question, against)))
    elif weight is not None:
        result = of_weighted(engine.tally(frame, SumsOfWeights(question, weight)))
    elif cluster is not None:
        result = of_clusters(clustered_of(engine, frame, question, cluster), sampling)
    else:
        sizes = engine.count(frame, question)[0]
        result = of_sample(sizes, sampling) if sampling.known else of_release(sizes)
    if household is not None:
        home = engine.match(frame, InHousehold(question, replace(against, weight=None)))
        # Only what holds however the table was drawn: a household is no class.
        sampled = result.basis in ("weights", "sampling_fraction")
        result = replace(result, household=at_most(home) if sampled else home)
    return result


def matched_of(frame: Any, qids: Any, population: Any, missing: str) -> Matched:
    """Find the classes of a release in the population that it was drawn from."""
    if population is None:
        raise ArgumentError("population= is needed: a table of the people this one is a sample of")
    engine, question = question_of(frame, qids, unit=None, missing=missing)
    if question.unit is not None:
        raise ArgumentError("the table has a unit: reduce it to one row per person first")
    against = against_of(engine, frame, question, population, None, None)
    return engine.match(frame, InPopulation(question, against))


def against_of(  # noqa: PLR0917
    engine: Engine,
    frame: Any,
    question: Question,
    population: Any,
    weight: Name | None,
    household: Name | None,
) -> Against:
    """Check what is given of the population."""
    for name, role in ((weight, "weight"), (household, "household")):
        if name is not None:
            require_beside(engine, frame, question, name, role)
    if population is not None:
        if type(engine_for(population)) is not type(engine):
            raise UnsupportedFrameError(
                f"the population must be a table of the same library as the release ({engine.name})"
            )
        others = engine.schema(population)
        require(question.columns, "quasi-identifier of the population", others.columns)
        others.check(question.roles())
    return Against(population=population, weight=weight, household=household)
