"""Re-identification risk by attacker."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from anonrisk.api.question import question_of
from anonrisk.core.columns import as_name, require
from anonrisk.counts.question import Against, InHousehold, InPopulation
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, RoleConflictError, UnsupportedFrameError
from anonrisk.measures.risk import of_population, of_release

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.words import Missing
    from anonrisk.counts.matched import Matched
    from anonrisk.counts.question import Question
    from anonrisk.engines.base import Engine
    from anonrisk.measures.risk import Risk


def risk(
    frame: Any,
    qids: Names | None = None,
    population: Any = None,
    *,
    weight: Name | None = None,
    sampling_fraction: float | None = None,
    household: Name | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> Risk:
    """Give the risk of re-identification by prosecutor, journalist and marketer.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.
    population : DataFrame, optional
        The larger table that this one is a sample of, of the same library, one row a person.
    weight : name, optional
        A column of sampling weights, each at least 1: a class of the population then has the sum
        of the weights of its records.
    sampling_fraction : float, optional
        The share of the population that is in the table, drawn with equal probabilities.
    household : name, optional
        A column that says who lives together: whoever finds one member finds them all.

    Returns
    -------
    Risk
        With `prosecutor`, `journalist` and `marketer`, each with `highest`, `average` and
        `share_above(threshold)`, and how F was found.

    Notes
    -----
    T13, f and F the sizes of a class in the table and in the population: prosecutor 1/f,
    journalist 1/F, marketer (1/n) Σ f/F. A household's risk is 1 − Π (1 − its members' risks).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> people = pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4})
    >>> df.anon.risk("zip", people)
      attacker   highest   average
    prosecutor         1    0.6667
    journalist      0.25    0.1667
      marketer         -    0.1667
    (class sizes counted in the population)
    """
    given = [x is not None for x in (population, weight, sampling_fraction)]
    if sum(given) > 1:
        raise ArgumentError("give one of population=, weight= and sampling_fraction=, not several")
    if unit is not None and (given[0] or given[1] or household is not None):
        raise ArgumentError("unit= goes with sampling_fraction= only: reduce to one row a person")
    fraction = fraction_of(sampling_fraction)
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    if question.unit is not None and (given[0] or given[1] or household is not None):
        # A declared unit is as binding as one in the call.
        raise ArgumentError("the table has a unit: reduce it to one row a person first")
    against = against_of(engine, frame, question, population, weight, household)
    if population is None and weight is None:
        found = of_release(engine.count(frame, question)[0], 1 / fraction)
    else:
        matched = engine.match(frame, InPopulation(question, against))
        found = of_population(matched, "weights" if population is None else "population")
    if household is not None:
        home = engine.match(frame, InHousehold(question, replace(against, factor=1 / fraction)))
        found = replace(found, household=home)
    return found


def matched_of(frame: Any, qids: Any, population: Any, missing: str) -> Matched:
    """Find the classes of a release in the population that it was drawn from."""
    if population is None:
        raise ArgumentError("population= is needed: a table of the people this one is a sample of")
    engine, question = question_of(frame, qids, unit=None, missing=missing)
    if question.unit is not None:
        raise ArgumentError("the table has a unit: reduce it to one row a person first")
    against = against_of(engine, frame, question, population, None, None)
    return engine.match(frame, InPopulation(question, against))


def fraction_of(given: Any) -> float:
    """Read a sampling fraction; none given is the whole population."""
    if given is None:
        return 1.0
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 < float(given) <= 1:
        raise ArgumentError("sampling_fraction is a share: above 0, at most 1")
    return float(given)


def against_of(  # noqa: PLR0917
    engine: Engine,
    frame: Any,
    question: Question,
    population: Any,
    weight: Name | None,
    household: Name | None,
) -> Against:
    """Check what is given of the population."""
    schema = engine.schema(frame)
    for name, role in ((weight, "weight"), (household, "household")):
        if name is not None:
            require([as_name(name, role)], role, schema.columns)
            if name in question.columns:
                raise RoleConflictError(
                    f"column {name!r} cannot be both quasi-identifier and {role}"
                )
            schema.check({name: role})
    if population is not None:
        if type(engine_for(population)) is not type(engine):
            raise UnsupportedFrameError(
                f"the population must be a table of the same library as the release ({engine.name})"
            )
        others = engine.schema(population)
        require(question.columns, "quasi-identifier of the population", others.columns)
        others.check(question.roles())
    return Against(population=population, weight=weight, household=household)
