"""Where a share that falls with the group's size, less a cost per group, is largest."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


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
