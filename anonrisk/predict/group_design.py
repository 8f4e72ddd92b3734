"""The best size of a group, where a larger group hides people and every group costs (S5)."""

from __future__ import annotations

from heapq import heappop, heappush
from math import ceil, e, exp
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, one_of
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.predict.distribution import Distribution
from anonrisk.predict.kl import KnownByKl, expected_singletons
from anonrisk.predict.moments import mean

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, repr=False)
class GroupDesign(Document, render.PrintedLines):
    """The best size of a group; made by `best_group_size`.

    Attributes
    ----------
    group_size : int
        Number of people in a group that is worth most.
    cost_per_group : float
        What a group costs, in people who are singled out.
    fraction : float
        Expected share of the people who are singled out with groups of this size.
    worth : float
        What is maximised: that share less the cost of the groups, per person.
    method : str
        ``"exact"`` or ``"kl"``.
    """

    group_size: int
    cost_per_group: float
    fraction: float
    worth: float
    method: str

    def _lines(self) -> list[str]:
        people = render.count_of(self.group_size, "person", "people")
        how = "exact mean" if self.method == "exact" else "approximated from kl"
        alone = f"{render.percent(self.fraction)} of the people are then singled out"
        return [
            f"Best group: {people}, at a cost of {self.cost_per_group:g} per group",
            f"{alone}, {self.worth:.3g} per person less the cost ({how})",
        ]


def best_group_size(
    known: Distribution | KnownByKl | tuple[int, float],
    cost_per_group: float,
    *,
    method: str = "auto",
) -> GroupDesign:
    """Find how many people should share a group so that most are told apart at least cost.

    The designer of, say, a postal code wants that code and age together tell people apart: small
    groups do so best, but every group costs.

    Parameters
    ----------
    known : Distribution, or n_values and kl
        How likely the values are within a group (ages, in the example), or only their number
        and divergence from uniform: ``(95, 0.03)`` or ``Distribution.from_kl(95, 0.03)``.
    cost_per_group : float
        What one more group costs, counted in people who are singled out.
    method : {"auto", "exact", "kl"}
        ``"auto"`` is exact where the distribution is known.

    Returns
    -------
    GroupDesign

    See Also
    --------
    anonrisk.predict.singletons : how many of such a group are alone
    anonrisk.predict.suggest_width : wider values instead of larger groups

    Notes
    -----
    With k people a group, maximised over whole k is E S / k − C / k: ``"exact"`` takes the exact
    mean (S2), ``"kl"`` S5 as printed, e^(−a)(1 + κ a(a − 2)) − C / k with a = k/N, within the
    limits where that is good. Refused where no size is worth its cost; for the latter, C ≥ (1 − κ)
    N / e.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Example 5.6 and
    Remark 5.4; corrected as in docs/formulas.md, ``koot-remark-5.4``.

    Examples
    --------
    >>> from anonrisk.predict import Distribution, best_group_size
    >>> best_group_size((95, 0.0), 10)
    Best group: 38 people, at a cost of 10 per group
    67.0% of the people are then singled out, 0.407 per person less the cost
      (approximated from kl)
    >>> best_group_size(Distribution.uniform(95), 10).group_size
    37
    """
    one_of(method, "method", ("auto", "exact", "kl"))
    cost = not_negative(cost_per_group, "cost_per_group")
    value = _known(known)
    if isinstance(value, KnownByKl):
        if method == "exact":
            raise ArgumentError("the exact form needs the distribution itself, not n_values and kl")
        return _by_kl(value, cost)
    if method == "kl":
        return _by_kl(KnownByKl(value.n_values, value.kl), cost)
    return _exactly(value, cost)


def _exactly(known: Distribution, cost: float) -> GroupDesign:
    p, w = known.p, known.values

    def share(k: int) -> float:
        return mean(p, w, k) / k

    # Beyond 1/p every value is had by one person less and less often.
    return _design(share, cost, ceil(1 / float(p.min())), "exact", known.n_values)


def _by_kl(known: KnownByKl, cost: float) -> GroupDesign:
    n, kl = known.n_values, known.kl
    if cost >= (1 - kl) * n / e:
        raise _too_expensive(cost, n)

    def share(k: int) -> float:
        a = k / n
        return exp(-a) * (1 + kl * a * (a - 2))

    # The number of singletons is largest at k = N for every κ that may be used.
    design = _design(share, cost, n, "kl", n)
    expected_singletons(known, design.group_size)
    return design


def _design(
    share: Callable[[int], float], cost: float, upto: int, method: str, n_values: int
) -> GroupDesign:
    k, worth = best_whole(share, cost, upto)
    if worth <= 0:
        raise _too_expensive(cost, n_values)
    return GroupDesign(k, cost, share(k), worth, method)


def _too_expensive(cost: float, n_values: int) -> ArgumentError:
    return ArgumentError(
        f"cost_per_group={cost:g} is more than a group of any size is worth: with {n_values:,} "
        f"values a group can single out about {n_values / e:.3g} people at best"
    )


def _known(value: Any) -> Distribution | KnownByKl:
    if isinstance(value, (Distribution, KnownByKl)):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return KnownByKl(*value)
    raise ArgumentError(
        f"give a Distribution, or n_values and kl as a pair, not {render.kind_name(value)}"
    )


def best_whole(share: Callable[[int], float], cost: float, upto: int) -> tuple[int, float]:
    """Find the whole k from 1 to `upto` with the largest share(k) − cost/k; the least of equals.

    `share` must not rise with k. Then share(a) − cost/b bounds everything between a and b, and
    intervals whose bound is no better than the best seen are never looked into: the answer is
    the true maximum, however many local ones there are.

    Examples
    --------
    >>> best_whole(lambda k: 0.9**k, 1.0, 1_000)[0]
    4
    """
    best, value = 1, share(1) - cost

    def see(k: int) -> float:
        nonlocal best, value
        part = share(k)
        if (part - cost / k, -k) > (value, -best):
            best, value = k, part - cost / k
        return part

    waiting: list[tuple[float, int, int]] = []

    def look_into(low: int, high: int, at_low: float) -> None:
        bound = at_low - cost / high
        if high > low and bound >= value:
            heappush(waiting, (-bound, low, high))

    # Doubling first: a good value soon, and no interval in which cost/k changes its magnitude.
    low, at_low = 1, share(1)
    while low < upto:
        high = min(2 * low, upto)
        at_high = see(high)
        look_into(low, high, at_low)
        low, at_low = high, at_high
    while waiting:
        bound, low, high = heappop(waiting)
        if -bound < value or high - low < 2:
            continue
        middle = (low + high) // 2
        at_middle = see(middle)
        look_into(low, middle, share(low))
        look_into(middle, high, at_middle)
    return best, value
