"""Whether the identifiers of persons may have been renewed between two releases.

A person with a new identifier is one who left and one who came. Whoever really left then hides
among people who did not, and a comparison counts too few as exposed.
"""

from __future__ import annotations

from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats, Integers

# Below this chance nobody takes it for coming and going. Chosen: a release is compared with each of
# a year or two of earlier ones, and all of these together may alarm once in a hundred checks.
CHANCE = 0.001
# The t of Chernoff's bound. It holds for each, and the best of them is taken.
_STEPS = np.geomspace(0.01, 10_000, 40)
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
    logs = _STEPS * x
    for size, n in zip(sizes.tolist(), profiles.tolist(), strict=True):
        logs += n * _log_mean(size)
    return float(np.exp(min(logs.min(), 0)))


# A release that is compared with many others asks for the same sizes again.
@lru_cache(maxsize=1_000)
def _log_mean(size: int) -> Floats:
    """Return log E exp(-t d²/T) for each t: d heads more than tails, in either way, of T coins."""
    log_factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, size + 1)))))
    d = np.arange(size % 2, min(size, int(_WIDEST * size**0.5) + 1) + 1, 2)
    heads = (size + d) // 2
    ways = log_factorials[size] - log_factorials[heads] - log_factorials[size - heads]
    logs = ways + (d > 0) * np.log(2) - size * np.log(2) - _STEPS[:, None] * (d**2 / size)
    # Without it a mean underflows, and the bound would be 0.
    largest = logs.max(axis=1)
    result: Floats = largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1))
    return result
