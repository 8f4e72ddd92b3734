"""From what a caller wrote to a question that an engine can answer, checked before any work.

A question of any public word is asked of one state of its table.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from anonrisk.core import column_roles
from anonrisk.core.arguments import refuse_renamed
from anonrisk.core.columns import as_name, as_names, check_missing, require
from anonrisk.core.render import count_of
from anonrisk.engines import engine_for, refusals
from anonrisk.engines.base import kept
from anonrisk.engines.one_state import one_state
from anonrisk.errors import ArgumentError, EmptyTableError, NoColumnsError, RoleConflictError
from anonrisk.measures.counts import question as questions
from anonrisk.measures.counts.population import ClusteredClasses
from anonrisk.measures.counts.question import ByGroup, ClassesWithValues, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Group

Given = ParamSpec("Given")
Gives = TypeVar("Gives")

# What arguments were called before version 0.9, and what is written now.
RENAMED = {
    "assess": {"hierarchy": "hierarchies="},
    "at_risk": {"hierarchy": "hierarchies=", "kind": "variant="},
    "beta_likeness": {"kind": "variant="},
    "entropy": {"order": "alpha="},
    "explore": {"max_suppression": "max_suppressed="},
    "find_qids": {"columns": "qids=", "time_budget": "time_limit="},
    "generalize": {"hierarchy": "hierarchies="},
    "ldiv": {"kind": "variant="},
    "is_quasi_identifier": {"columns": "qids="},
    "linkability": {"user": "unit="},
    "profiles": {"hierarchy": "hierarchies="},
    "report": {"policy_or_qids": "policy= or qids="},
    "summary": {"at": "sizes=", "qid_sets": "qids="},
    "suppress": {"weights": "column_weights="},
    "tcloseness": {"hierarchy": "hierarchies="},
    "trajectory": {"user": "unit="},
}


def in_one_state(word: Callable[Given, Gives]) -> Callable[Given, Gives]:
    """Let all that a function asks of its table see one state of it."""
    renamed = RENAMED.get(word.__name__, {})

    @wraps(word)
    def asking(*args: Given.args, **kwargs: Given.kwargs) -> Gives:
        refuse_renamed(kwargs, renamed)
        with one_state(args[0] if args else kwargs.get("frame"), word.__name__):
            return word(*args, **kwargs)

    return asking


def question_of(
    frame: Any,
    qids: Any,
    *,
    unit: Name | None,
    missing: str,
    several: bool = False,
    wildcard: bool = False,
) -> tuple[Engine, Question]:
    """Find the engine, fill in declared roles, and check every name and type.

    Who can do with classes that overlap says `wildcard`.
    """
    check_missing(missing, wildcard=wildcard)
    if unit is not None:
        as_name(unit, "unit")
    engine = engine_for(frame)
    schema = engine.schema(frame)
    columns = schema.columns
    if qids is None or unit is None:
        stored = schema.roles
        if qids is None:
            current = stored and column_roles.current(stored, columns, schema.index)
            qids = column_roles.quasi_of(current)
        if unit is None and stored is not None:
            unit = column_roles.unit_of(stored, columns)
    sets = _several(qids, columns) if several else [as_names(qids, "quasi-identifier", columns)]
    question = Question(tuple(sets), unit, missing)
    require(question.columns, "quasi-identifier", columns)
    if unit is not None:
        require([unit], "unit", columns)
        if unit in question.columns:
            raise RoleConflictError(f"column {unit!r} cannot be both quasi-identifier and unit")
    if missing == "wildcard":
        _check_wildcard(question)
    schema.check(question.roles())
    return engine, question


def require_beside(engine: Engine, frame: Any, question: Question, name: Name, role: str) -> None:
    """Make sure that a column can have a role beside the quasi-identifiers."""
    schema = engine.schema(frame)
    require([as_name(name, role)], role, schema.columns)
    if name in question.columns:
        raise RoleConflictError(f"column {name!r} cannot be both quasi-identifier and {role}")
    schema.check({name: role})


def _check_wildcard(question: Question) -> None:
    if question.unit is not None:
        raise ArgumentError(
            f"missing='wildcard' counts records, not the persons of unit {question.unit!r}: reduce "
            "the table to one row per person, or use missing='value'"
        )
    if any(len(qid) > questions.MAX_WILDCARD_COLUMNS for qid in question.qids):
        raise ArgumentError(
            f"missing='wildcard' takes at most {questions.MAX_WILDCARD_COLUMNS} columns: "
            "give fewer, or use missing='value'"
        )


def count_groups(engine: Engine, frame: Any, question: Question, by: Name) -> list[list[Group]]:
    """Count the classes of a question within each group of a column, checked first."""
    as_name(by, "grouping column")
    schema = engine.schema(frame)
    require([by], "grouping column", schema.columns)
    if by == question.unit:
        raise RoleConflictError(f"column {by!r} cannot be both grouping column and unit")
    schema.check({by: "grouping column"})
    groups = engine.count(frame, ByGroup(question, by))
    if not any(group.sizes for by_group in groups for group in by_group):
        raise EmptyTableError("no group has a record to measure")
    return groups


def _several(value: Any, columns: Sequence[Name]) -> list[Qid]:
    """Read one quasi-identifier (a name or a list of names) or a list of them."""
    if not isinstance(value, (list, tuple)):
        return [as_names(value, "quasi-identifier", columns)]
    items = list(value)
    if not items:
        raise NoColumnsError("no quasi-identifier given: the list is empty")
    # Compared with tuples alone: a number of NumPy compares itself with each part of a list.
    labels = [name for name in columns if isinstance(name, tuple)]
    if not any(
        isinstance(item, (list, tuple, set, frozenset)) and item not in labels for item in items
    ):
        return [as_names(items, "quasi-identifier", columns)]
    return [as_names(item, "quasi-identifier", columns) for item in items]


def columns_to_change(frame: Any, columns: Any) -> tuple[Engine, Qid]:
    """Read the names of columns that a step is to change."""
    engine = engine_for(frame)
    schema = engine.schema(frame)
    known = schema.columns
    names = as_names(columns, "column", known)
    require(names, "column", known)
    schema.check(dict.fromkeys(names, "column"))
    return engine, names


# Chosen: with 30 homes intervals held in 93% of 150 runs or more, in 36 cells of tests/homes.py.
LEAST = 30


def clustered_of(engine: Engine, frame: Any, question: Question, cluster: Name) -> ClusteredClasses:
    """Count the classes with the clusters that their records come from, one record per person."""
    require_beside(engine, frame, question, cluster, "cluster")
    if question.unit is not None:
        raise ArgumentError(
            "cluster= does not go with a unit: reduce the table to one row per person"
        )
    tally = engine.tally(frame, ClassesWithValues((*question.columns, cluster)))
    tally, n_dropped = kept(tally, question)
    lost = int(tally.counts[tally.codes[cluster] == len(tally.domains[cluster])].sum())
    if lost:
        raise refusals.missing_household(cluster, lost, "cluster")
    counted = ClusteredClasses.of(tally, cluster, missing=question.missing, n_dropped=n_dropped)
    equal = counted.n / counted.together
    if equal < LEAST:
        raise ArgumentError(
            f"cluster {cluster!r} has {count_of(counted.n_clusters, 'value')}, which tell as much "
            f"as {equal:.0f} of equal size: fewer than {LEAST} do not show how alike the people of "
            "one are"
        )
    return counted
