"""A table made smaller or up to twice as large, without a model (P1, P2)."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.arguments import not_negative, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.errors import ArgumentError, ModelError
from anonrisk.predict.population.sample import class_sizes

if TYPE_CHECKING:
    from anonrisk.core.types import Floats
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.predict.population.sample import Histogram

# A mean whose standard deviation is more than this share of it says nothing.
MAX_RELATIVE_SD = 0.5


@dataclass(frozen=True, repr=False)
class GoodToulmin(PrintedFields):
    """Classes of one size in a group up to twice as large as a table.

    Attributes
    ----------
    mean : float
        Expected number of classes.
    sd : float
        Standard deviation of that estimate.
    sd_enlarged : float
        Standard deviation of its distance from the number in a group that holds this table.
    sd_separate : float
        The same for a group drawn anew from the same population.
    """

    mean: float
    sd: float
    sd_enlarged: float
    sd_separate: float


def thinned(histogram: Histogram, t: float, *, size: int = 1) -> float:
    """Return the expected number of classes of a size when each record stays with chance `t`.

    Parameters
    ----------
    histogram : ClassCounts, or mapping of size to number of classes
        The class sizes of the table.
    t : float
        Share of the records that stay, at most 1.
    size : int
        Size of the classes asked about.

    Returns
    -------
    float
        Expected number of classes.

    See Also
    --------
    anonrisk.predict.population.good_toulmin : larger groups
    anonrisk.predict_classes : a group of exactly so many people

    Notes
    -----
    P1: Σ C(i, j) tʲ (1 − t)^(i−j) sᵢ.

    References
    ----------
    I. J. Good & G. H. Toulmin, *The Number of New Species, and the Increase in Population Coverage,
    when a Sample is Increased*, Biometrika 43, 1956, 45-63.

    Examples
    --------
    >>> thinned({1: 4, 2: 2}, 0.5)
    3.0
    """
    sizes = class_sizes(histogram)
    if positive(t, "t") > 1:
        raise ArgumentError("t is above 1: ask `good_toulmin` about a larger group")
    return float((coefficients(sizes, t, size) * sizes.classes).sum())


def good_toulmin(
    histogram: Histogram,
    t: float,
    *,
    size: int = 1,
    variance: float | None = None,
    max_relative_sd: float = MAX_RELATIVE_SD,
) -> GoodToulmin:
    """Estimate the number of classes of a size in a group `t` times as large as the table.

    Parameters
    ----------
    histogram : ClassCounts, or mapping of size to number of classes
        The class sizes of the table.
    t : float
        Size of the group over that of the table, from 1 to 2.
    size : int
        Size of the classes asked about; 1 for singletons.
    variance : float, optional
        Variance of that number among separate groups, if known; else the mean stands in for it,
        which is not less.
    max_relative_sd : float
        Refuse an estimate whose standard deviation is a larger share of it.

    Returns
    -------
    GoodToulmin

    See Also
    --------
    anonrisk.predict.population.thinned : smaller groups
    anonrisk.predict_singletons : with an interval for another group

    Notes
    -----
    P2: with aᵢ = C(i, j) tʲ (1 − t)^(i−j), the unbiased estimate is Σ aᵢsᵢ, its variance Σ aᵢ²sᵢ.
    Above twice the table's size it is noise, and refused.

    References
    ----------
    I. J. Good & G. H. Toulmin, *The Number of New Species, and the Increase in Population Coverage,
    when a Sample is Increased*, Biometrika 43, 1956, 45-63.

    Examples
    --------
    >>> found = good_toulmin({1: 400, 2: 100, 3: 20}, 1.5)
    >>> round(found.mean, 1), round(found.sd, 1), round(found.sd_enlarged, 1)
    (472.5, 33.9, 26.0)
    """
    sizes = class_sizes(histogram)
    if not 1 <= positive(t, "t") <= 2:
        raise ArgumentError(
            "Good-Toulmin takes groups of 1 to 2 times the table; for larger ones ask "
            "`predict_population`, for smaller ones draw from the table"
        )
    limit = positive(max_relative_sd, "max_relative_sd")
    if variance is not None:
        not_negative(variance, "variance")
    a = coefficients(sizes, t, size)
    mean, square = float((a * sizes.classes).sum()), float((a * a * sizes.classes).sum())
    if sqrt(square) > limit * mean:
        raise ModelError(
            "Good-Toulmin cannot decide: its estimate has a standard deviation of "
            f"{sqrt(square):.3g}, more than {limit:.0%} of the estimate itself; ask about a "
            "smaller group"
        )
    among = mean if variance is None else variance
    # The second is unbiased for a variance that may be next to nothing.
    return GoodToulmin(
        mean, sqrt(square), sqrt(max(square - mean, 0.0)), sqrt(square + max(among, 0.0))
    )


def coefficients(sizes: ClassCounts, t: float, size: int) -> Floats:
    """Return C(i, j) t^j (1 − t)^(i−j) for each size i of a table."""
    from scipy.special import gammaln, xlogy

    j = whole_number(size, "size", at_least=1)
    i = sizes.sizes.astype(float)
    more = np.maximum(i - j, 0.0)
    logs = gammaln(i + 1) - gammaln(j + 1) - gammaln(more + 1)
    logs = logs + j * np.log(t) + xlogy(more, abs(1 - t))
    signs = np.where((more % 2 == 1) & (t > 1), -1.0, 1.0)
    return np.where(i >= j, signs * np.exp(logs), 0.0)
