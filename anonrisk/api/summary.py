"""Koot's tables of anonymity-set sizes: one row a quasi-identifier, or one a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk.api.question import count_groups, in_one_state, question_of
from anonrisk.core.arguments import whole_number
from anonrisk.core.render import visible
from anonrisk.errors import UnsupportedColumnError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import MissingOrWildcard
    from anonrisk.measures.counts.class_sizes import ClassCounts


@in_one_state
def summary(
    frame: Any,
    qids: Names | Sequence[Names] | None = None,
    by: Name | None = None,
    sizes: Sequence[int] = (1, 5, 10, 50, 100),
    *,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
) -> pd.DataFrame:
    """Summarise the class sizes of one or several quasi-identifiers.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table.
    qids : name, list of names, or list of those, optional
        ``["zip", "age"]`` is one quasi-identifier; ``[["zip"], ["zip", "age"]]`` is two. Left out,
        the declared one. All are counted in one pass.
    by : name, optional
        Count within each group of this column: classes are formed on the quasi-identifier and
        `by` together. Naming it is asking for its values: they appear in the result.
    sizes : sequence of int
        The sizes for which records in classes of at most that size are counted.
    unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    pandas.DataFrame
        Indexed by the quasi-identifier (and group): records, number of classes (sets), their
        least, quartiles, mean and largest size, and the records in classes of at most 1, 5, ….
        With ``missing="drop"``, also the rows that were dropped.

    Raises
    ------
    As in `anonrisk.classes`.
    TooManyGroupsError
        As in `anonrisk.box_plot`.

    See Also
    --------
    anonrisk.classes : the histogram of one quasi-identifier
    anonrisk.box_plot : to draw, group by group
    anonrisk.assess : measures instead of sizes

    Notes
    -----
    The columns of Koot's tables; quartiles are over classes, with linear interpolation. With a
    `unit`, records are persons.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Tables 3.2 to
    3.5; corrected as in docs/formulas.md, ``koot-table-3.2``, ``koot-table-3.3``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> table = df.anon.summary([["zip"], ["zip", "age"]], sizes=(1, 2))
    >>> table[["records", "sets", "min", "max", "at_most_1", "at_most_2"]]
               records  sets  min  max  at_most_1  at_most_2
    qid
    zip              3     2    1    2          1          3
    zip + age        3     2    1    2          1          3
    """
    sizes = _check_sizes(sizes)
    engine, question = question_of(
        frame, qids, unit=unit, missing=missing, several=True, wildcard=True
    )
    if by is None:
        rows = [
            _row(counted, counted.n_dropped, missing, sizes)
            for counted in engine.count(frame, question)
        ]
        return pd.DataFrame(rows, index=pd.Index(_labels(question.qids), name="qid"))
    groups = count_groups(engine, frame, question, by)
    keys = [
        (label, group.label)
        for label, by_group in zip(_labels(question.qids), groups, strict=True)
        for group in by_group
    ]
    rows = [
        _row(group.sizes, group.n_dropped, missing, sizes)
        for by_group in groups
        for group in by_group
    ]
    try:
        index = pd.MultiIndex.from_tuples(keys, names=["qid", by])
    # Objects may raise whatever they like when they are compared.
    except Exception as error:  # noqa: BLE001
        raise_alone(
            UnsupportedColumnError(
                f"grouping column {by!r} holds objects that cannot label the rows of a table "
                f"({type(error).__name__})"
            )
        )
    return pd.DataFrame(rows, index=index)


def summarised(counted: ClassCounts, sizes: Any) -> pd.DataFrame:
    """Summarise one quasi-identifier that is counted already."""
    row = _row(counted, counted.n_dropped, counted.missing, _check_sizes(sizes))
    return pd.DataFrame([row], index=pd.Index(_labels([counted.qid]), name="qid"))


def _check_sizes(sizes: Any) -> list[int]:
    listed = list(sizes) if hasattr(sizes, "__iter__") else [sizes]
    return [whole_number(size, "one of the sizes", at_least=1) for size in listed]


def _labels(qids: Sequence[tuple[Name, ...]]) -> list[str]:
    return [" + ".join(map(visible, qid)) for qid in qids]


def _row(
    counted: ClassCounts | None, n_dropped: int, missing: str, at: Sequence[int]
) -> dict[str, float]:
    """Make a row of the table; a group whose records were all dropped has no class to speak of."""
    dropped = {"dropped": n_dropped} if missing == "drop" else {}
    if counted is None:
        unknown = dict.fromkeys(("min", "q25", "median", "mean", "q75", "max"), float("nan"))
        return {"records": 0, **dropped, "sets": 0, **unknown, **{f"at_most_{s}": 0 for s in at}}
    return {
        "records": counted.n_records,
        **dropped,
        "sets": counted.n_classes,
        "min": counted.k,
        "q25": counted.quantile(0.25),
        "median": counted.quantile(0.5),
        "mean": counted.mean,
        "q75": counted.quantile(0.75),
        "max": counted.max,
        **{f"at_most_{size}": counted.records_at_most(size) for size in at},
    }
