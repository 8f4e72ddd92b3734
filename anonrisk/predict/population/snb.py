"""Classes of one plus a negative binomial number of people (SNB), as in Chen & Keller-McNulty."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import positive
from anonrisk.errors import ArgumentError, ModelError
from anonrisk.predict.population.sample import LINKER, ModelEstimate, Sample, require_tenth

if TYPE_CHECKING:
    from anonrisk.core.types import Floats
    from anonrisk.predict.population.sample import Histogram

# Where the search for ln α and the log-odds of β starts, and beyond which it is lost. Chosen: a
# fit that no start leads to is refused, so that fewer of them refuse more and change no estimate
# but where there are several.
_STARTS = [(a, b) for a in (-3.0, -1.0, 0.0, 1.0, 3.0) for b in (-4.0, -2.0, -0.5, 1.0, 3.0)]
_FAR = 30.0
# A fit whose classes hold this share more or fewer people than there are contradicts itself.
_OFF = 0.1


def snb(histogram: Histogram | Sample, population_size: int = 0) -> ModelEstimate:
    """Estimate the people who are unique in the population by the slide negative binomial model.

    Parameters
    ----------
    histogram : ClassCounts, mapping of size to number of classes, or Sample
        The class sizes of the table.
    population_size : int
        Number of people in the population; not used with a `Sample`.

    Returns
    -------
    ModelEstimate
        With `uniques`, the people who are unique in the population.

    See Also
    --------
    anonrisk.predict.population.snb_chances : the model's chances for one class
    anonrisk.predict.population.zayatz : the other model for large samples
    anonrisk.predict.population.bounds : what holds whatever the model

    Notes
    -----
    P6: population classes have 1 + NB(α, β) people; their number K is Shlosser's third estimator,
    and α and β fit the table's classes of one and of two. Refused below a sampling fraction of
    0.1, where K is up to twice too high. Nothing in the fit makes its classes hold N people,
    K (1 + α(1 − β)/β): a tenth more or fewer, and it is doubtful.

    References
    ----------
    - G. Chen & S. Keller-McNulty, *Estimation of Identification Disclosure Risk in Microdata*,
      Journal of Official Statistics 14(1), 1998, 79-95.
    - F. K. Dankar et al., *Estimating the Re-identification Risk of Clinical Data Sets*, BMC
      Medical Informatics and Decision Making 12:66, 2012.

    Examples
    --------
    >>> round(snb({1: 400, 2: 150, 3: 60, 4: 30, 5: 10}, 2100).uniques)
    432
    """
    sample = Sample.of(histogram, population_size)
    require_tenth(sample, "SNB")
    if not sample.s(1) or not sample.s(2):
        raise ModelError("SNB needs classes of one and of two, and the table lacks them")
    K = shlosser(sample)
    alpha, beta = _fit(sample, K)
    uniques = K * beta**alpha
    people = K * (1 + alpha * (1 - beta) / beta)
    off = abs(people - sample.N) > _OFF * sample.N
    implied = f"; its classes would hold {people:,.0f} people, not {sample.N:,}" if off else ""
    return ModelEstimate(
        "snb",
        "P6",
        LINKER,
        uniques=uniques,
        singletons_unique=min(1.0, sample.f * uniques / sample.s(1)),
        matches=min(float(sample.s(1)), K * sample.f * _thinned(alpha, beta, sample.f)),
        parameters={"alpha": alpha, "beta": beta, "classes": K},
        doubtful=off,
        note=f"too high where the sample is small{implied}",
    )


def shlosser(sample: Sample) -> float:
    """Estimate the number of classes in the population (Shlosser's third estimator)."""
    f, i, s = sample.f, sample.sizes, sample.classes
    # (1−f)^i((1+f)^i − 1) as (1−f²)^i − (1−f)^i: both powers are below one.
    first = (i * f**2 * (1 - f**2) ** (i - 1) * s).sum() / (
        ((1 - f**2) ** i - (1 - f) ** i) * s
    ).sum()
    second = ((1 - f) ** i * s).sum() / (i * f * (1 - f) ** (i - 1) * s).sum()
    return float(sample.u + sample.s(1) * first * second**2)


def snb_chances(alpha: float, beta: float, f: float) -> tuple[float, float, float]:
    """Return the chances that 0, 1 and 2 people of a population class are in the sample.

    Parameters
    ----------
    alpha, beta : float
        Shape and chance of the negative binomial law: classes have 1 + NB(alpha, beta) people.
    f : float
        Share of the population that is in the sample.

    Returns
    -------
    tuple of float

    See Also
    --------
    anonrisk.predict.population.snb : fits them to a table
    anonrisk.predict.population.bethlehem : another law of class sizes

    Notes
    -----
    P6, with B = 1 − β, t = 1 − f and D = 1 − tB: of one, f (β/D)^α (1 + tαB/D); of two, ½ f² αB β^α
    D^(−α−2) (2 − (1 − α)tB).

    References
    ----------
    G. Chen & S. Keller-McNulty, *Estimation of Identification Disclosure Risk in Microdata*,
    Journal of Official Statistics 14(1), 1998, 79-95.

    Examples
    --------
    >>> [round(chance, 6) for chance in snb_chances(0.7, 0.2, 0.3)]
    [0.40309, 0.32666, 0.137317]
    """
    positive(alpha, "alpha")
    if not (0 < positive(beta, "beta") <= 1 and 0 < positive(f, "f") <= 1):
        raise ArgumentError("beta and f are shares: above 0, at most 1")
    B, t = 1 - beta, 1 - f
    D = 1 - t * B
    thinned = _thinned(alpha, beta, f)
    p_one = f * thinned * (1 + t * alpha * B / D)
    p_two = 0.5 * f * f * alpha * B * thinned / D**2 * (2 - (1 - alpha) * t * B)
    return t * thinned, p_one, p_two


def _thinned(alpha: float, beta: float, f: float) -> float:
    """Return the chance (β/D)^α that none of the negative binomial number is in the sample."""
    return exp(alpha * (log(beta) - log(1 - (1 - f) * (1 - beta))))


def _fit(sample: Sample, K: float) -> tuple[float, float]:
    """Find α and β that give the classes of one and of two that the table has.

    There may be more than one such pair: the one that also comes nearest to the number of classes
    in the table is taken.
    """
    from scipy.optimize import root

    wanted = np.array([sample.s(1) / K, sample.s(2) / K])
    if wanted.sum() >= 1:
        raise ModelError("SNB cannot be fitted: the table has more classes than its model")

    def gaps(logs: Floats) -> Floats:
        a, b = np.clip(logs, -_FAR, _FAR)
        chances = snb_chances(exp(a), 1 / (1 + exp(-b)), sample.f)
        # As ratios, so that rare classes count as much as common ones.
        ratios: Floats = np.log(np.maximum(chances[1:], 1e-300)) - np.log(wanted)
        return ratios

    best, least = None, np.inf
    for start in _STARTS:
        result = root(gaps, start, method="hybr", tol=1e-12)
        if np.abs(result.fun).max() > 1e-9 or np.abs(result.x).max() >= _FAR:
            continue
        pair = exp(result.x[0]), 1 / (1 + exp(-result.x[1]))
        gap = abs(K * (1 - snb_chances(*pair, sample.f)[0]) - sample.u)
        if gap < least:
            best, least = pair, gap
    if best is None:
        raise ModelError(
            "SNB cannot be fitted: no parameters give the table's classes of one and of two"
        )
    return best
