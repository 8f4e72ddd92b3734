"""What a data holder publishes about a population: a few rounded numbers, no value of a cell.

Rounding to three significant digits moves a number by up to `ROUNDING` of itself, so that every
check allows for that much in each number that takes part in it, and no more.
"""

from __future__ import annotations

import math
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core import render
from anonrisk.core.arguments import day_of, one_of
from anonrisk.core.columns import nearest, several_in_one
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import (
    ArgumentError,
    InvalidPriorError,
    NoColumnsError,
    PopulationTooSmallError,
    RepeatedColumnError,
)
from anonrisk.predict.distribution import Distribution

if TYPE_CHECKING:
    from anonrisk.api.class_sizes import ClassSizes

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


# Names are short words; anything longer is not a name, and must not end up in a database.
LONGEST = 200


@dataclass(frozen=True, repr=False)
class Prior(Document):
    """One submission: how a quasi-identifier is distributed in a population.

    All numbers are rounded to three significant digits, and checked against each other: numbers
    that no population can have are refused.

    Parameters
    ----------
    qid : names
        The columns of the quasi-identifier; their order does not matter.
    population : str or mapping
        Whom the numbers are about, as text (``"Amsterdam 2021"``) or as
        ``{"city": "Amsterdam", "year": 2021}``.
    kl : float
        Kullback-Leibler distance in nats from the uniform law on `n_values` values (H4), as
        counted, without correction.
    s2, s3 : float
        Unbiased chance that two, or three, people share a value: Σc(c−1) / (n(n−1)) over the
        class sizes c, and likewise.
    n_values : int
        Number of values of the quasi-identifier.
    n_records : int
        Number of records that were counted, one a person.
    by : str
        Who publishes.
    when : date, optional
        The day of publication; today (UTC) if left out.
    domain : {"observed", "declared"}
        Whether `n_values` counts the values that occur, or those that can.
    number : int, optional
        Number of the submission, given by the repository.

    Examples
    --------
    >>> from anonrisk.priors import Prior
    >>> prior = Prior(["zip", "age"], "Amsterdam 2021", kl=0.12345, s2=0.0013, s3=2e-6,
    ...               n_values=900, n_records=873_338, by="City of Amsterdam", when="2021-06-01")
    >>> prior.qid, prior.kl, prior.n_records
    (('age', 'zip'), 0.123, 873000)
    """

    qid: tuple[str, ...]
    population: str
    kl: float
    s2: float
    s3: float
    n_values: int
    n_records: int
    by: str
    when: date = None  # type: ignore[assignment]
    domain: str = "observed"
    number: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        numbers = checked(
            kl=self.kl,
            s2=self.s2,
            s3=self.s3,
            n_values=self.n_values,
            n_records=self.n_records,
            domain=self.domain,
        )
        own = {
            "qid": as_qid(self.qid),
            "population": as_population(self.population),
            "by": as_text(self.by, "by"),
            "when": not_in_future(as_day(self.when)),
        }
        for name, value in (own | numbers).items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        counted: ClassSizes,
        *,
        population: Any,
        by: str,
        when: Any = None,
        n_values: int | None = None,
        qid: Any = None,
    ) -> Self:
        """Summarise counted classes; `n_values` where the domain is known.

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> Prior.of(ClassSizes([20, 30], [20, 30], qid=["age"]), population="X", by="Y").s2
        0.02
        """
        qid = as_qid(counted.qid if qid is None else qid)
        if counted.qid and as_qid(counted.qid) != qid:
            raise ArgumentError(
                f"these classes are of {render.joined(counted.qid)}, not of {render.joined(qid)}"
            )
        if counted.n_memberships != counted.n_records:
            raise ArgumentError(
                "some persons have more than one value of this quasi-identifier: "
                "publish a table with one row per person"
            )
        kl = counted.kl(n_values)
        shared = Distribution.from_class_sizes(counted)
        if shared.s2 is None or shared.s3 is None:
            raise PopulationTooSmallError("fewer than three records say nothing that can be shared")
        return cls(
            qid,
            population,
            float(kl),
            shared.s2,
            shared.s3,
            kl.n_values,
            counted.n_records,
            by,
            when,
            "declared" if kl.domain_given else "observed",
        )

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """Read what `to_dict` gave, or a mapping that somebody wrote.

        Examples
        --------
        >>> Prior.from_dict({"qid": ["age"]})
        Traceback (most recent call last):
        ...
        anonrisk.errors.InvalidPriorError: a prior needs population, kl, s2, s3, n_values, ...
        """
        if not isinstance(value, Mapping):
            raise InvalidPriorError(
                f"a prior is a mapping of its fields, not {render.kind_name(value)}"
            )
        known = {entry.name for entry in fields(cls)}
        for name in value:
            if name not in known:
                raise InvalidPriorError(f"a prior has no field {name!r}{nearest(name, known)}")
        needed = [name for name in _NEEDED if value.get(name) is None]
        if needed:
            raise InvalidPriorError(f"a prior needs {', '.join(needed)}")
        return cls(**value)

    def numbered(self, number: int) -> Self:
        """Return the same with the number of its submission."""
        return replace(self, number=number)

    @property
    def entropy(self) -> float:
        """Entropy in nats, as counted: ln(n_values) − kl; unused values do not change it."""
        return entropy(self.kl, self.n_values)

    @property
    def kl_corrected(self) -> float | None:
        """KL without the bias of counting few records: kl − (n_values − 1) / (2 n_records).

        At least 0; none where there are fewer than five records per value, as the bias is then
        not what theory says.
        """
        if self.n_records < 5 * self.n_values:
            return None
        return max(self.kl - (self.n_values - 1) / (2 * self.n_records), 0.0)

    def __repr__(self) -> str:
        """Print as text."""
        people = render.count_of(self.n_records, "record")
        values = f"{self.n_values:,} {self.domain} values"
        return render.fitted(
            f"{render.joined(self.qid)} in {self.population}: {self.kl:g} nats from uniform, "
            f"s2 {self.s2:g}, s3 {self.s3:g}, {values}, about {people}; by {self.by}, {self.when}"
        )


_NEEDED = ("qid", "population", "kl", "s2", "s3", "n_values", "n_records", "by")


def as_qid(value: Any) -> tuple[str, ...]:
    """Read a quasi-identifier as a set of names: sorted, so that their order does not matter."""
    wrong = several_in_one(value)
    if wrong:
        raise ArgumentError(f"qid: {wrong}")
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)):
        raise ArgumentError(f"qid must be a name or a list of names, not {render.kind_name(value)}")
    if not names:
        raise NoColumnsError("qid is empty: name the columns that the numbers are about")
    read = sorted(as_text(name, "a column of qid") for name in names)
    if len(set(read)) != len(read):
        raise RepeatedColumnError("a column of qid is named twice")
    return tuple(read)


def as_population(text: Any) -> str:
    """Read a population: text, or a mapping of attributes to values, in any order."""
    if isinstance(text, Mapping):
        if not text:
            raise ArgumentError("population is empty: say whom the numbers are about")
        text = ", ".join(sorted(f"{name}={value}" for name, value in text.items()))
    return as_text(text, "population")


def as_text(value: Any, what: str) -> str:
    """Read a short printable text; spaces and ways to write an accent do not matter."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} must be text, not {render.kind_name(value)}")
    text = " ".join(unicodedata.normalize("NFC", value).split())
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ArgumentError(f"{what} must be printable text of 1 to {LONGEST} characters")
    return text


def as_day(value: Any) -> date:
    """Read a day: a date, its ISO form, or nothing for today."""
    if value is None:
        return datetime.now(UTC).date()
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return day_of(value)
    except (TypeError, ValueError):
        raise ArgumentError("when must be a date, such as '2021-06-01'") from None


def not_in_future(day: date) -> date:
    """Reject a day that has not come yet: it would stay the latest for good."""
    # Somewhere it is tomorrow already.
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise ArgumentError("when lies in the future")
    return day
