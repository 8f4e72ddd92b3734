"""Singletons among very many values, whose probabilities have a density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.arguments import positive
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


def density_limit(phi: Callable[[float], float], per_value: float) -> float:
    """Share of values with a singleton, as their number grows, for a density of probabilities.

    Parameters
    ----------
    phi : function on [0, 1]
        Density of the probabilities relative to uniform: value i of N has φ(i/N)/N.
    per_value : float
        People a value, a = k/N.

    Returns
    -------
    float

    See Also
    --------
    anonrisk.predict.density_variance_limit : the variance
    anonrisk.predict.singletons : exact, for as many values as there are

    Notes
    -----
    C1: E S / N → a ∫ φ e^(−aφ) over [0, 1].

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Proposition 5.7
    and Example 5.8; corrected as in docs/formulas.md, ``koot-example-5.8``.

    Examples
    --------
    >>> from anonrisk.predict import density_limit
    >>> round(density_limit(lambda x: 2 * x, 0.8), 5)
    0.29692
    """
    a, phi = positive(per_value, "per_value"), _relative_density(phi)
    return a * _over_values(lambda x: phi(x) * np.exp(-a * phi(x)))


def density_variance_limit(phi: Callable[[float], float], per_value: float) -> float:
    """Variance of the number of singletons a value, as the number of values grows.

    Parameters
    ----------
    phi, per_value
        As in `density_limit`.

    Returns
    -------
    float
        Times the number of values it is the variance of the number of singletons.

    See Also
    --------
    anonrisk.predict.density_limit : the mean
    anonrisk.predict.singletons : exact, for as many values as there are

    Notes
    -----
    C2: Var S / N → ∫ (aφ e^(−aφ) − a²φ² e^(−2aφ)) − a (∫ φ(1 − aφ) e^(−aφ))² over [0, 1]. The last
    term is what a fixed group size takes away.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Proposition
    5.11; corrected as in docs/formulas.md, ``koot-proposition-5.11``.

    Examples
    --------
    >>> from anonrisk.predict import density_variance_limit
    >>> round(density_variance_limit(lambda x: 2 * x, 0.8), 5)
    0.19918
    """
    a, phi = positive(per_value, "per_value"), _relative_density(phi)

    def own(x: float) -> float:
        alone = a * phi(x) * np.exp(-a * phi(x))
        return float(alone - alone**2)

    drift = _over_values(lambda x: phi(x) * (1 - a * phi(x)) * np.exp(-a * phi(x)))
    return _over_values(own) - a * drift**2


def _relative_density(phi: Any) -> Callable[[float], float]:
    if not callable(phi):
        raise ArgumentError("phi must be a function on [0, 1]")
    try:
        seen = np.array([phi(x) for x in np.linspace(0, 1, 101)], dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError("phi must give a number for every number of [0, 1]") from None
    # The other way round, a density that is not a number would pass.
    if not (seen >= 0).all() or not abs(_over_values(phi) - 1) <= 1e-6:
        raise ArgumentError("phi must be a density on [0, 1]: never below 0, with integral 1")
    checked: Callable[[float], float] = phi
    return checked


def _over_values(g: Callable[[float], float]) -> float:
    from scipy.integrate import quad

    return float(quad(g, 0, 1, limit=200)[0])
