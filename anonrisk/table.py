"""A table of any kind, together with the roles of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.declare import declare
from anonrisk.engines import engine_for
from anonrisk.engines.narwhals import NarwhalsEngine, inside_narwhals

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names


def table(
    frame: Any,
    *,
    quasi: Names = (),
    sensitive: Names = (),
    direct: Names = (),
    insensitive: Names = (),
    unit: Name | None = None,
) -> Any:
    """Give any table its roles and `.anon`, also one that can carry neither.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take; it stays as it is.
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
    HeldTable or DataFrame
        Of a table that speaks the Arrow stream (Polars, a DuckDB relation, pyarrow, narwhals), a
        `HeldTable`: every function and `Policy.check` take it like the table itself, its `.frame`
        is the table, and where a call gives a table, that is held again, with its roles. Of a table
        that carries roles and has `.anon` by itself (pandas, Spark; also inside a narwhals frame),
        the same as from `anonrisk.declare`.

    See Also
    --------
    anonrisk.declare : roles of tables that carry them by themselves
    anonrisk.anon : `.anon` alone

    Examples
    --------
    >>> import pyarrow as pa
    >>> import anonrisk
    >>> people = pa.table({"zip": ["1011", "1011", "1012"], "ill": ["flu", "hiv", "flu"]})
    >>> held = anonrisk.table(people, quasi="zip", sensitive="ill")
    >>> held
    pyarrow Table, held with the roles of its columns
    column   role
    zip      quasi-identifier
    ill      sensitive column
    .anon asks it, .frame is the table itself
    >>> held.anon.k()
    1
    >>> held.anon.suppress(k=2).frame.num_rows
    2
    """
    engine = engine_for(frame)
    if isinstance(engine, NarwhalsEngine):
        # A table that carries roles by itself; narwhals around it has no `.anon`.
        frame = inside_narwhals(frame)
    elif engine.name == "arrow":
        from anonrisk.engines.arrow import ArrowEngine

        frame = ArrowEngine().hold(frame)
    given = {"quasi": quasi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive}
    if unit is None and all(isinstance(names, tuple) and not names for names in given.values()):
        return frame
    return declare(frame, **given, unit=unit)
