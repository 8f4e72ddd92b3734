"""Whether the identifiers of persons may have been renewed between two releases.

A person with a new identifier is one who left and one who came. Whoever really left then hides
among people who did not, and a comparison counts too few as exposed.
"""

from __future__ import annotations

from functools import lru_cache
from math import fsum, log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats, Integers

# Below this chance nobody takes it for coming and going. Chosen: a release is compared with each of
# a year or two of earlier ones, and all of these together may alarm once in a hundred checks.
CHANCE = 0.001
# The t of Chernoff's bound. It holds for each, and the best of them is taken.
_STEPS = np.geomspace(0.01, 10_000, 40)
# A bound as near to CHANCE may be one of a chance below: it is about eight times as large there.
_NEAR = 0.05
# The grid on which the chance is then counted. What rounding to it loses grows with the profiles:
# of more than these Chernoff's bound is as good, and people are enough to see a tenth of them.
_POINTS = 2**16
_MOST_PROFILES = 1_000
# Standard deviations beyond which a difference adds nothing that a float could hold.
_WIDEST = 12


def chance_by_churn(left: Integers, came: Integers, before: Integers) -> float:
    r"""Bound the chance that leavers and newcomers are so alike if each came and went alone.

    Parameters
    ----------
    left, came, before : array
        For each profile (the same classes, or classes and sensitive values), the persons who are
        in the earlier release only, in the newer one only, and in the earlier one at all.

    Returns
    -------
    float
        At most that chance; 1 where nobody left or nobody came.

    Notes
    -----
    With :math:`L_p` leavers and :math:`A_p` newcomers of profile p and :math:`T_p=L_p+A_p`,

    .. math:: X = \sum_{p:\,T_p>0} \frac{(L_p - A_p)^2}{T_p}.

    A renewed identifier adds one to both, and nothing to the difference: X is too small to be true,
    as Mendel's counts were. If people come and go independently, then given :math:`T_p` each of
    these is a leaver by a coin of that profile, :math:`L_p \sim B(T_p, \theta_p)`. Of all coins the
    fair one makes a small :math:`|L_p - A_p|` most likely (the probability of an interval around
    :math:`T_p/2` has its maximum there), so that rates may differ from profile to profile, and
    newcomers from leavers: this makes X only larger. By Chernoff, for each :math:`t>0`,

    .. math:: P(X \le x) \le e^{tx} \prod_p E\,e^{-t(2S_p-T_p)^2/T_p}, \qquad
              S_p \sim B(T_p, \tfrac12).

    Where that is below 0.05, and of up to 1,000 profiles, the chance itself is counted: the terms
    of X, rounded down to a grid and weighted with :math:`e^{-tX}` for the best of these t, are
    added up by Fourier transforms. The rounding, and sums beyond the grid that reappear at its
    beginning, only add to the chance.

    Coins are right where the earlier persons are drawn at random too. Of a profile that always has
    :math:`B_p` persons, a share :math:`\varepsilon_p` of whom leaves, the variance of
    :math:`L_p` is smaller by the factor :math:`1-\varepsilon_p`. X is therefore divided by the mean
    of :math:`1-L_p\hat\varepsilon_p/T_p` over the profiles, where :math:`\hat\varepsilon_p` is the
    larger of :math:`(L_p-1)/(B_p-1)` and the share of all who left.

    People who come and go together, such as families, make X larger. People who replace each other
    one by one, in posts or rooms, make it as small as renewed identifiers do.

    References
    ----------
    - R. A. Fisher, *Has Mendel's Work Been Rediscovered?*, Annals of Science 1 (1936), 115-137.
    - H. Chernoff, *A Measure of Asymptotic Efficiency for Tests of a Hypothesis Based on the Sum of
      Observations*, Annals of Mathematical Statistics 23 (1952), 493-507.

    Examples
    --------
    >>> as_many, half = np.full(40, 3), np.full(40, 20)
    >>> chance_by_churn(as_many, as_many, half) < 1e-9
    True
    >>> chance_by_churn(np.array([3, 0, 6, 1]), np.array([1, 4, 2, 3]), np.full(4, 20))
    1.0
    """
    total = left + came
    if not left.any() or not came.any():
        return 1.0
    share = np.maximum(left.sum() / before.sum(), (left - 1) / np.maximum(before - 1, 1))
    some = total > 0
    left, came, total, share = left[some], came[some], total[some], share[some]
    # Summed exactly, whatever the order in which the profiles come.
    x = fsum((left - came) ** 2 / total) / (fsum(1 - left * share / total) / len(total))
    sizes, profiles = np.unique(total, return_counts=True)
    from scipy.special import logsumexp

    logs = _STEPS * x
    for size, n in zip(sizes.tolist(), profiles.tolist(), strict=True):
        logs += n * logsumexp(_terms(size)[1], axis=1)
    best = int(logs.argmin())
    result = float(logs[best])
    if result < log(_NEAR) and len(total) <= _MOST_PROFILES:
        result = min(result, _log_chance(x, sizes, profiles, best))
    return float(np.exp(min(result, 0)))


def _log_chance(x: float, sizes: Integers, profiles: Integers, best: int) -> float:
    """Return the log of the chance of x or less, of terms that are rounded down to a grid."""
    from scipy.special import logsumexp

    t, width = _STEPS[best], (2 * x + 1) / _POINTS
    shift, transform = 0.0, np.ones(_POINTS // 2 + 1, dtype=complex)
    for size, n in zip(sizes.tolist(), profiles.tolist(), strict=True):
        values, logs = _terms(size)
        points = (values / width).astype(int)
        weights = logs[best] + t * (values - points * width)
        log_sum = logsumexp(weights)
        within = points < _POINTS
        weighted = np.bincount(points[within], np.exp(weights[within] - log_sum), _POINTS)
        shift += n * log_sum
        transform *= np.fft.rfft(weighted) ** n
    # One point more, since a float may have been rounded up.
    points = np.arange(int(x / width) + 2)
    chance = np.fft.irfft(transform, _POINTS)[: len(points)] @ np.exp(t * (points * width - x))
    return float(t * x + shift + np.log(max(chance, np.finfo(float).tiny)))


# A release that is compared with many others asks for the same sizes again.
@lru_cache(maxsize=1_000)
def _terms(size: int) -> tuple[Floats, Floats]:
    """Return d²/T for d heads more than tails, in either way, of T coins, and log P(d) e^(-t d²/T).

    The second for each t.
    """
    log_factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, size + 1)))))
    d = np.arange(size % 2, min(size, int(_WIDEST * size**0.5) + 1) + 1, 2)
    heads = (size + d) // 2
    ways = log_factorials[size] - log_factorials[heads] - log_factorials[size - heads]
    values = d**2 / size
    logs = ways + (d > 0) * np.log(2) - size * np.log(2)
    return values, logs - _STEPS[:, None] * values
