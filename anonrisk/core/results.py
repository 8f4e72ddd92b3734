"""Numbers that must not be read alone: floats that print what stands beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, repr=False)
class Interval:
    """From a low to a high end, with the probability that the truth lies between, if it is known.

    Examples
    --------
    >>> low, high = Interval(2, 9, level=0.95)
    >>> low, high
    (2, 9)
    >>> 3 in Interval(1, 4), Interval(1, 4) / 2
    (True, Interval(low=0.5, high=2.0))
    """

    low: float
    high: float
    level: float | None = None

    def __iter__(self) -> Iterator[float]:
        """Unpack as low, high."""
        return iter((self.low, self.high))

    def __contains__(self, number: float) -> bool:
        """Tell whether a number lies between the ends, the ends included."""
        return self.low <= number <= self.high

    def __truediv__(self, number: float) -> Interval:
        """Divide both ends, as a number of people becomes a share of them."""
        return Interval(self.low / number, self.high / number, self.level)

    def __repr__(self) -> str:
        """Show the ends, and the level where there is one."""
        level = "" if self.level is None else f", level={self.level!r}"
        return f"Interval(low={self.low!r}, high={self.high!r}{level})"


class Probability(float):
    """A chance that prints how it was computed.

    Attributes
    ----------
    log : float
        Its natural logarithm, also where the chance itself is too small for a float.
    complement : float
        One minus the chance, without the loss of digits.
    method : str
        ``"exact"``, ``"saddlepoint"`` or ``"kl"``.
    """

    log: float
    complement: float
    method: str

    def __new__(cls, log: float, method: str, complement: float | None = None) -> Self:
        """Make the number from its logarithm."""
        from math import exp, expm1

        number = super().__new__(cls, exp(log))
        number.log, number.method = log, method
        number.complement = -expm1(log) if complement is None else complement
        return number

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and pickles keep the rest."""
        return type(self), (self.log, self.method, self.complement)

    def __repr__(self) -> str:
        """Show the number and the method."""
        return f"{float(self)!r} ({self.method})"

    __str__ = __repr__


class LowerBound(float):
    """Fischer-Hübner's average risk, a lower bound, beside classes / records, which it bounds.

    It is a float in every calculation; only its printed form says more.

    Attributes
    ----------
    classes_per_record : float
        The number of classes divided by the number of records: the average risk that this
        figure can only understate.
    """

    classes_per_record: float

    def __new__(cls, value: float, classes_per_record: float) -> Self:
        """Make the number and keep what it is a lower bound of."""
        number = super().__new__(cls, value)
        number.classes_per_record = classes_per_record
        return number

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        """Let copies and pickles keep the second number."""
        return float(self), self.classes_per_record

    def __repr__(self) -> str:
        """Show both numbers."""
        return f"{float(self)!r} (a lower bound; classes/records {self.classes_per_record!r})"

    __str__ = __repr__


class Divergence(float):
    """A Kullback-Leibler distance in nats from the uniform law, with the law it was taken from.

    Attributes
    ----------
    n_values : int
        Number of values of the uniform law.
    domain_given : bool
        Whether the caller gave that number; if not, it is the number of classes that occur.
    """

    n_values: int
    domain_given: bool

    def __new__(cls, value: float, n_values: int, *, domain_given: bool) -> Self:
        """Make the number and keep the law it refers to."""
        number = super().__new__(cls, value)
        number.n_values = n_values
        number.domain_given = domain_given
        return number

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and pickles keep the law."""
        return _divergence, (float(self), self.n_values, self.domain_given)

    def __repr__(self) -> str:
        """Show the number and the law."""
        values = (
            f"{self.n_values:,} values given"
            if self.domain_given
            else (f"{self.n_values:,} classes that occur")
        )
        return f"{float(self)!r} (nats, from the uniform law on the {values})"

    __str__ = __repr__


class Closeness(float):
    """A distance between a class and its table, with the kind of distance that was taken.

    Attributes
    ----------
    distance : str
        ``"equal"``, ``"ordered"`` or ``"hierarchical"``.
    """

    distance: str

    def __new__(cls, value: float, distance: str) -> Self:
        """Make the number and keep the kind of distance."""
        number = super().__new__(cls, value)
        number.distance = distance
        return number

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        """Let copies and pickles keep the kind of distance."""
        return float(self), self.distance

    def __repr__(self) -> str:
        """Show the number and the kind of distance."""
        return f"{float(self)!r} ({self.distance} distance)"

    __str__ = __repr__


def _divergence(value: float, n_values: int, domain_given: bool) -> Divergence:  # noqa: FBT001
    return Divergence(value, n_values, domain_given=domain_given)
