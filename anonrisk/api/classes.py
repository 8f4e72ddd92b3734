"""Class sizes: how many records share a quasi-identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import in_one_state, question_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import MissingOrWildcard


@in_one_state
def classes(
    frame: Any,
    qids: Names | None = None,
    *,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
) -> ClassSizes:
    """Count the classes of a quasi-identifier: one scan, many questions.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, Polars, Spark (classic or Connect) or pandas-on-Spark, or one that
        speaks the Arrow stream.
    qids : name or list of names, optional
        The columns that together may single somebody out; left out, those that were declared.
    unit : name, optional
        The column that says which person a row belongs to. A class's size is then its number of
        different persons, and shares count persons, each by the smallest of their classes.
    missing : {"value", "drop", "error", "wildcard"}
        Whether a missing quasi-identifier is a value like any other, is left out, is refused, or
        matches every value. In the last case a class is a combination with all the records that
        match it, so that classes overlap; see ``docs/how_it_works.md``.

    Returns
    -------
    ClassSizes
        The histogram of class sizes, which answers for k, uniqueness, entropy and more.

    Raises
    ------
    ColumnNotFoundError, DuplicateColumnError
        If the table lacks a named column, or has two of that name.
    RolesNotGivenError
        If no quasi-identifiers are named or declared.
    RolesLostError
        If the table has changed so that declared roles are in doubt.
    MissingValuesError
        If a quasi-identifier is missing and ``missing="error"``.
    MissingUnitError
        If a row has no `unit`.
    EmptyTableError
        If there is no record to measure.
    UnsupportedColumnError
        If cells cannot be compared: they are nested, or of mixed types.
    UnsupportedFrameError
        If the table is of no supported library.
    ArgumentError
        If an argument has a wrong value, or a column is named twice or in two roles.

    See Also
    --------
    anonrisk.k : the smallest class alone
    anonrisk.sizes : the class size of every record
    anonrisk.summary : several quasi-identifiers, or groups, at once
    anonrisk.assess : many measures in as few passes as possible

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> anonrisk.classes(df, ["zip", "age"])
    Classes of zip + age: 3 records in 2 classes, k = 1
    1 record (33.3%) is a singleton
    class size   classes   records   share
             1         1         1   33.3%
             2         1         2   66.7%
    """
    engine, question = question_of(frame, qids, unit=unit, missing=missing, wildcard=True)
    return ClassSizes.of(engine.count(frame, question)[0])
