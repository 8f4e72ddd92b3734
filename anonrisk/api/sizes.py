"""Each record with the size of its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state, question_of
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import SizeOfClass

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import MissingOrWildcard


@in_one_state
def sizes(
    frame: Any,
    qids: Names | None = None,
    *,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
    name: Name = "class_size",
) -> Any:
    """Return the size of each record's class.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`. With ``missing="drop"`` a dropped record has no size (NA).
    name : str
        Name of the new Series or column.

    Returns
    -------
    Series or DataFrame
        On pandas a Series with the table's index. On Spark the table with one column more, lazily;
        the sizes come from a window over the quasi-identifier. There a missing unit, or a missing
        value under ``missing="error"``, fails when the table is computed.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError, MissingUnitError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.classes : how many classes there are of each size
    anonrisk.at_risk : the records of small classes
    anonrisk.suppress : leaves them out

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> df.anon.sizes("zip").tolist()
    [2, 2, 1]
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError("name= is the name of the new column: a text that is not empty")
    engine, question = question_of(frame, qids, unit=unit, missing=missing, wildcard=True)
    return engine.annotate(frame, SizeOfClass(question, name))
