"""Single steps, each from a table to a new one of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.api.question import ask
from anonrisk.core.arguments import finite, one_of, positive, whole_number
from anonrisk.core.columns import as_names, require
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.engines import engine_for
from anonrisk.engines.base import CellSuppression, Noise
from anonrisk.errors import ArgumentError, RoleConflictError
from anonrisk.recode import Bins, DatePart, Level, Prefix, Recoding, TopBottom

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine

LAWS = ("normal", "laplace", "uniform")


def generalize(
    frame: Any,
    columns: Any,
    *,
    bins: Any = None,
    prefix: int | None = None,
    hierarchy: Any = None,
    level: int | None = None,
    part: str | None = None,
    top: float | None = None,
    bottom: float | None = None,
) -> Any:
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
    hierarchy, level : optional
        Values to their node on this level of a hierarchy (see `anonrisk.tcloseness`); 0 is the
        values themselves.
    part : {"month", "quarter", "half", "year", "decade"}, optional
        Dates to a period: ``"1981-H2"``. Instants are read in Greenwich.
    top, bottom : float, optional
        Numbers beyond an end to that end; the column stays one of numbers.

    Returns
    -------
    DataFrame
        A new table of the same kind, lazy on Spark. A missing value stays missing, except at the
        top of a hierarchy.

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
    known = engine.columns(frame)
    ways = {
        "bins": bins,
        "prefix": prefix,
        "hierarchy": hierarchy,
        "part": part,
        "top or bottom": top if top is not None else bottom,
    }
    given = [way for way, value in ways.items() if value is not None]
    if isinstance(columns, Mapping):
        if given or not all(isinstance(recoding, Recoding) for recoding in columns.values()):
            raise ArgumentError(
                "a dict maps columns to recodings of anonrisk.recode, and needs nothing more"
            )
        recodings = dict(columns)
        names = as_names(list(recodings), "column", known)
        require(names, "column", known)
        engine.check(frame, dict.fromkeys(names, "column"))
        return engine.recode(frame, recodings)
    if len(given) != 1:
        raise ArgumentError(
            "give one way to generalize: bins=, prefix=, hierarchy= with level=, part=, "
            "or top= and bottom="
        )
    if (hierarchy is None) != (level is None):
        raise ArgumentError("hierarchy= and level= go together")
    names = as_names(columns, "column", known)
    require(names, "column", known)
    engine.check(frame, dict.fromkeys(names, "column"))
    if bins is not None:
        return engine.recode(frame, {name: _bins(engine, frame, name, bins) for name in names})
    recoding = _recoding(
        prefix=prefix, hierarchy=hierarchy, level=level, part=part, top=top, bottom=bottom
    )
    return engine.recode(frame, dict.fromkeys(names, recoding))


def _recoding(
    *, prefix: Any, hierarchy: Any, level: Any, part: Any, top: Any, bottom: Any
) -> Recoding:
    if prefix is not None:
        return Prefix(whole_number(prefix, "prefix", at_least=1))
    if hierarchy is not None:
        return Level.of(Hierarchy.of(hierarchy), whole_number(level, "level", at_least=0))
    if part is not None:
        return DatePart(part)
    return TopBottom(bottom, top)


def _bins(engine: Engine, frame: Any, name: Name, bins: Any) -> Bins:
    if isinstance(bins, Bins):
        return bins
    if isinstance(bins, (list, tuple, np.ndarray)):
        edges = tuple(finite(edge, "each of the edges of bins") for edge in list(bins))
        return Bins(
            edges, whole=all(edge.is_integer() for edge in edges) and engine.is_whole(frame, name)
        )
    return engine.quantile_bins(frame, name, whole_number(bins, "bins", at_least=2))


def suppress(
    frame: Any,
    qids: Any = None,
    k: int = 5,
    *,
    cells: bool = False,
    suppressed: str | float | None = "*",
    unit: Name | None = None,
) -> Any:
    """Leave out the records of classes smaller than k, or mark cells of theirs.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`. Cells are marked from the last quasi-identifier on, so name the
        most precious first.
    k : int
        The size from which a class is large enough.
    cells : bool
        Mark cells instead of leaving records out. This is repeated until no class is smaller than
        k, marked cells counted as equal to each other; if too few are left, the smallest other
        class joins them.
    suppressed : str, number or None
        What marks a cell. With a text the column becomes one of text; None is a missing value.

    Returns
    -------
    DataFrame
        A new table of the same kind that is k-anonymous. On Spark it is lazy; for cells after one
        look at what is left.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "age": [3, 3, 4, 5]})
    >>> df.anon.suppress(["zip", "age"], k=2)
      zip  age
    0   a    3
    1   a    3
    >>> df.anon.suppress(["zip", "age"], k=2, cells=True)
      zip age
    0   a   3
    1   a   3
    2   b   *
    3   b   *
    """
    k = whole_number(k, "k", at_least=1)
    marker = suppressed
    text_or_number = isinstance(marker, (str, int, float)) and not isinstance(marker, bool)
    if marker is not None and not text_or_number:
        raise ArgumentError("suppressed= is a text, a number or None")
    engine, question = ask(frame, qids, unit=unit, missing="value")
    return engine.suppress(frame, question, k, CellSuppression(marker) if cells else None)


def microaggregate(frame: Any, columns: Any, k: int = 5) -> Any:
    """Replace numbers by the mean of a group of at least k records.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name or list of names
        Numbers or dates. One column: the groups of least squared error, of k to 2k − 1 records,
        equal values together. Several: grouped jointly by MDAV. Only that makes every combination
        of their values occur k times; column by column it does not.
    k : int
        The least number of records in a group.

    Returns
    -------
    DataFrame
        A new table of the same kind; whole numbers and dates are rounded. One column: missing
        values stay missing, and are no group. On Spark the different values (at most 100,000) are
        counted and grouped on the driver; above that, and for MDAV above 100,000 different
        records on any engine, it is refused.

    Notes
    -----
    Hansen & Mukherjee 2003 by the recursion of Q5; Domingo-Ferrer & Mateo-Sanz 2002.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"income": [10, 12, 30, 31, 32]})
    >>> df.anon.microaggregate("income", k=2)["income"].tolist()
    [11, 11, 31, 31, 31]
    """
    k = whole_number(k, "k", at_least=1)
    engine, names = _named(frame, columns)
    return engine.microaggregate(frame, names, k)


def perturb(frame: Any, columns: Any, scale: Any, *, seed: int, law: str = "normal") -> Any:
    """Add noise to numbers or dates; types are kept.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name or list of names
        Numbers or dates.
    scale : float
        In the column's own units, days for dates: the standard deviation of normal noise, the
        scale of Laplace's law, or the half-width of the uniform one.
    seed : int
        The same seed gives the same noise on the same engine and partitioning.
    law : {"normal", "laplace", "uniform"}

    Returns
    -------
    DataFrame
        A new table of the same kind, lazy on Spark, marked as perturbed: equal cells do not mean
        equal people any more, so a gate cannot judge it by its classes (`was_perturbed`).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [30, 40, 50]})
    >>> noisy = df.anon.perturb("age", 2, seed=1)
    >>> noisy["age"].dtype == df["age"].dtype, noisy.anon.was_perturbed()
    (True, {'age': 'perturb'})
    """
    engine, names = _named(frame, columns)
    one_of(law, "law", LAWS)
    width = positive(scale, "scale")
    seed = whole_number(seed, "seed", at_least=0)
    return engine.perturb(frame, Noise(law, dict.fromkeys(names, width), seed))


def permute(frame: Any, columns: Any, *, seed: int, by: Any = None) -> Any:
    """Shuffle the cells of some columns among the records, within groups if asked to.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name or list of names
        What to shuffle; several move together, so that what they say jointly is kept.
    seed : int
        The same seed gives the same order on the same engine and partitioning.
    by : name or list of names, optional
        Shuffle only among records that are equal in these. Without it Spark sorts the whole table
        in one task.

    Returns
    -------
    DataFrame
        A new table of the same kind, lazy on Spark. Each record gets the cells of the next one in a
        random order of its group, so none keeps its own unless it is alone; how often each value
        occurs in a group is exactly kept. Marked as `perturb` marks it.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"ward": ["a", "a", "b"], "income": [1, 2, 3]})
    >>> df.anon.permute("income", by="ward", seed=1)["income"].tolist()
    [2, 1, 3]
    """
    engine, names = _named(frame, columns)
    seed = whole_number(seed, "seed", at_least=0)
    known = engine.columns(frame)
    groups: Qid = () if by is None else as_names(by, "grouping column", known)
    require(groups, "grouping column", known)
    both = next((name for name in names if name in groups), None)
    if both is not None:
        raise RoleConflictError(f"column {both!r} cannot be shuffled within its own groups")
    engine.check(frame, dict.fromkeys(groups, "grouping column"))
    return engine.permute(frame, names, groups, seed)


def was_perturbed(frame: Any) -> dict[Name, str]:
    """Tell which columns `perturb` or `permute` has changed; an empty dict if none.

    The mark travels as roles do: in `attrs` on pandas, in column metadata on Spark.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> pd.DataFrame({"age": [30, 40]}).anon.permute("age", seed=1).anon.was_perturbed()
    {'age': 'permute'}
    """
    return dict(engine_for(frame).perturbed(frame))


def _named(frame: Any, columns: Any) -> tuple[Engine, Qid]:
    engine = engine_for(frame)
    known = engine.columns(frame)
    names = as_names(columns, "column", known)
    require(names, "column", known)
    engine.check(frame, dict.fromkeys(names, "column"))
    return engine, names
