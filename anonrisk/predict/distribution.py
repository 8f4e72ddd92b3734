"""How likely each value of a quasi-identifier is: all that a prediction needs to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.predict import bins
from anonrisk.predict.kl import KnownByKl

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.class_sizes import ClassCounts

# Probabilities may be off 1 by what rounding does, not by what a mistake does.
SUM_TOLERANCE = 1e-9


def n_values_of(value: Any, most: float) -> int:
    """Read a number of values, at least one."""
    n = whole_number(value, "n_values", at_least=1)
    if n > most:
        raise ArgumentError(f"n_values must be at most {most:,.0f}")
    return n


def share_of(value: Any) -> float:
    """Read a share of people: 5 is a percentage or a mistake, and would allow everything.

    Examples
    --------
    >>> share_of(0.05)
    0.05
    """
    share = not_negative(value, "share")
    if share > 1:
        raise ArgumentError("share is a part of all people, from 0 to 1; 5% is 0.05")
    return share


def as_array(value: ArrayLike, what: str) -> NDArray[Any]:
    """Read a list of numbers, of one length and none of them masked."""
    if np.ma.is_masked(value):
        raise ArgumentError(f"{what} must not be masked")
    try:
        return np.array(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} must be a list of numbers") from None


def as_floats(value: ArrayLike, what: str) -> Floats:
    """Read a number, or a list of numbers, as floats."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise ArgumentError(f"{what} must be a number or a list of numbers") from None


def check_sum(total: float) -> None:
    """Reject probabilities whose sum is not 1: only counts are divided by theirs."""
    if abs(total - 1) > SUM_TOLERANCE:
        raise ArgumentError(f"probabilities must sum to 1, not to {total:.10g}")


def as_probabilities(p: ArrayLike) -> Floats:
    """Read a list of numbers from zero up; whether they sum to 1 `check_sum` asks."""
    try:
        array = as_array(p, "probabilities").astype(float)
    except (TypeError, ValueError):
        raise ArgumentError("probabilities must be a list of numbers") from None
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise ArgumentError("probabilities must be a list of numbers, none missing or below 0")
    return array


def histogram(counts: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return the different counts above 0, and how many values have each."""
    if int(counts.max()) <= 4 * len(counts) + 1_000:
        # One pass, where sorting all counts takes many.
        number = np.bincount(counts.astype(np.int64, copy=False))
        sizes = np.flatnonzero(number)
        number = number[sizes]
    else:
        sizes, number = np.unique(counts, return_counts=True)
    known = sizes > 0
    return sizes[known].astype(np.int64), number[known].astype(np.int64)


# What is counted fits into a signed number of 64 bits, one to spare for sums.
MAX_VALUES = 2.0**62
# Fewer records per value than this, and the bias of a divergence is not (N − 1)/(2n), which is the
# first term of a series (Miller 1955). Five is chosen: as many as a χ² test asks for by its rule of
# thumb, and 2n times a divergence has that law.
RECORDS_PER_VALUE = 5


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(Document, render.PrintedLines):
    """Probabilities of the values of a quasi-identifier, each with how many values have it.

    Ten million classes of a table are a few thousand different probabilities. Make one with
    `from_counts`, `from_probabilities`, `from_class_sizes`, `uniform`, `zipf`, `product`, or by
    cutting a density into intervals (`normal`, `exponential`, `from_density`).

    Parameters
    ----------
    p : array of float
        The different probabilities, all above 0.
    values : array of int
        For each, the number of values that have it.
    low, high : array of float, optional
        Where probabilities were put together in bins: the least and the largest of each bin.
    n_records : int, optional
        Number of records that were counted, where there were some.
    note : str
        What the user should know about where the probabilities come from.

    Examples
    --------
    >>> from anonrisk.predict import Distribution
    >>> ages = Distribution.from_counts([3, 1, 1])
    >>> ages.n_values, ages.p.tolist(), ages.values.tolist()
    (3, [0.2, 0.6], [2, 1])
    >>> ages
    Distribution of 3 values, 2 of them with different probabilities
    entropy 1.371 bits, 0.1483 nats from uniform
    """

    p: Floats
    values: Integers
    low: Floats
    high: Floats
    n_records: int | None
    note: str
    _document = (
        *("p", "values", "n_values", "n_records", "kl", "kl_corrected", "s2", "s3", "entropy"),
        "note",
    )

    def __init__(
        self,
        p: ArrayLike,
        values: ArrayLike,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        n_records: int | None = None,
        note: str = "",
    ) -> None:
        """Check the probabilities and freeze them."""
        p_ = as_probabilities(p)
        values_ = as_array(values, "values")
        if values_.dtype.kind not in "iu" or values_.shape != p_.shape or (values_ < 1).any():
            raise ArgumentError("each probability needs the number of values that have it")
        if not len(p_) or (p_ <= 0).any():
            raise ArgumentError("a distribution needs at least one value, each likelier than 0")
        check_sum(float(np.dot(p_, values_)))
        if float(values_.astype(float).sum()) >= MAX_VALUES:
            raise ArgumentError("no quasi-identifier has that many values")
        if n_records is not None:
            n_records = whole_number(n_records, "n_records", at_least=1)
        low_ = p_ if low is None else as_probabilities(low)
        high_ = p_ if high is None else as_probabilities(high)
        if not low_.shape == p_.shape == high_.shape or (low_ > p_).any() or (high_ < p_).any():
            raise ArgumentError("low and high must enclose each probability")
        fields = {"p": p_, "values": values_.astype(np.int64), "low": low_, "high": high_}
        for name, array in fields.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "n_records", n_records)
        object.__setattr__(self, "note", note)

    # ---- making one -----------------------------------------------------------------------

    @classmethod
    def from_probabilities(cls, p: ArrayLike) -> Self:
        """Take the probability of each value; zeros are values that nobody has.

        Examples
        --------
        >>> Distribution.from_probabilities([0.5, 0.25, 0.25, 0]).n_values
        3
        """
        probabilities = as_probabilities(p)
        check_sum(float(probabilities.sum()))
        return cls._put_together(probabilities[probabilities > 0])

    @classmethod
    def from_counts(cls, counts: ArrayLike) -> Self:
        """Take the number of records that each value has, in any order.

        Examples
        --------
        >>> Distribution.from_counts([10, 10, 30]).kl
        0.148341...
        """
        value = as_array(counts, "counts")
        if value.ndim != 1 or value.dtype.kind not in "iu" or (value < 0).any():
            raise ArgumentError("counts must be a list of whole numbers, none below 0")
        if not len(value) or not value.any():
            raise ArgumentError("there must be at least one record to count")
        if float(value.sum(dtype=float)) >= MAX_VALUES:
            raise ArgumentError("no table has that many records")
        n_records = int(value.sum(dtype=np.int64))
        sizes, number = histogram(value)
        return cls(sizes / n_records, number, n_records=n_records)

    @classmethod
    def from_class_sizes(cls, counted: ClassCounts) -> Self:
        """Take the frequencies of the classes that a table has.

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> Distribution.from_class_sizes(ClassSizes([1, 4], [2, 3])).n_values
        5
        """
        if not hasattr(counted, "n_memberships"):
            raise ArgumentError("give the ClassSizes of a table, such as df.anon.classes(…)")
        counted.refuse_overlap()
        n = counted.n_memberships
        return cls(counted.sizes / n, counted.classes, n_records=n)

    @classmethod
    def uniform(cls, n_values: int) -> Self:
        """Make every one of `n_values` values equally likely.

        Examples
        --------
        >>> Distribution.uniform(365).kl
        0.0
        """
        n = n_values_of(n_values, MAX_VALUES)
        return cls([1 / n], [n])

    @classmethod
    def zipf(cls, n_values: int, exponent: float) -> Self:
        """Make the value of rank x as likely as x to the power of minus `exponent`.

        Notes
        -----
        Z1, discrete: p(x) = x^−c / Σ x^−c (Kikuchi & Takahashi 2016).

        Examples
        --------
        >>> Distribution.zipf(1_000, 1.0).n_values
        1000
        """
        n = n_values_of(n_values, MAX_VALUES)
        c = not_negative(exponent, "exponent")
        return cls(**bins.power_law(n, c)) if c else cls.uniform(n)

    @classmethod
    def normal(cls, sigma: float, width: float, *, mean: float = 0.0, offset: float = 0.0) -> Self:
        """Cut a Normal density into intervals of `width`; see `from_density`.

        Examples
        --------
        >>> heights = Distribution.normal(sigma=7, width=1, mean=175)
        >>> round(float(heights.p.max()), 4)
        0.0568
        """
        from scipy.stats import norm

        return cls.from_density(norm(mean, positive(sigma, "sigma")), width, offset=offset)

    @classmethod
    def exponential(cls, rate: float, width: float, *, offset: float = 0.0) -> Self:
        """Cut an exponential density into intervals of `width`; see `from_density`.

        Examples
        --------
        >>> round(float(Distribution.exponential(rate=0.1, width=5).p.max()), 6)
        0.393469
        """
        from scipy.stats import expon

        return cls.from_density(expon(scale=1 / positive(rate, "rate")), width, offset=offset)

    @classmethod
    def from_density(cls, density: Any, width: float, *, offset: float = 0.0) -> Self:
        """Cut a frozen distribution of `scipy.stats` into intervals of `width`.

        Parameters
        ----------
        density : frozen scipy distribution
            Such as ``scipy.stats.gamma(2)``.
        width : float
            Width of an interval; its ends are multiples of it, moved by `offset`.
        offset : float
            Where one of the ends lies.

        Notes
        -----
        I1: exact bins, differences of the CDF below the median and of the survival function above.

        Examples
        --------
        >>> from scipy.stats import uniform
        >>> Distribution.from_density(uniform(0, 100), 10).n_values
        10
        """
        p = bins.interval_probabilities(density, positive(width, "width"), offset)
        return cls._put_together(p)

    @classmethod
    def bivariate_normal(
        cls, sigmas: tuple[float, float], rho: float, widths: tuple[float, float]
    ) -> Self:
        """Cut a Normal density of two correlated columns into rectangles.

        Parameters
        ----------
        sigmas : two floats
            Standard deviation of each column.
        rho : float
            Their correlation, between −1 and 1.
        widths : two floats
            Width of the intervals of each; their ends are multiples of it from the mean.

        Examples
        --------
        >>> d = Distribution.bivariate_normal((4.83, 5.289), 0.503, (1, 20))
        >>> from anonrisk.predict import singletons
        >>> round(singletons(d, 10).mean, 1)
        7.5
        """
        return cls._put_together(bins.rectangle_probabilities(sigmas, rho, widths))

    @classmethod
    def product(cls, *columns: Distribution) -> Self:
        """Combine columns that do not depend on each other.

        Dependence between columns is not covered: people of one age live in some places more than
        in others, and the true number of singletons may then be lower or higher.

        Examples
        --------
        >>> sex, age = Distribution.uniform(2), Distribution.uniform(80)
        >>> Distribution.product(sex, age).n_values
        160
        """
        if not columns or not all(isinstance(column, Distribution) for column in columns):
            raise ArgumentError("give the distribution of each column")
        return cls(
            **bins.multiplied([column._fields() for column in columns]),
            note="columns taken as independent; what they share is not covered",
        )

    @staticmethod
    def from_kl(n_values: int, kl: float) -> KnownByKl:
        """Take the number of values and the divergence from uniform, where only those are known.

        Examples
        --------
        >>> Distribution.from_kl(n_values=95, kl=0.03)
        95 values, 0.03 nats from uniform; nothing else is known
        """
        return KnownByKl(n_values, kl)

    @classmethod
    def _put_together(cls, p: Floats) -> Self:
        """Join equal probabilities, and near ones where there are too many different ones."""
        return cls(**bins.joined(p, np.ones(len(p), dtype=np.int64)))

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("p", "values", "low", "high")}

    # ---- what it knows --------------------------------------------------------------------

    @property
    def n_values(self) -> int:
        """Number of values that somebody may have."""
        return int(self.values.sum())

    @property
    def binned(self) -> bool:
        """Whether near probabilities were put together."""
        return bool((self.low < self.high).any())

    @property
    def entropy(self) -> float:
        """Shannon entropy in bits (H1)."""
        return float(-np.dot(self.values, self.p * np.log2(self.p))) + 0.0

    @property
    def kl(self) -> float:
        """Kullback-Leibler distance in nats from the uniform law on these values (H4), plug-in."""
        ratio = self.p * self.n_values
        return max(0.0, float(np.dot(self.values, self.p * np.log(ratio))))

    @property
    def kl_corrected(self) -> float | None:
        """The same less the bias of counting a sample: κ − (N − 1)/(2n), not below 0.

        None where nothing was counted, or fewer than five records per value: the correction is then
        larger than what it corrects.
        """
        if self.n_records is None or self.n_records < RECORDS_PER_VALUE * self.n_values:
            return None
        return max(0.0, self.kl - (self.n_values - 1) / (2 * self.n_records))

    @property
    def s2(self) -> float | None:
        """Chance that two people share a value: Σp², unbiased where records were counted.

        None where a single record was counted.
        """
        return self._shared(2)

    @property
    def s3(self) -> float | None:
        """Chance that three people share a value: Σp³, unbiased where records were counted.

        None where fewer than three records were counted.
        """
        return self._shared(3)

    def _shared(self, people: int) -> float | None:
        if self.n_records is None:
            return float(np.dot(self.values, self.p**people))
        n, counts = self.n_records, np.round(self.p * self.n_records)
        if n < people:
            return None
        share = np.ones_like(counts)
        for j in range(people):
            share *= (counts - j) / (n - j)
        return float(np.dot(self.values, share))

    def __reduce__(self) -> tuple[object, ...]:
        """Make copies and pickles anew, so that they are frozen too."""
        return _rebuilt, (vars(self),)

    def _lines(self) -> list[str]:
        values = render.count_of(self.n_values, "value")
        different = f", {len(self.p):,} of them with different probabilities"
        lines = [
            f"Distribution of {values}{different if len(self.p) > 1 else ', equally likely'}",
            f"entropy {self.entropy:.4g} bits, {self.kl:.4g} nats from uniform",
        ]
        if self.n_records is not None and self.kl_corrected is not None and self.kl > 0:
            lines[1] += f" ({self.kl_corrected:.4g} less the bias of {self.n_records:,} records)"
        if self.binned:
            lines.append("near probabilities were put together; results state what that may change")
        return lines + ([self.note] if self.note else [])


def _rebuilt(fields: dict[str, Any]) -> Distribution:
    return Distribution(**fields)
