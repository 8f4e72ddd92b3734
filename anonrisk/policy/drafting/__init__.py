"""Drafts of policies: every column of a table with a proposed role, for a person to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core import column_roles
from anonrisk.core.arguments import positive
from anonrisk.core.columns import require
from anonrisk.core.render import count_of
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, EmptyTableError, NoColumnsError, PolicyError
from anonrisk.policy import fields
from anonrisk.policy import ready as ready_policies
from anonrisk.policy.budgets import BUDGETS
from anonrisk.policy.drafting import propose
from anonrisk.policy.drafting.propose import Drafted, Proposal
from anonrisk.policy.terms import LISTS, read_roles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.policy.drafting.propose import Together

__all__ = ["Drafted", "Proposal", "draft"]

_IN_INDEX = (
    "it is in the index, which is published and not measured: bring it back with reset_index() and "
    "draft again, or leave it out"
)
_LABELS = (
    "The rows have labels without a name, which are published too: drop them with "
    "reset_index(drop=True), or name them and draft again."
)


def draft(
    frame: Any, ready: str, name: str | None, time_limit: float
) -> tuple[dict[str, Any], Drafted]:
    """Propose a role for every column of a table; give the policy's document, and why.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark (classic or Connect) or pandas-on-Spark table; it is never changed.
    ready : str
        The ready policy whose budgets are taken. A column that it names has its role.
    name : str or None
        Name of the policy; None keeps that of the ready one.
    time_limit : float
        Seconds for the search of sets of columns that single people out.

    Returns
    -------
    tuple of dict and Drafted

    Notes
    -----
    The first of these that holds decides: the table declares a role, or the ready policy names one;
    the cells cannot be compared (direct); the cells look like an e-mail address, a number of a
    person, …, or the name is of one (direct); all cells are alike (insensitive); nearly all differ,
    and are neither dates nor fractions nor amounts (direct); the name is of something that must not
    be learned (sensitive). A key that repeats is the unit if it is clear that it is of persons, and
    which one; else direct. Everything else is quasi, the safe choice: that a column is
    sensitive cannot be told from counts, so that few and uneven values only raise the question.
    """
    start = ready_policies.read(ready)
    seconds = positive(time_limit, "time_limit")
    engine = engine_for(frame)
    columns, labels = _names(engine, frame)
    fixed = _fixed(engine, frame, columns, ready, start)
    facts, unsupported = propose.look(engine, frame, columns)
    wanted = not any(proposal.role == "unit" for proposal in fixed.values())
    made = propose.propose(facts, fixed, unit_wanted=wanted)
    made |= {
        column: fixed.get(column) or Proposal("direct", f"{why}; it must be gone")
        for column, why in unsupported.items()
    }
    together = _together(engine, frame, made, facts, seconds)
    made |= propose.unlike(made, facts, together)
    made = propose.with_reasons(made, facts, together)
    made |= propose.measurable(made, columns)
    made = {column: made[column] for column in columns}
    made |= {label: Proposal("direct", _IN_INDEX) for label in labels}
    document, left_out = _document(start, made, name)
    n_rows = next((seen.n_rows for seen in facts.values()), None)
    notes = [*_notes(made, together, seconds, left_out)]
    if engine.schema(frame).row_labels == "unnamed":
        notes.append(_LABELS)
    return document, Drafted(made, tuple(notes), ready, n_rows, left_out)


def _names(engine: Engine, frame: Any) -> tuple[Qid, Qid]:
    """List the columns and the names in the index, all of which a policy must be able to name."""
    schema = engine.schema(frame)
    schema.check({})
    columns = schema.columns
    labels = tuple(label for label in schema.index if label is not None)
    for column in (*columns, *labels):
        try:
            fields.name(column, "column")
        except PolicyError:
            raise ArgumentError(
                f"column {column!r} cannot be named in a policy, which takes texts that are not "
                "empty, and whole numbers: rename it"
            ) from None
    if not columns:
        raise NoColumnsError("the table has no column that a policy could be about")
    require(dict.fromkeys((*columns, *labels)), "column", (*columns, *labels))
    if not schema.has_rows():
        raise EmptyTableError("the table is empty: there is no record to draft a policy from")
    return columns, labels


def _fixed(
    engine: Engine, frame: Any, columns: Sequence[Name], ready: str, start: Mapping[str, Any]
) -> dict[Name, Proposal]:
    """Return the columns whose role the table declares, or the ready policy knows by name."""
    named = read_roles(start.get("roles"))
    made = {
        column: Proposal(role, f"the ready policy {ready} names it")
        for role in LISTS
        for column in getattr(named, role)
        if column in columns
    }
    schema = engine.schema(frame)
    stored = schema.roles
    if stored is not None:
        declared = column_roles.current(stored, columns, schema.index)
        made |= {c: _declared(declared, c) for c in columns if c in declared.classified}
    return made


def _declared(declared: Roles, column: Name) -> Proposal:
    if column == declared.unit and column in declared.direct:
        why = "the table declares it both direct and unit: replace it by a pseudonym, as the unit"
        return Proposal("direct", why)
    role = next((role for role in LISTS if column in getattr(declared, role)), "unit")
    return Proposal(role, "the table declares it so")


def _together(
    engine: Engine,
    frame: Any,
    made: Mapping[Name, Proposal],
    facts: Mapping[Name, propose.Facts],
    seconds: float,
) -> Together:
    """Search the columns that are quasi-identifiers so far."""
    quasi = tuple(column for column in facts if made[column].role == "quasi")
    units = (column for column, proposal in made.items() if proposal.role == "unit")
    # Persons can be counted only where every row belongs to one.
    unit = next((u for u in units if u in facts and facts[u].n_known == facts[u].n_rows), None)
    return propose.together(engine, frame, quasi, unit, seconds) if quasi else propose.Together()


def _document(
    start: dict[str, Any], made: Mapping[Name, Proposal], name: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the policy, and apart the budgets that it cannot have without a sensitive column."""
    # A ready policy may name direct identifiers that this table does not have.
    roles: dict[str, Any] = {
        role: [column for column in columns if column not in made]
        for role, columns in start.get("roles", {}).items()
        if role in LISTS
    }
    for column, proposal in made.items():
        if proposal.role == "unit":
            roles["unit"] = column
        else:
            roles.setdefault(proposal.role, []).append(column)
    asked = start["budgets"]
    left_out = {}
    if not roles.get("sensitive"):
        left_out = {key: asked[key] for key in asked if BUDGETS[key].about_values}
    kept = {key: value for key, value in asked.items() if key not in left_out}
    named = {} if name is None else {"name": name}
    written = {role: columns for role, columns in roles.items() if columns != []}
    return {**start, **named, "reviewed": False, "roles": written, "budgets": kept}, left_out


def _notes(
    made: Mapping[Name, Proposal], together: Together, seconds: float, left_out: Mapping[str, Any]
) -> Iterator[str]:
    """Return what a person must know beside the columns."""
    if together.n_undecided:
        yield (
            f"The search stopped after {seconds:g} seconds with "
            f"{count_of(together.n_undecided, 'set')} of columns undecided: columns may single out "
            "more people than is said here."
        )
    if left_out:
        yield (
            f"No column is proposed as sensitive, and without one {' and '.join(left_out)} can "
            "never pass: left out. Look for one: what must not be learned about a person?"
        )
    if not any(proposal.role == "quasi" for proposal in made.values()):
        yield "No column is left to be a quasi-identifier: there is nothing to measure."
