"""What a box-and-whisker plot of class sizes is drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields

if TYPE_CHECKING:
    from anonrisk.measures.counts.class_sizes import ClassCounts


@dataclass(frozen=True, repr=False)
class Box(PrintedFields):
    """The class sizes of a table or a group, as a box with whiskers.

    Attributes
    ----------
    sets : int
        Number of classes.
    min, q1, median, q3, max : float
        The least size, the quartiles over classes with linear interpolation, the largest size.
    low, high : float
        Where the whiskers end: at a size that occurs, or at the box, never inside it.
    outliers : tuple of (int, int)
        Every size beyond the whiskers, with the number of classes that have it.
    """

    sets: int
    min: int
    q1: float
    median: float
    q3: float
    max: int
    low: float
    high: float
    outliers: tuple[tuple[int, int], ...]


def box(counted: ClassCounts, whisker: float | None) -> Box:
    """Make a box; whiskers end at the last size within `whisker` times q3 − q1 of it (Tukey 1977).

    Without a `whisker` they end at the least and the largest size, and nothing is an outlier.

    Examples
    --------
    >>> from anonrisk.measures.counts.class_sizes import ClassCounts
    >>> found = box(ClassCounts([1, 2, 3, 40], [4, 4, 2, 1]), 1.5)
    >>> found.q1, found.q3, found.low, found.high, found.outliers
    (1.0, 2.5, 1.0, 3.0, ((40, 1),))
    """
    q1, q3 = counted.quantile(0.25), counted.quantile(0.75)
    reach = float("inf") if whisker is None else whisker * (q3 - q1)
    inside = (counted.sizes >= q1 - reach) & (counted.sizes <= q3 + reach)
    within, outside = counted.sizes[inside].tolist(), ~inside
    return Box(
        sets=counted.n_classes,
        min=counted.k,
        q1=q1,
        median=counted.quantile(0.5),
        q3=q3,
        max=counted.max,
        low=float(min([q1, *within])),
        high=float(max([q3, *within])),
        outliers=tuple(
            zip(counted.sizes[outside].tolist(), counted.classes[outside].tolist(), strict=True)
        ),
    )
