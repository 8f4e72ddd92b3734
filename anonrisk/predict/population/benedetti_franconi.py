"""Risk of each record from its class and the sum of its weights (P10; Benedetti & Franconi)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.errors import ArgumentError
from anonrisk.predict.distribution import as_floats
from anonrisk.predict.population.sample import EVERY_RECORD, ModelEstimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from anonrisk.core.types import Floats
    from anonrisk.measures.counts.population import WeightedClasses
    from anonrisk.predict.population.sample import Sample

# Up to this size, and p up to a half, the recursion is stable; else so is the series.
RECURSION = 40
# Terms of the series that reach the last bit.
TERMS = 60
NOTE = "rests on a model that understates sparse keys, up to twenty times"


def benedetti_franconi(size: ArrayLike, weight: ArrayLike) -> Floats:
    """Return the risk E(1/F | f) of a record whose class has `size` records.

    Parameters
    ----------
    size : int or array
        Number f of records in the class.
    weight : float or array
        Sum of their sampling weights, at least f.

    Returns
    -------
    array

    See Also
    --------
    anonrisk.predict.population.dis : without a model, for unique matches
    anonrisk.risk : bounds, and this beside them

    Notes
    -----
    P10: F − f is negative binomial with p = f / Σ weights, hence
    E(1/F) = (pᶠ/f) ₂F₁(f, f; f + 1; 1 − p) = ∫₀¹ vᶠ⁻¹ / (1 + v (1 − p)/p) dv.
    It is model-based, and understates the risk where keys are sparse.

    References
    ----------
    R. Benedetti & L. Franconi, *Statistical and Technological Solutions for Controlled Data
    Dissemination*, New Techniques and Technologies for Statistics, 1998.

    Examples
    --------
    >>> benedetti_franconi([1, 2, 3], [10, 20, 30]).round(6).tolist()
    [0.255843, 0.082684, 0.046368]
    """
    f, W = np.broadcast_arrays(as_floats(size, "size"), as_floats(weight, "weight"))
    if (f < 1).any() or (f % 1 != 0).any():
        raise ArgumentError("a class has a whole number of records, at least 1")
    if not (np.isfinite(W) & (f * (1 - 1e-12) <= W)).all():
        raise ArgumentError("the weights of a class sum to at least its number of records")
    p = np.minimum(f / W, 1.0)
    recursive = (f <= RECURSION) & (p <= 0.5)
    risk = np.empty(p.shape)
    risk[recursive] = _recursion(f[recursive], p[recursive])
    risk[~recursive] = _series(f[~recursive], p[~recursive])
    return risk


def _recursion(f: Floats, p: Floats) -> Floats:
    """From ln(1 + ρ)/ρ upwards, ρ = (1 − p)/p: each step divides what was rounded by ρ ≥ 1."""
    rho = (1 - p) / p
    risk = np.log1p(rho) / rho
    for i in range(1, int(f.max(initial=1))):
        risk = np.where(i < f, (1 / i - risk) / rho, risk)
    return risk


def _series(f: Floats, p: Floats) -> Floats:
    """Sum (p/f) Σ k!/((f+1)…(f+k)) (1 − p)^k."""
    term = np.ones(p.shape)
    total = term.copy()
    for k in range(1, TERMS + 1):
        term = term * (1 - p) * k / (f + k)
        total += term
    return p / f * total


def of_sample(sample: Sample) -> ModelEstimate:
    """Return the risks where everybody had the same chance to be in the table."""
    risks = benedetti_franconi(sample.sizes, sample.sizes / sample.f)
    singles = float(risks[0]) if sample.s(1) else 0.0
    every = float((sample.sizes * sample.classes * risks).sum())
    return _estimate(sample.s(1), singles * sample.s(1), every, float(risks[0]))


def of_weights(weighted: WeightedClasses) -> ModelEstimate:
    """Return the risks from sampling weights."""
    return _estimate(weighted.sizes.singletons, weighted.singles, weighted.all, weighted.highest)


def _estimate(s1: int, singles: float, every: float, highest: float) -> ModelEstimate:
    return ModelEstimate(
        "benedetti_franconi",
        "P10",
        EVERY_RECORD,
        matches=singles if s1 else None,
        reidentifications=every,
        highest_risk=highest,
        note=NOTE,
    )
