"""From a table that is a sample to the population that it was drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import clustered_of, in_one_state, question_of
from anonrisk.api.risk import against_of
from anonrisk.core.arguments import whole_number
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.question import IfIndependent, SumsOfWeights

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing, Model
    from anonrisk.predict.population import PopulationEstimate

# Weights that sum to something else than the population are not weights of that population.
_TOLERANCE = 0.01


@in_one_state
def predict_population(
    frame: Any,
    qids: Names | None = None,
    population_size: int | None = None,
    *,
    model: Model = "auto",
    sampling_fraction: float | None = None,
    weight: Name | None = None,
    cluster: Name | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> PopulationEstimate:
    r"""Estimate how many people are unique in the population that this table is a sample of.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`. Here every person must be in one class.
    missing
        As in `anonrisk.ldiv`.
    population_size : int
        Number of people in the population. Instead of it, `sampling_fraction` or `weight` can be
        given.
    model : str
        ``"auto"`` asks every model that needs no more than class sizes, and lists those that fail
        with the reason. ``"dankar"``, ``"pitman"``, ``"zayatz"``, ``"snb"``, ``"poisson_gamma"``,
        ``"dis"``, ``"benedetti_franconi"`` or ``"loglinear"`` asks that one, and raises if it
        fails; the last one takes the columns to be independent and looks at the table again.
    sampling_fraction : float, optional
        The share of the population that is in the table.
    weight : name, optional
        A column of sampling weights, each at least 1. Where they differ only DIS and
        Benedetti-Franconi can be asked, and the bounds are what is certain.
    cluster : name, optional
        A column that says who came into the table together, as a household, where homes were drawn
        and not persons: at least 30, one record per person. There are bounds then, and no models.
        Left out, persons are taken to be drawn singly.

    Returns
    -------
    PopulationEstimate
        Bounds that need no model (`uniques`, `unique_fraction`, `singletons_unique`, `matches`,
        each with `low` and `high`), and `estimates`, one per model, with its attacker in words.

    Raises
    ------
    As in `anonrisk.risk`.
    ModelError
        If the model does not hold for the table, or cannot be fitted to it.

    Warns
    -----
    ApproximationWarning
        If the class sizes are not those of a simple random sample, or if a model asked for by
        name fits badly.

    See Also
    --------
    anonrisk.risk : what that means for three attackers
    anonrisk.predict_singletons : a group instead of the population
    anonrisk.predict.population.bounds : the bounds, from class sizes alone
    anonrisk.uniqueness : who is alone in the table

    Notes
    -----
    The table is taken to be a simple random sample of persons, one record each, or with `cluster`
    of whole clusters. P0: over all numbers D_F
    of population classes of size F that agree with the table's class sizes (with 95% confidence,
    all rows together) and have N people, the least and the largest of both:

    .. math:: D_1, \qquad \sum_F D_F \, P(1 \mid F) / F

    Models: P3 to P10, and Skinner & Shlomo's.

    When it misleads: only where everybody had the same chance to be in the table; models assume
    more, and disagree where they are wrong.

    References
    ----------
    - F. K. Dankar et al., *Estimating the Re-identification Risk of Clinical Data Sets*, BMC
      Medical Informatics and Decision Making 12:66, 2012.
    - C. Skinner & N. Shlomo, *Assessing Identification Risk in Survey Microdata Using Log-Linear
      Models*, JASA 103(483), 2008, 989-1001.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> people = pd.DataFrame({"zip": [i * i % 997 for i in range(4000)]})
    >>> found = people.sample(2000, random_state=1).anon.predict_population("zip", 4000)
    >>> found.uniques
    Interval(low=0.0, high=...)
    >>> found["dis"].match_correct < 0.3
    True
    """
    from anonrisk.predict.population import Sample, estimate
    from anonrisk.predict.population.models import check_model, estimate_weighted

    check_model(model)
    _check_sources(population_size, sampling_fraction, weight)
    if cluster is not None and weight is not None:
        raise ArgumentError("cluster= does not go with weight=: give population_size=")
    if unit is not None and (weight is not None or model == "loglinear"):
        raise ArgumentError(_NO_UNIT)
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    if question.unit is not None and (weight is not None or model == "loglinear"):
        # A declared unit is as binding as one in the call.
        raise ArgumentError(_NO_UNIT)
    if weight is not None:
        if model == "loglinear":
            raise ArgumentError("the log-linear model takes no weights: give population_size=")
        against_of(engine, frame, question, None, weight, None)
        weighted = engine.tally(frame, SumsOfWeights(question, weight))
        return estimate_weighted(weighted, _sum_of(weighted.total, population_size), model)
    clustered = None if cluster is None else clustered_of(engine, frame, question, cluster)
    sizes = engine.count(frame, question)[0] if clustered is None else clustered.sizes
    if sampling_fraction is not None:
        population_size = max(round(sizes.n_records / sampling_fraction), sizes.n_records)
    assert population_size is not None  # noqa: S101
    sample = Sample.of(sizes, population_size)
    if clustered is not None or model != "loglinear" or sample.f == 1 or not sizes.singletons:
        return estimate(sample, model, clustered=clustered)
    return estimate(sample, model, engine.tally(frame, IfIndependent(question, sample.f)))


_NO_UNIT = (
    "unit= does not go with weight= or the log-linear model: reduce the table to one row per person"
)


def _check_sources(population_size: Any, fraction: Any, weight: Any) -> None:
    if population_size is not None:
        whole_number(population_size, "population_size", at_least=1)
    if fraction is not None:
        from anonrisk.predict.sample_risk import fraction_of

        fraction_of(fraction)
        if population_size is not None or weight is not None:
            raise ArgumentError("give one of population_size=, sampling_fraction= and weight=")
    if population_size is None and fraction is None and weight is None:
        raise ArgumentError(
            "population_size= is needed: the number of people that this table is a sample of "
            "(or sampling_fraction=, or weight=)"
        )


def _sum_of(total: float, population_size: int | None) -> int:
    """Take the weights' sum for the population, or make sure that the two agree."""
    if population_size is None:
        return round(total)
    if abs(total - population_size) > _TOLERANCE * population_size:
        raise ArgumentError(
            f"the weights sum to {total:,.0f}, not to population_size={population_size:,}"
        )
    return population_size
