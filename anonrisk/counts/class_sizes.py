"""The frozen counts that leave an engine: all that measures, predictions and gates ever see."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import render
from anonrisk.errors import ArgumentError, EmptyTableError
from anonrisk.measures import entropy as _entropy

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from anonrisk.core.results import Divergence, LowerBound
    from anonrisk.measures.risk import Risk
    from anonrisk.predict.population import PopulationEstimate
    from anonrisk.predict.prediction import PredictedClasses, Prediction

# Upper ends of the bands that the printed form groups class sizes into.
_TOO_MANY = 2.0**62
_BANDS = (1, 2, 4, 9, 19, 49, 99, 999, 9_999, 99_999, 999_999)


@dataclass(frozen=True, eq=False, repr=False)
class ClassSizes:
    """How many classes there are of each size: the histogram behind every measure of k.

    Two of these cannot be merged: a class of one in each half of a table may be a class of two
    in the whole. Count the whole table instead.

    Parameters
    ----------
    sizes : array of int
        The sizes that occur, ascending.
    classes : array of int
        For each size, the number of classes.
    records : array of int, optional
        For each size, the number of records whose (smallest) class has it. Left out, it is
        ``sizes * classes``; with a `unit` it counts persons, each by the smallest of their classes.
    qid : sequence of names
        The columns of the quasi-identifier.
    unit : name, optional
        The column that says which person a row belongs to; sizes then count persons.
    missing : str
        What was done with missing values: ``"value"``, ``"drop"`` or ``"error"``.
    n_rows : int, optional
        Number of rows counted; differs from `n_records` where there is a `unit`.
    n_dropped : int
        Number of rows left out because a quasi-identifier was missing.

    Examples
    --------
    >>> sizes = ClassSizes([1, 4], [2, 3], qid=["zip", "age"])
    >>> sizes.k, sizes.n_records, sizes.n_classes, sizes.uniqueness
    (1, 14, 5, 0.14285714285714285)
    >>> sizes
    Classes of zip + age: 14 records in 5 classes, k = 1
    2 records (14.3%) are singletons
    class size   classes   records   share
             1         2         2   14.3%
           3-4         3        12   85.7%
    """

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]
    records: NDArray[np.int64]
    qid: tuple[Hashable, ...]
    unit: Hashable | None
    missing: str
    n_rows: int
    n_dropped: int

    def __init__(
        self,
        sizes: ArrayLike,
        classes: ArrayLike,
        records: ArrayLike | None = None,
        *,
        qid: Sequence[Hashable] = (),
        unit: Hashable | None = None,
        missing: str = "value",
        n_rows: int | None = None,
        n_dropped: int = 0,
    ) -> None:
        """Check the histogram and freeze it."""
        sizes_, classes_ = _integers(sizes, "sizes"), _integers(classes, "classes")
        records_ = sizes_ * classes_ if records is None else _integers(records, "records")
        if not len(sizes_) == len(classes_) == len(records_):
            raise ArgumentError("sizes, classes and records must have the same length")
        if not len(sizes_):
            raise EmptyTableError(_nothing_left(n_dropped))
        if sizes_[0] < 1 or (np.diff(sizes_) <= 0).any() or (classes_ < 1).any():
            raise ArgumentError(
                "sizes must ascend from 1 or more, and each must have at least one class"
            )
        if float((sizes_.astype(float) * classes_).sum()) >= _TOO_MANY or n_dropped < 0:
            raise ArgumentError("no table has that many records")
        if (records_ < 0).any() or (records_ > sizes_ * classes_).any():
            raise ArgumentError("a size cannot have more records than its classes hold")
        fields = {
            "sizes": sizes_,
            "classes": classes_,
            "records": records_,
            "qid": tuple(qid),
            "unit": unit,
            "missing": missing,
            "n_rows": int(records_.sum()) if n_rows is None else int(n_rows),
            "n_dropped": int(n_dropped),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_histogram(cls, histogram: Mapping[int, int], **about: Any) -> Self:
        """Make it from a mapping of class size to number of classes, in any order.

        Examples
        --------
        >>> ClassSizes.from_histogram({4: 3, 1: 2}).n_records
        14
        """
        ordered = sorted(histogram.items())
        return cls([size for size, _ in ordered], [count for _, count in ordered], **about)

    # ---- counting -------------------------------------------------------------------------

    @property
    def n_records(self) -> int:
        """Number of records; with a `unit`, of persons."""
        return int(self.records.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.classes.sum())

    @property
    def n_memberships(self) -> int:
        """Sum of all class sizes: as `n_records`, but a person counts in each of their classes."""
        return int((self.sizes * self.classes).sum())

    @property
    def k(self) -> int:
        """Size of the smallest class."""
        return int(self.sizes[0])

    @property
    def max(self) -> int:
        """Size of the largest class."""
        return int(self.sizes[-1])

    @property
    def mean(self) -> float:
        """Mean size of a class."""
        return self.n_memberships / self.n_classes

    @property
    def singletons(self) -> int:
        """Number of classes of one."""
        return int(self.classes[0]) if self.k == 1 else 0

    @property
    def uniqueness(self) -> float:
        """Share of the records that are singletons; with a `unit`, of persons who have one."""
        return self.records_at_most(1) / self.n_records

    def records_at_most(self, k: float) -> int:
        """Count the records in classes of at most `k`; with a `unit`, persons."""
        return int(self.records[self.sizes <= k].sum())

    def records_below(self, k: float) -> int:
        """Count the records in classes smaller than `k`; with a `unit`, persons."""
        return int(self.records[self.sizes < k].sum())

    def quantile(self, q: Any) -> float:
        """Quantile of the class sizes, over classes, with linear interpolation.

        Examples
        --------
        >>> ClassSizes([1, 4], [2, 3]).quantile(0.375)
        2.5
        """
        if isinstance(q, bool) or not isinstance(q, Real) or not 0 <= float(q) <= 1:
            raise ArgumentError("a quantile lies between 0 and 1")
        position = float(q) * (self.n_classes - 1)
        last = np.cumsum(self.classes) - 1
        below, above = self.sizes[np.searchsorted(last, [np.floor(position), np.ceil(position)])]
        return float(below + (above - below) * (position - np.floor(position)))

    # ---- information ----------------------------------------------------------------------

    def entropy(self, order: float = 1, *, quantile: float | None = None) -> float:
        """Entropy of the quasi-identifier in bits; see `anonrisk.entropy`."""
        _entropy.check_order(order, quantile)
        if quantile is not None:
            return _entropy.addressing_bits(self.sizes, self.classes, quantile)
        return _entropy.renyi(self.sizes, self.classes, order)

    @property
    def degree(self) -> float:
        """Degree of anonymity, from 0 (all unique) to 1 (all alike); see `anonrisk.degree`."""
        return _entropy.degree(self.sizes, self.classes, self.n_records)

    @property
    def anvc(self) -> float:
        """Average number of value combinations; see `anonrisk.anvc`."""
        return _entropy.anvc(self.sizes, self.classes)

    @property
    def rr(self) -> LowerBound:
        """Fischer-Hübner's average risk, a lower bound; see `anonrisk.rr`."""
        return _entropy.rr(self.sizes, self.classes)

    def kl(self, n_values: int | None = None) -> Divergence:
        """Kullback-Leibler distance in nats from the uniform law on `n_values` values.

        Parameters
        ----------
        n_values : int, optional
            Number of values that the quasi-identifier can take. Left out, it is the number of
            classes that occur, and the result says so.

        Notes
        -----
        H4: κ = ln N − H, with H in nats (Koot 2012, chapter 4). Adding values that nobody has
        raises κ by ln(N'/N): state the domain.

        Examples
        --------
        >>> ClassSizes([1, 3], [1, 1]).kl()
        0.1308120359411... (nats, from the uniform law on the 2 classes that occur)
        """
        return _entropy.kl(self.sizes, self.classes, n_values)

    def risk(self) -> Risk:
        """Risk by attacker, the population's classes taken to be these; see `anonrisk.risk`."""
        from anonrisk.measures import risk as attackers

        return attackers.of_release(self)

    # ---- predicting -----------------------------------------------------------------------

    def predict_singletons(
        self,
        group_size: int,
        *,
        draw: str = "auto",
        method: str = "exact",
        n_values: int | None = None,
    ) -> Prediction:
        """Predict how many of a group are singletons; see `anonrisk.predict_singletons`.

        Examples
        --------
        >>> ClassSizes([1, 4], [2, 3]).predict_singletons(3).mean
        1.91208791208...
        """
        from anonrisk.predict import table

        return table.singletons(self, group_size, draw, method, n_values)

    def predict_classes(
        self,
        group_size: int,
        upto: int = 10,
        *,
        draw: str = "auto",
        method: str = "exact",
        n_values: int | None = None,
    ) -> PredictedClasses:
        """Predict in classes of which size a group is; see `anonrisk.predict_classes`.

        Examples
        --------
        >>> ClassSizes([1, 4], [2, 3]).predict_classes(14, upto=4).share.tolist()
        [0.14285714285714285, 0.0, 0.0, 0.8571428571428571]
        """
        from anonrisk.predict import table

        return table.classes(self, group_size, upto, draw, method=method, n_values=n_values)

    def predict_population(
        self, population_size: int, *, model: str = "auto"
    ) -> PopulationEstimate:
        """Say what the population can be that this is a sample of; see `anonrisk`'s function."""
        from anonrisk.predict.population import Sample, estimate

        return estimate(Sample.of(self, population_size), model)

    # ---- leaving --------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Give the histogram as a pandas table: size, classes, records."""
        import pandas as pd

        columns = {"size": self.sizes, "classes": self.classes, "records": self.records}
        return pd.DataFrame({name: values.copy() for name, values in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON; no cell of the table is among them."""
        return {
            "qid": [_plain(name) for name in self.qid],
            "unit": _plain(self.unit),
            "missing": self.missing,
            "n_records": self.n_records,
            "n_rows": self.n_rows,
            "n_dropped": self.n_dropped,
            "n_classes": self.n_classes,
            "k": self.k,
            "uniqueness": self.uniqueness,
            "sizes": self.sizes.tolist(),
            "classes": self.classes.tolist(),
            "records": self.records.tolist(),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many records lie in classes of each size (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        from anonrisk.reporting.plot import class_sizes

        return class_sizes(self, ax)

    def __reduce__(self) -> tuple[object, ...]:
        """Make copies and pickles anew, so that they are frozen too."""
        return _rebuilt, (vars(self),)

    def __eq__(self, other: object) -> bool:
        """Two are equal if they say the same of the same columns."""
        if not isinstance(other, ClassSizes):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash((self.qid, self.unit, self.sizes.tobytes(), self.records.tobytes()))

    def __repr__(self) -> str:
        """Print as text."""
        return "\n".join((*self._headlines(), render.text_table(self._header(), self._bands())))

    def _repr_html_(self) -> str:
        return render.html_table(". ".join(self._headlines()), self._header(), self._bands())

    def _header(self) -> tuple[str, ...]:
        return "class size", "classes", "records" if self.unit is None else "persons", "share"

    def _headlines(self) -> list[str]:
        who = "record" if self.unit is None else "person"
        people = render.count_of(self.n_records, who)
        kinds = render.count_of(self.n_classes, "class", "classes")
        of = f" of {render.joined(self.qid)}" if self.qid else ""
        unique = self.records_at_most(1)
        lines = [
            f"Classes{of}: {people} in {kinds}, k = {self.k}",
            f"{render.count_of(unique, who)} ({render.percent(self.uniqueness)}) "
            + ("is a singleton" if unique == 1 else "are singletons"),
        ]
        if self.unit is not None:
            rows = render.count_of(self.n_rows, "row")
            who = render.shown(self.unit)
            lines.append(f"{rows}; a person ({who}) counts in the smallest of their classes")
        if self.n_dropped:
            rows = render.count_of(self.n_dropped, "row")
            lines.append(f"{rows} with a missing quasi-identifier left out")
        return lines

    def bands(self) -> list[tuple[str, int, int]]:
        """Put sizes together as people read them: the name of a band, its classes, its records.

        Examples
        --------
        >>> ClassSizes([1, 3, 4], [2, 1, 1]).bands()
        [('1', 2, 2), ('3-4', 2, 7)]
        """
        edges = [0, *(band for band in _BANDS if band < self.max), self.max]
        found = []
        for low, high in pairwise(edges):
            inside = (self.sizes > low) & (self.sizes <= high)
            if inside.any():
                name = f"{high:,}" if high == low + 1 else f"{low + 1:,}-{high:,}"
                classes, records = int(self.classes[inside].sum()), int(self.records[inside].sum())
                found.append((name, classes, records))
        return found

    def _bands(self) -> list[list[str]]:
        return [
            [name, f"{classes:,}", f"{records:,}", render.percent(records / self.n_records)]
            for name, classes, records in self.bands()
        ]


def _rebuilt(fields: dict[str, Any]) -> ClassSizes:
    return ClassSizes(**fields)


def _plain(name: Hashable) -> Any:
    """Give a label as JSON can hold it."""
    return name if name is None or isinstance(name, (str, int, float, bool)) else str(name)


def _integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.array(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ArgumentError(f"{name} must be a list of whole numbers")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _nothing_left(n_dropped: int) -> str:
    if not n_dropped:
        return "the table has no records; there is nothing to measure"
    rows = render.count_of(n_dropped, "row")
    return f"no record is left to measure: {rows} dropped for a missing value"
