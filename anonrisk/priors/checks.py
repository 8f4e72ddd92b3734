"""Numbers that others publish: rounded, and refused where no population can have them.

Rounding to three significant digits moves a number by up to `ROUNDING` of itself, so that every
check allows for that much in each number that takes part in it, and no more.
"""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real
from typing import Any

from anonrisk.core.arguments import one_of
from anonrisk.errors import InvalidPriorError

DOMAINS = ("observed", "declared")
DIGITS = 3
# The largest relative change: 1.005 becomes 1.00 or 1.01.
ROUNDING = 0.005
_LARGEST = 10**15


def rounded(number: float) -> float:
    """Round to three significant digits.

    Examples
    --------
    >>> rounded(0.0012345), rounded(873_338), rounded(0)
    (0.00123, 873000.0, 0.0)
    """
    return float(f"{number:.{DIGITS - 1}e}")


def entropy(kl: float, n_values: int) -> float:
    """Entropy in nats of a law at a distance from the uniform one (H4)."""
    return max(math.log(n_values) - kl, 0.0)


def checked(
    *, kl: Any, s2: Any, s3: Any, n_values: Any, n_records: Any, domain: Any
) -> dict[str, Any]:
    """Check the numbers of a prior against each other; give them rounded."""
    one_of(domain, "domain", DOMAINS)
    n, values = _count(n_records, "n_records"), _count(n_values, "n_values")
    if n < 3:
        raise InvalidPriorError("n_records must be at least 3: s3 is about three people")
    distance = _number(kl, "kl", 0, math.inf)
    two, three = _number(s2, "s2", 0, 1), _number(s3, "s3", 0, 1)
    if domain == "observed" and values * (1 - ROUNDING) > n * (1 + ROUNDING):
        raise InvalidPriorError(
            f"n_values is {values:,} and n_records {n:,}: there cannot be more observed values "
            "than records; is this a domain='declared'?"
        )
    _check_moments(two, three, values, n)
    _check_kl(distance, two, values, n)
    return {
        "kl": rounded(distance),
        "s2": rounded(two),
        "s3": rounded(three),
        "n_values": round(rounded(values)),
        "n_records": round(rounded(n)),
        "domain": domain,
    }


def _check_kl(kl: float, s2: float, n_values: int, n: int) -> None:
    """Hold κ against its range, and against s2.

    0 ≤ κ ≤ ln N. With the plug-in sum of squares q = (s2(n−1) + 1)/n, Rényi's entropies are
    ordered, so that κ ≤ ln(N q), and by Pinsker's inequality κ ≥ q − 1/N.
    """
    more, less = 1 + ROUNDING, 1 - ROUNDING
    most = math.log(n_values)
    if kl * less > math.log(n_values * more):
        raise InvalidPriorError(
            f"kl is {kl:.4g} nats: from {n_values:,} values it lies between 0 and "
            f"ln({n_values:,}) = {most:.4g}"
        )
    least = math.log(max(n_values * less / (n * more), 1))
    if kl * more < least:
        raise InvalidPriorError(
            f"kl is {kl:.4g} nats: {n:,} records cannot fill {n_values:,} values; at least "
            f"{least:.4g}"
        )
    squares = s2 + (1 - s2) / n
    high = squares * more + ROUNDING / n
    if kl * less > math.log(max(n_values * more * high, 1)):
        raise InvalidPriorError(f"kl {kl:.4g} and s2 {s2:.4g} contradict each other: s2 too small")
    if kl * more < squares * less - 1 / (n_values * less) - ROUNDING / n:
        raise InvalidPriorError(f"kl {kl:.4g} and s2 {s2:.4g} contradict each other: s2 too large")


def _check_moments(s2: float, s3: float, n_values: int, n: int) -> None:
    """Hold s2 and s3 against their ranges, as unbiased estimates from n records have them.

    For many records these are 1/N ≤ s2 ≤ 1 and s2² ≤ s3 ≤ s2^(3/2) ≤ s2. The unbiased ones
    may fall short of the lower ends by what nobody sharing a value with themselves costs:
    s2 ≥ (n/N − 1)/(n − 1), s3 ≥ s2((n − 1)s2 − 1)/(n − 2), s3 ≤ s2^(3/2) √(n(n−1))/(n − 2).
    """
    more, less = 1 + ROUNDING, 1 - ROUNDING
    least = (n * less / (n_values * more) - 1) / (n * more - 1)
    if s2 * more < least:
        raise InvalidPriorError(
            f"s2 is {s2:.4g}: with {n_values:,} values it lies between {max(least, 0):.4g} and 1"
        )
    if s3 * less > s2 * more:
        raise InvalidPriorError(f"s3 is {s3:.4g} and s2 {s2:.4g}: s3 cannot be the larger")
    low, high = s2 * less, s2 * more
    if s3 * more < low * ((n * less - 1) * low - 1) / (n * more - 2):
        raise InvalidPriorError(f"s3 is {s3:.4g}: with s2 {s2:.4g} it is at least s2², {s2**2:.4g}")
    small = n * less
    if s3 * less > high**1.5 * math.sqrt(small * (small - 1)) / (small - 2):
        raise InvalidPriorError(
            f"s3 is {s3:.4g}: with s2 {s2:.4g} it is at most s2^(3/2), {s2**1.5:.4g}"
        )


def _count(value: Any, what: str) -> int:
    whole = not isinstance(value, bool) and isinstance(value, Integral)
    if not whole or not 1 <= value <= _LARGEST:
        raise InvalidPriorError(f"{what} must be a whole number from 1 to 10^15")
    return int(value)


def _number(value: Any, what: str, least: float, most: float) -> float:
    number = not isinstance(value, bool) and isinstance(value, Real)
    if not number or not least <= value <= min(most, sys.float_info.max):
        upto = "up" if math.isinf(most) else f"to {most:g}"
        raise InvalidPriorError(f"{what} must be a number from {least:g} {upto}")
    return float(value)
