"""What only an expert sets of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

from anonrisk.core.arguments import as_percent, one_of, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import seconds_of
from anonrisk.core.types import PlanMethod, Split
from anonrisk.errors import ArgumentError
from anonrisk.planning.lattice.offer import CUTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Cuts, Distance, Diversity, Loss, LossFunction


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How a plan is searched for, and what it is to keep; for `anonrisk.plan`.

    Parameters
    ----------
    method : {"auto", "full-domain", "multidimensional"}
        Whether a column is equally coarse for all records, or by region: as coarse as the records
        with similar values of the other columns need, and nobody is suppressed. ``"auto"`` makes
        both, and a full-domain plan whose classes are cut further by region, and takes what loses
        least; the plan's `note` says why.
    loss : {"entropy", "range", "discernibility", "target", "private"} or function
        What is to be kept. Of cells, by column: the bits that a cell tells, as a share of those it
        told; or the part of the column's range, or of the hierarchy's leaves, that it does not
        cover; or what it tells of a sensitive value (``"private"``), so that columns which say
        little about it are made coarse first. Of classes: that they are small
        (``"discernibility"``), or that most of a class have the same value of the `target`. A
        function is called with the sizes of the classes that would be published, an array, and a
        dict of column to the number of their records with each label, an array; it returns what
        such a record loses on average, from 0 to 1. With all of them a suppressed record loses 1.
        ``"private"`` and functions are for whole columns only, ``"full-domain"``.
    target : name, optional
        The column for ``loss="target"``, no quasi-identifier: what somebody will predict.
    max_loss : float, optional
        The largest loss, of the kind chosen, that is acceptable.
    column_weights : dict of column to float, optional
        How much the detail of each column is worth, relative to the others; 1 if not named. For
        losses of cells.
    bins : {"auto", "width", "quantile", "sampled", "rank", "median", "centre"}
        How numbers are cut where no recodings are given: at even widths; near quantiles, or near
        those of a sample; where the differences of ranks, or the distances to medians, add up to
        the least; or where the widest bin is narrowest. ``"auto"`` offers widths, quantiles and
        medians together.
    split : {"gain", "median"}
        Where a region is cut: where most loss is gained for the records that are parted, or as in
        the paper in the column that loses most, numbers in the middle.
    risk : float, optional
        The largest risk that anybody may have from a prosecutor: 1 over the size of their class.
    variant, c
        The form of diversity that `ldiv` limits, as in `anonrisk.ldiv`.
    distance, order
        The distance that `tcloseness` limits, as in `anonrisk.tcloseness`; not in a hierarchy.
    budget : float, optional
        Number of different values to share among the columns, instead of the one computed.
    population_size : int, optional
        Number of persons that the table is a sample of, for the budget; left out, the table itself.
        What is measured and promised is always k in this table.
    beta : float
        The chance, for the budget, with which one value may have fewer than k persons.
    time_limit : float, optional
        Seconds after which the search ends with the best plan so far, which is then `partial`; its
        `note` says what was not searched, and `proven_gap` how much less a full-domain plan might
        lose. Counting the table and the first plan are never cut short. Without it a search ends
        after a fixed amount of work, the same on every machine.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [31, 33, 35, 38, 41, 44, 46, 49], "sex": list("ffmmffmm")})
    >>> options = anonrisk.PlanOptions(method="full-domain", loss="range")
    >>> df.anon.plan(["age", "sex"], k=2, max_suppressed=0, options=options).loss
    'range'
    """

    method: PlanMethod = "auto"
    loss: Loss | LossFunction = "entropy"
    target: Name | None = None
    max_loss: float | None = None
    column_weights: Mapping[Any, float] | None = None
    bins: Cuts = "auto"
    split: Split = "gain"
    risk: float | None = None
    variant: Diversity = "distinct"
    c: float | None = None
    distance: Distance = "auto"
    # Values of cells, which are printed nowhere.
    order: Iterable[Any] | None = field(default=None, repr=False)
    budget: float | None = None
    population_size: int | None = None
    beta: float = 0.05
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a table."""
        # What gives its values once would have none for the second plan.
        if isinstance(self.order, Iterator):
            object.__setattr__(self, "order", tuple(self.order))
        one_of(self.bins, "bins", CUTS)
        one_of(self.split, "split", get_args(Split))
        one_of(self.method, "method", get_args(PlanMethod))
        require_share(self.beta, "beta", exclusive=True)
        seconds_of(self.time_limit)
        if self.max_loss is not None:
            require_share(self.max_loss, "max_loss")
        if self.population_size is not None:
            n_persons = whole_number(self.population_size, "population_size", at_least=1)
            object.__setattr__(self, "population_size", n_persons)


def require_share(value: Any, what: str, *, exclusive: bool = False) -> None:
    """Reject what is no share."""
    inside = is_number(value) and (0 < value < 1 if exclusive else 0 <= value <= 1)
    if not inside:
        raise ArgumentError(
            f"{what} must be a share {'between' if exclusive else 'from'} 0 "
            f"{'and' if exclusive else 'to'} 1{as_percent(value)}"
        )


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)
