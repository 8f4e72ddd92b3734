"""The roles that a table carries."""

from __future__ import annotations

from typing import Any

from anonrisk.api.question import in_one_state
from anonrisk.core import column_roles
from anonrisk.engines import engine_for


@in_one_state
def roles(frame: Any) -> column_roles.Roles:
    """Read back the roles that a table carries; an empty `Roles` where there are none.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take.

    Returns
    -------
    Roles
        The columns by role; those that are gone are left out.

    Raises
    ------
    RolesLostError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.declare : gives a table its roles
    anonrisk.Policy.with_roles : roles of a policy

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011"], "note": ["x"]}).anon.declare(quasi="zip")
    >>> df.anon.roles()
    column   role
    zip      quasi-identifier
    note     -
    """
    schema = engine_for(frame).schema(frame)
    stored, columns = schema.roles, schema.columns
    if stored is None:
        return column_roles.Roles(columns=tuple(columns))
    return column_roles.current(stored, columns, schema.index)
