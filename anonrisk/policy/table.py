"""A user's table under a policy: what it publishes, and which role each column has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.core import column_roles
from anonrisk.core.column_roles import Roles
from anonrisk.core.columns import require
from anonrisk.core.frozen import dataclass
from anonrisk.engines import engine_for
from anonrisk.errors import (
    RepeatedColumnError,
    RolesLostError,
    RolesNotGivenError,
    UnsupportedColumnError,
)
from anonrisk.measures.counts.change import LabelsAsColumns
from anonrisk.policy import release_rules
from anonrisk.policy.labels import with_labels
from anonrisk.policy.problem import Problem, attempt
from anonrisk.policy.release_rules import ROW_LABELS, Published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.policy.labels import TermsT
    from anonrisk.policy.rules import PolicyRoles
    from anonrisk.policy.terms import Terms


class CountingEngine:
    """An engine that keeps count of the passes it was asked for."""

    _PASSES = ("count", "score", "match")

    def __init__(self, engine: Engine) -> None:
        """Take an engine whose passes are counted from now on."""
        self._engine, self.passes = engine, 0

    def __getattr__(self, name: str) -> Any:
        """Return what the engine has, and count where that is a pass."""
        self.passes += name in self._PASSES
        return getattr(self._engine, name)


@dataclass(frozen=True)
class CheckedTable:
    """A user's table, what it publishes, and the roles that its columns have under a policy.

    `joined` are the columns without a role that a policy adds to every quasi-identifier.
    """

    frame: Any
    engine: Engine
    published: Published
    roles: PolicyRoles
    joined: Qid = ()

    @classmethod
    def of(cls, policy: Terms, frame: Any, published: Published | None = None) -> CheckedTable:
        """Find the engine, and take from the table what the policy does not say."""
        engine = engine_for(frame)
        engine.schema(frame).check({})
        published = published or published_by(frame)
        policy = with_labels(policy, published.names)
        columns, index, declared = _seen(published)
        roles = policy.roles
        if not roles.quasi and any(rule.columns is None for rule in policy.rules):
            current = column_roles.current(declared, columns, index)
            roles = replace(roles, quasi=current.quasi)
        if not roles.sensitive:
            # One that was dropped is no matter; where something is new it may have been renamed.
            new = column_roles.new_since_declared(declared, columns, index) is not None
            left = tuple(name for name in declared.sensitive if new or name in published.names)
            roles = replace(roles, sensitive=left)
        if roles.unit is None:
            roles = replace(roles, unit=column_roles.unit_of(declared, columns))
        if policy.unlisted != "quasi":
            return cls(frame, engine, published, roles)
        return cls._joining(policy, frame, published, roles)

    @classmethod
    def _joining(
        cls, policy: Terms, frame: Any, published: Published, roles: PolicyRoles
    ) -> CheckedTable:
        """Let the columns that nobody named join every quasi-identifier, labels of rows too."""
        engine = engine_for(frame)
        loose = release_rules.unlisted(policy, published)
        measured = published
        if published.labels == release_rules.UNNAMED or {*loose} - {*published.columns}:
            frame = engine.rewrite(frame, LabelsAsColumns(ROW_LABELS))
            measured = replace(published, columns=engine.schema(frame).columns, index=())
            loose = release_rules.unlisted(policy, measured)
        joined = tuple(name for name in loose if name != roles.unit)
        roles = replace(roles, quasi=(*roles.quasi, *joined))
        return cls(frame, engine, measured, roles, joined)

    @property
    def columns(self) -> Sequence[Name]:
        """The columns of the table, repeated ones as often as they occur."""
        return self.published.columns

    def require_columns(self, names: Sequence[Name], role: str) -> None:
        """Reject columns that are not there, are in the index, or were changed at random."""
        for name in names:
            if name not in self.published.index:
                continue
            if name in self.columns:
                raise RepeatedColumnError(
                    f"{role} {name!r} is a column and in the index too, where it is not measured; "
                    "leave the index out with reset_index(drop=True)"
                )
            raise RolesLostError(
                f"{role} {name!r} is in the index, where it is not measured; "
                "bring it back with reset_index()"
            )
        require(names, role, self.columns)
        # Engines that have random steps remember which columns they have changed.
        changed = self.engine.schema(self.frame).perturbed
        for name in names:
            if name in changed:
                raise UnsupportedColumnError(
                    f"{role} {name!r} was changed at random ({changed[name]}), so that classes of "
                    "equal cells no longer measure the risk"
                )


def published_by(frame: Any) -> Published:
    """Ask a table's engine what it publishes; no cell is looked at."""
    schema = engine_for(frame).schema(frame)
    named = tuple(name for name in schema.index if name is not None)
    return Published(
        columns=schema.columns,
        index=named,
        nested=tuple(schema.nested()),
        labels=schema.row_labels,
        declared=schema.roles or Roles(),
    )


def policy_for(policy: TermsT, frame: Any) -> TermsT:
    """Return the policy in the words of a table; see `with_labels`."""
    return with_labels(policy, published_by(frame).names)


def is_empty(frame: Any) -> bool:
    """Return whether a table has no row at all; one that cannot be asked has other faults."""
    return attempt(lambda: engine_for(frame).schema(frame).has_rows()) is False


def _seen(published: Published) -> tuple[Qid, Qid, Roles]:
    return published.columns, published.index_as_declared, published.declared


def without_roles() -> Problem:
    """Return both ways to name quasi-identifiers."""
    error = RolesNotGivenError(
        "no quasi-identifiers: name them in the policy (roles: {quasi: [zip, age]}), or once for "
        "the table, as in df = df.anon.declare(quasi=['zip', 'age'])"
    )
    return Problem(str(error))
