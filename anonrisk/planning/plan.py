"""A plan: what becomes of each column, and what that does to risk and utility."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.core import documents, pictures, render
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.errors import PlanError
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning import emit
from anonrisk.planning.budget import ValueBudget
from anonrisk.recode.regions import Regions, read_recoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name, Qid
    from anonrisk.recode import Recoding

_VERSION = 1
_READER = documents.Reader("plan", PlanError)


@dataclass(frozen=True, repr=False)
class PlanOutcome(render.PrintedFields):
    """What is true of a table: before a plan, or after it.

    Attributes
    ----------
    n_records, n_classes, k
        Records, classes, and the size of the smallest class, of what is published.
    n_below : int
        Before: records in classes smaller than the plan's k. After: records suppressed for it.
    loss : float
        Mean over original records and columns of what a cell loses, by the plan's `loss`; a
        suppressed record loses 1.
    discernibility : int
        Sum of the squares of class sizes; a suppressed record counts as much as all records.
    values : tuple of int
        Different values of each column once recoded, those of suppressed records among them;
        `anonrisk.utility` counts those that are left in the published table.
    """

    n_records: int
    n_classes: int
    k: int | None
    n_below: int
    loss: float
    discernibility: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class SensitiveGoal:
    """What the sensitive values of every class must keep to.

    Attributes
    ----------
    column : name
        The sensitive column.
    score : str
        The score of a class: a kind of `anonrisk.ldiv`, or a distance of `anonrisk.tcloseness`.
    limit : float
        The least diversity, or the largest distance.
    c : float or None
        The constant of ``"recursive"``.
    order : tuple or None
        The values from the smallest to the largest, as the caller gave them.
    """

    column: Name
    score: str
    limit: float
    c: float | None = None
    order: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        """Say what is asked for."""
        sign = "at least" if FORMULAS[self.score].least else "at most"
        name = f"{self.score} {FORMULAS[self.score].measure.rpartition('_')[2]}"
        constant = "" if self.c is None else f" (c = {self.c:g})"
        return f"{name}{constant} of {render.shown(self.column)} {sign} {self.limit:g}"


@dataclass(frozen=True)
class Plan:
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
        By what recodings were compared: ``"range"`` or ``"private"``; see `anonrisk.plan`.
    partial : bool
        Whether Ctrl-C stopped the search: the best plan so far, which need not be the best.
    regions : Regions or None
        Of a multidimensional plan, where a column is how coarse; None where it is so everywhere.
    goals : tuple of SensitiveGoal
        What every class keeps to beside k.
    """

    recodings: dict[Name, Recoding]
    k: int | None = None
    max_suppression: float = 0.0
    columns: Qid = ()
    before: PlanOutcome | None = None
    after: PlanOutcome | None = None
    budget: ValueBudget | None = None
    optimal: bool = False
    loss: str = "range"
    note: str = field(default="", repr=False)
    partial: bool = False
    regions: Regions | None = None
    goals: tuple[SensitiveGoal, ...] = ()

    @property
    def method(self) -> str:
        """``"full-domain"``, or ``"multidimensional"`` where columns differ by region."""
        return "full-domain" if self.regions is None else "multidimensional"

    @property
    def qids(self) -> Qid:
        """The columns that the plan recodes or keeps."""
        return tuple(self.recodings)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON.

        Of the table's cells only those are among them that a region of k records or more shares.
        """
        stored: dict[str, Any] = {
            "anonrisk_plan": _VERSION,
            "k": self.k,
            "max_suppression": self.max_suppression,
            "columns": [_plain(c) for c in self.columns],
            "recodings": [{"column": _plain(c), **r.to_dict()} for c, r in self.recodings.items()],
            "optimal": self.optimal,
            "partial": self.partial,
            "loss": self.loss,
            "note": self.note,
        }
        for name in ("before", "after", "budget"):
            part = getattr(self, name)
            stored[name] = None if part is None else vars(part) | _lists(part)
        if self.regions is not None:
            stored["regions"] = self.regions.to_dict()
            stored["goals"] = [
                {**vars(goal), **_lists(goal), "column": _plain(goal.column)} for goal in self.goals
            ]
        return stored

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
        trees = {c: Hierarchy.of(given) for c, given in (hierarchies or {}).items()}
        try:
            if stored["anonrisk_plan"] != _VERSION:
                raise PlanError("the plan was written by another version of anonrisk")
            recodings = {
                _name(r["column"]): read_recoding(
                    {key: value for key, value in r.items() if key not in ("column", "nodes")},
                    trees.get(_name(r["column"])),
                )
                for r in stored["recodings"]
            }
            parts: dict[str, Any] = {
                name: None if stored[name] is None else kind(**_tuples(stored[name]))
                for name, kind in (
                    ("before", PlanOutcome),
                    ("after", PlanOutcome),
                    ("budget", ValueBudget),
                )
            }
            regions = stored.get("regions")
            if regions is not None:
                parts["regions"] = Regions.read(regions, recodings)
                parts["goals"] = tuple(
                    SensitiveGoal(**{**_tuples(goal), "column": _name(goal["column"])})
                    for goal in stored["goals"]
                )
            return cls(
                recodings=recodings,
                k=stored["k"],
                max_suppression=float(stored["max_suppression"]),
                columns=tuple(_name(c) for c in stored["columns"]),
                optimal=bool(stored["optimal"]),
                loss=str(stored.get("loss", "range")),
                note=str(stored.get("note", "")),
                partial=bool(stored.get("partial", False)),
                **parts,
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, PlanError):
                raise
            raise PlanError("this is not a stored plan") from None

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
        before, after = self.before, self.after
        if before is None or after is None:
            raise PlanError("this plan was not made from a table, so that nothing can be drawn")
        columns = list(self.recodings.items())[: pictures.ROWS]
        ax, colours = pictures.start(ax, len(columns) + 1)
        first, last = before.values[: len(columns)], after.values[: len(columns)]
        pictures.moves(ax, first, last, ("values now", "values with the plan"), colours)
        # Edges of bins may be values: they are told by the plan itself, not by its picture.
        kinds = [str(recoding).partition(":")[0] for _, recoding in columns]
        labels = [
            f"{pictures.plain(pictures.short(name))}\n{pictures.folded(kind, lines=1)}"
            for (name, _), kind in zip(columns, kinds, strict=True)
        ]
        pictures.rows(ax, labels, self._headline(before, after))
        ax.set_xscale("log")
        ax.set_xlim(0.8, max(*first, *last, 8) * 1.25)
        pictures.whole_numbers(ax.xaxis, log=True)
        ax.set_xlabel("different values of the column")
        pictures.noted(ax, pictures.left_out(len(self.recodings), "columns"))
        pictures.explained(ax)
        return ax

    def _headline(self, before: PlanOutcome, after: PlanOutcome) -> str:
        def share(n: int) -> str:
            return f"{render.count_of(n, 'record')} ({render.percent(n / before.n_records)})"

        loss = f"{render.percent(after.loss)} of the detail is lost"
        if self.k is None:
            return f"With this plan {loss}"
        return (
            f"Every class gets {self.k:,} records or more, where {share(before.n_below)} are in "
            f"smaller ones now: {loss}, {share(after.n_below)} left out"
        )

    def __repr__(self) -> str:
        """Print what becomes of each column, and the table before and after."""
        header, rows = self._columns_table()
        lines = [self._title(), render.text_table(header, rows)]
        if self.before is not None and self.after is not None:
            lines.append(render.text_table(*self._outcomes_table()))
        return render.fitted(*lines, *([self.note] if self.note else []))

    def _repr_html_(self) -> str:
        tables = [render.html_table(self._title(), *self._columns_table())]
        if self.before is not None and self.after is not None:
            tables.append(render.html_table("Before and after", *self._outcomes_table()))
        return "".join((*tables, render.html_lines([self.note] if self.note else [])))

    def _title(self) -> str:
        names = render.joined(self.qids)
        if self.k is None:
            return f"Plan for {names}"
        best = ", the best of those offered" if self.optimal else ""
        best = ", PARTIAL: stopped, not proven best" if self.partial else best
        if self.regions is not None:
            best = f" in {render.count_of(len(self.regions), 'region')}"
        also = "".join(f", {goal}" for goal in self.goals)
        return f"Plan for {names}: k = {self.k}{also}{best}"

    def _columns_table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        names = [(render.named(c), str(r)) for c, r in self.recodings.items()]
        if self.before is None or self.after is None:
            return ("column", "becomes"), [*names]
        counts = zip(names, self.before.values, self.after.values, strict=True)
        rows: list[tuple[str, ...]] = [(c, f"{b:,}", f"{a:,}", r) for (c, r), b, a in counts]
        return ("column", "values", "after", "becomes"), rows

    def _outcomes_table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        before, after = self.before, self.after
        assert before is not None  # noqa: S101
        assert after is not None  # noqa: S101

        def share(n: int) -> str:
            return f"{n:,} ({render.percent(n / before.n_records)})"

        return ("", "before", "after"), [
            ("records", f"{before.n_records:,}", f"{after.n_records:,}"),
            ("classes", f"{before.n_classes:,}", f"{after.n_classes:,}"),
            ("smallest class", str(before.k), "-" if after.k is None else str(after.k)),
            (f"below {self.k}", share(before.n_below), share(0)),
            ("suppressed", share(0), share(after.n_below)),
            (
                "private loss" if self.loss == "private" else "loss",
                render.percent(before.loss),
                render.percent(after.loss),
            ),
        ]


def _lists(part: Any) -> dict[str, Any]:
    return {name: list(x) for name, x in vars(part).items() if isinstance(x, tuple)}


def _tuples(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(x) if isinstance(x, list) else x for name, x in stored.items()}


def _plain(name: Any) -> Any:
    """Give the name of a column as JSON and YAML have it."""
    if isinstance(name, tuple):
        return [_plain(part) for part in name]
    if isinstance(name, str):
        return str(name)
    if isinstance(name, np.generic):
        name = name.item()
    if name is None or isinstance(name, (bool, int, float)):
        return name
    raise PlanError(
        f"a plan cannot be stored with a column whose name is a {type(name).__name__}; "
        "name the columns by text first"
    )


def _name(stored: Any) -> Name:
    # JSON has no tuples, and a pandas label may be one.
    return tuple(stored) if isinstance(stored, list) else stored
