"""Numbers replaced by the mean of a small group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.api.question import columns_to_change, in_one_state
from anonrisk.core.arguments import whole_number
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import GroupMeans

if TYPE_CHECKING:
    from anonrisk.core.columns import FrameT, Names


@in_one_state
def microaggregate(frame: FrameT, columns: Names, k: int | None = None) -> FrameT:
    r"""Replace numbers by the mean of a group of at least k records.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name or list of names
        Numbers or dates. One column: the groups of least squared error, of k to 2k − 1 records,
        equal values together. Several: grouped jointly by MDAV. Only that makes every combination
        of their values occur k times; column by column it does not.
    k : int
        The least number of records in a group; there is no default.

    Returns
    -------
    DataFrame
        A new table of the same kind; whole numbers and dates are rounded. One column: missing
        values stay missing, and are no group. On Spark the different values (at most 100,000) are
        counted and grouped on the driver; above that, and for MDAV above 100,000 different
        records on any engine, it is refused.

    Raises
    ------
    ColumnNotFoundError, UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    TooManyRecordsError
        If several columns have too many different records.

    See Also
    --------
    anonrisk.generalize : bins and prefixes instead of means
    anonrisk.perturb : noise instead of means
    anonrisk.recode.quantile_map : medians of groups, by hand

    Notes
    -----
    One column: Hansen & Mukherjee's groups, by the recursion of Q5 with the squared error of a
    group for its cost c; several: MDAV.

    .. math:: \mathrm{cost}(i) = \min_{k \le m < 2k} \mathrm{cost}(i - m) + c(i - m + 1, \dots, i)

    References
    ----------
    - S. L. Hansen & S. Mukherjee, *A Polynomial Algorithm for Optimal Univariate Microaggregation*,
      IEEE TKDE 15(4), 2003, 1043-1044.
    - J. Domingo-Ferrer & J. M. Mateo-Sanz, *Practical Data-Oriented Microaggregation for
      Statistical Disclosure Control*, IEEE TKDE 14(1), 2002, 189-201.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"income": [10, 12, 30, 31, 32]})
    >>> df.anon.microaggregate("income", k=2)["income"].tolist()
    [11, 11, 31, 31, 31]
    """
    if k is None:
        raise ArgumentError("k is needed: the least number of records in a group")
    k = whole_number(k, "k", at_least=1)
    engine, names = columns_to_change(frame, columns)
    return engine.rewrite(frame, GroupMeans(names, k))
