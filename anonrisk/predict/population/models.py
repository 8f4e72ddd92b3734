"""Which models are asked about a table, and what becomes of those that fail."""

from __future__ import annotations

from dataclasses import replace
from math import erfc, log, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import instance_of, one_of
from anonrisk.core.results import Interval
from anonrisk.errors import ArgumentError, ModelError, warn_of_approximation
from anonrisk.predict.population.benedetti_franconi import of_sample, of_weights
from anonrisk.predict.population.bounds import Bounds, bounds, certainties, counted
from anonrisk.predict.population.dis import dis
from anonrisk.predict.population.estimate import PopulationEstimate
from anonrisk.predict.population.pitman import pitman
from anonrisk.predict.population.poisson_gamma import poisson_gamma
from anonrisk.predict.population.sample import (
    EVERY_RECORD,
    FINITE,
    LINKER,
    ONE_MATCH,
    REGISTER,
    ModelEstimate,
    Sample,
    singletons_of,
)
from anonrisk.predict.population.snb import snb
from anonrisk.predict.population.zayatz import zayatz
from anonrisk.predict.stirling import log_rising

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.types import Floats
    from anonrisk.measures.counts.population import ClusteredClasses, Independence, WeightedClasses


# An estimate that may be this many times too high or too low is doubtful.
FAR = 2.0


def leaves_room(figure: float, known: Interval) -> bool:
    """Return whether the truth may be more than twice a figure, or less than half of it.

    Examples
    --------
    >>> from anonrisk.core.results import Interval
    >>> leaves_room(30, Interval(20, 50)), leaves_room(30, Interval(0, 50))
    (False, True)
    """
    return known.high > FAR * figure or figure > FAR * known.low


def doubted(model_estimate: ModelEstimate, known: Bounds) -> ModelEstimate:
    """Mark an estimate of uniques, or else of matches, that the bounds do not vouch for.

    Signs that a model sees itself (classes of Pitman's kind, a good fit, the people that it
    implies) told little about the error where that was measured; an estimate that the bounds vouch
    for was never far off. See ``docs/measures/predict_population.md``.
    """
    figure, bounds = (
        (model_estimate.matches, known.matches)
        if model_estimate.uniques is None
        else (model_estimate.uniques, known.uniques)
    )
    if figure is None or not leaves_room(figure, bounds):
        return model_estimate
    room = f"the bounds allow up to {bounds.high:.4g}"
    if figure:
        low, high = (_times(end / figure) for end in bounds)
        room = f"the bounds allow {low} to {high} times this"
    return replace(model_estimate, doubtful=True, note=f"{model_estimate.note}; {room}")


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.2g}"


# Up to this many products of margins are looked at one by one; beyond, ln μ is on a grid of this
# step: the mean of ln μ stays, and its variance grows by at most a quarter of a square per column.
_PRODUCTS = 200_000
_STEP = 0.001
# The model fits badly where its bias is both beyond chance (95%) and this share of the estimate.
# The share is chosen: in large tables a bias that is no harm is beyond chance too.
_BIAS = 0.1


def loglinear(sample: Sample, independence: Independence) -> ModelEstimate:
    """Estimate what an attacker can do if the columns are independent, and whether they are.

    Notes
    -----
    A singleton's class has 1 + Poisson(m) people in the population, with m = (1 − f)Λ and Λ the
    product of the margins' shares times N. Of s₁ singletons Σ exp(−m) are expected to be unique
    there, and Σ (1 − exp(−m))/m to be matched. B estimates the bias of the first sum from
    (f_k − μ_k) and (f_k − μ_k)² − f_k over all cells, to second order, after Skinner & Shlomo
    (2008); its variance is that of a Poisson table.
    """
    s1 = singletons_of(sample, "the log-linear model")
    bias, z = fit_of(sample, independence)
    note = "columns taken to be independent"
    # Beyond chance, and large enough to matter.
    doubtful = abs(z) > 1.96 and abs(bias) > _BIAS * independence.unique
    if doubtful:
        way = "many" if bias > 0 else "few"
        note = (
            "fits badly: the columns are not independent, and about "
            f"{abs(bias):,.0f} singletons too {way} count as unique (z = {z:.1f})"
        )
    return ModelEstimate(
        "loglinear",
        "Skinner & Shlomo",
        LINKER,
        uniques=independence.unique / sample.f,
        singletons_unique=independence.unique / s1,
        matches=independence.match,
        parameters={"bias": bias, "z": z, "p_value": erfc(abs(z) / sqrt(2))},
        doubtful=doubtful,
        note=note,
    )


def fit_of(sample: Sample, independence: Independence) -> tuple[float, float]:
    """Return the estimated bias B of the number of uniques, and B over its standard deviation."""
    n, c = sample.n, (1 - sample.f) / sample.f
    mean = _mean_of(n, independence.margins)

    def weights(mu: Floats) -> tuple[Floats, Floats]:
        kept = np.exp(-mu / sample.f)
        return c * mu * kept, c * kept * (1 - mu - c * mu / 2)

    def expected(mu: Floats) -> Floats:
        a, b = weights(mu)
        return -a + b * mu

    def spread(mu: Floats) -> Floats:
        a, b = weights(mu)
        return a * a + 2 * b * b * mu

    # Sums over all cells of a function of μ are n times means over people of it divided by μ.
    bias = independence.observed + n * mean(expected)
    sd = sqrt(n * mean(spread))
    return bias, bias / sd if sd else 0.0


def _mean_of(
    n: int, margins: Sequence[tuple[Floats, Floats]]
) -> Callable[[Callable[[Floats], Floats]], float]:
    """Return a function that averages over people whose columns are drawn independently."""
    mu, shares = _law(n, margins)
    return lambda function: float((shares * function(mu)).sum())


def _law(n: int, margins: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the cell means that occur, and the share of people in cells of each."""
    if prod(len(counts) for counts, _ in margins) <= _PRODUCTS:
        mu, shares = np.array([float(n)]), np.array([1.0])
        for counts, values in margins:
            mu = np.outer(mu, counts / n).ravel()
            shares = np.outer(shares, counts * values / n).ravel()
        return mu, shares
    shares = np.array([1.0])
    for counts, values in margins:
        # Each count goes to the two steps next to it, so that the mean of ln μ is kept.
        place = np.log(n / counts) / _STEP
        below = np.floor(place).astype(int)
        part = place - below
        weight = counts * values / n
        column = np.bincount(below, weight * (1 - part), int(below.max()) + 2)
        column += np.bincount(below + 1, weight * part, len(column))
        length = len(shares) + len(column) - 1
        both = np.fft.rfft(shares, length) * np.fft.rfft(column, length)
        shares = np.maximum(np.fft.irfft(both, length), 0.0)
    return n * np.exp(-_STEP * np.arange(len(shares))), shares


FORMULAS = {
    "dankar": "P7",
    "pitman": "P4, P5",
    "zayatz": "P3",
    "snb": "P6",
    "poisson_gamma": "P8",
    "dis": "P9",
    "benedetti_franconi": "P10",
    "loglinear": "Skinner & Shlomo",
}
MODELS = ("auto", *FORMULAS)
# The models that count the people who are unique in the population.
_OF_UNIQUES = ("dankar", "pitman", "zayatz", "snb", "poisson_gamma", "loglinear")
_WITH_WEIGHTS = ("auto", "dis", "benedetti_franconi")
_UNEQUAL = "assumes that everybody had the same chance to be in the table; its weights differ"


def estimate(
    sample: Sample,
    model: str = "auto",
    independence: Independence | None = None,
    clustered: ClusteredClasses | None = None,
) -> PopulationEstimate:
    """Bound what the population can be, and ask the models.

    Parameters
    ----------
    sample : Sample
        The table and the size of the population.
    model : str
        One of them, or ``"auto"`` for all that need no more than class sizes.
    independence : Independence, optional
        What an engine found of the columns; the log-linear model needs it.
    clustered : ClusteredClasses, optional
        The clusters that the records come from, where whole clusters were drawn: bounds alone.

    Returns
    -------
    PopulationEstimate
        The bounds, and one estimate per model.

    See Also
    --------
    anonrisk.predict_population : of a table
    anonrisk.predict.population.bounds : the bounds alone

    Examples
    --------
    >>> from anonrisk.predict.population import Sample, estimate
    >>> found = estimate(Sample.of({1: 400, 2: 150, 3: 60, 4: 30, 5: 10}, 1500))
    >>> found.uniques.low <= found["dankar"].uniques <= found.uniques.high
    True
    """
    check_model(model)
    instance_of(sample, Sample, "sample")
    if clustered is not None and model != "auto":
        raise ArgumentError(
            f"model={model!r} takes persons to be drawn singly: leave it out with cluster="
        )
    if sample.n == sample.N:
        return _whole(sample, model)
    if model == "loglinear" and independence is None and sample.s(1):
        raise ArgumentError(
            "the log-linear model needs the columns: call it on the table, not on its class sizes"
        )
    outcome = bounds(sample, clustered)
    if outcome.widened > 1:
        warn_of_approximation(
            "the class sizes are not those of a simple random sample (were small classes removed "
            "from it?): the bounds are no longer 95% ones, and no model holds"
        )
    if clustered is not None:
        return _result(sample, outcome, [])
    if model == "auto":
        return _result(sample, outcome, [_tried(sample, name, outcome) for name in _asked(sample)])
    result = _result(sample, outcome, [_estimate(sample, model, outcome, independence)])
    _warn_of_doubt(result.estimates[0])
    return result


def estimate_weighted(
    weighted: WeightedClasses, population_size: int, model: str = "auto"
) -> PopulationEstimate:
    """Ask what can be asked of a table with unequal weights, and bound by what is certain."""
    check_model(model)
    sample = Sample.of(weighted.sizes, population_size)
    if weighted.equal:
        return estimate(sample, model)
    if model not in _WITH_WEIGHTS:
        raise ModelError(f"model {model!r} {_UNEQUAL}")

    def with_weights(name: str) -> ModelEstimate:
        if name == "benedetti_franconi":
            return of_weights(weighted)
        return dis(sample, weight_of_pairs=weighted.pairs)

    if model == "auto":
        rows = [
            _or_reason(name, lambda name=name: with_weights(name))  # type: ignore[misc]
            if name in _WITH_WEIGHTS
            else _failed(name, _UNEQUAL)
            for name in _asked(sample)
        ]
    else:
        rows = [with_weights(model)]
    result = _result(sample, certainties(sample), rows)
    if model != "auto":
        _warn_of_doubt(result.estimates[0])
    return result


def dankar(sample: Sample, known: Bounds | None = None) -> ModelEstimate:
    """Choose among the models as Dankar et al. (2012) do, doubtful ones left out.

    Parameters
    ----------
    sample : Sample
        The table's class sizes and the size of the population.
    known : Bounds, optional
        The bounds of the same sample, where they were computed already.

    Returns
    -------
    ModelEstimate
        That of the model chosen; `note` names it. A `ModelError` where each model that the rule
        chooses from is doubtful or fails.

    See Also
    --------
    anonrisk.predict.population.pitman : the model for small samples
    anonrisk.predict.population.zayatz : one of those for large ones
    anonrisk.predict.population.snb : the other one
    anonrisk.predict.population.bounds : what a gate may rely on

    Notes
    -----
    P7: up to a sampling fraction of 0.1 Pitman, else the lower of Zayatz and SNB, or Zayatz where
    SNB fails. It is a rule, not a bound. The paper takes either whatever the bounds say; here a
    model that is marked doubtful is not taken.

    References
    ----------
    F. K. Dankar et al., *Estimating the Re-identification Risk of Clinical Data Sets*, BMC Medical
    Informatics and Decision Making 12:66, 2012.

    Examples
    --------
    >>> dankar(Sample.of({1: 400, 2: 150, 3: 60, 4: 30, 5: 10}, 1500)).note
    'by snb; a rule, not a bound'
    """
    instance_of(sample, Sample, "sample")
    if known is None:
        known = bounds(sample)
    candidates, refused = [], []
    for model in (pitman,) if sample.f <= FINITE else (zayatz, snb):
        try:
            candidate = doubted(model(sample), known)
        except ModelError as error:
            refused.append(str(error))
            continue
        if candidate.doubtful:
            refused.append(f"{candidate.model} is doubtful ({candidate.note})")
        else:
            candidates.append(candidate)
    if not candidates:
        raise ModelError(f"no model that the rule takes here: {'; '.join(refused)}")
    chosen = min(candidates, key=lambda item: item.uniques or 0.0)
    note = f"by {chosen.model}; a rule, not a bound"
    return replace(chosen, model="dankar", formula="P7", note=note)


def most_uniques(sample: Sample) -> int:
    """Return the most uniques of which, with a chance of 5%, none is in the table.

    Parameters
    ----------
    sample : Sample
        The table's class sizes and the size of the population.

    Returns
    -------
    int
        Number of people.

    See Also
    --------
    anonrisk.predict.population.bounds : where the table has singletons
    anonrisk.predict.population.dankar : uses it where there are none

    Notes
    -----
    P7: the largest U with P(Hypergeometric(N, U, n) = 0) ≥ 0.05, about 3/f.

    References
    ----------
    F. K. Dankar et al., *Estimating the Re-identification Risk of Clinical Data Sets*, BMC Medical
    Informatics and Decision Making 12:66, 2012.

    Examples
    --------
    >>> most_uniques(Sample.of({5: 200}, 100_000))
    297
    """
    instance_of(sample, Sample, "sample")
    n, N = sample.n, sample.N
    low, high = 0, N - n

    def log_chance(U: int) -> float:
        return log_rising(N - n - U + 1, n) - log_rising(N - n + 1, n)

    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if log_chance(middle) >= log(0.05) else (low, middle - 1)
    return low


def check_model(model: str) -> None:
    """Reject a model that there is not."""
    one_of(model, "model", MODELS)


_POINT: dict[str, Callable[[Sample], ModelEstimate]] = {
    "dankar": dankar,
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": snb,
    "poisson_gamma": poisson_gamma,
    "dis": dis,
    "benedetti_franconi": of_sample,
}


def _asked(sample: Sample) -> list[str]:
    """List the models for a table: without singletons those of uniques have one answer only."""
    if sample.s(1):
        return list(_POINT)
    return ["dankar", "dis", "benedetti_franconi"]


def _estimate(
    sample: Sample, model: str, known: Bounds, independence: Independence | None = None
) -> ModelEstimate:
    if model in _OF_UNIQUES and not sample.s(1):
        return ModelEstimate(
            model,
            "P7",
            REGISTER,
            converged=False,
            interval=Interval(0, most_uniques(sample)),
            note="no singletons in the table: an upper bound of the uniques at 95%, not none",
        )
    if model == "loglinear" and independence is not None:
        return loglinear(sample, independence)
    return dankar(sample, known) if model == "dankar" else _POINT[model](sample)


def _tried(sample: Sample, model: str, known: Bounds) -> ModelEstimate:
    return _or_reason(model, lambda: _estimate(sample, model, known))


def _or_reason(model: str, ask: Callable[[], ModelEstimate]) -> ModelEstimate:
    try:
        return ask()
    except ModelError as error:
        return _failed(model, str(error))


def _failed(model: str, reason: str) -> ModelEstimate:
    attacker = {"dis": ONE_MATCH, "benedetti_franconi": EVERY_RECORD}.get(model, LINKER)
    return ModelEstimate(model, FORMULAS[model], attacker, converged=False, note=reason)


def _whole(sample: Sample, model: str) -> PopulationEstimate:
    """Return the counts of a table that is the population itself."""
    s1 = sample.s(1)
    name = "count" if model == "auto" else model
    row = ModelEstimate(
        name,
        "T1",
        REGISTER,
        uniques=float(s1),
        singletons_unique=1.0 if s1 else None,
        matches=float(s1),
        note="the table is the whole population: counted, not estimated",
    )
    return _result(sample, counted(sample), [row])


def _result(
    sample: Sample,
    result: Bounds,
    rows: Sequence[ModelEstimate],
) -> PopulationEstimate:
    sizes = sample.classes_of
    return PopulationEstimate(
        population_size=sample.N,
        n_records=sample.n,
        singletons=sample.s(1),
        uniques=result.uniques,
        likely_uniques=result.likely_uniques,
        singletons_unique=result.singletons_unique,
        matches=result.matches,
        widened=result.widened,
        basis=result.basis,
        estimates=tuple(doubted(row, result) for row in rows),
        qid=sizes.qid,
        unit=sizes.unit,
        missing=sizes.missing,
        n_dropped=sizes.n_dropped,
    )


def _warn_of_doubt(model_estimate: ModelEstimate) -> None:
    """Warn of an answer that was asked for by name and is known to be doubtful."""
    if model_estimate.doubtful:
        warn_of_approximation(f"{model_estimate.model}: {model_estimate.note}")
