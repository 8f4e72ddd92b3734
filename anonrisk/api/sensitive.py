"""From what a caller wrote about sensitive columns, or a loss, to what an engine can score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.question import question_of
from anonrisk.core import column_roles
from anonrisk.core.arguments import one_of, positive, true_or_false
from anonrisk.core.columns import as_name, as_names, require
from anonrisk.core.types import ColumnLoss, Distance, Loss
from anonrisk.errors import ArgumentError, RoleConflictError, RolesNotGivenError
from anonrisk.measures.counts.question import Score, Sensitive
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Question
    from anonrisk.measures.counts.schema import Schema

DISTANCES = get_args(Distance)


def question_about(
    frame: Any,
    qids: Any,
    sensitive: Any,
    *,
    unit: Name | None,
    missing: str,
    missing_sensitive: str,
) -> tuple[Engine, Question, list[Sensitive]]:
    """Find the engine, fill in declared roles, and check every name and type."""
    one_of(missing_sensitive, "missing_sensitive", ("value", "drop", "error"))
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    schema = engine.schema(frame)
    columns = schema.columns
    names = as_names(
        _declared(schema) if sensitive is None else sensitive, "sensitive column", columns
    )
    require(names, "sensitive column", columns)
    for name in names:
        if name in question.columns or name == question.unit:
            other = "unit" if name == question.unit else "quasi-identifier"
            raise RoleConflictError(f"column {name!r} cannot be both sensitive and {other}")
    schema.check(dict.fromkeys(names, "sensitive column"))
    return engine, question, [Sensitive(name, missing_sensitive) for name in names]


def _declared(schema: Schema) -> Qid:
    stored = schema.roles
    if stored is not None:
        roles = column_roles.current(stored, schema.columns, schema.index)
        if roles.sensitive:
            return roles.sensitive
    raise RolesNotGivenError(
        "no sensitive column: name it in the call, as in df.anon.ldiv(['zip', 'age'], 'diagnosis'),"
        " or once for the table, as in df = df.anon.declare(sensitive='diagnosis')"
    )


def diversity_score(variant: str, c: float | None) -> Score:
    """Settle which diversity to take, and its constant."""
    one_of(variant, "variant", ("distinct", "entropy", "recursive"))
    if variant == "recursive":
        if c is None:
            raise ArgumentError("variant='recursive' needs c=, as in variant='recursive', c=2")
        return Score(variant, positive(c, "c"))
    if c is not None:
        raise ArgumentError(f"c= belongs to variant='recursive', not to variant={variant!r}")
    return Score(variant)


def refuse_closeness(distance: str, order: Any, hierarchies: Any, needs: str) -> None:
    """Reject what describes a distance where none is asked for."""
    one_of(distance, "distance", DISTANCES)
    fields = {"distance": distance != "auto", "order": order is not None}
    fields["hierarchies"] = hierarchies is not None
    for name in (name for name, is_given in fields.items() if is_given):
        raise ArgumentError(f"{name}= has no effect without {needs}")


def with_distance(
    engine: Engine,
    frame: Any,
    sensitive: Sensitive,
    distance: str,
    *,
    order: Any = None,
    hierarchies: Any = None,
) -> tuple[Sensitive, str]:
    """Settle which distance to take, and give the column what that needs."""
    one_of(distance, "distance", DISTANCES)
    if order is not None and hierarchies is not None:
        raise ArgumentError("give either order= or hierarchies=, not both")
    hierarchy = hierarchies
    if hierarchies is not None:
        hierarchy = hierarchy_of(hierarchies, sensitive.column, engine.schema(frame).columns)
    if distance == "auto":
        if hierarchy is not None:
            distance = "hierarchical"
        elif order is not None or engine.schema(frame).is_scale(sensitive.column):
            distance = "ordered"
        else:
            distance = "equal"
    if order is not None and distance != "ordered":
        raise ArgumentError(f"order= has no effect with distance={distance!r}")
    if (hierarchy is None) == (distance == "hierarchical"):
        raise ArgumentError("distance='hierarchical' and hierarchies= belong together: give both")
    if distance == "ordered":
        return replace(sensitive, ordered=True, order=_order(order)), distance
    if distance == "hierarchical":
        from anonrisk.core.hierarchy import Hierarchy

        return replace(sensitive, hierarchy=Hierarchy.of(hierarchy)), distance
    return sensitive, distance


def hierarchy_of(hierarchies: Any, column: Name, columns: Sequence[Name]) -> Any:
    """Return the hierarchy of a column: its own of a mapping, or the one that was given bare.

    A tree may be a dict as well: a dict is by column where one of its keys is a column. What could
    be a tree below the name of no column is refused, because it would be another tree.
    """
    if not isinstance(hierarchies, Mapping):
        return hierarchies
    below = next(iter(hierarchies.values()), None)
    is_tree = len(hierarchies) == 1 and not (isinstance(below, Mapping) and len(below) == 1)
    if is_tree and not any(name in columns for name in hierarchies):
        return hierarchies
    require(hierarchies, "hierarchy of", columns)
    if hierarchies.get(column) is None:
        raise ArgumentError(f"hierarchies= has no hierarchy of column {column!r}")
    return hierarchies[column]


def _order(value: Any) -> tuple[Any, ...] | None:
    if value is None:
        return None
    if isinstance(value, (str, set, frozenset)) or not hasattr(value, "__iter__"):
        raise ArgumentError("order= lists the values from the smallest to the largest")
    order = tuple(value)
    try:
        repeated = len(set(order)) < len(order)
    except TypeError:
        raise ArgumentError("order= lists single values, not lists of them") from None
    if repeated:
        raise ArgumentError("order= names a value twice")
    return order


def against(question: Question, sensitive: Sensitive, all_names: Qid, *, joint: bool) -> Question:
    """Take the other sensitive columns into the quasi-identifier, where that is asked for."""
    if not true_or_false(joint, "joint"):
        return question
    others = tuple(name for name in all_names if name != sensitive.column)
    return replace(question, qids=((*question.qid, *others),))


def worst(  # noqa: PLR0917
    frame: Any,
    qids: Any,
    sensitive: Any,
    name: str,
    unit: Any,
    missing: str,
    missing_sensitive: str,
) -> float:
    """Score the worst class of one sensitive column by a score without settings."""
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    score = Score(name)
    return FORMULAS[name].worst_of(
        engine.score(frame, question, column, [score]).worst[score] for column in columns
    )


# Losses that look at columns one by one, so that each can be worth more than another.
_BY_COLUMN = (*get_args(ColumnLoss), "private")


def loss_word(loss: Any) -> str:
    """Check a loss, and name it."""
    if callable(loss):
        return "function"
    one_of(loss, "loss", get_args(Loss))
    return str(loss)


def refuse_weights(loss: str, weights: Mapping[Any, float] | None) -> None:
    """Reject weights of columns where a loss does not look at columns."""
    if weights is not None and loss not in _BY_COLUMN:
        raise ArgumentError(
            f"column_weights= has no effect with loss={loss!r}, which looks at classes and not at "
            f"columns; it goes with {', '.join(map(repr, _BY_COLUMN))}"
        )


def target_of(loss: str, target: Any, qid: Qid, schema: Schema) -> Qid:
    """Find the column whose values should stay predictable, if any."""
    if (target is None) == (loss == "target"):
        raise ArgumentError("loss='target' and target=, the column to predict, belong together")
    if target is None:
        return ()
    name = as_name(target, "target column")
    require((name,), "target column", schema.columns)
    if name in qid:
        raise RoleConflictError(
            f"column {name!r} cannot be both quasi-identifier and target column"
        )
    schema.check({name: "target column"})
    return (name,)
