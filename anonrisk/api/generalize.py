"""Columns made coarser, one step at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import hierarchy_of
from anonrisk.core.arguments import finite, whole_number
from anonrisk.core.columns import as_names, require
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import Recode
from anonrisk.measures.counts.question import QuantileBins
from anonrisk.measures.recode import Bins, DatePart, Level, Prefix, Recoding, TopBottom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonrisk.core.columns import FrameT, Name, Names
    from anonrisk.core.types import Part
    from anonrisk.engines.base import Engine

# Each takes a place while quantiles are counted.
_MOST_BINS = 1_000_000


@in_one_state
def generalize(
    frame: FrameT,
    columns: Names | Mapping[Any, Recoding],
    *,
    bins: int | Sequence[float] | NDArray[Any] | Bins | None = None,
    prefix: int | None = None,
    hierarchies: Any = None,
    level: int | None = None,
    part: Part | None = None,
    top: float | None = None,
    bottom: float | None = None,
) -> FrameT:
    """Make the values of some columns coarser, with names that say what they stand for.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name, list of names, or dict of name to recoding
        What to recode; a dict of recodings of `anonrisk.recode` needs no more.
    bins : int or list of numbers, optional
        Numbers into so many bins of about the same number of records, at edges that are easy to
        name; or between these edges. The outer bins are open-ended.
    prefix : int, optional
        Codes to their first characters: ``"1011"`` to ``"10**"``.
    hierarchies, level : optional
        Values to their node on this level of a hierarchy (see `anonrisk.tcloseness`); 0 is the
        values themselves.
    part : {"day", "week", "month", "quarter", "half", "year", "decade"}, optional
        Dates to a period: ``"1981-H2"``, or a week of ISO 8601: ``"2024-W07"``. Instants are read
        in Greenwich.
    top, bottom : float, optional
        Numbers beyond an end to that end; the column stays one of numbers.

    Returns
    -------
    DataFrame
        A new table of the same kind, lazy on Spark. A missing value stays missing, except at the
        top of a hierarchy.

    Raises
    ------
    ColumnNotFoundError, UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    HierarchyError
        If a hierarchy is not a tree, cannot be read, or lacks values of the column.

    See Also
    --------
    anonrisk.plan : finds how coarse each column must become
    anonrisk.microaggregate : means of groups instead of bins
    anonrisk.suppress : leaves out what stays rare
    anonrisk.recode.Bins : one of the recodings

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [23, 34, 38, 91], "zip": ["1011", "1012", "1095", "2500"]})
    >>> df = df.anon.generalize("age", bins=[30, 40, 90])
    >>> df.anon.generalize("zip", prefix=2)
         age   zip
    0    <30  10**
    1  30-39  10**
    2  30-39  10**
    3   >=90  25**
    """
    engine = engine_for(frame)
    schema = engine.schema(frame)
    known = schema.columns
    ways = {
        "bins": bins,
        "prefix": prefix,
        "hierarchies": hierarchies,
        "part": part,
        "top or bottom": top if top is not None else bottom,
    }
    values = [way for way, value in ways.items() if value is not None]
    if isinstance(columns, Mapping):
        if values or not all(isinstance(recoding, Recoding) for recoding in columns.values()):
            raise ArgumentError(
                "a dict maps columns to recodings of anonrisk.recode, and needs nothing more: "
                "write {'zip': anonrisk.recode.Prefix(2)}"
            )
        recodings = dict(columns)
        names = as_names(list(recodings), "column", known)
        require(names, "column", known)
        schema.check(dict.fromkeys(names, "column"))
        return engine.rewrite(frame, Recode(recodings))
    if len(values) != 1:
        raise ArgumentError(
            "give one way to generalize: bins=, prefix=, hierarchies= with level=, part=, "
            "or top= and bottom="
        )
    if (hierarchies is None) != (level is None):
        raise ArgumentError("hierarchies= and level= go together")
    names = as_names(columns, "column", known)
    require(names, "column", known)
    schema.check(dict.fromkeys(names, "column"))
    if bins is not None:
        recodings = {name: _bins(engine, frame, name, bins) for name in names}
        return engine.rewrite(frame, Recode(recodings))
    if hierarchies is not None:
        depth = whole_number(level, "level", at_least=0)
        trees = {name: Hierarchy.of(hierarchy_of(hierarchies, name, known)) for name in names}
        return engine.rewrite(
            frame, Recode({n: Level.of(tree, depth) for n, tree in trees.items()})
        )
    recoding = _recoding(prefix=prefix, part=part, top=top, bottom=bottom)
    return engine.rewrite(frame, Recode(dict.fromkeys(names, recoding)))


def _recoding(*, prefix: Any, part: Any, top: Any, bottom: Any) -> Recoding:
    if prefix is not None:
        return Prefix(whole_number(prefix, "prefix", at_least=1))
    if part is not None:
        return DatePart(part)
    return TopBottom(bottom, top)


def _bins(engine: Engine, frame: Any, name: Name, bins: Any) -> Bins:
    if isinstance(bins, Bins):
        return bins
    if isinstance(bins, (list, tuple, np.ndarray)):
        edges = tuple(finite(edge, "each of the edges of bins") for edge in list(bins))
        whole = all(edge.is_integer() for edge in edges) and engine.schema(frame).is_whole(name)
        return Bins(edges, whole=whole)
    quantiles = QuantileBins(name, whole_number(bins, "bins", at_least=2, at_most=_MOST_BINS))
    result: Bins = engine.tally(frame, quantiles)
    return result
