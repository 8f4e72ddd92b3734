"""Which columns single people out: the search for quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from anonrisk.api.question import in_one_state
from anonrisk.core import column_roles
from anonrisk.core.arguments import true_or_false, whole_number
from anonrisk.core.columns import as_name, as_names, check_missing, require
from anonrisk.core.progress import interruptible, limited, seconds_of, shown, tell
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, NoColumnsError, RoleConflictError
from anonrisk.measures.counts import shapes
from anonrisk.measures.counts.counter import DECIDED, number_of_sets
from anonrisk.measures.counts.question import ManySets, Question
from anonrisk.measures.find_qids import (
    FoundQid,
    LookAlike,
    QidReport,
    SearchPlan,
    nearest_set,
    search,
)
from anonrisk.measures.probabilistic import domain_size, share_between

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import Missing
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.counter import Counter
    from anonrisk.measures.find_qids import MinimalSet, MinimalSets


@overload
def find_qids(
    frame: Any,
    qids: Names | None = ...,
    *,
    alpha: float = ...,
    max_size: int = ...,
    population_size: int | None = ...,
    unit: Name | None = ...,
    missing: Missing = ...,
    time_limit: float | None = ...,
    explain: Literal[False] = ...,
    progress: bool | None = ...,
) -> QidReport: ...


@overload
def find_qids(
    frame: Any,
    qids: Names | None = ...,
    *,
    alpha: float = ...,
    max_size: int = ...,
    population_size: int | None = ...,
    unit: Name | None = ...,
    missing: Missing = ...,
    time_limit: float | None = ...,
    explain: Literal[True],
    progress: bool | None = ...,
) -> SearchPlan: ...


@in_one_state
def find_qids(
    frame: Any,
    qids: Names | None = None,
    *,
    alpha: float = 0.2,
    max_size: int = 4,
    population_size: int | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
    time_limit: float | None = None,
    explain: bool = False,
    progress: bool | None = None,
) -> QidReport | SearchPlan:
    """Find the minimal sets of columns that single out more than a share of the records.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark (classic or Connect) or pandas-on-Spark table.
    qids : name or list of names, optional
        The columns to search; left out, all but those declared direct, sensitive or unit.
    alpha : float
        The share, between 0 and 1, that a set must exceed.
    max_size : int
        The most columns that a set may have: what an attacker may know about a person.
    population_size : int, optional
        Size of the population that the table is a sample of, for the share by domain there.
    unit : name, optional
        The column that says which person a row belongs to; singletons are then persons.
    missing : {"value", "drop", "error"}
        As in `anonrisk.classes`, but ``"drop"`` leaves out the records that miss *any* of the
        columns: only over the same records can sets be compared.
    time_limit : float, optional
        Seconds after which what was found so far is returned, marked as partial; its `coverage`
        says which sizes were searched to the end. Without it the search goes on until it is done.
        Ctrl-C has the same effect, and look-alikes of direct identifiers are then not looked for.
    explain : bool
        Only say how many sets and passes over the table there are.
    progress : bool, optional
        Whether to show on standard error how far it is. Left out: by itself, after two seconds,
        on a terminal or in a notebook.

    Returns
    -------
    QidReport
        The sets with their measured share, ranked by share over number of columns; columns that
        look like direct identifiers, and columns that cannot be searched, apart. With `explain`, a
        `SearchPlan` instead.

    Raises
    ------
    ColumnNotFoundError, RolesLostError, MissingValuesError, MissingUnitError, EmptyTableError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    NoColumnsError
        If no column can be searched.

    See Also
    --------
    anonrisk.is_quasi_identifier : about given columns, and a population
    anonrisk.suda : the smallest sets record by record
    anonrisk.explain_risk : which column of a set to change
    anonrisk.Policy.draft : a policy from what was found

    Notes
    -----
    Sets are searched by size. One is left out uncounted only where it is proven that it is not
    minimal or cannot exceed the share; the proofs are in `anonrisk.measures.find_qids`. Distinction
    is classes over records, separation the share of pairs that are told apart. The share by domain
    (`domain_share`) is Q1 of Lodha & Thomas, the largest share of singletons to expect where no
    more values are possible than the table shows: information about the domain, no bound on what
    was measured, and never used to leave out a set.

    References
    ----------
    - R. Motwani & Y. Xu, *Efficient Algorithms for Masking and Finding Quasi-Identifiers*, 2007.
    - S. Lodha & D. Thomas, *Probabilistic Anonymity*, theorems 1 and 2; corrected as in
      docs/formulas.md, ``lodha-theorems-1-2``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": list("aabb"), "age": [1, 2, 1, 2], "sex": list("fmfm")})
    >>> df.anon.find_qids(alpha=0.5)
    2 minimal sets of at most 4 columns single out more than 50.0% of 4 records
    7 sets decided by 7 counts, the others by proof
    columns      share   singletons   classes   distinction   separation   by domain
    zip + age   100.0%            4         4        100.0%       100.0%       42.2%
    zip + sex   100.0%            4         4        100.0%       100.0%       42.2%
    by domain: the most to expect of people who have no more values than occur here;
      what was measured may be more. 50.0% take more than 5 values
    """
    alpha = share_between(alpha, "alpha")
    max_size = whole_number(max_size, "max_size", at_least=1)
    seconds_of(time_limit)
    if population_size is not None:
        population_size = whole_number(population_size, "population_size", at_least=1)
    check_missing(missing)
    engine = engine_for(frame)
    question, apart, left_out = _asked(engine, frame, qids, unit, missing)
    if true_or_false(explain, "explain"):
        return _plan(engine, question.qid, max_size)
    with shown(progress=progress), limited(time_limit):
        tell("reading the columns")
        counter = engine.count(frame, ManySets(question))
        if not counter.columns:
            raise NoColumnsError(
                "none of the columns can be searched: "
                + "; ".join({**apart, **counter.unsupported}.values())
            )
        outcome = search(counter, alpha, max_size)
        stopped = outcome.stopped
        direct: tuple[LookAlike, ...] = ()
        near: MinimalSet | None = None
        # Whoever has stopped the search does not wait for another look at the table.
        if not stopped:
            with interruptible() as interruption:
                direct = _look_alikes(counter, outcome)
                if not outcome.minimal_sets and outcome.n_settled == outcome.n_sets:
                    tell("looking for the nearest set")
                    near = nearest_set(counter, outcome, max_size)
            stopped = interruption.keep(outcome.n_settled, outcome.n_sets, DECIDED)
    n_records = outcome.columns[0].n_records
    if population_size is not None and population_size < n_records:
        raise ArgumentError(
            f"population_size is smaller than the table, which has {n_records:,} records"
        )
    return QidReport(
        sets=_ranked(outcome, {item.column for item in direct}, population_size),
        direct=direct,
        unsupported={**apart, **counter.unsupported},
        not_searched=left_out,
        alpha=alpha,
        max_size=max_size,
        population_size=population_size,
        n_records=n_records,
        n_dropped=outcome.columns[0].n_dropped,
        unit=question.unit,
        n_sets=outcome.n_sets,
        n_counted=outcome.n_counted,
        n_settled=outcome.n_settled,
        by_size=tuple(number_of_sets(len(counter.columns), max_size)),
        stopped=stopped,
        together=FoundQid(
            outcome.together,
            domain_size(sizes.n_classes for sizes in outcome.columns),
            population_size,
        ),
        nearest=None if near is None else _as_found(near, outcome, population_size),
    )


def _asked(
    engine: Engine, frame: Any, value: Any, unit: Name | None, missing: str
) -> tuple[Question, dict[Name, str], Qid]:
    """Find out which columns to search, which cannot be, and which the roles leave out."""
    schema = engine.schema(frame)
    names, stored = schema.columns, schema.roles
    roles = stored and column_roles.current(stored, names, schema.index)
    if unit is not None:
        as_name(unit, "unit")
    elif roles:
        unit = roles.unit
    if unit is not None:
        require([unit], "unit", names)
        schema.check({unit: "unit"})
    else:
        schema.check({})
    apart: dict[Name, str] = {}
    left_out: Qid = ()
    if value is None:
        declared = {*roles.direct, *roles.sensitive} if roles else set()
        left_out = tuple(name for name in names if name in declared or name == unit)
        wanted = dict.fromkeys(name for name in names if name not in left_out)
        apart = {
            name: f"column {name!r} is the name of {names.count(name)} columns"
            for name in wanted
            if names.count(name) > 1
        }
        asked = tuple(name for name in wanted if name not in apart)
        if not asked:
            raise NoColumnsError("the table has no column that can be searched")
    else:
        asked = as_names(value, "column", names)
        require(asked, "column", names)
    if unit in asked:
        raise RoleConflictError(f"column {unit!r} cannot be both searched and unit")
    return Question((asked,), unit, missing), apart, left_out


def _plan(engine: Engine, columns: Qid, max_size: int) -> SearchPlan:
    sets = number_of_sets(len(columns), max_size)
    batch = engine.sets_a_pass
    if not batch:
        return SearchPlan(columns, tuple(sets), sum(sets), engine.name)
    # All columns at once are counted with the first level; one pass looks at shapes.
    passes = 1 + sum(-(-number // batch) for number in (sets[0] + 1, *sets[1:]))
    return SearchPlan(columns, tuple(sets), passes, engine.name)


def _ranked(
    outcome: MinimalSets, direct: set[Name], population_size: int | None
) -> tuple[FoundQid, ...]:
    """Put first what a person should worry about most."""
    results = [
        _as_found(item, outcome, population_size)
        for item in outcome.minimal_sets
        if len(item.positions) > 1 or item.sizes.qid[0] not in direct
    ]
    results.sort(key=lambda item: (-item.share / len(item.columns), len(item.columns)))
    return tuple(results)


def _as_found(item: MinimalSet, outcome: MinimalSets, population_size: int | None) -> FoundQid:
    values = (outcome.columns[i].n_classes for i in item.positions)
    return FoundQid(item.sizes, domain_size(values), population_size)


def _look_alikes(counter: Counter, outcome: MinimalSets) -> tuple[LookAlike, ...]:
    look_alikes = []
    tell("looking for direct identifiers")
    for sizes, shape in zip(outcome.columns, counter.shapes(), strict=True):
        n_different = sizes.n_classes - (shape.n_known < sizes.n_rows)
        reason = shapes.likeness(shape, n_different)
        if reason is not None:
            look_alikes.append(LookAlike(sizes.qid[0], reason, n_different, sizes.uniqueness))
    return tuple(look_alikes)
