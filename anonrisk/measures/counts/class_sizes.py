"""The frozen counts that leave an engine: all that measures, predictions and gates ever see."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import no_wildcard
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError, EmptyTableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from anonrisk.core.columns import Name, Qid

_TOO_MANY = 2.0**62
# Upper ends of the bands that people read class sizes in.
BANDS = (1, 2, 4, 9, 19, 49, 99, 999, 9_999, 99_999, 999_999)


@dataclass(frozen=True, eq=False, repr=False)
class ClassCounts(Document, render.PrintedTable):
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
        With ``missing="wildcard"`` it counts the records that are matched by so many.
    qid : sequence of names
        The columns of the quasi-identifier.
    unit : name, optional
        The column that says which person a row belongs to; sizes then count persons.
    missing : str
        What was done with missing values: ``"value"``, ``"drop"``, ``"error"`` or ``"wildcard"``:
        a class is then a combination with all the records that match it, and classes overlap.
    n_rows : int, optional
        Number of rows counted; differs from `n_records` where there is a `unit`.
    n_dropped : int
        Number of rows left out because a quasi-identifier was missing.
    whole_persons : bool
        Whether a class holds the persons who have the same rows, all of them together
        (`anonrisk.whole_person`), so that each person is in one class.

    Examples
    --------
    >>> sizes = ClassCounts([1, 4], [2, 3], qid=["zip", "age"])
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
    qid: Qid
    unit: Name | None
    missing: str
    n_rows: int
    n_dropped: int
    whole_persons: bool
    _document = (
        *("qid", "unit", "missing", "n_records", "n_rows", "n_dropped", "n_classes", "k"),
        *("uniqueness", "sizes", "classes", "records"),
    )

    def __init__(
        self,
        sizes: ArrayLike,
        classes: ArrayLike,
        records: ArrayLike | None = None,
        *,
        qid: Sequence[Name] = (),
        unit: Name | None = None,
        missing: str = "value",
        n_rows: int | None = None,
        n_dropped: int = 0,
        whole_persons: bool = False,
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
            "whole_persons": whole_persons,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, counted: ClassCounts) -> Self:
        """Return the same counts as an object of this class."""
        return counted if type(counted) is cls else cls(**vars(counted))

    @classmethod
    def from_histogram(cls, histogram: Mapping[int, int], **about: Any) -> Self:
        """Make it from a mapping of class size to number of classes, in any order.

        Examples
        --------
        >>> ClassCounts.from_histogram({4: 3, 1: 2}).n_records
        14
        """
        if not isinstance(histogram, Mapping):
            raise ArgumentError(
                "a histogram must be a mapping of class size to number of classes, not "
                f"{render.kind_name(histogram)}"
            )
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
        """Size of the smallest class (T1)."""
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
        >>> ClassCounts([1, 4], [2, 3]).quantile(0.375)
        2.5
        """
        if isinstance(q, bool) or not isinstance(q, Real) or not 0 <= float(q) <= 1:
            raise ArgumentError("a quantile lies between 0 and 1")
        position = float(q) * (self.n_classes - 1)
        last = np.cumsum(self.classes) - 1
        below, above = self.sizes[np.searchsorted(last, [np.floor(position), np.ceil(position)])]
        return float(below + (above - below) * (position - np.floor(position)))

    def refuse_overlap(self) -> None:
        """Reject classes that overlap, for a measure of classes that do not."""
        if self.missing == "wildcard":
            raise no_wildcard()

    # ---- leaving --------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return the histogram as a pandas table: size, classes, records."""
        import pandas as pd

        columns = {"size": self.sizes, "classes": self.classes, "records": self.records}
        return pd.DataFrame({name: values.copy() for name, values in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of the table is among them."""
        return super().to_dict() | ({"whole_persons": True} if self.whole_persons else {})

    def plot(self, ax: Axes | None = None, *, k: int | None = None) -> Axes:
        """Draw the share of the records in classes of each size, and a line at k.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        k : int, optional
            The size that a class should have; records in smaller ones stand out. Left out, the
            line lies at the smallest class there is, and those who are alone stand out.

        Examples
        --------
        >>> ClassCounts([1, 4], [2, 3], qid=["zip", "age"]).plot(k=5).get_title(loc="left")
        '14 of 14 records (100.0%) are among fewer than 5 with the same zip + age'
        """
        wanted = self.k if k is None else whole_number(k, "k", at_least=1)
        bands = self.bands(wanted)
        below = sum(first < wanted for first, *_ in self._edges(wanted))
        who = "record" if self.unit is None else "person"
        labels = ["alone" if name == "1" else name.replace("-", " to ") for name, *_ in bands]
        shares = [records / self.n_records for *_, records in bands]
        texts = [
            f"{render.percent(share)}, {render.count_of(records, who)}"
            for share, (*_, records) in zip(shares, bands, strict=True)
        ]
        ax, colours = pictures.start(ax, len(bands))
        marked = range(below if k is not None else int(self.k == 1))
        pictures.bars(ax, labels, shares, texts, colours=colours, marked=marked)
        pictures.rows(ax, labels, self._headline(k))
        if below == 0:
            # Room for the name of the line, which would reach into the title.
            ax.set_ylim(top=-1.1)
        ax.axhline(below - 0.5, linestyle="--", linewidth=1.5, color=colours.quiet)
        line = f"k = {wanted:,}" if k is not None else f"k = {wanted:,}, the smallest class"
        ax.annotate(
            line,
            (1, below - 0.5),
            (0, 2),
            ha="right",
            va="bottom",
            fontsize=9,
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
        )
        ax.set_xlabel(f"share of the {who}s")
        ax.set_ylabel("size of the class")
        return ax

    def _headline(self, k: int | None) -> str:
        few = self.records_at_most(1) if k is None else self.records_below(k)
        who = "record" if self.unit is None else "person"
        qid = pictures.joined(self.qid) or "combination"
        people = f"{few:,} of {render.count_of(self.n_records, who)}"
        share = render.percent(few / self.n_records)
        are = "is" if few == 1 else "are"
        if k is None:
            return f"{people} ({share}) {are} alone with their {qid}"
        return f"{people} ({share}) {are} among fewer than {k:,} with the same {qid}"

    def __reduce__(self) -> tuple[object, ...]:
        """Make copies and pickles anew, so that they are frozen too."""
        return _rebuilt, (type(self), vars(self))

    def __eq__(self, other: object) -> bool:
        """Two are equal if they say the same of the same columns."""
        if not isinstance(other, ClassCounts):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash((self.qid, self.unit, self.sizes.tobytes(), self.records.tobytes()))

    def _header(self) -> tuple[str, ...]:
        return "class size", "classes", "records" if self.unit is None else "persons", "share"

    def _lines(self) -> list[str]:
        who = "record" if self.unit is None else "person"
        people = render.count_of(self.n_records, who)
        kinds = render.count_of(self.n_classes, "class", "classes")
        about = f" of {render.joined(self.qid)}" if self.qid else ""
        unique = self.records_at_most(1)
        what = "Whole persons" if self.whole_persons else "Classes"
        lines = [
            f"{what}{about}: {people} in {kinds}, k = {self.k}",
            f"{render.count_of(unique, who)} ({render.percent(self.uniqueness)}) "
            + ("is a singleton" if unique == 1 else "are singletons"),
        ]
        if self.unit is not None:
            rows = render.count_of(self.n_rows, "row")
            who = f"a person ({render.named(self.unit)})"
            how = "counts in the smallest of their classes"
            if self.whole_persons:
                how = "is like those who have the same rows, all together"
            lines.append(f"{rows}; {who} {how}")
        if self.missing == "wildcard":
            lines.append("a missing value matches every other, so that classes may overlap")
        if self.n_dropped:
            rows = render.count_of(self.n_dropped, "row")
            lines.append(f"{rows} with a missing quasi-identifier left out")
        return lines

    def bands(self, k: int | None = None) -> list[tuple[str, int, int]]:
        """Put sizes together as people read them: the name of a band, its classes, its records.

        With `k`, no band holds sizes both below and above it.

        Examples
        --------
        >>> ClassCounts([1, 3, 4], [2, 1, 1]).bands()
        [('1', 2, 2), ('3-4', 2, 7)]
        """
        results = []
        for low, high in self._edges(k):
            inside = (self.sizes >= low) & (self.sizes <= high)
            name = f"{high:,}" if high == low else f"{low:,}-{high:,}"
            results.append((name, int(self.classes[inside].sum()), int(self.records[inside].sum())))
        return results

    def _edges(self, k: int | None) -> list[tuple[int, int]]:
        """Return the least and the largest size of each band that a class lies in."""
        cut = set() if k is None else {k - 1}
        ends = sorted({0, self.max, *(end for end in {*BANDS, *cut} if end < self.max)})
        bands = [(low + 1, high) for low, high in pairwise(ends)]
        return [
            (low, high) for low, high in bands if ((self.sizes >= low) & (self.sizes <= high)).any()
        ]

    def _rows(self) -> list[list[str]]:
        return [
            [name, f"{classes:,}", f"{records:,}", render.percent(records / self.n_records)]
            for name, classes, records in self.bands()
        ]


def _rebuilt(kind: type[ClassCounts], fields: dict[str, Any]) -> ClassCounts:
    return kind(**fields)


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
