"""How coarse must each column be? Every combination of levels, for a person to choose among."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.asking import in_one_state
from anonrisk.api.question import question_of
from anonrisk.api.roles import roles
from anonrisk.api.sensitive import question_about, with_distance
from anonrisk.core.arguments import by_column, one_of, text_or_none, whole_number
from anonrisk.core.columns import require_hierarchies
from anonrisk.core.interrupt import limited, seconds_of
from anonrisk.core.literals import ColumnLoss
from anonrisk.core.progress import shown, tell
from anonrisk.engines.limits import check_finite
from anonrisk.errors import ArgumentError, EmptyTableError
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.planning.lattice.explore import combinations, levels_of
from anonrisk.planning.lattice.full_domain import value_budget
from anonrisk.planning.lattice.offer import CUTS, offers
from anonrisk.planning.losses.choose import OF_COLUMNS
from anonrisk.planning.options import require_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Cuts
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Question
    from anonrisk.reporting.explorer import Explorer

# With 3, a smallest class that is not told while nobody is alone would be one of two.
LEAST_FLOOR = 4
# Multiples of it are counted in 64 bits.
_MOST_FLOOR = 10**9


@in_one_state
def explore(
    frame: Any,
    qids: Names | None = None,
    k: int = 5,
    *,
    sensitive: Names | None = None,
    hierarchies: Mapping[Any, Any] | None = None,
    bins: Cuts = "auto",
    loss: ColumnLoss = "entropy",
    max_suppressed: float = 0.02,
    floor: int = 5,
    name: str | None = None,
    title: str | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Explorer:
    """Measure every combination of levels of the columns: a page on which a person chooses.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.plan`: records are counted, each for itself.
    k : int
        The size that every class should have, at least 2.
    sensitive : name or list of names, optional
        Columns whose l and t are told too; left out, those declared.
    hierarchies
        As in `anonrisk.plan`: which levels are offered for a column.
    bins : {"auto", "width", "quantile", "sampled", "rank", "median", "centre"}
        How numbers are cut where no recodings are given; see `anonrisk.PlanOptions`.
    loss : {"entropy", "range"}
        How the detail that a level keeps is measured, as in `anonrisk.PlanOptions`: by losses that
        add up over columns, because the page adds them up.
    max_suppressed : float
        The largest share of the people that may be left out, to begin with.
    floor : int
        Counts of people are rounded up to multiples of this, at least 4: 0 means nobody.
    name : str, optional
        What the table is called.
    title : str, optional
        The heading.
    time_limit : float, optional
        Seconds after which no further level is measured: those that are missing are among
        ``left_out``, and the explorer is ``partial``. The table is counted, and the finest and the
        coarsest level of each column are measured, however long that takes.
    progress : bool, optional
        As in `anonrisk.find_qids`.

    Returns
    -------
    Explorer
        With `save("explore.html")`, `to_dict` and `plan`; it prints what it holds.

    See Also
    --------
    anonrisk.plan : the combination of least loss, found by search
    anonrisk.apply : does what the chosen plan says
    anonrisk.utility : the loss, and other measures, of a changed table

    Notes
    -----
    One count of the table, then arithmetic. A column has the levels that `anonrisk.plan` would
    choose among, ten at most, and all columns together 10,000 combinations at most; `to_dict`
    and the page say which levels were left out and why. Detail kept is 1 minus the loss of the
    recoding (T11 or T9), people who are left out not counted. l and t are those of the table
    without the classes smaller than `k`, or than `floor` where that is more.

    The page is an internal working document. It holds many counts of one table, and
    whoever compares them may learn what none of them tells.

    References
    ----------
    - V. S. Iyengar, *Transforming Data to Satisfy Privacy Constraints*, KDD 2002, 279-288.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> ages = [31, 33, 35, 38, 41, 44, 46, 49]
    >>> df = pd.DataFrame({"age": ages * 3, "sex": list("ffmmffmm") * 3})
    >>> made = df.anon.explore(["age", "sex"])
    >>> made
    Explorer of age + sex: 10 combinations for up to 25 people, k = 5
    column   levels              from the finest to the coarsest
       age        5   as it is, 8 bins, 4 bins, 2 bins, left out
       sex        2                           as it is, left out
    As it is, up to 25 people (100.0%) hide among fewer than 5.
    explorer.save('explore.html') writes the page.
    >>> df.anon.apply(made.plan([3, 0])).anon.k(["age", "sex"])
    6
    """
    from anonrisk.reporting.explored import summarise
    from anonrisk.reporting.explorer import Explorer

    k = whole_number(k, "k", at_least=2)
    floor = whole_number(floor, "floor", at_least=LEAST_FLOOR, at_most=_MOST_FLOOR)
    text_or_none(name, "name")
    text_or_none(title, "title")
    one_of(bins, "bins", CUTS)
    one_of(loss, "loss", get_args(ColumnLoss))
    require_share(max_suppressed, "max_suppressed")
    seconds_of(time_limit)
    engine, question, distances = _asked(frame, qids, sensitive)
    if question.unit is not None:
        raise ArgumentError(
            f"an explorer counts records, and the table declares persons by {question.unit!r}: "
            "bring it to one record per person, then declare without unit="
        )
    fields = by_column(hierarchies, "hierarchies")
    require_hierarchies(fields, question.qid)
    free = tuple(column for column in question.qid if column not in fields)
    with shown(progress=progress), limited(time_limit):
        tell("counting the classes")
        tally = engine.tally(frame, ClassesWithValues((*question.qid, *distances), free))
        n = tally.n_records
        if not n:
            raise EmptyTableError("the table is empty: there is no record to explore")
        if k > n:
            raise ArgumentError(f"k={k} is larger than the table, which has {n:,} records")
        for column in question.qid:
            check_finite(tally.domains[column].values, tally.margin(column)[:-1], column)
        about = value_budget(tally, question.qid, k=k, n=n)
        shares = dict(zip(question.qid, about.per_column, strict=True))
        least = max(k, floor)
        offered = offers(tally, shares, fields, k=least, bins=bins)
        levels, left_out = levels_of(tally, offered, OF_COLUMNS[loss])
        result, levels, no_time = combinations(
            tally,
            levels,
            k=k,
            sensitive=distances,
            kept=least,
            by_level=time_limit is not None,
        )
    return Explorer(
        summarise(
            result,
            levels,
            [*no_time, *left_out],
            margins={column: tally.margin(column) for column in question.qid},
            loss=loss,
            distances=distances,
            columns=tuple(engine.schema(frame).columns),
            k=k,
            floor=floor,
            max_suppressed=float(max_suppressed),
            engine=engine.name,
            name=name,
            title=title,
            partial=bool(no_time),
        )
    )


def _asked(
    frame: Any, qids: Names | None, sensitive: Names | None
) -> tuple[Engine, Question, dict[Name, str]]:
    """Find the engine, the columns, and by which distance each sensitive one is compared."""
    if sensitive is None and not roles(frame).sensitive:
        return *question_of(frame, qids, unit=None, missing="value"), {}
    engine, question, named = question_about(
        frame, qids, sensitive, unit=None, missing="value", missing_sensitive="value"
    )
    distances = {about.column: with_distance(engine, frame, about, "auto")[1] for about in named}
    return engine, question, distances
