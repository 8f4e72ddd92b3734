"""Roles kept with a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.api.question import in_one_state
from anonrisk.core import column_roles
from anonrisk.engines import engine_for

if TYPE_CHECKING:
    from anonrisk.core.columns import FrameT, Name, Names


@in_one_state
def declare(  # noqa: PLR0917
    frame: FrameT,
    quasi: Names = (),
    sensitive: Names = (),
    direct: Names = (),
    insensitive: Names = (),
    unit: Name | None = None,
) -> FrameT:
    """Return a table that carries the roles of its columns, so that later calls need no names.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    quasi : name or list of names
        Columns that together may single somebody out.
    sensitive : name or list of names
        Columns whose value must not be learned about a person.
    direct : name or list of names
        Columns that name a person; they must be gone before the table is published.
    insensitive : name or list of names
        Columns that are none of these.
    unit : name, optional
        The column that says which person a row belongs to.

    Returns
    -------
    DataFrame
        The same table, with its roles in `attrs` (pandas) or column metadata (Spark). They survive
        filtering, selection and Parquet. A column that is dropped leaves the quasi-identifier; one
        that may have been renamed is an error when the table is measured.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    RolesNotGivenError
        If no role is given.

    See Also
    --------
    anonrisk.roles : reads the roles back
    anonrisk.Policy.draft : proposes a role for every column
    anonrisk.find_qids : which columns single people out

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011"], "age": [34, 34], "diagnosis": ["flu", "flu"]})
    >>> df = df.anon.declare(quasi=["zip", "age"], sensitive="diagnosis")
    >>> df.anon.k()
    2
    """
    engine = engine_for(frame)
    columns = engine.schema(frame).columns
    declared = column_roles.declare(
        columns,
        unit=unit,
        quasi=quasi,
        sensitive=sensitive,
        direct=direct,
        insensitive=insensitive,
    )
    return engine.with_roles(frame, declared)
