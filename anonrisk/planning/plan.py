"""A plan: what becomes of each column, and what that does to risk and utility."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, get_args

from anonrisk.core import documents
from anonrisk.core.arguments import one_of
from anonrisk.core.literals import OnUnseen
from anonrisk.errors import ArgumentError, PlanError
from anonrisk.planning import emit, emit_regions, plan_document, plan_print
from anonrisk.planning.plan_diff import PlanDiff
from anonrisk.planning.plan_fields import PlanFields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name
    from anonrisk.core.literals import PlanPicture

_READER = documents.Reader("plan", PlanError)


@dataclass(frozen=True, repr=False)
class Plan(PlanFields):
    """How coarse each column becomes, with risk and utility before and after.

    Attributes
    ----------
    recodings : dict of column to recoding
        What becomes of each quasi-identifier.
    k : int or None
        Size that every class must have; records of smaller ones are suppressed. None: none are.
    max_suppression : float
        The largest share of the records that may be suppressed.
    columns : tuple
        All columns of the table that the plan was made for.
    before, after : PlanOutcome or None
        The table as it was, and as it will be.
    budget : ValueBudget or None
        Number of values that the table can bear, by the rule of Lodha & Thomas.
    optimal : bool
        Whether no other combination of the offered recodings has a smaller loss.
    loss : str
        By what recodings were compared, as in `anonrisk.plan`; ``"function"`` for one of the
        caller's.
    partial : bool
        Whether Ctrl-C stopped the search: the best plan so far, which need not be the best.
    regions : Regions or None
        Of a multidimensional plan, where a column is how coarse; None where it is so everywhere.
    goals : tuple of SensitiveGoal
        What every class keeps to beside k.
    rules : tuple of ClassRule
        Where classes of several sets of columns must keep to something: what, set by set.
    unit : name or None
        The column that says which person a record belongs to: classes then count persons.
    leave_out : tuple of names
        Columns that the plan leaves out: direct identifiers.
    budgets : tuple of PlannedBudget
        Of a plan for a policy: each budget, whether it is met, and why not.
    steps : tuple of PlanStep
        What each column loses and whom its recoding helps, those that help most first.
    """

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON.

        Of the table's cells only those are among them that a region of k records or more shares.
        """
        return plan_document.written(self)

    def to_json(self) -> str:
        """Write the plan as JSON.

        Levels of a hierarchy are stored with the names of its nodes and a fingerprint, not with its
        leaves, which are values; give the hierarchy again to `from_json`.
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_yaml(self) -> str:
        """Write the plan as YAML (needs PyYAML); see `to_json`."""
        return documents.to_yaml(self.to_dict())

    @classmethod
    def from_dict(
        cls,
        stored: Mapping[str, Any],
        hierarchies: Mapping[Name, Any] | None = None,
        *,
        edited: bool = False,
    ) -> Self:
        """Read back what `to_dict` gave; see `from_json`."""
        plan = cls(**plan_document.read(stored, hierarchies))
        if not edited:
            plan_document.check_digest(stored, plan.digest)
        return plan

    @classmethod
    def from_json(
        cls, text: str, hierarchies: Mapping[Name, Any] | None = None, *, edited: bool = False
    ) -> Self:
        """Read a plan from JSON; hierarchies by column where it has levels of them.

        A document that was changed after it was written is refused, unless it is said to be
        `edited`.
        """
        return cls.from_dict(_READER.json(text), hierarchies, edited=edited)

    @classmethod
    def from_yaml(
        cls, text: str, hierarchies: Mapping[Name, Any] | None = None, *, edited: bool = False
    ) -> Self:
        """Read a plan from YAML (needs PyYAML); see `from_json`."""
        return cls.from_dict(_READER.yaml(text), hierarchies, edited=edited)

    @property
    def digest(self) -> str:
        """The SHA-256 of what the plan does: two plans that do the same have the same.

        Recodings, k and other goals, `max_suppression` and columns are in it; what was measured
        on a table is not.
        """
        return str(self.to_dict()["digest"])

    @property
    def file_name(self) -> str:
        """A name to store the plan under, by the beginning of its digest."""
        return f"plan-{self.digest[:12]}.json"

    def diff(self, other: Plan) -> PlanDiff:
        """Say what another plan does otherwise.

        Parameters
        ----------
        other : Plan
            The plan that came after this one.

        Returns
        -------
        PlanDiff
            The columns that become finer, coarser or otherwise, and other terms. It is false
            where both plans do the same.

        See Also
        --------
        anonrisk.apply : does what a plan says
        anonrisk.Plan.from_json : reads a stored one

        Examples
        --------
        >>> from anonrisk import Plan
        >>> from anonrisk.recode import Bins, Keep
        >>> before = Plan({"age": Bins((30, 40, 50), whole=True), "sex": Keep()}, k=5)
        >>> before.diff(Plan({"age": Bins((40,), whole=True), "sex": Keep()}, k=5))
        Two plans, 1 difference
        what   how       was                               becomes
        age    coarser   4 bins: <30, 30-39, 40-49, >=50   2 bins: <40, >=40
        """
        if not isinstance(other, Plan):
            raise ArgumentError(f"a plan is compared with a plan, not a {type(other).__name__}")
        return PlanDiff.of(self, other)

    def to_pyspark(self, *, on_unseen: OnUnseen = "refuse") -> str:
        """Write the plan as PySpark code: a function `anonymise(df)`.

        The code names the values of hierarchies that the plan uses. It counts once, and raises
        where more than `max_suppression` of the records would be left out.

        Parameters
        ----------
        on_unseen : {"refuse", "suppress", "top"}
            As in `anonrisk.apply`.
        """
        self._refuse_goals()
        one_of(on_unseen, "on_unseen", get_args(OnUnseen))
        if self.regions is not None:
            return emit_regions.pyspark_code(self, self.regions, on_unseen)
        return emit.pyspark_code(self, on_unseen)

    def to_sql(
        self, dialect: str = "ansi", *, table: str = "records", on_unseen: OnUnseen = "refuse"
    ) -> str:
        """Write the plan as one SELECT over a table of the same columns.

        Where more than `max_suppression` of the records would be left out, or a value is refused,
        the query fails, and the error of the database says why.

        Parameters
        ----------
        dialect : {"ansi", "duckdb", "postgresql", "sqlite", "spark"}
            SQLite needs its JSON functions, which are part of it since 3.38.
        table : str
            The name of the table, as it is written in SQL.
        on_unseen : {"refuse", "suppress", "top"}
            As in `anonrisk.apply`.
        """
        self._refuse_goals()
        one_of(on_unseen, "on_unseen", get_args(OnUnseen))
        if self.regions is not None:
            return emit_regions.sql_code(self, self.regions, dialect, table, on_unseen)
        return emit.sql_code(self, dialect, table, on_unseen)

    def _refuse_goals(self) -> None:
        if self.goals or self.rules or self.unit is not None:
            raise PlanError(
                "a plan about persons, sensitive values or several sets of columns is no code that "
                "people could read: store it with to_json() and use anonrisk.apply"
            )

    def plot(self, ax: Axes | None = None, *, kind: PlanPicture | None = None) -> Axes:
        """Draw the way to the plan: one recoding at a time, what helps most first.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        kind : {"path", "values"}, optional
            Records in small classes and detail lost after each step, those left out last; or how
            many values each column has and keeps. Left out, the path if it was measured.
        """
        return plan_print.picture(self, ax, kind)

    def __repr__(self) -> str:
        """Print what becomes of each column, and the table before and after."""
        return plan_print.text(self)

    def _repr_html_(self) -> str:
        return plan_print.html(self)
