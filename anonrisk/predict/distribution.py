"""How likely each value of a quasi-identifier is: all that a prediction needs to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import finite, not_negative, positive, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.predict.kl import KnownByKl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.class_sizes import ClassCounts

# More intervals than this are refused: 80 MB for every array of them.
MAX_INTERVALS = 10_000_000
# More different probabilities than this are put together in narrow bins, and the result says so.
# Chosen: more of them take longer, fewer make bins wider; both ends of a bin go along either way.
MAX_DIFFERENT = 20_000
# What lies further out than this is added to the outermost intervals: less than rounding.
TAIL = 1e-17
# So many standard deviations from the mean nobody is left: 9e-18 of a Normal law.
FAR = 8.5
# Pairs of different probabilities that are held at one time.
MAX_PAIRS = 4_000_000
# Gauss's quadrature takes so many nodes per piece, of half a deviation at most: of what varies with
# a deviation it leaves rounding. More nodes than so many times the intervals take too long.
_NODES, _PIECE, _MOST_NODES = 16, 0.5, 50 * MAX_INTERVALS
# exp and its inverse are safe between these ends: e^±700 is 1e±304, the largest number 1.8e308.
_LARGEST_LOG = 700


def interval_probabilities(density: Any, width: float, offset: float) -> Floats:
    """Probability of each interval of a width, those of no weight left out (I1)."""
    check_density(density)
    finite(offset, "offset")
    least, largest = density.support()
    first = least if np.isfinite(least) else density.ppf(TAIL)
    last = largest if np.isfinite(largest) else density.isf(TAIL)
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ArgumentError("the density has no finite quantiles; cut off its tails first")
    low, high = np.floor((first - offset) / width), np.ceil((last - offset) / width)
    if high - low > MAX_INTERVALS:
        raise ArgumentError(
            f"width {width:g} gives {high - low:,.0f} intervals; {MAX_INTERVALS:,} is the most"
        )
    if high - low < 1 or abs(low) > 2.0**52 or abs(high) > 2.0**52:
        raise ArgumentError("width and offset do not fit the scale of the density")
    # One interval more on either side, so that rounding loses no end.
    edges = offset + width * np.arange(low - 1, high + 2)
    below = np.diff(density.cdf(edges))
    above = -np.diff(density.sf(edges))
    p = np.where(edges[1:] <= density.median(), below, above)
    p[0] += density.cdf(edges[0])
    p[-1] += density.sf(edges[-1])
    p = p[p > 0]
    return np.asarray(p / p.sum())


def check_density(density: Any) -> None:
    """Reject what is not a frozen continuous distribution of one number."""
    if not all(hasattr(density, name) for name in ("cdf", "sf", "ppf", "isf", "support")):
        raise ArgumentError("density must be a frozen distribution such as scipy.stats.norm(0, 1)")
    if not hasattr(getattr(density, "dist", None), "pdf"):
        raise ArgumentError(
            "the distribution is not continuous; give its probabilities to "
            "Distribution.from_probabilities"
        )
    if np.ndim(density.median()) or not np.isfinite(density.median()):
        raise ArgumentError("density must be one distribution, with finite parameters")


def rectangle_probabilities(
    sigmas: tuple[float, float], rho: float, widths: tuple[float, float]
) -> Floats:
    """Probability of each rectangle of a bivariate Normal: exact in y, by quadrature in x."""
    from scipy.special import ndtr

    sx, sy = _two(sigmas, "sigma")
    dx, dy = _two(widths, "width")
    if not -1 < finite(rho, "rho") < 1:
        raise ArgumentError("rho must lie between -1 and 1")
    nx, ny = int(np.ceil(FAR * sx / dx)), int(np.ceil(FAR * sy / dy))
    left = sy * np.sqrt(1 - rho**2)
    # Where y depends much on x, the quadrature needs narrow pieces to see a smooth function.
    smooth = _PIECE * min(sx, left / max(abs(rho) * sy / sx, 1e-12))
    n_nodes = 2 * _NODES * (FAR * sx / smooth + nx)
    if 4 * nx * ny > MAX_INTERVALS or n_nodes * ny > _MOST_NODES:
        raise ArgumentError(
            "the widths give too many rectangles, or the columns depend on each other too much; "
            "take wider intervals"
        )
    nodes, weight = np.polynomial.legendre.leggauss(_NODES)
    edges = dy * np.arange(-ny, ny + 1)
    edges = np.concatenate(([-np.inf], edges[1:-1], [np.inf]))
    rows = []
    for i in range(-nx, nx):
        low, high = max(i * dx, -FAR * sx), min((i + 1) * dx, FAR * sx)
        pieces = max(1, int(np.ceil((high - low) / smooth)))
        step = (high - low) / pieces
        # (pieces × nodes,); `below` is (edges, pieces × nodes).
        x = (low + step * (np.arange(pieces)[:, None] + (nodes + 1) / 2)).ravel()
        density = np.exp(-0.5 * (x / sx) ** 2) / (sx * np.sqrt(2 * np.pi))
        mass = density * np.tile(weight, pieces) * step / 2
        below = ndtr((edges[:, None] - rho * sy / sx * x) / left)
        rows.append(np.diff(below, axis=0) @ mass)
    p = np.concatenate(rows)
    p = p[p > 0]
    return np.asarray(p / p.sum())


# A column of probabilities is a dict of parallel arrays (n_different,): "p", the number of "values"
# that have each, and where they are bins, the "low" and "high" of each.


def _two(value: Any, what: str) -> tuple[float, float]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ArgumentError(f"give the {what} of each of the two columns") from None
    return positive(first, what), positive(second, what)


def joined(p: Floats, values: Integers) -> dict[str, Any]:
    """Join equal probabilities exactly; where too many differ, near ones in narrow bins.

    A bin keeps its number of values and its whole probability; its least and its largest one go
    along, so that a sum over values can be bracketed.
    """
    different, where = np.unique(p, return_inverse=True)
    if len(different) <= MAX_DIFFERENT:
        number = np.bincount(where.ravel(), weights=values).round().astype(np.int64)
        return {"p": different, "values": number}
    return _binned({"p": p, "values": values, "low": p, "high": p}, MAX_DIFFERENT)


def power_law(n: int, c: float) -> dict[str, Any]:
    """Probabilities of n ranks x under x^−c for c > 0, near ones together where there are too many.

    The bins are those of `joined`, but no rank of them is looked at: they come in order, and what a
    bin holds follows from Euler and Maclaurin's formula.
    """
    # Ranks beyond are too unlikely for a number.
    last = n if np.log(n) <= _LARGEST_LOG / c else int(np.exp(_LARGEST_LOG / c))
    if last <= MAX_DIFFERENT:
        weight = np.arange(1, last + 1, dtype=float) ** -c
        return joined(weight / weight.sum(), np.ones(last, dtype=np.int64))
    first = np.unique(np.round(np.geomspace(1, last + 1, MAX_DIFFERENT)).astype(np.int64))
    low, high = first[:-1].astype(float), (first[1:] - 1).astype(float)
    number = np.diff(first)
    mass = _power_sum(low, high, c)
    total = mass.sum()
    least, largest = high**-c / total, low**-c / total
    middle = np.clip(mass / number / total, least, largest)
    results = {"p": middle, "values": number, "low": least, "high": largest}
    # The least likely first, as everywhere.
    return {name: each[::-1] for name, each in results.items()}


def _power_sum(low: Floats, high: Floats, c: float) -> Floats:
    """Σ x^−c over the whole numbers from `low` to `high`, by Euler and Maclaurin."""
    from scipy.special import expm1

    span = np.log(high / low)
    whole = low ** (1 - c) * (span if c == 1 else expm1((1 - c) * span) / (1 - c))
    first, last = low**-c, high**-c
    slopes = c * (first / low - last / high) / 12
    bends = c * (c + 1) * (c + 2) * (first / low**3 - last / high**3) / 720
    total = whole + (first + last) / 2 + slopes - bends
    return np.where(low == high, first, np.where(high == low + 1, first + last, total))


def _binned(total: dict[str, Any], room: int) -> dict[str, Any]:
    """Put probabilities together whose logarithms fall into the same of `room` equal bins."""
    place = np.log(total["p"])
    least, largest = float(place.min()), float(place.max())
    cell = ((place - least) / max(largest - least, 1e-300) * (room - 1)).astype(np.int64)
    used, where = np.unique(cell, return_inverse=True)
    where = where.ravel()
    number = np.bincount(where, weights=total["values"])
    mass = np.bincount(where, weights=total["values"] * total["p"])
    ends = _ends(total["low"], total["high"], where, len(used))
    middle = np.clip(mass / number, ends["low"], ends["high"])
    return {"p": middle, "values": number.round().astype(np.int64), **ends}


def multiplied(columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Probabilities of all combinations of independent columns, joined as they grow."""
    total, *rest = columns
    for column in rest:
        if float(total["values"].sum()) * float(column["values"].sum()) >= 2.0**62:
            raise ArgumentError("the columns have more combinations than can be counted")
        total = _outer(total, column)
    return total


def _outer(total: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Multiply two columns, both put into bins first where there are too many pairs to hold."""
    if len(total["p"]) * len(other["p"]) > MAX_PAIRS:
        room = int(np.sqrt(MAX_PAIRS))
        # A short column leaves more room to the long one.
        spare = max(room, MAX_PAIRS // min(len(total["p"]), len(other["p"])))
        total, other = (
            part if len(part["p"]) <= room else _binned(part, spare) for part in (total, other)
        )
    pairs = {name: np.outer(total[name], other[name]).ravel() for name in ("p", "low", "high")}
    pairs["values"] = np.outer(total["values"], other["values"]).ravel()
    different, where = np.unique(pairs["p"], return_inverse=True)
    if len(different) > MAX_DIFFERENT:
        return _binned(pairs, MAX_DIFFERENT)
    where = where.ravel()
    number = np.bincount(where, weights=pairs["values"]).round().astype(np.int64)
    ends = _ends(pairs["low"], pairs["high"], where, len(different))
    return {"p": different, "values": number, **ends}


def _ends(low: Floats, high: Floats, where: Integers, n: int) -> dict[str, Floats]:
    least, largest = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(least, where, low)
    np.maximum.at(largest, where, high)
    return {"low": least, "high": largest}


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
        return cls(**power_law(n, c)) if c else cls.uniform(n)

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
        p = interval_probabilities(density, positive(width, "width"), offset)
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
        return cls._put_together(rectangle_probabilities(sigmas, rho, widths))

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
            **multiplied([column._fields() for column in columns]),
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
        return cls(**joined(p, np.ones(len(p), dtype=np.int64)))

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
