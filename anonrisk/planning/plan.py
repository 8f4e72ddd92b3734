"""A plan: what becomes of each column, and what that does to risk and utility."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core import documents
from anonrisk.errors import PlanError
from anonrisk.planning import emit, plan_document, plan_print
from anonrisk.planning.plan_fields import PlanFields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name

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
        cls, stored: Mapping[str, Any], hierarchies: Mapping[Name, Any] | None = None
    ) -> Self:
        """Read back what `to_dict` gave."""
        return cls(**plan_document.read(stored, hierarchies))

    @classmethod
    def from_json(cls, text: str, hierarchies: Mapping[Name, Any] | None = None) -> Self:
        """Read a plan from JSON; hierarchies by column where it has levels of them."""
        return cls.from_dict(_READER.json(text), hierarchies)

    @classmethod
    def from_yaml(cls, text: str, hierarchies: Mapping[Name, Any] | None = None) -> Self:
        """Read a plan from YAML (needs PyYAML)."""
        return cls.from_dict(_READER.yaml(text), hierarchies)

    def to_pyspark(self) -> str:
        """Write the plan as PySpark code: a function `anonymise(df)`.

        The code names the values of hierarchies that the plan uses.
        """
        self._refuse_regions()
        return emit.pyspark_code(self.recodings, self.k)

    def to_sql(self, dialect: str = "ansi", *, table: str = "records") -> str:
        """Write the plan as one SELECT over a table of the same columns.

        Parameters
        ----------
        dialect : {"ansi", "duckdb", "postgresql", "sqlite", "spark"}
        table : str
            The name of the table, as it is written in SQL.
        """
        self._refuse_regions()
        return emit.sql_code(self.recodings, self.columns, self.k, dialect, table)

    def _refuse_regions(self) -> None:
        if self.goals or self.rules or self.unit is not None:
            raise PlanError(
                "a plan about persons, sensitive values or several sets of columns is no code that "
                "people could read: store it with to_json() and use anonrisk.apply"
            )
        if self.regions is not None:
            raise PlanError(
                f"a multidimensional plan of {len(self.regions):,} regions is no code that people "
                "could read: store it with to_json() and use anonrisk.apply, or make a plan with "
                "method='full-domain'"
            )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many values each column has, and how many it keeps.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        return plan_print.picture(self, ax)

    def __repr__(self) -> str:
        """Print what becomes of each column, and the table before and after."""
        return plan_print.text(self)

    def _repr_html_(self) -> str:
        return plan_print.html(self)
